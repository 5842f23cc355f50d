"""Models with parts cut out or exchanged (source 002, section 5). The given models are never touched.

prune keeps the strongest share of the neurons of each recurrent layer (5.2). The source does not say what strong
means, and no script for it is public; three readings are offered. substitute takes a part from another model and
freezes it (5.1); retraining the rest is the caller's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from rote.analyses.inputs import check_finite
from rote.analyses.neurons import Strength, neuron_layers, strong_neurons
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel

Model = TypeVar("Model", bound=nn.Module)


@torch.inference_mode(False)  # the copy is one to train
def prune(model: Model, keep: float = 0.05, *, by: Strength = "edges", strongest: float = 0.01) -> Model:
    """A copy of the model with only the strongest share of the neurons of each recurrent layer.

    - keep: the share of neurons, at least one in each layer.
    - by: "edges" counts, among the ``strongest`` share of the layer's weights, those that a neuron receives or sends
      (equal counts: by "mean"); "mean" and "max" take the absolute weights that it receives or sends.

    Everything into and out of the other neurons is zero, biases too: from a zero state they stay at zero, also under
    training, in a Rote model and inside nn.RNN, nn.LSTM and nn.GRU. What a module of your own does with their output is
    not known: there the weights that read it stay as they are; pass it through rote.adapt() to have them cut as well.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 20, batch_first=True))
    >>> small = rote.prune(model, keep=0.1)
    >>> int(rote.trace(small, torch.randn(1, 4, 3)).hidden[0].any(1).sum())  # neurons that are ever active
    2
    """
    _check_module("model", model)
    kept = strong_neurons(model, keep, by=by, strongest=strongest)
    pruned = _copied(model)
    shared = _tied(pruned)
    with torch.no_grad():
        for layer in neuron_layers(pruned):
            cut = torch.ones(layer.size, dtype=torch.bool)
            cut[kept[layer.name]] = False
            for name, weight in layer.weights.items():
                weight[cut.repeat(len(weight) // layer.size)] = 0
                if weight.dim() == 2 and name != layer.inputs:
                    weight[:, cut] = 0
            for reader, first in layer.readers:
                if id(reader) not in shared:  # a readout tied to the embedding is also what the network reads
                    reader[:, first : first + layer.size][:, cut] = 0
    return pruned


@torch.inference_mode(False)
def substitute(
    into: Model,
    part: str | Sequence[str],
    source: nn.Module,
    retrain: Callable[[Model, list[str]], None] | None = None,
) -> Model:
    """A copy of a model with a part of another, frozen, and the rest retrained if ``retrain`` is given.

    - part: the beginning of parameter names, such as "embedding", "readout", "recurrent.0.weight_ih" (of the first
      cell), or several of them. Both models must have the same parameters there.
    - retrain: called as ``retrain(copy, names)`` with the names of the frozen parameters (requires_grad=False); trains
      the copy as it likes.

    >>> import torch, rote
    >>> make = lambda: rote.adapt(recurrent=torch.nn.GRU(4, 8), embedding=torch.nn.Embedding(10, 4))
    >>> model, donor = make(), make()
    >>> mixed = rote.substitute(model, "embedding", donor)
    >>> torch.equal(mixed.embedding.weight, donor.embedding.weight), mixed.embedding.weight.requires_grad
    (True, False)
    """
    _check_module("into", into)
    _check_module("source", source)
    made = _copied(into)
    here, there = _tensors(into), _tensors(source)
    names = _of_part(part, here, there)
    for name in names:
        check_finite(f"{name!r} of source", there[name])
    fresh: dict[tuple[int, int], Tensor] = {}
    for name in names:
        # A new tensor, not new values: what is tied to the old one outside the part stays as it was.
        key = (id(here[name]), id(there[name]))
        if key not in fresh:
            values = there[name].detach().to(here[name].device, here[name].dtype, copy=True)
            is_parameter = isinstance(here[name], nn.Parameter)
            fresh[key] = nn.Parameter(values, requires_grad=False) if is_parameter else values
        owner, _, last = name.rpartition(".")
        setattr(made.get_submodule(owner), last, fresh[key])
    if retrain is not None:
        frozen = [name for name in names if isinstance(here[name], nn.Parameter)]
        _retrained(made, frozen, there, retrain)
    return made


def _copied(model: Model) -> Model:
    """To be changed: what was compared with the user's model is no longer it."""
    made = copy.deepcopy(model)
    if isinstance(made, SequenceModel):
        made.origin = ""
    return made


def _retrained(
    made: Model, frozen: list[str], there: dict[str, Tensor], retrain: Callable[[Model, list[str]], object]
) -> None:
    if isinstance(retrain(made, list(frozen)), nn.Module):
        raise UsageError("'retrain' must train the model it is given and return None. It returned another model.")
    after = _tensors(made)
    for name in frozen:
        if not torch.equal(after[name], there[name].to(after[name])):
            raise UsageError(f"'retrain' has changed {name!r}, which was to stay as it is in 'source'.")


def _of_part(part: str | Sequence[str], here: dict[str, Tensor], there: dict[str, Tensor]) -> list[str]:
    names: list[str] = []
    for one in [part] if isinstance(part, str) else part:
        mine = [name for name in here if _belongs(name, one)]
        if not mine:
            known = {spelled for name in here for short in _spellings(name) for spelled in _beginnings(short)}
            raise UnknownNameError("part", one, known, " of 'into'")
        theirs = [name for name in there if _belongs(name, one)]
        for name in mine + theirs:
            if name not in here or name not in there:
                lacking = "source" if name in here else "into"
                raise UsageError(f"The part {one!r} differs between the models: '{lacking}' has no {name!r}.")
            if here[name].shape != there[name].shape:
                raise UsageError(
                    f"The part {one!r} does not fit: {name!r} is {tuple(here[name].shape)} in 'into' and "
                    f"{tuple(there[name].shape)} in 'source'."
                )
        names += [name for name in mine if name not in names]
    if not names:
        raise UsageError("'part' names nothing to substitute. Give the beginning of a parameter's name.")
    return names


def _belongs(name: str, part: str) -> bool:
    return any(spelled == part or spelled.startswith(f"{part}.") for spelled in _spellings(name))


def _spellings(name: str) -> tuple[str, str]:
    """A cell of a rote Recurrent may be named by its number alone: recurrent.0 is recurrent.cells.0."""
    return name, ".".join(piece for piece in name.split(".") if piece != "cells")


def _beginnings(name: str) -> list[str]:
    pieces = name.split(".")
    return [".".join(pieces[: end + 1]) for end in range(len(pieces))]


def _check_module(argument: str, model: object) -> None:
    if not isinstance(model, nn.Module):
        raise UsageError(f"'{argument}' must be an nn.Module. Got {type(model).__name__}.")


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


def _tied(model: nn.Module) -> set[int]:
    every = [id(tensor) for tensor in _tensors(model).values()]
    return {number for number in every if every.count(number) > 1}
