"""The trained models that come with the package, one small one per cell: how they are made.

    python -m rote.studies.memorization.starter              # all three, into src/rote/data/autocomplete
    python -m rote.studies.memorization.starter gru --out DIR

One layer over the 8,000 most frequent words of the first 10 million characters of text8, one thread. All three are
trained alike, and have as many parameters within 1 %. Runs are kept in the store ($ROTE_HOME): one that was stopped
goes on, a finished one is not trained again. The same commands give the same weights on the same machine and versions.
Weights are rounded to 16 bits before they are evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from rote.config import parse_overrides, resolve
from rote.laboratory.bundled_models import arguments, facts_of, trained_once
from rote.models import AutocompleteConfig, SoftmaxConfig, save_autocomplete
from rote.models.saved_autocomplete import FOLDER
from rote.store import Store
from rote.studies.memorization.autocomplete import AutocompleteRecipe
from rote.studies.memorization.autocomplete_accuracy import evaluate
from rote.tasks.autocomplete import AutocompleteTask
from rote.training import TrainingConfig

UNITS = {"gru": 160, "lstm": 155, "nested_lstm": 140}  # 1.45 million parameters each
SEED = 0
TESTED = ("cross_entropy", "accuracy", "corrected_accuracy", "mean_loss", "observations", "characters")
LICENSE = "Learned from text8, that is from Wikipedia (CC BY-SA); the weights come under the license of the package."


def recipe_of(cell: str) -> AutocompleteRecipe:
    training = TrainingConfig(
        steps=5000, batch=32, optimizer="adam", learning_rate=0.01, schedule="cosine", decay=0.01, clip=1.0,
        record_every=500,
    )  # fmt: skip
    task, model = AutocompleteTask(characters=10_000_000, words=8000), AutocompleteConfig(cell, UNITS[cell], layers=1)
    return AutocompleteRecipe(task, model, training, SoftmaxConfig("sampled", 512))


def make(recipe: AutocompleteRecipe, out: Path, store: Store) -> dict[str, Any]:
    """Train one, round it, evaluate it on the test text, and save it with its record; what is recorded."""
    recipe = replace(recipe, task=recipe.task.resolved())
    trained = trained_once(recipe, SEED, store)
    rounded = {name: weight.half().float() for name, weight in trained.weights().items()}
    model: Any = recipe.network(trained, rounded, 0).model
    result, last = evaluate(model, recipe.task.observations()), trained.run.metrics()[-1]
    facts = {
        **facts_of(trained.run),
        "training_loss": last["training_loss"][0],
        "validation_loss": last["loss"][0],
        "test": {name: getattr(result, name) for name in TESTED},
        "license": LICENSE,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_autocomplete(out / recipe.cell, model, torch.float16, facts=facts)
    return facts


def row(cell: str, facts: Mapping[str, Any]) -> str:
    """Its line in docs/autocomplete.md."""
    config, test = facts["request"]["config"], facts["test"]
    model = AutocompleteConfig(cell, config["model"]["units"], config["model"]["layers"])
    size = sum(model.parameters(config["task"]["words"]).values())
    return (
        f"| {cell} | {model.units} | {size:,} | {config['training']['steps']:,} | {test['cross_entropy']:.3f} | "
        f"{test['corrected_accuracy']:.1%} | {facts['seconds'] / 60:.0f} |"
    )


def main() -> None:
    asked = arguments("small autocomplete", tuple(UNITS), FOLDER)
    torch.set_num_threads(1)
    for cell in asked.names:
        facts = make(resolve(recipe_of(cell), parse_overrides(asked.set)), asked.out, Store())
        print(row(cell, facts))


if __name__ == "__main__":
    main()
