"""The studies of text are one script: baselines by counting, then a network for each variant and seed, then tables.

A variant is a set of keys that it changes; ``own`` changes none. With a file of one's own to train on, ``own`` is what
is trained unless variants are named. A trained network comes back with ``trained(run)`` (text_training.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from rote.claims import Estimate, Tables, mean, paired_difference
from rote.config import resolve
from rote.errors import UnknownNameError, UsageError
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.foundations import published
from rote.studies.foundations.text_settings import TextConfig, check_network
from rote.studies.foundations.text_tables import BASELINES, all_tables, baseline_table
from rote.studies.study import Progress, Study
from rote.studies.summaries import NotMeasuredError, collected, column_of, measured
from rote.tasks.text_tasks import Kind

C = TypeVar("C", bound=TextConfig)
OWN = "own"
CEILING = 0.995  # share of words
DEVIATIONS = (
    "The lecture names these uses and gives no data, sizes or numbers: all settings are ours. Adam, gradients "
    "clipped to 5, sentences of similar length in a batch, embeddings uniform in [-0.1, 0.1], cells and readout as "
    "torch initializes them. Weights are those with the lowest loss on dev; test is looked at once, with these.",
    "Data: files that are named; else a corpus in $ROTE_DATA; else generated reviews. Every table says which.",
)


class TextStudy(Study[C]):
    kind: ClassVar[Kind]
    known: ClassVar[Mapping[str, Mapping[str, Any]]]  # variant -> the keys that it changes
    source = published.SOURCE
    swept: ClassVar[Mapping[str, object]] = {"variants": OWN}

    def resolve(self, preset: str, overrides: Mapping[str, object]) -> C:
        config = super().resolve(preset, overrides)
        for name in config.variants:
            if name not in (OWN, *self.known):
                raise UnknownNameError("variant", name, (OWN, *self.known))
        if config.task.train:
            config = self._for_own_files(config, overrides)
        if not config.variants:
            raise UsageError(f"'variants' must name a network to train: {', '.join((OWN, *self.known))}.")
        for name in config.variants:  # refuses what does not go together
            self._variant(config, name)
        return replace(config, task=config.task.resolved())

    def _for_own_files(self, config: C, overrides: Mapping[str, object]) -> C:
        """One network, and all of the text: what a preset says of them is for its own data."""
        whole: dict[str, Any] = {name: None for name in ("examples", "largest") if f"task.{name}" not in overrides}
        chosen = config.variants if "variants" in overrides else (OWN,)
        return replace(config, task=replace(config.task, **whole), variants=chosen)

    def prepare(self, config: C) -> None:
        config.task.check()
        if config.task.train:
            config.task.load()

    def requests(self, config: C) -> list[Request]:
        """The baselines, and a run for each network, each with its own settings alone: other lists find it again."""
        untrained = replace(self.default, task=config.task)
        return [
            self.request(BASELINES, untrained, (0,)),
            *(
                self.request(name, self._variant(config, name), (seed,))
                for name in config.variants
                for seed in range(config.seeds)
            ),
        ]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        config = self.config_of(request)
        corpus = config.task.load()
        run.note(data=corpus.sha256)
        if request.part == BASELINES:
            return [baseline_table(self.kind, corpus)]
        from rote.studies.foundations.text_training import train_and_measure

        return [train_and_measure(self.kind, config, corpus, request, run, progress, device)]

    def summarize(self, config: C, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(self.kind, self.title, self.place, collected(runs))

    def beside(self, tables: Tables) -> str:
        """For a list of scores: what counting gives on the same data."""
        counted = [row for row in tables["outcome"].records() if row["seeds"] is None]
        scores = ", ".join(f"{row['model']} {row['dev']:.3g}" for row in counted)
        return f"Baselines, dev: {scores}."

    def _variant(self, config: C, name: str) -> C:
        changed = {} if name == OWN else self.known[name]
        made = replace(resolve(config, changed), variants=(OWN,), seeds=1)
        check_network(self.kind, made)
        return made


@measured
def against(tables: Tables, first: str, second: str, column: str = "test") -> Estimate:
    """First minus second, seed by seed."""
    one, other = (column_of(tables["networks"], column, model=name) for name in (first, second))
    return paired_difference(one, other)


@measured
def below_the_ceiling(tables: Tables, first: str, second: str) -> Estimate:
    """The same of accuracies in test, unless neither leaves room for a difference."""
    one, other = (column_of(tables["networks"], "test", model=name) for name in (first, second))
    if min(*one, *other) > CEILING:
        raise NotMeasuredError
    return paired_difference(one, other)


@measured
def over_baseline(tables: Tables, model: str, baseline: str, column: str = "test") -> Estimate:
    """The model minus the baseline, over seeds."""
    (counted,) = column_of(tables["outcome"], column, model=baseline)
    return mean([value - counted for value in column_of(tables["networks"], column, model=model)])


@measured
def best_minus_last(tables: Tables, model: str) -> Estimate:
    """Accuracy in test with the weights that were best on dev minus that with the last ones."""
    best, last = (column_of(tables["networks"], name, model=model) for name in ("test", "last_test"))
    return paired_difference(best, last)
