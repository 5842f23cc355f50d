"""The trained models that come with the package, one small one per cell: how they are made.

    python -m rote.studies.memorization.starter              # all three, into src/rote/data/autocomplete
    python -m rote.studies.memorization.starter gru --out DIR

One layer of 160 units over the 5,000 most frequent words of the first 10 million characters of text8, one thread. Runs
are kept in the store ($ROTE_HOME): one that was stopped goes on, a finished one is not trained again. The same commands
give the same weights on the same machine and versions. Weights are rounded to 16 bits before they are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from rote.config import parse_overrides, resolve, to_plain
from rote.models import AutocompleteConfig, SoftmaxConfig, save_autocomplete
from rote.models.saved_autocomplete import FOLDER
from rote.store import Request, Run, Store
from rote.studies.memorization.evaluation import evaluate
from rote.studies.memorization.training import AutocompleteProgram
from rote.studies.starters import arguments, facts_of, train_once
from rote.tasks.autocomplete import AutocompleteTask
from rote.training import TrainingConfig

CELLS = ("gru", "lstm", "nested_lstm")
SEED, VERSION = 0, 1
TESTED = ("cross_entropy", "accuracy", "corrected_accuracy", "mean_loss", "observations", "characters")
LICENSE = "Learned from text8, that is from Wikipedia (CC BY-SA); the weights come under the license of the package."


@dataclass(frozen=True)
class StarterConfig:
    task: AutocompleteTask = field(default_factory=lambda: AutocompleteTask(characters=10_000_000, words=5000))
    model: AutocompleteConfig = field(default_factory=lambda: AutocompleteConfig(units=160, layers=1))
    softmax: SoftmaxConfig = field(default_factory=lambda: SoftmaxConfig("sampled", 512))
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=1300, batch=32, optimizer="adam", learning_rate=0.01, schedule="exponential", decay=0.1,
            decay_every=1300, clip=1.0, record_every=100,
        )
    )  # fmt: skip


def config_of(cell: str) -> StarterConfig:
    """A step of the Nested LSTM takes twice as long as one of the others: it gets fewer."""
    config = resolve(StarterConfig(), {"model.cell": cell})
    return resolve(config, {"training.steps": 900, "training.decay_every": 900}) if cell == "nested_lstm" else config


def make(config: StarterConfig, out: Path, store: Store) -> dict[str, Any]:
    """Train one, round it, evaluate it on the test text, and save it with its record; what is recorded."""
    cell = config.model.cell
    request = Request("autocomplete-starter", VERSION, cell, to_plain(config), (SEED,))
    program = AutocompleteProgram(config.task, config.model, config.training, SEED, softmax=config.softmax)

    def begin(run: Run) -> None:
        program.run = run
        run.note(device="cpu", data={program.text.origin: program.text.sha256})

    finished = train_once(program, config.training, request, store, begin)
    model, weights = program.model.eval(), finished.checkpoint()["model"]
    model.load_state_dict({name: weight.half().float() for name, weight in weights.items()})
    found, last = evaluate(model, program.text), finished.metrics()[-1]
    facts = {
        **facts_of(finished),
        "training_loss": last["training_loss"],
        "validation_loss": last["validation_loss"],
        "test": {name: getattr(found, name) for name in TESTED},
        "license": LICENSE,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_autocomplete(out / cell, model, torch.float16, **facts)
    return facts


def main() -> None:
    given = arguments("small autocomplete", CELLS, FOLDER)
    torch.set_num_threads(1)
    changes = parse_overrides(given.set)
    for cell in given.names:
        facts = make(resolve(config_of(cell), changes), given.out, Store())
        print(f"{cell}: {facts['seconds']:.0f} s, test {facts['test']}")


if __name__ == "__main__":
    main()
