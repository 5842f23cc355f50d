"""What source 003 says, tested on networks that are trained here. Criteria were written down before any run."""

from __future__ import annotations

from functools import partial

from rote.claims import Claim, Criterion, Estimate, Measurement, Tables, above, below, difference, mean
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_networks import per_seed, view
from rote.studies.memorization.stored_claims import GROUPS
from rote.studies.memorization.tables import NORMS, REACH, SHARE
from rote.studies.summaries import NotMeasuredError, column_of, grouped, measured

NEVER = len("grammar") + 1  # letters, where a word is never suggested
SUGGESTED = 3
NEEDS_WORD = "Not measured where the word is outside the vocabulary; text8 with task.words=5000 has it."


@measured
def gap(tables: Tables, first: str, second: str, column: str) -> Estimate:
    """A column of the networks: that of one cell minus that of another."""
    return difference(*(column_of(tables["networks"], column, cell=cell) for cell in (first, second)))


@measured
def situation(tables: Tables, cell: str, output: int, column: str) -> Estimate:
    _check_word(tables, output)
    return mean(column_of(tables["situations"], column, cell=cell, output=output))


@measured
def situation_gap(tables: Tables, first: str, second: str, output: int, column: str) -> Estimate:
    return difference(*(column_of(tables["situations"], column, cell=cell, output=output) for cell in (first, second)))


@measured
def on_word(tables: Tables, first: str, second: str, output: int, word: str, norm: str) -> Estimate:
    _check_word(tables, output)
    columns = (column_of(tables["words"], f"share_{norm}", cell=c, output=output, word=word) for c in (first, second))
    return difference(*columns)


@measured
def letters(tables: Tables, cells: tuple[str, ...], occurrence: int) -> Estimate:
    """Letters of grammar that are needed; of several cells the fewest, seed by seed."""
    _check_word(tables, 32)
    rows = [row for row in tables["letters"].where(occurrence=occurrence).records() if row["cell"] in cells]
    by_seed = grouped(rows, ("seed",)).values()
    if {row["cell"] for row in rows} != set(cells):
        raise NotMeasuredError
    return mean([min(NEVER if row["letters"] is None else row["letters"] for row in group) for group in by_seed])


@measured
def ahead(tables: Tables, first: str, second: str, known: range, counted: str) -> Estimate:
    """Accuracy (top 1) at so many known characters: one cell minus another."""
    found = []
    for cell in (first, second):
        rows = tables["hits"].where(cell=cell, counted=counted, top=1).records()
        found.append([per_seed(group, known) for group in grouped(rows, ("seed",)).values()])
    if not all(found):
        raise NotMeasuredError
    return difference(*found)


@measured
def initial(tables: Tables, first: str, second: str, lag: int) -> Estimate:
    return difference(*(column_of(tables["initial-lags"], "ratio", cell=cell, lag=lag) for cell in (first, second)))


def _check_word(tables: Tables, output: int) -> None:
    """The word must be in the vocabulary: without an output of its own nothing can be said of it."""
    if None in tables["situations"].where(output=output).column("rank"):
        raise NotMeasuredError


def _situation(label: str, cell: str, output: int, column: str, expected: Criterion, role: str = "main") -> Measurement:
    found = partial(situation, cell=cell, output=output, column=column)
    return Measurement(label, found, expected, role)  # type: ignore[arg-type]


def _groups(counted: str) -> tuple[Measurement, ...]:
    found = []
    for name, known in GROUPS.items():
        first, second = ("LSTM", "GRU") if name == "7 or more" else ("GRU", "LSTM")
        of = partial(ahead, first=first, second=second, known=known, counted=counted)
        label = f"Top 1, {first} minus {second}, {name} known, {counted}"
        main = counted == "corrected" and name != "4 to 6"
        found.append(Measurement(label, of, above(0.0), "main" if main else "contrast"))
    return tuple(found)


