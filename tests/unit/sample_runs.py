"""Small runs for the tests of the store, made without training anything."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rote.store import Column, FinishedRun, Request, Store, Table

TABLE = Table.make(
    "seeds",
    "Every seed",
    [Column("seed", role="label"), Column("wrong")],
    [{"seed": seed, "wrong": 10.0**-seed} for seed in range(6)],
    place="Figure 6",
)


def make_request(**changes: Any) -> Request:
    plain: dict[str, Any] = {
        "study": "plane",
        "version": 1,
        "part": "random",
        "config": {"steps": 8, "model": {"hidden": 4}},
        "seeds": (0, 1),
        "preset": "quick",
    }
    return Request(**{**plain, **changes})


def finish(store: Store, **changes: Any) -> FinishedRun:
    """A finished run of all five kinds of files."""
    import torch

    request = make_request(**changes)
    with store.open(request, {"steps": "8"}) as run:
        for step in range(3):
            run.metrics.append({"step": step, "loss": [0.5 / (step + 1), 1e-05]})
        state = {"model": {"weight": torch.arange(6.0).reshape(2, 3)}, "rate": 1e-05, 0: [None, (1, "ä\x1b")]}
        run.save(8, {**state, "optimizer": {"moment": torch.zeros(2, 3)}})
        run.finish([TABLE])
    return FinishedRun(store.folder(request))


def read_all(run: FinishedRun) -> tuple[Any, ...]:
    """Everything a reader can ask a run for, as comparable values."""
    record = FinishedRun(run.folder).record
    state = run.checkpoint()
    weight = state["model"].pop("weight").tolist()
    return record, run.tables(), run.metrics(), weight, state


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``, except the index, which is a cache, and locks, which name their last owner."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("lock", "index.sqlite")
    }


class Bomb:
    """Unpickling one makes a folder: that it ran can be seen."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.marker),)


def pickles(marker: Path) -> dict[str, bytes]:
    """A pickle by each protocol that looks different from outside, and one as ``torch.save`` writes it."""
    import io

    import torch

    archive = io.BytesIO()
    torch.save(Bomb(marker), archive)
    return {
        "protocol 0": pickle.dumps(Bomb(marker), protocol=0),
        "protocol 2": pickle.dumps(Bomb(marker), protocol=2),
        "protocol 5": pickle.dumps(Bomb(marker), protocol=5),
        "torch.save": archive.getvalue(),
    }


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[bool]:
    """A real file system of its own at ``folder`` (tmpfs); False where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    mount, umount = shutil.which("mount"), shutil.which("umount")
    done = mount is not None and subprocess.run(
        [mount, "-t", "tmpfs", "-o", options, "rote-test", str(folder)], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    try:
        yield done
    finally:
        if done and umount:
            subprocess.run([umount, "-l", str(folder)], check=True)
