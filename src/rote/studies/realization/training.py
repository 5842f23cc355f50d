"""Training of the lookup models: baseline and guided differ in one number, the weight of the attention loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.models import EncoderDecoder
from rote.models.encoder_decoder import Decoded
from rote.tasks.lookup import IGNORED, PAD, START, Example, LookupTask
from rote.tasks.lookup_encoding import encode
from rote.tasks.shuffling import ShuffledBatches
from rote.training import Program, TrainingConfig

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from rote.recipes import Trained
    from rote.studies.realization.models import LookupRecipe

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
        self, model: EncoderDecoder, data: LookupData, training: TrainingConfig, orders: Sequence[int],
        guidance: float, teacher_forcing: bool,
    ) -> None:  # fmt: skip
        self.model, self.data, self.training = model, data, training
        self.order = ShuffledBatches(orders, data.size("train"), training.batch)
        self.guidance, self.teacher_forcing, self.replicas = guidance, teacher_forcing, model.replicas

    def losses(self, step: int) -> Float[Tensor, " replica"]:
        batch = self.data.rows("train", self._chosen(step))
        decoded = self._forward(batch, self.teacher_forcing)
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
        return torch.from_numpy(self.order(step)).to(self.data.device)


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


def make_models(recipe: LookupRecipe, seeds: Sequence[int]) -> EncoderDecoder:
    """New models, one per seed; a baseline and a guided model of one seed start alike."""
    inputs, outputs = recipe.task.vocabulary()
    return EncoderDecoder(recipe.model, len(inputs), len(outputs), seeds, recipe.training.torch_dtype())


def make_program(
    recipe: LookupRecipe, seeds: Sequence[int], device: str, task: LookupTask | None = None
) -> LookupProgram:
    """The training of new models. ``task``: another than that of the recipe, to measure them on."""
    task = task or recipe.task
    data, model = LookupData(task.splits(), task.vocabulary(), device), make_models(recipe, seeds).to(device)
    return LookupProgram(model, data, recipe.training, seeds, recipe.guidance, recipe.teacher_forcing)


def accuracies(trained: Trained, task: LookupTask, device: str) -> dict[str, list[float]]:
    """Split of the task -> sequence accuracy of every trained model."""
    program = make_program(trained.recipe, trained.seeds, device, task)
    program.model.load_state_dict(trained.weights())
    return {split: program.accuracy(split) for split in program.data.names()}
