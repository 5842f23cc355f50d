"""Draws the moving picture of the README: what the bundled networks' predictions rest on while a text is typed.

    python docs/moving_picture.py

An SVG with style sheets alone, so that a page may show it as a picture. Readers who want no motion see its last frame.
"""

from __future__ import annotations

import html
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rote.explorer.reading import Reader
from rote.explorer.text_connectivity import Linked, link
from rote.models import load_autocomplete
from rote.store import write_atomically

PATH = Path(__file__).parent / "images" / "typing.svg"
TEXT = "the united states of america and the united kin"
MODELS = (("gru", "GRU"), ("lstm", "LSTM"), ("nested_lstm", "Nested LSTM"))
FROM = 6  # characters that are there when it begins
SECONDS, PAUSE = 0.28, 6  # of a frame, and frames for which the last one stays
LETTER, ROW, LEFT, TOP, FAINT = 11, 62, 16, 52, 0.04


def moving_picture() -> str:
    """The picture as text."""
    found = [(title, link(Reader.of(load_autocomplete(name)), TEXT, ask="choice", top=3)) for name, title in MODELS]
    symbols = found[0][1].reading.symbols
    frames = range(FROM, len(symbols))
    cycle = len(frames) + PAUSE
    width, height = 2 * LEFT + LETTER * len(symbols), TOP + ROW * len(found)
    body = "".join(_frame(found, at, number, frames[-1]) for number, at in enumerate(frames))
    shown = 100 / cycle
    style = (
        "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#1c2127}"
        ".t{font:600 15px Helvetica,Arial,sans-serif}.n{font:12px Helvetica,Arial,sans-serif;fill:#5b646e}"
        ".f{opacity:0;animation:f " + f"{cycle * SECONDS:.2f}s step-end infinite" + "}"
        ".l{animation-name:l}" + "@keyframes f{0%{opacity:1}" + f"{shown:.4f}%" + "{opacity:0}}"
        "@keyframes l{0%{opacity:1}" + f"{shown * (PAUSE + 1):.4f}%" + "{opacity:0}}"
        "@media(prefers-reduced-motion:reduce){.f{animation:none}.l{opacity:1}}"
    )
    told = "While a text is typed, each character is shaded by how much the prediction of three networks rests on it."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{told}"><style>{style}</style>'
        f'<rect width="{width}" height="{height}" rx="6" fill="#ffffff"/>'
        f'<text class="t" x="{LEFT}" y="26">What does the next word rest on?</text>{body}</svg>\n'
    )


def _frame(found: list[tuple[str, Linked]], at: int, number: int, last: int) -> str:
    rows = "".join(_row(title, linked, at, TOP + ROW * index) for index, (title, linked) in enumerate(found))
    kind = "f l" if at == last else "f"
    return f'<g class="{kind}" style="animation-delay:{number * SECONDS:.2f}s">{rows}</g>'


def _row(title: str, linked: Linked, at: int, top: int) -> str:
    values = [abs(value) for value in linked.values[at, : at + 1].tolist()]
    most = max(values) or 1.0
    marks = "".join(
        f'<rect x="{LEFT + LETTER * step}" y="{top + 10}" width="{LETTER}" height="22" fill="#d9660a" '
        f'fill-opacity="{value / most:.2f}"/>'
        for step, value in enumerate(values)
        if value / most >= FAINT
    )
    letters = html.escape("".join(linked.reading.symbols[: at + 1]).replace(" ", "\u00a0"))
    typed = f'<text x="{LEFT}" y="{top + 26}" textLength="{LETTER * (at + 1)}">{letters}</text>'
    words = zip(linked.suggested[at], linked.suggested_chances[at], strict=True)
    says = html.escape(", ".join(f"{word} {chance:.0%}" for word, chance in words))
    return f'{marks}{typed}<text class="n" x="{LEFT}" y="{top + 2}">{title}: {says}</text>'


if __name__ == "__main__":
    write_atomically(PATH, moving_picture().encode())
    print(PATH)
