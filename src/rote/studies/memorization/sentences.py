"""Sentences of source 003 that are judged twice: of networks that are trained here, by seed, and of the author's own
network, whose stored data either bear a sentence out or do not.

The tables are the same but for the seed, which the stored ones do not have: their only network counts as 0. A rank that
is missing is one beyond the three stored suggestions there, and that of a word outside the vocabulary here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from rote.claims import Assertion, Claim, Kind, NotMeasuredError, PerSeed, Tables, Values, all_of, any_of, measured
from rote.claims.region import above, at_least, at_most, below
from rote.laboratory.aggregate import Row, grouped
from rote.studies.memorization import published
from rote.studies.memorization.previous_words import NORMS, Words

SUGGESTED = 3  # words that a network suggests
MANY = 7  # letters, of which we call a word known by many
READING = {"squared": "squared norm, as drawn", "l2": "norm, as in the formula"}


def situation(tables: Tables, cell: str, output: int, name: str) -> Values:
    """A column of one of the situations of the source's text."""
    rows = _rows(tables, "situations", cell=cell, output=output)
    if any("seed" in row and row["rank"] is None for row in rows):
        raise NotMeasuredError("the word is outside the vocabulary")
    missing = math.inf if name == "rank" else math.nan
    return {row.get("seed", 0): missing if row[name] is None else row[name] for row in rows}


def on_word(tables: Tables, cell: str, output: int, word: str, norm: str) -> Values:
    """The share of an output's connectivity that lies on a word before it."""
    known = situation(tables, cell, output, "rank")
    rows = _rows(tables, "words", cell=cell, output=output, word=word)
    return {row.get("seed", 0): row[f"share_{norm}"] for row in rows if row.get("seed", 0) in known}


def letters(tables: Tables, cell: str, occurrence: int) -> Values:
    """Letters of "grammar" that are needed, the first or the second time; infinite where it is never suggested."""
    known = situation(tables, cell, 32, "rank")
    rows = tables["letters"].records() if "letters" in tables else letter_rows(tables["paragraph"].records())
    mine = [row for row in rows if (row["cell"], row["occurrence"]) == (cell, occurrence)]
    return {row["seed"]: math.inf if row["letters"] is None else row["letters"] for row in mine if row["seed"] in known}


def letter_rows(paragraph: Iterable[Row]) -> list[Row]:
    """The fewest known letters of "grammar" with which each network suggests it, at both places; None: never."""
    words, rows = Words.find(published.PARAGRAPH), []
    starts = [int((words.of == number).argmax()) for number, word in enumerate(words.names) if word == "grammar"]
    by_network = grouped(({"seed": 0, **row} for row in paragraph), ("cell", "seed"))
    for (cell, seed), group in by_network.items():
        suggested = {row["output"] for row in group if "grammar" in row["suggestions"]}
        for number, start in enumerate(starts):
            enough = [letters for letters in range(len(" grammar")) if start + letters in suggested]
            rows.append({"cell": cell, "seed": seed, "occurrence": number + 1, "letters": min(enough, default=None)})
    return rows


def ahead(tables: Tables, counted: str, first: int, last: int) -> Values:
    """Accuracy (top 1), GRU minus LSTM, over all positions with so many letters known."""
    gru, lstm = (_hits(tables, cell, counted) for cell in ("GRU", "LSTM"))
    return {seed: accuracy_over(gru[seed], first, last) - accuracy_over(lstm[seed], first, last) for seed in gru}


def slope(tables: Tables, counted: str) -> Values:
    """By how much that difference grows with each letter that is known: a line, positions as weights."""
    gru, lstm = (_hits(tables, cell, counted) for cell in ("GRU", "LSTM"))
    found = {}
    for seed, rows in gru.items():
        known = [row["k"] for row in rows]
        gaps = [accuracy_over(rows, k, k) - accuracy_over(lstm[seed], k, k) for k in known]
        found[seed] = float(np.polyfit(known, gaps, 1, w=np.sqrt([row["positions"] for row in rows]))[0])
    return found


def accuracy_over(rows: Sequence[Row], first: int, last: int) -> float:
    """Accuracy of one network's rows over several numbers of known letters."""
    mine = [row for row in rows if first <= row["k"] <= last]
    positions = sum(row["positions"] for row in mine)
    return sum(row["hits"] for row in mine) / positions if positions else math.nan


def _hits(tables: Tables, cell: str, counted: str) -> dict[int, list[Row]]:
    """By seed, where there are positions. The stored ones were all counted as published."""
    labels = {"cell": cell, "top": 1}
    found = (
        _rows(tables, "hits", **labels, counted=counted) if "hits" in tables else _rows(tables, "accuracy", **labels)
    )
    rows = [{"seed": 0, **row} for row in found if row["positions"]]
    return {seed: group for (seed,), group in grouped(rows, ("seed",)).items()}


def _rows(tables: Tables, table: str, **where: object) -> list[Row]:
    rows = tables[table].where(**where).records() if table in tables else []
    if not rows:
        raise NotMeasuredError(f"no row with {where} in the table {table!r}")
    return rows


def _at(cell: str, output: int, name: str) -> PerSeed:
    return measured(situation, cell, output, name)


def _hero(norm: str) -> tuple[Assertion, Assertion]:
    start, end = (_at("GRU", output, f"share_{norm}") for output in (28, 34))
    return (
        Assertion(f"GRU, no letter known: share on previous words, {READING[norm]}", start, above(0.5), scale="unit"),
        Assertion(f"GRU, six letters known: the same, {READING[norm]}", end, below(0.5), scale="unit"),
    )


