"""Contextual decomposition: which part of a recurrent model's state comes from a phrase.

Murdoch, Liu and Yu 2018, generalized CD (Jumelet, Zuidema and Hupkes 2019) and a Shapley form of our own, for every
cell that is written in the arithmetic of ``rote.cells``: the rules are in ``splitting``. For the GRU and the Nested
LSTM none was published before; docs/decomposition.md derives them. All of them give parts that sum to the state
exactly (or, with a reference run, to the state less that run) and a zero relevant part before the span.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.inputs import as_model, check_initial, check_inputs
from rote.analyses.memory import check_memory
from rote.analyses.plain_autograd import Unchanged
from rote.analyses.propagation import decomposed_states
from rote.analyses.reference_parts import measured_error
from rote.analyses.result import MeasuredLater, OverTokens, analyses, needs, rows_of
from rote.analyses.rules import rules_of, shown
from rote.analyses.span_question import Question, States
from rote.analyses.spans import contiguous_spans, span_masks
from rote.analyses.splitting import Bias, Gates, Interactions, Linearization, refuse_parts
from rote.errors import UsageError
from rote.models.readout import linear_part, normed_part
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

Spans = Sequence[tuple[int, int]] | Tensor
Steps = int | slice | Sequence[int] | None
ALL = slice(None)
SHOWN = 64  # spans that a notebook draws by itself
MEASURED = 16  # spans, at most, whose error the repr measures, and as many sequences as make up to four times that
GROWN = 3.0  # from here on the parts cancel more than they say


@dataclass(frozen=True, repr=False)
class Parts(MeasuredLater, OverTokens):
    """The top layer's state in parts, for each span of positions and at every step (or those of ``at``)."""

    relevant: Float[Tensor, "batch span step unit"]
    hidden: Float[Tensor, "batch step unit"]  # the true state: relevant + irrelevant + reference
    reference: Float[Tensor, "batch step unit"] | None  # the run on inputs of zero; None where there is none
    growth: Float[
        Tensor, "batch span"
    ]  # the largest part of any layer's state over the largest such state, every fourth step
    spans: Bool[Tensor, "batch span time"]  # the positions of each span
    steps: Int[Tensor, " step"]  # the steps of the sequence that ``relevant`` holds
    mask: Bool[Tensor, "batch step"]  # true where there is an input
    rules: str  # by which the parts were made, as options of ``decompose``
    readout_weight: Tensor | None
    readout_bias: Tensor | None
    readout: Callable[[Tensor], Tensor] | None  # one that is not linear; not stored
    error_of: Callable[..., Tensor]
    # What the norm in front of a linear readout multiplies each whole state with; None if there is no such norm.
    readout_scale: Float[Tensor, "batch step one"] | None = None
    version: ClassVar[int] = 3  # with reference, growth, steps and rules
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"readout_weight": ("output", "unit"), "readout_bias": ("output",)}

    @property
    def irrelevant(self) -> Float[Tensor, "batch span step unit"]:
        return self._both[:, None] - self.relevant

    @property
    def _both(self) -> Tensor:
        """The sum of both parts, in the order of operations that leaves exactly zero for the full span."""
        return self.hidden if self.reference is None else self.hidden - self.reference

    @cached_property
    def error(self) -> Float[Tensor, "batch span"]:
        """How far the parts are from those that another recursion gives, which carries both of them in double
        precision, or how far those are from summing to the true state: the largest norm of a difference over all
        steps, relative to the largest part. Measured at the first use, by a slower pass."""
        return self.error_of()

    def logits(
        self, *, bias: bool = False, irrelevant: bool = False, at: slice = ALL
    ) -> Float[Tensor, "batch span step output"]:
        """What the relevant (or the irrelevant) part adds to the logits, at all steps or those of the slice ``at``.

        What comes from no input, the readout of the reference run and the readout's own bias, is added only if asked
        for; with it, the logits of both parts sum to the model's. A ``Readout`` divides every part by the norm of the
        whole state, and its logits are those before the cap. Any other readout that is not linear is split as a
        function of the arithmetic is: the mean of what a part changes as the first and as the last of the two.
        """
        part = self.relevant[:, :, at]
        part = self._both[:, None, at] - part if irrelevant else part
        if self.readout is not None:
            first, last = self._orders(self.readout, part, at)
            logits = (first + last) / 2
        elif self.readout_weight is None:
            raise UsageError(
                "The model has no readout, or one that is not linear and is not stored with the parts. Adapt it with "
                "readout=nn.Linear(...) to get logits."
            )
        else:
            # A copy in one piece: one large product is several times as fast as one per sequence.
            part = part.contiguous() if self.readout_scale is None else part * self.readout_scale[:, None, at]
            logits = nn.functional.linear(part, self.readout_weight)
        return logits + self.baseline_logits(at)[:, None] if bias else logits

    def probabilities(
        self, *, bias: bool = False, irrelevant: bool = False, at: slice = ALL
    ) -> Float[Tensor, "batch span step output"]:
        """What the model would predict from that part alone."""
        return self.logits(bias=bias, irrelevant=irrelevant, at=at).softmax(-1)

    @cached_property
    def readout_error(self) -> Float[Tensor, "batch span"]:
        """How much the split of a readout that is not linear depends on the order of the parts: half the largest
        difference between a part's logits as the first and as the last, over the largest logit. Zero if linear."""
        if self.readout is None:
            return torch.zeros_like(self.growth)
        first, last = self._orders(self.readout, self.relevant, ALL)
        largest = self.readout(self.hidden).abs().amax((-1, -2))[:, None]
        return (first - last).abs().amax((-1, -2)) / 2 / torch.where(largest > 0, largest, 1)

    def _orders(self, readout: Callable[[Tensor], Tensor], part: Tensor, at: slice) -> tuple[Tensor, Tensor]:
        hidden = self.hidden[:, None, at]
        reference = torch.zeros_like(hidden) if self.reference is None else self.reference[:, None, at]
        with torch.no_grad():
            return readout(reference + part) - readout(reference), readout(hidden) - readout(hidden - part)

    def baseline_logits(self, at: slice = ALL) -> Float[Tensor, "batch step output"]:
        """What comes from no input: the readout of the reference run, or the readout's bias where there is none."""
        start = torch.zeros_like(self.hidden[:, at]) if self.reference is None else self.reference[:, at]
        if self.readout is not None:
            with torch.no_grad():
                return self.readout(start)
        assert self.readout_weight is not None
        start = start if self.readout_scale is None else start * self.readout_scale[:, at]
        return nn.functional.linear(start, self.readout_weight, self.readout_bias)

    @property
    def warning(self) -> str:
        """What a reader must know before these parts are believed; empty if nothing."""
        best = "'shapley'" in self.rules and "'reference'" in self.rules
        return growth_warning(
            self.growth, "Look at fewer steps behind the span." if best else 'Choose rules="shapley", the default.'
        )

    def to_table(self) -> Table:
        axes, steps = ("batch", "span", "time"), self.mask[:, None]
        rows = rows_of(self.relevant.norm(dim=-1), axes, "relevant", steps)
        others = rows_of(self.irrelevant.norm(dim=-1), axes, "irrelevant", steps)
        times = self.steps.tolist()
        rows = [row | other | {"time": times[row["time"]]} for row, other in zip(rows, others, strict=True)]
        columns = (
            Column("batch", role="label"),
            Column("span", "index of the span", role="label"),
            Column("time", "step of the output", role="label"),
            Column("relevant", "norm of the part that comes from the span"),
            Column("irrelevant", "norm of the rest"),
        )
        positions = [[span.nonzero().flatten().tolist() for span in row] for row in self.spans]
        return Table.make(
            "decomposition", "What each span contributes to the state", columns, rows, note=self.warning,
            figure="decomposition", details=True, options={"positions": positions},
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._quality()})" + (f"\n{self.warning}" if self.warning else "")

    def _quality(self) -> str:
        batch, spans = self.growth.shape
        every, each = max(1, -(-spans // MEASURED)), max(1, -(-batch * min(spans, MEASURED) // (4 * MEASURED)))
        measured = "error" in self.__dict__ or every == each == 1
        try:
            errors = self.error if measured else self.error_of(slice(None, None, each), slice(None, None, every))
        except UsageError:
            return f"error unknown since the weights have changed, growth={float(self.growth.max()):.2g}"
        sample = "" if measured else f" in {errors.numel()} of {batch * spans} spans"
        return f"error={float(errors.max()):.1e}{sample}, growth={float(self.growth.max()):.2g}"

    def _repr_html_(self) -> str | None:
        """In a notebook: the norms of the parts, unless there are too many spans to be told apart."""
        if self.spans.shape[1] > SHOWN:
            return None
        return f"{self.picture()}<p>{self._quality()}</p>" + (f"<p>{self.warning}</p>" if self.warning else "")

    def _to_tree(self) -> dict[str, Any]:
        return {name: value for name, value in super()._to_tree().items() if name != "readout"}

    @classmethod
    def _from_tree(cls, tree: Mapping[str, Any]) -> Self:
        error = tree["error"]
        fields = {name: value for name, value in tree.items() if name != "error"}
        return cls(**fields, readout=None, error_of=lambda rows=ALL, spans=ALL: error[rows, spans])


@analyses.register("decompose")
@needs("arithmetic")
def decompose(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    spans: Spans,
    *,
    at: Steps = None,
    lengths: Any = None,
    rules: str = "shapley",
    bias: Bias | None = None,
    interactions: Interactions | None = None,
    linearization: Linearization | None = None,
    output_gate: bool | None = None,
    gates: Gates | None = None,
    initial: Any = None,
    initial_relevant: bool = False,
) -> Parts:
    """Split the state at every step into what comes from each span and the rest (contextual decomposition).

    - spans: (start, end) pairs, both inclusive, the same for each sequence; or a bool tensor [batch, span, time].
    - at: the steps whose parts are kept, an index, a slice or several indices; all of them by default.
    - rules: "shapley" (the default; ours) | "murdoch2018" (the first publication) | "gcd2019" (generalized CD). The
      options below change one of them at a time.
    - bias: where what biases alone produce goes: "reference" (apart, as the run on inputs of zero) | "in_span" (to the
      span at its own positions) | "exclusive_end" (the off-by-one of the first public code) | "never".
    - interactions: of a product of a relevant and an irrelevant factor each gets half ("shapley"), the source has it
      ("source"), or it is irrelevant ("relevant").
    - linearization: "bias_first" | "shapley" (over relevant, irrelevant and bias).
    - output_gate: decompose it as well.
    - gates: "parts" (every gate is taken apart; the default) | "whole" (gates are used as they are, and what they act
      on is taken apart: a span then goes through the gates that the whole sequence has set).
    - initial: the states before the first step, by layer and direction or in the form that torch's module takes;
      irrelevant unless ``initial_relevant``.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> parts = rote.decompose(model, torch.tensor([[4, 8, 15, 16, 23]]), spans=[(1, 2), (0, 4)])
    >>> parts.relevant.shape  # batch, span, step, unit
    torch.Size([1, 2, 5, 16])
    >>> bool(parts.relevant[0, 0, 0].any())  # nothing comes from a span before it begins
    False
    >>> bool(parts.error.max() < 1e-5), bool(parts.growth.max() < 3)
    (True, True)
    >>> parts.probabilities(at=slice(-1, None)).shape  # what each span alone would predict at the end
    torch.Size([1, 2, 1, 100])
    """
    model = as_model(model, "decompose")
    inputs = check_inputs(model, tokens, lengths)
    chosen = rules_of(rules, bias, interactions, linearization, output_gate, gates)
    refuse_parts(chosen, model.recurrent.all_cells())
    inside = span_masks(spans, inputs.batch, inputs.time, inputs.vectors.device)
    steps = _steps(at, inputs.time).to(inputs.vectors.device)
    start = check_initial(model, inputs, initial)
    check_memory(
        _bytes(model, inputs.batch, inside.shape[1], inputs.time, len(steps), inputs.vectors.element_size()),
        f"decompose() of {inputs.batch} x {inside.shape[1]} spans over {inputs.time} steps",
        "Name the steps that you want with at=..., or take fewer spans or sequences at a time.",
    )
    question = Question(model.recurrent, inputs, inside, steps, chosen, start, initial_relevant)
    found = decomposed_states(question)
    weights = Unchanged(model.recurrent, "decompose")

    def error_of(rows: slice = ALL, spans: slice = ALL) -> Tensor:
        weights.check()
        some = States(
            found.hidden[rows], found.relevant[rows, spans],
            None if found.reference is None else found.reference[rows], found.growth[rows, spans],
        )  # fmt: skip
        return measured_error(question.block(rows, spans), some)

    weight, offset, readout = _copied(model.readout)
    normed = normed_part(model.readout)
    scale = None if normed is None else normed.inverse_norm(found.hidden)
    return Parts(
        found.relevant, found.hidden, found.reference, found.growth, inside & inputs.mask[:, None], steps,
        inputs.mask[:, steps], shown(chosen), weight, offset, readout, error_of, scale, tokens=inputs.tokens,
    )  # fmt: skip


@analyses.register("decompose_all")
@needs("arithmetic")
def decompose_all(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    *,
    at: Steps = None,
    lengths: Any = None,
    rules: str = "shapley",
    bias: Bias | None = None,
    interactions: Interactions | None = None,
    linearization: Linearization | None = None,
    output_gate: bool | None = None,
    gates: Gates | None = None,
    initial: Any = None,
    initial_relevant: bool = False,
) -> Parts:
    """Decompose for every contiguous span, in one pass: spans are computed together as long as they agree.

    The spans come in the order (0, 0), (0, 1), ..., (0, T - 1), (1, 1), ...; the options are those of ``decompose``.
    All spans at all steps are many numbers, T (T + 1) / 2 x T x units: ``at`` keeps those of the steps that you want.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 5, batch_first=True))
    >>> parts = rote.decompose_all(model, torch.randn(2, 4, 3))
    >>> parts.relevant.shape  # 4 + 3 + 2 + 1 spans
    torch.Size([2, 10, 4, 5])
    >>> parts.spans[0, 3].tolist(), parts.spans[0, 4].tolist()
    ([True, True, True, True], [False, True, False, False])
    >>> rote.decompose_all(model, torch.randn(2, 4, 3), at=-1).relevant.shape
    torch.Size([2, 10, 1, 5])
    """
    inputs = check_inputs(as_model(model, "decompose_all"), tokens, lengths)
    return decompose(
        model, tokens, contiguous_spans(inputs.time), at=at, lengths=lengths, rules=rules, bias=bias,
        interactions=interactions, linearization=linearization, output_gate=output_gate, gates=gates,
        initial=initial, initial_relevant=initial_relevant,
    )  # fmt: skip


def growth_warning(growth: Tensor, remedy: str) -> str:
    """What to say of parts that have grown; empty if they have not."""
    worst = float(growth.max()) if growth.numel() else 0.0
    if worst <= GROWN:
        return ""
    return f"The parts grow to {worst:.2g} times the state and cancel: they say little about what a span does. {remedy}"


def _steps(at: Steps, time: int) -> Int[Tensor, " step"]:
    every = range(time)
    try:
        if at is None:
            chosen = list(every)
        elif isinstance(at, slice):
            chosen = list(every[at])
        elif isinstance(at, Sequence | Tensor):
            chosen = [every[operator.index(step)] for step in at]
        else:
            chosen = [every[operator.index(at)]]
    except (TypeError, IndexError, ValueError):
        raise UsageError(
            f"'at' must be a step, a slice or several steps of the sequence of {time}. Got {at!r}."
        ) from None
    if not chosen or len(set(chosen)) < len(chosen):
        raise UsageError(f"'at' must name at least one of the {time} steps, each once. Got {at!r}.")
    return torch.tensor(chosen)


def _bytes(model: SequenceModel, batch: int, spans: int, time: int, steps: int, size: int) -> int:
    """What a decomposition holds at once: its result, a copy of it for a table, and what goes from layer to layer."""
    between = time if model.recurrent.layers > 1 else 1
    return size * spans * model.recurrent.output_size * (2 * batch * steps + between)


def _copied(readout: nn.Module | None) -> tuple[Tensor | None, Tensor | None, Callable[[Tensor], Tensor] | None]:
    """The readout as it is now, weight and bias if it is linear: the parts stay those of the model as it was."""
    linear, normed = linear_part(readout), normed_part(readout)
    if normed is not None:
        weight, bias = (None if part is None else part.detach().clone() for part in normed.linear_map())
        return weight, bias, None
    if linear is not None:
        bias = None if linear.bias is None else linear.bias.detach().clone()
        return linear.weight.detach().clone(), bias, None
    return None, None, None if readout is None else copy.deepcopy(readout).eval().requires_grad_(False)
