"""Evaluation against loops over every character; training that is stopped goes on to the same weights."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from rote.models import AutocompleteConfig, SoftmaxConfig
from rote.store import Request, Store
from rote.studies.memorization.autocomplete_accuracy import KNOWN, TOP, evaluate
from rote.studies.memorization.autocomplete_training import AutocompleteProgram
from rote.tasks.autocomplete import PADDING, UNKNOWN, AutocompleteTask
from rote.training import TrainingConfig, train

TASK = AutocompleteTask("bundled", characters=40_000, length=60, words=50)
TRAINING = TrainingConfig(
    steps=6, batch=8, optimizer="adam", learning_rate=0.02, record_every=2, dtype="float64"
)  # fmt: skip


def program_of(
    cell: str = "gru", seeds: tuple[int, ...] = (4,), layers: int = 1, **options: Any
) -> AutocompleteProgram:
    return AutocompleteProgram(TASK, AutocompleteConfig(cell, 6, layers), TRAINING, seeds, **options)


def logits_after_the_end_are_the_bias(program: AutocompleteProgram, tokens: Tensor, length: int) -> Tensor:
    logits = program.model(tokens[None, :length])[0]
    rest = program.model.readout.bias.expand(len(tokens) - length, -1)
    return torch.cat([logits, rest]).detach()


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_evaluation_is_that_of_a_loop_over_every_character(cell: str) -> None:
    """Padding in batches of 16, words outside the vocabulary, known characters: each counted by hand."""
    program = program_of(cell)
    for step in range(20):  # away from equal logits
        program.losses(step).sum().backward()
        with torch.no_grad():
            for weight in program.model.parameters():
                weight.sub_(0.3 * weight.grad)
        program.model.zero_grad()
    most = 37
    counts = {kind: Counter[tuple[int, int]]() for kind in ("as_published", "corrected", "outside")}
    positions = {kind: Counter[int]() for kind in counts}
    per_observation, right, losses, inside_right = [], [], [], []
    for batch in program.text.batches("training", 16, most):
        for tokens, targets, length in zip(batch.tokens, batch.targets, batch.lengths, strict=True):
            logits = logits_after_the_end_are_the_bias(program, torch.from_numpy(tokens), int(length))
            known, mine = -1, []
            for t, target in enumerate(targets.tolist()):
                known = 0 if tokens[t] == 1 else known + 1
                rank = logits[t].argsort(descending=True).tolist().index(target)
                kinds = ["as_published"]
                if target > UNKNOWN:
                    kinds.append("corrected")
                    mine.append(float(logits[t].logsumexp(0) - logits[t, target]))
                    inside_right.append(rank == 0)
                elif target == UNKNOWN:
                    kinds.append("outside")
                if target != PADDING:
                    right.append(rank == 0)
                for kind in kinds:
                    positions[kind][known] += 1
                    for top in range(rank, TOP):
                        counts[kind][top, known] += 1
            losses += mine
            if mine:
                per_observation.append(np.mean(mine))
    found = evaluate(program.model, program.text, "training", most)
    assert found.observations == most
    assert found.characters == len(right)
    assert found.cross_entropy == pytest.approx(np.mean(per_observation), rel=1e-9)
    assert found.mean_loss == pytest.approx(np.mean(losses), rel=1e-9)
    assert found.accuracy == pytest.approx(np.mean(right))
    assert found.corrected_accuracy == pytest.approx(np.mean(inside_right))
    for kind, hits in counts.items():
        part = getattr(found, kind)
        assert part.positions.tolist() == [positions[kind][known] for known in range(KNOWN)]
        assert part.hits.tolist() == [[hits[top, known] for known in range(KNOWN)] for top in range(TOP)]
    assert found.as_published.positions.sum() > found.corrected.positions.sum() + found.outside.positions.sum()
    assert 0 < found.corrected.accuracy[0, 1] < 1


def request(seeds: tuple[int, ...] = (4,)) -> Request:
    return Request("test", 1, "part", {}, seeds)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("seeds", [(4,), (4, 7)])
@pytest.mark.parametrize("softmax", [None, SoftmaxConfig("sampled", 20)])
def test_a_stopped_run_goes_on_to_the_same_weights_and_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, softmax: SoftmaxConfig | None, seeds: tuple[int, ...]
) -> None:
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")

    def run(folder: str, stop: int | None) -> tuple[list[dict[str, Any]], dict[str, Tensor]]:
        with Store(tmp_path / folder).open(request()) as opened:
            program = program_of(seeds=seeds, softmax=softmax)
            losses = program.losses

            def until(step: int) -> Tensor:
                if step == stop:
                    raise StoppedError
                return losses(step)

            program.losses = until
            train(program, TRAINING, opened)
            return opened.metrics.rows(), program.model.state_dict()

    whole, weights = run("whole", None)
    with pytest.raises(StoppedError):
        run("parts", 3)
    rows, again = run("parts", None)
    assert [row["step"] for row in rows] == [0, 2, 4, 6]
    assert rows == whole  # no times: two stores that have the same run must have the same bytes
    assert all(torch.equal(weights[name], again[name]) for name in weights)


@pytest.mark.parametrize("softmax", [None, SoftmaxConfig("sampled", 20)])
@pytest.mark.parametrize("cell", ["gru", "lstm", "nested_lstm", "elman"])
def test_a_network_learns_the_same_whatever_others_are_trained_with_it(
    tmp_path: Path, softmax: SoftmaxConfig | None, cell: str
) -> None:
    def run(*seeds: int) -> tuple[list[dict[str, Any]], Any]:
        with Store(tmp_path / f"{seeds}").open(request(seeds)) as opened:
            program = program_of(cell, seeds, layers=2, softmax=softmax)
            train(program, TRAINING, opened)
            return opened.metrics.rows(), program.model

    rows, together = run(4, 7)
    for index, seed in enumerate((4, 7)):
        alone, model = run(seed)
        for name in ("loss", "training_loss"):
            found = [row[name][index] for row in rows]
            assert found == pytest.approx([row[name][0] for row in alone], rel=1e-9)
        parts = zip(together.replica(index).parameters(), model.parameters(), strict=True)
        assert all(torch.allclose(mine, its, rtol=1e-7, atol=1e-9) for mine, its in parts)


def test_both_losses_are_recorded_apart_and_fall(tmp_path: Path) -> None:
    with Store(tmp_path).open(request()) as opened:
        program = program_of("lstm", validation_batches=2)
        train(program, TRAINING, opened)
        rows = opened.metrics.rows()
    first = program_of("lstm")
    with torch.no_grad():
        assert rows[0]["training_loss"] == [float(first.losses(0))]
        expected = [float(first.model.loss(first.text.validation(number, 8))) for number in (0, 1)]
    assert rows[0]["loss"] == [pytest.approx(np.mean(expected))]
    assert rows[-1]["training_loss"] < rows[0]["training_loss"]
    assert rows[-1]["loss"] < rows[0]["loss"]
