"""What the stored results of source 003 say: no training, no download, on any machine in a second or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rote.config import at_least
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.memorization import published
from rote.studies.memorization.stored_claims import CLAIMS
from rote.studies.memorization.stored_data import load
from rote.studies.memorization.stored_tables import all_tables
from rote.studies.study import Progress, Study, studies


@dataclass(frozen=True)
class StoredConfig:
    seeds: int = 0  # nothing is drawn; every study has this key

    def __post_init__(self) -> None:
        at_least(self, 0, "seeds")


@studies.register("stored-connectivity")
class StoredConnectivityStudy(Study[StoredConfig]):
    """Do the article's own stored matrices and curves say what its text says?"""

    name = "stored-connectivity"
    version = 1
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
    claims = CLAIMS
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = StoredConfig()

    def requests(self, config: StoredConfig) -> list[Request]:
        return []

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        raise AssertionError("stored-connectivity has no runs of its own")

    def summarize(self, config: StoredConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(load())
