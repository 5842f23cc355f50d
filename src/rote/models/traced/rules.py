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

from rote.errors import UsageError
from rote.models.traced import shapes
from rote.models.traced.graph import Node
from rote.models.traced.meaning import At, Count, Mask, Meaning, Scene, Series, Several, Tokens, Unclear, same_place, together
from rote.models.traced.memories import MaxCell, MeanCell, SumCell

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


def apply(scene: Scene, given: Any, function: Callable[..., Tensor], **options: Any) -> Meaning:
    value = value_of(given)
    options = {name: option for name, option in options.items() if name != "inplace"}
    if not options:
        return same_place(value, scene.node("apply", (value.node,), value.node.size, options=(function,)))
    key = (function, tuple(sorted(options.items())))
    made = scene.functions.setdefault(key, partial(function, **options))
    return same_place(value, scene.node("apply", (value.node,), value.node.size, options=(made,)))


@rule("linear")
def linear(scene: Scene, found: Tensor, given: Any, weight: Tensor, bias: Tensor | None = None) -> Meaning:
    value = value_of(given)
    if value.axes[-1] != "F" or not isinstance(weight, Tensor):
        raise Unclear("a linear map over another axis than that of the units")
    return same_place(value, scene.node("linear", (value.node,), len(weight), weight, bias))


@rule("matmul", "mm", "bmm", "__matmul__")
def matmul(scene: Scene, found: Tensor, given: Any, weight: Any) -> Meaning:
    if not isinstance(weight, Tensor) or weight.dim() != 2:
        raise Unclear("a product of two values of the sequence")
    return linear(scene, found, given, weight.T)


@rule("addmm")
def addmm(scene: Scene, found: Tensor, bias: Tensor, given: Any, weight: Tensor, *, beta: float = 1, alpha: float = 1) -> Meaning:
    if (beta, alpha) != (1, 1):
        raise Unclear("addmm with factors")
    return linear(scene, found, given, weight.T, bias)


