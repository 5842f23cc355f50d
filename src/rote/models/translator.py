"""Bidirectional encoder and decoder with attention, many replicas at once (source 001, section 5.2 and appendix B).

Both encoder directions' states at the first and at the last position, four vectors, are the decoder's state at the
beginning; so the decoder has four times as many units as an encoder direction. The source does not say which attention
it uses; here that of Luong et al. (2015): score = state . W key, then tanh(V [attended; state]), then the readout. What
was attended to is not fed back, so the decoder's states are computed before any attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from rote.cells import Cell, Initialization, Stacked, cells, stack, stacked_linear
from rote.models.architecture import Capability
from rote.models.packed_pairs import Pairs, gather, join, run_ragged
from rote.models.settings import TranslatorConfig

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class StackedTranslator(nn.Module):
    """``seeds``: one replica each; a replica starts from its own seed alone. ``outputs`` counts the end symbol, which
    is also what the decoder is fed first."""

    capabilities: ClassVar[tuple[Capability, ...]] = ()  # its forward pass needs packed pairs
    instead = "Give a function from vectors of the input words to logits: see the arguments of its forward()."

    def __init__(
        self, config: TranslatorConfig, inputs: int, outputs: int, seeds: Sequence[int], dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            made = [_replica(config, inputs, outputs, seed) for seed in seeds]
        self.forward_cell, self.backward_cell, self.decoder = (
            stack([replica[0][place] for replica in made]) for place in range(3)
        )
        weights = [torch.stack(drawn) for drawn in zip(*(replica[1] for replica in made), strict=True)]
        self.words, self.actions, self.query, self.attended, self.stated, self.readout = map(nn.Parameter, weights)
        self.merge_bias = nn.Parameter(torch.zeros(len(seeds), 4 * config.hidden))
        self.readout_bias = nn.Parameter(torch.zeros(len(seeds), outputs))
        self.to(dtype)

    @property
    def replicas(self) -> int:
        return len(self.words)

    def forward(
        self, pairs: Pairs, words: Float[Tensor, "replica entry size"] | None = None
    ) -> Float[Tensor, "replica symbol place"]:
        """Logits at every place of the blocks, the decoder being fed with the targets. ``words``: the vectors of the
        input symbols, in place of the model's own."""
        keys, start = self.encode(pairs, self.words if words is None else words)
        states = run_ragged(self.decoder, self.actions, pairs.fed, pairs.output_sizes, start)
        states = gather(states, pairs.output_at)
        return self.read(self.attend(stacked_linear(states, self.query), keys, pairs), states)

    def attend(
        self,
        queries: Float[Tensor, "replica place key"],
        keys: Float[Tensor, "replica row position key"],
        pairs: Pairs,
    ) -> Float[Tensor, "replica place key"]:
        hidden = torch.zeros_like(keys[..., 0]).masked_fill(~pairs.mask, -torch.inf)
        rows, size = [block.rows for block in pairs.blocks], keys.shape[-1]
        by_block = queries.split([block.rows * block.steps for block in pairs.blocks], 1)
        attended = []
        for asked, known, hide in zip(by_block, keys.split(rows, 1), hidden.split(rows, 1), strict=True):
            memory = known.flatten(0, 1)
            scores = torch.baddbmm(hide.flatten(0, 1)[:, None], asked.reshape(len(memory), -1, size), memory.mT)
            attended.append(torch.bmm(scores.softmax(-1), memory).view(len(keys), -1, size))
        return torch.cat(attended, 1)

    def read(
        self, attended: Float[Tensor, "replica place key"], states: Float[Tensor, "replica place unit"]
    ) -> Float[Tensor, "replica symbol place"]:
        """Symbols before places: torch normalizes a few symbols several times as fast in this order."""
        merged = stacked_linear(states, self.stated, self.merge_bias)
        merged = torch.baddbmm(merged, attended, self.attended.mT).tanh()
        return torch.baddbmm(self.readout_bias[..., None], self.readout, merged.mT)

    def encode(
        self, pairs: Pairs, words: Float[Tensor, "replica entry size"]
    ) -> tuple[Float[Tensor, "replica row position unit"], Float[Tensor, "replica row state"]]:
        """Keys at every position, and the decoder's state at the beginning."""
        both = join(self.forward_cell, self.backward_cell)
        tokens, at = (
            torch.cat(pair) for pair in ((pairs.forward, pairs.backward), (pairs.forward_at, pairs.backward_at))
        )
        none = words.new_zeros(2 * self.replicas, pairs.input_sizes[0], self.config.hidden)
        states = gather(run_ragged(both, words.repeat(2, 1, 1), tokens, pairs.input_sizes, none), at)
        keys = torch.cat(states.chunk(2), -1)
        last = keys.gather(2, pairs.ends[..., None, None].expand(-1, -1, 1, keys.shape[-1]))
        return keys, torch.cat([keys[:, :, 0], last[:, :, 0]], -1)

    @torch.no_grad()
    def decode(self, pairs: Pairs, end: int, longest: int) -> Int[Tensor, "replica row step"]:
        """What the model says when fed its own best guess, up to ``longest`` symbols; behind ``end`` only that."""
        a = Stacked()
        keys, start = self.encode(pairs, self.words)
        hidden = torch.zeros_like(keys[..., 0]).masked_fill(~pairs.mask, -torch.inf)
        projected = self.decoder.enter(a, self.actions)
        state = tuple(start for _ in self.decoder.state_names)
        fed = torch.full_like(pairs.ends, end)
        ended = torch.zeros_like(fed, dtype=torch.bool)
        said: list[Tensor] = []
        while len(said) < longest and not bool(ended.all()):
            state = self.decoder.step(a, gather(projected, fed), state)
            queries = stacked_linear(state[0], self.query)
            weights = ((keys @ queries[..., None])[..., 0] + hidden).softmax(-1)
            logits = self.read((weights[..., None, :] @ keys)[..., 0, :], state[0])
            fed = logits.argmax(1).masked_fill(ended, end)
            ended = ended | (fed == end)
            said.append(fed)
        return torch.stack(said, -1)


def _replica(config: TranslatorConfig, inputs: int, outputs: int, seed: int) -> tuple[list[Cell], list[Tensor]]:
    """Cells and matrices of one network: Glorot uniform as in TensorFlow, biases 0, forget gates 1."""
    torch.manual_seed(seed)
    start = Initialization("glorot", forget_bias=1.0)
    size, key, vector = 4 * config.hidden, 2 * config.hidden, config.embedding
    made = [
        cells[config.cell](vector, units, biases="one", initialization=start)
        for units in (config.hidden, config.hidden, size)
    ]
    shapes = [(inputs, vector), (outputs, vector), (key, size), (size, key), (size, size), (outputs, size)]
    drawn = [torch.empty(shape) for shape in shapes]
    for matrix in drawn[:3]:
        nn.init.xavier_uniform_(matrix)
    limit = (6 / (key + size + size)) ** 0.5  # both halves of one matrix
    for matrix in drawn[3:5]:
        nn.init.uniform_(matrix, -limit, limit)
    nn.init.xavier_uniform_(drawn[5])
    return made, drawn
