"""What torch's operations on series mean, by the name of the operation.

A rule gets the scene, the arguments with tensors replaced by their meaning where they have one, and what the operation
gave; it returns the meaning of that. ``Unclear`` says that the arithmetic has nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rote.models.traced import shapes
from rote.models.traced.graph import Node
from rote.models.traced.meaning import (
    At,
    Count,
    Mask,
    Scene,
    Series,
    Tokens,
    Unclear,
    same_place,
    together,
)

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}

UNARY: dict[str, Callable[..., Tensor]] = {
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "exp": torch.exp, "softplus": functional.softplus,
    "logsigmoid": functional.logsigmoid, "silu": functional.silu, "gelu": functional.gelu, "square": torch.square,
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "elu": functional.elu, "selu": functional.selu, "celu": functional.celu,
    "leaky_relu": functional.leaky_relu, "relu6": functional.relu6, "mish": functional.mish, "sin": torch.sin,
    "hardtanh": functional.hardtanh, "hardsigmoid": functional.hardsigmoid, "hardswish": functional.hardswish,
    "cos": torch.cos, "abs": torch.abs, "log": torch.log, "log1p": torch.log1p, "expm1": torch.expm1,
    "clamp": torch.clamp, "softsign": functional.softsign, "erf": torch.erf, "reciprocal": torch.reciprocal,
}  # fmt: skip
SAME = (
    "contiguous", "clone", "detach", "requires_grad_",
    "positive", "detach_", "cpu", "data", "alias", "identity",
)  # fmt: skip
GATES = (torch.sigmoid, functional.silu, functional.gelu, functional.softplus, functional.hardsigmoid)


def rule(*names: str) -> Callable[[Rule], Rule]:
    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


def value_of(given: Any) -> Series | At:
    if isinstance(given, Tensor):
        raise Unclear("inputs that do not come from the sequence")
    if not isinstance(given, Series | At):
        raise Unclear(f"{type(given).__name__.lower()} used as numbers")
    return given


def vector(scene: Scene, number: Any, size: int) -> Tensor:
    return scene.like.new_full((size,), float(number))


def apply(scene: Scene, given: Any, function: Callable[..., Tensor], **options: Any) -> Any:
    value = value_of(given)
    options = {name: option for name, option in options.items() if name != "inplace"}
    if not options:
        return same_place(value, scene.node("apply", (value.node,), value.node.size, options=(function,)))
    key = (function, tuple(sorted(options.items())))
    made = scene.functions.setdefault(key, partial(function, **options))
    return same_place(value, scene.node("apply", (value.node,), value.node.size, options=(made,)))


@rule("linear")
def linear(scene: Scene, found: Tensor, given: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    value = value_of(given)
    if value.axes[-1] != "F" or not isinstance(weight, Tensor):
        raise Unclear("a linear map over another axis than that of the units")
    return same_place(value, scene.node("linear", (value.node,), len(weight), weight, bias))


@rule("matmul", "mm", "bmm", "__matmul__")
def matmul(scene: Scene, found: Tensor, given: Any, weight: Any) -> Any:
    if not isinstance(weight, Tensor) or weight.dim() != 2:
        raise Unclear("a product of two values of the sequence")
    return linear(scene, found, given, weight.T)


@rule("addmm")
def addmm(
    scene: Scene, found: Tensor, bias: Tensor, given: Any, weight: Tensor, *, beta: float = 1, alpha: float = 1
) -> Any:
    if (beta, alpha) != (1, 1):
        raise Unclear("addmm with factors")
    return linear(scene, found, given, weight.T, bias)


@rule("embedding")
def embedding(
    scene: Scene, found: Tensor, tokens: Any, weight: Tensor, padding_idx: int | None = None,
    max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if not isinstance(tokens, Tokens):
        raise Unclear("a look-up of something that is not the tokens")
    options = {"weight": weight, "padding_idx": padding_idx, "max_norm": max_norm, "norm_type": norm_type}
    return _leaf(scene, options, weight.shape[1], tokens)


def _leaf(scene: Scene, options: dict[str, Any], size: int, tokens: Tokens) -> Any:
    if scene.embedding is not None and scene.embedding["weight"] is not options["weight"]:
        scene.tables.append(scene.where)
        raise Unclear("tokens that are looked up in two tables")
    if scene.leaf is None:
        scene.leaf, scene.embedding = scene.node("input", (), size), options
        scene.tables.append(scene.where)
    axes = (*tokens.axes, "F")
    return Series(scene.leaf, axes) if tokens.time is None else At(scene.leaf, tokens.time, axes)


@rule("one_hot")
def one_hot(scene: Scene, found: Tensor, tokens: Any, num_classes: int = -1) -> Any:
    if not isinstance(tokens, Tokens) or num_classes < 1:
        raise Unclear("one_hot without a number of classes")
    known = scene.embedding
    table = known["weight"] if known is not None else torch.eye(num_classes).to(scene.like)
    return _leaf(
        scene,
        {"weight": table, "padding_idx": None, "max_norm": None, "norm_type": 2.0},
        num_classes,
        tokens,
    )


@rule("add", "__add__", "__radd__", "__iadd__", "add_")
def add(scene: Scene, found: Tensor, first: Any, second: Any, *, alpha: float = 1) -> Any:
    return _sum(scene, first, second, alpha, found)


@rule("sub", "__sub__", "subtract", "__isub__", "sub_")
def sub(scene: Scene, found: Tensor, first: Any, second: Any, *, alpha: float = 1) -> Any:
    return _sum(scene, first, second, -alpha, found)


@rule("rsub", "__rsub__")
def rsub(scene: Scene, found: Tensor, first: Any, second: Any) -> Any:
    return _sum(scene, scaled(scene, value_of(first), -1.0), second, 1, found)


@rule("neg", "__neg__", "negative")
def neg(scene: Scene, found: Tensor, given: Any) -> Any:
    return scaled(scene, value_of(given), -1.0)


def _sum(scene: Scene, first: Any, second: Any, alpha: float, found: Tensor) -> Any:
    if isinstance(first, Count) and isinstance(second, int):
        return Count(first.axes, first.less - int(alpha * second))
    if not isinstance(first, Series | At):  # a constant first
        if not isinstance(second, Series | At):
            raise Unclear("a sum of tokens")
        return _sum(scene, second if alpha == 1 else scaled(scene, second, alpha), first, 1, found)
    if isinstance(second, Series | At):
        second = second if alpha in (1, -1) else scaled(scene, second, alpha)
        if first.axes != second.axes:
            raise Unclear("a sum of values of different form")
        one, two = together(scene, [first, second])
        if one.node.size != two.node.size:
            one, two = (spread(scene, value, max(one.node.size, two.node.size)) for value in (one, two))
        op = "subtract" if alpha == -1 else "add"
        return same_place(one, scene.node(op, (one.node, two.node), one.node.size))
    return _shifted(scene, first, second, alpha)


def _shifted(scene: Scene, value: Series | At, constant: Any, alpha: float) -> Any:
    steps: Tensor | None = None
    if isinstance(constant, Tensor):
        found, steps = shapes.constant_over(scene, value, constant)
        over = found if found is not None else steps
    else:
        over = vector(scene, constant, value.node.size)
    assert over is not None
    over = over if alpha == 1 else over * alpha
    value = spread(scene, value, over.shape[-1])
    if steps is None:
        return same_place(value, scene.node("shift", (value.node,), value.node.size, over))
    if scene.leaf is None or not only_scaled(value.node, scene.leaf) or scene.embedding is None:
        raise Unclear("positions that are added to something else than the embedding")
    if scene.positions is not None and not torch.equal(scene.positions, over):
        raise Unclear("positions that are added twice")
    scene.positions = over.to(scene.like)
    return same_place(value, scene.node("positions", (value.node,), value.node.size))


def only_scaled(node: Node, leaf: Node) -> bool:
    while node is not leaf and node.op == "scale":
        (node,) = node.inputs
    return node is leaf


def spread(scene: Scene, value: Series | At, size: int) -> Series | At:
    if value.node.size == size:
        return value
    if value.node.size != 1:
        raise Unclear("values of different size")
    return same_place(value, scene.node("spread", (value.node,), size))


def scaled(scene: Scene, value: Series | At, factor: Any) -> Series | At:
    if isinstance(factor, Tensor):
        over, steps = shapes.constant_over(scene, value, factor)
        if steps is not None or over is None:
            raise Unclear("a factor that differs from step to step")
    else:
        over = vector(scene, factor, value.node.size)
    if bool((over == 1).all()) and not isinstance(factor, torch.nn.Parameter):
        return value
    value = spread(scene, value, len(over))
    return same_place(value, scene.node("scale", (value.node,), value.node.size, over))


@rule("mul", "__mul__", "__rmul__", "multiply", "__imul__", "mul_")
def mul(scene: Scene, found: Tensor, first: Any, second: Any) -> Any:
    if isinstance(first, Mask) or isinstance(second, Mask):  # what does not count is left to 'lengths'
        return value_of(second if isinstance(first, Mask) else first)
    if not isinstance(second, Series | At):
        return scaled(scene, value_of(first), second)
    if not isinstance(first, Series | At):
        return scaled(scene, second, first)
    if first.axes != second.axes:
        raise Unclear("a product of values of different form")
    one, two = together(scene, [first, second])
    gate, source = (two, one) if _is_gate(two.node, one.node) else (one, two)
    eps = _written_norm(gate.node, source.node)
    if eps is not None:
        return norm(scene, source, "rms", eps, None, None, 1)
    return same_place(source, scene.node("product", (gate.node, source.node), source.node.size))


def _written_norm(gate: Node, source: Node) -> float | None:
    """The eps of a root mean square norm that was written by hand: x * rsqrt(mean(x^2) + eps)."""
    wanted: tuple[tuple[str, Any], ...] = (
        ("apply", torch.rsqrt),
        ("shift", None),
        ("mean", None),
        ("apply", torch.square),
    )
    eps = None
    for op, function in wanted:
        if gate.op != op or (function is not None and gate.options[0] is not function):
            return None
        if op == "shift":
            (shift,) = gate.weights
            assert shift is not None
            eps = float(shift)
        if op == "mean" and gate.options[0] != 1 / source.size:
            return None
        (gate,) = gate.inputs
    return eps if gate is source else None


def _is_gate(node: Node, other: Node) -> bool:
    """One number for all units is one, else what was squashed."""
    if node.size != other.size:
        return node.size < other.size
    return node.op == "apply" and node.options[0] in GATES


def norm(scene: Scene, given: Any, kind: str, eps: float, weight: Any, bias: Any, axes: int) -> Any:
    value = value_of(given)
    if axes != 1 or (kind != "length" and value.axes[-1] != "F"):
        raise Unclear("a norm over more than the units")
    size = value.node.size
    return same_place(value, scene.node("norm", (value.node,), size, weight, bias, options=(kind, float(eps))))


@rule("pow", "__pow__", "pow_")
def power(scene: Scene, found: Tensor, given: Any, exponent: Any) -> Any:
    if not isinstance(exponent, int | float):
        raise Unclear("a power that is a value")
    return apply(scene, given, torch.square) if exponent == 2 else apply(scene, given, torch.pow, exponent=exponent)


@rule("glu")
def glu(scene: Scene, found: Tensor, given: Any, dim: int = -1) -> Any:
    value = value_of(given)
    half = value.node.size // 2
    one, two = shapes.piece(scene, value, 0, half), shapes.piece(scene, value, half, half)
    return mul(scene, found, one, apply(scene, two, torch.sigmoid))


def _same(scene: Scene, found: Any, given: Any, *more: Any, **options: Any) -> Any:
    return given


for name in SAME:
    RULES[name] = _same
for name, function in UNARY.items():

    def _unary(scene: Scene, found: Tensor, given: Any, *, function: Any = function, **options: Any) -> Any:
        return apply(scene, given, function, **options)

    RULES[name] = RULES[f"{name}_"] = _unary


@rule("clamp", "clip", "clamp_min")
def clamp(scene: Scene, found: Tensor, given: Any, min: Any = None, max: Any = None) -> Any:
    if isinstance(given, Count | Mask):
        return given
    return apply(scene, given, torch.clamp, min=min, max=max)


@rule("leaky_relu", "leaky_relu_")
def leaky_relu(scene: Scene, found: Tensor, given: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    return apply(scene, given, functional.leaky_relu, negative_slope=negative_slope)


@rule("elu", "elu_")
def elu(scene: Scene, found: Tensor, given: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    return apply(scene, given, functional.elu, alpha=alpha)


@rule("softplus")
def softplus(scene: Scene, found: Tensor, given: Any, beta: float = 1, threshold: float = 20) -> Any:
    return apply(
        scene,
        given,
        functional.softplus,
        **({} if (beta, threshold) == (1, 20) else {"beta": beta, "threshold": threshold}),
    )


@rule("hardtanh", "hardtanh_")
def hardtanh(
    scene: Scene, found: Tensor, given: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    return apply(scene, given, functional.hardtanh, min_val=min_val, max_val=max_val)


@rule("prelu")
def prelu(scene: Scene, found: Tensor, given: Any, weight: Tensor) -> Any:
    raise Unclear("prelu, which has weights")
