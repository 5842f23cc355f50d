"""Forms of the translator of source 001 with other attention, and one that separates syntax from words.

bilinear     as in ``StackedTranslator``
additive     score = v . tanh(W state + key), as in Bahdanau et al. (2015)
none         the decoder has its own states only

``separated``: the source's two components have networks of their own. All action words look alike to the encoder and to
the decoder, which say where an action word stands and which turns there are; which action it is comes from the attended
word alone, through a table of its own. It cannot but compose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from rote.cells import stacked_linear
from rote.models.packed_pairs import Pairs, gather, run_ragged
from rote.models.structures import TranslatorFormConfig
from rote.models.translator import StackedTranslator

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class TranslatorForm(StackedTranslator):
    """``alike``: how many symbols, the first of the inputs and of the outputs, are action words."""

    def __init__(
        self,
        config: TranslatorFormConfig,
        inputs: int,
        outputs: int,
        alike: int,
        seeds: Sequence[int],
        dtype: torch.dtype,
    ) -> None:
        super().__init__(config, inputs, outputs, seeds, dtype)
        self.form, self.alike = config, alike
        key = 2 * config.hidden
        if config.attention == "additive":
            self.scored = nn.Parameter(torch.full((len(seeds), key, 1), key**-0.5, dtype=dtype))
        if config.separated:
            self.meaning = nn.Parameter(torch.zeros(len(seeds), inputs, alike, dtype=dtype))

    def forward(
        self, pairs: Pairs, words: Float[Tensor, "replica entry size"] | None = None
    ) -> Float[Tensor, "replica symbol place"]:
        read: Tensor = self.words if words is None else words
        actions: Tensor = self.actions
        if self.form.separated:
            read, actions = _alike(read, self.alike), _alike(actions, self.alike)
        keys, start = self.encode(pairs, read)
        states = gather(run_ragged(self.decoder, actions, pairs.fed, pairs.output_sizes, start), pairs.output_at)
        values = keys
        if self.form.separated:
            meaning = gather(gather(self.meaning, pairs.forward), pairs.forward_at)
            values = torch.cat([keys, meaning], -1)
        attended = self._attended(stacked_linear(states, self.query), keys, values, pairs)
        size = keys.shape[-1]
        logits = self.read(attended[..., :size].contiguous(), states)
        if not self.form.separated:
            return logits
        which = attended[..., size:].log_softmax(-1).mT
        return torch.cat([logits[:, :1] + which, logits[:, self.alike :]], 1)

    def decode(self, pairs: Pairs, end: int, longest: int) -> Int[Tensor, "replica row step"]:
        raise NotImplementedError("Only the right answers of these forms are scored: see ScanProgram.right.")

    def _attended(self, queries: Tensor, keys: Tensor, values: Tensor, pairs: Pairs) -> Tensor:
        if self.form.attention == "none":
            return torch.zeros(*queries.shape[:2], values.shape[-1], dtype=queries.dtype, device=queries.device)
        hidden = torch.zeros_like(keys[..., 0]).masked_fill(~pairs.mask, -torch.inf)
        rows = [block.rows for block in pairs.blocks]
        by_block = queries.split([block.rows * block.steps for block in pairs.blocks], 1)
        found = []
        for asked, known, value, hide in zip(
            by_block, keys.split(rows, 1), values.split(rows, 1), hidden.split(rows, 1), strict=True
        ):
            by_row = asked.reshape(*known.shape[:2], -1, asked.shape[-1])
            weights = (self._scores(by_row, known) + hide[:, :, None]).softmax(-1)
            found.append((weights @ value).flatten(1, 2))
        return torch.cat(found, 1)

    def _scores(
        self, asked: Float[Tensor, "replica row step key"], known: Float[Tensor, "replica row position key"]
    ) -> Float[Tensor, "replica row step position"]:
        if self.form.attention == "bilinear":
            return asked @ known.mT
        mixed = torch.tanh(asked[:, :, :, None] + known[:, :, None])
        return (mixed * self.scored.mT[:, None, None]).sum(-1)


def _alike(vectors: Float[Tensor, "replica entry size"], count: int) -> Tensor:
    """The first ``count`` entries have the first one's vector."""
    return torch.cat([vectors[:, :1].expand(-1, count, -1), vectors[:, count:]], 1)
