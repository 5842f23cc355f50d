"""Contextual decomposition: which part of a recurrent model's state comes from a phrase.

Murdoch, Liu and Yu 2018, with the variants of generalized CD (Jumelet, Zuidema and Hupkes 2019) as options, for every
cell that is written in the arithmetic of ``rote.cells``: the rules are in ``splitting``. For the GRU and the Nested
LSTM none was published before; docs/decomposition.md derives them. All of them give parts that sum to the state
exactly, a zero relevant part before the span, and a zero irrelevant part for the full span (bias="in_span").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.inputs import as_model, check_initial, check_inputs
from rote.analyses.plain_autograd import Unchanged
from rote.analyses.propagation import Question, measured_error, relevant_states
from rote.analyses.result import MeasuredLater, analyses, rows_of
from rote.analyses.spans import BiasRule, contiguous_spans, span_masks
from rote.analyses.splitting import Interactions, Linearization, Rules
from rote.config import one_of
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Spans = Sequence[tuple[int, int]] | Tensor
ALL = slice(None)
SHOWN = 64  # spans that a notebook draws by itself


@dataclass(frozen=True, repr=False)
class Parts(MeasuredLater):
    """The top layer's state in two parts, for each span of positions and at every step."""

    relevant: Float[Tensor, "batch span time unit"]
    hidden: Float[Tensor, "batch time unit"]  # the true state: relevant + irrelevant
    spans: Bool[Tensor, "batch span time"]  # the positions of each span
    mask: Bool[Tensor, "batch time"]  # true where there is an input
    readout_weight: Tensor | None
    readout_bias: Tensor | None
    error_of: Callable[[], Tensor]
    version: ClassVar[int] = 2  # with the mask
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "relevant": ("batch", "span", "time", "unit"),
        "hidden": ("batch", "time", "unit"),
        "spans": ("batch", "span", "time"),
        "mask": ("batch", "time"),
        "readout_weight": ("output", "unit"),
        "readout_bias": ("output",),
    }

    @property
    def irrelevant(self) -> Float[Tensor, "batch span time unit"]:
        return self.hidden[:, None] - self.relevant

    @cached_property
    def error(self) -> Float[Tensor, "batch span"]:
        """How far both parts, each from its own recursion, are from summing to the true state: the largest norm of the
        difference over all steps, relative to the largest state. Measured at the first use, by a slower pass."""
        return self.error_of()

    def logits(
        self, *, bias: bool = False, irrelevant: bool = False, at: slice = ALL
    ) -> Float[Tensor, "batch span time output"]:
        """The readout of the relevant (or the irrelevant) part, at all steps or those of the slice ``at``.

        The readout's own bias comes from no input: it is added only if asked for.
        """
        if self.readout_weight is None:
            raise UsageError("The model has no readout. Adapt it with readout=nn.Linear(...) to get logits.")
        part = self.relevant[:, :, at]
        part = self.hidden[:, None, at] - part if irrelevant else part
        # A copy in one piece: one large product is several times as fast as one per sequence.
        return nn.functional.linear(part.contiguous(), self.readout_weight, self.readout_bias if bias else None)

    def probabilities(
        self, *, bias: bool = False, irrelevant: bool = False, at: slice = ALL
    ) -> Float[Tensor, "batch span time output"]:
        """What the model would predict from that part alone."""
        return self.logits(bias=bias, irrelevant=irrelevant, at=at).softmax(-1)

    def to_table(self) -> Table:
        axes, steps = ("batch", "span", "time"), self.mask[:, None]
        rows = rows_of(self.relevant.norm(dim=-1), axes, "relevant", steps)
        others = rows_of(self.irrelevant.norm(dim=-1), axes, "irrelevant", steps)
        rows = [row | other for row, other in zip(rows, others, strict=True)]
        columns = (
            Column("batch", role="label"),
            Column("span", "index of the span", role="label"),
            Column("time", "step of the output", role="label"),
            Column("relevant", "norm of the part that comes from the span"),
            Column("irrelevant", "norm of the rest"),
        )
        positions = [[span.nonzero().flatten().tolist() for span in row] for row in self.spans]
        return Table.make(
            "decomposition", "What each span contributes to the state", columns, rows,
            figure="decomposition", details=True, options={"positions": positions},
        )  # fmt: skip

    def _repr_html_(self) -> str | None:
        """In a notebook: the norms of the parts, unless there are too many spans to be told apart."""
        return self.picture() if self.spans.shape[1] <= SHOWN else None


