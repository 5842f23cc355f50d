"""Small models of every kind, and inputs, for the tests of contextual decomposition."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Tensor, nn

from rote.cells import Recurrent
from rote.models.sequence import SequenceModel

INPUT, HIDDEN, TIME, VOCABULARY = 3, 4, 6, 9
KINDS: dict[str, dict[str, Any]] = {
    "lstm": {},
    "gru": {},
    "gru before": {"reset": "before"},
    "elman": {},
    "elman relu": {"nonlinearity": "relu"},
    "nested_lstm": {},
    "nested_lstm deep": {"depth": 3},
}


def model_of(kind: str, *, layers: int = 1, both: bool = False, seed: int = 0, **options: Any) -> SequenceModel:
    """Weights large enough for the nonlinearities to matter."""
    generator = torch.Generator().manual_seed(seed)
    sizes = {"input_size": INPUT, "hidden_size": HIDDEN, "layers": layers, "bidirectional": both}
    recurrent = Recurrent(kind.split()[0], **sizes, **KINDS[kind], **options)
    made = SequenceModel(recurrent, nn.Embedding(VOCABULARY, INPUT), nn.Linear(recurrent.output_size, VOCABULARY))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(0.9 * torch.randn(parameter.shape, generator=generator))
    return made.double()


def tokens_of(batch: int = 2, time: int = TIME, seed: int = 1) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, time), generator=torch.Generator().manual_seed(seed))


def states_of(model: SequenceModel, batch: int, seed: int = 2) -> list[tuple[Tensor, ...]]:
    generator = torch.Generator().manual_seed(seed)
    zero = model.recurrent.zero_states(batch)
    return [tuple(torch.randn(v.shape, dtype=v.dtype, generator=generator) for v in state) for state in zero]


RULES = [
    dict(zip(("bias", "interactions", "linearization", "output_gate"), chosen, strict=True))
    for chosen in itertools.product(
        ("in_span", "exclusive_end", "never"),
        ("relevant", "source", "shapley"),
        ("bias_first", "shapley"),
        (False, True),
    )
]
