"""A study whose runs do everything that runs do, and nothing else: metrics, checkpoints, a table; in milliseconds.

Every file that it writes is read again and goes into its tables.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rote.claims import Source
from rote.errors import InterruptedRunError
from rote.laboratory import Study, StudyConfig, studies
from rote.recipes import Job, Measurement, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Column, Run, Table
from rote.training import stop_on_signal


@recipes.register("tiny")
@dataclass(frozen=True)
class TinyRecipe(Recipe):
    """A chain of hashes: any step that is lost, doubled or done with another state changes everything after it."""

    name = "tiny"
    steps: int = 4
    keep: int = 0  # so many of the first steps keep their checkpoints
    work: float = 0.0  # seconds of computing in each step
    pause: float = 0.0  # seconds of waiting in each step

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        if self.steps:
            _chain(run, self, f"seed {run.request.seeds[0]}", progress)


@measurements.register("tiny")
@dataclass(frozen=True)
class TinyMeasurement(Measurement):
    """Reads every file that the training wrote."""

    name = "tiny"

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        ended = trained[0]
        row = {
            "seed": ended.seeds[0],
            "value": ended.weights()["value"] if ended.steps else f"seed {ended.seeds[0]}",
            "measured": [row["loss"] for row in ended.run.metrics()],
            "kept": [ended.weights(step)["value"] for step in ended.steps],
        }
        return [Table.make("chain", "The end", tuple(map(Column, ("seed", "value", "measured", "kept"))), [row])]


@dataclass(frozen=True)
class TinyConfig(StudyConfig):
    seeds: int = 6
    steps: int = 4
    keep: int = 0
    work: float = 0.0
    pause: float = 0.0

    def recipe(self) -> TinyRecipe:
        return TinyRecipe(self.steps, self.keep, self.work, self.pause)


@studies.register("tiny")
class Tiny(Study[TinyConfig]):
    """Chains of hashes, one for each seed."""

    name = "tiny"
    source = Source("901", "tiny", "A source of one's own", "@misc{tiny}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = TinyConfig()

    def recipe(self, config: TinyConfig) -> TinyRecipe:
        return config.recipe()

    def jobs(self, config: TinyConfig) -> list[Job]:
        return [TinyMeasurement().of(job) for job in self.recipe(config).jobs(range(config.seeds))]

    def tables(self, config: TinyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        rows = [
            {"value": row["value"], "measured": len(row["measured"]), "kept": row["kept"][: config.keep]}
            for row in measured["chain"].records()
        ]
        return [Table.make("ends", "All ends", tuple(map(Column, ("value", "measured", "kept"))), rows)]


def _chain(run: Run, recipe: TinyRecipe, value: str, progress: Progress) -> None:
    state = _state(value)
    keep = range(1, recipe.keep + 1)
    resumed = run.resume()
    step, state = resumed if resumed is not None else (0, state)
    with stop_on_signal() as stop:
        while step < recipe.steps:
            end = time.process_time() + recipe.work
            text = f"{step} {state['model']['value']} {state['model']['bytes'].tolist()} {state['random'].tolist()}"
            state = _state(hashlib.sha256(text.encode()).hexdigest())
            while time.process_time() < end:
                pass
            time.sleep(recipe.pause)
            step += 1
            run.metrics.append({"step": step, "loss": [int(state["model"]["value"][:6], 16)]})
            progress(step, recipe.steps)
            if step < recipe.steps:
                run.save(step, state, keep)
                if stop.requested:
                    raise InterruptedRunError(f"Stopped after step {step} of {recipe.steps}; it is kept.")
    run.save(step, state, keep)  # also if it was, as the training loop does: a kill may have left the one before it


def _state(value: str) -> dict[str, Any]:
    """Once as plain values and once as a tensor: a checkpoint has a file for each; and what a finished run drops."""
    import torch

    data = torch.tensor(list(value.encode()), dtype=torch.uint8)
    return {"model": {"value": value, "bytes": data}, "random": data.flip(0)}
