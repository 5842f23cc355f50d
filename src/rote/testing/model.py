"""What a model must keep so that the analyses can look into it: adapted modules, and models of one's own."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from rote.analyses import Trace, decompose, trace
from rote.analyses.trace import remembering
from rote.models.comparison import Like, compare
from rote.models.in_eval import in_eval
from rote.models.sequence import SequenceModel
from rote.testing.untouched import interrupted, untouched

LENGTHS = (3, 5, 1)


def check_model(
    model: SequenceModel, *, like: Like | None = None, example: Tensor | None = None, seed: int = 0
) -> None:
    """Nothing is left behind on it; device and dtype are kept; length 1, batch 1 and ragged batches agree.

    - like: your own module, or a function from inputs to outputs, that the model must agree with.
    - example: inputs to compare them on; by default some that are made from the sizes.
    """
    assert isinstance(model, SequenceModel), (
        f"Expected a Rote model, as rote.adapt(...) gives. Got {type(model).__name__}."
    )
    if like is not None:
        with untouched(model, *([like] if isinstance(like, nn.Module) else [])):
            found = compare(model, like, example)
        assert found.agrees, found.explained()
    inputs = _inputs(model, torch.Generator().manual_seed(seed))
    weight = model.zeros
    tolerance = 1e-12 if weight.dtype == torch.float64 else 2e-5
    with untouched(model):
        ragged = trace(model, inputs, lengths=LENGTHS)
        _kept(ragged, weight)
        _shapes(model, ragged)
        for row, length in enumerate(LENGTHS):
            own = inputs[row : row + 1, :length]
            alone = trace(model, own)
            _close(ragged.logits[row, :length], alone.logits[0], tolerance, "A padded sequence differs from it alone")
            _close(
                trace(model, own[0]).logits, alone.logits, tolerance, "A single sequence differs from a batch of one"
            )
        packed = pack_padded_sequence(inputs.cpu(), torch.tensor(LENGTHS), batch_first=True, enforce_sorted=False)
        _close(trace(model, packed).logits, ragged.logits, tolerance, "A packed sequence differs from a padded one")
        with torch.no_grad():
            own_logits = in_eval(model)(inputs, lengths=torch.tensor(LENGTHS, device=weight.device))
        _close(own_logits, ragged.logits, tolerance, "The model's forward differs from its trace")
        parts = decompose(model, inputs, [(0, 0), (1, 3)], lengths=LENGTHS)
        worst = float(parts.error.max())
        assert worst < tolerance, f"The parts of decompose() do not sum to the state: relative error {worst:.1e}."
        assert parts.relevant.dtype == weight.dtype, f"decompose() left {weight.dtype} for {parts.relevant.dtype}."
    interrupted(lambda: trace(model, inputs, lengths=LENGTHS), model)
    interrupted(lambda: decompose(model, inputs, [(1, 2)], lengths=LENGTHS).error, model)


def _inputs(model: SequenceModel, generator: torch.Generator) -> Tensor:
    weight, shape = model.zeros, (len(LENGTHS), max(LENGTHS))
    if model.embedding is not None:
        tokens = torch.randint(0, model.embedding.num_embeddings, shape, generator=generator)
        return tokens.to(weight.device)
    return torch.randn(*shape, model.recurrent.cell(0).input_size, generator=generator).to(weight)


def _kept(found: Trace, weight: Tensor) -> None:
    values = [value for layer in (*found.states.values(), *found.gates.values()) for value in layer.values()]
    for value in (*values, found.logits):
        assert (value.dtype, value.device) == (weight.dtype, weight.device), (
            f"trace() left {weight.dtype} on {weight.device} for {value.dtype} on {value.device}."
        )
        assert not value.requires_grad, "trace() keeps the graph of gradients."


def _shapes(model: SequenceModel, found: Trace) -> None:
    recurrent, shape = model.recurrent, (len(LENGTHS), max(LENGTHS))
    keys = remembering(recurrent)
    assert list(found.states) == list(found.gates) == keys, (
        f"The trace must have the keys {keys}. Got {[*found.states]}."
    )
    outputs = model.output_size
    assert found.logits.shape == (*shape, outputs), (
        f"Logits must be {(*shape, outputs)}. Got {tuple(found.logits.shape)}."
    )
    assert found.mask.sum(1).tolist() == list(LENGTHS), "The mask does not have the lengths that were given."
    for states in found.states.values():
        for name, value in states.items():
            assert not value[~found.mask].any(), f"{name!r} is not zero after a row's end."


def _close(ours: Tensor, theirs: Tensor, tolerance: float, message: str) -> None:
    difference = float((ours - theirs).abs().max()) if ours.numel() else 0.0
    assert difference <= tolerance * (1 + float(theirs.abs().max())), f"{message}: by {difference:.1e}."