CLAIMS = (
    Claim(
        "autocomplete-order", "memorization", "Appendix, test table",
        "The GRU has the lowest cross entropy on the test text, then the LSTM, then the Nested LSTM; so has accuracy.",
        published.ORDER,
        (
            Measurement("Cross entropy, LSTM minus GRU",
                        partial(gap, first="LSTM", second="GRU", column="cross_entropy"), above(0.02, at_all=0.0)),
            Measurement("Cross entropy, Nested LSTM minus LSTM",
                        partial(gap, first="Nested LSTM", second="LSTM", column="cross_entropy"),
                        above(0.1, at_all=0.0)),
            Measurement("Accuracy, GRU minus LSTM", partial(gap, first="GRU", second="LSTM", column="accuracy"),
                        above(0.0), role="control"),
            Measurement("Accuracy, LSTM minus Nested LSTM",
                        partial(gap, first="LSTM", second="Nested LSTM", column="accuracy"), above(0.0),
                        role="control"),
        ),
        remark="The source's curves cross: its GRU is behind the LSTM for more than half of its mini-batches. A short "
        "training tests the order at another place.",
    ),
    Claim(
        "autocomplete-short-long", "memorization", "Accuracy graph",
        "The GRU is ahead where few characters of the word are known (long-term), the LSTM where many are.",
        published.SHORT_LONG,
        (*_groups("corrected"), *_groups("as published")),
        remark="Corrected: padding is not counted, words outside the vocabulary are left out. Where short begins is "
        "not in the source; the groups are ours.",
    ),
    Claim(
        "autocomplete-nested-reach", "memorization", "Connectivity figure",
        "The Nested LSTM draws less on previous words, and less far back, than the GRU and the LSTM.",
        published.NESTED,
        tuple(
            Measurement(
                f"{measure.capitalize()}, {cell} minus Nested LSTM, {text}, {norm}",
                partial(gap, first=cell, second="Nested LSTM", column=view(measure, "trained", text, norm)), above(0.0),
                "main" if norm == "squared" else "control",
            )
            for norm in NORMS for text in ("paragraph", "test text") for measure in (SHARE, REACH)
            for cell in ("GRU", "LSTM")
        ),
    ),
    Claim(
        "autocomplete-initial-reach", "memorization", "Not in the source",
        "The Nested LSTM's short reach is there before any training.",
        "not measured; from the stored networks' connectivity one cannot tell",
        tuple(
            Measurement(
                f"log10 of connectivity {lag} characters back, {cell} minus Nested LSTM, untrained",
                partial(initial, first=cell, second="Nested LSTM", lag=lag), above(0.5, at_all=0.0),
            )
            for lag in (10, 50) for cell in ("GRU", "LSTM")
        ),
        remark="The source's initialization and, unless initial.units says otherwise, its size.",
    ),
    Claim(
        "autocomplete-hero", "memorization", "Hero figure, connectivity figure",
        "Predicting the first 'grammar', the GRU draws on earlier words before it has a letter, and on the word itself "
        "once it has six.",
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
        "With two letters of 'learning' GRU and LSTM suggest it, the GRU with the higher probability; the Nested LSTM "
        "barely uses what came before and does not.",
        published.LEARNING,
        (
            _situation("Rank of the word, GRU", "GRU", 106, "rank", below(SUGGESTED + 0.5)),
            _situation("Rank of the word, LSTM", "LSTM", 106, "rank", below(SUGGESTED + 0.5)),
            _situation("Rank of the word, Nested LSTM", "Nested LSTM", 106, "rank", above(SUGGESTED + 0.5)),
            Measurement("Probability, GRU minus LSTM",
                        partial(situation_gap, first="GRU", second="LSTM", output=106, column="chance"), above(0.0)),
            _situation("Nested LSTM: share on previous words", "Nested LSTM", 106, "share_squared", below(0.1)),
        ),
        remark=NEEDS_WORD,
    ),
    Claim(
        "autocomplete-advanced", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' the GRU is connected more strongly with 'advanced' than the LSTM is.",
        published.ADVANCED,
        tuple(
            Measurement(
                f"Share on 'advanced', GRU minus LSTM, {title}",
                partial(on_word, first="GRU", second="LSTM", output=106, word="advanced", norm=norm), above(0.0),
            )
            for norm, title in (("squared", "squared norm (as drawn)"), ("l2", "norm (as in the formula)"))
        ),
        remark=NEEDS_WORD,
    ),
    Claim(
        "autocomplete-grammar", "memorization", "Connectivity figure, situation 2",
        "The first time no model suggests 'grammar' before four letters; the second time the GRU needs one, the others "
        "four again.",
        published.GRAMMAR,
        (
            Measurement("Letters needed the first time, fewest of the models",
                        partial(letters, cells=tuple(published.CELLS.values()), occurrence=1), above(3)),
            Measurement("Letters needed the second time, GRU", partial(letters, cells=("GRU",), occurrence=2),
                        below(2)),
            Measurement("Letters needed the second time, LSTM", partial(letters, cells=("LSTM",), occurrence=2),
                        above(3)),
            Measurement("Letters needed the second time, Nested LSTM",
                        partial(letters, cells=("Nested LSTM",), occurrence=2), above(3)),
        ),
        remark=f"A word that is never suggested counts as {NEVER} letters. {NEEDS_WORD}",
    ),
    Claim(
        "autocomplete-schools", "memorization", "Connectivity figure, situation 3",
        "With one letter of 'schools' the LSTM draws on words of almost the whole sentence, but does not suggest it.",
        published.SCHOOLS,
        (
            _situation("Words drawn on, LSTM", "LSTM", 141, "words_squared", above(5.0, at_all=2.0)),
            _situation("Rank of the word, LSTM", "LSTM", 141, "rank", above(SUGGESTED + 0.5)),
            _situation("Words drawn on, GRU", "GRU", 141, "words_squared", above(5.0, at_all=2.0), "contrast"),
        ),
        remark=NEEDS_WORD,
    ),
)  # fmt: skip
