"""The commands that run a study and tell about studies: run, list, show."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from rote.commands.options import (
    Cluster,
    Device,
    Folder,
    Imports,
    Json,
    Maybe,
    Workers,
    err_console,
    open_store,
    option,
    out_console,
    print_json,
    print_rows,
    tell_left_out,
)
from rote.errors import RoteError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from rote.laboratory import Study, StudyResult
    from rote.laboratory.estimates import Expectation


@dataclass(frozen=True)
class Run:
    """Run one study and print its tables and verdicts.

    Try:
      rote run plane
      rote run plane --preset paper --workers 2
      rote run plane --seeds 128 model.hidden=16 training.learning_rate=0.03
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    overrides: Annotated[
        Positional[tuple[str, ...]], option("[KEY=VALUE ...]", "Settings to change. See: rote show STUDY.")
    ] = ()
    preset: Annotated[str, arg(metavar="NAME", help="smoke, quick or paper; rote show STUDY has all.")] = "quick"
    seeds: Annotated[Maybe[int], option("N", "Number of random seeds. Default: as the preset says.")] = None
    fresh: Annotated[
        bool, option(None, "On seeds that are new to the registered criteria, so that the verdicts confirm or refute.")
    ] = False
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.config import parse_overrides
        from rote.laboratory import Display, Laboratory

        overrides: dict[str, object] = dict(parse_overrides(self.overrides))
        if self.seeds is not None:
            if "seeds" in overrides:
                raise UsageError(f"Seeds are given twice: --seeds {self.seeds} and seeds={overrides['seeds']}.")
            overrides["seeds"] = self.seeds
        if self.fresh and "first_seed" in overrides:
            raise UsageError("'--fresh' chooses the first seed: leave out first_seed=.")
        with Display(err_console()) as display:
            lab = Laboratory(
                open_store(self.store), workers=self.workers, cluster=self.cluster, device=self.device, display=display
            )
            result = lab.run(self.study, self.preset, overrides, fresh=self.fresh)
        show_result(result, as_json=self.json)
        return tell_left_out(result.left_out)


KINDS = {  # what can be listed: what one is called, the package whose files have them, where the registry is
    "studies": ("study", "rote.studies", "rote.laboratory"), "recipes": ("recipe", "rote.studies", "rote.recipes"),
    "measurements": ("measurement", "rote.studies", "rote.recipes"), "tasks": ("task", "rote.tasks", "rote.tasks"),
    "cells": ("cell", "rote.cells", "rote.cells"), "architectures": ("architecture", "rote.models", "rote.models"),
    "analyses": ("analysis", "rote.analyses", "rote.analyses"), "methods": ("method", "rote.analyses", "rote.analyses"),
    "programs": ("program", "rote.court", "rote.court"),
}  # fmt: skip


@dataclass(frozen=True)
class List:
    """List studies, recipes, measurements, tasks, cells, architectures, analyses, methods, programs or claims.

    Try:
      rote list
      rote list claims --json
    """

    what: Annotated[
        Positional[str],
        arg(
            metavar="[KIND]", help="studies, recipes, measurements, tasks, cells, architectures, analyses, methods, ..."
        ),
    ] = "studies"
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.laboratory import studies
        from rote.plugins import load_installed
        from rote.registry import Registry

        if self.what == "claims":
            rows = [{"name": claim.id, "about": claim.statement} for name in studies for claim in studies[name].claims]
        elif self.what in KINDS:
            load_installed()
            # What is not imported yet is read from its sources: importing cells or analyses would import torch.
            kind, package, home = KINDS[self.what]
            imported = sys.modules.get(home)
            read = Registry[Any](kind, package, self.what)
            registry = read if imported is None else getattr(imported, self.what)
            rows = [{"name": entry.name, "about": entry.description} for entry in registry.entries()]
        else:
            raise UnknownNameError("kind", self.what, [*KINDS, "claims"])
        print_rows(rows, as_json=self.json)
        return 0


@dataclass(frozen=True)
class Show:
    """Show a study: what it asks, its source, claims, presets and settings, and what each preset will take.

    Time and disk are estimates, from finished runs like these where there are some.

    Try:
      rote show plane
      rote show lookup-accuracy --preset paper --workers 8
    """

    study: Annotated[Positional[str], arg(metavar="STUDY", help="See: rote list studies.")]
    preset: Annotated[Maybe[str], option("NAME", "Only this preset. Default: all.")] = None
    workers: Workers = None
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.laboratory import studies

        study = studies[self.study]()
        if self.preset is not None and self.preset not in study.presets:
            raise UnknownNameError("preset", self.preset, study.presets)
        names = [name for name in study.presets if self.preset in (None, name)]
        presets = {name: study.settings(study.resolve(name, {})) for name in names}
        costs = self._estimates(study, names)
        facts = {
            "name": study.name, "title": study.title, "source": study.source.title, "place": study.place,
            "about": study.about, "claims": {claim.id: claim.statement for claim in study.claims},
            "deviations": list(study.deviations), "presets": presets,
            "estimates": {name: asdict(found) for name, found in costs.items()},
        }  # fmt: skip
        if self.json:
            print_json(facts)
            return 0
        from rote.commands.terminal import show_study

        show_study(out_console(), study, costs, presets)
        return 0

    def _estimates(self, study: Study[Any], presets: Sequence[str]) -> dict[str, Expectation]:
        """By preset: what is missing of it in the store, on this machine."""
        from rote.laboratory import Laboratory
        from rote.laboratory.estimates import Estimator, unknown

        lab = Laboratory(open_store(self.store), workers=self.workers)
        estimator = Estimator(lab.store, lab.workers)
        found = {}
        for preset in presets:
            try:
                found[preset] = estimator.expected([(study, study.resolve(preset, {}))])
            except RoteError as error:  # such as data that are not on this machine
                found[preset] = unknown(estimator.workers, str(error))
        return found


def studies_of(sources: tuple[str, ...]) -> list[str]:
    """The names of the studies of these sources (by name or number); all when none is named."""
    from rote.laboratory import studies
    from rote.laboratory.study import ordered_names

    known = {name: studies[name].source for name in ordered_names()}
    spelled = {word: source.name for source in known.values() for word in (source.id, source.name)}
    for word in sources:
        if word not in spelled:
            raise UnknownNameError("source", word, spelled)
    chosen = [spelled[word] for word in sources]
    for name in chosen:
        if chosen.count(name) > 1:
            raise UsageError(f"The source {name!r} is named {chosen.count(name)} times. Name it once.")
    return [name for name, source in known.items() if not sources or source.name in chosen]


def show_result(result: StudyResult, *, as_json: bool) -> None:
    from rote.commands.claims_terminal import show_verdicts
    from rote.commands.terminal import show_tables
    from rote.laboratory.tally import verdict_row

    tables = result.run.tables()
    if as_json:
        found = {name: table.records() for name, table in tables.items()}
        verdicts = [{"claim": verdict.claim.id, **verdict_row(verdict)} for verdict in result.verdicts]
        print_json({"run": result.run.id, "verdicts": verdicts, "tables": found})
        return
    console = out_console()
    show_tables(console, tables.values())
    console.print()
    show_verdicts(console, result.verdicts)
    console.print(f"Run {result.run.id}", highlight=False)
    # Apart from what came out, which is the same when everything was there already.
    err_console().print(f"Runs: {result.computed} computed, {result.reused} reused", highlight=False)
