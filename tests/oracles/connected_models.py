"""Small models of every kind, and connectivity one backward pass at a time, to compare with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from rote.analyses import Connectivity
from rote.cells import Recurrent
from rote.models.sequence import SequenceModel

INPUT, HIDDEN, TIME, OUTPUTS = 3, 4, 5, 6
LENGTHS = torch.tensor([2, 5, 1])
KINDS: dict[str, dict[str, Any]] = {
    "elman": {},
    "elman relu": {"nonlinearity": "relu"},
    "lstm": {},
    "gru": {},
    "gru before": {"reset": "before"},
    "gru_before": {},
    "nested_lstm": {},
    "nested_lstm deep": {"depth": 3},
    "peephole_lstm": {},
    "min_gru": {},
    "min_lstm": {},
    "lru": {},
    "rg_lru": {"heads": 2, "width": 3},
    "s6": {"state_size": 2, "width": 2},
    "s6 signed": {"state_size": 2, "width": 2, "signed": True},
    "rwkv4": {},
    "rwkv7": {"heads": 2, "rank": 2},
    "linear_attention": {},
    "delta": {},
    "gated_delta": {},
    "ssd": {},
    "mlstm": {},
    "slstm": {},
    "attention": {"longest": 3, "heads": 2},
    "block": {"mixer": "rg_lru", "mlp": 3},
    "block of lstm": {"mixer": "lstm", "norm": "layer", "mlp": 3, "gate": True, "conv": 2},
}


ASKED = list(
    itertools.product(("one_hot", "embedding"), ("l2", "squared", "signed"), ("logit", "log_probability"))
)  # wrt, norm, of


def model_of(kind: str, *, layers: int = 1, both: bool = False, vocabulary: int = 7, **options: Any) -> SequenceModel:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(3)
    recurrent = Recurrent(
        kind.split()[0], INPUT, HIDDEN, layers=layers, bidirectional=both, **KINDS[kind], **options
    )  # fmt: skip
    made = SequenceModel(recurrent, nn.Embedding(vocabulary, INPUT), nn.Linear(recurrent.output_size, OUTPUTS))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.7 * torch.randn(parameter.shape, generator=generator))
    return made.double()


def numbers_of(count: int, batch: int = 3, time: int = TIME, seed: int = 1) -> Tensor:
    return torch.randint(0, count, (batch, time), generator=torch.Generator().manual_seed(seed))


def one_at_a_time(
    outputs_of: Callable[[Tensor], Tensor], tokens: Tensor, table: Tensor, targets: Tensor, asked: tuple[str, str, str]
) -> Tensor:
    """One sequence: the definition of connectivity, one backward pass for each output."""
    wrt, norm, of = asked
    one_hot = nn.functional.one_hot(tokens, len(table)).to(table.dtype).requires_grad_()
    vectors = (one_hot @ table.detach())[None]
    outputs = outputs_of(vectors)[0]
    outputs = outputs.log_softmax(-1) if of == "log_probability" else outputs
    leaf = one_hot if wrt == "one_hot" else vectors
    rows = []
    for t, target in enumerate(targets.tolist()):
        (gradient,) = torch.autograd.grad(outputs[t, target], leaf, retain_graph=True)
        gradient, value = (part.detach().view(len(tokens), -1) for part in (gradient, leaf))
        squares = (gradient**2).sum(-1)
        rows.append({"l2": squares.sqrt(), "squared": squares, "signed": (gradient * value).sum(-1)}[norm])
    return torch.stack(rows)


def assert_right(
    found: Connectivity, outputs_of: Callable[[Tensor], Tensor], tokens: Tensor, table: Tensor, lengths: Tensor
) -> None:
    """Every number, and zeros everywhere else."""
    if isinstance(outputs_of, SequenceModel):
        outputs_of = SequenceModel(outputs_of.recurrent, None, outputs_of.readout)
    expected = torch.zeros_like(found.values)
    for row, length in enumerate(lengths.tolist()):
        asked = (found.wrt, found.norm, found.of)
        targets = found.targets[row, :length]
        expected[row, :length, :length] = one_at_a_time(outputs_of, tokens[row, :length], table, targets, asked)
    difference = float((found.values - expected).abs().max() / expected.abs().max())
    assert difference < 1e-12, (difference, found)
    assert (found.values[expected == 0] == 0).all()
    assert found.error.shape == (len(tokens),)
    # Relative to each output: the log probability of one that is nearly certain has a gradient of next to nothing.
    faintest = float(expected.abs().amax(-1)[found.mask].min())
    assert float(found.error.max()) * min(1.0, faintest) < 1e-11


def table_of(model: SequenceModel) -> Tensor:
    assert model.embedding is not None
    return model.embedding_matrix()
