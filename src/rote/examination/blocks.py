"""A language model of blocks, as today's linear recurrences are used: norm, cell, residual; norm, feed-forward,
residual."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from rote.cells import Recurrent


class Block(nn.Module):
    def __init__(self, cell: str, width: int, **options: Any) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.recurrent = Recurrent(cell, width, width, **options)
        self.back = nn.Linear(self.recurrent.output_size, width)
        self.feedforward = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, values: Tensor) -> Tensor:
        hidden, _ = self.recurrent(self.norms[0](values))
        values = values + self.back(hidden)
        changed: Tensor = values + self.feedforward(self.norms[1](values))
        return changed


class BlockModel(nn.Module):
    """Tokens [batch, time] to logits [batch, time, symbol]. ``options``: of the cell."""

    def __init__(self, cell: str, symbols: int, width: int, blocks: int, **options: Any) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, width)
        self.blocks = nn.Sequential(*(Block(cell, width, **options) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.readout = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.norm(self.blocks(self.embedding(tokens))))
        return logits
