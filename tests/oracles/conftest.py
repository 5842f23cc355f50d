"""Small models: one thread is faster than two, and leaves the other to another worker. Every test starts alike."""

import pytest
import torch

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)
