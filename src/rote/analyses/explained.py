"""One output of a model as a function of its input vectors: what attributions, erasures and Shapley values explain.

Of a model that ``rote.adapt`` gives, the vectors are those of its embedding; any other module or function is called as
a whole, and while it is called its embedding hands out the vectors that are asked about.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rote.analyses.forward_pass import embedding_in
from rote.analyses.inputs import Inputs, as_model, check_finite, check_inputs, check_lengths, shown, unpacked
from rote.analyses.target_rows import check_range
from rote.cells.adapt import unwrapped
from rote.errors import UsageError
from rote.models.calling import called_in_eval, left_alone, tensor_of
from rote.models.capabilities import require
from rote.models.in_eval import in_eval
from rote.models.inputs import WHOLE, check_token_ids, check_vectors
from rote.models.sequence import SequenceModel

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

ROWS = 4096  # sequences that are run at once
Run = Callable[[Tensor, Tensor], Tensor]  # vectors [row, time, input], which sequences [row] -> outputs [row, output]


@dataclass(frozen=True)
class Explained:
    """``value(vectors, rows)`` is the explained output of the sequences ``rows`` with other vectors in them."""

    vectors: Float[Tensor, "batch time input"]
    tokens: Int[Tensor, "batch time"] | None
    mask: Bool[Tensor, "batch time"]  # true where there is an input
    steps: Int[Tensor, " batch"]  # of the output
    targets: Int[Tensor, " batch"]
    table: Float[Tensor, "vocabulary input"] | None  # the embedding, where there is one
    run: Run

    def value(self, vectors: Float[Tensor, "row time input"], rows: Int[Tensor, " row"]) -> Float[Tensor, " row"]:
        outputs = self.run(vectors, rows)
        found: Tensor = outputs.gather(1, self.targets[rows, None]).squeeze(1)
        return found

    @property
    def every(self) -> Int[Tensor, " batch"]:
        return torch.arange(len(self.vectors), device=self.vectors.device)

    @torch.no_grad()
    def values(
        self, kept: Bool[Tensor, "batch coalition time"], absent: Float[Tensor, "#batch #time input"]
    ) -> Float[Tensor, "batch coalition"]:
        """The explained output with the vectors of ``absent`` wherever a coalition does not keep the sequence's own."""
        batch, coalitions, time = kept.shape
        flat, rows = kept.reshape(-1, time, 1), self.every.repeat_interleave(coalitions)
        fill = absent.expand_as(self.vectors)
        pieces = [
            self.value(torch.where(keep, self.vectors[some], fill[some]), some)
            for keep, some in zip(flat.split(ROWS), rows.split(ROWS), strict=True)
        ]
        return torch.cat(pieces).view(batch, coalitions)

    @torch.enable_grad()
    @torch.inference_mode(False)
    def gradients(
        self, vectors: Float[Tensor, "row time input"], rows: Int[Tensor, " row"]
    ) -> tuple[Float[Tensor, "row time input"], Float[Tensor, " row"]]:
        """d value / d vectors, and the value."""
        leaf = vectors.detach().clone().requires_grad_()
        value = self.value(leaf, rows)
        (found,) = torch.autograd.grad(value.sum(), leaf, allow_unused=True, materialize_grads=True)
        return found, value.detach()


def explain(
    analysis: str,
    model: Any,
    tokens: Tensor | PackedSequence,
    at: int,
    target: int | Tensor | None,
    lengths: Any = None,
    embedding: nn.Module | None = None,
) -> Explained:
    """The output ``target`` at the step ``at`` (a negative one counts from the end of each sequence)."""
    model = unwrapped(model)
    if isinstance(model, SequenceModel) or not callable(model):
        if embedding is not None:
            raise UsageError("'embedding' is for models that were not adapted. Leave it out.")
        return _of_recurrent(as_model(model, analysis), check_inputs(model, tokens, lengths), at, target)
    require(analysis, model, "logits")
    return _of_forward(model, tokens, at, target, lengths, embedding)


def _of_recurrent(model: SequenceModel, inputs: Inputs, at: int, target: int | Tensor | None) -> Explained:
    recurrent = in_eval(model.recurrent)
    steps = _steps(at, inputs.mask.sum(1))

    def run(vectors: Tensor, rows: Tensor) -> Tensor:
        lengths = None if inputs.lengths is None else inputs.lengths[rows]
        hidden, _ = recurrent(vectors, lengths=lengths)
        return model.read(hidden[torch.arange(len(rows), device=rows.device), steps[rows]])

    table = None if model.embedding is None else model.embedding_matrix().detach()
    return _with_targets(inputs.vectors, inputs.tokens, inputs.mask, steps, target, table, run)


