"""The JSON of a profile, as ``rote examine --json`` prints it, described for other programs (JSON Schema 2020-12)."""

from __future__ import annotations

from typing import Any

from rote.examination.forms import KINDS
from rote.examination.profile import INSIDE
from rote.examination.task import BATTERY, DIMENSIONS

SHARES = ("known", "fresh", "new", "zero", "memorizer", *INSIDE)
NUMBER = {"type": ["number", "null"]}
ESTIMATE = {"anyOf": [{"$ref": "#/$defs/estimate"}, {"type": "null"}]}


def schema() -> dict[str, Any]:
    """What ``Profile.to_plain`` gives."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A profile of rote examine",
        **_object(
            battery={"const": BATTERY},
            model=_object(name={"type": "string"}, parameters={"type": "integer", "minimum": 0}),
            plan=_plan(),
            index=ESTIMATE,
            index_other_tasks=ESTIMATE,
            index_all_tasks=ESTIMATE,
            dimensions={
                "type": "object", "propertyNames": {"enum": list(DIMENSIONS)}, "additionalProperties": ESTIMATE,
            },
            tasks={"type": "object", "additionalProperties": _task()},
            memory=_object(bits=ESTIMATE),
        ),
        "$defs": {
            "estimate": _object(value=NUMBER, low=NUMBER, high=NUMBER, n={"type": "integer"}, test={"type": "string"})
        },
    }  # fmt: skip


def _plan() -> dict[str, Any]:
    names = {"type": "array", "items": {"type": "string"}}
    return {
        "type": "object",
        "required": ["seeds", "left_out"],
        "properties": {
            "seeds": {"type": "array", "items": {"type": "integer"}},
            "left_out": names,
            "rates": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
            "seconds": {"type": "number"},
            "made_by": names,
            "kind": {"enum": list(KINDS)},
            "formless": names,
        },
    }


def _task() -> dict[str, Any]:
    """``runs`` has a row for each seed, with more than what is named here."""
    run = {
        "type": "object",
        "required": ["seed", "known", "new", "zero", "memorizer", "learned", "score"],
        "properties": {
            "seed": {"type": "integer"},
            "rate": NUMBER,
            "learned": {"type": "boolean"},
            **dict.fromkeys((*SHARES, "score"), NUMBER),
        },
    }
    return _object(
        outcome={"type": "string"}, dimension={"enum": list(DIMENSIONS)}, score=ESTIMATE,
        **dict.fromkeys(SHARES, ESTIMATE), chance={"type": "number"},
        failed={"type": "array", "items": {"type": "string"}}, runs={"type": "array", "items": run},
    )  # fmt: skip


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "required": list(properties), "properties": properties, "additionalProperties": False,
    }  # fmt: skip
