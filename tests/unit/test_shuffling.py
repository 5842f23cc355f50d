"""The order of examples: each seed's own, new in every epoch, every example once."""

from __future__ import annotations

import numpy as np
import pytest

from rote.tasks.shuffling import ShuffledBatches, epoch_order


@pytest.mark.parametrize(("drop_last", "sizes"), [(False, [4, 4, 2]), (True, [4, 4])])
def test_an_epoch_shows_every_example_once_in_each_seed_s_own_order(drop_last: bool, sizes: list[int]) -> None:
    batches = ShuffledBatches((3, 8), 10, 4, drop_last=drop_last)
    assert batches.per_epoch == len(sizes)
    for epoch in (0, 1):
        rows = [batches(epoch * len(sizes) + place) for place in range(len(sizes))]
        assert [some.shape for some in rows] == [(2, size) for size in sizes]
        for seed, order in zip((3, 8), np.concatenate(rows, axis=1), strict=True):
            assert order.tolist() == np.random.default_rng((seed, epoch)).permutation(10)[: sum(sizes)].tolist()


def test_a_batch_is_the_same_whichever_were_asked_for_before() -> None:
    batches, again = (ShuffledBatches((0, 1), 7, 3, stream=(2,)) for _ in range(2))
    for step in range(5):
        batches(step)
    np.testing.assert_array_equal(batches(1), again(1))
    np.testing.assert_array_equal(again(1)[1], epoch_order(1, 0, 7, stream=(2,))[3:6])


def test_a_batch_larger_than_the_examples_is_all_of_them() -> None:
    assert sorted(ShuffledBatches((0,), 3, 8, drop_last=True)(5)[0].tolist()) == [0, 1, 2]
