"""Tables that both studies of source 003 have: situations of its text, shares by word and by known characters, its
figure. A row says of which network it is: its cell and, for ours, its seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.store import Column, Table
from rote.studies.memorization import measures, published
from rote.studies.memorization.measures import Matrix, Words
from rote.studies.summaries import BAND, Row, band, grouped

CELL = Column("cell", "recurrent unit", "label")
SEED = Column("seed", "random seed of the network", "label")
NORM = Column("norm", "squared: as the source stored and drew it; l2: as its formula says", "label")
SHARE, REACH = "share on previous words", "reach in characters"
NORMS = ("squared", "l2")
POINT = "Point at a character of the figure to choose it."


@dataclass(frozen=True)
class Suggestions:
    """For every character of a text the likeliest words, and where the target is among them."""

    words: Sequence[Sequence[str]]  # [character][place]
    chances: Sequence[Sequence[float]]
    ranks: Sequence[int | None]  # of the target, from 1; None where it is not known
    target_chances: Sequence[float | None]


@dataclass(frozen=True)
class Looked:
    """One network's view of the paragraph: connectivity by norm, suggestions, and what it is called in the tables."""

    labels: Mapping[str, Any]
    values: Mapping[str, Matrix]  # norm -> [output, input]
    suggestions: Suggestions


@dataclass(frozen=True)
class Profile:
    """Share and reach of outputs that have a word before them, one number for each."""

    known: NDArray[np.int64]
    share: Matrix
    reach: Matrix

    @classmethod
    def of(cls, values: Matrix, words: Words, asked: NDArray[np.bool_] | None = None) -> Profile:
        """Of the outputs that are ``asked`` about, by default all."""
        kept = (words.of > 0) if asked is None else (words.of > 0) & asked
        share, far = measures.share_on_previous_words(values, words), measures.reach(values, words)
        return cls(words.known[kept], share[kept], far[kept])

    @classmethod
    def joined(cls, parts: Sequence[Profile]) -> Profile:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("known", "share", "reach")))

    def rows(self, labels: Mapping[str, Any]) -> Iterator[Row]:
        """One row for each number of known characters."""
        for k in np.unique(self.known).tolist():
            mine = self.known == k
            means = {SHARE: float(self.share[mine].mean()), REACH: float(self.reach[mine].mean())}
            yield {**labels, "k": k, "outputs": int(mine.sum()), **means}


def share_table(rows: Iterable[Row], note: str, name: str = "share", title: str = "the paragraph") -> Table:
    """Rows of profiles with cell, seed and norm: means over seeds with their intervals."""
    found = []
    for (cell, norm, k), group in grouped(rows, ("cell", "norm", "k")).items():
        for measure in (SHARE, REACH):
            found.append({"cell": cell, "norm": norm, "k": k, "measure": measure, **over_seeds(group, measure)})
    columns = (
        CELL,
        NORM,
        Column("k", "characters of the word that are known", "label"),
        Column("measure", "share of connectivity, or distance weighted by it", "label"),
        Column("outputs", "characters with so many known", "label"),
        *BAND,
    )
    return Table.make(
        name, f"Connectivity on previous words by known characters, {title}", columns, found, note=note, details=True,
        figure="memorization-share",
    )  # fmt: skip


def summary_table(rows: Iterable[Row], note: str, *labels: Column) -> Table:
    """The single numbers: over all outputs that have a word before them, for each cell, norm and other label."""
    found = []
    names = (*(label.name for label in labels), "cell", "norm")
    for key, group in grouped(rows, names).items():
        row: Row = dict(zip(names, key, strict=True))
        for measure, name in ((SHARE, "share"), (REACH, "reach")):
            over = over_seeds(group, measure)
            row |= {"seeds": over["seeds"], "outputs": over["outputs"], name: over["mean"]}
            row |= {f"{name}_{end}": over.get(end) for end in ("low", "high")}
        found.append(row)
    ends = (("low", "lower end of its 95 % interval over seeds"), ("high", "upper end of it"))
    columns = (
        *labels,
        CELL,
        NORM,
        Column("seeds", "networks", "label"),
        Column("outputs", "characters with a word before theirs", "label"),
        Column("share", "mean share of connectivity on previous words"),
        *(Column(f"share_{end}", about) for end, about in ends),
        Column("reach", "mean distance in characters, weighted by connectivity"),
        *(Column(f"reach_{end}", about) for end, about in ends),
    )
    return Table.make("summary", "Connectivity on previous words, and how far back", columns, found, note=note)


