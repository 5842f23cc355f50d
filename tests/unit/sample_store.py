"""A store as it is after some work: a study, a run that failed, one with a damaged record."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rote.laboratory import Laboratory
from rote.store import Request, Store

FAILED = Request("plane", 0, "broken", {"model": {"hidden": 3}}, (0,), "quick")


def make_store(root: Path) -> Store:
    store = Store(root)
    Laboratory(store, workers=1).run("plane", "smoke")
    with contextlib.suppress(ZeroDivisionError), store.open(FAILED) as run:
        run.metrics.append({"step": 0, "loss": [1.0]})
        raise ZeroDivisionError("<b>nothing to divide</b>")
    damaged = root / "runs" / "plane" / "0123456789abcdef"
    damaged.mkdir()
    (damaged / "record.json").write_text("{")
    return store
