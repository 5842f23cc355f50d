"""What a model did on a text that is being typed, kept so that one more character costs one step.

A trail holds the states and gates at every step. A text that shares its beginning with a kept trail of the same model
reads only the rest, after typing, deleting or correcting alike. Few trails are kept, the latest used.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses import trace
from rote.errors import UnknownNameError, UsageError
from rote.explorer.reading import Reader, Reading
from rote.explorer.text_connectivity import packed

KEPT, BYTES = 32, 128 * 2**20  # trails, and what they may take together


@dataclass(frozen=True)
class Trail:
    """Series [time, unit] by layer and name: states ("hidden", "cell") and gates ("forget", ...); what is said at the
    end."""

    tokens: tuple[int, ...]
    series: dict[Any, dict[str, Tensor]]
    states: dict[Any, tuple[str, ...]]  # which of the series are states, in the order of the cell
    last: Tensor  # logits after the last step

    @property
    def size(self) -> int:
        return sum(value.nbytes for named in self.series.values() for value in named.values())

    def common(self, tokens: tuple[int, ...]) -> int:
        """Steps that both begin with, but never all of ``tokens``: the last one is read again for what it says."""
        same = 0
        for mine, other in zip(self.tokens, tokens[:-1], strict=False):
            if mine != other:
                break
            same += 1
        return same


class Trails:
    """Trails of all models; safe to use from several threads."""

    def __init__(self, kept: int = KEPT, size: int = BYTES) -> None:
        self._kept, self._size, self._lock = kept, size, threading.Lock()
        self._trails: OrderedDict[tuple[Hashable, tuple[int, ...]], Trail] = OrderedDict()

    def __len__(self) -> int:
        return len(self._trails)

    def follow(self, reader: Reader, reading: Reading) -> tuple[Trail, int]:
        """The trail of a text, and how many of its steps had to be read."""
        tokens = tuple(reading.tokens[0].tolist())
        # The weights as they are: a model that is trained further has other trails.
        key = (reader.model, tuple(weight._version for weight in reader.model.parameters()))
        with self._lock:
            known = self._trails.get((key, tokens))
            mine = [] if known else [trail for (of, _), trail in self._trails.items() if of == key]
        read = 0
        if known is None:
            forward = reader.model.recurrent.directions == 1 and reader.model.reads_on
            nearest = max(mine, key=lambda trail: trail.common(tokens), default=None) if forward else None
            known, read = _extended(reader, reading.tokens, nearest)
        self._keep((key, tokens), known)
        return known, read

    def _keep(self, key: tuple[Hashable, tuple[int, ...]], trail: Trail) -> None:
        with self._lock:
            self._trails[key] = trail
            self._trails.move_to_end(key)
            while len(self._trails) > self._kept or sum(kept.size for kept in self._trails.values()) > self._size:
                if len(self._trails) == 1:
                    break
                self._trails.popitem(last=False)


def _extended(reader: Reader, tokens: Tensor, nearest: Trail | None) -> tuple[Trail, int]:
    numbers = tuple(tokens[0].tolist())
    start = 0 if nearest is None else nearest.common(numbers)
    initial = None
    if nearest is not None and start:
        initial = [
            tuple(nearest.series[key][name][start - 1][None] for name in names) for key, names in nearest.states.items()
        ]
    found = trace(reader.model, tokens[:, start:], initial=initial)
    series: dict[Any, dict[str, Tensor]] = {}
    for key, states in found.states.items():
        new = {name: value[0] for name, value in (states | found.gates[key]).items()}
        if nearest is not None and start:
            new = {name: torch.cat([nearest.series[key][name][:start], value]) for name, value in new.items()}
        series[key] = new
    states_of = {key: tuple(states) for key, states in found.states.items()}
    return Trail(numbers, series, states_of, found.logits[0, -1]), len(numbers) - start


def expected(
    trails: Trails,
    reader: Reader,
    text: str,
    *,
    top: int = 8,
    word: str | None = None,
    layer: int = 0,
    series: str = "hidden",
    since: int = 0,
    bins: int = 256,
) -> dict[str, Any]:
    """For the page: what is expected after the text, and the activity from the step ``since`` on."""
    reading = reader.read(text or " ")
    trail, read = trails.follow(reader, reading)
    chances = trail.last.softmax(-1)
    values, numbers = chances.topk(min(top, len(reader.outputs)))
    names = sorted({key[0] if isinstance(key, tuple) else key for key in trail.series})
    key = layer if layer in trail.series else (layer, 0)
    if key not in trail.series:
        raise UsageError(f"'layer' must lie in 0 to {names[-1]}. Got {layer}.")
    if series not in trail.series[key]:
        raise UnknownNameError("series", series, trail.series[key])
    meant, unknown = None, ""
    if word is not None:
        try:
            meant = reader.output(word)
        except UsageError as told:  # in the middle of being typed: all else is answered
            unknown = str(told)
    strip, best = _strip(chances, bins)
    return reading.facts() | {
        "read": read,
        "suggested": [reader.outputs[number] for number in numbers.tolist()],
        "chances": [round(value, 6) for value in values.tolist()],
        "outputs": len(reader.outputs),
        "strip": packed(strip),
        "strip_words": [reader.outputs[number] for number in best],
        "rank": None if meant is None else 1 + int((chances > chances[meant]).sum()),
        "chance": None if meant is None else round(float(chances[meant]), 6),
        "unknown": unknown,
        "layers": names,
        "series": list(trail.series[key]),
        "units": trail.series[key][series].shape[1],
        "since": min(since, reading.time),
        "activity": packed(trail.series[key][series][since:].cpu().numpy()),
        "gates": {name: _means(value) for name, value in trail.series[key].items() if name not in trail.states[key]},
    }


def _means(values: Tensor) -> list[float]:
    """Of the units at each step."""
    return [round(value, 4) for value in values.mean(1).tolist()]


def _strip(chances: Tensor, bins: int) -> tuple[np.ndarray, list[int]]:
    """The largest probability in each of at most so many stretches of the vocabulary, and the output that has it."""
    values = chances.cpu().numpy()
    starts = np.linspace(0, len(values), min(bins, len(values)), endpoint=False).astype(int)
    parts = np.split(values, starts[1:])
    best = [int(start + part.argmax()) for start, part in zip(starts, parts, strict=True)]
    return values[best], best
