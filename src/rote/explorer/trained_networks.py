"""Networks of the store: those of every finished training that can be opened as models of symbols; of the others, why
not.

What is listed comes from the records and recipes alone. The list is short; by its key every network can be opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError, RoteError
from rote.explorer.catalog import Entries, Listing, Loader, Opened, cell_title
from rote.recipes.job import MEASUREMENT, TRAINING
from rote.recipes.recipe import Recipe
from rote.recipes.trained import Trained, recipe_of
from rote.store import FinishedRun, Listed, Record, Store
from rote.store.checkpoint import steps_among
from rote.store.run import STUDY

MOST = 60  # networks that are listed, the newest first
SEEDS, SETTINGS = 3, 6  # of one training of several networks
KEY = re.compile(r"run-([0-9a-f]{16})(?:-([0-9]{1,6}))?")
NO_NETWORK = {
    STUDY: "A study has tables, no network. Open one of the trainings that it was made from.",
    MEASUREMENT: "A measurement has tables, no network. Open one of the trainings that it looked at.",
}
OLDER = "It is of version 0.1, whose networks are opened by that version. Run its study again: rote run {}"


@dataclass(frozen=True)
class Networks:
    """Of one run."""

    listings: tuple[Listing, ...] = ()
    closed: str = ""  # why there are none, and what to do instead
    describing: tuple[str, ...] = ()  # networks that read pictures instead, each in words

    @property
    def some(self) -> list[tuple[int, Listing]]:
        """Those for a list of all runs: the first of each setting, or a few seeds of a single one."""
        settings = list(dict.fromkeys(listing.setting for listing in self.listings))
        numbered = list(enumerate(self.listings))
        if len(settings) < 2:
            return numbered[:SEEDS]
        firsts = [next(item for item in numbered if item[1].setting == setting) for setting in settings]
        return firsts[:SETTINGS]


def entries(store: Store) -> Entries:
    """The catalog's part of the store, the newest first."""
    found: Entries = {}
    for row in store.runs():
        if len(found) >= MOST:
            break
        for index, listing in networks(store.root, row).some:
            found[listing.key] = (listing, _loader(listing, store.root / row.folder, index))
    return found


def entry(store: Store, key: str) -> Entries:
    """One network, also one that is not listed; nothing if there is none of this key."""
    matched = KEY.fullmatch(key)
    row = matched and next((row for row in store.runs() if row.id == matched[1]), None)
    if not matched or row is None:
        return {}
    for index, listing in enumerate(networks(store.root, row).listings):
        if listing.key == key:
            return {key: (listing, _loader(listing, store.root / row.folder, index))}
    return {}


def _loader(listing: Listing, folder: Path, index: int) -> Loader:
    def load(checkpoint: int | None) -> Opened:
        run = FinishedRun(folder)
        try:
            network = Trained(run).network(index, checkpoint)
            model: Any = network.model
        except RoteError:
            raise
        except Exception as error:  # whatever a recipe makes of settings and weights that are not its own
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise DamagedFileError(f"No network can be made of the run {run.id} ({reason}).") from error
        return Opened(listing, model, network.inputs, network.outputs, network.example)

    return load


@lru_cache(maxsize=4096)
def networks(root: Path, row: Listed) -> Networks:
    """Of a run of the store, from its record and its recipe."""
    if row.status != "finished":
        return Networks(closed=f"It has not finished. To go on with it: rote run {row.study}")
    if row.part != TRAINING:
        return Networks(closed=NO_NETWORK.get(row.part, OLDER.format(row.study)))
    try:
        record = Record.read(root / row.folder)
        recipe = recipe_of(record.request)
        closed = recipe.closed()
        if not closed and not steps_among(record.files):
            closed = "It kept no weights."
        if not closed:
            return Networks(tuple(_listings(record, recipe)))
        members = recipe.members(record.request.seeds) if recipe.describes and steps_among(record.files) else ()
        return Networks(
            closed=closed, describing=tuple(f"{_setting(one, recipe)}, seed {one['seed']}" for one in members)
        )
    except RoteError as error:
        return Networks(closed=str(error))
    except Exception as error:  # of settings that are not the recipe's
        return Networks(closed=f"Its settings are none of {row.study}: {type(error).__name__}: {error}.")


def _listings(record: Record, recipe: Recipe) -> Iterator[Listing]:
    request, steps = record.request, steps_among(record.files)
    members = recipe.members(request.seeds)
    kept = tuple(steps) if len(steps) > 1 and recipe.reopens_on_the_way else ()
    about = "; ".join(filter(None, (f"run {request.id[:10]}, updates: {steps[-1]}", recipe.about)))
    for index, labels in enumerate(members):
        key = f"run-{request.id}" if len(members) == 1 else f"run-{request.id}-{index}"
        setting = _setting(labels, recipe)
        told = ", ".join(filter(None, (f"{request.study} {request.preset}".strip(), setting, f"seed {labels['seed']}")))
        title = f"{cell_title(recipe.cell)}, {told}"
        yield Listing(
            key, title, recipe.view, recipe.cell, recipe.unit, recipe.output_size(), "store", kept, about, setting
        )


def _setting(labels: Mapping[str, int | str], recipe: Recipe) -> str:
    """What tells it from others, beside the cell and the seed."""
    own = [str(value) for name, value in labels.items() if name not in ("seed", "cell")]
    return ", ".join(own) or ("" if recipe.label == recipe.cell else recipe.label)
