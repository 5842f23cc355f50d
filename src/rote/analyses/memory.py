"""Whether an analysis fits into the memory that is free, asked before it starts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from torch import Tensor

from rote.cells import Recurrent
from rote.errors import UsageError

# Numbers held of a step for each number that it multiplies by a weight; measured on all cells.
RECORDED = 2.5  # by the record of how it was computed
GRAPH = 3.0  # by torch's autograd


def check_memory(wanted: float, what: str, remedy: str) -> None:
    """Refuse what would hold more bytes than are free; where the system does not tell, nothing is refused."""
    free = free_memory()
    if free is not None and wanted > free:
        raise UsageError(f"{what} needs about {_gigabytes(wanted)}, but {_gigabytes(free)} are free. {remedy}")


def free_memory() -> int | None:
    """Bytes that this process can take without swapping, or beyond its share; None where the system does not tell."""
    known = [size for size in (_of_machine(), *_of_groups()) if size is not None]
    return min(known, default=None)


def products(recurrent: Recurrent) -> int:
    """How many numbers a step of all cells multiplies by weights, for each sequence: what a step holds goes with it."""
    shapes = [shape for cell in recurrent.all_cells() for shape in cell.shapes().values() if shape is not None]
    return sum(shape[0] for shape in shapes if len(shape) == 2)


def held_for_gradients(outputs: Tensor) -> dict[int, int]:
    """What autograd keeps to go back from these, weights and inputs among it: bytes by address.

    Read from the graph, because hooks would forbid a model to use torch.func."""
    held: dict[int, int] = {}
    names: dict[type, list[str]] = {}
    seen, waiting = set(), [outputs.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [before for before, _ in node.next_functions]
        kind = type(node)
        if kind not in names:
            names[kind] = [name for name in dir(node) if name.startswith(("_saved_", "saved_tensors"))]
        for name in names[kind]:
            with contextlib.suppress(RuntimeError):  # freed, or not to be seen from here
                saved = getattr(node, name)
                for value in saved if isinstance(saved, tuple | list) else (saved,):
                    if isinstance(value, Tensor):
                        held[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
    return held


def _of_machine() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _of_groups(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """What is left of the limits that a container or a batch system has set, on this group and those above it."""
    try:
        lines = own.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        _, kinds, place = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        top = root / "memory" if kinds else root
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if kinds else ("memory.max", "memory.current")
        path = PurePosixPath(place.lstrip("/"))
        for group in (path, *path.parents):
            try:
                limit, used = (int((top / group / name).read_text()) for name in names)
                stat = (top / group / "memory.stat").read_text().split()
            except (OSError, ValueError):  # no such group, or no limit
                continue
            cache = dict(zip(stat[::2], stat[1::2], strict=False))
            used -= int(cache.get("total_inactive_file", cache.get("inactive_file", 0)))  # given back when asked for
            yield max(0, limit - used)


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
