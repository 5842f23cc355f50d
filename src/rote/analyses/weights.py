"""A weight matrix as a labelled map, and as the graph of its strongest edges (source 002, section 3, Figures 1, 2).

A weight [receiver, sender] is as torch keeps it: row i holds what neuron i receives. One gate's block of a recurrent
layer is a slice of its rows: ``cell.weight_hh[size : 2 * size]`` is the update gate of a GRU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.inputs import check_finite
from rote.analyses.labels import Name
from rote.analyses.result import Result, analyses, needs
from rote.errors import UsageError
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, repr=False)
class WeightMap(Result):
    """A matrix with a name for each row and column."""

    weight: Float[Tensor, "row column"]
    rows: tuple[Name, ...]
    columns: tuple[Name, ...]

    @property
    def row_strength(self) -> Float[Tensor, " row"]:
        """Mean absolute weight of each row."""
        return self.weight.abs().mean(1)

    @property
    def column_strength(self) -> Float[Tensor, " column"]:
        return self.weight.abs().mean(0)

    def to_table(self) -> Table:
        numbers = self.weight.tolist()
        # As tuples at once: a matrix of 512 x 1536 has 786,432 rows.
        rows = tuple(
            (row, column, value)
            for row, values in zip(self.rows, numbers, strict=True)
            for column, value in zip(self.columns, values, strict=True)
        )
        columns = (Column("row", role="label"), Column("column", role="label"), Column("weight"))
        return Table("weight-map", "Weights", columns, rows, figure="weight-map", details=True)


@analyses.register("weight_map")
@needs(None)
def weight_map(
    weight: Tensor, *, rows: Sequence[Name] | None = None, columns: Sequence[Name] | None = None
) -> WeightMap:
    """A weight matrix with named rows and columns, drawn as an image.

    ``rows``, ``columns``: a name for each (the tokens of an embedding, say); default: their numbers.

    >>> import torch, rote
    >>> found = rote.weight_map(torch.tensor([[0.5, -2.0], [0.0, 1.0]]), rows=["red", "blue"])
    >>> found.rows, found.row_strength.tolist()
    (('red', 'blue'), [1.25, 0.5])
    """
    matrix = as_matrix(weight).clone()
    return WeightMap(matrix, _names(rows, "rows", matrix.shape[0]), _names(columns, "columns", matrix.shape[1]))


@dataclass(frozen=True, repr=False)
class NeuronGraph(Result):
    """The strongest edges of a matrix, strongest first, and what each neuron receives (in) and sends (out)."""

    edges: Int[Tensor, "edge end"]  # receiver, sender
    weights: Float[Tensor, " edge"]
    in_degree: Int[Tensor, " receiver"]
    out_degree: Int[Tensor, " sender"]
    mean_in: Float[Tensor, " receiver"]  # over all weights, strong or not
    mean_out: Float[Tensor, " sender"]
    strength_in: Float[Tensor, " receiver"]  # mean absolute weight
    strength_out: Float[Tensor, " sender"]
    gini_in: float  # 0: all neurons have as many strong edges; near 1: one has them all
    gini_out: float
    threshold: float  # absolute weight of the weakest edge that is kept
    receivers: tuple[Name, ...]
    senders: tuple[Name, ...]

    @property
    def signed_polarity_in(self) -> Float[Tensor, " receiver"]:
        """mean w / mean |w|: 1 if a neuron receives positive weights only, -1 if negative ones only, NaN if none."""
        return self.mean_in / self.strength_in

    @property
    def signed_polarity_out(self) -> Float[Tensor, " sender"]:
        return self.mean_out / self.strength_out

    @property
    def polarity_in(self) -> Float[Tensor, " receiver"]:
        """|mean w| / mean |w|."""
        return self.signed_polarity_in.abs()

    @property
    def polarity_out(self) -> Float[Tensor, " sender"]:
        return self.signed_polarity_out.abs()

    def to_table(self) -> Table:
        """The edges."""
        ends, weights = self.edges.tolist(), self.weights.tolist()
        rows = [
            {"receiver": self.receivers[receiver], "sender": self.senders[sender], "weight": weight}
            for (receiver, sender), weight in zip(ends, weights, strict=True)
        ]
        columns = (Column("receiver", role="label"), Column("sender", role="label"), Column("weight"))
        return Table.make(
            "neuron-graph", "The strongest edges between neurons", columns, rows,
            figure="neuron-graph", details=True, note=f"Weights beyond ±{self.threshold:.3g}.",
            options={"receivers": list(self.receivers), "senders": list(self.senders)},
        )  # fmt: skip

    def neurons(self) -> Table:
        """Degree, mean weight and polarity of each neuron on each side."""
        sides: tuple[tuple[str, Sequence[Name], tuple[Tensor, ...]], ...] = (
            ("in", self.receivers, (self.in_degree, self.mean_in, self.strength_in, self.signed_polarity_in)),
            ("out", self.senders, (self.out_degree, self.mean_out, self.strength_out, self.signed_polarity_out)),
        )
        names = ("degree", "mean", "strength", "polarity")
        rows: list[dict[str, Any]] = []
        for side, neurons, values in sides:
            for neuron, *numbers in zip(neurons, *(value.tolist() for value in values), strict=True):
                rows.append({"side": side, "neuron": neuron, **dict(zip(names, numbers, strict=True))})
        columns = (
            Column("side", "in: receives, out: sends", role="label"),
            Column("neuron", role="label"),
            Column("degree", "strong edges"),
            Column("mean", "mean weight"),
            Column("strength", "mean absolute weight"),
            Column("polarity", "mean weight divided by mean absolute weight"),
        )
        return Table.make("neurons", "Strong edges and polarity of each neuron", columns, rows, details=True)

    def __repr__(self) -> str:
        return (
            f"NeuronGraph({len(self.weights)} edges beyond ±{self.threshold:.3g} between {len(self.senders)} senders "
            f"and {len(self.receivers)} receivers; Gini in {self.gini_in:.2f}, out {self.gini_out:.2f})"
        )


@analyses.register("neuron_graph")
@needs(None)
def neuron_graph(
    weight: Tensor,
    strongest: float = 0.01,
    *,
    receivers: Sequence[Name] | None = None,
    senders: Sequence[Name] | None = None,
) -> NeuronGraph:
    """The strongest share of a matrix's weights as edges: degree, polarity and how unequally they are spread.

    - weight: [receiver, sender], as torch keeps it; one gate of a layer is a slice of its rows.
    - strongest: the share of all weights that are edges. Of equal weights the one further up, then further left, is
      taken first; a weight of exactly 0 is never an edge.
    - receivers, senders: names; default their numbers.

    >>> import torch, rote
    >>> graph = rote.neuron_graph(torch.tensor([[0.1, -3.0], [0.2, 2.0]]), strongest=0.5)
    >>> graph.edges.tolist(), graph.weights.tolist()  # both strong weights come from neuron 1
    ([[0, 1], [1, 1]], [-3.0, 2.0])
    >>> graph.out_degree.tolist(), graph.gini_out
    ([0, 2], 0.5)
    """
    matrix = as_matrix(weight).double()
    strong = strongest_of(matrix.abs().flatten(), strongest)
    edges = torch.stack([strong // matrix.shape[1], strong % matrix.shape[1]], dim=1)
    weights = matrix.flatten()[strong]
    if len(weights) == 0:
        raise UsageError(f"All of 'weight' is zero: there is no edge. Got a matrix {tuple(matrix.shape)} of zeros.")
    absolute = matrix.abs()
    in_degree = edges[:, 0].bincount(minlength=matrix.shape[0])
    out_degree = edges[:, 1].bincount(minlength=matrix.shape[1])
    return NeuronGraph(
        edges, weights, in_degree, out_degree, matrix.mean(1), matrix.mean(0), absolute.mean(1), absolute.mean(0),
        gini(in_degree), gini(out_degree), float(weights.abs().min()),
        _names(receivers, "receivers", matrix.shape[0]), _names(senders, "senders", matrix.shape[1]),
    )  # fmt: skip


def strongest_of(absolute: Tensor, share: float) -> Tensor:
    """Where the largest of ``absolute`` [weight] are, largest first: that share of all, at least one, never a zero."""
    if not 0 < share <= 1:
        raise UsageError(f"'strongest' must be a share above 0 and at most 1. Got {share}.")
    order = absolute.argsort(descending=True, stable=True)[: max(1, round(share * len(absolute)))]
    return order[absolute[order] > 0]


def gini(amounts: Tensor) -> float:
    """Mean absolute difference between two of the amounts, divided by twice their mean."""
    ordered = amounts.double().sort().values
    ranks = torch.arange(1, len(ordered) + 1, dtype=torch.double)
    return float(2 * (ranks * ordered).sum() / (len(ordered) * ordered.sum()) - (len(ordered) + 1) / len(ordered))


def as_matrix(weight: Any) -> Tensor:
    """On the CPU, detached and checked."""
    if weight is None:
        raise UsageError(
            "'weight' must be a matrix [receiver, sender] of numbers. Got None, as the weight_hh of a cell without "
            "recurrent matrix. What its units receive is in cell.weight_ih."
        )
    try:
        matrix = torch.as_tensor(weight).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise UsageError(
            f"'weight' must be a matrix [receiver, sender] of numbers. Got {type(weight).__name__}."
        ) from None
    if matrix.dim() != 2 or matrix.numel() == 0 or not matrix.is_floating_point():
        raise UsageError(
            f"'weight' must be a matrix [receiver, sender] of numbers. Got {tuple(matrix.shape)} of {matrix.dtype}."
        )
    check_finite("'weight'", matrix)
    return matrix


def _names(names: Sequence[Name] | None, argument: str, size: int) -> tuple[Name, ...]:
    given = tuple(range(size)) if names is None else tuple(names)
    if len(given) != size or len(set(given)) != size:
        raise UsageError(f"'{argument}' must be {size} different names. Got {len(given)}, {len(set(given))} different.")
    return given
