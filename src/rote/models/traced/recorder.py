"""A forward pass followed as it runs: every operation of torch is seen, with the module that it was called in.

The functions of torch are watched (a ``TorchFunctionMode``), not its kernels: an LSTM is one operation there, a norm
another. torch.fx cannot follow a loop over the steps of a tensor, and torch.export, which can, gives the kernels that
an LSTM is made of, from which it would have to be guessed again. What ran is what is known: a branch that depends on
values is seen when it is decided, and the result is compared with the module's own on other inputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from rote.cells import Cell, Recurrent
from rote.errors import UsageError
from rote.models.calling import tensor_of
from rote.models.in_eval import in_eval
from rote.models.traced import norm_rules, recurrent_rules, reduction_rules, shape_rules, shapes
from rote.models.traced.graph import Graph
from rote.models.traced.known_modules import cells_in
from rote.models.traced.meaning import Count, Lost, Mask, Meaning, Scene, Series, Tokens, Unclear
from rote.models.traced.recurrent_rules import KINDS, cell_of, is_packed
from rote.models.traced.rules import RULES

SILENT = ("size", "dim", "numel", "__get__", "__len__", "is_floating_point", "register_hook", "stride", "is_contiguous",
          "data_ptr", "element_size", "storage_offset", "nelement", "ndimension", "get_device", "is_complex",
          "is_pinned",
          "is_same_size", "is_signed", "is_inference", "is_nested", "can_cast", "retain_grad", "__set__")  # fmt: skip
MADE = ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "zeros_like", "ones_like", "full_like",
        "empty_like", "arange")  # fmt: skip
READ = ("T", "mT", "data")  # attributes that are tensors
OF_TORCH = (Tensor, str, torch.dtype, torch.device, type(None))  # of these only tensors tell a value
FILES = (norm_rules, recurrent_rules, reduction_rules, shape_rules)  # which have entered their rules


@dataclass
class Visit:
    """A module that was called, with what it gave."""

    name: str
    module: nn.Module
    output: Tensor
    meaning: Meaning | None
    version: int  # of the output: another one later says that it was written into


@dataclass(frozen=True)
class Ran:
    """A recurrent layer of torch's that was run over all steps at once."""

    cells: tuple[Cell, ...]  # by layer and direction
    directions: int
    inputs: Tensor  # [batch, time, input]
    start: tuple[Tensor, ...]  # [cell, batch, unit] for each state


@dataclass
class Followed:
    """What was seen of one forward pass."""

    scene: Scene
    output: Tensor
    meaning: Meaning | None  # None: it does not depend on the inputs
    visits: list[Visit] = field(default_factory=list)
    ran: list[Ran] = field(default_factory=list)


class Recorder(TorchFunctionMode):
    def __init__(self, scene: Scene) -> None:
        super().__init__()
        self.scene, self.visits, self.ran = scene, list[Visit](), list[Ran]()
        self._meanings: dict[int, Meaning] = {}
        self._kept: list[Tensor] = []  # so that no number of a tensor is given twice
        self._quiet = 0
        self._order: Tensor | None = None  # in which sequences were sorted

    def know(self, tensor: Any, meaning: Any) -> None:
        if isinstance(tensor, Tensor) and meaning is not None:
            self._meanings[id(tensor)] = meaning
            self._kept.append(tensor)
        elif isinstance(tensor, tuple | list) and isinstance(meaning, tuple):
            for one, its in zip(tensor, meaning, strict=False):
                self.know(one, its)

    def meaning(self, given: Any) -> Any:
        """A tensor's meaning, or the tensor itself if it depends on no input; in tuples and lists too."""
        if isinstance(given, Tensor):
            return self._meanings.get(id(given), given)
        if type(given) in (tuple, list):
            return type(given)(self.meaning(one) for one in given)
        return given

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = function(*args, **kwargs)
        if not self._quiet:
            self._quiet += 1
            try:
                self._see(function, args, kwargs, found)
            finally:
                self._quiet -= 1
        return found

    def _see(self, function: Any, args: Any, kwargs: Any, found: Any) -> None:
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = getattr(getattr(function, "__self__", None), "__name__", "")
            if name not in READ:
                return
        given, options = self.meaning(tuple(args)), {key: self.meaning(value) for key, value in kwargs.items()}
        met = [
            value for value in _flat((given, *options.values())) if shapes.is_tracked(value) or isinstance(value, Lost)
        ]
        if name == "sort" and isinstance(found[1], Tensor):
            self._order = found[1]
        if name in KINDS and not is_packed(args[1]):
            self._note_layer(name, *args)
        if not met or name in SILENT or name in MADE:
            return
        if name == "__setitem__":
            self._written(args, given)
            return
        if name == "nonzero" or not all(isinstance(one, OF_TORCH) for one in _flat((found,))):
            if not all(isinstance(value, Count | Mask) for value in met):  # numbers that have left torch
                self.scene.decisions.append(self._at(name))
            return
        self._note_lengths(name, args)
        self.know(found, self._judged(name, given, options, found, met))

    def _judged(self, name: str, given: Any, options: Any, found: Any, met: list[Any]) -> Any:
        lost = next((value for value in met if isinstance(value, Lost)), None)
        if lost is None and torch.is_autocast_enabled(self.scene.like.device.type) and self._is_cast(found):
            lost = Lost(self._at("autocast, which computes in another dtype than the weights"))
        if lost is None:
            try:
                if name not in RULES:
                    raise Unclear(f"torch's {name}")
                return RULES[name](self.scene, found, *given, **options)
            except Unclear as reason:
                lost = Lost(self._at(str(reason)))
            except (TypeError, IndexError, ValueError, AttributeError, KeyError):
                lost = Lost(self._at(f"torch's {name}, used in a way that is not known here"))
        return tuple(lost for _ in found) if isinstance(found, tuple | list) else lost

    def _is_cast(self, found: Any) -> bool:
        made = [one for one in _flat((found,)) if isinstance(one, Tensor) and one.is_floating_point()]
        return any(one.dtype != self.scene.like.dtype for one in made)

    def _written(self, args: Any, given: Any) -> None:
        target, index, value = given
        try:
            self.know(args[0], shapes.filled(self.scene, target, index, value, tuple(args[0].shape)))
        except Unclear as reason:
            self.know(args[0], Lost(self._at(str(reason))))

    def _note_lengths(self, name: str, args: Any) -> None:
        if name == "_pack_padded_sequence":
            lengths, order = args[1], self._order
            if order is not None and len(order) == len(lengths):  # they were sorted before
                lengths = torch.empty_like(lengths).scatter_(0, order, lengths)
            self.scene.lengths = lengths.clone()

    def _note_layer(self, name: str, *args: Any) -> None:
        inputs, hx, flat, biased, layers, _, _, bidirectional, batch_first = args
        count = len(flat) // (layers * (2 if bidirectional else 1))
        cells = [cell_of(name, flat[at : at + count], biased) for at in range(0, len(flat), count)]
        vectors = inputs if batch_first else inputs.transpose(0, 1)
        start = (hx,) if isinstance(hx, Tensor) else tuple(hx)
        self.ran.append(Ran(tuple(cells), 2 if bidirectional else 1, vectors, start))

    def _at(self, what: str) -> str:
        return f"{what} in {self.scene.where!r}" if self.scene.where else what

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        before, self.scene.where = self.scene.where, name
        try:
            yield
        finally:
            self.scene.where = before


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _flat(value)
        else:
            yield value


