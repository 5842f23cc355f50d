"""Section 3.2 and 4.1 of source 002 read as its text has it: classifiers without a penalty, Shapley values, and
neurons that are strongly connected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from rote.analyses import neuron_graph
from rote.analyses.diagnosis import RANKINGS, Fitting, Ranking, diagnose_by
from rote.analyses.weights import NeuronGraph
from rote.models import EncoderDecoder
from rote.studies.realization import published
from rote.studies.realization.inside_measures import STRONG_UNITS, InsideModel, Row, position_labels

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress

PENALTIES = {"none": math.inf, "L2": 1.0}  # of the text, and of the authors' code
SIDES = {"encoder": "in", "decoder": "out"}  # where section 3.2 sees strongly connected neurons: they receive, or send
BY_WEIGHT: Ranking = "corrected"
WAYS: dict[
    str, tuple[tuple[str, tuple[Ranking, ...]], ...]
] = {  # what is told -> penalties, with rankings of the units
    "table": (("none", RANKINGS), ("L2", (BY_WEIGHT,))),
    "time step": (("none", (BY_WEIGHT, "as_published")), ("L2", (BY_WEIGHT,))),
    "gate": (("none", (BY_WEIGHT,)),),
}
TINY = 1e-9  # a share of the accuracy that one unit reaches


def read(
    trained: Sequence[Trained], seed: int, splits: int, divisions: int, gate_groups: bool, progress: Progress
) -> dict[str, list[Row]]:
    """Table -> what it says of the models of a seed."""
    rows: dict[str, list[Row]] = {"probes": [], "shapley": [], "connected": [], "opposite": []}
    for done, models in enumerate(trained):
        progress(done, len(trained))
        recipe = models.recipe
        inside = InsideModel(cast(EncoderDecoder, models.network(models.seeds.index(seed)).model), recipe.task)
        seen = {
            "probes": probes(inside, splits, gate_groups, seed),
            "shapley": shapley(inside, divisions, seed),
            "connected": connected(inside),
            "opposite": opposite(inside),
        }
        labels = {"cell": recipe.cell, "model": recipe.kind, "seed": seed}
        for name, more in seen.items():
            rows[name] += [{**labels, **row} for row in more]
    progress(len(trained), len(trained))
    return rows


def asked(inside: InsideModel) -> list[tuple[str, str, Tensor, Any]]:
    """What Tables 2 and 3 read from which activations."""
    traces = inside.traces["known"]
    tables, steps, _, _ = position_labels(inside.rows["known"])
    state = traces["encoder"].hidden[0]
    gates = [(f"decoder {gate} gate", traces["decoder"].gates[0][gate]) for gate in inside.gates]
    return [
        ("encoder state", "table", state, tables["encoder"]),
        ("encoder state", "time step", state, steps),
        *((name, "table", values, tables["decoder"]) for name, values in gates),
    ]


def probes(inside: InsideModel, splits: int, gate_groups: bool, seed: int) -> list[Row]:
    """Tables 2 and 3 without a penalty, as the text has them, and of the encoder's state with that of the authors' code
    beside it; lookup-inside has all of them with the latter. ``gate_groups``: look also for the groups of the gates,
    which are large and take long to find without a penalty."""
    rows = []
    for source, label, values, labels in asked(inside):
        gate = source != "encoder state"
        for penalty, rankings in WAYS["gate" if gate else label]:
            grouped = gate_groups or not gate
            share = Fitting.share if grouped else TINY
            fitting = Fitting(share, splits, regularization=PENALTIES[penalty], seed=seed)
            for ranking, probe in diagnose_by(rankings, values, labels, fitting).items():
                row = {"input": source, "label": label, "penalty": penalty, "ranking": ranking}
                group = {"group_accuracy": probe.group_accuracy, "units": len(probe.group)}
                rows.append({**row, "accuracy": probe.accuracy, **(group if grouped else {})})
    return rows


def shapley(inside: InsideModel, divisions: int, seed: int) -> list[Row]:
    """Footnote 5: the group that tells the table by Shapley values beside that by weights, each found again in several
    divisions of the samples, which gives how alike the groups of two divisions are."""
    _, _, values, labels = asked(inside)[0]
    rankings: tuple[Ranking, ...] = (BY_WEIGHT, "shapley")
    rows = []
    for penalty, c in PENALTIES.items():
        groups: dict[Ranking, list[set[int]]] = {ranking: [] for ranking in rankings}
        for division in range(divisions):
            fitting = Fitting(splits=1, regularization=c, seed=divisions * seed + division)
            for ranking, probe in diagnose_by(rankings, values, labels, fitting).items():
                groups[ranking].append(set(probe.group))
        both = list(zip(groups[BY_WEIGHT], groups["shapley"], strict=True))
        rows.append(
            {
                "penalty": penalty,
                "units_weights": fmean(map(len, groups[BY_WEIGHT])),
                "units_shapley": fmean(map(len, groups["shapley"])),
                "confirmed": fmean(len(weights & other) / len(weights) for weights, other in both),
                "alike_weights": alikeness(groups[BY_WEIGHT]), "alike_shapley": alikeness(groups["shapley"]),
            }
        )  # fmt: skip
    return rows


def alikeness(groups: Sequence[set[int]]) -> float:
    """Of two groups, the share of all their units that both have; mean over pairs of groups."""
    return fmean(len(one & other) / len(one | other) for one, other in combinations(groups, 2))


def connected(inside: InsideModel) -> list[Row]:
    """How one-sided the strongly connected neurons are, in all their weights and in their strong ones."""
    rows = []
    for name, weight in inside.gate_weights().items():
        side, graph = SIDES[name.split()[0]], neuron_graph(weight, published.STRONGEST)
        chosen = strongly_connected(graph, side)
        drawn = torch.zeros_like(weight, dtype=torch.double)
        drawn[graph.edges[:, 0], graph.edges[:, 1]] = graph.weights
        whole, strong = (polarity(values, side)[chosen] for values in (weight.double(), drawn))
        row = {"matrix": name, "neurons": len(chosen), "polarity": float(whole.mean())}
        rows.append({**row, "polarity_strong": float(strong.mean())})
    return rows


def polarity(weight: Tensor, side: str) -> Tensor:
    """|sum| / sum of absolute weights of each neuron, received ("in") or sent ("out")."""
    axis = 1 if side == "in" else 0
    share: Tensor = weight.sum(axis).abs() / weight.abs().sum(axis)
    return share


def strongly_connected(graph: NeuronGraph, side: str) -> Tensor:
    """The neurons with the most strong edges, 5 % of all; none without an edge. Of equals those with larger weights."""
    degree, strength = getattr(graph, f"{side}_degree"), getattr(graph, f"strength_{side}")
    order = strength.argsort(descending=True, stable=True)
    order = order[degree[order].argsort(descending=True, stable=True)]
    chosen: Tensor = order[: max(1, round(STRONG_UNITS * len(order)))]
    return chosen[degree[chosen] > 0]


def opposite(inside: InsideModel) -> list[Row]:
    """Of the neurons that are strongly connected in the update or the reset gate, how many have mean weights of
    opposite signs in the two (GRUs only)."""
    weights, rows = inside.gate_weights(), []
    for part, side in SIDES.items():
        both = [weight for name, weight in weights.items() if name.startswith(part) and name[-1] in "zr"]
        if len(both) == 2:
            graphs = [neuron_graph(weight, published.STRONGEST) for weight in both]
            chosen = np.unique(np.concatenate([strongly_connected(graph, side).numpy() for graph in graphs]))
            one, other = (getattr(graph, f"mean_{side}")[chosen] for graph in graphs)
            rows.append({"part": part, "neurons": len(chosen), "opposite": float((one * other < 0).double().mean())})
    return rows
