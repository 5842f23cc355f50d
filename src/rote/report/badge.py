"""A badge for a README: the composition index of a model with its interval, and a bar for each dimension beside it,
since the number alone hides opposite profiles."""

from __future__ import annotations

from html import escape
from pathlib import Path

from rote.errors import UsageError
from rote.examination import Profile
from rote.examination.task import DIMENSIONS
from rote.store.files import write_atomically

LETTER, HEIGHT, EDGE = 6.4, 20, 6  # pixels: a letter of 11, the badge, beside a text
BAR, GAP, TALL = 5, 2, 14
LABEL = "composes"


def badge(profile: Profile) -> str:
    """As SVG, which needs nothing beside it. A dimension of which no task was learned, or asked, has no bar."""
    index = profile.score
    told = "nothing learned" if index is None else f"{index.value:.2f} ({index.low:.2f} to {index.high:.2f})"
    left, middle = _width(LABEL), _width(told)
    dimensions = [name for name in DIMENSIONS if name != "memory"]
    bars, at = [], left + middle
    for number, name in enumerate(dimensions):
        estimate = profile.dimensions.get(name)
        x = at + EDGE + number * (BAR + GAP)
        bars.append(_box(x, HEIGHT - 3, BAR, 1, "#ffffff"))
        if estimate is not None:
            bars.append(_box(x, HEIGHT - 3 - TALL * estimate.value, BAR, TALL * estimate.value, "#ffffff"))
    width = at + 2 * EDGE + len(dimensions) * (BAR + GAP) - GAP
    asked = {task.dimension for task in profile.tasks.values()}
    each = ", ".join(
        f"{name} {profile.dimensions[name].value:.2f}" if name in profile.dimensions else f"{name} not learned"
        for name in dimensions if name in asked
    )  # fmt: skip
    seeds = len(profile.plan.get("seeds", ()))
    title = (
        f"{profile.name} between rote (0) and rule (1): {told} over {len(profile.scored)} of {profile.asked} tasks, "
        f"{seeds} seeds. {each}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        _box(0, 0, left, HEIGHT, "#39424c"),
        _box(left, 0, width - left, HEIGHT, "#1b5b8a"),
        _text(LABEL, 0),
        _text(told, left),
        *bars,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def write_badge(profile: Profile, path: Path) -> Path:
    check_badge(path)
    write_atomically(path, badge(profile).encode())
    return path


def check_badge(path: Path) -> None:
    """Refuse a path that cannot be written before anything is trained for it."""
    if path.suffix != ".svg":
        raise UsageError(f"'--badge' must end in .svg. Got {str(path)!r}.")
    if not path.parent.exists():
        raise UsageError(f"The folder {path.parent} of '--badge' does not exist. Make it first.")


def _width(text: str) -> float:
    return LETTER * len(text) + 2 * EDGE


def _box(x: float, y: float, width: float, height: float, color: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{color}"/>'


def _text(text: str, x: float) -> str:
    """As wide as its box, whatever fonts there are."""
    return (
        f'<text x="{x + EDGE:g}" y="14" fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" '
        f'textLength="{LETTER * len(text):g}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
    )
