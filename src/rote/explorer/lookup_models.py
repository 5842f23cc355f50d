"""Trained lookup models by key, a baseline and a guided one each, and what they do with one composition.

They come from finished trainings in the store; a small pair comes with the package.
"""

from __future__ import annotations

import copy
import functools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rote.errors import InterruptedRunError, RoteError, UnknownNameError, UsageError
from rote.explorer.messages import BusyError
from rote.recipes import Trained, recipes
from rote.recipes.job import TRAINING
from rote.recipes.trained import recipe_of
from rote.store import FinishedRun, Store
from rote.tasks.lookup import END, Inputs, LookupTask, example

if TYPE_CHECKING:
    from torch import Tensor

    from rote.models import EncoderDecoder

KINDS = ("baseline", "guided")
BUNDLED = "bundled"
LONGEST = 12  # tables of one composition
SHOWN = 3  # answers of a step, best first
SPLITS = 1  # random divisions of the samples when functional groups are looked for, as in the preset quick
KEPT = 6  # pairs in memory
SEARCHES = 8  # for functional groups that are under way or wait
DIGITS = 6  # of activations: what the last bits are depends on the number of threads, and a group of units on them
Groups = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class Pair:
    """What can be said about two models without reading their weights."""

    key: str
    title: str
    cell: str
    hidden: int
    seeds: tuple[int, ...]
    runs: tuple[str, ...] = ()  # ids, in the order of KINDS


class LookupModel:
    """One model on its task."""

    def __init__(self, model: EncoderDecoder, task: LookupTask) -> None:
        self.model, self.task = model, task

    def answer(self, inputs: Inputs) -> dict[str, Any]:
        """Each step's answers with their probabilities, the attention, and every gate and state, [time, unit]."""
        from rote.studies.realization.inside_measures import traced
        from rote.studies.realization.training import LookupData

        data = LookupData({"asked": [example(self.task.functions(), inputs)]}, self.task.vocabulary(), "cpu")
        decoded, traces = traced(self.model, data, "asked")
        return {
            "answers": _best(decoded.logits[0, 0].softmax(-1), data.output_symbols),
            "attention": rounded(decoded.attention[0, 0], 4),
            "activity": {
                part: {
                    **{name: rounded(values[0]) for name, values in trace.gates[0].items() if name != "candidate"},
                    "state": rounded(trace.hidden[0][0]),
                }
                for part, trace in traces.items()
            },
        }

    def groups(self, closed: threading.Event) -> list[dict[str, Any]]:
        """Which few units tell the table or the time step: rote.diagnose on all rows of the task."""
        from rote.analyses import diagnose
        from rote.studies.realization.inside_measures import InsideModel, position_labels

        inside = InsideModel(copy.deepcopy(self.model).double(), self.task)
        tables, steps, _, _ = position_labels(inside.rows["known"])
        traces = inside.traces["known"]
        state = traces["encoder"].hidden[0]
        asked: list[tuple[str, str, str, Tensor, Any]] = [
            ("encoder", "state", "table", state, tables["encoder"]),
            ("encoder", "state", "time step", state, steps),
            *(
                ("decoder", name, "table", traces["decoder"].gates[0][name], tables["decoder"])
                for name in inside.gates
            ),
        ]  # fmt: skip
        found = []
        for part, of, label, values, labels in asked:
            if closed.is_set() or not threading.main_thread().is_alive():
                raise InterruptedRunError("The explorer was stopped.")
            probe = diagnose(values.round(decimals=DIGITS), labels, splits=SPLITS)
            found.append(
                {
                    "part": part, "of": of, "label": label, "units": list(probe.group), "accuracy": probe.accuracy,
                    "group_accuracy": probe.group_accuracy, "majority": probe.majority, "of_units": len(probe.order),
                }
            )  # fmt: skip
        return found


