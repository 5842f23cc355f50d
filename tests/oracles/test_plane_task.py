"""The plane's examples are distributed as source 001 describes, and are the same however they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rote.errors import UsageError
from rote.tasks.plane import Examples, PlaneTask, Setting, grid

SETTINGS: tuple[Setting, ...] = ("redundant", "random", "narrow")
N = 30_000


def drawn(setting: Setting, seed: int = 0, points: int | None = None) -> Examples:
    """Many examples, flat."""
    examples = PlaneTask(setting, points).training(seed, block=0, steps=N // 10, batch=10)
    return Examples(examples.inputs.reshape(-1, 2), examples.targets.reshape(-1))


def near(count: int, share: float) -> bool:
    """Within four standard errors of what N draws would give."""
    return bool(abs(count / N - share) < 4 * np.sqrt(share * (1 - share) / N))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_class_is_the_sign_of_x1_in_every_setting(setting: Setting) -> None:
    examples = drawn(setting)
    assert examples.inputs.dtype == np.float64
    assert examples.targets.dtype == np.int64
    np.testing.assert_array_equal(examples.targets, examples.inputs[:, 0] > 0)
    assert near(int(examples.targets.sum()), 1 / 3)  # one of three equally likely combinations has Y1 = 1


def test_redundant_never_shows_the_corner_and_the_other_quadrants_equally_often() -> None:
    x1, x2 = drawn("redundant").inputs.T
    assert not ((x1 > 0) & (x2 > 0)).any()
    for quadrant in ((x1 > 0) & (x2 <= 0), (x1 <= 0) & (x2 > 0), (x1 <= 0) & (x2 <= 0)):
        assert near(int(quadrant.sum()), 1 / 3)


def test_random_shows_the_corner_and_its_x2_says_nothing_about_the_class() -> None:
    examples = drawn("random")
    x2 = examples.inputs[:, 1]
    assert near(int((x2 > 0).sum()), 1 / 2)
    assert near(int(((x2 > 0) & (examples.targets == 1)).sum()), 1 / 6)
    assert abs(np.corrcoef(x2, examples.targets)[0, 1]) < 4 / np.sqrt(N)


def test_narrow_never_shows_a_positive_x2_so_that_the_corner_is_unseen() -> None:
    x2 = drawn("narrow").inputs[:, 1]
    assert (x2 <= 0).all()
    assert x2.min() < -0.99


@pytest.mark.parametrize("setting", SETTINGS)
def test_within_its_quadrant_a_point_is_uniform(setting: Setting) -> None:
    from scipy.stats import kstest

    inputs = drawn(setting).inputs
    for axis in (0, 1):
        assert kstest(inputs[:, axis] % 1.0, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(inputs[:, 0] % 1.0, inputs[:, 1] % 1.0)[0, 1]) < 4 / np.sqrt(N)


@pytest.mark.parametrize("points", [None, 250])
def test_a_seed_has_the_same_x1_and_class_in_every_setting_so_that_settings_are_paired(points: int | None) -> None:
    redundant, random, narrow = (drawn(setting, 3, points) for setting in SETTINGS)
    for other in (random, narrow):
        np.testing.assert_array_equal(redundant.inputs[:, 0], other.inputs[:, 0])
        np.testing.assert_array_equal(redundant.targets, other.targets)
        assert not np.array_equal(redundant.inputs[:, 1], other.inputs[:, 1])


def test_where_the_hidden_labels_agree_the_settings_give_the_same_point() -> None:
    redundant, random, narrow = (drawn(setting).inputs for setting in SETTINGS)
    for other in (random, narrow):
        same = (redundant[:, 1] > 0) == (other[:, 1] > 0)
        np.testing.assert_array_equal(redundant[same], other[same])
        assert 0 < same.sum() < N


@pytest.mark.parametrize("points", [None, 7])
def test_a_block_that_is_drawn_alone_is_the_block_of_the_sequence(points: int | None) -> None:
    """A resumed run asks for a later block first: it must not depend on those before."""
    task = PlaneTask("redundant", points)
    sequence = [task.training(5, block, 4, 3) for block in range(6)]
    for block in (4, 0, 5, 2):
        alone = PlaneTask("redundant", points).training(5, block, 4, 3)
        np.testing.assert_array_equal(alone.inputs, sequence[block].inputs)
        np.testing.assert_array_equal(alone.targets, sequence[block].targets)
        assert alone.inputs.shape == (4, 3, 2)
        assert alone.targets.shape == (4, 3)


def test_fresh_points_are_never_those_of_another_block_or_seed() -> None:
    task = PlaneTask()
    drawn_x1 = np.concatenate(
        [task.training(seed, block, 4, 3).inputs[..., 0].ravel() for seed in range(5) for block in range(5)]
    )
    assert len(np.unique(drawn_x1)) == len(drawn_x1)


def test_a_fixed_training_set_is_gone_through_in_order_and_again_also_across_blocks_and_batches() -> None:
    task = PlaneTask("redundant", points=7)
    pool = task.training(2, 0, 7, 1)
    xs, ys = pool.inputs.reshape(7, 2), pool.targets.reshape(7)
    assert len(np.unique(xs[:, 0])) == 7
    for steps, batch in ((4, 3), (1, 5), (2, 7), (3, 20)):  # batches larger than the set, too
        blocks = [task.training(2, block, steps, batch) for block in range(5)]
        order = np.arange(5 * steps * batch) % 7
        np.testing.assert_array_equal(np.concatenate([block.inputs.reshape(-1, 2) for block in blocks]), xs[order])
        np.testing.assert_array_equal(np.concatenate([block.targets.ravel() for block in blocks]), ys[order])
    assert not np.array_equal(task.training(3, 0, 7, 1).inputs, pool.inputs)


@pytest.mark.parametrize("per_side", [1, 2, 24, 48])
def test_the_corner_is_covered_so_that_shares_of_points_are_shares_of_area(per_side: int) -> None:
    examples = PlaneTask().corner(per_side)
    assert examples.inputs.shape == (per_side**2, 2)
    assert (examples.targets == 1).all()
    assert ((examples.inputs > 0) & (examples.inputs < 1)).all()
    for cells in range(per_side + 1):
        edge = cells / per_side
        for axis in (0, 1):
            assert (examples.inputs[:, axis] < edge).sum() == cells * per_side
    np.testing.assert_allclose(examples.inputs.mean(0), 0.5, atol=1e-12)
    assert len(np.unique(examples.inputs, axis=0)) == per_side**2


def test_what_was_seen_is_three_quadrants_of_equal_weight_without_the_corner() -> None:
    examples = PlaneTask().seen(10)
    x1, x2 = examples.inputs.T
    assert len(examples.inputs) == 300
    assert not ((x1 > 0) & (x2 > 0)).any()
    for quadrant in ((x1 > 0) & (x2 < 0), (x1 < 0) & (x2 > 0), (x1 < 0) & (x2 < 0)):
        assert quadrant.sum() == 100
    np.testing.assert_array_equal(examples.targets, x1 > 0)
    assert (np.abs(examples.inputs) < 1).all()


def test_the_picture_grid_runs_x1_fastest_from_edge_to_edge() -> None:
    points = grid(3)
    assert points.tolist() == [[x1, x2] for x2 in (-1.0, 0.0, 1.0) for x1 in (-1.0, 0.0, 1.0)]


@pytest.mark.parametrize("wrong", [{"points": 0}, {"points": -3}])
def test_a_training_set_without_points_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="'points' must be at least 1"):
        PlaneTask(**wrong)


def test_a_seed_still_means_the_points_that_stored_results_were_computed_with() -> None:
    """If this fails, the numbers of every plane run changed: raise the study's version."""
    examples = PlaneTask().training(7, block=2, steps=2, batch=2)
    assert examples.targets.tolist() == [[1, 0], [0, 0]]
    np.testing.assert_allclose(
        examples.inputs.ravel(),
        [
            0.039304366955,
            -0.063425565903,
            -0.702339516652,
            -0.769005401763,
            -0.554494196682,
            0.827988597772,
            -0.759936568868,
            -0.586640448315,
        ],
        atol=1e-12,
    )
