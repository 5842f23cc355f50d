"""Lookup tables: what a baseline and a guided model do with a composition, side by side."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from pydantic import Field

from rote.explorer.lookup_models import BUNDLED, KINDS, LONGEST, LookupModels, examples_of, read_composition, split_of
from rote.explorer.messages import Body, Key
from rote.explorer.workbench import Workbench, workbench
from rote.tasks.lookup import END, example

router = APIRouter(prefix="/api/lookup", tags=["lookup"])

_OF: WeakKeyDictionary[Workbench, LookupModels] = WeakKeyDictionary()


class Chosen(Body):
    models: Key = BUNDLED
    seed: Annotated[int | None, Field(ge=0, le=2**63 - 1)] = None


class Asked(Chosen):
    composition: Annotated[str, Field(max_length=400)]


@router.get("/models")
def models(request: Request) -> dict[str, Any]:
    """Every pair that can be opened."""
    bench = workbench(request)
    return {"models": [asdict(pair) for pair in bench.compute(_models(bench).listing)]}


@router.post("/task")
def task(body: Chosen, request: Request) -> dict[str, Any]:
    """The tables that a pair was trained on, and which of them only alone."""
    bench = workbench(request)
    pair, seed, opened = bench.compute(_models(bench).open, body.models, body.seed)
    known = opened[KINDS[0]].task
    functions = known.functions()
    names = list(functions)
    return {
        "title": pair.title, "seed": seed, "bits": known.bits, "longest": LONGEST, "end": END, "tables": functions,
        "alone": names[known.tables - known.unseen_tables :], "depth": known.depth, "examples": examples_of(known),
    }  # fmt: skip


@router.post("/ask")
def ask(body: Asked, request: Request) -> dict[str, Any]:
    """Each step's output, attention and gates, of both models."""
    bench = workbench(request)

    def answered() -> dict[str, Any]:
        _, _, opened = _models(bench).open(body.models, body.seed)
        known = opened[KINDS[0]].task
        inputs = read_composition(known, body.composition)
        return {
            "inputs": list(inputs),
            "right": list(example(known.functions(), inputs).outputs),
            "split": split_of(known, inputs),
            "models": {kind: model.answer(inputs) for kind, model in opened.items()},
        }

    return bench.compute(answered)


@router.post("/groups")
def groups(body: Chosen, request: Request) -> dict[str, Any]:
    """The functional groups of both models; null while they are being looked for."""
    return {"groups": _models(workbench(request)).groups(body.models, body.seed)}


def _models(bench: Workbench) -> LookupModels:
    if bench not in _OF:
        _OF[bench] = LookupModels(bench.store)
        bench.on_close(_OF[bench].close)
    return _OF[bench]
