"""Contextual decomposition: which part of a recurrent model's state comes from a phrase.

Murdoch, Liu and Yu 2018, with the variants of generalized CD (Jumelet, Zuidema and Hupkes 2019) as options, for every
cell that is written in the arithmetic of ``rote.cells``: the rules are in ``splitting``. For the GRU and the Nested
LSTM none was published before; docs/decomposition.md derives them. All of them give parts that sum to the state
exactly, a zero relevant part before the span, and a zero irrelevant part for the full span (bias="in_span").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.all_spans import every_span
from rote.analyses.inputs import Inputs, as_model, check_inputs
from rote.analyses.propagation import Positions, measured_error, relevant_states
from rote.analyses.result import Result, analyses, rows_of
from rote.analyses.spans import BiasRule, contiguous_spans, span_masks
from rote.analyses.splitting import Interactions, Linearization, Rules
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table, load_tree, save_tree

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Spans = Sequence[tuple[int, int]] | Tensor
VERSION = 1
ALL = slice(None)


@dataclass(frozen=True, repr=False)
class Parts(Result):
    """The top layer's state in two parts, for each span of positions and at every step."""

    relevant: Float[Tensor, "batch span time unit"]
    hidden: Float[Tensor, "batch time unit"]  # the true state: relevant + irrelevant
    spans: Bool[Tensor, "batch span time"]  # the positions of each span
    readout_weight: Tensor | None
    readout_bias: Tensor | None
    error_of: Callable[[], Tensor]
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "relevant": ("batch", "span", "time", "unit"),
        "hidden": ("batch", "time", "unit"),
        "spans": ("batch", "span", "time"),
    }

    @property
    def irrelevant(self) -> Float[Tensor, "batch span time unit"]:
        return self.hidden[:, None] - self.relevant

    @cached_property
    def error(self) -> Float[Tensor, "batch span"]:
        """How far both parts, carried apart, are from summing to the true state: the largest norm of the difference
        over all steps, relative to the state's. Measured at the first use, by a second and slower pass."""
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
        values = (self.hidden[:, None, at] - part if irrelevant else part) @ self.readout_weight.T
        return values + self.readout_bias if bias and self.readout_bias is not None else values

    def probabilities(
        self, *, bias: bool = False, irrelevant: bool = False, at: slice = ALL
    ) -> Float[Tensor, "batch span time output"]:
        """What the model would predict from that part alone."""
        return self.logits(bias=bias, irrelevant=irrelevant, at=at).softmax(-1)

    def to_table(self) -> Table:
        share = self.relevant.norm(dim=-1)
        rows = rows_of(share, ("batch", "span", "time"), "relevant")
        for row, other in zip(rows, self.irrelevant.norm(dim=-1).flatten().tolist(), strict=True):
            row["irrelevant"] = other
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

    def save(self, path: Path | str) -> None:
        tree = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "error_of"}
        save_tree(Path(path), "rote Parts", VERSION, {**tree, "error": self.error})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        tree = load_tree(Path(path), "rote Parts", VERSION)
        error = tree.pop("error")
        return cls(**tree, error_of=lambda: error)


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
    initial: States | None = None,
    initial_relevant: bool = False,
) -> Parts:
    """Split the state at every step into what comes from each span and the rest (contextual decomposition).

    spans: (start, end) pairs, both inclusive, the same for each sequence; or a bool tensor [batch, span, time].
    bias: where products of biases count as relevant: "in_span" | "exclusive_end" (the off-by-one of the first public
    code) | "never". initial: states before the first step, irrelevant unless ``initial_relevant``.
    """
    model = as_model(model)
    inputs = check_inputs(model, tokens, lengths)
    rules = _rules(interactions, linearization, output_gate)
    positions = Positions(span_masks(spans, inputs.batch, inputs.time, inputs.vectors.device), _choice(bias))
    start = _initial(model, inputs, initial)

    def run(chosen: Positions) -> tuple[Tensor, Tensor]:
        return relevant_states(model.recurrent, inputs, chosen, rules, start, initial_relevant)

    hidden, relevant = run(positions)
    weights = _weight_versions(model)

    def error_of() -> Tensor:
        _check_unchanged(model, weights)
        return measured_error(model.recurrent, inputs, positions, rules, start, initial_relevant, hidden)

    return _parts(model, hidden, relevant, positions.inside, inputs, error_of)


