"""Rules for norms, for dropout, which must not act, and for a softmax at the end. See ``rules``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rote.errors import UsageError
from rote.models.traced.meaning import Scene, Unclear, same_place
from rote.models.traced.rules import norm, rule, value_of


@rule("layer_norm")
def layer_norm(
    scene: Scene,
    found: Tensor,
    given: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    return norm(scene, given, "layer", eps, weight, bias, len(normalized_shape))


@rule("rms_norm")
def rms_norm(
    scene: Scene, found: Tensor, given: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    return norm(
        scene,
        given,
        "rms",
        torch.finfo(scene.like.dtype).eps if eps is None else eps,
        weight,
        None,
        len(normalized_shape),
    )


@rule("normalize")
def normalize(scene: Scene, found: Tensor, given: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Any:
    value = value_of(given)
    if p != 2 or value.axes[dim] != "F":
        raise Unclear("a normalization over another axis than that of the units")
    return norm(scene, given, "length", eps, None, None, 1)


@rule("batch_norm")
def batch_norm(
    scene: Scene, found: Tensor, given: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    value = value_of(given)
    if training or running_mean is None or value.axes[1] != "F":
        raise Unclear("a batch norm that takes its mean from the batch")
    scale = torch.rsqrt(running_var + eps) * (1 if weight is None else weight)
    shift = (0 if bias is None else bias) - running_mean * scale
    node = scene.node("scale", (value.node,), value.node.size, scale.detach())
    return same_place(value, scene.node("shift", (node,), node.size, shift.detach()))


@rule("softmax", "log_softmax")
def softmax(scene: Scene, found: Tensor, given: Any, dim: int | None = None, *more: Any, **options: Any) -> Any:
    """Only at the very end, where the logits before it are what is looked at."""
    value = value_of(given)
    if dim is None or value.axes[dim] != "F":
        raise Unclear("a softmax over steps")
    kind = "log_softmax" if bool((found < 0).any()) else "softmax"
    return same_place(value, scene.node(kind, (value.node,), value.node.size))


@rule("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d")
def dropout(
    scene: Scene, found: Tensor, given: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    if training and p > 0:
        raise UsageError(
            f"Dropout acts in eval mode in {scene.where or 'the forward'!r}: what the model computes is random. Give "
            "torch.nn.functional.dropout(x, p, training=self.training), or use nn.Dropout."
        )
    return given
