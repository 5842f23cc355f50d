"""Random numbers and devices of a training: what is fixed, restored, recorded and refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from small_programs import Line

from rote.errors import UsageError
from rote.store import Request, Store
from rote.training import TrainingConfig, choose_device, fix_seeds, train
from rote.training.randomness import random_state, restore_random_state


def draw() -> list[float]:
    return [
        random.random(), random.gauss(0, 1), float(np.random.rand()), float(np.random.normal()),
        torch.rand(()).item(), torch.randn(()).item(), float(torch.randperm(100)[0]),
    ]  # fmt: skip


def test_the_state_of_every_generator_is_restored_also_the_half_of_a_pair_of_normal_numbers(tmp_path: Path) -> None:
    from rote.store.checkpoint import Checkpoints

    fix_seeds(5)
    draw()  # an odd number of normal draws: each generator keeps the other half
    Checkpoints(tmp_path).save(1, {"random": random_state()})
    first = [draw() for _ in range(3)]
    fix_seeds(6)
    assert [draw() for _ in range(3)] != first
    restore_random_state(Checkpoints(tmp_path).load(1)["random"])
    assert [draw() for _ in range(3)] == first


@pytest.mark.parametrize("seed", [0, 7, 2**32 + 7, 2**63 - 1])
def test_fixing_the_seeds_fixes_every_generator_and_says_to_what(seed: int) -> None:
    facts = fix_seeds(seed)
    first = draw()
    assert facts == {"python": seed, "numpy": seed % 2**32, "torch": seed}
    assert fix_seeds(seed) == facts
    second = draw()
    assert second == first
    fix_seeds(seed + 1 if seed < 2**62 else 0)
    assert all(a != b for a, b in zip(draw()[:6], first[:6], strict=True))


def test_the_record_says_which_seeds_were_fixed(tmp_path: Path) -> None:
    with Store(tmp_path).open(Request("oracle", 1, "p", {}, (9, 4))) as run:
        train(Line(), TrainingConfig(steps=1), run)
        assert run.record.randomness == {"python": 9, "numpy": 9, "torch": 9, "seeds": [9, 4]}


# --- devices -----------------------------------------------------------------------------------------------------


def test_a_device_that_is_not_there_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    assert choose_device("cpu") == torch.device("cpu")
    for name in ("cuda", "cuda:0", "mps", "gpu", "", "cpu:1"):
        with pytest.raises(UsageError) as caught:
            choose_device(name)
        assert str(caught.value) == f"The device {name!r} is not on this machine. Available: auto, cpu."


def test_auto_takes_a_gpu_when_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto") == torch.device("cuda")
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(UsageError, match="Available: auto, cpu, cuda, cuda:0, cuda:1, mps"):
        choose_device("cuda:2")
