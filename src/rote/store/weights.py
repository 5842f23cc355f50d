"""What a finished training keeps of its checkpoints: ``weights-<step>``, without what only resuming needs.

Until the record of the finished run is durable, its checkpoints stay and its weights do not count; from then on it is
the other way round. So a process may die at any moment: the run goes on from its checkpoints, or is finished.

Weights are packed, without losing a bit, where that pays as differences to those of the step that was kept before. To
read one step takes a few others then, but never more than ``LONGEST``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from rote.errors import DamagedFileError
from rote.store.checkpoint import NAME, Checkpoints, Files, step_of
from rote.store.files import digest, remedy, write_atomically
from rote.store.tree import Tensors, encode_packed_tree, encode_tree, has_differences, load_tensors, tree_facts
from rote.store.typed import Count, from_json

FOR_RESUMING = ("optimizer", "random", "early")  # parts of a state that has a "model"
LONGEST = 16  # steps of which each is the difference to the one before


class Weights(Checkpoints):
    """The states of a finished training, to be read and not to be resumed from. Reading one step after another unpacks
    each once."""

    stem, kind, version = "weights", "rote weights", 2

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._last: tuple[int | None, Tensors] = None, {}  # the step that was read last, and its tensors

    def read_for(self, step: int) -> list[int]:
        """The steps whose files ``step`` is read from, the first of which stands alone and the last is itself."""
        needed = [step]
        while has_differences(path := self._path(needed[0]), self.kind, self.version):
            after = tree_facts(path, self.kind, self.version).get("after")
            needed.insert(0, from_json(Count, after, path.with_suffix(".json"), "facts['after']"))
            if needed[0] >= needed[1]:
                raise DamagedFileError(f"{path}.json names a later step as an earlier one. {remedy(path)}")
        return needed

    def load(self, step: int) -> dict[str, Any]:
        """The state at ``step``, of which no later one changes the tensors."""
        needed = self.read_for(step)
        last, tensors = self._last
        needed = needed[needed.index(last) + 1 :] if last in needed[:-1] else needed
        for number in needed:
            state, tensors = load_tensors(self._path(number), self.kind, self.version, tensors)
        more_to_come = step != max(self.steps(), default=step)
        self._last = (step, {name: tensor.clone() for name, tensor in tensors.items()}) if more_to_come else (None, {})
        return self._state(step, state)


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


def encode_weights(folder: Path, steps: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the files of the weights at these steps, made from their checkpoints."""
    checkpoints, earlier, after = Checkpoints(folder), Tensors(), None
    for number, step in enumerate(steps):
        name, kept = f"{Weights.stem}-{step:08d}", _to_be_kept(checkpoints.load(step))
        if number % LONGEST == 0:
            earlier, after = {}, None
        facts = {"step": step, "metrics": list(checkpoints.metrics(step)), "after": after}
        files, earlier = encode_packed_tree(name, Weights.kind, Weights.version, kept, earlier, **facts)
        after = step
        yield from files.items()


def write_weights(folder: Path, steps: Iterable[int], *, sync: bool = True) -> Files:
    """Write the weights at these steps beside their checkpoints; returns the checksums of the files."""
    written: Files = {}
    for name, data in encode_weights(folder, steps):
        write_atomically(folder / name, data, sync=sync)
        written[name] = digest(data)
    return written


def contents(folder: Path, files: Files) -> Files:
    """The checksums of what a finished run holds, in whatever form its states are: whole, slim, or packed by another
    version of the library that compresses them."""
    states = states_of(folder, files)
    held = {name: checksum for name, checksum in files.items() if step_of(name) is None}
    for step in states.among(files):
        plain = encode_tree("", Weights.kind, 1, _to_be_kept(states.load(step)), metrics=list(states.metrics(step)))
        held[f"{Weights.stem}-{step:08d}"] = digest(b"".join(plain.values()))
    return held


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


def _to_be_kept(state: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key not in _only_for_resuming(state)}


def _only_for_resuming(state: dict[str, Any]) -> set[str]:
    return {*FOR_RESUMING} & {*state} if "model" in state else set()
