"""The order in which examples are gone through: a new one in every epoch, and an own one for every seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def epoch_order(seed: int, epoch: int, count: int, *, stream: tuple[int, ...] = ()) -> NDArray[np.int64]:
    """The numbers of ``count`` examples in a seed's order of an epoch. ``stream`` tells it apart from what else a seed
    draws."""
    return np.random.default_rng((seed, *stream, epoch)).permutation(count)


class ShuffledBatches:
    """The numbers of the examples in each seed's batch of any step."""

    def __init__(
        self,
        seeds: Sequence[int],
        count: int,
        batch: int,
        *,
        stream: tuple[int, ...] = (),
        drop_last: bool = False,
    ) -> None:
        """``drop_last``: what does not fill a batch at the end of an epoch is left out; else that batch is smaller."""
        self.seeds, self.count, self.batch, self.stream = tuple(seeds), count, batch, stream
        self.per_epoch = max(1, count // batch if drop_last else -(-count // batch))
        self._kept: tuple[int, NDArray[np.int64]] | None = None  # an epoch and its orders

    def __call__(self, step: int) -> NDArray[np.int64]:
        """Of each seed, [seed, batch]."""
        epoch, place = divmod(step, self.per_epoch)
        if self._kept is None or self._kept[0] != epoch:
            orders = [epoch_order(seed, epoch, self.count, stream=self.stream) for seed in self.seeds]
            self._kept = epoch, np.stack(orders)
        return self._kept[1][:, place * self.batch : (place + 1) * self.batch]
