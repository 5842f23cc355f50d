"""Recurrent language models of one layer, many at once: embedding, any cell, linear readout (source 000, section 3).

Weights carry a leading replica axis. The state is carried from one piece of a corpus to the next in buffers of the
model, so that a checkpoint holds it. A single replica of a cell that torch has a kernel for uses that kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, embedding, linear

from rote.cells import (
    Cell,
    Initialization,
    LSTMCell,
    Recurrent,
    State,
    cells,
    run_stacked,
    stack,
    stacked_linear,
    unstack,
)
from rote.cells.fused import kernel_of
from rote.cells.lstm_training import run_lstm
from rote.models.architecture import Capability
from rote.models.initialization import drawn_from
from rote.models.sequence import SequenceModel, linear_of
from rote.models.settings import LanguageModelConfig
from rote.models.symbol_loss import readout_losses

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class StackedLanguageModel(nn.Module):
    """One language model per seed. Each replica starts from its own seed alone: the others do not change it."""

    capabilities: ClassVar[tuple[Capability, ...]] = ()  # a population; each of its models has everything
    instead = "Give one of its models: model.replica(index)."

    def __init__(
        self, symbols: int, config: LanguageModelConfig, seeds: Sequence[int], dtype: torch.dtype, batch: int = 1
    ) -> None:
        super().__init__()
        self.dropout, self.batch = config.dropout, batch
        made = [_start(symbols, config, seed, dtype) for seed in seeds]
        self.cell = stack([cell for cell, _, _ in made])
        self.embedding = nn.Parameter(torch.stack([table for _, table, _ in made]))
        self.readout = nn.Parameter(torch.stack([readout for _, _, readout in made]))
        self.readout_bias = nn.Parameter(torch.zeros(len(seeds), symbols, dtype=dtype))
        for name, zeros in zip(self.cell.state_names, self.cell.zero_state(len(seeds), batch), strict=True):
            self.register_buffer(f"carried_{name}", zeros)

    @property
    def carried(self) -> State:
        """The state in which the last piece of the corpus left each replica, [replica, batch, unit]."""
        return tuple(self.get_buffer(f"carried_{name}") for name in self.cell.state_names)

    def carry(self, state: State | None) -> None:
        """Begin the next piece with this state, cut off from what made it; None: as a text begins."""
        begun = self.cell.zero_state(*self.carried[0].shape[:2]) if state is None else state
        for name, value in zip(self.cell.state_names, begun, strict=True):
            # New tensors: the old ones are needed for the gradients of the piece that began with them.
            setattr(self, f"carried_{name}", value.detach().clone())

    def forward(
        self, tokens: Int[Tensor, "replica batch time"], state: State | None = None
    ) -> tuple[Float[Tensor, "replica batch time symbol"], State]:
        """Logits of the next symbol, and the state at the end."""
        hidden, end = self._hidden(tokens, state or self.cell.zero_state(*tokens.shape[:2]))
        return self._logits(hidden).transpose(1, 2), end

    def losses(
        self, tokens: Int[Tensor, "replica batch time"], targets: Int[Tensor, "replica batch time"], state: State
    ) -> tuple[Float[Tensor, " replica"], State]:
        """Mean cross entropy of every replica in nats, and the state at the end."""
        hidden, end = self._hidden(tokens, state)
        rows = dropout(hidden, self.dropout, self.training).flatten(1, 2)
        return readout_losses(rows, self.readout, self.readout_bias, targets.transpose(1, 2).flatten(1)), end

    def _hidden(self, tokens: Tensor, state: State) -> tuple[Float[Tensor, "replica time batch unit"], State]:
        replicas, batch, time = tokens.shape
        if replicas == 1 and kernel_of(self.cell) is not None:
            return self._alone(tokens[0].T, state)
        offset = torch.arange(replicas, device=tokens.device)[:, None, None] * self.embedding.shape[1]
        entries, dropping = tokens + offset, self.training and self.dropout > 0
        if type(self.cell) is LSTMCell and self.embedding.shape[1] <= batch * time and not dropping:
            return self._lstm(entries.transpose(1, 2), state)
        vectors = dropout(embedding(entries, self.embedding.flatten(0, 1)), self.dropout, self.training)
        hidden, end = run_stacked(self.cell, vectors, state)
        return hidden.transpose(1, 2), end

    def _alone(self, tokens: Int[Tensor, "time batch"], state: State) -> tuple[Tensor, State]:
        """Torch's kernel; the replica axis of a state serves as its axis of layers."""
        kernel, cell = kernel_of(self.cell), self.cell
        weights = [
            weight.squeeze(0)
            for weight in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
            if weight is not None
        ]
        vectors = dropout(embedding(tokens, self.embedding.squeeze(0)), self.dropout, self.training)
        start = list(state) if len(state) > 1 else state[0]
        hidden, *end = kernel(vectors, start, weights, True, 1, 0.0, torch.is_grad_enabled(), False, False)
        return hidden[None], tuple(end)

    def _lstm(self, entries: Int[Tensor, "replica time batch"], state: State) -> tuple[Tensor, State]:
        """The gates' part of every symbol's embedding is computed once, instead of for every token."""
        table = stacked_linear(self.embedding, self.cell.weight_ih, self.cell.bias).flatten(0, 1)
        replicas, time, batch = entries.shape
        hidden, cell = state
        packed, end = run_lstm(table, entries.flatten(1), self.cell.weight_hh, hidden, cell, [batch] * time)
        hidden = packed.view(replicas, time, batch, -1)
        return hidden, (hidden[:, -1], end)

    def _logits(self, hidden: Float[Tensor, "replica time batch unit"]) -> Float[Tensor, "replica time batch symbol"]:
        rows = dropout(hidden, self.dropout, self.training).flatten(1, 2)
        if len(rows) == 1:
            logits = linear(rows[0], self.readout.squeeze(0), self.readout_bias.squeeze(0))
        else:
            logits = stacked_linear(rows, self.readout, self.readout_bias)
        return logits.view(*hidden.shape[:3], -1)

    def replica(self, index: int, dtype: torch.dtype | None = None) -> SequenceModel:
        """One of the models by itself, with weights of its own, as every analysis takes it."""
        table: nn.Embedding = nn.Embedding.from_pretrained(self.embedding[index].detach().clone(), freeze=False)
        readout = linear_of(self.readout[index], self.readout_bias[index])
        model = SequenceModel(Recurrent([unstack(self.cell, index)]), table, readout)
        return model.to(dtype or self.readout.dtype).eval()


def _start(symbols: int, config: LanguageModelConfig, seed: int, dtype: torch.dtype) -> tuple[Cell, Tensor, Tensor]:
    """A seed's cell, embedding and readout."""
    scheme = Initialization() if config.cell_limit is None else Initialization("uniform", config.cell_limit)
    with drawn_from(seed):
        cell = cells[config.cell](config.embedding, config.hidden, initialization=scheme)
        sizes = ((symbols, config.embedding), (symbols, cell.output_size))
        table, readout = ((torch.rand(size) * 2 - 1) * config.limit for size in sizes)
    return cell.to(dtype), table.to(dtype), readout.to(dtype)
