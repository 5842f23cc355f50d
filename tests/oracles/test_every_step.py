"""Every step of Figure 3 (source 001): the trainings are those of the other studies, and what is measured is new."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch

from rote.models import CNNConfig, TranslatorConfig
from rote.studies.resistance.digits import DigitsRecipe
from rote.studies.resistance.every_step import DigitsStepsRecipe, ScanStepsRecipe, per_seed
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.scan_tables import examples
from rote.training import TrainingConfig

TRAINING = TrainingConfig(steps=5, batch=8, optimizer="adam", learning_rate=0.01)
DIGITS = DigitsRecipe(model=CNNConfig((2, 3), 4), training=TRAINING, evaluated=30)
SCAN = ScanRecipe(model=TranslatorConfig(embedding=4, hidden=2), training=TRAINING, sample=16)


def every_step(recipe: Any, kind: Any) -> Any:
    return kind(**{field.name: getattr(recipe, field.name) for field in fields(recipe)})


def trained(recipe: Any, *, measured: bool) -> tuple[dict[str, torch.Tensor], list[Any]]:
    """Weights after a few updates, and what was measured on after each."""
    program = recipe.program((3,), "cpu")
    optimizer, seen = TRAINING.make_optimizer(list(program.model.parameters())), []
    for step in range(4):
        program.model.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
        if measured:
            with torch.no_grad():
                program.measure()
            seen.append((program.train, program.test) if recipe.name.startswith("scan") else program.seen)
    return program.model.state_dict(), seen


@pytest.mark.parametrize(("recipe", "kind"), [(DIGITS, DigitsStepsRecipe), (SCAN, ScanStepsRecipe)])
def test_measuring_at_every_step_changes_no_weight_and_draws_anew(recipe: Any, kind: Any) -> None:
    plain, _ = trained(recipe, measured=False)
    weights, seen = trained(every_step(recipe, kind), measured=True)
    assert all(torch.equal(weights[name], plain[name]) for name in plain)
    drawn = {np.asarray(first).tobytes() for first, _ in seen}
    assert len(drawn) == len(seen)


def test_what_is_drawn_for_a_step_does_not_depend_on_the_steps_before() -> None:
    """A run that was stopped goes on to the same bytes."""
    program, again = (every_step(SCAN, ScanStepsRecipe).program((3, 4), "cpu") for _ in range(2))
    for step in range(3):
        program.losses(step)
        program.measure()
    again.losses(2)
    again.measure()
    assert np.array_equal(program.train, again.train)
    assert np.array_equal(program.test, again.test)
    assert not np.array_equal(program.train[0], program.train[1])


def test_means_over_steps_leave_out_the_untrained_network() -> None:
    labels = {"task": "scan", "setting": "original", "seed": 0}
    rows = [
        {**labels, "step": step, "train": train, "test": 0.1, "combined": combined}
        for step, train, combined in ((0, 0.9, 0.9), (9, 0.3, 0.1), (10, 0.5, 0.2), (26, 0.7, 0.6))
    ]
    (row,) = per_seed(rows, early=50)
    assert row["gap"] == pytest.approx(0.4)
    assert row["combined_gap"] == pytest.approx(0.2)
    assert row["early"] == pytest.approx(0.5)  # of steps 10 to 25


def test_table_1_has_two_commands_that_scan_does_not() -> None:
    rows = examples("addprim_jump").records()
    assert [row["command"] for row in rows if row["in_grammar"] == "no"] == [
        "walk before run left",
        "jump twice before walk",
    ]
    assert all(row["actions"] == row["published"] for row in rows)
    assert all(row["found"] == row["part"] for row in rows)
