"""Connectivity: how far each output of a model depends on each input.

Source 003 (Madsen 2019), connectivity(t, s) = || d (logit of the target at output t) / d x_s ||, x the one-hot input.
The source's code and its stored numbers have the squared norm (norm="squared"), its formula the norm (norm="l2").
For recurrent models all pairs come from one pass backward through time (``all_outputs``), where the source had one for
each output; for any other model, from copies of the sequence (``forward_connectivity``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.forward_connectivity import CHUNK, pairs_through
from rote.analyses.forward_pass import Forward
from rote.analyses.gradient_batches import Measure, Norm, Wrt, pair_error, pair_values
from rote.analyses.inputs import as_model, check_initial, check_inputs
from rote.analyses.plain_autograd import Unchanged
from rote.analyses.result import MeasuredLater, OverTokens, analyses, needs, rows_of, token_names
from rote.analyses.target_rows import Of, check_targets
from rote.cells.adapt import unwrapped
from rote.cells.recurrent import States
from rote.errors import UsageError
from rote.models.capabilities import ADAPT, require
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
class Connectivity(MeasuredLater, OverTokens):
    """One number for each output step and input step of every sequence."""

    values: Float[Tensor, "batch output input"]  # 0 where the output cannot depend on the input, and at padding
    targets: Int[Tensor, "batch output"]  # which output was asked about at each step; 0 at padding
    mask: Bool[Tensor, "batch input"]  # true where there is an input
    wrt: Wrt
    norm: Norm
    of: Of
    causal: bool  # no output depends on a later input
    error_of: Callable[[], Tensor]
    output_mask: Bool[Tensor, "batch output"] | None = None  # true where there is an output; None: where an input is
    choices: int | None = None  # among so many outputs each target was chosen; None: not known
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"tokens": ("batch", "input")}

    @cached_property
    def error(self) -> Float[Tensor, " batch"]:
        """The largest difference from torch's autograd at the first, the middle and the last output of each sequence,
        relative to the largest number of that output. Measured at the first use."""
        return self.error_of()

    def to_table(self, vocabulary: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Table:
        """One row per pair. With ``vocabulary`` tokens are named, not numbered, and with ``outputs`` targets; these
        are named by the vocabulary as well if the model has as many outputs as that has names."""
        pairs = (self.mask if self.output_mask is None else self.output_mask)[:, :, None] & self.mask[:, None, :]
        rows = rows_of(self.values, ("batch", "output", "input"), "value", pairs.tril() if self.causal else pairs)
        if outputs is None and vocabulary is not None and self.choices == len(vocabulary):
            outputs = vocabulary
        tokens = self._named(self.tokens, vocabulary, "vocabulary", "tokens")
        targets = self._named(self.targets, outputs, "outputs", "targets")
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

    @staticmethod
    def _named(numbers: Tensor | None, names: Sequence[str] | None, argument: str, what: str) -> list[list[Any]]:
        if names is not None:
            return token_names(numbers, names, argument, what)
        return [] if numbers is None else numbers.tolist()

    def _repr_html_(self) -> str | None:
        """In a notebook: the heat maps, unless that takes too long."""
        return self.picture() if self.values.numel() <= SHOWN else None


@analyses.register("connectivity")
@needs("logits")
def connectivity(
    model: SequenceModel | Forward,
    tokens: Tensor | PackedSequence,
    targets: Tensor | None = None,
    *,
    lengths: Any = None,
    wrt: Wrt = "one_hot",
    norm: Norm = "l2",
    of: Of = "logit",
    initial: States | Tensor | None = None,
    embedding: nn.Module | Tensor | None = None,
    causal: bool = False,
    chunk: int = CHUNK,
) -> Connectivity:
    """How far each output depends on each input: the gradient between every two steps.

    - model: what ``rote.adapt`` gives; or any differentiable module or function from tokens, or from vectors, to
      outputs [batch, step, output], or [batch, output] for whole sequences; these may come first, or as ``logits``.
    - targets: LongTensor [batch, output], the output asked about at each step; default the model's own choice.
    - wrt: the gradient with respect to the "one_hot" input or its "embedding" (one and the same if inputs are vectors).
    - norm: "l2" | "squared" | "signed", the gradient times the input, summed.
    - of: "logit" | "log_probability".
    - initial: states before the first step.

    Only for a model that was not adapted:

    - embedding: the module that looks up the tokens, unless the model has no other; for a model of vectors, what they
      come from, where the gradient is to be that of the one-hot input.
    - causal: the model never looks ahead, so that an output needs only the steps up to it.
    - chunk: outputs asked about at once, each on a copy of its sequence; fewer need less memory.

    Dropout does not act, whatever the mode of a module. A function with outputs that are random even so is refused.

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
    >>> classes = torch.nn.Linear(8, 5)
    >>> pooled = rote.connectivity(lambda x: classes(table(x).mean(1)), torch.tensor([[1, 2, 3]]), embedding=table)
    >>> pooled.values.shape  # one output for the sequence
    torch.Size([1, 1, 3])
    """
    what = Measure(wrt, norm, of)
    model = unwrapped(model)
    if isinstance(model, nn.RNNBase):
        raise UsageError(f"'model' is a bare {type(model).__name__}. Wrap your modules: {ADAPT}.")
    if isinstance(model, SequenceModel) or not callable(model):
        if embedding is not None or causal or chunk != CHUNK:
            raise UsageError("'embedding', 'causal' and 'chunk' are for models that were not adapted. Leave them out.")
        return _of_recurrent(as_model(model, "connectivity"), tokens, targets, lengths, what, initial)
    if initial is not None:
        raise UsageError("'initial' is for models that rote.adapt gives. Leave it out, or start your function with it.")
    require("connectivity", model, "logits")
    found = pairs_through(model, tokens, targets, lengths, what, embedding, causal, chunk)
    return Connectivity(
        found.values, found.targets, found.mask, wrt, norm, of, causal, found.error_of, found.output_mask,
        found.choices, tokens=found.tokens,
    )  # fmt: skip


def _of_recurrent(
    model: SequenceModel, tokens: Any, targets: Tensor | None, lengths: Any, what: Measure, initial: Any
) -> Connectivity:
    if what.of == "log_probability" and model.readout is None:
        raise UsageError(
            "of='log_probability' needs outputs to choose from, but the model has no readout. "
            "Adapt it with readout=nn.Linear(...), or take of='logit' for the units of its top layer."
        )
    with torch.inference_mode(False):  # what is made here is kept, for autograd to measure the error with
        inputs = check_inputs(model, tokens, lengths)
        given = check_targets(targets, inputs.mask, model.output_size)
        start = check_initial(model, inputs, initial)
        values, chosen = pair_values(model, inputs, given, start, what)
    weights = Unchanged(model, "connectivity")

    def error_of() -> Tensor:
        weights.check()
        return pair_error(model, inputs, start, values, chosen, what)

    causal = model.recurrent.directions == 1
    return Connectivity(
        values, chosen, inputs.mask, what.wrt, what.norm, what.of, causal, error_of, choices=model.output_size,
        tokens=inputs.tokens,
    )  # fmt: skip
