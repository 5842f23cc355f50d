"""Every stored run; the curves of chosen ones, and where their settings differ."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Request
from pydantic import Field

from rote.errors import DamagedFileError, StoreError, UnknownNameError, UsageError
from rote.explorer.messages import Body, Key
from rote.explorer.trained_networks import Networks, networks
from rote.explorer.workbench import workbench
from rote.store import FinishedRun, Listed, Record, Store

router = APIRouter(prefix="/api/runs", tags=["runs"])

COMPARED = 12  # runs at a time
POINTS = 400  # of one curve
MIDDLE = (10, 90)  # percentiles of the seeds that a band covers


class Chosen(Body):
    runs: Annotated[list[Key], Field(min_length=1, max_length=COMPARED)]


class One(Body):
    run: Key


class OneNetwork(One):
    network: Annotated[int, Field(ge=0, le=9999)] = 0


@router.get("")
def runs(request: Request) -> dict[str, Any]:
    """The list, newest first."""
    bench = workbench(request)
    rows = bench.compute(bench.store.runs)
    return {"store": str(bench.store.root), "runs": [_plain(row) | _progress(bench.store, row) for row in rows]}


@router.post("/compare")
def compare(request: Request, chosen: Chosen) -> dict[str, Any]:
    """Curves, facts and differing settings of the chosen runs."""
    bench = workbench(request)
    return bench.compute(compared, bench.store, chosen.runs)


@router.post("/settings")
def settings(request: Request, one: One) -> dict[str, Any]:
    """Every setting that was tried of this run's recipe, and what came out."""
    from rote.explorer.settings_tried import tried

    bench = workbench(request)
    return bench.compute(tried, bench.store, one.run)


@router.post("/described")
def described(request: Request, one: OneNetwork) -> list[dict[str, Any]]:
    """Pictures, what a network of this run says of them, and what is right."""
    bench = workbench(request)
    return bench.compute(pictures, bench.store, one.run, one.network)


def pictures(store: Store, wanted: str, network: int) -> list[dict[str, Any]]:
    from rote.recipes import Trained

    rows = {row.id: row for row in store.runs()}
    if wanted not in rows:
        raise UnknownNameError("run", wanted, rows)
    found = networks(store.root, rows[wanted])
    if network >= len(found.describing):
        raise UsageError(f"The run {wanted} has {len(found.describing)} networks that read pictures.")
    trained = Trained(FinishedRun(inside(store, rows[wanted])))
    return [
        {
            "picture": _bytes(item.picture), "height": len(item.picture), "width": len(item.picture[0]),
            "right": item.right, "said": item.said, "part": item.part,
        }
        for item in trained.recipe.described(trained, network)
    ]  # fmt: skip


def _bytes(picture: np.ndarray[Any, Any]) -> str:
    return base64.b64encode((255 * picture.clip(0, 1)).round().astype(np.uint8).tobytes()).decode()


def compared(store: Store, ids: Sequence[str]) -> dict[str, Any]:
    rows = {row.id: row for row in store.runs()}
    for wanted in ids:
        if wanted not in rows:
            raise UnknownNameError("run", wanted, rows)
    chosen = [rows[wanted] for wanted in dict.fromkeys(ids)]
    settings = [flat(json.loads(row.config)) for row in chosen]
    return {"runs": [_told(store, row) for row in chosen], "differences": differences(settings)}


def flat(config: Any, prefix: str = "") -> dict[str, Any]:
    """``{"model": {"hidden": 8}}`` as ``{"model.hidden": 8}``."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def differences(settings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys on which these settings do not agree, with the value of each; None where one has no such key."""
    names = list(dict.fromkeys(key for each in settings for key in each))
    rows = [{"key": name, "values": [each.get(name) for each in settings]} for name in names]
    return [row for row in rows if any(value != row["values"][0] for value in row["values"])]


def curves(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """By measure: the mean over seeds at each recorded step, and the band that the middle of the seeds lies in."""
    kept = [rows[place] for place in thinned(len(rows))]
    found: dict[str, Any] = {}
    for row in kept:
        for measure, values in row.items():
            numbers = numbers_of(values)
            if measure == "step" or numbers is None:
                continue
            curve = found.setdefault(measure, {"points": [], "band": [], "seeds": len(numbers)})
            finite = numbers[np.isfinite(numbers)]
            curve["points"].append([row.get("step"), float(finite.mean()) if len(finite) else None])
            if len(finite) > 1:
                low, high = np.percentile(finite, MIDDLE)
                curve["band"].append([row.get("step"), float(low), float(high)])
    return found


def thinned(count: int) -> list[int]:
    """At most ``POINTS`` places of so many, the first and the last among them."""
    if count <= POINTS:
        return list(range(count))
    return sorted({round(place) for place in np.linspace(0, count - 1, POINTS)})


def numbers_of(values: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    several = values if isinstance(values, list) else [values]
    if not several or not all(value is None or isinstance(value, int | float) for value in several):
        return None
    return np.array([np.nan if value is None else float(value) for value in several])


def _told(store: Store, row: Listed) -> dict[str, Any]:
    """A run that cannot be read says why; the others are shown all the same."""
    from rote.store.metrics import Metrics

    told: dict[str, Any] = {
        **_plain(row),
        "curves": {},
        "facts": {},
        "networks": [],
        "closed": "",
        "describing": [],
        "problem": "",
    }
    try:
        folder = inside(store, row)
        told |= _opened(networks(store.root, row))
        told["curves"] = curves(Metrics(folder).rows())
        told["facts"] = _facts(Record.read(folder))
    except StoreError as error:
        told["problem"] = str(error)
    return told


def _opened(found: Networks) -> dict[str, Any]:
    """The networks that a view on texts can open, or why there are none."""
    listings = [{"key": each.key, "title": each.title, "about": each.about} for each in found.listings]
    return {"networks": listings, "closed": found.closed, "describing": found.describing}


def inside(store: Store, row: Listed) -> Path:
    """The run's folder; a link that leads out of the store is not followed."""
    folder = store.root / row.folder
    if not folder.resolve().is_relative_to((store.root / "runs").resolve()):
        raise DamagedFileError(f"{folder} leads out of the store and is not read.")
    return folder


def _facts(record: Record) -> dict[str, Any]:
    request, environment = record.request, record.environment
    return {
        "seeds": list(request.seeds),
        "overrides": {key: str(value) for key, value in record.passed.items()},
        "device": record.device,
        "taken up again": record.resumed,
        "made from": list(record.uses),
        "commit": environment.get("commit"),
        "packages": environment.get("packages", {}),
        "python": environment.get("python"),
    }


def _progress(store: Store, row: Listed) -> dict[str, Any]:
    """How far a run that is going on has come: the last step that it recorded, and how many it will take."""
    from rote.store.metrics import Metrics

    if row.status != "running":
        return {}
    try:
        rows = Metrics(inside(store, row)).rows()
    except StoreError:
        return {}
    step, steps = rows[-1].get("step") if rows else 0, flat(json.loads(row.config)).get("training.steps")
    return {"step": step, "steps": steps if isinstance(steps, int) else None}


def _plain(row: Listed) -> dict[str, Any]:
    return {
        "id": row.id, "study": row.study, "part": row.part, "label": row.label, "preset": row.preset,
        "status": row.status,
        "seeds": row.seeds, "started": row.started, "seconds": row.seconds, "error": row.error,
    }  # fmt: skip
