"""What the programs that make the bundled models share: training once, the record that goes with the weights, words."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.store import FinishedRun, Request, Run, Store

if TYPE_CHECKING:
    from rote.training import Program, TrainingConfig


def train_once(
    program: Program, training: TrainingConfig, request: Request, store: Store, begin: Callable[[Run], None]
) -> FinishedRun:
    """The finished run of ``request``: from the store, or trained now, ``begin`` called first."""
    from rote.training import train

    if store.finished(request) is None:
        with store.open(request) as run:
            begin(run)
            train(program, training, run, progress=_say)
            run.finish([])
    return FinishedRun(store.folder(request))


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
