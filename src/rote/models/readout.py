"""Readouts: from a state of the top layer to outputs, step by step. A Linear, or any module of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.cells.adapt import computes_as, refuse_computed
from rote.errors import UsageError
from rote.models.in_eval import in_eval

if TYPE_CHECKING:
    from jaxtyping import Float

# How far two ways of computing the same outputs may differ, relative to the largest of them.
ROUNDING = {torch.float64: 1e-10, torch.float32: 2e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}


class PerStep(nn.Module):
    """A module from [row, feature] to [row, output], for states of any leading shape."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, states: Float[Tensor, "*place unit"]) -> Float[Tensor, "*place output"]:
        rows: Tensor = self.inner(states.reshape(-1, states.shape[-1]))
        return rows.view(*states.shape[:-1], rows.shape[-1])


class Readout(nn.Module):
    """``cap * tanh(linear(norm(state)) / cap)``: what deep networks read behind their last layer.

    - linear: as it is; tied to an embedding, its weight is that tensor.
    - norm: torch's nn.RMSNorm or nn.LayerNorm over the whole state, or None.
    - cap: logits stay between -cap and cap; None for no cap.

    A decomposition takes it apart by the norm of the whole state: the logits of parts sum to those before the cap.
    """

    def __init__(
        self, linear: nn.Linear, norm: nn.RMSNorm | nn.LayerNorm | None = None, cap: float | None = None
    ) -> None:
        super().__init__()
        for name, part, kinds in (("linear", linear, (nn.Linear,)), ("norm", norm, (nn.RMSNorm, nn.LayerNorm))):
            if part is not None and not isinstance(part, kinds):
                said = " or ".join(f"nn.{kind.__name__}" for kind in kinds)
                raise UsageError(f"{name!r} of Readout must be {said}. Got {type(part).__name__}.")
        if norm is not None and tuple(norm.normalized_shape) != (linear.in_features,):
            over = tuple(norm.normalized_shape)
            raise UsageError(f"'norm' must be over the {linear.in_features} features of 'linear'. Got {over}.")
        if cap is not None and not cap > 0:
            raise UsageError(f"'cap' must be above 0, or None. Got {cap}.")
        self.norm, self.linear, self.cap = norm, linear, cap

    def forward(self, states: Float[Tensor, "*place unit"]) -> Float[Tensor, "*place output"]:
        logits: Tensor = self.linear(states if self.norm is None else self.norm(states))
        return logits if self.cap is None else self.cap * torch.tanh(logits / self.cap)

    def inverse_norm(self, states: Float[Tensor, "*place unit"]) -> Float[Tensor, "*place one"]:
        """What ``norm`` multiplies each state with, before its weights."""
        if self.norm is None:
            return torch.ones_like(states[..., :1])
        if isinstance(self.norm, nn.LayerNorm):
            return torch.rsqrt(states.var(-1, correction=0, keepdim=True) + self.norm.eps)
        eps = torch.finfo(states.dtype).eps if self.norm.eps is None else self.norm.eps
        return torch.rsqrt(states.square().mean(-1, keepdim=True) + eps)

    def linear_map(self) -> tuple[Float[Tensor, "output unit"], Float[Tensor, " output"] | None]:
        """Weight and bias with which a state times its ``inverse_norm`` becomes logits, before the cap."""
        weight: Tensor = self.linear.weight
        bias: Tensor | None = self.linear.bias
        if self.norm is None:
            return weight, bias
        shift = self.norm.bias if isinstance(self.norm, nn.LayerNorm) else None
        if shift is not None:
            bias = weight @ shift if bias is None else bias + weight @ shift
        weight = weight if self.norm.weight is None else weight * self.norm.weight
        if isinstance(self.norm, nn.LayerNorm):
            weight = weight - weight.mean(1, keepdim=True)  # its mean is taken from every state
        return weight, bias


def normed_part(module: nn.Module | None) -> Readout | None:
    """The ``Readout`` that is all that a readout does."""
    inner = module.inner if isinstance(module, PerStep) else module
    return inner if type(inner) is Readout else None


def as_readout(module: nn.Module | None) -> nn.Module | None:
    """A plain nn.Linear as it is, anything else as a ``PerStep``."""
    return module if module is None or isinstance(module, PerStep) or linear_part(module) is module else PerStep(module)


def linear_part(module: nn.Module | None) -> nn.Linear | None:
    """The nn.Linear that is all that a readout does in eval mode: itself, or beside dropout in an nn.Sequential."""
    if isinstance(module, PerStep):
        return linear_part(module.inner)
    if isinstance(module, nn.Sequential) and computes_as(module, nn.Sequential):
        acting = [part for part in module if not isinstance(part, nn.Dropout | nn.Identity)]
        return linear_part(acting[0]) if len(acting) == 1 else None
    if not isinstance(module, nn.Linear) or not computes_as(module, nn.Linear):
        return None
    # Weights that are computed from others are not among them; those are not read here, which may change them.
    return module if {"weight", "bias"} <= set(module._parameters) else None


def read(readout: nn.Module | None, states: Float[Tensor, "*place unit"]) -> Float[Tensor, "*place output"]:
    """Outputs as in eval mode, whatever the mode; the states themselves without a readout. Hooks of a Linear are not
    run; those of another module may be part of what it computes."""
    linear = linear_part(readout)
    if linear is not None:
        return nn.functional.linear(states, linear.weight, linear.bias)
    found: Tensor = states if readout is None else in_eval(readout)(states)
    return found


@torch.no_grad()
def check_readout(readout: PerStep, like: Tensor, features: int) -> None:
    """Refuse what is no function of one state: its output at a step must not depend on other steps or sequences."""
    module, kind = in_eval(readout.inner), type(readout.inner).__name__
    for part in module.modules():  # torch.nn.utils' prune, weight_norm and spectral_norm of old
        names = {name.removesuffix("_orig").removesuffix("_g") for name in part._parameters}
        refuse_computed("readout", {name: vars(part)[name] for name in names & set(vars(part))})
    batch, time = 2, 3 if features != 3 else 5  # not as many steps as features: a norm may take the one for the other
    states = torch.randn(batch * time, features, generator=torch.Generator().manual_seed(0)).to(like)
    try:
        together, alone = module(states), [module(state) for state in states.split(1)]
    except Exception as error:
        raise UsageError(
            f"'readout' ({kind}) must take the states of 'recurrent', [row, {features}]. It failed: "
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    wanted = isinstance(together, Tensor) and together.dim() == 2 and len(together) == len(states)
    if not wanted or together.dtype != states.dtype:
        shown = f"{together.dtype} {tuple(together.shape)}" if isinstance(together, Tensor) else type(together).__name__
        raise UsageError(
            f"'readout' ({kind}) must give {states.dtype} [row, output] for [row, {features}]. Got {shown}."
        )
    try:
        whole = module(states.view(batch, time, features)).view_as(together)
    except Exception:  # one that takes only rows is given only rows
        whole = together
    allowed = ROUNDING[states.dtype] * float(together.abs().max())
    changed = max(float((together - other).abs().max()) for other in (torch.cat(alone), whole))
    if not changed <= allowed:
        raise UsageError(
            f"'readout' ({kind}) must act on each step by itself, but its outputs change by {changed:.2g} with what "
            "else is given to it. Leave it out to look at the hidden states, or give the part that acts on one step."
        )
