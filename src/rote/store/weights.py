"""What a finished training keeps of its checkpoints: ``weights-<step>``, without what only resuming needs.

Until the record of the finished run is durable, its checkpoints stay and its weights do not count; from then on it is
the other way round. So a process may die at any moment: the run goes on from its checkpoints, or is finished.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from rote.store.checkpoint import NAME, VERSION, Checkpoints, Files, step_of
from rote.store.files import digest, write_atomically
from rote.store.tree import encode_tree

FOR_RESUMING = ("optimizer", "random", "early")  # parts of a state that has a "model"


class Weights(Checkpoints):
    """The states of a finished training, to be read and not to be resumed from."""

    stem, kind = "weights", "rote weights"


def states_of(folder: Path, files: Iterable[str]) -> Checkpoints:
    """What a finished run that has these ``files`` is read from: its weights or, where nothing was left out of them and
    in stores of version 0.1, its checkpoints."""
    weights = Weights(folder)
    return weights if weights.among(files) else Checkpoints(folder)


def steps_to_slim(folder: Path, files: Iterable[str]) -> list[int]:
    """The steps of the checkpoints among ``files``; none if no checkpoint holds anything that only resuming needs."""
    checkpoints = Checkpoints(folder)
    steps = checkpoints.among(files)
    return steps if any(_only_for_resuming(checkpoints.plain(step)) for step in steps) else []


def encode_weights(folder: Path, step: int) -> dict[str, bytes]:
    """The contents of the files of the weights at ``step`` by their names, made from the checkpoint."""
    checkpoints = Checkpoints(folder)
    state = checkpoints.load(step)
    kept = {key: value for key, value in state.items() if key not in _only_for_resuming(state)}
    facts = {"step": step, "metrics": list(checkpoints.metrics(step))}
    return encode_tree(f"{Weights.stem}-{step:08d}", Weights.kind, VERSION, kept, **facts)


def write_weights(folder: Path, steps: Iterable[int], *, sync: bool = True) -> Files:
    """Write the weights at these steps beside their checkpoints; returns the checksums of the files."""
    written: Files = {}
    for step in steps:
        for name, data in encode_weights(folder, step).items():
            write_atomically(folder / name, data, sync=sync)
            written[name] = digest(data)
    return written


def superseded(folder: Path, files: Collection[str]) -> list[Path]:
    """The checkpoints in the folder of a finished run whose ``files`` are weights, in the order of their removal: the
    last step first, since a checkpoint vouches for those before it."""
    if not Weights(folder).among(files):
        return []
    found = [
        path for path in folder.glob(f"{Checkpoints.stem}-*") if NAME.fullmatch(path.name) and path.name not in files
    ]
    return sorted(found, key=lambda path: (-(step_of(path.name) or 0), path.suffix))


def remove_superseded(folder: Path, files: Collection[str]) -> None:
    """Remove them. What cannot be removed stays: nothing reads it, and ``verify`` tells of it."""
    with contextlib.suppress(OSError):
        for path in superseded(folder, files):
            path.unlink(missing_ok=True)


def stray_weights(folder: Path, files: Iterable[str] = ()) -> Iterator[Path]:
    """Weights that no record names: a process was killed before it had called the run finished."""
    named = set(files)
    for path in sorted(folder.glob(f"{Weights.stem}-*")):
        if NAME.fullmatch(path.name) and path.name not in named:
            yield path


def _only_for_resuming(state: dict[str, Any]) -> set[str]:
    return {*FOR_RESUMING} & {*state} if "model" in state else set()