def decompose_all(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    *,
    lengths: Any = None,
    bias: BiasRule = "in_span",
    interactions: Interactions = "relevant",
    linearization: Linearization = "bias_first",
    output_gate: bool = False,
) -> Parts:
    """``decompose`` for every contiguous span, in one pass: spans with the same start share their state while open.

    The spans come in the order (0, 0), (0, 1), ..., (0, T - 1), (1, 1), ...
    """
    model = as_model(model)
    inputs = check_inputs(model, tokens, lengths)
    spans = contiguous_spans(inputs.time)
    if model.recurrent.directions == 2 or bias == "exclusive_end":  # an open span no longer equals its closed one
        return decompose(
            model, tokens, spans, lengths=lengths, bias=bias, interactions=interactions,
            linearization=linearization, output_gate=output_gate,
        )  # fmt: skip
    rules = _rules(interactions, linearization, output_gate)
    positions = Positions(span_masks(spans, inputs.batch, inputs.time, inputs.vectors.device), _choice(bias))
    hidden, relevant = every_span(model.recurrent, inputs, rules, bias_in_span=bias == "in_span")
    weights, start = _weight_versions(model), model.recurrent.zero_states(inputs.batch)

    def error_of() -> Tensor:
        _check_unchanged(model, weights)
        return measured_error(model.recurrent, inputs, positions, rules, start, False, hidden)

    return _parts(model, hidden, relevant, positions.inside, inputs, error_of)


@analyses.register("interdependence")
def interdependence(
    model: SequenceModel, tokens: Tensor | PackedSequence, first: Tensor, second: Tensor, **options: Any
) -> Float[Tensor, "batch pair time"]:
    """How far two sets of positions do more together than apart: ||b(A and B) - b(A) - b(B)|| / ||b(A and B)||.

    ``first``, ``second``: bool [batch, pair, time], disjoint; b is the relevant part of ``decompose``. NaN where b(A
    and B) is zero. (Saphra and Lopez 2020.)
    """
    if first.dtype != torch.bool or second.dtype != torch.bool or first.shape != second.shape or first.dim() != 3:
        raise UsageError(
            "'first' and 'second' must be bool tensors [batch, pair, time] of one shape. "
            f"Got {first.dtype} {tuple(first.shape)} and {second.dtype} {tuple(second.shape)}."
        )
    if bool((first & second).any()):
        raise UsageError("'first' and 'second' must not share a position.")
    pairs = first.shape[1]
    parts = decompose(model, tokens, torch.cat([first | second, first, second], dim=1), **options)
    together, one, other = parts.relevant.split(pairs, dim=1)
    excess: Tensor = (together - one - other).norm(dim=-1)
    scale: Tensor = together.norm(dim=-1)
    return excess / scale


def _parts(
    model: SequenceModel,
    hidden: Tensor,
    relevant: Tensor,
    spans: Tensor,
    inputs: Inputs,
    error_of: Callable[[], Tensor],
) -> Parts:
    readout = model.readout
    weight = None if readout is None else readout.weight.detach()
    bias = None if readout is None or readout.bias is None else readout.bias.detach()
    return Parts(relevant, hidden, spans.expand(inputs.batch, -1, -1), weight, bias, error_of)


def _initial(model: SequenceModel, inputs: Inputs, initial: States | None) -> list[tuple[Tensor, ...]]:
    zero = model.recurrent.zero_states(inputs.batch)
    if initial is None:
        return zero
    shapes = [[tuple(value.shape) for value in state] for state in zero]
    given = [[tuple(value.shape) for value in state] for state in initial]
    if shapes != given:
        raise UsageError(f"'initial' must hold, for each layer and direction, states of {shapes}. Got {given}.")
    return [tuple(value.detach() for value in state) for state in initial]


def _rules(interactions: str, linearization: str, output_gate: bool) -> Rules:
    if interactions not in ("relevant", "source"):
        raise UsageError(f"'interactions' must be 'relevant' or 'source'. Got {interactions!r}.")
    if linearization not in ("bias_first", "shapley"):
        raise UsageError(f"'linearization' must be 'bias_first' or 'shapley'. Got {linearization!r}.")
    return Rules(interactions, linearization, output_gate)  # type: ignore[arg-type]


def _choice(bias: str) -> Literal["in_span", "exclusive_end", "never"]:
    if bias not in ("in_span", "exclusive_end", "never"):
        raise UsageError(f"'bias' must be 'in_span', 'exclusive_end' or 'never'. Got {bias!r}.")
    return bias  # type: ignore[return-value]


def _weight_versions(model: SequenceModel) -> list[int]:
    return [parameter._version for parameter in model.recurrent.parameters()]


def _check_unchanged(model: SequenceModel, versions: list[int]) -> None:
    if _weight_versions(model) != versions:
        raise UsageError("The model's weights have changed since decompose(); read .error before training goes on.")
