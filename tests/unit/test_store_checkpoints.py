"""Checkpoints give back the tree that was saved, and count only while they are whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sample_runs import contents

from rote.store.checkpoint import Checkpoints


def test_a_checkpoint_gives_back_the_tree_with_its_types_keys_and_tied_tensors(tmp_path: Path) -> None:
    import torch

    tied = torch.arange(4.0, dtype=torch.float64)
    state = {
        "tied": [tied, tied],
        "view": tied.expand(3, 4).t(),
        "scalar": torch.tensor(3, dtype=torch.int64),
        "empty": torch.zeros(0, 2),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "half": torch.tensor([1.5], dtype=torch.bfloat16),
        "groups": [{"lr": 1e-05, "betas": (0.9, 0.999), "fused": None, "params": [0, 1]}],
        "state": {0: {"step": torch.tensor(2.0)}, 10: {"step": torch.tensor(3.0)}, "0": torch.tensor(4.0)},
        "a": {"b": torch.tensor(5.0)},
        "a/b": torch.tensor(6.0),  # a name with the separator in it must not be mixed up with a tree
        "none": None,
        (0, "forward"): 1,
    }
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(3, state)
    assert comparable(checkpoints.load(3)) == comparable(state)
    before = contents(tmp_path)
    checkpoints.save(3, state)
    assert contents(tmp_path) == before  # the same state is the same bytes


def comparable(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.tolist()
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(comparable(item) for item in value)
    return value


@pytest.mark.parametrize("value", [{"a": object()}, {"a": {1, 2}}, {((1, 2), 3): 4}, {0.5: 1}, {"a": float("inf")}])
def test_a_state_that_could_not_be_loaded_again_is_refused_when_it_is_saved(tmp_path: Path, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Checkpoints(tmp_path).save(1, value)
    assert Checkpoints(tmp_path).steps() == []
    assert os.listdir(tmp_path) == []


def test_a_foreign_file_named_like_a_checkpoint_is_not_counted_as_one(tmp_path: Path) -> None:
    Checkpoints(tmp_path).save(5, {})
    (tmp_path / "checkpoint-00000005 (copy).json").write_text("{}")
    assert Checkpoints(tmp_path).steps() == [5]


def test_a_checkpoint_whose_removal_is_killed_halfway_no_longer_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints, unlink = Checkpoints(tmp_path), os.unlink
    checkpoints.save(4, {})

    def once(path: Any, **named: Any) -> None:
        monkeypatch.setattr(os, "unlink", raise_interrupt)
        unlink(path, **named)

    def raise_interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", once)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.remove(4)
    assert len(os.listdir(tmp_path)) == 1
    assert checkpoints.steps() == []


def test_a_checkpoint_that_is_written_again_with_other_content_is_never_left_half_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its two files cannot be replaced together: a stop between them must leave a checkpoint that loads, or none."""
    import torch

    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(4, {"w": torch.zeros(3)})
    replace, calls = os.replace, 0
    for stop_at in (0, 1):
        calls = 0

        def stopping(*names: Any, stop_at: int = stop_at) -> None:
            nonlocal calls
            if calls == stop_at:
                raise KeyboardInterrupt
            calls += 1
            replace(*names)

        monkeypatch.setattr(os, "replace", stopping)
        with pytest.raises(KeyboardInterrupt):
            checkpoints.save(4, {"w": torch.ones(3)})
        monkeypatch.undo()
        for step in checkpoints.steps():
            assert len(set(checkpoints.load(step)["w"].tolist())) == 1
