"""What the stored results of source 003 say: no training, no download, on any machine in a second or two.

One network of each cell: a verdict here says whether the stored data bear the sentence out, not whether another network
would. Words of the paragraph, test positions and stored mini-batches are what the intervals are over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from rote.claims import Assertion, Claim, Estimate, above, below
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job
from rote.store import Table
from rote.studies.memorization import published
from rote.studies.memorization import stored_tables as measure
from rote.studies.memorization.previous_words import GROUPS, NORMS, REACH, SHARE
from rote.studies.memorization.stored_data import MODELS, load


@dataclass(frozen=True)
class StoredConfig(StudyConfig):
    seeds: int = 0  # nothing is drawn; every study has this key

    def __post_init__(self) -> None:
        at_least(self, 0, "seeds")


def _at(cell: str, output: int, column: str) -> partial[Estimate]:
    return partial(measure.situation, cell=cell, output=output, column=column)


def _rank(cell: str, output: int) -> partial[Estimate]:
    return partial(measure.rank, cell=cell, output=output)


def _gap(table: str, column: str, **where: Any) -> partial[Estimate]:
    return partial(measure.gap, table=table, column=column, first="GRU", second="LSTM", **where)


def _largest(table: str, column: str, of: str) -> partial[Estimate]:
    return partial(measure.largest, table=table, column=column, of=of)


def _letters(occurrence: int, *cells: str) -> partial[Estimate]:
    return partial(measure.letters_needed, occurrence=occurrence, cells=cells)


CLAIMS = (
    Claim(
        "stored-hero", "memorization", "Hero figure, connectivity figure",
        "Predicting the first 'grammar', the GRU draws on earlier words before it has a letter, and on the word itself "
        "once it has six.",
        published.HERO,
        (
            Assertion("GRU at 28: share on previous words", _at("GRU", 28, "share_squared"), above(0.5)),
            Assertion("GRU at 34: share on previous words", _at("GRU", 34, "share_squared"), below(0.5)),
            Assertion("The first by the formula's norm", _at("GRU", 28, "share_l2"), above(0.5), "control"),
            Assertion("The second by the formula's norm", _at("GRU", 34, "share_l2"), below(0.5), "control"),
        ),
    ),
    Claim(
        "stored-learning", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' GRU and LSTM suggest it, the GRU with the higher probability; the Nested "
        "LSTM barely uses what came before and does not.",
        published.LEARNING,
        (
            Assertion("Rank of the word, GRU", _rank("GRU", 106), below(measure.OUTSIDE)),
            Assertion("Rank of the word, LSTM", _rank("LSTM", 106), below(measure.OUTSIDE)),
            Assertion("Rank of the word, Nested LSTM (4: not suggested)", _rank("Nested LSTM", 106), above(3)),
            Assertion("Probability, GRU minus LSTM", _gap("situations", "chance", output=106), above(0.0)),
            Assertion("Nested LSTM: share on previous words", _at("Nested LSTM", 106, "share_squared"), below(0.1)),
        ),
    ),
    Claim(
        "stored-advanced", "memorization", "Connectivity figure, situation 1",
        "With two letters of 'learning' the GRU is connected more strongly with 'advanced' than the LSTM is.",
        published.ADVANCED,
        tuple(
            Assertion(f"Share on 'advanced', GRU minus LSTM, {title}",
                      _gap("words", f"share_{norm}", output=106, word="advanced"), above(0.0))
            for norm, title in (("squared", "squared norm (as stored and drawn)"), ("l2", "norm (as in the formula)"))
        ),
        remark="The source's formula has the norm of the gradient, its program and its figure the squared norm. The "
        "sentence is true of one and not of the other.",
    ),
    Claim(
        "stored-grammar", "memorization", "Connectivity figure, situation 2",
        "The first time no model suggests 'grammar' before four letters; the second time the GRU needs one, the others "
        "four again.",
        published.GRAMMAR,
        (
            Assertion("Letters needed the first time, fewest of the models", _letters(0, *MODELS), above(3)),
            Assertion("Letters needed the second time, GRU", _letters(1, "GRU"), below(2)),
            Assertion("Letters needed the second time, LSTM", _letters(1, "LSTM"), above(3)),
            Assertion("Letters needed the second time, Nested LSTM", _letters(1, "Nested LSTM"), above(3)),
        ),
    ),
    Claim(
        "stored-schools", "memorization", "Connectivity figure, situation 3",
        "With one letter of 'schools' the LSTM draws on words of almost the whole sentence, but does not suggest it.",
        published.SCHOOLS,
        (
            Assertion("Words drawn on, LSTM", _at("LSTM", 141, "words_squared"), above(5.0, at_all=2.0)),
            Assertion("Rank of the word, LSTM (4: not suggested)", _rank("LSTM", 141), above(3)),
            Assertion("Words drawn on, GRU", _at("GRU", 141, "words_squared"), above(5.0, at_all=2.0), "contrast"),
            Assertion("Rank of the word, GRU (4: not suggested)", _rank("GRU", 141), below(measure.OUTSIDE),
                      "contrast"),
        ),
        remark="Words drawn on: 1 / sum of squared shares, of 25 words. That the GRU's suggestions are better is not "
        "tested beyond the rank of the word.",
    ),
    Claim(
        "stored-reach", "memorization", "Connectivity figure; section on recurrent units",
        "The Nested LSTM draws less on previous words, and less far back, than the GRU and the LSTM.",
        published.NESTED,
        tuple(
            Assertion(
                f"{what.capitalize()}, {cell} minus Nested LSTM, {norm}",
                partial(measure.over_words, first=cell, second="Nested LSTM", measure=what, norm=norm), above(0.0),
                role="main" if norm == "squared" else "control",
            )
            for norm in NORMS for what in (SHARE, REACH) for cell in ("GRU", "LSTM")
        ),
        remark="Intervals over the 34 words of one paragraph.",
    ),
    Claim(
        "stored-short-long", "memorization", "Accuracy graph",
        "The GRU is ahead where few characters of the word are known (long-term), the LSTM where many are.",
        published.SHORT_LONG,
        (
            *(
                Assertion(
                    f"Top 1, GRU minus LSTM, {name} known",
                    partial(measure.ahead, first="GRU", second="LSTM", known=known), above(0.0),
                    role="contrast" if name == "4 to 6" else "main",
                )
                for name, known in GROUPS.items() if name != "7 or more"
            ),
            Assertion(
                "Top 1, LSTM minus GRU, 7 or more known",
                partial(measure.ahead, first="LSTM", second="GRU", known=GROUPS["7 or more"]), above(0.0),
            ),
        ),
        remark="Where short begins is not in the source; the groups are ours. With no character known, the case that "
        "needs the context most, it is the LSTM that is ahead.",
    ),
    Claim(
        "stored-order", "memorization", "Appendix, test table; training graph",
        "The GRU ends with the lowest loss, then the LSTM, then the Nested LSTM.",
        published.ORDER,
        (
            Assertion("Validation loss of the last 1000 mini-batches, LSTM minus GRU",
                      partial(measure.final_losses, first="LSTM", second="GRU"), above(0.0)),
            Assertion("The same, Nested LSTM minus LSTM",
                      partial(measure.final_losses, first="Nested LSTM", second="LSTM"), above(0.0)),
        ),
        remark="The order of the test table, on the stored validation losses.",
    ),
    Claim(
        "stored-positions", "memorization", "Accuracy graph",
        "The accuracy graph counts the characters of words.",
        published.ACCURACY_GRAPH,
        (
            Assertion("Largest difference between the models' numbers of positions on the one test set",
                      _largest("accuracy-compared", "padding", "decimals"), below(1)),
        ),
        remark="It also counts the padding of batches as known characters: the positions of a test set cannot depend "
        "on the model. Words outside the vocabulary are errors at any number of characters.",
    ),
    Claim(
        "stored-smoothing", "memorization", "Training graph",
        "The plotted curves are of the training loss and of the validation loss.",
        published.TRAINING_GRAPH,
        (
            Assertion("Largest distance in nats from each curve smoothed by itself",
                      _largest("smoothing", "apart", "curves"), below(0.005)),
            Assertion("Largest distance from both smoothed together, in turns",
                      _largest("smoothing", "together", "curves"), below(0.005), "contrast"),
        ),
        remark="Training and validation were smoothed as one series, so that each plotted curve contains the other.",
    ),
)  # fmt: skip


@studies.register("stored-connectivity")
class StoredConnectivityStudy(Study[StoredConfig]):
    """Do the article's own stored matrices and curves say what its text says?"""

    name = "stored-connectivity"
    source = published.SOURCE
    place = "All figures with data"
    title = "The published connectivity, accuracy and loss curves, worked out anew"
    about = (
        "The source published the data of its figures. The situations that its text describes are looked up in them, "
        "by the squared norm that was stored and drawn and by the norm of the formula; the share of connectivity on "
        "previous words and the mean reach give the single numbers that it wished for; the counts behind its accuracy "
        "curves are worked out from their decimals. Nothing is trained: every preset is the same, and takes seconds."
    )
    deviations = (
        "The data are carried in the package, without loss, with their license (MIT).",
        "Share and reach leave the first word of the paragraph out: it has none before it.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    fixed: ClassVar[Mapping[str, str]] = {"seeds": "nothing is drawn."}
    default = StoredConfig()
    claims = CLAIMS

    def jobs(self, config: StoredConfig) -> list[Job]:
        return []

    def tables(self, config: StoredConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(load())
