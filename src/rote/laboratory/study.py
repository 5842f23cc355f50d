"""A study: a readable script of the way from a task to tables, for one part of a source.

A study says which networks it needs and what is measured on them (``jobs``), how what was measured becomes its tables
(``tables``), and what the source claims. Everything else, finding finished runs, resuming, workers, progress, verdicts,
is the laboratory's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

from rote.claims import Claim, Source
from rote.config import flatten, from_plain, resolve, to_plain, without_effect
from rote.errors import SettingError, UnknownNameError
from rote.recipes import Job
from rote.registry import Registry
from rote.store import Request, Table
from rote.store.run import STUDY

PRESETS = ("smoke", "quick", "paper")
MOST_SEEDS = 1_000_000  # more are a slip of the keyboard
# For ``Study.fixed``:
CELLS_DECIDE = {"model.cell": "'cells' names the cells that are trained. Set it instead."}
FILLED_IN = {"task.checksum": "it is filled in from the files."}
EPOCHS_DECIDE = {
    "training.steps": "'training.epochs' says how long networks are trained. Set it instead.",
    "training.record_every": "'training.measure_every' says when networks are measured. Set it instead.",
}
RECORDS_SHOWN = {"training.select": "the tables show every recorded step, whichever weights are kept."}


@dataclass(frozen=True)
class StudyConfig:
    """The settings of a study: subclass it."""

    seeds: int = 6  # networks of each kind, one for each random seed
    first_seed: int = 0  # from which the seeds are counted

    @property
    def seed_numbers(self) -> range:
        return range(self.first_seed, self.first_seed + self.seeds)


C = TypeVar("C", bound=StudyConfig)


class Study(ABC, Generic[C]):
    """One part of a source: subclass it, and enter it with ``@studies.register("name")``. See CONTRIBUTING.md."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    source: ClassVar[Source]
    place: ClassVar[str]  # "Section 6, Figures 4 to 6"
    title: ClassVar[str]
    about: ClassVar[str]
    claims: ClassVar[tuple[Claim, ...]]
    deviations: ClassVar[tuple[str, ...]] = ()  # from the published text, and what it leaves open
    data: ClassVar[tuple[str, ...]] = ()  # real data that it reads where they are, as ``rote data`` names them
    presets: ClassVar[Mapping[str, Mapping[str, object]]]
    objective: ClassVar[tuple[str, str, Literal["max", "min"]] | None] = None  # of a sweep: table, column, what is best
    swept: ClassVar[Mapping[str, object]] = {}  # what a sweep changes, unless it says otherwise
    own_scale: ClassVar[bool] = False  # the source says nothing of sizes: those of preset paper are ours
    optional: ClassVar[tuple[str, ...]] = ()  # settings that only add something, or leave it out, or draw it otherwise
    fixed: ClassVar[Mapping[str, str]] = {}  # keys of shared groups that cannot be set here, and what decides instead
    default: C  # the configuration that presets and overrides change

    @abstractmethod
    def jobs(self, config: C) -> Sequence[Job]:
        """The measurements that this study is made of, each with the trainings that it looks at."""

    @abstractmethod
    def tables(self, config: C, measured: Mapping[str, Table]) -> Sequence[Table]:
        """The study's tables, from those of its measurements: tables of one name are joined, in the order of ``jobs``.
        They are made anew whenever they are read, so this trains and measures nothing."""

    def prepare(self, config: C) -> None:
        """Just before the runs: get the data, and tell what is wrong with them."""
        return

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        """Whether a run with this plain configuration had other data than the source's."""
        return False

    def beside(self, tables: Mapping[str, Table]) -> str:
        """What a sweep says beside the scores of its own objective."""
        return ""

    def completed(self, config: C, overrides: Mapping[str, object]) -> C:
        """With what depends on the overrides or on this machine, such as which data there are."""
        return config

    def unused(self, config: C) -> dict[str, str]:
        """Key -> why it changes nothing beside the other settings: to set it is refused."""
        return {**without_effect(config), **self.fixed}

    def resolve(self, preset: str, overrides: Mapping[str, object]) -> C:
        """The configuration of a preset, with these keys changed; what cannot be set is refused."""
        if preset not in self.presets:
            raise UnknownNameError("preset", preset, self.presets)
        try:
            config = self.completed(resolve(self.default, {**self.presets[preset], **overrides}), overrides)
            if config.seeds > MOST_SEEDS:
                raise SettingError("seeds", f"must be at most {MOST_SEEDS}. Got {config.seeds:.15g}.")
            if not 0 <= config.first_seed <= MOST_SEEDS:
                raise SettingError("first_seed", f"must be from 0 to {MOST_SEEDS}. Got {config.first_seed:.15g}.")
            for key, reason in self.unused(config).items():
                if key in overrides:
                    raise SettingError(key, f"has no effect: {reason}")
        except SettingError as error:
            raise error.in_study(self.name) from None
        return config

    def settings(self, config: C) -> dict[str, object]:
        """Dotted key -> value, of those that can be set here."""
        return {key: value for key, value in flatten(config).items() if key not in self.fixed}

    def request(self, config: C, jobs: Sequence[Job], preset: str = "") -> Request:
        """What stands for the whole study in a store: its settings, and the measurements that it is made of."""
        uses = tuple(job.request.id for job in jobs)
        return Request(self.name, self.version, STUDY, to_plain(config), tuple(config.seed_numbers), preset, uses=uses)

    def config_of(self, request: Request) -> C:
        """The configuration of a run of this study."""
        return from_plain(self.default, request.config)

    def is_current(self, request: Request) -> bool:
        """Whether a run of this study is made of what its measurements and recipes are now."""
        return request.uses == tuple(job.request.id for job in self.jobs(self.config_of(request)))


studies: Registry[type[Study[Any]]] = Registry("study", "rote.studies")


def ordered_names() -> list[str]:
    """The names of all studies, source by source."""
    return sorted(studies, key=lambda name: (studies[name].source.id, name))
