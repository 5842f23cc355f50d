"""The profile of an examined model as a file: a page that opens anywhere, a figure for a paper, or data."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jinja2

from rote.errors import UsageError
from rote.examination import Profile
from rote.examination.task import BATTERY, battery
from rote.figures import Theme
from rote.figures.export import export
from rote.report import numbers
from rote.store import Table
from rote.store.files import write_atomically

_HERE = Path(__file__).parent
ENDINGS = (".html", ".svg", ".pdf", ".png", ".json")
SHOWN = 3  # examples of a task
INSIDE = ("exchange_known", "exchange_new", "cue_known", "parts_known", "parts_new")


def check_out(path: Path) -> None:
    """Refuse a path that cannot be written before anything is trained for it."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"'--out' must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}. Got {str(path)!r}.")
    if not path.parent.exists():
        raise UsageError(f"The folder {path.parent} of '--out' does not exist. Make it first.")


def write_profile(profile: Profile, path: Path) -> Path:
    """By the ending of ``path``: .html, .svg, .pdf, .png, or .json, which ``Profile.load`` reads."""
    check_out(path)
    if path.suffix == ".json":
        return profile.save(path)
    if path.suffix == ".html":
        write_atomically(path, page(profile).encode())
    else:
        write_atomically(path, export(profile.to_table(), path.suffix[1:]))  # type: ignore[arg-type]
    return path


def page(profile: Profile) -> str:
    """One file with everything in it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["number"] = _number
    return environment.get_template("profile.html").render(
        profile=profile, battery=BATTERY, strips=_pictures(profile.to_table()), curves=_pictures(profile.curves()),
        tasks=[_task(profile, name) for name in profile.tasks],
        comparisons=[(other, profile.compare(other).records()) for other in profile.references],
    )  # fmt: skip


def _pictures(table: Table) -> dict[str, str]:
    themes: tuple[Theme, ...] = ("light", "dark")
    return {on: "data:image/svg+xml;base64," + base64.b64encode(export(table, "svg", on)).decode() for on in themes}


def _task(profile: Profile, name: str) -> dict[str, Any]:
    task, kind = profile.tasks[name], battery[name]
    examples = task.runs[0]["examples"][:SHOWN] if task.runs else []
    return {
        "name": name, "about": kind.about, "profile": task, "chance": kind.chance,
        "shares": {key: task.share(key) for key in ("known", "fresh", "new", "zero", "memorizer")},
        "inside": {key: task.share(key) for key in INSIDE},
        "others": _others(task.runs), "examples": [_example(one) for one in examples],
    }  # fmt: skip


def _others(runs: Any) -> dict[str, float]:
    """Mean accuracy on further new items."""
    found: dict[str, list[float]] = {}
    for run in runs:
        for row in run["others"]:
            found.setdefault(row["set"], []).append(row["accuracy"])
    return {name: sum(values) / len(values) for name, values in found.items()}


def _example(row: dict[str, Any]) -> dict[str, Any]:
    cue, asked = ({int(place) for place in row[key].split()} for key in ("cue", "asked"))
    words = [(word, place in cue, place in asked) for place, word in enumerate(row["read"].split(" "))]
    return {"words": words, "answered": row["answered"], "right": row["right"]}


def _number(value: Any) -> str:
    return "–" if value is None else numbers.shown(value)
