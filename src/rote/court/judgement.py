"""Methods judged on networks whose working is known: ``judge``.

Every method explains the same strings on the same networks. Intervals are over networks and, in each, over strings.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses.attribution import Method, checked, is_signed, methods, sets_by
from rote.court.compiler import compile
from rote.court.dockets import DOCKETS, SATURATION, TRAINED, Case, Docket, docket_of
from rote.court.learning import one_thread
from rote.court.program import Automaton, Program
from rote.court.scores import NONE, cosine, distance, pair_score, per_string
from rote.court.verdict import Verdict, made_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

Progress = Callable[[str, int, int], None]  # what is done, how many cases of how many
Methods = str | Method | Sequence[str | Method] | None
LONG = 120  # symbols of the string on which parts may grow
BOUNDED = ("alone", "occlusion", "two", "shapley", "integrated_gradients")  # made of outputs, which cannot grow
CODINGS = ("candidate", "idle")  # of the LSTM, beside its "busy"


@dataclass
class Record:
    """What one method said of one case: measures by string, and the attribution itself."""

    case: Case
    method: str
    values: np.ndarray
    scores: dict[str, np.ndarray] = field(default_factory=dict)


@one_thread()
def judge(
    method: Methods = None,
    *,
    programs: Sequence[str | Program] | None = None,
    cells: Sequence[str] | None = None,
    dockets: Sequence[str] = DOCKETS,
    strings: int = 16,
    length: int = 8,
    seed: int = 0,
    seeds: int = 1,
    progress: Progress | None = None,
) -> Verdict:
    """What explanation methods are worth: a table against the truth.

    - method: a name of ``rote.analyses.methods``, a function (model, tokens, at, target) -> [batch, time], or several;
      by default all that are registered.
    - programs, cells: those of the networks; by default all programs, in all cells that can hold them. Trained networks
      are Elman networks, GRUs and LSTMs.
    - dockets: "compiled" and "trained".
    - strings, length, seed: the random strings that are explained. seeds: trained networks of each program and cell.

    >>> from rote import court
    >>> verdict = court.judge(["two", "gradient_input"], programs=["latch"], cells=["gru"], dockets=["compiled"])
    >>> print(verdict.summary.where(method="two").records()[0]["direction"] > 0.9)
    True
    """
    named = _named(method)
    for docket in dockets:
        if docket not in DOCKETS:
            raise UsageError(f"'dockets' are {' and '.join(DOCKETS)}. Got {docket!r}.")
    if not dockets:
        raise UsageError(f"The court needs at least one docket: {' or '.join(DOCKETS)}.")
    asked = docket_of(programs, cells, strings, length, seed, seeds)
    left_out: list[str] = []
    records = [
        _heard(case, name, function)
        for case in _cases(asked, dockets, left_out, progress)
        for name, function in named.items()
    ]
    if not records:
        raise UsageError(f"No network could be made. {' '.join(left_out)}")
    return made_of(records, list(named), left_out)


def _named(method: Methods) -> dict[str, Method]:
    given: list[str | Method]
    if method is None:
        given = list(methods)
    elif isinstance(method, str) or callable(method):
        given = [method]
    else:
        given = list(method)
    if not given:
        raise UsageError(f"The court needs at least one method. Known: {', '.join(methods)}.")
    found: dict[str, Method] = {}
    for one in given:
        name = one if isinstance(one, str) else str(getattr(one, "__name__", type(one).__name__))
        if name in found:
            raise UsageError(f"The method {name!r} is named twice.")
        found[name] = methods[one] if isinstance(one, str) else one
    return found


def _cases(asked: Docket, dockets: Sequence[str], left_out: list[str], progress: Progress | None) -> Iterator[Case]:
    total, done = sum(_count(asked, docket) for docket in dockets), 0
    for docket in dockets:
        for case in asked.compiled(left_out) if docket == "compiled" else asked.trained(left_out):
            if progress is not None:
                progress(f"{docket}: {case.program.name} in {case.cell}", done, total)
            yield case
            done += 1


def _count(asked: Docket, docket: str) -> int:
    """About so many cases: some programs cannot be held."""
    cells = [cell for cell in asked.cells if docket == "compiled" or cell in TRAINED]
    return len(asked.programs) * len(cells) * (1 if docket == "compiled" else len(asked.seeds))


def _heard(case: Case, name: str, method: Method) -> Record:
    """One method on one case."""
    began = time.perf_counter()
    values = _said(name, method, case.model, case)
    spent = 1000 * (time.perf_counter() - began) / len(values)
    signed = is_signed(method)
    scores = per_string(values, case.truth, case.scale, signed)
    scores["milliseconds"] = np.full(len(values), spent)
    sets = sets_by(method)
    if sets is not None:
        scores["interactions"] = pair_score(_pairs(sets, case), case.truth, case.scale)
    other = _said(name, method, shuffled(case.model), case)
    scores["shuffled"] = np.abs(cosine(other, values, NONE * case.scale))
    if case.docket == "compiled" and case.cell == "lstm" and isinstance(case.program, Automaton) and signed:
        scores["codings"] = _between_codings(case, name, method, values)
    if case.docket == "trained" and signed and name not in BOUNDED:
        scores["long"] = np.array([_longest(case, name, method)])
    return Record(case, name, values, scores)


def _said(name: str, method: Method, model: SequenceModel, case: Case, tokens: Tensor | None = None) -> np.ndarray:
    given = case.tokens if tokens is None else tokens
    targets = case.targets[: len(given)]
    found: np.ndarray = checked(name, method, model, given, given.shape[1] - 1, targets).double().numpy()
    return found


def _pairs(sets: Any, case: Case) -> np.ndarray:
    """What every two positions do beyond what each does, [string, pair]."""
    batch, time_ = case.tokens.shape
    first, second = torch.triu_indices(time_, time_, 1)
    each = torch.eye(time_, dtype=torch.bool)
    masks = torch.cat([each, each[first] | each[second]]).expand(batch, -1, -1)
    found = sets(case.model, case.tokens, time_ - 1, case.targets, masks).detach().double().numpy()
    return np.asarray(found[:, time_:] - found[:, first.numpy()] - found[:, second.numpy()])


def shuffled(model: SequenceModel) -> SequenceModel:
    """The network with the numbers of each of its weights in another order."""
    made, generator = copy.deepcopy(model), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for cell in made.recurrent.all_cells():
            for weight in cell.parameters():
                order = torch.randperm(weight.numel(), generator=generator)
                weight.copy_(weight.flatten()[order].view_as(weight))
    return made


def _between_codings(case: Case, name: str, method: Method, values: np.ndarray) -> np.ndarray:
    """How far the same function, coded otherwise, is explained otherwise: the mean over codings."""
    found = []
    for coding in CODINGS:
        other = compile(case.program, "lstm", saturation=SATURATION, coding=coding)
        found.append(distance(_said(name, method, other, case), values, NONE * case.scale))
    return np.asarray(np.mean(found, axis=0))


def _longest(case: Case, name: str, method: Method) -> float:
    """The most that any position of a long string gets, over the range."""
    tokens = torch.from_numpy(case.program.strings(case.truth.tokens.size, 1, LONG))
    return float(np.abs(_said(name, method, case.model, case, tokens)).max() / case.scale)
