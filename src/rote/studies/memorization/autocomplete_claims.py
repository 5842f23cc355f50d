"""What source 003 says, tested on networks that are trained here. Criteria were written down before any run."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from rote.claims import Assertion, Claim, Criterion, Estimate, Tables, above, below, difference, mean
from rote.laboratory.aggregate import NotMeasuredError, column_of, grouped, measured
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_tables import accuracy_over, view
from rote.studies.memorization.previous_words import GROUPS, NORMS, REACH, SHARE

NEVER = len("grammar") + 1  # letters, where a word is never suggested
SUGGESTED = 3
NEEDS_WORD = "Not measured where the word is outside the vocabulary; text8 with task.words=5000 has it."
Role = Literal["main", "control", "contrast"]


@measured
def gap(tables: Tables, first: str, second: str, column: str, table: str = "networks", **where: Any) -> Estimate:
    """A column of a table with a row for each network: that of one cell minus that of another."""
    if "output" in where:
        _check_word(tables, where["output"])
    return difference(*(column_of(tables[table], column, cell=cell, **where) for cell in (first, second)))


@measured
def situation(tables: Tables, cell: str, output: int, column: str) -> Estimate:
    """A column of one of the situations of the source's text."""
    _check_word(tables, output)
    return mean(column_of(tables["situations"], column, cell=cell, output=output))


@measured
def letters(tables: Tables, cells: tuple[str, ...], occurrence: int) -> Estimate:
    """Letters of grammar that are needed; of several cells the fewest, seed by seed."""
    _check_word(tables, 32)
    rows = [row for row in tables["letters"].where(occurrence=occurrence).records() if row["cell"] in cells]
    if {row["cell"] for row in rows} != set(cells):
        raise NotMeasuredError
    by_seed = grouped(rows, ("seed",)).values()
    return mean([min(NEVER if row["letters"] is None else row["letters"] for row in group) for group in by_seed])


@measured
def ahead(tables: Tables, first: str, second: str, known: range, counted: str) -> Estimate:
    """Accuracy (top 1) at so many known characters: one cell minus another."""
    accuracies = []
    for cell in (first, second):
        rows = tables["hits"].where(cell=cell, counted=counted, top=1).records()
        accuracies.append([accuracy_over(group, known) for group in grouped(rows, ("seed",)).values()])
    if not all(accuracies):
        raise NotMeasuredError
    return difference(*accuracies)


def _check_word(tables: Tables, output: int) -> None:
    """The word must be in the vocabulary: without an output of its own nothing can be said of it."""
    if None in tables["situations"].where(output=output).column("rank"):
        raise NotMeasuredError


def _gap(label: str, first: str, second: str, expected: Criterion, role: Role = "main", **where: Any) -> Assertion:
    """On one cell minus another."""
    return Assertion(label, partial(gap, first=first, second=second, **where), expected, role)


def _situation(label: str, cell: str, output: int, column: str, expected: Criterion, role: Role = "main") -> Assertion:
    return Assertion(label, partial(situation, cell=cell, output=output, column=column), expected, role)


def _letters(label: str, cells: tuple[str, ...], occurrence: int, expected: Criterion) -> Assertion:
    return Assertion(label, partial(letters, cells=cells, occurrence=occurrence), expected)


def _groups(counted: str) -> list[Assertion]:
    assertions = []
    for name, known in GROUPS.items():
        first, second = ("LSTM", "GRU") if name == "7 or more" else ("GRU", "LSTM")
        of = partial(ahead, first=first, second=second, known=known, counted=counted)
        main = counted == "corrected" and name != "4 to 6"
        label = f"Top 1, {first} minus {second}, {name} known, {counted}"
        assertions.append(Assertion(label, of, above(0.0), "main" if main else "contrast"))
    return assertions


