"""Every study, as small as it can be with all of its parts: ``python all_studies.py STORE [READ]`` runs them, and
writes to the file READ which settings they read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rote.laboratory import Laboratory, studies
from rote.laboratory.study import ordered_names

LOOKUP = {"seeds": 1, "model.hidden": 4, "training.steps": 2, "training.record_every": 1}
SMALLER: dict[str, Mapping[str, Any]] = {
    "conduit-frequency": {"seeds": 1, "tokens": 1200},
    "conduit-predictability": {"seeds": 1, "tokens": 700, "training.measure_every": 0.5, "reading.gradients": 1},
    "conduit-counting": {"seeds": 1, "tokens": 1200},
    "conduit-long-run": {"seeds": 1, "tokens": 1000},
    "conduit-procedure": {"seeds": 1, "tokens": 1000},
    "digit-pairs": {"seeds": 1, "training.steps": 2, "evaluated": 10, "model.hidden": 4, "model.depths": (2, 2)},
    "every-step": {"seeds": 1, "digits.steps": 2, "scan.steps": 2},
    "solutions": {"seeds": 1, "plane_seeds": 2, "digits.steps": 2, "scan.steps": 4},
    "architecture": {"seeds": 1, "plane_seeds": 2, "digits.steps": 2, "scan.steps": 2},
    "plane": {"seeds": 2},
    "plane-information": {"seeds": 2},
    "scan-jump": {"seeds": 1, "training.steps": 4, "sample": 8, "probes": 2},
    "lookup-accuracy": LOOKUP,
    "lookup-inside": {**LOOKUP, "splits": 1, "lstm": False, "over_training": False},
    "lookup-surgery": {**LOOKUP, "retraining.steps": 1, "pruned_steps": 1},
    "lookup-readings": LOOKUP,
    "lookup-parts": {**LOOKUP, "retraining.steps": 1},
    "lookup-sizes": {**LOOKUP, "sizes": (3,)},
    "autocomplete": {
        "seeds": 1, "initial.seeds": 1, "training.steps": 4, "training.record_every": 2, "tested": 2, "looked_at": 1,
    },
}  # fmt: skip


def settings_of(name: str) -> dict[str, Any]:
    return {"seeds": 1} | dict(SMALLER.get(name, {})) if "seeds" not in studies[name].fixed else {}


def run_all(store: Path) -> None:
    from rote.store import Store

    for name in ordered_names():
        Laboratory(Store(store), workers=1).run(name, "smoke", settings_of(name))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        from watched_settings import watch

        watching = watch()
    run_all(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        watching.write(Path(sys.argv[2]))
