"""Connectivity: how far each output of a recurrent model depends on each input.

Source 003 (Madsen 2019), connectivity(t, s) = || d (logit of the target at output t) / d x_s ||, x the one-hot input.
The source's code and its stored numbers have the squared norm (norm="squared"), its formula the norm (norm="l2").
All pairs come from one pass backward through time (``all_outputs``), where the source had one for each output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.all_pairs import Measure, Norm, Wrt, pair_error, pair_values
from rote.analyses.inputs import as_model, check_initial, check_inputs
from rote.analyses.plain_autograd import Unchanged
from rote.analyses.result import MeasuredLater, analyses, rows_of
from rote.analyses.target_rows import Of, check_targets, output_count
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.sequence import SequenceModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

SHOWN = 4 * 200**2  # numbers that a notebook draws by itself
MEASURES = {
    "l2": "norm of the gradient",
    "squared": "squared norm of the gradient",
    "signed": "gradient times input",
}


@dataclass(frozen=True, repr=False)
class Connectivity(MeasuredLater):
    """One number for each output step and input step of every sequence."""

    values: Float[Tensor, "batch output input"]  # 0 where the output cannot depend on the input, and at padding
    targets: Int[Tensor, "batch time"]  # which output was asked about at each step; 0 at padding
    tokens: Int[Tensor, "batch time"] | None  # None when the inputs are vectors
    mask: Bool[Tensor, "batch time"]  # true where there is an input
    wrt: Wrt
    norm: Norm
    of: Of
    causal: bool  # no output depends on a later input
    error_of: Callable[[], Tensor]
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "values": ("batch", "output", "input"),
        "targets": ("batch", "time"),
        "tokens": ("batch", "time"),
        "mask": ("batch", "time"),
    }

    @cached_property
    def error(self) -> Float[Tensor, " batch"]:
        """The largest difference from torch's autograd at the first, the middle and the last output of each sequence,
        relative to the largest number of that output. Measured at the first use."""
        return self.error_of()

    def to_table(self, vocabulary: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Table:
        """One row per pair; with ``vocabulary`` (and ``outputs``) tokens (and targets) are named, not numbered."""
        pairs = self.mask[:, :, None] & self.mask[:, None, :]
        rows = rows_of(self.values, ("batch", "output", "input"), "value", pairs.tril() if self.causal else pairs)
        tokens, targets = _named(self.tokens, vocabulary), _named(self.targets, outputs)
        for row in rows:
            row["target"] = targets[row["batch"]][row["output"]]
            row["token"] = tokens[row["batch"]][row["input"]] if tokens else None
        columns = (
            Column("batch", role="label"),
            Column("output", "step of the output", role="label"),
            Column("input", "step of the input", role="label"),
            Column("target", f"whose {self.of.replace('_', '-')} was measured", role="label"),
            Column("token", "at the input", role="label"),
            Column("value", f"{MEASURES[self.norm]} with respect to the {self.wrt.replace('_', '-')} input"),
        )
        return Table.make(
            "connectivity", "How far each output depends on each input", columns, rows,
            figure="connectivity", details=True, options={"signed": self.norm == "signed"},
        )  # fmt: skip

    def figure(self, vocabulary: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Any:
        """Heat maps, one per sequence."""
        from rote.figures import draw

        return draw(self.to_table(vocabulary, outputs))

    def _repr_html_(self) -> str | None:
        """In a notebook: the heat maps, unless that takes too long."""
        return self.picture() if self.values.numel() <= SHOWN else None


@analyses.register("connectivity")
def connectivity(
    model: SequenceModel,
    tokens: Tensor | PackedSequence,
    targets: Tensor | None = None,
    *,
    lengths: Any = None,
    wrt: Wrt = "one_hot",
    norm: Norm = "l2",
    of: Of = "logit",
    initial: States | Tensor | None = None,
) -> Connectivity:
    """How far each output depends on each input: the gradient between every two steps.

    - targets: LongTensor [batch, time], the output asked about at each step; default the model's own choice.
    - wrt: the gradient with respect to the "one_hot" input or its "embedding" (one and the same if inputs are vectors).
    - norm: "l2" | "squared" | "signed", the gradient times the input, summed.
    - of: "logit" | "log_probability".
    - initial: states before the first step.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(100, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 100))
    >>> found = rote.connectivity(model, torch.tensor([[1, 2, 3]]))
    >>> found.values.shape  # batch, output step, input step
    torch.Size([1, 3, 3])
    >>> bool(found.values.triu(1).any())  # no output depends on a later input
    False
    >>> bool(found.error.max() < 1e-4)  # against torch's autograd
    True
    """
    what = Measure(wrt, norm, of)
    model = as_model(model)
    if of == "log_probability" and model.readout is None:
        raise UsageError(
            "of='log_probability' needs outputs to choose from, but the model has no readout. "
            "Adapt it with readout=nn.Linear(...), or take of='logit' for the units of its top layer."
        )
    with torch.inference_mode(False):  # what is made here is kept, for autograd to measure the error with
        inputs = check_inputs(model, tokens, lengths)
        given = check_targets(targets, inputs, output_count(model))
        start = check_initial(model, inputs, initial)
        values, chosen = pair_values(model, inputs, given, start, what)
    weights = Unchanged(model, "connectivity")

    def error_of() -> Tensor:
        weights.check()
        return pair_error(model, inputs, start, values, chosen, what)

    causal = model.recurrent.directions == 1
    return Connectivity(values, chosen, inputs.tokens, inputs.mask, wrt, norm, of, causal, error_of)


def _named(numbers: Tensor | None, names: Sequence[str] | None) -> list[list[Any]]:
    if numbers is None:
        return []
    rows: list[list[int]] = numbers.tolist()
    return rows if names is None else [[names[number] for number in row] for row in rows]