def follow(model: nn.Module, inputs: Tensor, call: Callable[[nn.Module, Tensor], Any], like: Tensor) -> Followed:
    """Run ``model`` once, in eval mode and with nothing left on it, and see what it does."""
    scene = Scene(Graph(), inputs.shape[0], inputs.shape[1], like)
    recorder = Recorder(scene)
    twins: dict[int, nn.Module] = {}
    twin = in_eval(model, twins)
    names = {id(module): name for name, module in model.named_modules()}
    for original, made in twins.items():
        if original in names:
            _watch(recorder, made, names[original], twin)
    given = inputs.clone()
    if given.is_floating_point():
        scene.leaf = scene.node("input", (), given.shape[-1])
        recorder.know(given, Series(scene.leaf, ("B", "T", "F")))
    else:
        recorder.know(given, Tokens(("B", "T")))
    with torch.no_grad(), recorder:
        answer = call(twin, given)
    output = tensor_of(answer)
    if output is None:
        raise UsageError(
            f"'model' ({type(model).__name__}) must give a tensor, (tensor, ...) or an object with 'logits'. Got "
            f"{type(answer).__name__}. Say how: rote.adapt(model, example=..., call=lambda model, x: ...)."
        )
    meaning = recorder.meaning(output)
    return Followed(scene, output, None if isinstance(meaning, Tensor) else meaning, recorder.visits, recorder.ran)


def _watch(recorder: Recorder, twin: nn.Module, name: str, whole: nn.Module) -> None:
    """Let a twin, a part of ``whole``, tell when it is called. It is ours: nothing is set on the user's module."""
    if isinstance(twin, torch.jit.ScriptModule):
        return
    forward = twin.forward
    known = cells_in(twin, whole)

    @functools.wraps(forward)
    def watched(*args: Any, **options: Any) -> Any:
        with recorder.inside(name):
            if known is None:
                found = forward(*args, **options)
            else:
                found = _as_known(recorder, twin, known, forward, args, options)
        output = tensor_of(found) if not isinstance(found, Tensor) else found
        if output is not None:
            meaning = recorder.meaning(output)
            meaning = None if isinstance(meaning, Tensor) else meaning
            recorder.visits.append(Visit(name, twin, output, meaning, output._version))
        return found

    twin.__dict__["forward"] = watched


def _as_known(recorder: Recorder, twin: nn.Module, known: Any, forward: Any, args: Any, options: Any) -> Any:
    """A module whose cells are known is not looked into."""
    given = recorder.meaning((*args, *options.values()))
    recorder._quiet += 1
    try:
        found = forward(*args, **options)
    finally:
        recorder._quiet -= 1
    try:
        if any(isinstance(value, Lost) for value in given):
            raise Unclear(next(value.reason for value in given if isinstance(value, Lost)))
        directions = twin.directions if isinstance(twin, Recurrent) else 1
        meanings: Any = recurrent_rules.of_cells(recorder.scene, given[0], known, directions)
    except Unclear as reason:
        meanings = (Lost(recorder._at(str(reason))),) * 2
    recorder.know(found if isinstance(found, Tensor) else found[0], meanings[0])
    return found
