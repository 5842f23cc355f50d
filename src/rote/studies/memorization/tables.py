"""Tables that both studies of source 003 have: situations of its text, shares by word and by known characters, its
figure. A row says of which network it is: its cell and, for ours, its seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.store import Column, Table
from rote.studies.memorization import measures, published
from rote.studies.memorization.measures import Matrix, Words
from rote.studies.summaries import BAND, Row, band, grouped

CELL = Column("cell", "recurrent unit", "label")
SEED = Column("seed", "random seed of the network", "label")
NORM = Column("norm", "squared: as the source stored and drew it; l2: as its formula says", "label")
SHARE, REACH = "share on previous words", "reach in characters"
NORMS = ("squared", "l2")


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


def output_rows(looked: Looked, words: Words) -> Iterator[Row]:
    """Share and reach of every output after the first word, by both norms."""
    for norm in NORMS:
        values = looked.values[norm]
        share, far = measures.share_on_previous_words(values, words), measures.reach(values, words)
        for output in np.flatnonzero(words.of > 0).tolist():
            yield {
                **looked.labels, "norm": norm, "output": output, "word": int(words.of[output]),
                "k": int(words.known[output]), SHARE: float(share[output]), REACH: float(far[output]),
            }  # fmt: skip


def share_table(rows: Iterable[Row], note: str) -> Table:
    """Means over the outputs with so many known characters; over seeds with their interval."""
    found = []
    for (cell, norm, k), group in grouped(rows, ("cell", "norm", "k")).items():
        for measure in (SHARE, REACH):
            found.append({"cell": cell, "norm": norm, "k": k, "measure": measure, **_over_seeds(group, measure)})
    columns = (
        CELL,
        NORM,
        Column("k", "characters of the word that are known", "label"),
        Column("measure", "share of connectivity, or distance weighted by it", "label"),
        Column("outputs", "characters of the paragraph with so many known", "label"),
        *BAND,
    )
    return Table.make(
        "share", "Connectivity on previous words by known characters", columns, found, note=note, details=True,
        figure="memorization-share",
    )  # fmt: skip


def summary_table(rows: Iterable[Row], note: str) -> Table:
    """The single numbers: over all outputs after the first word."""
    found = []
    for (cell, norm), group in grouped(rows, ("cell", "norm")).items():
        row: Row = {"cell": cell, "norm": norm}
        for measure, name in ((SHARE, "share"), (REACH, "reach")):
            over = _over_seeds(group, measure)
            row |= {"seeds": over["seeds"], "outputs": over["outputs"], name: over["mean"]}
            row |= {f"{name}_{end}": over.get(end) for end in ("low", "high")}
        found.append(row)
    ends = (("low", "lower end of its 95 % interval over seeds"), ("high", "upper end of it"))
    columns = (
        CELL,
        NORM,
        Column("seeds", "networks", "label"),
        Column("outputs", "characters of the paragraph after its first word", "label"),
        Column("share", "mean share of connectivity on previous words"),
        *(Column(f"share_{end}", about) for end, about in ends),
        Column("reach", "mean distance in characters, weighted by connectivity"),
        *(Column(f"reach_{end}", about) for end, about in ends),
    )
    return Table.make("summary", "Connectivity on previous words, and how far back", columns, found, note=note)


def _over_seeds(group: Sequence[Row], measure: str) -> Row:
    by_seed = grouped(group, ("seed",)).values()
    means = [float(np.mean([row[measure] for row in mine])) for mine in by_seed]
    return {"outputs": len(group) // len(means), **band(means)}


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
                **looked.labels, "output": output, "situation": situation, "word": word, "name": words.names[word],
                **{f"share_{norm}": float(shares[norm][word]) for norm in NORMS},
            }  # fmt: skip


def word_table(rows: Iterable[Row], note: str) -> Table:
    columns = (
        CELL,
        SEED,
        Column("situation", "of the source's text", "label"),
        Column("output", "character of the paragraph", "label"),
        Column("word", "its number in the paragraph", "label"),
        Column("name", "the word", "label"),
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
        Column("relative", "squared connectivity of every character so far, over the largest of them"),
    )
    return Table.make(
        "paragraph", "Connectivity of the paragraph", columns, rows, place="Connectivity figure", details=True,
        figure="memorization-paragraph", note=note, options={"selected": 106},
    )  # fmt: skip
