"""Language models that are compared with one budget: parameters counted by hand, trials chosen on dev alone."""

from __future__ import annotations

from typing import Any

import pytest

from rote.errors import SettingError, UnknownNameError, UsageError
from rote.laboratory import studies
from rote.models import TextModelConfig
from rote.store import Table
from rote.studies.foundations.language_modeling import TRIALS, BudgetRecipe, LanguageConfig, tuned_tables
from rote.studies.foundations.text_training import largest_hidden, make_model
from rote.tasks.text_tasks import LanguageTask

TASK = LanguageTask(data="stand-in", examples=200)
EMBEDDING = 6


def recipe(network: str, budget: int) -> BudgetRecipe:
    cell = "elman" if network == "window" else network
    model = TextModelConfig(cell=cell, embedding=EMBEDDING, hidden=1)
    window = 3 if network == "window" else 0
    return BudgetRecipe(TASK, model, architecture="window" if window else "recurrent", window=window, budget=budget)


def parameters(network: str, words: int, hidden: int) -> int:
    """By the equations: embedding, hidden layer or cell with two biases for each gate, readout."""
    rest = words * EMBEDDING + (hidden + 1) * words
    if network == "window":
        return rest + (3 * EMBEDDING + 1) * hidden
    gates = {"elman": 1, "gru": 3, "lstm": 4}[network]
    return rest + gates * hidden * (EMBEDDING + hidden + 2)


@pytest.mark.parametrize("network", ["window", "elman", "gru", "lstm"])
@pytest.mark.parametrize("budget", [4000, 9137])
def test_a_network_is_as_large_as_its_budget_allows(network: str, budget: int) -> None:
    corpus = TASK.load()
    words = len(corpus.vocabulary)
    hidden = largest_hidden(recipe(network, budget), (words, len(corpus.labels)), budget)
    assert parameters(network, words, hidden) <= budget < parameters(network, words, hidden + 1)
    made = make_model(recipe(network, budget), corpus, 0)
    assert sum(one.numel() for one in made.parameters()) == parameters(network, words, hidden)


def test_a_budget_without_room_for_the_words_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'budget' must be at least \d+, for \d+ words and one hidden unit. Got 50"):
        make_model(recipe("elman", 50), TASK.load(), 0)


def test_dev_chooses_the_learning_rate_of_each_seed_and_test_is_not_looked_at() -> None:
    rows: list[dict[str, Any]] = [
        {"network": network, "rate": rate, "seed": seed, "parameters": 10, "loss": loss, "dev": 9.0, "test": test,
         "epoch": 2.0}
        for network, values in {
            "window": {(0, 0.1): (2.0, 8.0), (0, 0.3): (1.9, 9.0), (1, 0.1): (1.5, 7.0), (1, 0.3): (1.6, 6.0)},
            "elman": {(0, 0.1): (1.0, 5.0), (0, 0.3): (1.1, 4.0), (1, 0.1): (1.2, 6.0), (1, 0.3): (1.1, 6.5)},
        }.items()
        for (seed, rate), (loss, test) in values.items()
    ]  # fmt: skip
    trials = Table.make("trials", "", TRIALS, rows)
    outcome, networks, every = tuned_tables(LanguageConfig(rates=(0.1, 0.3)), trials, "")
    chosen = {(row["network"], row["seed"]): (row["rate"], row["test"]) for row in networks.records()}
    assert chosen == {("window", 0): (0.3, 9.0), ("window", 1): (0.1, 7.0), ("elman", 0): (0.1, 5.0),
                      ("elman", 1): (0.3, 6.5)}  # fmt: skip
    assert [(row["test"], row["rates"]) for row in outcome.records()] == [
        (8.0, "0.1: 1, 0.3: 1"),
        (5.75, "0.1: 1, 0.3: 1"),
    ]
    assert len(every.rows) == 8


def test_every_network_has_the_same_budget_rates_and_epochs() -> None:
    study: Any = studies["language-modeling"]()
    for preset in study.presets:
        config = study.resolve(preset, {"task.data": "stand-in"})
        jobs = [job for job in study.jobs(config) if job.request.study == "language-modeling-trials"]
        trained = {job.request.label: [need.request.config for need in job.needs] for job in jobs}
        assert list(trained) == list(config.tuned)
        tried = {
            name: sorted((one["budget"], one["training"]["learning_rate"], one["training"]["epochs"]) for one in made)
            for name, made in trained.items()
        }
        assert len({str(trials) for trials in tried.values()}) == 1
        assert len(tried["window"]) == config.seeds * len(config.rates)


def test_own_files_and_sweeps_train_no_other_networks_and_wrong_names_are_refused(tmp_path: Any) -> None:
    study: Any = studies["language-modeling"]()
    file = tmp_path / "text.txt"
    file.write_text("a b c\n" * 30)
    assert study.resolve("quick", {"task.train": str(file)}).tuned == ()
    assert study.resolve("quick", {"task.train": str(file), "tuned": "elman"}).tuned == ("elman",)
    assert study.resolve("quick", dict(study.swept)).tuned == ()
    with pytest.raises(UnknownNameError, match=r"Unknown network .elmann.\. Did you mean .elman."):
        study.resolve("smoke", {"tuned": "elmann"})
    with pytest.raises(SettingError, match=r"'budget' .* has no effect: 'tuned' names no network"):
        study.resolve("smoke", {"tuned": "", "budget": 100})