def _needed(cell: str, occurrence: int, time: str) -> Assertion:
    region = at_most(1) if (cell, occurrence) == ("GRU", 2) else at_least(4)
    return Assertion(f"Letters needed the {time} time, {cell}", measured(letters, cell, occurrence), region)


def _pair(first: str, second: str, output: int, name: str) -> PerSeed:
    return _at(first, output, name) - _at(second, output, name)


def situations(prefix: str, kind: Kind, remark: str = "") -> tuple[Claim, ...]:
    """What the source's text says of single characters of its paragraph."""
    return (
        Claim(
            f"{prefix}-hero", "memorization", "Hero figure",
            "Predicting the first 'grammar', the GRU draws mostly on earlier words before it has a letter, and mostly "
            "on the word itself once it has six.",
            published.HERO, (any_of(*(all_of(*_hero(norm)) for norm in NORMS)),), kind, remark=remark,
        ),
        Claim(
            f"{prefix}-learning", "memorization", "Connectivity figure, situation 1",
            "With two letters of 'learning' GRU and LSTM suggest it, the GRU with the higher probability; the Nested "
            "LSTM does not.",
            published.LEARNING,
            (
                Assertion("Rank of the word, GRU", _at("GRU", 106, "rank"), at_most(SUGGESTED)),
                Assertion("Rank of the word, LSTM", _at("LSTM", 106, "rank"), at_most(SUGGESTED)),
                Assertion("Rank of the word, Nested LSTM", _at("Nested LSTM", 106, "rank"), above(SUGGESTED)),
                Assertion("Probability, GRU minus LSTM", _pair("GRU", "LSTM", 106, "chance"), above(0)),
                *(
                    Assertion(
                        f"Share on previous words, Nested LSTM minus {cell}",
                        _pair("Nested LSTM", cell, 106, "share_squared"), below(0), role="report",
                    )
                    for cell in ("GRU", "LSTM")
                ),
            ),
            kind, remark=remark,
        ),
        Claim(
            f"{prefix}-advanced", "memorization", "Connectivity figure, situation 1",
            "With two letters of 'learning' the GRU is connected more strongly with 'advanced' than the LSTM is.",
            published.ADVANCED,
            (
                any_of(
                    *(
                        Assertion(
                            f"Share on 'advanced', GRU minus LSTM, {READING[norm]}",
                            measured(on_word, "GRU", 106, "advanced", norm)
                            - measured(on_word, "LSTM", 106, "advanced", norm),
                            above(0),
                        )
                        for norm in NORMS
                    )
                ),
            ),
            kind,
            remark="The source's formula has the norm of the gradient, its program and its figure the squared norm: "
            f"either is a reading. {remark}".strip(),
        ),
        Claim(
            f"{prefix}-grammar", "memorization", "Connectivity figure, situation 2",
            "The first time no model suggests 'grammar' before four letters; the second time the GRU needs one, the "
            "others four again.",
            published.GRAMMAR,
            tuple(
                _needed(cell, occurrence, time)
                for occurrence, time in ((1, "first"), (2, "second")) for cell in published.CELLS.values()
            ),
            kind, remark=f"A word that is never suggested needs infinitely many. {remark}".strip(),
        ),
        Claim(
            f"{prefix}-schools", "memorization", "Connectivity figure, situation 3",
            "With one letter of 'schools' the LSTM draws on more words of the sentence than the GRU, but does not "
            "suggest it.",
            published.SCHOOLS,
            (
                any_of(
                    *(
                        Assertion(
                            f"Words drawn on, LSTM minus GRU, {READING[norm]}",
                            _pair("LSTM", "GRU", 141, f"words_{norm}"), above(0),
                        )
                        for norm in NORMS
                    )
                ),
                Assertion("Rank of the word, LSTM", _at("LSTM", 141, "rank"), above(SUGGESTED)),
                Assertion("Words drawn on, LSTM", _at("LSTM", 141, "words_squared"), above(1), role="report"),
            ),
            kind,
            remark="Words drawn on: 1 where one word has all of the connectivity, n where n words share it equally. "
            f"'Almost the entire sentence' is no number; that this is noteworthy of the LSTM is. {remark}".strip(),
        ),
    )  # fmt: skip


def short_long(prefix: str, kind: Kind, counted: str, *more: Assertion, remark: str = "") -> Claim:
    """What the source says of its accuracy graph, with positions counted in one of the ways."""
    return Claim(
        f"{prefix}-short-long", "memorization", "Accuracy graph",
        "The GRU is ahead of the LSTM where only the words before are known, and the less so the more letters of the "
        "word are.",
        published.SHORT_LONG,
        (
            Assertion("Accuracy with no letter known, GRU minus LSTM", measured(ahead, counted, 0, 0), above(0)),
            Assertion("Change of this difference with each letter known", measured(slope, counted), below(0)),
            Assertion(
                f"Accuracy with {MANY} letters known or more, GRU minus LSTM", measured(ahead, counted, MANY, 100),
                below(0), role="report",
            ),
            *more,
        ),
        kind,
        remark="Accuracy of the first suggestion. No letter known is what the source calls context only; where short "
        f"begins it does not say, so the trend is judged: a line through all numbers of letters. {remark}".strip(),
    )  # fmt: skip
