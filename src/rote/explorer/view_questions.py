"""What the views without a text of their own ask when they open: the ledger, runs, lookup tables and units."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rote.errors import RoteError

Values = dict[str, str]
OPTIONS = {
    "ledger": ("q", "source", "kind", "status", "outcome", "open"),
    "runs": ("q", "study", "status", "sort", "measure", "log", "runs"),
    "lookup": ("models", "seed", "composition", "part", "of", "units", "label"),
    "units": ("text", "model", "layer", "unit", "at", "hero", "factor"),
}
UNIT_TEXT = "the formal study of gramm"
GROUP_SECONDS = 300.0  # functional groups are found in the background


def ledger(ask: Any, values: Values) -> Values:
    ask("GET", "/api/ledger")
    return values


def runs(ask: Any, values: Values) -> Values:
    ask("GET", "/api/runs")
    if chosen := [name for name in values.get("runs", "").split(",") if name]:
        ask("POST", "/api/runs/compare", {"runs": chosen})
        ask("POST", "/api/runs/settings", {"run": chosen[0]})
    return values


def lookup(ask: Any, values: Values) -> Values:
    ask("GET", "/api/lookup/models")
    which: dict[str, Any] = {"models": values.get("models", "bundled")}
    if values.get("seed"):
        which["seed"] = int(values["seed"])
    task = ask("POST", "/api/lookup/task", which)
    examples = task["examples"]
    values = {"composition": examples.get("heldout_compositions") or examples["train"], **values}
    ask("POST", "/api/lookup/ask", {**which, "composition": values["composition"]})
    until = time.monotonic() + GROUP_SECONDS
    while ask("POST", "/api/lookup/groups", which)["groups"] is None:
        if time.monotonic() > until:
            raise RoteError(f"The functional groups of {which['models']} were not found in {GROUP_SECONDS:.0f} s.")
        time.sleep(0.2)
    return values


def units(ask: Any, values: Values) -> Values:
    models = ask("GET", "/api/models")["models"]
    story = ask("GET", "/api/connectivity/walk")
    origin = "" if values.get("hero") == "package" else "article:"
    for cell in ("nested_lstm", "lstm", "gru"):
        question = {"model": f"{origin}{cell}", "checkpoint": None, "text": story["text"], "norm": "squared", "top": 3}
        ask("POST", "/api/connectivity", question)
    values = {"model": models[0]["key"], "text": UNIT_TEXT, **values}
    layer, unit = (int(values.get(name, "0")) for name in ("layer", "unit"))
    question = {"model": values["model"], "checkpoint": None, "text": values["text"], "layer": layer, "unit": unit}
    ask("POST", "/api/units", question)
    return values


QUESTIONS: dict[str, Callable[[Any, Values], Values]] = {
    "ledger": ledger, "runs": runs, "lookup": lookup, "units": units,
}  # fmt: skip
