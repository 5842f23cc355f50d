"""Training of the lookup models: baseline and guided differ in one number, the weight of the attention loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rote.models import EncoderDecoder
from rote.models.encoder_decoder import Decoded
from rote.studies.realization.settings import LookupModelConfig
from rote.tasks.lookup import IGNORED, PAD, START, Example
from rote.tasks.lookup_encoding import encode
from rote.training import Program

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

SMALLEST = 1e-20  # attention below it counts as this much, as in the original loss
MONITORED = ("validation", "heldout_inputs", "heldout_compositions", "heldout_tables", "new_compositions")


@dataclass(frozen=True)
class Batch:
    """Rows for every replica; padded positions hold PAD, attention targets that do not count IGNORED."""

    tokens: Int[Tensor, "replica batch input"]
    mask: Bool[Tensor, "replica batch input"]
    targets: Int[Tensor, "replica batch output"]
    attention: Int[Tensor, "replica batch output"]


class LookupData:
    """All splits as tensors, with the vocabularies of the task."""

    def __init__(self, splits: Mapping[str, Sequence[Example]], symbols: tuple[list[str], list[str]], device: str):
        self.input_symbols, self.output_symbols = symbols
        self.start = self.output_symbols.index(START)
        self.device = torch.device(device)
        encoded = {name: encode(rows, *symbols) for name, rows in splits.items() if rows}
        self._splits = {
            name: tuple(
                torch.from_numpy(part).to(self.device) for part in (rows.inputs, rows.outputs, rows.attention)
            )
            for name, rows in encoded.items()
        }  # fmt: skip

    def size(self, split: str) -> int:
        return len(self._splits[split][0])

    def names(self) -> list[str]:
        return list(self._splits)

    def rows(self, split: str, chosen: Int[Tensor, "replica batch"]) -> Batch:
        """These rows of a split, another choice for each replica, without steps that are padding for all of them."""
        tokens, targets, attention = (part[chosen] for part in self._splits[split])
        inputs, outputs = (int((part != PAD).sum(-1).max()) for part in (tokens, targets))
        tokens = tokens[..., :inputs]
        return Batch(tokens, tokens != PAD, targets[..., :outputs], attention[..., :outputs])

    def whole(self, split: str, replicas: int) -> Batch:
        everything = torch.arange(self.size(split), device=self.device)
        return self.rows(split, everything.expand(replicas, -1))


class LookupProgram(Program):
    """A population of lookup models with its data; ``orders``: the seed that shuffles each replica's examples."""

    stacked = True
    monitored = "validation_loss"

    def __init__(
        self, model: EncoderDecoder, data: LookupData, config: LookupModelConfig, guidance: float, orders: Sequence[int]
    ) -> None:
        self.model, self.data, self.config, self.guidance = model, data, config, guidance
        self.orders, self.replicas = tuple(orders), model.replicas
        self._epoch: tuple[int, Tensor] = (-1, torch.empty(0))

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        batch = self.data.rows("train", self._chosen(step))
        decoded = self._forward(batch, self.config.teacher_forcing)
        loss = _by_step(_surprise(decoded, batch), batch.targets != PAD).sum(-1)
        if self.guidance:
            counted = (batch.attention != IGNORED) & (batch.targets != PAD)
            loss = loss + self.guidance * _by_step(_inattention(decoded, batch), counted).sum(-1)
        return loss

    def measure(self) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for split in MONITORED:
            batch = self.data.whole(split, self.replicas)
            decoded = self._forward(batch)
            row[split] = correct(decoded, batch).double().mean(-1).tolist()
            if split == "validation":
                row["validation_loss"] = self._selection_loss(decoded, batch).tolist()
        return row

    def accuracy(self, split: str) -> list[float]:
        """Share of sequences that are right in every position, for each replica."""
        batch = self.data.whole(split, self.replicas)
        with torch.no_grad():
            return correct(self._forward(batch), batch).double().mean(-1).tolist()

    def _selection_loss(self, decoded: Decoded, batch: Batch) -> Tensor:
        """Mean per step; the guided models' includes their attention loss."""
        counted = batch.targets != PAD
        loss = _masked_mean(_surprise(decoded, batch), counted)
        if self.guidance:
            attended = counted & (batch.attention != IGNORED)
            loss = loss + self.guidance * _masked_mean(_inattention(decoded, batch), attended)
        return loss

    def _forward(self, batch: Batch, teacher_forcing: bool = False) -> Decoded:
        decoded: Decoded = self.model(batch.tokens, batch.mask, batch.targets, self.data.start, teacher_forcing)
        return decoded

    def _chosen(self, step: int) -> Int[Tensor, "replica batch"]:
        """Each epoch goes through the training rows once, in an order of each replica's own."""
        rows, batch = self.data.size("train"), self.config.training.batch
        epoch, update = divmod(step, -(-rows // batch))
        if self._epoch[0] != epoch:
            orders = [np.random.default_rng((seed, epoch)).permutation(rows) for seed in self.orders]
            self._epoch = (epoch, torch.from_numpy(np.stack(orders)).to(self.data.device))
        return self._epoch[1][:, update * batch : (update + 1) * batch]


def correct(decoded: Decoded, batch: Batch) -> Bool[Tensor, "replica batch"]:
    """Whether a sequence is right in every position that has a target."""
    return ((decoded.logits.argmax(-1) == batch.targets) | (batch.targets == PAD)).all(-1)


def _surprise(decoded: Decoded, batch: Batch) -> Float[Tensor, "replica batch output"]:
    """Minus the log probability of each target."""
    return -decoded.logits.log_softmax(-1).gather(-1, batch.targets[..., None])[..., 0]


def _inattention(decoded: Decoded, batch: Batch) -> Float[Tensor, "replica batch output"]:
    """Minus the log of the attention on each target position."""
    at = batch.attention.clamp(min=0)[..., None]
    return -decoded.attention.gather(-1, at)[..., 0].clamp(min=SMALLEST).log()


def _by_step(values: Tensor, counted: Tensor) -> Float[Tensor, "replica output"]:
    """Mean over the rows of the batch that have a target at this step."""
    return (values * counted).sum(1) / counted.sum(1).clamp(min=1)


def _masked_mean(values: Tensor, counted: Tensor) -> Float[Tensor, " replica"]:
    return (values * counted).sum((1, 2)) / counted.sum((1, 2))


def make_program(config: LookupModelConfig, guided: bool, seeds: Sequence[int], device: str) -> LookupProgram:
    """New models, one per seed; a baseline and a guided model of one seed start and see their data alike."""
    symbols = config.task.vocabulary()
    data = LookupData(config.task.splits(), symbols, device)
    model = EncoderDecoder(config.model, len(symbols[0]), len(symbols[1]), seeds, config.training.torch_dtype())
    return LookupProgram(model.to(device), data, config, config.guidance if guided else 0.0, seeds)