def over_seeds(group: Sequence[Row], measure: str) -> Row:
    """The mean over outputs of each network, then over networks."""
    means, outputs = [], 0
    for mine in grouped(group, ("seed",)).values():
        outputs = sum(row["outputs"] for row in mine)
        means.append(sum(row[measure] * row["outputs"] for row in mine) / outputs)
    return {"outputs": outputs, **band(means, (0.0, 1.0) if measure == SHARE else (0.0, math.inf))}


def situation_rows(looked: Looked, words: Words) -> Iterator[Row]:
    """What the text of the source says of single characters."""
    given = looked.suggestions
    for output, situation in published.SITUATIONS.items():
        best = zip(given.words[output], given.chances[output], strict=True)
        row: Row = {
            **looked.labels, "output": output, "situation": situation, "target": words.names[words.of[output]],
            "k": int(words.known[output]), "suggestions": ", ".join(f"{word} {chance:.1%}" for word, chance in best),
            "rank": given.ranks[output], "chance": given.target_chances[output],
        }  # fmt: skip
        for norm in NORMS:
            shares = measures.share_by_word(looked.values[norm], words, output)
            row |= {f"share_{norm}": float(shares[:-1].sum()), f"words_{norm}": measures.words_in_use(shares)}
        yield row


def situation_table(rows: Iterable[Row], note: str) -> Table:
    columns = (
        Column("situation", "of the source's text", "label"),
        Column("output", "character of the paragraph", "label"),
        CELL,
        SEED,
        Column("target", "the word", "label"),
        Column("k", "its characters that are known", "label"),
        Column("suggestions", "the likeliest words and their probabilities", "label"),
        Column("rank", "of the target among all words; empty where it is not known"),
        Column("chance", "probability of the target"),
        Column("share_squared", "share of connectivity on previous words, squared norm"),
        Column("share_l2", "the same by the formula's norm"),
        Column("words_squared", "number of words drawn on: 1 / sum of squared shares"),
        Column("words_l2", "the same by the formula's norm"),
    )
    ordered = sorted(rows, key=lambda row: list(published.SITUATIONS).index(row["output"]))
    return Table.make(
        "situations", "The situations of the text", columns, ordered, place="Connectivity figure", note=note
    )


def word_rows(looked: Looked, words: Words) -> Iterator[Row]:
    for output, situation in published.SITUATIONS.items():
        shares = {norm: measures.share_by_word(looked.values[norm], words, output) for norm in NORMS}
        for word in range(int(words.of[output]) + 1):
            yield {
                **looked.labels, "output": output, "situation": situation, "place": word, "word": words.names[word],
                **{f"share_{norm}": float(shares[norm][word]) for norm in NORMS},
            }  # fmt: skip


def word_table(rows: Iterable[Row], note: str) -> Table:
    columns = (
        CELL,
        SEED,
        Column("situation", "of the source's text", "label"),
        Column("output", "character of the paragraph", "label"),
        Column("place", "number of the word in the paragraph", "label"),
        Column("word", "what it is", "label"),
        Column("share_squared", "share of the output's connectivity, squared norm"),
        Column("share_l2", "the same by the formula's norm"),
    )
    return Table.make("words", "Connectivity by word in the situations", columns, rows, note=note, details=True)


def paragraph_table(networks: Iterable[Looked], words: Words, note: str) -> Table:
    """The source's figure: for every character what it draws on, relative to the most."""
    rows = []
    for looked in networks:
        squared, given = looked.values["squared"], looked.suggestions
        for output, character in enumerate(words.text):
            row = squared[output, : output + 1]
            relative = row / row.max() if row.max() > 0 else row
            rows.append(
                {
                    **looked.labels, "output": output, "character": character, "target": words.names[words.of[output]],
                    "suggestions": list(given.words[output]), "chances": [round(c, 4) for c in given.chances[output]],
                    "rank": given.ranks[output], "chance": given.target_chances[output],
                    "relative": relative.round(3).tolist(),
                }
            )  # fmt: skip
    columns = (
        CELL,
        SEED,
        Column("output", "character of the paragraph", "label"),
        Column("character", "what it is", "label"),
        Column("target", "its word", "label"),
        Column("suggestions", "the likeliest words", "label"),
        Column("chances", "their probabilities"),
        Column("rank", "of the word among all; empty where it is not known"),
        Column("chance", "probability of the word"),
        Column("relative", "squared connectivity of every character so far, over the largest of them"),
    )
    return Table.make(
        "paragraph", "Connectivity of the paragraph", columns, rows, place="Connectivity figure", details=True,
        figure="memorization-paragraph", note=f"{note} {POINT}".strip(), options={"selected": 106},
    )  # fmt: skip
