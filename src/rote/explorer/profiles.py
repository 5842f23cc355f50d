"""The profiles of examined models: those that come with Rote, and those of the store."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request

from rote.errors import UnknownNameError
from rote.explorer.messages import Body, Key
from rote.explorer.workbench import workbench
from rote.store import Store

router = APIRouter(prefix="/api/profiles", tags=["profiles"])


class Pair(Body):
    first: Key
    second: Key


@router.get("")
def profiles(request: Request) -> dict[str, Any]:
    """Every profile, the highest index first."""
    bench = workbench(request)
    return bench.compute(listed, bench.store)


@router.post("/compare")
def compare(request: Request, pair: Pair) -> dict[str, Any]:
    """Two of them, task by task, on the seeds that both have learned with."""
    bench = workbench(request)
    return bench.compute(compared, bench.store, pair.first, pair.second)


def listed(store: Store) -> dict[str, Any]:
    from rote.examination.task import DIMENSIONS

    found = _all(store)
    return {
        "store": str(store.root),
        "dimensions": [name for name in DIMENSIONS if name != "memory"],
        "profiles": [{"key": key, "kept": key.startswith("kept/"), **_plain(one)} for key, one in found.items()],
    }


def compared(store: Store, first: str, second: str) -> dict[str, Any]:
    found = _all(store)
    for key in (first, second):
        if key not in found:
            raise UnknownNameError("profile", key, found)
    return {"rows": found[first].compare(found[second]).records()}


def _all(store: Store) -> dict[str, Any]:
    """By key; those that were examined here stand first among equals."""
    from rote.examination.references import examined_profiles, kept_profiles

    mine = {f"store/{profile.name}": profile for profile in examined_profiles(store.root)}
    found = {**mine, **{f"kept/{profile.name}": profile for profile in kept_profiles()}}
    return dict(sorted(found.items(), key=lambda one: -one[1].score.value if one[1].score else 1.0))


def _plain(profile: Any) -> dict[str, Any]:
    return {
        "name": profile.name, "parameters": profile.parameters, "sentence": profile.sentence,
        "seeds": len(profile.plan.get("seeds", ())), "made_by": profile.plan.get("made_by", []),
        "scored": len(profile.scored), "asked": profile.asked,
        "index": profile.score and asdict(profile.score), "all": profile.score_of_all and asdict(profile.score_of_all),
        "bits": profile.bits and asdict(profile.bits),
        "dimensions": {name: asdict(estimate) for name, estimate in profile.dimensions.items()},
        "tasks": profile.to_table().records(),
    }  # fmt: skip
