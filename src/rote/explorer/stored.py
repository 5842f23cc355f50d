"""Models of the store: trained networks of finished runs, rebuilt from their configuration and a checkpoint.

One function for each kind of study whose networks read symbols one after another. What is listed comes from the
records alone; torch, texts and weights are touched when a model is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.errors import RoteError
from rote.explorer.shelf import Entries, Listing, Loader, Opened, Unit, cell_title
from rote.store import FinishedRun, Listed, Record, Store
from rote.store.checkpoint import steps_among
from rote.studies import studies

if TYPE_CHECKING:
    from rote.models import SequenceModel

Names = tuple[str, ...]
Rebuilt = tuple["SequenceModel", Names, Names]  # with the names of what it reads and says
Rebuild = Callable[[FinishedRun, int | None, int], Rebuilt]  # a run, the step of a checkpoint, which of its networks

MOST = 60  # networks that are listed, the newest first
SEEDS = 3  # of one run that trained several together


def autocomplete(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.memorization.autocomplete_runs import load_model
    from rote.tasks.alphabet import CHARACTERS

    model = load_model(_config(run), run, step)
    return model, CHARACTERS, model.vocabulary


def text(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.studies.foundations.text_training import trained

    found: Any = trained(run)
    return found.model, tuple(found.corpus.vocabulary.words), tuple(found.corpus.labels)


def agreement(run: FinishedRun, step: int | None, index: int) -> Rebuilt:
    from rote.models import StackedLanguageModel

    config = _config(run)
    words = config.task.words
    stacked = StackedLanguageModel(
        len(words), config.model, run.record.request.seeds, config.training.torch_dtype()
    )  # fmt: skip
    stacked.load_state_dict(run.checkpoint(step)["model"])
    return stacked.replica(index), words, words


REBUILT: dict[str, Rebuild] = {"autocomplete": autocomplete, "language-modeling": text, "agreement": agreement}
ONLY_LAST = (text,)  # whose checkpoints on the way are not those of the network that was kept


def entries(store: Store) -> Entries:
    """The networks of the store as entries of a shelf, the newest first."""
    found: Entries = {}
    for row in store.runs():
        if len(found) >= MOST:
            break
        if row.study in REBUILT and row.status == "finished" and row.part != "summary":
            for listing, index in listed(store.root, row):
                found[listing.key] = (listing, _loader(listing, store.root / row.folder, index))
    return found


def _loader(listing: Listing, folder: Path, index: int) -> Loader:
    def load(checkpoint: int | None) -> Opened:
        run = FinishedRun(folder)
        model, inputs, outputs = REBUILT[run.record.request.study](run, checkpoint, index)
        return Opened(listing, model, tuple(inputs), tuple(outputs))

    return load


@lru_cache(maxsize=1024)
def listed(root: Path, row: Listed) -> tuple[tuple[Listing, int], ...]:
    """The networks of one run; none where it has no checkpoint, is of another version or is no recurrent network."""
    try:
        record = Record.read(root / row.folder)
        return tuple(_networks(record))
    except (RoteError, KeyError):
        return ()


def _networks(record: Record) -> Iterator[tuple[Listing, int]]:
    request, steps = record.request, steps_among(record.files)
    config = request.config
    recurrent = config.get("network", "recurrent") == "recurrent" and not config["model"].get("bidirectional")
    if not steps or not recurrent or request.version != studies[request.study].version:
        return
    kind = "autocomplete" if request.study == "autocomplete" else "sequence"
    cell = request.part if kind == "autocomplete" else config["model"]["cell"]
    kept = tuple(steps) if len(steps) > 1 and REBUILT[request.study] not in ONLY_LAST else ()
    for index, seed in enumerate(request.seeds[:SEEDS]):
        key = f"run-{request.id}" if len(request.seeds) == 1 else f"run-{request.id}-{seed}"
        title = f"{cell_title(cell)}, {request.study} {request.preset}, seed {seed}"
        about = f"run {request.id[:10]}, {steps[-1]} updates"
        unit: Unit = "character" if kind == "autocomplete" else "word"
        yield Listing(key, title, kind, cell, unit, _outputs(config, kind), "store", kept, about), index


def _outputs(config: dict[str, Any], kind: str) -> int | None:
    """How many, where the settings say so."""
    return int(config["task"]["words"]) + 2 if kind == "autocomplete" else None


def _config(run: FinishedRun) -> Any:
    request = run.record.request
    return studies[request.study]().config_of(request)
