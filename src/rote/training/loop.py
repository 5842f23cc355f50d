"""The one training loop: any program, resumable at every step, recorded, interruptible.

Order within a step: update, record, checkpoint. A checkpoint remembers how long the metrics file was, so a run that is
taken up again repeats at most the steps since then, to the same bytes.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch

from rote.errors import InterruptedRunError, RunFailedError
from rote.store import Run
from rote.training.early_stopping import EarlyStopping
from rote.training.interrupt import Stop, stop_on_signal
from rote.training.program import OnlineProgram, Program
from rote.training.randomness import fix_seeds, random_state, restore_random_state
from rote.training.settings import TrainingConfig, checkpoint_seconds

Progress = Callable[[int, int], None]  # steps done, steps in all
SHARE_FOR_CHECKPOINTS = 0.02  # of the time, at most
LARGE = 100_000  # numbers, from which a gradient's memory is used again


def train(
    program: Program,
    config: TrainingConfig,
    run: Run,
    *,
    progress: Progress | None = None,
    record_at: Collection[int] | None = None,
    snapshots: Collection[int] = (),
) -> None:
    """Train to the end, from the run's last checkpoint where there is one.

    ``record_at``: steps that are measured, by default those of the configuration.
    ``snapshots``: steps whose weights stay, for analyses over training. Those of the last step always do.
    """
    recorded = set(config.recorded_steps() if record_at is None else record_at)
    with stop_on_signal() as stop:
        _Training(program, config, run, progress or (lambda done, total: None), recorded, set(snapshots), stop).go()


class _Training:
    def __init__(
        self,
        program: Program,
        config: TrainingConfig,
        run: Run,
        progress: Progress,
        recorded: set[int],
        keep: set[int],
        stop: Stop,
    ) -> None:
        self.program, self.config, self.run, self.progress = program, config, run, progress
        self.recorded, self.keep, self.stop = recorded, keep, stop
        self.parameters = list(program.model.parameters())
        self.optimizer = config.make_optimizer(self.parameters)
        chooses = config.patience is not None or config.select == "best"
        self.early = EarlyStopping(program, config.patience) if chooses else None
        self.timer = _CheckpointTimer()

    def go(self) -> None:
        step = self._begin()
        self.progress(step, self.config.steps)
        shown = time.monotonic()
        while not self._over(step):
            self._update(step)
            step += 1
            if step in self.recorded:
                self._record(step)
            if self._over(step):
                break  # the last step is saved once, below: two checkpoints of one step could not be told apart
            if step in self.keep or self.timer.due() or self.stop.requested:
                self._save(step)
            if time.monotonic() - shown > 0.1:
                self.progress(step, self.config.steps)
                shown = time.monotonic()
            if self.stop.requested:
                raise InterruptedRunError(f"Stopped after step {step} of {self.config.steps}; it is kept.")
        if self.early:
            self.early.restore_best()
        self._save(step)
        self.progress(self.config.steps, self.config.steps)

    def _over(self, step: int) -> bool:
        return step >= self.config.steps or (self.early is not None and self.early.finished)

    def _begin(self) -> int:
        randomness = fix_seeds(self.run.request.seeds[0] if self.run.request.seeds else 0)
        resumed = self.run.resume()
        if resumed is not None:
            step, state = resumed
            self._restore(state)
            return step
        self.run.note(randomness={**randomness, "seeds": list(self.run.request.seeds)})
        if 0 in self.recorded:
            self._record(0)
        if 0 in self.keep:
            self._save(0)
        return 0

    def _update(self, step: int) -> None:
        if isinstance(self.program, OnlineProgram):
            self.program.update(step)
            return
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.learning_rate_at(step)
        losses = self.program.losses(step)
        self._forget_gradients()
        losses.sum().backward()
        if self.config.clip is not None:
            clip_gradients(self.program, self.config.clip)
        self.optimizer.step()

    def _forget_gradients(self) -> None:
        """As torch.optim's zero_grad does, at a tenth of its cost. To allocate large gradients anew takes longer than
        to fill them."""
        for parameter in self.parameters:
            if parameter.grad is not None and parameter.numel() >= LARGE:
                parameter.grad.zero_()
            else:
                parameter.grad = None

    def _record(self, step: int) -> None:
        modes = [(module, module.training) for module in self.program.model.modules()]
        self.program.model.eval()
        with torch.no_grad():
            row = self.program.measure()
        for module, training in modes:  # each as it was: a part may be frozen
            module.training = training
        watched = row.get(self.program.monitored)
        if watched is None:
            raise RunFailedError(
                f"measure() of {type(self.program).__name__} must give {self.program.monitored!r}, which is monitored. "
                f"Got {', '.join(row) or 'nothing'}."
            )
        if not any(map(math.isfinite, watched)):
            raise RunFailedError(f"At step {step} {self.program.monitored!r} is not finite. Try a lower learning rate.")
        self.run.metrics.append({"step": step, **row})
        if self.early:
            self.early.update(watched)

    def _save(self, step: int) -> None:
        with self.timer.measured():
            state: dict[str, Any] = {  # of which the finished run keeps the model
                "model": self.program.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "random": random_state(),
                "early": self.early.state() if self.early else None,
            }
            self.run.save(step, state, self.keep)

    def _restore(self, state: dict[str, Any]) -> None:
        self.program.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        restore_random_state(state["random"])
        if self.early:
            self.early.load(state["early"])


def clip_gradients(program: Program, limit: float) -> None:
    """Scale each replica's gradient down to the norm ``limit`` where it is longer."""
    parameters = [parameter for parameter in program.model.parameters() if parameter.grad is not None]
    if not program.stacked:
        torch.nn.utils.clip_grad_norm_(parameters, limit)
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norms = torch.stack([torch.linalg.vector_norm(gradient.flatten(1), dim=1) for gradient in gradients])
    scale = (limit / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)
    if bool((scale == 1).all()):
        return
    for gradient in gradients:
        gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))


class _CheckpointTimer:
    """Every 30 seconds (``ROTE_CHECKPOINT_SECONDS``; 0: each step), but never more than a small share of the time."""

    def __init__(self) -> None:
        self.interval = checkpoint_seconds()
        self.last = time.monotonic()
        self.cost = 0.0

    def due(self) -> bool:
        wait = max(self.interval, self.cost / SHARE_FOR_CHECKPOINTS) if self.interval > 0 else 0.0
        return time.monotonic() - self.last >= wait

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Around the writing of a checkpoint."""
        started = time.monotonic()
        yield
        self.last = time.monotonic()
        self.cost = self.last - started
