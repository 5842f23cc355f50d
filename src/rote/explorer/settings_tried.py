"""All settings of a recipe that the store has trained, with what each came to: the lines of parallel coordinates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rote.errors import StoreError, UnknownNameError
from rote.explorer.runs import differences, flat, inside, numbers_of
from rote.store import Listed, Store
from rote.store.metrics import Metrics

MOST = 200  # runs, the newest
CHANCE = ("first_seed", "seeds")  # what differs by these is no other setting


def tried(store: Store, run: str) -> dict[str, Any]:
    """Of the trainings of the same study, part and preset as this run: the settings on which they differ, and the last
    value of every measure, as mean over seeds."""
    rows = store.runs()
    of = next((row for row in rows if row.id == run), None)
    if of is None:
        raise UnknownNameError("run", run, [row.id for row in rows])
    alike = [row for row in rows if _recipe(row) == _recipe(of) and row.status == "finished"]
    lasts = {row.id: _last(store, row) for row in alike[:MOST]}
    kept = [row for row in alike[:MOST] if lasts[row.id]]
    settings = [flat(json.loads(row.config)) for row in kept]
    return {
        "recipe": " ".join(_recipe(of)),
        "axes": [one for one in differences(settings) if one["key"] not in CHANCE],
        "runs": [{"id": row.id, "label": row.label, "last": lasts[row.id]} for row in kept],
        "left_out": max(0, len(alike) - MOST),
    }


def _recipe(row: Listed) -> tuple[str, str, str]:
    return row.study, row.part, row.preset


def _last(store: Store, row: Listed) -> dict[str, float]:
    """A run that cannot be read has no line; the list says what is wrong with it."""
    try:
        recorded = Metrics(inside(store, row)).rows()
    except StoreError:
        return {}
    found = {}
    for measure, values in recorded[-1].items() if recorded else ():
        numbers = numbers_of(values)
        if measure != "step" and numbers is not None and np.isfinite(numbers).any():
            found[measure] = float(np.nanmean(np.where(np.isfinite(numbers), numbers, np.nan)))
    return found