@rule("embedding")
def embedding(
    scene: Scene, found: Tensor, tokens: Any, weight: Tensor, padding_idx: int | None = None,
    max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Meaning:  # fmt: skip
    if not isinstance(tokens, Tokens):
        raise Unclear("a look-up of something that is not the tokens")
    options = {"weight": weight, "padding_idx": padding_idx, "max_norm": max_norm, "norm_type": norm_type}
    return _leaf(scene, options, weight.shape[1], (*tokens.axes, "F"))


def _leaf(scene: Scene, options: dict[str, Any], size: int, axes: tuple[str, ...]) -> Meaning:
    if scene.embedding is not None and scene.embedding["weight"] is not options["weight"]:
        raise Unclear("tokens that are looked up in two tables")
    if scene.leaf is None:
        scene.leaf, scene.embedding = scene.node("input", (), size), options
    return Series(scene.leaf, axes)


@rule("one_hot")
def one_hot(scene: Scene, found: Tensor, tokens: Any, num_classes: int = -1) -> Meaning:
    if not isinstance(tokens, Tokens) or num_classes < 1:
        raise Unclear("one_hot without a number of classes")
    known = scene.embedding
    table = known["weight"] if known is not None else torch.eye(num_classes).to(scene.like)
    return _leaf(scene, {"weight": table, "padding_idx": None, "max_norm": None, "norm_type": 2.0}, num_classes, (*tokens.axes, "F"))


@rule("add", "__add__", "__radd__", "__iadd__", "add_")
def add(scene: Scene, found: Tensor, first: Any, second: Any, *, alpha: float = 1) -> Meaning:
    return _sum(scene, first, second, alpha, found)


@rule("sub", "__sub__", "subtract", "__isub__", "sub_")
def sub(scene: Scene, found: Tensor, first: Any, second: Any, *, alpha: float = 1) -> Meaning:
    return _sum(scene, first, second, -alpha, found)


@rule("rsub", "__rsub__")
def rsub(scene: Scene, found: Tensor, first: Any, second: Any) -> Meaning:
    return _sum(scene, scaled(scene, value_of(first), -1.0), second, 1, found)


@rule("neg", "__neg__", "negative")
def neg(scene: Scene, found: Tensor, given: Any) -> Meaning:
    return scaled(scene, value_of(given), -1.0)


def _sum(scene: Scene, first: Any, second: Any, alpha: float, found: Tensor) -> Meaning:
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


def _shifted(scene: Scene, value: Series | At, constant: Any, alpha: float) -> Meaning:
    if not isinstance(constant, Tensor):
        over, steps = vector(scene, constant, value.node.size), None
    else:
        found, steps = shapes.constant_over(scene, value, constant)
        over = found if found is not None else steps
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
def mul(scene: Scene, found: Tensor, first: Any, second: Any) -> Meaning:
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
    wanted: tuple[tuple[str, Any], ...] = (("apply", torch.rsqrt), ("shift", None), ("mean", None), ("apply", torch.square))
    eps = None
    for op, function in wanted:
        if gate.op != op or (function is not None and gate.options[0] is not function):
            return None
        if op == "shift":
            eps = float(gate.weights[0])  # type: ignore[arg-type]
        if op == "mean" and gate.options[0] != 1 / source.size:
            return None
        (gate,) = gate.inputs
    return eps if gate is source else None


def _is_gate(node: Node, other: Node) -> bool:
    """One number for all units is one, else what was squashed."""
    if node.size != other.size:
        return node.size < other.size
    return node.op == "apply" and node.options[0] in GATES


@rule("div", "__truediv__", "true_divide", "divide", "__itruediv__", "div_")
def div(scene: Scene, found: Tensor, first: Any, second: Any, *, rounding_mode: str | None = None) -> Meaning:
    if isinstance(second, Count) and isinstance(first, At) and first.node.is_memory and not second.less:
        if isinstance(first.node.cell, SumCell):  # a sum over the number of steps is their mean
            return at_the_end(scene, first.node.inputs[0], MeanCell, first.axes)
    if rounding_mode is not None or not isinstance(first, Series | At):
        raise Unclear("a division by a value of the sequence")
    if isinstance(second, Series | At):
        inverse = apply(scene, second, torch.reciprocal)
        return mul(scene, found, first, inverse)
    return scaled(scene, first, 1 / second)


@rule("pow", "__pow__", "pow_")
def power(scene: Scene, found: Tensor, given: Any, exponent: Any) -> Meaning:
    if not isinstance(exponent, int | float):
        raise Unclear("a power that is a value")
    return apply(scene, given, torch.square) if exponent == 2 else apply(scene, given, torch.pow, exponent=exponent)


@rule("layer_norm")
def layer_norm(
    scene: Scene, found: Tensor, given: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Meaning:
    return norm(scene, given, "layer", eps, weight, bias, len(normalized_shape))


@rule("rms_norm")
def rms_norm(
    scene: Scene, found: Tensor, given: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Meaning:
    return norm(scene, given, "rms", torch.finfo(scene.like.dtype).eps if eps is None else eps, weight, None, len(normalized_shape))


@rule("normalize")
def normalize(scene: Scene, found: Tensor, given: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Meaning:
    value = value_of(given)
    if p != 2 or value.axes[dim] != "F":
        raise Unclear("a normalization over another axis than that of the units")
    return norm(scene, given, "length", eps, None, None, 1)


def norm(scene: Scene, given: Any, kind: str, eps: float, weight: Any, bias: Any, axes: int) -> Meaning:
    value = value_of(given)
    if axes != 1 or (kind != "length" and value.axes[-1] != "F"):
        raise Unclear("a norm over more than the units")
    size = value.node.size
    return same_place(value, scene.node("norm", (value.node,), size, weight, bias, options=(kind, float(eps))))


@rule("batch_norm")
def batch_norm(
    scene: Scene, found: Tensor, given: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Meaning:  # fmt: skip
    value = value_of(given)
    if training or running_mean is None or value.axes[1] != "F":
        raise Unclear("a batch norm that takes its mean from the batch")
    scale = torch.rsqrt(running_var + eps) * (1 if weight is None else weight)
    shift = (0 if bias is None else bias) - running_mean * scale
    node = scene.node("scale", (value.node,), value.node.size, scale.detach())
    return same_place(value, scene.node("shift", (node,), node.size, shift.detach()))


@rule("softmax", "log_softmax")
def softmax(scene: Scene, found: Tensor, given: Any, dim: int | None = None, *more: Any, **options: Any) -> Meaning:
    """Only at the very end, where the logits before it are what is looked at."""
    value = value_of(given)
    if dim is None or value.axes[dim] != "F":
        raise Unclear("a softmax over steps")
    kind = "log_softmax" if bool((found < 0).any()) else "softmax"
    return same_place(value, scene.node(kind, (value.node,), value.node.size))


@rule("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d")
def dropout(scene: Scene, found: Tensor, given: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    if training and p > 0:
        raise UsageError(
            f"Dropout acts in eval mode in {scene.where or 'the forward'!r}: what the model computes is random. Give "
            "torch.nn.functional.dropout(x, p, training=self.training), or use nn.Dropout."
        )
    return given


@rule("mean")
def mean(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Meaning:
    return _reduced(scene, value_of(given), dim, keepdim, MeanCell, "a mean")


@rule("sum")
def sum_(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Meaning:
    if isinstance(given, Mask):
        places = [dim] if isinstance(dim, int) else list(dim or ())
        if len(places) == 1 and given.axes[places[0]] == "T":
            at = places[0] % len(given.axes)
            return Count(tuple(a for i, a in enumerate(given.axes) if i != at) if not keepdim else given.axes)
    return _reduced(scene, value_of(given), dim, keepdim, SumCell, "a sum")


@rule("amax")
def amax(scene: Scene, found: Tensor, given: Any, dim: Any = None, keepdim: bool = False) -> Meaning:
    return _reduced(scene, value_of(given), dim, keepdim, MaxCell, "a maximum")


@rule("max")
def max_(scene: Scene, found: Any, given: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if not isinstance(dim, int):
        raise Unclear("a maximum over everything")
    return _reduced(scene, value_of(given), dim, keepdim, MaxCell, "a maximum"), None


def _reduced(scene: Scene, value: Series | At, dim: Any, keepdim: bool, kind: type, what: str) -> Meaning:
    places = [dim] if isinstance(dim, int) else list(dim or ())
    if len(places) != 1:
        raise Unclear(f"{what} over several axes")
    at = places[0] % len(value.axes)
    axes = tuple("1" if i == at else a for i, a in enumerate(value.axes) if keepdim or i != at)
    if value.axes[at] == "T" and isinstance(value, Series):
        return at_the_end(scene, value.node, kind, axes)
    if value.axes[at] == "F" and kind is not MaxCell:
        factor = 1 / value.node.size if kind is MeanCell else 1.0
        axes = tuple("F" if i == at else a for i, a in enumerate(value.axes) if keepdim or i != at)
        return same_place(value, scene.node("mean", (value.node,), 1, options=(factor,)), axes)
    raise Unclear(f"{what} over an axis of its own")


def at_the_end(scene: Scene, node: Node, kind: type, axes: tuple[str, ...]) -> At:
    """What has been read from all steps."""
    memory = scene.graph.memory(node, kind(node.size, scene.like), kind, scene.where)
    return At(memory, scene.time - 1, axes)


@rule("adaptive_avg_pool1d")
def average_pool(scene: Scene, found: Tensor, given: Any, output_size: Any) -> Meaning:
    return _pooled(scene, given, output_size, MeanCell)


@rule("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices", "boolean_dispatch", "fn")
def max_pool(scene: Scene, found: Tensor, given: Any, output_size: Any, return_indices: bool = False) -> Meaning:
    return _pooled(scene, given, output_size, MaxCell)


def _pooled(scene: Scene, given: Any, output_size: Any, kind: type) -> Meaning:
    value = value_of(given)
    if output_size not in (1, (1,), [1]) or value.axes != ("B", "F", "T"):
        raise Unclear("a pooling to more than one step")
    return at_the_end(scene, value.node, kind, ("B", "F", "1"))


@rule("ne", "__ne__", "eq", "__eq__", "gt", "__gt__", "not_equal")
def compared(scene: Scene, found: Tensor, given: Any, other: Any) -> Meaning:
    if isinstance(given, Tokens) and not isinstance(other, Tensor | Series | At):
        return Mask(given.axes)
    raise Unclear("a comparison of values")


@rule("masked_fill", "masked_fill_")
def masked_fill(scene: Scene, found: Tensor, given: Any, mask: Any, value: Any) -> Meaning:
    if isinstance(mask, Mask):
        return value_of(given)
    raise Unclear("values that are replaced")


@rule("bitwise_not", "__invert__", "logical_not", "bool", "int")
def same_mask(scene: Scene, found: Tensor, given: Any) -> Meaning:
    if isinstance(given, Mask | Count | Tokens):
        return given
    raise Unclear("values taken as true or false")


@rule("split", "chunk", "split_with_sizes", "tensor_split")
def split(scene: Scene, found: Any, given: Any, sizes: Any, dim: int = 0) -> Any:
    value = value_of(given)
    at = dim % len(value.axes)
    made: list[Meaning] = []
    start = 0
    for part in found:
        size = part.shape[at]
        if value.axes[at] == "F":
            made.append(shapes.piece(scene, value, start, size))
        elif value.axes[at] == "T" and size == 1 and isinstance(value, Series):
            made.append(At(value.node, start, tuple("1" if i == at else a for i, a in enumerate(value.axes))))
        else:
            raise Unclear("pieces of another axis than that of the units")
        start += size
    return tuple(made)


@rule("glu")
def glu(scene: Scene, found: Tensor, given: Any, dim: int = -1) -> Meaning:
    value = value_of(given)
    half = value.node.size // 2
    one, two = shapes.piece(scene, value, 0, half), shapes.piece(scene, value, half, half)
    return mul(scene, found, one, apply(scene, two, torch.sigmoid))


@rule("unbind")
def unbind(scene: Scene, found: Any, given: Any, dim: int = 0) -> Any:
    return tuple(select(scene, None, given, dim, place) for place in range(len(found)))


@rule("select")
def select(scene: Scene, found: Any, given: Any, dim: int, index: int) -> Meaning:
    at = dim % len(given.axes)
    return shapes.indexed(scene, given, (*([slice(None)] * at), index), None)


@rule("index_select")
def index_select(scene: Scene, found: Tensor, given: Any, dim: int, index: Any) -> Meaning:
    """Sequences in another order, as packing sorts them: the same for each of them."""
    if given.axes[dim] == "B" and isinstance(index, Tensor) and torch.equal(index.sort().values, torch.arange(scene.batch)):
        return given  # type: ignore[no-any-return]
    raise Unclear("an index that is a tensor")


@rule("permute")
def permute(scene: Scene, found: Tensor, given: Any, *order: Any) -> Meaning:
    return shapes.permuted(scene, given, order[0] if isinstance(order[0], tuple | list | torch.Size) else order)


@rule("transpose", "swapaxes", "swapdims", "transpose_")
def transpose(scene: Scene, found: Tensor, given: Any, dim0: int, dim1: int) -> Meaning:
    return shapes.transposed(scene, given, dim0, dim1)


@rule("t", "T", "mT")
def turned(scene: Scene, found: Tensor, given: Any) -> Meaning:
    return shapes.transposed(scene, given, -2, -1)


@rule("unsqueeze")
def unsqueeze(scene: Scene, found: Tensor, given: Any, dim: int) -> Meaning:
    return shapes.unsqueezed(scene, given, dim)


@rule("squeeze")
def squeeze(scene: Scene, found: Tensor, given: Any, dim: Any = None) -> Meaning:
    return shapes.squeezed(scene, given, *([] if dim is None else [dim] if isinstance(dim, int) else dim))


@rule("reshape", "view", "flatten", "unflatten", "view_as", "reshape_as", "_reshape_alias")
def reshape(scene: Scene, found: Tensor, given: Any, *shape: Any, **options: Any) -> Meaning:
    return shapes.reshaped(scene, given, found.shape, found)


@rule("expand", "expand_as", "broadcast_to")
def expand(scene: Scene, found: Tensor, given: Any, *shape: Any) -> Meaning:
    return shapes.expanded(scene, given, found)


@rule("cat", "concat", "concatenate")
def cat(scene: Scene, found: Tensor, tensors: Any, dim: int = 0) -> Meaning:
    return shapes.concatenated(scene, tensors, dim)


@rule("hstack")
def hstack(scene: Scene, found: Tensor, tensors: Any) -> Meaning:
    return shapes.concatenated(scene, tensors, 1)


@rule("stack")
def stack(scene: Scene, found: Tensor, tensors: Any, dim: int = 0) -> Meaning:
    return shapes.stacked(scene, tensors, dim)


@rule("__getitem__")
def getitem(scene: Scene, found: Tensor, given: Any, index: Any) -> Meaning:
    return shapes.indexed(scene, given, index, found)


@rule("to", "float", "double", "half", "bfloat16", "type", "type_as", "long")
def cast(scene: Scene, found: Tensor, given: Any, *more: Any, **options: Any) -> Meaning:
    if isinstance(given, Series | At) and not found.is_floating_point():
        raise Unclear("values that are rounded to whole numbers")
    if isinstance(given, Series | At) and torch.finfo(found.dtype).eps > torch.finfo(scene.lowest).eps:
        scene.lowest = found.dtype
    return given  # type: ignore[no-any-return]


def _same(scene: Scene, found: Any, given: Any, *more: Any, **options: Any) -> Any:
    return given


for name in SAME:
    RULES[name] = _same
for name, function in UNARY.items():

    def _unary(scene: Scene, found: Tensor, given: Any, *, function: Any = function, **options: Any) -> Meaning:
        return apply(scene, given, function, **options)

    RULES[name] = RULES[f"{name}_"] = _unary


@rule("clamp", "clip", "clamp_min")
def clamp(scene: Scene, found: Tensor, given: Any, min: Any = None, max: Any = None) -> Meaning:
    if isinstance(given, Count | Mask):
        return given
    return apply(scene, given, torch.clamp, min=min, max=max)


@rule("leaky_relu", "leaky_relu_")
def leaky_relu(scene: Scene, found: Tensor, given: Any, negative_slope: float = 0.01, inplace: bool = False) -> Meaning:
    return apply(scene, given, functional.leaky_relu, negative_slope=negative_slope)


@rule("elu", "elu_")
def elu(scene: Scene, found: Tensor, given: Any, alpha: float = 1.0, inplace: bool = False) -> Meaning:
    return apply(scene, given, functional.elu, alpha=alpha)


@rule("softplus")
def softplus(scene: Scene, found: Tensor, given: Any, beta: float = 1, threshold: float = 20) -> Meaning:
    return apply(scene, given, functional.softplus, **({} if (beta, threshold) == (1, 20) else {"beta": beta, "threshold": threshold}))


@rule("hardtanh", "hardtanh_")
def hardtanh(
    scene: Scene, found: Tensor, given: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Meaning:
    return apply(scene, given, functional.hardtanh, min_val=min_val, max_val=max_val)


@rule("prelu")
def prelu(scene: Scene, found: Tensor, given: Any, weight: Tensor) -> Meaning:
    raise Unclear("prelu, which has weights")


@rule("sort")
def sort(scene: Scene, found: Any, given: Any, *more: Any, **options: Any) -> Any:
    """Of lengths, for packing."""
    if isinstance(given, Count):
        return given, None
    raise Unclear("sorted values")
