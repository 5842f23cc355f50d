"""A study whose runs do everything that runs do, and nothing else: metrics, checkpoints, a table; in milliseconds."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rote.claims import Source
from rote.errors import InterruptedRunError
from rote.store import Column, FinishedRun, Request, Run, Table
from rote.studies import Study, studies
from rote.studies.study import Progress
from rote.training import stop_on_signal


@dataclass(frozen=True)
class TinyConfig:
    seeds: int = 6
    steps: int = 4
    work: float = 0.0  # seconds of computing in each step
    pause: float = 0.0  # seconds of waiting in each step


@studies.register("tiny")
class Tiny(Study[TinyConfig]):
    """A chain of hashes: any step that is lost, doubled or done with another state changes everything after it."""

    name = "tiny"
    version = 1
    source = Source("901", "tiny", "A source of one's own", "@misc{tiny}")
    place = title = about = "nowhere"
    claims = ()
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": {}, "quick": {}, "paper": {}}
    default = TinyConfig()

    def requests(self, config: TinyConfig) -> list[Request]:
        return [self.request("chain", config, (seed,)) for seed in range(config.seeds)]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        config = self.config_of(request)
        value = f"seed {request.seeds[0]}"
        if config.steps:
            value = _chain(run, config, value, progress)
        return [Table.make("chain", "The end", (Column("seed"), Column("value")), [{"value": value}])]

    def summarize(self, config: TinyConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        values = [run.tables()["chain"].column("value")[0] for run in runs]
        return [Table.make("ends", "All ends", (Column("value"),), [{"value": value} for value in values])]


def _chain(run: Run, config: TinyConfig, value: str, progress: Progress) -> str:
    state: dict[str, Any] = {"value": value}
    resumed = run.resume()
    step, state = resumed if resumed is not None else (0, state)
    with stop_on_signal() as stop:
        while step < config.steps:
            end = time.process_time() + config.work
            state = {"value": hashlib.sha256(f"{step} {state['value']}".encode()).hexdigest()}
            while time.process_time() < end:
                pass
            time.sleep(config.pause)
            step += 1
            run.metrics.append({"step": step, "loss": [int(state["value"][:6], 16)]})
            progress(step, config.steps)
            if step < config.steps:
                run.save(step, state)
                if stop.requested:
                    raise InterruptedRunError(f"Stopped after step {step} of {config.steps}; it is kept.")
    run.save(step, state)  # also if it was, as the training loop does: a kill may have left the one before it
    return str(state["value"])
