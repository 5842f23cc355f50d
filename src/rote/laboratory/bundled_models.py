"""What the programs that make the bundled models share: training once, the record that goes with the weights, words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rote.laboratory.orders import Order
from rote.laboratory.perform import perform
from rote.recipes import Recipe, Trained
from rote.store import FinishedRun, Store


def trained_once(recipe: Recipe, seed: int, store: Store) -> Trained:
    """The network of a recipe: from the store, or trained now."""
    (job,) = recipe.jobs((seed,))
    if store.finished(job.request) is None:
        perform(store, Order(job.request, {}, "cpu"), "cpu", _say)
    return Trained(FinishedRun(store.folder(job.request)))


def facts_of(finished: FinishedRun) -> dict[str, Any]:
    """How the model was made."""
    record = finished.record
    return {
        "request": record.request.to_plain(),
        "run": finished.id,
        "environment": record.environment,
        "data": record.data,
        "seconds": record.seconds,
    }


def arguments(what: str, names: Sequence[str], folder: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Train the {what} models that come with the package.")
    parser.add_argument("names", nargs="*", default=names, help=f"any of {', '.join(names)}; default all")
    parser.add_argument("--out", type=Path, default=folder, help="folder for the models")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="other settings: training.steps=10")
    return parser.parse_args()


def _say(done: int, total: int) -> None:
    print(f"{done} of {total} steps", end="\r" if done < total else "\n", flush=True)
