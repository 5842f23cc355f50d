"""How much of connectivity lies on words before the present one: measures, and the tables that both studies of source
003 have. The source says of its accuracy curves that they "don't summarize the model to a single number, which one may
wish for".

A text is words, each after a space; the space belongs to the word after it, as in the autocomplete task. A matrix is
connectivity[output, input], not negative. Of one output step:

    share    on previous words: the part of its connectivity that lies before the space of its own word
    reach    mean distance to the inputs, in characters, weighted by connectivity
    words    the part on each word so far, and how many words that are
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError
from rote.laboratory.aggregate import BAND, Row, band, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.memorization import published

Matrix = NDArray[np.float64]
CELL = Column("cell", "recurrent unit", "label")
SEED = Column("seed", "random seed of the network", "label")
NETWORK = (CELL, SEED)
NORM = Column("norm", "squared: as the source stored and drew it; l2: as its formula says", "label")
KNOWN = Column("k", "characters of the word that are known", "label")
TOP = Column("top", "the word must be among so many suggestions", "label")
SET = Column("set", "train or valid", "label")
STEP = Column("step", "mini-batches", "label")
OUTPUT = Column("output", "character of the paragraph", "label")
SHARE, REACH = "share on previous words", "reach in characters"
NORMS = ("squared", "l2")
POINT = "Point at a character of the figure to choose it."


@dataclass(frozen=True)
class Words:
    """Where the words of a text are."""

    text: str
    names: tuple[str, ...]
    of: NDArray[np.int64]  # [character], the number of its word
    known: NDArray[np.int64]  # [character], letters of its word up to here: 0 at the space

    @classmethod
    def find(cls, text: str) -> Words:
        if not text.startswith(" ") or "  " in text or text.endswith(" "):
            raise UsageError(f"A text must be words with one space before each. Got {text[:40]!r}.")
        spaces = np.array([character == " " for character in text])
        of = spaces.cumsum() - 1
        starts = np.flatnonzero(spaces)
        return cls(text, tuple(text[1:].split(" ")), of, np.arange(len(text)) - starts[of])


def share_on_previous_words(values: Matrix, words: Words) -> Matrix:
    """[output]; NaN within the first word, which has none before it."""
    earlier = words.of[None, :] < words.of[:, None]
    share = _over(np.where(earlier, values, 0.0).sum(1), values.sum(1))
    return np.where(words.of > 0, share, np.nan)


def reach(values: Matrix, words: Words) -> Matrix:
    """[output], in characters; NaN within the first word."""
    steps = np.arange(len(values))
    distance = (steps[:, None] - steps[None, :]).clip(min=0)
    return np.where(words.of > 0, _over((values * distance).sum(1), values.sum(1)), np.nan)


def share_by_word(values: Matrix, words: Words, output: int) -> Matrix:
    """[word], from the first to the one of this output; they sum to 1."""
    row = values[output, : output + 1]
    return _over(np.bincount(words.of[: output + 1], row).astype(np.float64), np.asarray(row.sum()))


def words_in_use(shares: Matrix) -> float:
    """How many words an output draws on: 1 where one word has everything, n where n share equally."""
    return float(1 / (shares**2).sum())


def _over(part: Matrix, whole: Matrix) -> Matrix:
    """0 where there is nothing: an output whose every gradient underflows draws on nothing."""
    share: Matrix = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return share


@dataclass(frozen=True)
class Suggestions:
    """For every character of a text the likeliest words, and where the target is among them."""

    words: Sequence[Sequence[str]]  # [character][place]
    chances: Sequence[Sequence[float]]
    ranks: Sequence[int | None]  # of the target, from 1; None where it is not known
    target_chances: Sequence[float | None]


@dataclass(frozen=True)
class Looked:
    """One network's view of the paragraph: connectivity by norm, suggestions, and what it is called in the tables:
    its cell and, for ours, its seed."""

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
        return cls(words.known[kept], share_on_previous_words(values, words)[kept], reach(values, words)[kept])

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
    means = [
        {"cell": cell, "norm": norm, "k": k, "measure": measure, **over_seeds(group, measure)}
        for (cell, norm, k), group in grouped(rows, ("cell", "norm", "k")).items()
        for measure in (SHARE, REACH)
    ]
    columns = (
        CELL,
        NORM,
        KNOWN,
        Column("measure", "share of connectivity, or distance weighted by it", "label"),
        Column("outputs", "characters with so many known", "label"),
        *BAND,
    )
    return Table.make(
        name, f"Connectivity on previous words by known characters, {title}", columns, means, note=note, details=True,
        figure="memorization-share",
    )  # fmt: skip


def summary_table(rows: Iterable[Row], note: str, *labels: Column) -> Table:
    """The single numbers: over all outputs that have a word before them, for each cell, norm and other label."""
    names = (*(label.name for label in labels), "cell", "norm")
    summary = []
    for key, group in grouped(rows, names).items():
        row: Row = dict(zip(names, key, strict=True))
        for measure, name in ((SHARE, "share"), (REACH, "reach")):
            over = over_seeds(group, measure)
            row |= {"seeds": over["seeds"], "outputs": over["outputs"], name: over["mean"]}
            row |= {f"{name}_{end}": over.get(end) for end in ("low", "high")}
        summary.append(row)
    columns = (
        *labels,
        CELL,
        NORM,
        Column("seeds", "networks", "label"),
        Column("outputs", "characters with a word before theirs", "label"),
        Column("share", "mean share of connectivity on previous words"),
        *interval_columns("share"),
        Column("reach", "mean distance in characters, weighted by connectivity"),
        *interval_columns("reach"),
    )
    return Table.make("summary", "Connectivity on previous words, and how far back", columns, summary, note=note)


def over_seeds(group: Sequence[Row], measure: str) -> Row:
    """The mean over outputs of each network, then over networks."""
    means, outputs = [], 0
    for mine in grouped(group, ("seed",)).values():
        outputs = sum(row["outputs"] for row in mine)
        means.append(sum(row[measure] * row["outputs"] for row in mine) / outputs)
    return {"outputs": outputs, **band(means, (0.0, 1.0) if measure == SHARE else (0.0, math.inf))}


def situation_table(networks: Sequence[Looked], words: Words, note: str, labels: Sequence[Column] = NETWORK) -> Table:
    """What the text of the source says of single characters."""
    rows = [
        _situation(looked, words, output, situation)
        for output, situation in published.SITUATIONS.items() for looked in networks
    ]  # fmt: skip
    columns = (
        Column("situation", "of the source's text", "label"),
        OUTPUT,
        *labels,
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
    return Table.make(
        "situations", "The situations of the text", columns, rows, place="Connectivity figure", note=note
    )  # fmt: skip


def _situation(looked: Looked, words: Words, output: int, situation: str) -> Row:
    suggested = looked.suggestions
    best = zip(suggested.words[output], suggested.chances[output], strict=True)
    row: Row = {
        **looked.labels, "output": output, "situation": situation, "target": words.names[words.of[output]],
        "k": int(words.known[output]), "suggestions": ", ".join(f"{word} {chance:.1%}" for word, chance in best),
        "rank": suggested.ranks[output], "chance": suggested.target_chances[output],
    }  # fmt: skip
    for norm in NORMS:
        shares = share_by_word(looked.values[norm], words, output)
        row |= {f"share_{norm}": float(shares[:-1].sum()), f"words_{norm}": words_in_use(shares)}
    return row


def word_table(networks: Sequence[Looked], words: Words, note: str, labels: Sequence[Column] = NETWORK) -> Table:
    """What the outputs of the situations draw on, word by word."""
    rows = []
    for looked in networks:
        for output, situation in published.SITUATIONS.items():
            shares = {f"share_{norm}": share_by_word(looked.values[norm], words, output) for norm in NORMS}
            for word in range(int(words.of[output]) + 1):
                row = {**looked.labels, "output": output, "situation": situation, "place": word}
                by_norm = {name: float(values[word]) for name, values in shares.items()}
                rows.append({**row, "word": words.names[word], **by_norm})
    columns = (
        *labels,
        Column("situation", "of the source's text", "label"),
        OUTPUT,
        Column("place", "number of the word in the paragraph", "label"),
        Column("word", "what it is", "label"),
        Column("share_squared", "share of the output's connectivity, squared norm"),
        Column("share_l2", "the same by the formula's norm"),
    )
    return Table.make("words", "Connectivity by word in the situations", columns, rows, note=note, details=True)


def paragraph_table(networks: Sequence[Looked], words: Words, note: str, labels: Sequence[Column] = NETWORK) -> Table:
    """The source's figure: for every character what it draws on, relative to the most."""
    rows = []
    for looked in networks:
        squared, suggested = looked.values["squared"], looked.suggestions
        for output, character in enumerate(words.text):
            row = squared[output, : output + 1]
            relative = row / row.max() if row.max() > 0 else row
            rows.append(
                {
                    **looked.labels, "output": output, "character": character, "target": words.names[words.of[output]],
                    "suggestions": list(suggested.words[output]), "rank": suggested.ranks[output],
                    "chances": [round(chance, 4) for chance in suggested.chances[output]],
                    "chance": suggested.target_chances[output], "relative": relative.round(3).tolist(),
                }
            )  # fmt: skip
    columns = (
        *labels,
        OUTPUT,
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
