"""Packed weights: every bit comes back, snapshots are smaller, and what was written before packing is still read."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sample_runs import TABLE, make_request

from rote.errors import DamagedFileError, StoreError
from rote.store import FinishedRun, Store, digest, packing, transfer
from rote.store.packing import SMALLEST, pack, unpack
from rote.store.slim import slim
from rote.store.tree import encode_tree
from rote.store.verify import verify
from rote.store.weights import LONGEST, Weights

REQUEST = make_request()
STEPS = range(LONGEST + 4)  # more than are read for one of them
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-45, 1.0, -1.0, np.finfo(np.float64).max]


def weights(dtype: Any, seed: int = 0) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        values = np.concatenate([SPECIAL, np.random.default_rng(seed).normal(0, 0.1, 5000)]).astype(dtype)
    return values.reshape(2, -1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("earlier", [False, True])
def test_every_bit_of_a_packed_array_comes_back_also_of_numbers_that_are_none(dtype: Any, earlier: bool) -> None:
    before = weights(dtype) if earlier else None
    with np.errstate(over="ignore"):
        now = weights(dtype) * dtype(1.0001) if earlier else weights(dtype)
    packed = pack(now, before)
    assert packed is not None
    data, how = packed
    assert how.difference is earlier
    assert len(data) < (0.8 if earlier else 0.95) * now.nbytes
    assert unpack(data, how, before).tobytes() == now.tobytes()


def test_a_difference_is_taken_only_where_it_is_smaller() -> None:
    packed = pack(weights(np.float32, 1), weights(np.float32, 2))
    assert packed is not None
    assert not packed[1].difference


def test_noise_and_what_is_small_or_of_another_type_is_left_as_it_is() -> None:
    noise = np.frombuffer(np.random.default_rng(0).bytes(80_000), np.float32)
    few = np.zeros(SMALLEST - 1, np.float32)
    assert [pack(values) for values in (noise, few, np.zeros(5000, np.float16), np.zeros(5000, int))] == [None] * 4


def test_zeros_take_no_room() -> None:
    packed = pack(np.zeros(100_000, np.float32))
    assert packed is not None
    assert len(packed[0]) < 1000


@pytest.mark.parametrize(
    "change",
    [
        lambda data, how: (data[:-1], how),
        lambda data, how: (data, replace(how, shape=(2, 10**12))),
        lambda data, how: (data, replace(how, dtype="object")),
        lambda data, how: (data, replace(how, planes=how.planes[:-1])),
        lambda data, how: (data, replace(how, difference=True)),
    ],
)
def test_what_does_not_fit_together_is_refused(change: Any) -> None:
    packed = pack(weights(np.float32))
    assert packed is not None
    with pytest.raises(ValueError, match=r"plane|difference|would take"):
        unpack(*change(*packed))


# --- in a run ------------------------------------------------------------------------------------------------------


def model(step: int) -> dict[str, torch.Tensor]:
    moved = torch.from_numpy(weights(np.float32)[:, 10:]) * (1 + 0.001 * step)
    return {"w": moved, "tied": moved, "count": torch.tensor(step), "half": moved.bfloat16()}


def complete(store: Store) -> FinishedRun:
    with store.open(REQUEST) as run:
        for step in STEPS:
            run.save(step, {"model": model(step), "optimizer": {"m": torch.ones(5000)}, "random": []}, keep=STEPS)
        run.finish([TABLE])
    return FinishedRun(run.folder)


def assert_intact(run: FinishedRun, order: Any) -> None:
    for step in order:
        kept, expected = run.checkpoint(step)["model"], model(step)
        assert kept.keys() == expected.keys()
        assert all(kept[name].dtype == expected[name].dtype for name in kept)
        assert all(torch.equal(kept[name], expected[name]) for name in kept)
        kept["w"].zero_()  # what a reader does to them is his


def test_what_a_hostile_file_would_blow_up_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = np.zeros((512, 512), np.float32)
    packed = pack(zeros)
    assert packed is not None
    data, how = packed
    monkeypatch.setattr(packing, "MOST", zeros.nbytes)
    assert not unpack(data, how).any()
    monkeypatch.setattr(packing, "MOST", zeros.nbytes - 1)
    monkeypatch.setattr(zlib, "decompressobj", None)  # nothing is unpacked
    with pytest.raises(ValueError, match=f"would take {zeros.nbytes} bytes"):
        unpack(data, how)


def test_snapshots_are_stored_as_differences_and_read_in_any_order(store: Store) -> None:
    run = complete(store)
    assert_intact(run, STEPS)
    assert_intact(run, reversed(STEPS))
    assert_intact(run, [3, 3, LONGEST + 2, 0])
    sizes = [(run.folder / f"weights-{step:08d}.safetensors").stat().st_size for step in STEPS]
    assert all(size < 0.85 * sizes[0] for step, size in enumerate(sizes) if step % LONGEST)
    assert Weights(run.folder).read_for(LONGEST - 1) == [*range(LONGEST)]
    assert Weights(run.folder).read_for(LONGEST + 1) == [LONGEST, LONGEST + 1]
    assert verify(store.root) == []
    assert slim(run.folder) == 0


@pytest.mark.parametrize("suffix", ["json", "safetensors"])
def test_a_step_is_not_read_from_an_earlier_one_that_was_altered_or_is_gone(store: Store, suffix: str) -> None:
    run = complete(store)
    path = run.folder / f"weights-00000002.{suffix}"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"1", b"2", 1) if suffix == "json" else data[:-1] + b"\x07")
    with pytest.raises(DamagedFileError):
        FinishedRun(run.folder).checkpoint(4)
    (run.folder / "weights-00000002.json").unlink()
    (run.folder / "weights-00000002.safetensors").unlink()
    with pytest.raises(StoreError, match="weights-00000002"):
        FinishedRun(run.folder).checkpoint(3)


def without_packing(run: FinishedRun) -> None:
    """As weights were written before they were packed."""
    states, files = Weights(run.folder), dict(run.record.files)
    found = {step: (states.load(step), states.metrics(step)) for step in STEPS}
    for step, (state, metrics) in found.items():
        for name, data in encode_tree(
            f"weights-{step:08d}", Weights.kind, 1, state, step=step, metrics=list(metrics)
        ).items():
            (run.folder / name).write_bytes(data)
            files[name] = digest(data)
    replace(run.record, files=files).write(run.folder)


def test_weights_of_the_first_version_are_read_and_are_the_same_run_to_an_import(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    complete(store)
    without_packing(complete(other))
    (old,) = (FinishedRun(row) for row in other.root.glob("runs/*/*"))
    assert_intact(old, STEPS)
    assert verify(other.root) == []
    assert transfer.plan(store, other).same == transfer.plan(other, store).same == [f"runs/plane/{old.id}"]


def test_another_library_that_compresses_otherwise_makes_the_same_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Store(tmp_path / "other")
    here = complete(store)
    monkeypatch.setattr(packing, "_deflated", lambda plane: zlib.compress(plane, 1, -zlib.MAX_WBITS))
    there = complete(other)
    assert here.record.files != there.record.files
    assert transfer.plan(store, other).same == [f"runs/plane/{here.id}"]
