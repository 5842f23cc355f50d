"""A study: a readable script of the way from a task to tables, for one part of a source.

A study says which runs it needs (``requests``), how one of them is performed, on any machine (``perform``), and how
their tables become the study's tables (``summarize``). It may need runs of other studies, such as trained models
(``needs``). Everything else, finding finished runs, resuming, workers, progress, verdicts, is the laboratory's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from rote.claims import Claim, Source
from rote.config import from_plain, resolve, to_plain
from rote.errors import UnknownNameError, UsageError
from rote.registry import Registry
from rote.store import FinishedRun, Request, Run, Table

if TYPE_CHECKING:
    from rote.training.population import EngineTimes

C = TypeVar("C")
PRESETS = ("smoke", "quick", "paper")
MOST_SEEDS = 1_000_000  # more are a slip of the keyboard
Progress = Callable[[int, int], None]


class Study(ABC, Generic[C]):
    """One part of a source: subclass it, and enter it with ``@studies.register("name")``. See CONTRIBUTING.md."""

    name: ClassVar[str]
    version: ClassVar[int]  # raised when the numbers change: finished runs of another version are not used
    source: ClassVar[Source]
    place: ClassVar[str]  # "Section 6, Figures 4 to 6"
    title: ClassVar[str]
    about: ClassVar[str]
    claims: ClassVar[tuple[Claim, ...]]
    deviations: ClassVar[tuple[str, ...]] = ()  # from the published text, and what it leaves open
    presets: ClassVar[Mapping[str, Mapping[str, object]]]
    threads: ClassVar[int] = 1  # that one of its runs computes with
    objective: ClassVar[tuple[str, str, Literal["max", "min"]] | None] = None  # of a sweep: table, column, what is best
    swept: ClassVar[Mapping[str, object]] = {}  # what a sweep changes, unless it says otherwise
    default: C  # the configuration that presets and overrides change

    @abstractmethod
    def requests(self, config: C) -> list[Request]:
        """The runs that this study is made of."""

    def prepare(self, config: C) -> None:
        """Just before the runs: get the data, and tell what is wrong with them."""
        return

    def needs(self, config: C) -> list[Request]:
        """Runs of other studies that must be finished before this study's own; ``run.other`` opens them."""
        return []

    @abstractmethod
    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        """Train and measure one of them, from its last checkpoint where there is one."""

    @abstractmethod
    def summarize(self, config: C, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        """The study's tables, from its finished runs in the order of ``requests``."""

    def engine_times(self, config: C, workers: int) -> EngineTimes | None:
        """For a study whose ``engine`` may be "auto": what each engine would take, from a few timed updates."""
        return None

    def beside(self, tables: Mapping[str, Table]) -> str:
        """What a sweep says beside the scores of its own objective."""
        return ""

    def resolve(self, preset: str, overrides: Mapping[str, object]) -> C:
        if preset not in self.presets:
            raise UnknownNameError("preset", preset, self.presets)
        config = resolve(self.default, {**self.presets[preset], **overrides})
        if (seeds := getattr(config, "seeds", 0)) > MOST_SEEDS:
            raise UsageError(f"'seeds' must be at most {MOST_SEEDS}. Got {seeds:.15g}.")
        return config

    def request(self, part: str, config: object, seeds: Sequence[int]) -> Request:
        return Request(self.name, self.version, part, to_plain(config), tuple(seeds))

    def config_of(self, request: Request) -> C:
        return from_plain(self.default, request.config)


studies: Registry[type[Study[Any]]] = Registry("study", "rote.studies")


def in_order() -> list[str]:
    """The names of all studies, source by source."""
    return sorted(studies, key=lambda name: (studies[name].source.id, name))
