"""What the stored results of source 003 say: no training, no download, on any machine in a second or two.

One network of each cell: a verdict here says whether the stored data bear the sentence out, not whether another network
would: words, positions and mini-batches of one network are no sample of networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, at_most, measured
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job
from rote.store import Table
from rote.studies.memorization import published
from rote.studies.memorization import stored_tables as measure
from rote.studies.memorization.previous_words import NORMS
from rote.studies.memorization.sentences import short_long, situations
from rote.studies.memorization.stored_data import load

ROUNDING = 0.001  # nats


@dataclass(frozen=True)
class StoredConfig(StudyConfig):
    seeds: int = 0  # nothing is drawn; every study has this key

    def __post_init__(self) -> None:
        at_least(self, 0, "seeds")


def _reach(cell: str, name: str, norm: str) -> PerSeed:
    return measured(measure.one, "summary", name, cell=cell, norm=norm)


def _last_loss(cell: str) -> PerSeed:
    return measured(measure.one, "plateau", "last", cell=cell, set="valid")


CLAIMS = (
    *situations("stored", "audit"),
    Claim(
        "stored-reach", "memorization", "Connectivity figure",
        "Over the whole paragraph the Nested LSTM draws less on previous words, and less far back, than GRU and LSTM.",
        published.NESTED,
        tuple(
            Assertion(
                f"{name.capitalize()}, {cell} minus Nested LSTM, {norm}",
                _reach(cell, name, norm) - _reach("Nested LSTM", name, norm), above(0),
                role="part" if norm == "squared" else "report",
            )
            for norm in NORMS for name in ("share", "reach") for cell in ("GRU", "LSTM")
        ),
        "audit", remark="The source says it of one output.",
    ),
    short_long("stored", "audit", "as published"),
    Claim(
        "stored-order", "memorization", "Appendix, test table; training graph",
        "The GRU ends with the lowest loss, then the LSTM, then the Nested LSTM.",
        published.LOSSES,
        tuple(
            Assertion(
                f"Validation loss of the last 1000 mini-batches, {worse} minus {better}",
                _last_loss(worse) - _last_loss(better), above(0),
            )
            for worse, better in (("LSTM", "GRU"), ("Nested LSTM", "LSTM"))
        ),
        "audit", remark="The order of the test table, on the stored validation losses.",
    ),
    Claim(
        "stored-positions", "memorization", "Accuracy graph",
        "The accuracy graph counts the characters of words.",
        published.ACCURACY_GRAPH,
        (
            Assertion(
                "Largest difference between the models' numbers of positions on the one test set",
                measured(measure.largest, "accuracy-compared", "padding"), at_most(0),
            ),
        ),
        "audit",
        remark="It also counts the padding of batches as known characters: the positions of a test set cannot depend "
        "on the model. Words outside the vocabulary are errors at any number of characters.",
    ),
    Claim(
        "stored-smoothing", "memorization", "Training graph",
        "The plotted curves are of the training loss and of the validation loss.",
        published.TRAINING_GRAPH,
        (
            Assertion(
                "Largest distance in nats from each curve smoothed by itself",
                measured(measure.largest, "smoothing", "apart"), at_most(ROUNDING),
            ),
            Assertion(
                "Largest distance from both smoothed together, in turns",
                measured(measure.largest, "smoothing", "together"), at_most(ROUNDING), role="report",
            ),
        ),
        "audit",
        remark="Losses and curves were stored with three decimals, each half a thousandth from what it was at most. "
        "Training and validation were smoothed as one series, so that each plotted curve contains the other.",
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
    fixed: ClassVar[Mapping[str, str]] = dict.fromkeys(("seeds", "first_seed"), "nothing is drawn.")
    default = StoredConfig()
    claims = CLAIMS

    def jobs(self, config: StoredConfig) -> list[Job]:
        return []

    def tables(self, config: StoredConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(load())
