"""How gates and states are used: the share of steps at which a gate is shut or open, and each unit's range of values.

Gate saturation is Karpathy et al. 2015, as source 002 uses it (section 4.2, Figure 4); ranges of activation are its
Figure 3. The source's text mixes two conventions of the GRU's update gate: here z keeps the old state, as in torch;
in the source's equations it admits the new one, which is 1 - z. Both can be had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from rote.analyses.inputs import check_finite
from rote.analyses.result import Result, analyses, needs
from rote.analyses.trace import Key, Trace, as_trace, place_of
from rote.config import one_of
from rote.errors import UsageError
from rote.store import Column, Table

Series = dict[Key, dict[str, Tensor]]  # by layer (or (layer, direction)) and name
UpdateGate = Literal["z", "1-z", "both"]
FLIPPED = "1 - update"


@dataclass(frozen=True, repr=False)
class GateSaturation(Result):
    """For each gate of each unit, the share of steps at which it is below ``low`` (left) and above ``high`` (right)."""

    left: Series
    right: Series
    low: float
    high: float
    update: str
    steps: int  # over how many steps of all sequences the shares are taken
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"left": ("unit",), "right": ("unit",)}

    def off_axes(self, above: float = 0.05) -> dict[Key, dict[str, float]]:
        """The share of units whose gate is, at more than ``above`` of the steps each, shut and also open."""
        return {
            key: {
                name: float(((left > above) & (self.right[key][name] > above)).double().mean())
                for name, left in named.items()
            }
            for key, named in self.left.items()
        }

    def to_table(self) -> Table:
        rows: list[dict[str, Any]] = []
        for key, named in self.left.items():
            for name, left in named.items():
                pairs = zip(left.tolist(), self.right[key][name].tolist(), strict=True)
                rows += [
                    place_of(key) | {"gate": name, "unit": u, "left": x, "right": y} for u, (x, y) in enumerate(pairs)
                ]
        columns = (
            *(Column(name, role="label") for name in ("layer", "direction", "gate", "unit")),
            Column("left", f"share of steps below {self.low:g}"),
            Column("right", f"share of steps above {self.high:g}"),
        )
        note = f"Over {self.steps} steps. The update gate z keeps the old state; 1 - z admits the new one."
        return Table.make(
            "gate-saturation", "Gate saturation", columns, rows, figure="gate-saturation", details=True, note=note
        )

    def __repr__(self) -> str:
        shown = [
            f"{key} {name}: left {float(left.mean()):.3f}, right {float(self.right[key][name].mean()):.3f}"
            for key, named in self.left.items()
            for name, left in named.items()
        ]
        return f"GateSaturation(below {self.low:g}, above {self.high:g}, {self.steps} steps; {'; '.join(shown)})"


@analyses.register("gate_saturation")
@needs("arithmetic")
def gate_saturation(trace: Trace, low: float = 0.1, high: float = 0.9, *, update: UpdateGate = "z") -> GateSaturation:
    """How often each gate of each unit is shut or open.

    Only gates, whose values lie between 0 and 1, never candidates.

    - low, high: a gate is shut below the one and open above the other.
    - update: "z" takes a GRU's update gate as torch defines it, "1-z" as the share of new state that it lets in, "both"
      gives "update" and "1 - update".

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.GRU(3, 5, batch_first=True))
    >>> found = rote.gate_saturation(rote.trace(model, torch.randn(2, 7, 3)))
    >>> sorted(found.left[0]), found.right[0]["update"].shape, found.steps
    (['reset', 'update'], torch.Size([5]), 14)
    """
    if not 0 <= low < high <= 1:
        raise UsageError(f"'low' and 'high' must satisfy 0 <= low < high <= 1. Got low={low}, high={high}.")
    one_of("update", update, ("z", "1-z", "both"))
    trace = as_trace(trace, "gate_saturation", "arithmetic")
    left: Series = {}
    right: Series = {}
    for key, kind, name, values in _observed(trace):
        if kind == "gate" and _is_gate(name, values):
            for shown, seen in _conventions(name, values, update):
                left.setdefault(key, {})[shown] = (seen < low).double().mean(0)
                right.setdefault(key, {})[shown] = (seen > high).double().mean(0)
    if not left:
        raise UsageError(
            "The 'trace' has no gates with values between 0 and 1: a simple recurrent network has none, nor has "
            "a model of which only states are known. These are described by rote.activation_distribution()."
        )
    return GateSaturation(left, right, float(low), float(high), update, int(trace.mask.sum()))


@dataclass(frozen=True, repr=False)
class ActivationDistribution(Result):
    """Which values each unit of each state and gate takes over all steps."""

    quantiles: Series  # [unit, level]
    counts: Series  # [unit, bin]: how many steps fall between two edges, the last bin with its right edge
    edges: Series  # [bin + 1], the same for all units of a state or gate
    levels: tuple[float, ...]  # of the quantiles; 0, 0.25, 0.5, 0.75 and 1 are always among them
    kinds: dict[Key, dict[str, str]]  # "state" or "gate"
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "quantiles": ("unit", "level"),
        "counts": ("unit", "bin"),
        "edges": ("edge",),
    }

    def quantile(self, level: float) -> Series:
        """Each unit's value [unit] below which that share of the steps lies."""
        if level not in self.levels:
            raise UsageError(f"'level' must be one of {self.levels}, the quantiles that were taken. Got {level}.")
        at = self.levels.index(level)
        return {key: {name: values[:, at] for name, values in named.items()} for key, named in self.quantiles.items()}

    @property
    def range(self) -> Series:
        """Largest minus smallest value [unit]."""
        return self._between(0.0, 1.0)

    @property
    def iqr(self) -> Series:
        """Upper minus lower quartile [unit]."""
        return self._between(0.25, 0.75)

    def narrow(self, below: float = 0.5) -> dict[Key, dict[str, float]]:
        """The share of units whose values stay within a range smaller than ``below``."""
        return {
            key: {name: float((width < below).double().mean()) for name, width in named.items()}
            for key, named in self.range.items()
        }

    def to_table(self) -> Table:
        shown = {"smallest": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "largest": 1.0}
        rows: list[dict[str, Any]] = []
        for key, named in self.quantiles.items():
            for name, values in named.items():
                for unit, quantiles in enumerate(values.tolist()):
                    row = {label: quantiles[self.levels.index(level)] for label, level in shown.items()}
                    widths = {"range": row["largest"] - row["smallest"], "iqr": row["upper"] - row["lower"]}
                    labels = {"kind": self.kinds[key][name], "name": name, "unit": unit}
                    rows.append(place_of(key) | labels | row | widths)
        columns = (
            *(Column(name, role="label") for name in ("layer", "direction", "kind", "name", "unit")),
            *(Column(name, f"quantile {level:g} over all steps") for name, level in shown.items()),
            Column("range", "largest minus smallest value"),
            Column("iqr", "upper minus lower quartile"),
        )
        title = "Which values each unit takes"
        return Table.make(
            "activation-distribution", title, columns, rows, figure="activation-distribution", details=True
        )

    def _between(self, low: float, high: float) -> Series:
        lower, upper = self.quantile(low), self.quantile(high)
        return {key: {name: upper[key][name] - lower[key][name] for name in named} for key, named in lower.items()}

    def __repr__(self) -> str:
        middle = self.iqr
        shown = [
            f"{key} {name}: range {float(width.median()):.3f}, iqr {float(middle[key][name].median()):.3f}"
            for key, named in self.range.items()
            for name, width in named.items()
        ]
        return f"ActivationDistribution(medians over units; {'; '.join(shown)})"