class LookupModels:
    """``listing()`` reads records only; ``open`` reads the weights, once. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept: OrderedDict[tuple[str, int], dict[str, LookupModel]] = OrderedDict()
        self._lock = threading.Lock()
        self._found: dict[tuple[str, int], Future[Groups]] = {}
        self._one = threading.Lock()  # search for groups at a time
        self._searching: list[threading.Thread] = []
        self._closed = threading.Event()

    def close(self) -> None:
        """End the searches, each after the probe that it is at: none may be left when Python itself ends."""
        self._closed.set()
        for thread in self._searching:
            thread.join()

    def listing(self) -> list[Pair]:
        """The bundled pair first, then those of the store, newest first."""
        from rote.studies.realization.starter import SEED, saved_config

        config = saved_config()
        title = f"bundled: {config.model.cell.upper()}, {config.model.hidden} units"
        return [Pair(BUNDLED, title, config.model.cell, config.model.hidden, (SEED,)), *self._stored()]

    def open(self, key: str, seed: int | None = None) -> tuple[Pair, int, dict[str, LookupModel]]:
        pairs = {pair.key: pair for pair in self.listing()}
        if key not in pairs:
            raise UnknownNameError("pair of lookup models", key, pairs)
        pair = pairs[key]
        chosen = pair.seeds[0] if seed is None else seed
        if chosen not in pair.seeds:
            known = ", ".join(map(str, pair.seeds))
            raise UsageError(f"The models {pair.title!r} were trained with the seeds {known}. Got {chosen}.")
        with self._lock:
            if (key, chosen) not in self._kept:
                self._kept[key, chosen] = _bundled() if key == BUNDLED else self._read(pair, chosen)
            self._kept.move_to_end((key, chosen))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return pair, chosen, self._kept[key, chosen]

    def groups(self, key: str, seed: int | None = None, wait: float = 1.0) -> Groups | None:
        """The functional groups of both models; None while they are being looked for, which takes seconds.

        Not in the pool that answers requests: these would wait for it."""
        _, chosen, opened = self.open(key, seed)
        with self._lock:
            found = self._found.get((key, chosen))
            if found is None:
                if sum(not other.done() for other in self._found.values()) >= SEARCHES:
                    raise BusyError("The functional groups of many models are being looked for. Try again in a moment.")
                found = self._found[key, chosen] = Future()
                self._searching = [thread for thread in self._searching if thread.is_alive()]
                self._searching.append(threading.Thread(target=self._find, args=(found, opened), name="groups"))
                self._searching[-1].start()
        try:
            return found.result(wait)
        except FutureTimeoutError:
            return None

    def _find(self, future: Future[Groups], opened: dict[str, LookupModel]) -> None:
        try:
            with self._one:
                future.set_result({kind: model.groups(self._closed) for kind, model in opened.items()})
        except BaseException as error:
            with self._lock:  # who asks again starts another search
                self._found = {key: other for key, other in self._found.items() if other is not future}
            future.set_exception(error)

    def _stored(self) -> list[Pair]:
        finished = {row.id: row for row in self.store.runs() if (row.part, row.status) == (TRAINING, "finished")}
        pairs = []
        for row in finished.values():
            try:
                if recipes[row.study].view != "lookup":
                    continue
                request = FinishedRun(self.store.root / row.folder).record.request
                recipe: Any = recipe_of(request)
            except RoteError:  # the view of all runs says why
                continue
            if not recipe.guided or not request.seeds:
                continue
            (other,) = (job.request.id for job in replace(recipe, guided=False).jobs(request.seeds))
            if other in finished:
                hidden, steps = recipe.model.hidden, recipe.training.steps
                title = f"{row.preset or 'run'}: {recipe.cell.upper()}, {hidden} units, {steps} steps"
                pairs.append(Pair(row.id, title, recipe.cell, hidden, request.seeds, (other, row.id)))
        return pairs

    def _read(self, pair: Pair, seed: int) -> dict[str, LookupModel]:
        opened = {}
        for kind, run in zip(KINDS, pair.runs, strict=True):
            trained = Trained(self.store.load(run))
            model: Any = trained.network(pair.seeds.index(seed)).model
            opened[kind] = LookupModel(model, trained.recipe.task)
        return opened


def read_composition(task: LookupTask, text: str) -> Inputs:
    """``"000 t1 t2"`` or ``"000 t1 t2 ."`` as the models read it."""
    functions = task.functions()
    symbols = text.split()
    if symbols and symbols[-1] == END:
        symbols.pop()
    strings = next(iter(functions.values()))
    sample = f"{next(iter(strings))} t1 t2 {END}"
    if not symbols:
        raise UsageError(f"The composition is empty. Type {task.bits} bits and then tables, as in '{sample}'.")
    first, *tables = symbols
    if first not in strings:
        raise UsageError(f"A composition begins with {task.bits} bits, as in '{sample}'. Got {first[:20]!r}.")
    for place, name in enumerate(tables, start=2):
        if name not in functions:
            known = f"{next(iter(functions))} to {list(functions)[-1]}"
            raise UsageError(f"Symbol {place} must be a table, {known}. Got {name[:20]!r}.")
    if not 1 <= len(tables) <= LONGEST:
        raise UsageError(f"A composition has 1 to {LONGEST} tables after its input. Got {len(tables)}.")
    return (first, *tables, END)


def split_of(task: LookupTask, inputs: Inputs) -> str:
    """Where the task has this composition: "train", "heldout_inputs", ...; longer ones by the tables that they use."""
    tables = inputs[1:-1]
    if len(tables) > task.depth:
        unseen = {f"t{number}" for number in range(task.tables - task.unseen_tables + 1, task.tables + 1)}
        new = sum(table in unseen for table in tables)
        return "longer_seen" if not new else "longer_new" if new == len(tables) else "longer_incremental"
    return _places(task)[inputs]


def examples_of(task: LookupTask) -> dict[str, str]:
    """A composition of each split that has any; not the first, which is all zeros."""
    rows: dict[str, list[Inputs]] = {}
    for inputs, name in _places(task).items():
        rows.setdefault(name, []).append(inputs)
    return {name: " ".join(found[2 * len(found) // 5]) for name, found in rows.items()}


@functools.lru_cache(8)
def _places(task: LookupTask) -> dict[Inputs, str]:
    return {row.inputs: name for name, rows in task.splits().items() for row in rows}


def _bundled() -> dict[str, LookupModel]:
    from rote.studies.realization.starter import load_starter

    opened = {kind: load_starter(kind) for kind in KINDS}
    return {kind: LookupModel(model, config.task) for kind, (model, config) in opened.items()}


def _best(probabilities: Tensor, symbols: Sequence[str]) -> list[list[dict[str, Any]]]:
    values, places = probabilities.topk(min(SHOWN, len(symbols)))
    return [
        [
            {"symbol": symbols[place], "probability": round(value, 4)}
            for value, place in zip(row.tolist(), at.tolist(), strict=True)
        ]
        for row, at in zip(values, places, strict=True)
    ]


def rounded(values: Tensor, digits: int = 3) -> list[list[float]]:
    return [[round(value, digits) for value in row] for row in values.tolist()]
