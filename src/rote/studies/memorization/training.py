"""Training an autocomplete model as source 003 did: Adam, batches of 64 observations, masked cross entropy.

Both losses are recorded apart (the source's curves mix them): that of the training batch of the step, before its
update, and that of validation batches, after it. Ours: Adam's epsilon is torch's, not TensorFlow's "epsilon hat".
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.models import AutocompleteConfig, AutocompleteModel, SoftmaxConfig
from rote.tasks.autocomplete import WORDS_BEFORE, AutocompleteTask
from rote.training import Program, TrainingConfig, choose_device

if TYPE_CHECKING:
    from rote.store import Run


class AutocompleteProgram(Program):
    """One model on one text. ``measure`` gives, beside "loss" (validation, as a list for the training loop),
    "training_loss" (of the softmax that is trained with, before the update) and "validation_loss" (always exact) in
    nats, "seconds" of training from its beginning, measuring and interruptions left out, and "characters_per_second"
    of training since the last record (None before the first update)."""

    model: AutocompleteModel

    def __init__(
        self,
        task: AutocompleteTask,
        model: AutocompleteConfig,
        training: TrainingConfig,
        seed: int,
        device: str = "cpu",
        *,
        softmax: SoftmaxConfig | None = None,
        validation_batches: int = 1,
        run: Run | None = None,
    ) -> None:
        """``run``: whose metrics say how long it was trained before it was interrupted."""
        self.text, self.training, self.seed = task.observations(), training, seed
        self.validation_batches, self.run = validation_batches, run
        self.samples = softmax.samples if softmax is not None and softmax.kind == "sampled" else 0
        self.model = AutocompleteModel(model, self.text.vocabulary, seed, training.torch_dtype())
        self.model.to(choose_device(device))
        like = self.model.readout.weight
        self.frequencies = torch.from_numpy(self.text.frequencies).to(like.device, like.dtype)
        self.frequencies[: len(WORDS_BEFORE)] = 0  # never a target that counts
        self.done, self.clock = 0, _Clock()
        self.last: Tensor | None = None  # loss of the last training batch

    def losses(self, step: int) -> Tensor:
        if not self.clock.running:
            self.clock.start(self._seconds_before())
        batch = self.text.training(self.seed, step, self.training.batch)
        self.clock.characters += int(batch.lengths.sum())
        loss = self.model.loss(batch, self.samples, self.frequencies)
        self.done, self.last = step + 1, loss.detach()
        return loss[None]

    def measure(self) -> dict[str, Any]:
        times = self.clock.stop()
        last = self.last
        if last is None:  # before the first update
            last = self.model.loss(self.text.training(self.seed, 0, self.training.batch))
        first = self.done * self.validation_batches
        numbers = range(first, first + self.validation_batches)
        found = [self.model.loss(self.text.validation(number, self.training.batch)) for number in numbers]
        validation = float(torch.stack(found).mean())
        return {"loss": [validation], "training_loss": float(last), "validation_loss": validation, **times}

    def _seconds_before(self) -> float:
        """Of training until the last record, by this process or by one that was interrupted."""
        rows = self.run.metrics.rows() if self.run is not None else []
        return float(rows[-1]["seconds"]) if rows else 0.0


class _Clock:
    """Seconds and characters of training, without the time that measuring takes."""

    def __init__(self) -> None:
        self.before, self.characters = 0.0, 0
        self.since: float | None = None

    @property
    def running(self) -> bool:
        return self.since is not None

    def start(self, before: float) -> None:
        self.before, self.since, self.characters = max(before, self.before), time.perf_counter(), 0

    def stop(self) -> dict[str, float | None]:
        if self.since is None:
            return {"seconds": self.before, "characters_per_second": None}
        spent = time.perf_counter() - self.since
        self.before, self.since = self.before + spent, None
        return {"seconds": self.before, "characters_per_second": self.characters / spent}
