"""What an analysis would hold is compared with what is free before it starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import rote
from rote.analyses import memory
from rote.errors import UsageError


def model_of(units: int = 8, **options: Any) -> Any:
    lstm = nn.LSTM(4, units, batch_first=True, **options)
    sides = 2 if options.get("bidirectional") else 1
    return rote.adapt(recurrent=lstm, embedding=nn.Embedding(9, 4), readout=nn.Linear(sides * units, 9))


def tokens(batch: int, time: int) -> torch.Tensor:
    return torch.zeros(batch, time, dtype=torch.long)


def sets(batch: int, pairs: int, time: int) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = torch.zeros(2, batch, pairs, time, dtype=torch.bool)
    first[..., 0], second[..., -1] = True, True
    return first, second


def unembedded(units: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of vectors whose gradients need ``units`` numbers of a step."""
    layer = nn.Linear(4, units)
    return lambda vectors: layer(vectors).tanh().cumsum(1)[..., :3]


LARGE: dict[str, tuple[Callable[[], Any], str]] = {
    # Of a result of 20,000 x 20,000, and once more where it is found.
    "connectivity": (
        lambda: rote.connectivity(model_of(), tokens(1, 20_000)),
        r"connectivity\(\) of 1 x 20000 steps needs about 3\.2 GB.* Take shorter texts",
    ),
    "connectivity of two directions": (
        lambda: rote.connectivity(model_of(bidirectional=True), tokens(1, 20_000)),
        r"connectivity\(\) of 1 x 20000 steps needs about 4\.\d GB",
    ),
    # 32 copies of 1,000 steps of 10,000 numbers, which tanh keeps.
    "connectivity through a function": (
        lambda: rote.connectivity(unembedded(10_000), torch.randn(1, 1000, 4)),
        r"connectivity\(\) with 32 outputs at once \(chunk=32\) of 1 x 1000 steps needs about 1\.3 GB.* smaller chunk=",
    ),
    # Terms of 1,449,600 + 4,800 weights for 200 steps.
    "gradient_flow, terms": (
        lambda: rote.gradient_flow(model_of(600), tokens(1, 200), -1, terms=True, jacobians=False),
        r"gradient_flow\(\) of 1 x 200 steps needs about 1\.2 GB.* Take terms=False, fewer sequences",
    ),
    # Eight matrices of 4,000 x 4,000.
    "gradient_flow, jacobians": (
        lambda: rote.gradient_flow(model_of(2000), tokens(1, 3), -1),
        r"gradient_flow\(\) of 1 x 3 steps needs about 0\.5 GB.* Take jacobians=False, fewer sequences",
    ),
    "gradient_flow, records": (
        lambda: rote.gradient_flow(model_of(100), tokens(1000, 1000), -1, jacobians=False),
        r"gradient_flow\(\) of 1000 x 1000 steps needs about 17\.\d GB.* Take fewer sequences",
    ),
    "trace": (
        lambda: rote.trace(model_of(100), tokens(1000, 1000)),
        r"trace\(\) of 1000 x 1000 steps needs about 6\.\d GB.* Take fewer sequences",
    ),
    "interdependence": (
        lambda: rote.interdependence(model_of(100), tokens(100, 100), *sets(100, 50, 100)),
        r"interdependence\(\) of 100 x 50 pairs over 100 steps needs about 1\.2 GB.* Take fewer pairs",
    ),
    "diagnose": (
        lambda: rote.diagnose(torch.zeros(1).expand(500_000, 100), torch.arange(500_000) % 2),
        r"'activations' of 500000 samples and 100 units needs about 1\.6 GB.* Take fewer samples",
    ),
    "cluster": (
        lambda: rote.cluster(torch.randn(10_000, 1), list(range(10_000))),
        r"cluster\(\) of 10000 names, .*, needs about 2\.0 GB.* Take fewer names",
    ),
    "information": (
        lambda: rote.information([torch.randn(2000), torch.randn(2000)], lambda a, b: torch.stack([a, b, a - b], 1)),
        r"information\(\) of 2000 x 2000 = 4000000 combinations needs about 0\.4 GB.* Take fewer values",
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_what_needs_more_memory_than_is_free_says_so_before_it_starts(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Computed, most of these would take minutes, or end the process."""
    monkeypatch.setattr(memory, "free_memory", lambda: 200_000_000)
    compute, message = LARGE[name]
    with pytest.raises(UsageError, match=message) as caught:
        compute()
    assert "but 0.2 GB are free" in str(caught.value)


def test_a_smaller_chunk_holds_less_and_weights_are_not_held_by_every_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    model, vectors = nn.Sequential(nn.Linear(4, 5000), nn.Tanh(), nn.Linear(5000, 3)), torch.randn(1, 40, 4)
    held = 40 * 5000 * 4  # of one copy, by tanh; the second layer's weight is seen by all, and here frozen
    model.requires_grad_(False)
    monkeypatch.setattr(memory, "free_memory", lambda: int(2.5 * held))
    with pytest.raises(UsageError, match="smaller chunk"):
        rote.connectivity(model, vectors, chunk=3)
    assert rote.connectivity(model, vectors, chunk=2).values.shape == (1, 40, 40)


def test_a_model_that_differentiates_inside_may_still_be_asked() -> None:
    """Its gradients are counted without hooks, which torch.func does not admit."""
    weight = torch.randn(4, 3)

    def model(vectors: torch.Tensor) -> torch.Tensor:
        inner = torch.func.grad(lambda scale: (scale * vectors @ weight).tanh().sum())
        return (vectors @ weight).tanh() * inner(torch.ones(()))

    assert float(rote.connectivity(model, torch.randn(1, 5, 4)).values.min()) > 0


def test_norms_with_many_coordinates_are_taken_in_pieces_and_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from rote.analyses import gradient_batches

    model, asked = model_of().double(), torch.randint(0, 9, (2, 6))
    whole = rote.connectivity(model, asked)
    monkeypatch.setattr(gradient_batches, "PIECE", 20)
    pieces = rote.connectivity(model, asked)
    torch.testing.assert_close(pieces.values, whole.values, rtol=1e-12, atol=0)
    assert float(pieces.error.max()) < 1e-12


@pytest.mark.parametrize("second", [True, False])
def test_the_limit_of_a_container_or_a_batch_system_counts_wherever_it_was_set(second: bool, tmp_path: Path) -> None:
    """Cgroups of the second and of the first version; the limit is on the job, the process in a step of it."""
    top = tmp_path / "groups" if second else tmp_path / "groups" / "memory"
    names = ("memory.max", "memory.current") if second else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    step = top / "job_7" / "step_0"
    step.mkdir(parents=True)
    for folder, limit in ((step, "max" if second else str(2**63)), (step.parent, "5000")):
        for name, value in zip(names, (limit, "3000"), strict=True):
            (folder / name).write_text(f"{value}\n")
        (folder / "memory.stat").write_text("anon 2000\ninactive_file 1000\n")
    own = tmp_path / "cgroup"
    own.write_text("0::/job_7/step_0\n" if second else "5:cpu:/\n4:cpuset,memory:/job_7/step_0\n")
    assert min(memory._of_groups(own, tmp_path / "groups")) == 5000 - (3000 - 1000)
    assert list(memory._of_groups(tmp_path / "none", tmp_path / "groups")) == []


def test_the_memory_of_this_machine_is_told() -> None:
    free = memory.free_memory()
    assert free is None or 10**6 < free < 10**15
