"""Weights that depend on a seed alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """What is made inside is drawn in float64, so that a seed is the same network in either precision. Outside, the
    random state and the default precision are as they were."""
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float64)
        try:
            yield
        finally:
            torch.set_default_dtype(before)