def _of_forward(
    model: Any, tokens: Tensor | PackedSequence, at: int, target: int | Tensor | None, lengths: Any, embedding: Any
) -> Explained:
    padded, lengths = unpacked(tokens, lengths)
    counts = check_lengths(lengths, *padded.shape[:2])
    if counts is not None and bool((counts < padded.shape[1]).any()):
        raise UsageError("'lengths' is for models that rote.adapt gives. Give sequences of one length at a time.")
    is_ids = padded.dtype in WHOLE
    given = check_token_ids(padded, torch.iinfo(padded.dtype).max) if is_ids else check_vectors(padded)
    twins: dict[int, nn.Module] = {}
    table = embedding_in(model, embedding) if is_ids else None
    called = called_in_eval(model, twins)
    looked_up = None if table is None else twins.get(id(table), table)
    if looked_up is None:
        check_finite("'tokens'", given)
    with torch.no_grad():
        vectors = given if looked_up is None else looked_up(given).detach()

    def run(changed: Tensor, rows: Tensor) -> Tensor:
        with left_alone(model, vectors.device), _handing_out(looked_up, changed) as asked:
            found = tensor_of(called(changed if looked_up is None else given[rows]))
        if found is None or found.dim() not in (2, 3) or len(found) != len(rows):
            raise UsageError(
                "'model' must give outputs [batch, step, output], or [batch, output] for whole sequences. Got "
                f"{shown(found)}."
            )
        if looked_up is not None and not asked:
            raise UsageError(
                "'model' does not look its tokens up by calling 'embedding'. Give the module that it calls."
            )
        return found if found.dim() == 2 else found[:, _step(at, found.shape[1])]

    weight = getattr(table, "weight", None)
    mask = torch.ones(given.shape[:2], dtype=torch.bool, device=given.device)
    steps = mask.new_full((len(mask),), _step(at, mask.shape[1]), dtype=torch.long)
    matrix = weight.detach() if isinstance(weight, Tensor) else None
    return _with_targets(vectors, given if is_ids else None, mask, steps, target, matrix, run)


def _with_targets(
    vectors: Tensor, tokens: Tensor | None, mask: Tensor, steps: Tensor, target: Any, table: Tensor | None, run: Run
) -> Explained:
    rows = torch.arange(len(vectors), device=vectors.device)
    with torch.no_grad():
        outputs = run(vectors, rows)
    if bool(outputs.isnan().any()):
        raise UsageError("'model' gives NaN for these sequences; nothing can be explained.")
    if target is None:
        chosen = outputs.argmax(-1)
    else:
        chosen = torch.as_tensor(target, device=vectors.device)
        if chosen.dtype not in WHOLE or chosen.shape not in ((), (len(rows),)):
            raise UsageError(
                f"'target' must be one output, or one for each of {len(rows)} sequences. Got {target!r:.60}."
            )
        chosen = check_range(chosen.long().expand(len(rows)), outputs.shape[-1])
    return Explained(vectors, tokens, mask, steps, chosen, table, run)


def _steps(at: int, lengths: Tensor) -> Int[Tensor, " batch"]:
    """The step of each sequence; a negative one counts from its own end."""
    _step(at, int(lengths.min()))
    return lengths + at if at < 0 else torch.full_like(lengths, at)


def _step(at: int, time: int) -> int:
    try:
        return range(time)[operator.index(at)]
    except (TypeError, IndexError):
        raise UsageError(f"'at' must be a step of every sequence, the shortest has {time}. Got {at!r}.") from None


@contextmanager
def _handing_out(embedding: nn.Module | None, vectors: Tensor) -> Iterator[list[bool]]:
    """The embedding gives these vectors when it is asked for as many tokens."""
    asked: list[bool] = []
    if embedding is None:
        yield asked
        return

    def instead(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        if output.shape != vectors.shape:
            return output  # of something else, as the target side of a translator
        asked.append(True)
        return vectors

    hook = embedding.register_forward_hook(instead)
    try:
        yield asked
    finally:
        hook.remove()