@analyses.register("activation_distribution")
@needs("states")
def activation_distribution(
    trace: Trace, *, levels: Sequence[float] = (0.05, 0.95), bins: int = 20
) -> ActivationDistribution:
    """Quantiles, histogram, range and interquartile range of every unit of the states and gates.

    - levels: quantiles beside the smallest value, the quartiles and the largest.
    - bins: those of a gate divide 0..1, those of a state -1..1, or the range of its values where they go beyond.

    >>> import torch, rote
    >>> model = rote.adapt(recurrent=torch.nn.RNN(3, 5, batch_first=True))
    >>> found = rote.activation_distribution(rote.trace(model, torch.randn(2, 7, 3)))
    >>> found.iqr[0]["hidden"].shape, int(found.counts[0]["hidden"].sum())  # 5 units at 14 steps
    (torch.Size([5]), 70)
    """
    if any(not 0 <= level <= 1 for level in levels):
        raise UsageError(f"'levels' must lie between 0 and 1. Got {list(levels)}.")
    if bins < 1:
        raise UsageError(f"'bins' must be at least 1. Got {bins}.")
    every = tuple(sorted({0.0, 0.25, 0.5, 0.75, 1.0, *map(float, levels)}))
    quantiles: Series = {}
    counts: Series = {}
    edges: Series = {}
    kinds: dict[Key, dict[str, str]] = {}
    for key, kind, name, values in _observed(as_trace(trace, "activation_distribution", "states")):
        shown = f"{name} gate" if name in kinds.get(key, {}) else name  # a cell may name a state and a gate alike
        bounds = _edges(kind, name, values, bins)
        found = np.quantile(values.numpy(), every, axis=0).T
        quantiles.setdefault(key, {})[shown] = torch.from_numpy(found.copy())
        counts.setdefault(key, {})[shown] = torch.from_numpy(_histograms(values.numpy(), bounds))
        edges.setdefault(key, {})[shown] = torch.from_numpy(bounds)
        kinds.setdefault(key, {})[shown] = kind
    return ActivationDistribution(quantiles, counts, edges, every, kinds)


def _histograms(values: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How many of the values [step, unit] fall between two bounds, [unit, bin]."""
    bins, units = len(bounds) - 1, values.shape[1]
    place = (np.searchsorted(bounds, values, side="right") - 1).clip(0, bins - 1)
    flat = np.bincount((place + bins * np.arange(units)).ravel(), minlength=bins * units)
    return flat.reshape(units, bins)


def _observed(trace: Trace) -> Iterator[tuple[Key, str, str, Tensor]]:
    """(layer, "state" or "gate", name, values [step, unit]) with the steps of all sequences that have an input."""
    for kind, series in (("state", trace.states), ("gate", trace.gates)):
        for key, named in series.items():
            for name, values in named.items():
                seen = values[trace.mask].detach().cpu().double()
                check_finite(f"The {kind} {name!r} of layer {key} in 'trace'", seen)
                yield key, kind, name, seen


def _is_gate(name: str, values: Tensor) -> bool:
    return not name.startswith("candidate") and float(values.min()) >= 0 and float(values.max()) <= 1


def _conventions(name: str, values: Tensor, update: UpdateGate) -> list[tuple[str, Tensor]]:
    if name != "update" or update == "z":
        return [(name, values)]
    flipped = (FLIPPED, 1 - values)
    return [flipped] if update == "1-z" else [(name, values), flipped]


def _edges(kind: str, name: str, values: Tensor, bins: int) -> np.ndarray:
    low, high = float(values.min()), float(values.max())
    if kind == "gate" and _is_gate(name, values):
        low, high = 0.0, 1.0
    elif low >= -1 and high <= 1:
        low, high = -1.0, 1.0
    return np.linspace(low, high, bins + 1)
