"""Networks of the store: those of every finished run that can be opened as models of symbols; of the others, why not.

What is listed comes from the records alone. The list is short; by its key every network can be opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rote.errors import RoteError
from rote.explorer.rebuilt import KINDS, Member
from rote.explorer.shelf import Entries, Listing, Loader, Opened, cell_title
from rote.store import FinishedRun, Listed, Record, Request, Store
from rote.store.checkpoint import steps_among
from rote.studies import studies

MOST = 60  # networks that are listed, the newest first
SEEDS, SETTINGS = 3, 6  # of one run that trained several together
KEY = re.compile(r"run-([0-9a-f]{16})(?:-([0-9]{1,6}))?")
REPORT = "What they do is in the report: rote report"
ELSEWHERE = {  # studies whose networks are no models of symbols: why, and what to do instead
    "bptt": "It measures gradients of networks that it does not keep. Open one of the study agreement or selection.",
    "digit-pairs": f"Its networks read pictures, not symbols. {REPORT}.",
    "lookup-accuracy": "An encoder and a decoder with attention: open it in the view Lookup tables.",
    "lookup-inside": "It looks into the models of lookup-accuracy: open these in the view Lookup tables.",
    "lookup-surgery": "It changes the models of lookup-accuracy: open these in the view Lookup tables.",
    "padding": "Its classifiers differ in the state that is read, not in what they read. Open one of classification.",
    "plane": "Its networks read points of the plane, not symbols. Train such ones in the view Playground.",
    "plane-information": "Its networks read points of the plane, not symbols. Train such ones in the view Playground.",
    "scan-jump": f"An encoder and a decoder that translate whole commands: nothing is said at each word. {REPORT}.",
    "stored-connectivity": "The article's own matrices, no network: view them in the report (rote report).",
}


@dataclass(frozen=True)
class Networks:
    """Of one run."""

    listings: tuple[Listing, ...] = ()
    closed: str = ""  # why there are none, and what to do instead

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
    """The shelf's part of the store, the newest first."""
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
        found = KINDS[run.record.request.study].rebuild(run, checkpoint, index)
        return Opened(listing, found.model, found.inputs, found.outputs, found.example)

    return load


@lru_cache(maxsize=4096)
def networks(root: Path, row: Listed) -> Networks:
    """Of a run of the store, from its record."""
    if row.status != "finished":
        return Networks(closed=f"It has not finished. To go on with it: rote run {row.study}")
    if row.part == "summary":
        return Networks(closed="A summary has tables, no network. Open one of the runs that it was made from.")
    if row.study not in KINDS:
        unknown = "How to rebuild its networks is not known here. From Python: rote.explore(model, vocabulary)"
        return Networks(closed=ELSEWHERE.get(row.study, unknown))
    try:
        record = Record.read(root / row.folder)
        closed = _closed(record)
        return Networks(closed=closed) if closed else Networks(tuple(_listings(record)))
    except (RoteError, KeyError) as error:
        return Networks(closed=str(error))


def _closed(record: Record) -> str:
    request, config = record.request, record.request.config
    current = studies[request.study].version
    if request.version != current:
        return f"Of version {request.version} of the study, and {current} is installed. Again: rote run {request.study}"
    if not steps_among(record.files):
        return "It kept no network: it counts or measures. Open a run of a part that trains."
    if config.get("network", "recurrent") != "recurrent":
        return f"A network of the kind {config['network']!r} does not read step by step. Open one of a recurrent part."
    if request.study == "classification" and config["model"]["bidirectional"]:
        return "A classifier that reads both ways says nothing before the end. Open one that reads forward, as 'lstm'."
    return ""


def _listings(record: Record) -> Iterator[Listing]:
    request, steps = record.request, steps_among(record.files)
    kind, members = KINDS[request.study], KINDS[request.study].members(request)
    cell, what, outputs = request.config.get("model", {}).get("cell", "elman"), "sequence", None
    if request.study == "autocomplete":
        cell, what, outputs = request.part, "autocomplete", int(request.config["task"]["words"]) + 2
    kept = tuple(steps) if len(steps) > 1 and kind.on_the_way else ()
    about = "; ".join(filter(None, (f"run {request.id[:10]}, updates: {steps[-1]}", kind.about)))
    for index, member in enumerate(members):
        key = f"run-{request.id}" if len(members) == 1 else f"run-{request.id}-{index}"
        title = _title(request, cell, member)
        yield Listing(key, title, what, cell, kind.unit, outputs, "store", kept, about, member.setting)


def _title(request: Request, cell: str, member: Member) -> str:
    setting = f", {member.setting}" if member.setting else ""
    return f"{cell_title(cell)}, {request.study} {request.preset}{setting}, seed {member.seed}"
