"""The methods that ``attribute`` knows by name: rules of decomposition, gradients, erasure and Shapley values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rote.analyses.attribution import Sets, explained_by, methods, unsigned, with_sets
from rote.analyses.connectivity import connectivity as gradient_norms
from rote.analyses.decomposition import decompose
from rote.analyses.inputs import as_model
from rote.analyses.integrated_gradients import integrated
from rote.analyses.result import needs
from rote.analyses.shapley_values import by_permutations
from rote.analyses.slopes import Relevance, Rescaled, gradient_times_input

PERMUTATIONS = 20


def _by_rules(**rules: Any) -> Sets:
    """What the parts of the last state add to the output, for sets of positions."""

    def sets(model: Any, tokens: Tensor, at: int, target: Tensor, masks: Tensor) -> Tensor:
        parts = decompose(model, tokens, masks, at=at, **rules)
        outputs = parts.relevant if parts.readout is None and parts.readout_weight is None else parts.logits()
        return outputs[:, :, 0].gather(2, target[:, None, None].expand(-1, outputs.shape[1], 1))[..., 0]

    return sets


def _each(tokens: Tensor) -> Tensor:
    """Every position by itself, as masks [batch, time, time]."""
    batch, time = tokens.shape[:2]
    return torch.eye(time, dtype=torch.bool, device=tokens.device).expand(batch, -1, -1)


SHAPLEY, MURDOCH, GCD = _by_rules(), _by_rules(rules="murdoch2018"), _by_rules(rules="gcd2019")
SOURCE = _by_rules(rules="murdoch2018", interactions="source")
NEVER = _by_rules(rules="murdoch2018", interactions="source", bias="never")
SHAPLEY_LINEAR = _by_rules(rules="murdoch2018", linearization="shapley")


@methods.register("decomposition")
@needs("arithmetic")
@with_sets(SHAPLEY)
def decomposition(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Contextual decomposition by the default rules: Shapley interactions, a reference run (CD-2)."""
    return SHAPLEY(model, tokens, at, target, _each(tokens))


@methods.register("decomposition_murdoch2018")
@needs("arithmetic")
@with_sets(MURDOCH)
def decomposition_murdoch2018(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Contextual decomposition as first published: interactions are irrelevant."""
    return MURDOCH(model, tokens, at, target, _each(tokens))


@methods.register("decomposition_gcd2019")
@needs("arithmetic")
@with_sets(GCD)
def decomposition_gcd2019(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Generalized contextual decomposition: interactions go with their source, three-way linearization."""
    return GCD(model, tokens, at, target, _each(tokens))


@methods.register("decomposition_source")
@needs("arithmetic")
@with_sets(SOURCE)
def decomposition_source(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Contextual decomposition in which interactions go with their source; biases count at the span."""
    return SOURCE(model, tokens, at, target, _each(tokens))


@methods.register("decomposition_source_never")
@needs("arithmetic")
@with_sets(NEVER)
def decomposition_source_never(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """The same with biases that never count."""
    return NEVER(model, tokens, at, target, _each(tokens))


@methods.register("decomposition_shapley_linear")
@needs("arithmetic")
@with_sets(SHAPLEY_LINEAR)
def decomposition_shapley_linear(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """As first published, with the Shapley value of three parts at every squashing function."""
    return SHAPLEY_LINEAR(model, tokens, at, target, _each(tokens))


def _alone(model: Any, tokens: Tensor, at: int, target: Tensor, masks: Tensor) -> Tensor:
    explained = explained_by(model, tokens, at, target)
    kept = torch.cat([masks, torch.zeros_like(masks[:, :1])], 1)
    values = explained.values(kept, torch.zeros_like(explained.vectors[:1, :1]))
    return values[:, :-1] - values[:, -1:]


def _removed(model: Any, tokens: Tensor, at: int, target: Tensor, masks: Tensor) -> Tensor:
    explained = explained_by(model, tokens, at, target)
    kept = torch.cat([~masks, torch.ones_like(masks[:, :1])], 1)
    values = explained.values(kept, torch.zeros_like(explained.vectors[:1, :1]))
    return values[:, -1:] - values[:, :-1]


def _two(model: Any, tokens: Tensor, at: int, target: Tensor, masks: Tensor) -> Tensor:
    return (_alone(model, tokens, at, target, masks) + _removed(model, tokens, at, target, masks)) / 2


@methods.register("alone")
@with_sets(_alone)
def alone(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """What the output is with one input alone, less that with none: one pass per position."""
    return _alone(model, tokens, at, target, _each(tokens))


@methods.register("occlusion")
@with_sets(_removed)
def occlusion(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """What is lost of the output without an input ("removed"): one pass per position."""
    return _removed(model, tokens, at, target, _each(tokens))


@methods.register("two")
@with_sets(_two)
def two(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """The mean of alone and removed: two passes per position."""
    return _two(model, tokens, at, target, _each(tokens))


@methods.register("shapley")
def shapley(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Shapley values by 20 drawn permutations: a pass per position and permutation."""
    return by_permutations(explained_by(model, tokens, at, target), PERMUTATIONS)


@methods.register("connectivity")
@needs("arithmetic")
@unsigned
def connectivity(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Norm of the gradient at each one-hot input: how far the output moves with it."""
    model = as_model(model, "connectivity")
    targets = target[:, None].expand(tokens.shape[:2]).contiguous()
    return gradient_norms(model, tokens, targets).values[:, at]


@methods.register("gradient_input")
def gradient_input(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Gradient times input."""
    explained = explained_by(model, tokens, at, target)
    gradients, _ = explained.gradients(explained.vectors, explained.every)
    return (gradients * explained.vectors).sum(-1)


@methods.register("integrated_gradients")
def integrated_gradients(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Integrated gradients from zero, refined where the output jumps until they are complete."""
    return integrated(explained_by(model, tokens, at, target))


@methods.register("deeplift")
@needs("arithmetic")
def deeplift(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """DeepLIFT's rescale rule against a run on zeros; of a product each factor gets half of what they do together."""
    return gradient_times_input(as_model(model, "attribute"), tokens, at, target, Rescaled())


@methods.register("lrp")
@needs("arithmetic")
def lrp(model: Any, tokens: Tensor, at: int, target: Tensor) -> Tensor:
    """Layer-wise relevance propagation for gated units: the source of a product takes all, epsilon 0.001."""
    return gradient_times_input(as_model(model, "attribute"), tokens, at, target, Relevance())
