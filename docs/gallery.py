"""Writes the gallery: views of the explorer as pages that open without a server, and a first page that leads to them.

    python docs/gallery.py FOLDER

The folder can be put on any static host. It is replaced only if it is empty or a gallery.
"""

from __future__ import annotations

import html
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rote.errors import UsageError
from rote.explorer import Explorer, Workbench
from rote.store import Store, write_atomically

PAGES = (  # file, view, title, what there is to see, its state
    ("connectivity", "connectivity", "What does a prediction rest on?",
     "Three networks read a paragraph, beside its article's own: each character is shaded by how much it counts.", {}),
    ("autocomplete", "autocomplete", "What does the network expect next?",
     "Suggestions after every letter, and what the gates did.", {"text": "parts of north af", "model": "gru"}),
    ("decomposition", "decomposition", "What does a phrase contribute?",
     "The part of each later prediction that comes from one phrase.", {}),
    ("units", "units", "What does a recurrent unit compute?",
     "One unit taken apart, operation by operation, at every character.", {}),
    ("recurrent", "recurrent", "Train a recurrent network here",
     "Parity, agreement, delayed copy or your own pairs, in the page itself: states, gates, how far a loss reaches.",
     {"task": "parity", "cell": "gru", "step": 60}),
    ("chalk", "chalk", "What does backpropagation do?",
     "A computation graph, forward and backward, one step at a time.", {"example": "through_time"}),
    ("playground", "playground", "Where does a network compose?",
     "Networks on the plane learn with one quadrant unseen.", {"step": 200}),
    ("profiles", "profiles", "Which architecture composes?",
     "Profiles between rote and rule, of the architectures that come with Rote.", {}),
    ("lookup", "lookup", "Did it learn the tables or the rule?",
     "A baseline and a guided network on the same composition: answers, attention and gates.", {}),
    ("ledger", "ledger", "What do the sources' claims hold?",
     "Every claim with its published value, ours, and the verdict.", {}),
)  # fmt: skip
INDEX = "index.html"
MARK = "<!-- a gallery of Rote -->"
STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "ul{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:1rem}"
    "li{border:1px solid #8888;border-radius:6px;padding:1rem}a{font-weight:600}p{margin:.4rem 0 0}"
)


def write_gallery(folder: Path) -> Path:
    """Write the pages; returns the first."""
    index = folder / INDEX
    if folder.exists() and any(folder.iterdir()) and not (index.exists() and MARK in index.read_text("utf-8")):
        raise UsageError(f"The folder {folder} holds other files than a gallery. Name another, or move it away.")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty, Explorer(Workbench(Store(Path(empty) / "store")), 0) as explorer:
        for file, view, _, _, state in PAGES:
            explorer.inline(view, **state).save(folder / f"{file}.html")
    write_atomically(index, first_page().encode())
    return index


def first_page() -> str:
    items = "\n".join(
        f'<li><a href="{file}.html">{html.escape(title)}</a><p>{html.escape(about)}</p></li>'
        for file, _, title, about, _ in PAGES
    )
    return (
        f'<!doctype html>\n{MARK}\n<html lang="en"><head><meta charset="utf-8"><title>Rote: gallery</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>\n'
        f"<h1>Rote: gallery</h1>\n<p>Does a sequence model compose, or has it learned by rote? Each page works by "
        f"itself, without a server.</p>\n<ul>\n{items}\n</ul>\n</body></html>\n"
    )


if __name__ == "__main__":
    try:
        print(write_gallery(Path(sys.argv[1] if len(sys.argv) > 1 else "gallery")))
    except UsageError as error:
        sys.exit(str(error))
