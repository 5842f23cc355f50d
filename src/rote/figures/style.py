"""One look for every figure: fonts, sizes, colors on light and on dark paper.

A figure never names an ink or a paper color. It takes the two class colors, which stand out on both papers, leaves
series to the category range, and refers to its own lines by the style names below; the theme fills them in. So the same
chart reads on a white page, on a dark screen and in print, and changing the paper needs no new chart.

``tests/unit/test_palette.py`` checks the contrast of the colors and how far apart they stay under three kinds of color
blindness.
"""

from __future__ import annotations

from typing import Any, Literal

Theme = Literal["light", "dark"]
Rgba = tuple[int, int, int, float]

# The two classes, as in the sources: blue positive, orange negative.
POSITIVE, NEGATIVE = "#2a78b5", "#d9660a"

# Series (settings, models): other hues than the classes, so that a line is not read as a class.
CATEGORY: dict[Theme, tuple[str, ...]] = {
    "light": ("#8e2a96", "#16906d", "#94730f", "#222d38"),
    "dark": ("#d56bd9", "#6fe0b8", "#d8bc5e", "#8093a5"),
}
PAPER: dict[Theme, str] = {"light": "#ffffff", "dark": "#171b21"}
INK: dict[Theme, str] = {"light": "#1c2127", "dark": "#e8ebee"}
MUTED: dict[Theme, str] = {"light": "#5b646e", "dark": "#a3adb8"}
GRID: dict[Theme, str] = {"light": "#e7eaed", "dark": "#2b323a"}

# Arial and Liberation Sans have the same widths, so that static and interactive figures are set alike everywhere.
FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"
TEXT_SIZE, TITLE_SIZE = 11, 12

# A field of probabilities is shaded by how sure the model is: nothing at 0.5, so that the paper shows through.
_SURE = 0.86


def theme(name: Theme = "light") -> dict[str, Any]:
    """The Vega-Lite ``config`` of every figure, on light or on dark paper."""
    ink, muted, grid = INK[name], MUTED[name], GRID[name]
    return {
        "background": PAPER[name],
        "font": FONT,
        "padding": 8,
        "axis": _axis(ink, muted, grid),
        "header": {"labelColor": ink, "labelFontSize": TEXT_SIZE, "titleColor": ink, "titleFontSize": TITLE_SIZE},
        "legend": {
            "labelColor": ink,
            "labelFontSize": TEXT_SIZE,
            "titleColor": muted,
            "titleFontSize": TEXT_SIZE,
            "titleFontWeight": "normal",
            "symbolStrokeWidth": 2,
        },
        "range": {"category": list(CATEGORY[name])},
        "style": _styles(ink, muted),
        "title": {
            "anchor": "start",
            "color": ink,
            "fontSize": TITLE_SIZE,
            "fontWeight": 600,
            "offset": 10,
            "subtitleColor": muted,
            "subtitleFontSize": TEXT_SIZE,
        },
        "view": {"stroke": None},
    }


def _axis(ink: str, muted: str, grid: str) -> dict[str, Any]:
    return {
        "domainColor": muted,
        "gridColor": grid,
        "labelColor": muted,
        "labelFlush": False,
        "labelFontSize": TEXT_SIZE,
        "tickColor": muted,
        "tickSize": 4,
        "titleColor": ink,
        "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal",
        "titlePadding": 6,
    }


def _styles(ink: str, muted: str) -> dict[str, Any]:
    """What a figure draws in ink, by name."""
    return {
        "boundary": {"color": ink, "strokeWidth": 1.75, "strokeJoin": "round"},
        "reference": {"color": muted, "strokeWidth": 1, "strokeDash": [3, 3]},
        "outline": {"color": ink, "filled": False, "strokeWidth": 1.25, "strokeOpacity": 0.8},
        "frame": {"color": muted, "strokeWidth": 0.5, "strokeOpacity": 0.6},
        "summary": {"color": ink, "strokeWidth": 2},
        "summary-point": {"color": ink, "size": 60, "opacity": 1},
        "note": {"color": muted, "fontSize": TEXT_SIZE},
        "strong-note": {"color": ink, "fontSize": TEXT_SIZE},
    }


def shade(probability: float) -> Rgba:
    """Color of a probability of the positive class: red, green, blue in 0..255 and alpha in 0..1."""
    sure = abs(probability - 0.5) * 2
    # Somewhat more than in proportion, so that a network that is hardly sure of anything still shows its sides.
    return *_rgb(POSITIVE if probability > 0.5 else NEGATIVE), _SURE * sure**0.75


def shade_scale() -> tuple[list[float], list[str]]:
    """Probabilities and their colors, close enough for a legend; at 0.5 one hue gives way to the other."""
    stops = [0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.499, 0.501, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0]
    return stops, [f"rgba({r},{g},{b},{a:.3f})" for r, g, b, a in map(shade, stops)]


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
