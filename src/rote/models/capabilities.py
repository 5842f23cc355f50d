"""What can be done with a given model, and what to say of a model that an analysis cannot take.

A module may say itself what it can do, in a class attribute ``capabilities``, and in ``instead`` what to give in its
place where it lacks something. Of others it is told by what they are: see ``rote.models.architecture``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from rote.errors import UsageError
from rote.models.architecture import EVERYTHING, Capability
from rote.models.sequence import SequenceModel

MEANS: dict[Capability, str] = {
    "logits": "outputs for tokens or vectors, by calling it",
    "states": "a method layer_states that gives its states at every step",
    "arithmetic": "steps that are written in Rote's arithmetic",
}
ADAPT = "rote.adapt(recurrent=..., embedding=..., readout=..., like=...)"
INSTEAD: dict[Capability, str] = {
    "logits": "Give a function from tokens [batch, time] to outputs [batch, step, output].",
    "states": f"Wrap the modules of a recurrent model: {ADAPT}; or give yours a method layer_states(tokens) -> "
    "{layer: {name: [batch, time, unit]}}. rote.connectivity works through any forward pass.",
    "arithmetic": f"Wrap the modules of a recurrent model: {ADAPT}. Of any other model, rote.connectivity shows "
    "through its forward pass which inputs move which outputs.",
}


@runtime_checkable
class WithStates(Protocol):
    """A model with the capability "states" that is not written in the arithmetic."""

    def __call__(self, inputs: Tensor, /) -> Any:
        """Outputs [batch, time, output]."""

    def layer_states(self, inputs: Tensor, /) -> Mapping[int, Mapping[str, Tensor]]:
        """By layer, counted from 0, and by name, "hidden" among them: the states [batch, time, unit]."""


def capabilities_of(model: object) -> tuple[Capability, ...]:
    """What can be done with a model; nothing with what is no model."""
    declared: tuple[Capability, ...] | None = getattr(model, "capabilities", None)
    if isinstance(model, SequenceModel):
        return EVERYTHING
    if declared is not None:
        return tuple(declared)
    if not callable(model):
        return ()
    return ("logits", "states") if isinstance(model, WithStates) else ("logits",)


def require(analysis: str, model: object, needed: Capability) -> None:
    """Refuse a model that lacks what an analysis needs, and say what to do instead."""
    has = capabilities_of(model)
    if needed in has:
        return
    if not callable(model):
        raise UsageError(f"'model' must be a Rote model. Got {type(model).__name__}. Wrap your modules: {ADAPT}.")
    name = getattr(model, "__name__", type(model).__name__)
    only = f"only {' and '.join(map(repr, has))}" if has else "neither that nor anything else"
    instead = getattr(model, "instead", None) or INSTEAD[needed]
    raise UsageError(f"rote.{analysis} needs {needed!r} of a model: {MEANS[needed]}. {name} has {only}. {instead}")
