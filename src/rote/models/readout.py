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
