"""One contract for every explanation of an output by its inputs: a number for each position.

    @methods.register("my_saliency")
    def my_saliency(model, tokens, at, target):     # at: a step, target: an output for each sequence
        '''One line for `rote list methods`.'''
        vectors = model.embed(tokens).detach().requires_grad_()
        hidden, _ = model.recurrent(vectors)
        chosen = model.read(hidden[:, at]).gather(1, target[:, None])
        return (torch.autograd.grad(chosen.sum(), vectors)[0] * vectors).sum(-1)     # [batch, time]

Sequences come without padding. A method whose numbers have no sign says so with ``@unsigned``; one that can also tell
what sets of positions do together is given the function that does with ``@with_sets(...)``; one that takes the model
apart says ``@needs("arithmetic")``. ``rote.court.judge`` tells
what a method is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.explained import Explained, explain
from rote.analyses.forward_pass import Forward
from rote.analyses.inputs import shown
from rote.analyses.result import OverTokens, analyses, needs, rows_of
from rote.cells.adapt import unwrapped
from rote.errors import UsageError
from rote.models.capabilities import require
from rote.models.sequence import SequenceModel
from rote.registry import Registry
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

Method = Callable[[Any, Tensor, int, Tensor], Tensor]  # model, tokens, step, targets [batch] -> [batch, time]
Sets = Callable[[Any, Tensor, int, Tensor, Tensor], Tensor]  # ... and masks [batch, set, time] -> [batch, set]
M = TypeVar("M", bound=Callable[..., Any])

methods: Registry[Method] = Registry("method", "rote.analyses", "methods")


def unsigned(method: M) -> M:
    """Decorator of a method whose numbers are sizes: they neither sum to anything nor have a sign."""
    vars(method)["signed"] = False
    return method


def with_sets(sets: Sets) -> Callable[[M], M]:
    """Decorator of a method that also tells what sets of positions do."""

    def add(method: M) -> M:
        vars(method)["sets"] = sets
        return method

    return add


def is_signed(method: Method) -> bool:
    return bool(getattr(method, "signed", True))


def sets_by(method: Method) -> Sets | None:
    found: Sets | None = getattr(method, "sets", None)
    return found


@dataclass(frozen=True, repr=False)
class Attribution(OverTokens):
    """What each input adds to one output, by one method."""

    values: Float[Tensor, "batch time"]
    total: Float[Tensor, " batch"]  # the explained output less that on inputs of zero
    mask: Bool[Tensor, "batch time"]
    targets: Int[Tensor, " batch"]
    steps: Int[Tensor, " batch"]  # of the output
    method: str
    signed: bool  # whether the numbers can be summed

    @property
    def sum_error(self) -> Float[Tensor, " batch"]:
        """How far the numbers are from summing to ``total``; NaN where they are only sizes."""
        missing = (self.values.sum(1) - self.total).abs()
        return missing if self.signed else torch.full_like(missing, torch.nan)

    def to_table(self) -> Table:
        columns = (
            Column("batch", role="label"),
            Column("time", "step of the input", "label"),
            Column("value", f"by {self.method}: {'what the input adds' if self.signed else 'how much it matters'}"),
        )
        rows = rows_of(self.values, ("batch", "time"), "value", self.mask)
        return Table.make("attribution", f"What each input does, by {self.method}", columns, rows, figure="attribution")


@analyses.register("attribute")
@needs("logits")
def attribute(
    model: SequenceModel | Forward,
    tokens: Tensor | PackedSequence,
    method: str | Method = "decomposition",
    at: int = -1,
    target: int | Tensor | None = None,
    *,
    lengths: Any = None,
    embedding: nn.Module | None = None,
) -> Attribution:
    """What each input adds to an output, by any method: one number for every position.

    - method: a name (``rote.analyses.methods`` lists them: decomposition, two, shapley, integrated_gradients, deeplift,
      lrp, gradient_input, connectivity, occlusion and others), or a function of one's own with the same arguments.
    - at: the step of the output; a negative one counts from the end of each sequence.
    - target: which output; by default the model's own choice.
    - embedding: of a model that was not adapted, the module that looks up its tokens.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 5, batch_first=True), readout=torch.nn.Linear(5, 2))
    >>> found = rote.attribute(model, torch.randn(1, 6, 3), "deeplift")
    >>> found.values.shape, bool(found.sum_error.max() < 1e-5)  # all of the output is shared out
    (torch.Size([1, 6]), True)
    """
    name, function = (method, methods[method]) if isinstance(method, str) else (_name(method), method)
    require("attribute", unwrapped(model), getattr(function, "needs", "logits"))
    explained = explain("attribute", model, tokens, at, target, lengths, embedding)
    given = explained.vectors if explained.tokens is None else explained.tokens
    known = name in methods and methods[name] is function
    asked: Any = explained if known and not isinstance(model, SequenceModel) else model  # our methods take either
    values = torch.zeros_like(explained.mask, dtype=explained.vectors.dtype)
    counts = explained.mask.sum(1)
    for time in counts.unique().tolist():
        rows = (counts == time).nonzero().flatten()
        step = int(explained.steps[rows[0]])
        values[rows, :time] = checked(name, function, asked, given[rows, :time], step, explained.targets[rows])
    kept = torch.stack([explained.mask, torch.zeros_like(explained.mask)], 1)
    whole, empty = explained.values(kept, torch.zeros_like(explained.vectors[:1, :1])).unbind(1)
    return Attribution(
        values, whole - empty, explained.mask, explained.targets, explained.steps, name, is_signed(function),
        tokens=explained.tokens,
    )  # fmt: skip


def checked(name: str, method: Method, model: Any, given: Tensor, at: int, targets: Tensor) -> Tensor:
    """What a method gives, if it can be what it should be."""
    with torch.inference_mode(False):
        found = method(model, given, at, targets)
    batch, time = given.shape[:2]
    if not isinstance(found, Tensor) or found.shape != (batch, time):
        raise UsageError(f"The method {name!r} must give numbers [batch={batch}, time={time}]. Got {shown(found)}.")
    found = found.detach()
    if not bool(torch.isfinite(found).all()):
        row, step = (~torch.isfinite(found)).nonzero()[0].tolist()
        raise UsageError(f"The method {name!r} gives {found[row, step]:g} at step {step} of sequence {row}.")
    return found


def explained_by(model: Any, tokens: Tensor, at: int, target: Tensor) -> Explained:
    """For methods through forward passes and gradients: the output that is asked about."""
    if isinstance(model, Explained):
        return model
    return explain("attribute", model, tokens, at, target)


def _name(method: Any) -> str:
    if not callable(method):
        raise UsageError(f"'method' must be a name or a function. Got {type(method).__name__}.")
    return str(getattr(method, "__name__", type(method).__name__))
