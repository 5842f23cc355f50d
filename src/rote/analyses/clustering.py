"""Hierarchical clustering of mean states: which words a network treats alike (Elman 1990, Figures 7 and 8).

Elman averages the hidden vectors of each word over all its occurrences and clusters the averages. He names no linkage;
reference runs agree between "average" and "ward" and differ from "centroid". Averages can form clusters without any
learning (his footnote 6): an untrained network and plain counts, which ``cluster`` takes as well, are the controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rote.analyses.labels import Labels, Name, Samples, checked_mask, labelled_samples, numbered
from rote.analyses.memory import check_memory
from rote.analyses.result import Result, analyses, needs
from rote.analyses.trace import Key, Trace, as_trace, place_of
from rote.errors import UnknownNameError, UsageError
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float, Int

METHODS = ("average", "centroid", "complete", "median", "single", "ward", "weighted")
METRICS = ("chebyshev", "cityblock", "correlation", "cosine", "euclidean", "sqeuclidean")
EUCLIDEAN_ONLY = ("centroid", "median", "ward")


@dataclass(frozen=True, repr=False)
class ClusterTree(Result):
    """Mean states and the tree that joins them, nearest first. Nodes: the labels, then the merges in their order."""

    means: Float[Tensor, "label unit"]
    counts: Int[Tensor, " label"]  # positions that each mean is taken over
    merges: Float[Tensor, "merge field"]  # left node, right node, distance, number of labels (scipy's linkage)
    order: Int[Tensor, " label"]  # labels as they stand beside each other in the tree
    names: tuple[Name, ...]
    cophenetic: float | None  # correlation of the distances in the tree with the true ones; None where undefined
    method: str
    metric: str

    @property
    def leaves(self) -> tuple[Name, ...]:
        """The names as they stand beside each other in the tree."""
        return tuple(self.names[index] for index in self.order.tolist())

    @cached_property
    def groups(self) -> tuple[frozenset[Name], ...]:
        """The names below each node."""
        below: list[frozenset[Name]] = [frozenset([name]) for name in self.names]
        for left, right, *_ in self.merges.tolist():
            below.append(below[int(left)] | below[int(right)])
        return tuple(below)

    def contains_group(self, names: Sequence[Name]) -> bool:
        """Whether these names, and no others, are all that hangs below one node."""
        return self._known(names) in self.groups

    def nearest_group(self, names: Sequence[Name]) -> tuple[frozenset[Name], float]:
        """The subtree most like these names, and how like: size of the intersection over that of the union."""
        wanted = self._known(names)
        overlap = [len(wanted & group) / len(wanted | group) for group in self.groups]
        best = max(range(len(overlap)), key=overlap.__getitem__)
        return self.groups[best], overlap[best]

    def to_table(self) -> Table:
        """One row per node: its name if it is a label, the nodes it joins if not, and where it stands."""
        position = {int(node): float(place) for place, node in enumerate(self.order.tolist())}
        rows: list[dict[str, Any]] = [
            {"node": node, "name": name, "height": 0.0, "size": 1, "position": position[node]}
            for node, name in enumerate(self.names)
        ]
        for node, (left, right, height, size) in enumerate(self.merges.tolist(), start=len(self.names)):
            position[node] = (position[int(left)] + position[int(right)]) / 2
            joined = {"left": int(left), "right": int(right), "height": height, "size": int(size)}
            rows.append({"node": node, **joined, "position": position[node]})
        columns = (
            Column("node", role="label"),
            Column("name", "the label, of a leaf", role="label"),
            Column("left", "first node that is joined here", role="label"),
            Column("right", "second node that is joined here", role="label"),
            Column("height", f"distance at which they are joined ({self.metric}, {self.method} linkage)"),
            Column("size", "labels below the node"),
            Column("position", "place across the tree: leaves are 0, 1, ..."),
        )
        return Table.make(
            "dendrogram", "Which labels have similar mean states", columns, rows, figure="dendrogram", details=True,
            note=f"Cophenetic correlation {self._fit()}.", options={"metric": self.metric},
        )  # fmt: skip

    def _known(self, names: Sequence[Name]) -> frozenset[Name]:
        for name in names:
            if name not in self.names:
                raise UnknownNameError("label", str(name), map(str, self.names), " in the tree")
        if not names:
            raise UsageError("A group needs at least one of the tree's names. Got none.")
        return frozenset(names)

    def _fit(self) -> str:
        return "undefined" if self.cophenetic is None else f"{self.cophenetic:.3f}"

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.leaves[:8])) + (", ..." if len(self.leaves) > 8 else "")
        return (
            f"ClusterTree({len(self.names)} labels [{shown}], {self.method}, {self.metric}; cophenetic {self._fit()})"
        )


@analyses.register("cluster")
@needs("states")
def cluster(
    trace: Trace | Tensor,
    labels: Labels,
    *,
    layer: Key = -1,
    state: str = "hidden",
    method: str = "average",
    metric: str = "euclidean",
    mask: Tensor | None = None,
) -> ClusterTree:
    """The tree of mean states per label, joined from the nearest on.

    - trace: or any vectors [batch, time, unit] or [sample, unit] in its place.
    - labels: one per position, whole numbers [batch, time] or lists of names (None: left out); padding never counts.
    - layer: -1 is the top; a layer of two directions gives both together, (layer, direction) one of them.
    - method, metric: how clusters are joined ("average", "ward", ...) and distances taken ("euclidean", "cosine", ...).

    >>> import torch, rote
    >>> vectors = torch.tensor([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.0, 5.2]])
    >>> tree = rote.cluster(vectors, ["cat", "dog", "eat", "run"])
    >>> tree.contains_group(["cat", "dog"]), tree.contains_group(["dog", "eat"])
    (True, False)
    """
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import pdist

    _check_linkage(method, metric)
    if isinstance(trace, Tensor):
        values = trace
    else:
        inside = as_trace(trace, "cluster", "states", ", or a tensor").mask.cpu()
        mask = inside if mask is None else inside & checked_mask(mask, inside.shape)
        values = _states(trace, layer, state).cpu()
    names, means, counts = _means(labelled_samples(values, labels, mask, "trace"))
    pairs = len(names) * (len(names) - 1) // 2
    check_memory(
        5 * 8 * pairs,  # distances and heights, each less its mean as well, and their products
        f"cluster() of {len(names)} names, by the distances between all of them,",
        "Take fewer names: None among the labels leaves a position out.",
    )
    distances = pdist(means, metric)
    if not np.isfinite(distances).all():
        raise UsageError(f"The metric {metric!r} is undefined for a mean state that is zero or constant.")
    merges = hierarchy.linkage(distances, method)
    return ClusterTree(
        torch.from_numpy(means), torch.from_numpy(counts), torch.from_numpy(merges),
        torch.from_numpy(hierarchy.leaves_list(merges).astype(np.int64)), tuple(names),
        _cophenetic(merges, distances), method, metric,
    )  # fmt: skip


def _check_linkage(method: str, metric: str) -> None:
    for kind, name, known in (("method", method, METHODS), ("metric", metric, METRICS)):
        if name not in known:
            raise UnknownNameError(kind, str(name), known, " of cluster()")
    if method in EUCLIDEAN_ONLY and metric != "euclidean":
        raise UsageError(f"The method {method!r} is defined for the metric 'euclidean' only. Got {metric!r}.")


def _states(trace: Trace, layer: Key, state: str) -> Tensor:
    layers = sorted({place_of(key)["layer"] for key in trace.states})
    if isinstance(layer, int) and -len(layers) <= layer < len(layers):
        keys: list[Key] = [key for key in trace.states if place_of(key)["layer"] == layers[layer]]
    elif layer in trace.states:
        keys = [layer]
    else:
        raise UsageError(f"'layer' must be one of {', '.join(map(str, trace.states))}. Got {layer}.")
    known = trace.states[keys[0]]
    if state not in known:
        raise UnknownNameError("state", state, known, f" of layer {keys[0]}")
    return torch.cat([trace.states[key][state] for key in keys], dim=-1)


def _means(samples: Samples) -> tuple[list[Name], np.ndarray, np.ndarray]:
    names, which = numbered(samples.labels, "different names to join")
    counts = np.bincount(which, minlength=len(names))
    sums = np.zeros((len(names), samples.values.shape[1]))
    np.add.at(sums, which, samples.values)
    return names, sums / counts[:, None], counts


def _cophenetic(merges: np.ndarray, distances: np.ndarray) -> float | None:
    """Pearson's correlation of the height at which two labels meet with their distance; 1 where they are the same."""
    from scipy.cluster import hierarchy

    heights = hierarchy.cophenet(merges)
    if np.allclose(heights, distances, rtol=1e-12, atol=0):
        return 1.0
    a, b = heights - heights.mean(), distances - distances.mean()
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / scale) if scale > 0 else None