CLAIMS = (
    Claim(
        "autocomplete-order", "memorization", "Appendix, test table",
        "The GRU has the lowest cross entropy on the test text, then the LSTM, then the Nested LSTM; so has "
        "accuracy.",
        published.ORDER,
        (
            _gap("Cross entropy, LSTM minus GRU", "LSTM", "GRU", above(0.02, at_all=0.0), column="cross_entropy"),
            _gap("Cross entropy, Nested LSTM minus LSTM", "Nested LSTM", "LSTM", above(0.1, at_all=0.0),
                 column="cross_entropy"),
            _gap("Accuracy, GRU minus LSTM", "GRU", "LSTM", above(0.0), "control", column="accuracy"),
            _gap("Accuracy, LSTM minus Nested LSTM", "LSTM", "Nested LSTM", above(0.0), "control",
                 column="accuracy"),
        ),
        remark="The source's curves cross: its GRU is behind the LSTM for more than half of its mini-batches. A "
        "short training tests the order at another place.",
    ),
    Claim(
        "autocomplete-short-long", "memorization", "Accuracy graph",
        "The GRU is ahead where few characters of the word are known (long-term), the LSTM where many are.",
        published.SHORT_LONG,
        (*_groups("corrected"), *_groups("as published")),
        remark="Corrected: padding is not counted, words outside the vocabulary are left out. Where short begins "
        "is not in the source; the groups are ours.",
    ),
    Claim(
        "autocomplete-nested-reach", "memorization", "Connectivity figure",
        "The Nested LSTM draws less on previous words, and less far back, than the GRU and the LSTM.",
        published.NESTED,
        tuple(
            _gap(f"{what.capitalize()}, {cell} minus Nested LSTM, {text}, {norm}", cell, "Nested LSTM", above(0.0),
                 "main" if norm == "squared" else "control", column=view(what, "trained", text, norm))
            for norm in NORMS for text in ("paragraph", "test text") for what in (SHARE, REACH)
            for cell in ("GRU", "LSTM")
        ),
    ),
    Claim(
        "autocomplete-initial-reach", "memorization", "Not in the source",
        "The Nested LSTM's short reach is there before any training.",
        "not measured; from the stored networks' connectivity one cannot tell",
        tuple(
            _gap(f"log10 of connectivity {lag} characters back, {cell} minus Nested LSTM, untrained", cell,
                 "Nested LSTM", above(0.5, at_all=0.0), table="initial-lags", column="ratio", lag=lag)
            for lag in (10, 50) for cell in ("GRU", "LSTM")
        ),
        remark="The source's initialization and, unless initial.units says otherwise, its size.",
    ),
    Claim(
        "autocomplete-hero", "memorization", "Hero figure, connectivity figure",
        "Predicting the first 'grammar', the GRU draws on earlier words before it has a letter, and on the word "
        "itself once it has six.",
        published.HERO,
        (
            _situation("GRU at 28: share on previous words", "GRU", 28, "share_squared", above(0.5)),
            _situation("GRU at 34: share on previous words", "GRU", 34, "share_squared", below(0.5)),
            _situation("The first by the formula's norm", "GRU", 28, "share_l2", above(0.5), "control"),
            _situation("The second by the formula's norm", "GRU", 34, "share_l2", below(0.5), "control"),
        ),
        remark=NEEDS_WORD,
    ),
    Claim(
        "autocomplete-learning", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' GRU and LSTM suggest it, the GRU with the higher probability; the Nested "
        "LSTM barely uses what came before and does not.",
        published.LEARNING,
        (
            _situation("Rank of the word, GRU", "GRU", 106, "rank", below(SUGGESTED + 0.5)),
            _situation("Rank of the word, LSTM", "LSTM", 106, "rank", below(SUGGESTED + 0.5)),
            _situation("Rank of the word, Nested LSTM", "Nested LSTM", 106, "rank", above(SUGGESTED + 0.5)),
            _gap("Probability, GRU minus LSTM", "GRU", "LSTM", above(0.0), table="situations", column="chance",
                 output=106),
            _situation("Nested LSTM: share on previous words", "Nested LSTM", 106, "share_squared", below(0.1)),
        ),
        remark=NEEDS_WORD,
    ),
    Claim(
        "autocomplete-advanced", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' the GRU is connected more strongly with 'advanced' than the LSTM is.",
        published.ADVANCED,
        tuple(
            _gap(f"Share on 'advanced', GRU minus LSTM, {title}", "GRU", "LSTM", above(0.0), table="words",
                 column=f"share_{norm}", output=106, word="advanced")
            for norm, title in (("squared", "squared norm (as drawn)"), ("l2", "norm (as in the formula)"))
        ),
        remark=NEEDS_WORD,
    ),
    Claim(
        "autocomplete-grammar", "memorization", "Connectivity figure, situation 2",
        "The first time no model suggests 'grammar' before four letters; the second time the GRU needs one, the "
        "others four again.",
        published.GRAMMAR,
        (
            _letters("Letters needed the first time, fewest of the models", tuple(published.CELLS.values()), 1,
                     above(3)),
            _letters("Letters needed the second time, GRU", ("GRU",), 2, below(2)),
            _letters("Letters needed the second time, LSTM", ("LSTM",), 2, above(3)),
            _letters("Letters needed the second time, Nested LSTM", ("Nested LSTM",), 2, above(3)),
        ),
        remark=f"A word that is never suggested counts as {NEVER} letters. {NEEDS_WORD}",
    ),
    Claim(
        "autocomplete-schools", "memorization", "Connectivity figure, situation 3",
        "With one letter of 'schools' the LSTM draws on words of almost the whole sentence, but does not suggest "
        "it.",
        published.SCHOOLS,
        (
            _situation("Words drawn on, LSTM", "LSTM", 141, "words_squared", above(5.0, at_all=2.0)),
            _situation("Rank of the word, LSTM", "LSTM", 141, "rank", above(SUGGESTED + 0.5)),
            _situation("Words drawn on, GRU", "GRU", 141, "words_squared", above(5.0, at_all=2.0), "contrast"),
        ),
        remark=NEEDS_WORD,
    ),
)  # fmt: skip
