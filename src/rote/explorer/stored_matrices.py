"""The article's own matrices in the connectivity view: what source 003 stored of its three networks, and nothing else.

Beside live models, for its own paragraph. It stored squared norms at the one-hot input of the logit of the text's own
word, and three suggestions for each character.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from rote.errors import UnknownNameError, UsageError
from rote.explorer.catalog import Listing
from rote.studies.memorization.previous_words import Words
from rote.studies.memorization.published import BATCH, CELLS, LAYERS, PARAGRAPH, PARAMETERS, STEPS, TEST, UNITS, WORDS
from rote.studies.memorization.stored_data import MODELS, load
from rote.studies.memorization.stored_tables import looked_at

PREFIX = "article:"
STORED = {"wrt": ("one_hot",), "norm": ("l2", "squared"), "of": ("logit",), "ask": ("text",)}


def listings() -> list[dict[str, Any]]:
    """As the catalog lists models; they have no weights, so that only connectivity can be shown."""
    return [
        asdict(
            Listing(
                f"{PREFIX}{cell}", f"{title}, the article's own", "stored", cell, "character", WORDS + 2, "article",
                about=_about(title),
            )
        )
        for cell, title in CELLS.items()
    ]  # fmt: skip


def ranks(at: int) -> dict[str, dict[str, Any]]:
    """By cell, where the published networks have the word that is being typed at a character of the paragraph; None:
    below the three suggestions that were stored."""
    found = {}
    for cell, title in CELLS.items():
        given = looked_at(load(), title, Words.find(PARAGRAPH)).suggestions
        found[cell] = {"rank": given.ranks[at], "chance": given.target_chances[at], "stored": len(given.words[at])}
    return found


def _about(title: str) -> str:
    """As of a bundled model, from what was published."""
    size, many = PARAMETERS[title], "s" * (LAYERS[title] > 1)
    return (
        f"{LAYERS[title]} layer{many} of {UNITS} units · {size[1]:,} recurrent of {sum(size):,} parameters · "
        f"{STEPS:,} steps of {BATCH} texts · test loss {TEST[title][0]:.2f} nats"
    )


def answer(key: str, text: str, **asked: str) -> dict[str, Any]:
    """As ``Linked.answer`` of a live model; a rank beyond three and its probability are not known."""
    cell = key.removeprefix(PREFIX)
    if cell not in CELLS:
        raise UnknownNameError("stored network", key, [f"{PREFIX}{name}" for name in CELLS])
    if f" {text.strip()}" != PARAGRAPH:
        raise UsageError("The article stored its own paragraph alone. Choose one of its situations above to read it.")
    for name, value in asked.items():
        if value not in STORED[name]:
            known = " or ".join(STORED[name])
            raise UsageError(f"The article stored squared norms of its logits at one-hot inputs: {name!r} is {known}.")
    words = Words.find(PARAGRAPH)
    found = looked_at(load(), CELLS[cell], words)
    values = found.values["squared" if asked.get("norm") == "squared" else "l2"]
    from rote.explorer.text_connectivity import packed

    index, given = MODELS.index(CELLS[cell]), found.suggestions
    return {
        "symbols": list(PARAGRAPH), "words": words.of.tolist(), "expects": "the word being typed", "changed": [],
        "notes": [], "asked": [words.names[word] for word in words.of.tolist()], "own": [False] * len(PARAGRAPH),
        "ranks": given.ranks, "chances": given.target_chances, "suggested": given.words,
        "suggested_chances": load().chances[index].tolist(), "causal": True,
        "values": packed(values[np.tril_indices(len(values))]),
    }  # fmt: skip