@analyses.register("decompose")
def decompose(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    spans: Spans,
    *,
    lengths: Any = None,
    bias: BiasRule = "in_span",
    interactions: Interactions = "relevant",
    linearization: Linearization = "bias_first",
    output_gate: bool = False,
    initial: Any = None,
    initial_relevant: bool = False,
) -> Parts:
    """Split the state at every step into what comes from each span and the rest (contextual decomposition).

    - spans: (start, end) pairs, both inclusive, the same for each sequence; or a bool tensor [batch, span, time].
    - bias: where products of biases count as relevant: "in_span" | "exclusive_end" (the off-by-one of the first public
      code) | "never".
    - interactions: "relevant" | "source" (an irrelevant gate on a relevant source also counts).
    - linearization: "bias_first" | "shapley".
    - output_gate: decompose it as well.
    - initial: the states before the first step, by layer and direction or in the form that torch's module takes;
      irrelevant unless ``initial_relevant``.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> parts = rote.decompose(model, torch.tensor([[4, 8, 15, 16, 23]]), spans=[(1, 2), (0, 4)])
    >>> parts.relevant.shape  # batch, span, time, unit
    torch.Size([1, 2, 5, 16])
    >>> bool(parts.relevant[0, 0, 0].any())  # nothing comes from a span before it begins
    False
    >>> bool(parts.error.max() < 1e-5)
    True
    >>> parts.probabilities(at=slice(-1, None)).shape  # what each span alone would predict at the end
    torch.Size([1, 2, 1, 100])
    """
    model = as_model(model)
    inputs = check_inputs(model, tokens, lengths)
    one_of("interactions", interactions, ("relevant", "source"))
    one_of("linearization", linearization, ("bias_first", "shapley"))
    one_of("bias", bias, ("in_span", "exclusive_end", "never"))
    rules = Rules(interactions, linearization, output_gate)
    inside = span_masks(spans, inputs.batch, inputs.time, inputs.vectors.device)
    start = check_initial(model, inputs, initial)
    question = Question(model.recurrent, inputs, inside, bias, rules, start, initial_relevant)
    hidden, relevant = relevant_states(question)
    weights = Unchanged(model.recurrent, "decompose")

    def error_of() -> Tensor:
        weights.check()
        return measured_error(question, hidden, relevant)

    readout = model.readout
    # Copies: the parts stay those of the model as it was.
    weight = None if readout is None else readout.weight.detach().clone()
    offset = None if readout is None or readout.bias is None else readout.bias.detach().clone()
    return Parts(relevant, hidden, inside & inputs.mask[:, None], inputs.mask, weight, offset, error_of)


@analyses.register("decompose_all")
def decompose_all(
    model: SequenceModel, tokens: Tensor | PackedSequence, *, lengths: Any = None, **options: Any
) -> Parts:
    """Decompose for every contiguous span, in one pass: spans are computed together as long as they agree.

    The spans come in the order (0, 0), (0, 1), ..., (0, T - 1), (1, 1), ...; options: those of ``decompose``.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 5, batch_first=True))
    >>> parts = rote.decompose_all(model, torch.randn(2, 4, 3))
    >>> parts.relevant.shape  # 4 + 3 + 2 + 1 spans
    torch.Size([2, 10, 4, 5])
    >>> parts.spans[0, 3].tolist(), parts.spans[0, 4].tolist()
    ([True, True, True, True], [False, True, False, False])
    """
    inputs = check_inputs(as_model(model), tokens, lengths)
    return decompose(model, tokens, contiguous_spans(inputs.time), lengths=lengths, **options)
