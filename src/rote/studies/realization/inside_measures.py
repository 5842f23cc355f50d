"""Six ways to look inside one lookup model: what is read from its weights and activations, as rows of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from rote.analyses import activation_distribution, diagnose, gate_saturation, neuron_graph, trace
from rote.analyses.diagnosis import Fitting, Ranking, diagnose_by
from rote.analyses.neurons import Strength, strong_neurons
from rote.analyses.trace import Trace
from rote.analyses.weights import gini
from rote.models import EncoderDecoder
from rote.models.encoder_decoder import Decoded
from rote.studies.realization import published
from rote.studies.realization.training import LookupData, correct
from rote.tasks.lookup import PAD, START, Example, LookupTask

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress

Row = dict[str, Any]
PARTS = ("encoder", "decoder")
KNOWN = ("train", "validation", "heldout_inputs", "heldout_compositions", "heldout_tables", "new_compositions")
TESTED = ("heldout_compositions", "heldout_tables", "new_compositions")  # whose activations Figures 3 and 4 show
GATES = {"update": "z", "reset": "r", "input": "i", "forget": "f", "candidate": "n", "output": "o"}
STRONG_UNITS = 0.05  # section 4.1: the strongest units
NARROW = 0.5  # a range of values below this counts as narrow; all of it is 2
OFF_AXES = 0.05  # a gate is off both axes when it is shut and open at more than this share of the steps each
SHOWN_NEURONS = 50  # Figure 3
SHOWN_MATRICES = ("encoder W_hz", "decoder W_iz", "encoder W_hi", "decoder W_ii")  # Figure 2; for LSTMs the input gate
GRAPHS = (("encoder", "weight_hh", "h"), ("decoder", "weight_ih", "i"))  # which weights Figure 2 looks at


def look(
    trained: Sequence[Trained], seed: int, splits: int, over_training: bool, in_detail: bool, progress: Progress
) -> dict[str, list[Row]]:
    """Table -> what it says of the models of a seed; ``over_training``: also as they were at the kept steps;
    ``in_detail``: also what the figures show unit by unit."""
    rows: dict[str, list[Row]] = {}
    steps = [models.recipe.epochs(models.steps) if over_training else {} for models in trained]
    done, total = 0, sum(1 + len(kept) for kept in steps)
    for models, kept in zip(trained, steps, strict=True):
        recipe, index = models.recipe, models.seeds.index(seed)
        for step in (None, *kept):
            inside = InsideModel(cast(EncoderDecoder, models.network(index, step).model), recipe.task)
            if step is None:
                seen = every_measure(inside, splits, seed, in_detail)
            else:
                values = emergence(inside, min(splits, 3), seed)
                seen = {"emergence": [{"epoch": kept[step], "measure": by, "value": values[by]} for by in values]}
            for name, more in seen.items():
                labels = {"cell": recipe.cell, "model": recipe.kind, "seed": seed}
                rows.setdefault(name, []).extend({**labels, **row} for row in more)
            done += 1
            progress(done, total)
    return rows


def every_measure(inside: InsideModel, splits: int, seed: int, in_detail: bool) -> dict[str, list[Row]]:
    """Table -> what it says of one trained model."""
    groups = diagnoses(inside, splits, seed)
    rows = {
        "diagnosis": groups,
        "strong-groups": strong_group(inside, groups),
        "embedding": embedding(inside),
        "graphs": graphs(inside),
        "polarity": polarities(inside),
        "activations": activations(inside),
        "gates": saturation(inside),
    }
    if in_detail:
        rows |= {
            "embedding-weights": embedding_map(inside),
            "edges": edges(inside, SHOWN_MATRICES),
            "neurons": shown_activations(inside),
            "gate-units": saturation(inside, unit_by_unit=True),
        }
    return rows


class InsideModel:
    """One model, a population of one, with its activations on all known rows and on the test rows."""

    def __init__(self, model: EncoderDecoder, task: LookupTask) -> None:
        splits = task.splits()
        rows = {
            "known": [row for name in KNOWN for row in splits[name]],
            "tested": [row for name in TESTED for row in splits[name]],
        }
        self.model, self.rows = model, rows
        self.data = LookupData({**rows, "new": splits["new_compositions"]}, task.vocabulary(), "cpu")
        self.encoder, self.decoder = model.encoder_of(0), model.decoder_of(0)
        self.traces = {name: traced(model, self.data, name)[1] for name in rows}
        names = self.encoder.recurrent.cell(0).gate_names
        self.gates = [name for name in names if name != "candidate"] or list(names)
        self.main_gate = "update" if "update" in self.gates else self.gates[0]

    def accuracy(self) -> float:
        """On new compositions."""
        batch = self.data.whole("new", 1)
        with torch.no_grad():
            decoded = self.model(batch.tokens, batch.mask, batch.targets, self.data.start)
        return float(correct(decoded, batch).double().mean())

    def gate_weights(self) -> dict[str, Tensor]:
        """Gate by gate, the encoder's recurrent weights (W_hz ...) and the decoder's input weights (W_iz ...)."""
        weights = {}
        for part, weight, letter in GRAPHS:
            cell = (self.encoder if part == "encoder" else self.decoder).recurrent.cell(0)
            blocks = getattr(cell, weight).detach().split(cell.hidden_size)
            for gate, block in zip(cell.gate_names, blocks, strict=True):  # listed as the rows lie
                if gate in self.gates:
                    weights[f"{part} W_{letter}{GATES[gate]}"] = block
        return weights


def traced(model: EncoderDecoder, data: LookupData, split: str) -> tuple[Decoded, dict[str, Trace]]:
    """What the first of the models answers to the rows of a split, and its encoder's and decoder's states and gates."""
    batch = data.whole(split, 1)
    with torch.no_grad():
        decoded: Decoded = model(batch.tokens, batch.mask, batch.targets, data.start)
    start = [tuple(state[0] for state in decoded.start)]
    lengths = (batch.targets[0] != PAD).sum(-1)
    return decoded, {
        "encoder": trace(model.encoder_of(0), batch.tokens[0], lengths=batch.mask[0].sum(-1)),
        "decoder": trace(model.decoder_of(0), decoded.inputs[0], lengths=lengths, initial=start),
    }


def diagnoses(inside: InsideModel, splits: int, seed: int) -> list[Row]:
    """Tables 2 and 3, with either ranking and with either way of splitting."""
    traces = inside.traces["known"]
    tables, steps, prefixes, whole = position_labels(inside.rows["known"])
    asked: list[tuple[str, str, Tensor, Any, Any]] = [
        ("encoder state", "table", traces["encoder"].hidden[0], tables["encoder"], prefixes),
        ("encoder state", "time step", traces["encoder"].hidden[0], steps, prefixes),
        *(
            (f"decoder {name} gate", "table", traces["decoder"].gates[0][name], tables["decoder"], whole)
            for name in inside.gates
        ),
    ]
    rankings: tuple[Ranking, ...] = ("corrected", "as_published")
    rows = []
    for source, label, values, labels, groups in asked:
        for kind, grouped in (("tokens", None), ("prefixes", groups)):
            by = diagnose_by(rankings, values, labels, Fitting(splits=splits, seed=seed), groups=grouped)
            rows += [
                {
                    "input": source, "label": label, "ranking": ranking, "splits": kind,
                    "accuracy": probe.accuracy, "group_accuracy": probe.group_accuracy, "units": len(probe.group),
                    "majority": probe.majority, "group": probe.group,
                }
                for ranking, probe in by.items()
            ]  # fmt: skip
    return rows


def position_labels(rows: Sequence[Example]) -> tuple[dict[str, Any], Any, Any, Any]:
    """Per position: the table that is read (encoder) or applied (decoder), the time step, and what a state depends on:
    the encoder's on the symbols so far, the decoder's on the whole input."""
    longest, outputs = max(len(row.inputs) for row in rows), max(len(row.outputs) for row in rows)

    def padded(values: Sequence[Any], length: int) -> list[Any]:
        return [*values, *[None] * (length - len(values))]

    names = [[symbol if symbol.startswith("t") else None for symbol in row.inputs] for row in rows]
    tables = {
        "encoder": [padded(name, longest) for name in names],
        "decoder": [padded([name[at] for at in row.attention], outputs) for row, name in zip(rows, names, strict=True)],
    }
    steps = [padded(range(len(row.inputs)), longest) for row in rows]
    prefixes = [padded([" ".join(row.inputs[: at + 1]) for at in range(len(row.inputs))], longest) for row in rows]
    whole = [padded([" ".join(row.inputs)] * len(row.outputs), outputs) for row in rows]
    return tables, steps, prefixes, whole


def strong_group(inside: InsideModel, groups: Sequence[Row]) -> list[Row]:
    """How many units of the group that tells the table are among the strongest of the encoder, by three readings."""
    wanted = {"input": "encoder state", "label": "table", "ranking": "corrected", "splits": "tokens"}
    group = next(row["group"] for row in groups if wanted.items() <= row.items())
    readings: tuple[Strength, ...] = ("mean", "max", "edges")
    rows = []
    for by in readings:
        (strong,) = strong_neurons(inside.encoder, STRONG_UNITS, by=by).values()
        share = len(set(group) & set(strong.tolist())) / len(group)
        rows.append({"strength": by, "share": share, "group_units": len(group), "strong_units": len(strong)})
    return rows


def embedding(inside: InsideModel) -> list[Row]:
    """Mean absolute weight of the decoder's embedding: the outputs, the start symbol, and what is never used."""
    weight = inside.model.decoder.embedding.weight[0].detach().abs().mean(1)
    symbols = inside.data.output_symbols
    kinds = ["start" if name == START else "never used" if name.startswith("<") else "bit strings" for name in symbols]
    return [
        {"symbols": kind, "strength": float(weight[[name == kind for name in kinds]].mean())}
        for kind in dict.fromkeys(kinds)
    ]


def embedding_map(inside: InsideModel) -> list[Row]:
    """Figure 1, weight by weight."""
    weight = inside.model.decoder.embedding.weight[0].tolist()
    return [
        {"symbol": symbol, "unit": unit, "weight": round(value, 5)}
        for symbol, values in zip(inside.data.output_symbols, weight, strict=True)
        for unit, value in enumerate(values)
    ]


def graphs(inside: InsideModel) -> list[Row]:
    """Figure 2 in numbers: how unequally the strong edges are spread, and how one-sided the strongest neurons are."""
    rows = []
    for name, weight in inside.gate_weights().items():
        part = name.split()[0]
        graph = neuron_graph(weight, published.STRONGEST)
        beyond = weight.abs() > published.THRESHOLDS[part]
        polar = {
            side: _strongest_mean(values) for side, values in (("in", graph.polarity_in), ("out", graph.polarity_out))
        }
        rows.append(
            {
                "matrix": name, "gini_in": graph.gini_in, "gini_out": graph.gini_out,
                "most_in": int(graph.in_degree.max()), "most_out": int(graph.out_degree.max()),
                "threshold": graph.threshold, "beyond": float(beyond.double().mean()),
                "beyond_gini_in": _gini(beyond.sum(1)), "beyond_gini_out": _gini(beyond.sum(0)),
                "polarity_in": polar["in"], "polarity_out": polar["out"],
            }
        )  # fmt: skip
    return rows


def _gini(degrees: Tensor) -> float | None:
    return gini(degrees) if int(degrees.sum()) else None


def _strongest_mean(values: Tensor) -> float:
    """Mean of the largest 5 %."""
    return float(values.nan_to_num().sort(descending=True).values[: _strong_count(len(values))].mean())


def _strong_count(units: int) -> int:
    return max(1, round(STRONG_UNITS * units))


def edges(inside: InsideModel, matrices: Sequence[str]) -> list[Row]:
    """Figure 2, edge by edge."""
    weights = inside.gate_weights()
    return [
        {"matrix": name, "receiver": receiver, "sender": sender, "weight": round(float(value), 5)}
        for name in matrices
        if name in weights
        for graph in [neuron_graph(weights[name], published.STRONGEST)]
        for (receiver, sender), value in zip(graph.edges.tolist(), graph.weights, strict=True)
    ]


def polarities(inside: InsideModel) -> list[Row]:
    """How the mean weights of a neuron's update and reset gates are related (GRU only): over all neurons, and of those
    that are among the most strongly positive or negative in either gate, how many have opposite signs."""
    weights, rows = inside.gate_weights(), []
    for part, letter, axis in (("encoder", "h", 1), ("decoder", "i", 0)):
        names = [f"{part} W_{letter}{gate}" for gate in "zr"]
        if all(name in weights for name in names):
            means = np.stack([weights[name].mean(axis).double().numpy() for name in names])
            strong = np.abs(means).argsort(1)[:, -_strong_count(means.shape[1]) :]
            chosen = means[:, np.unique(strong)]
            opposite = float((chosen[0] * chosen[1] < 0).mean())
            rows.append({"part": part, "correlation": float(np.corrcoef(*means)[0, 1]), "opposite": opposite})
    return rows


def activations(inside: InsideModel) -> list[Row]:
    """Figure 3 in numbers: how many neurons keep to a narrow range, over the test rows."""
    rows = []
    for part in PARTS:
        distribution = activation_distribution(inside.traces["tested"][part])
        width = distribution.range[0]["hidden"]
        rows.append(
            {
                "part": part, "narrow": distribution.narrow(NARROW)[0]["hidden"],
                "narrow_sampled": int((width[_sampled(len(width))] < NARROW).sum()),
                "median_range": float(width.median()),
                "median_iqr": float(distribution.iqr[0]["hidden"].median()),
            }
        )  # fmt: skip
    return rows


def _sampled(units: int) -> list[int]:
    """The neurons of Figure 3: 50 drawn at random, the same of every model."""
    return sorted(np.random.default_rng(0).permutation(units)[:SHOWN_NEURONS].tolist())


def shown_activations(inside: InsideModel) -> list[Row]:
    """Figure 3, neuron by neuron."""
    rows = []
    for part in PARTS:
        distribution = activation_distribution(inside.traces["tested"][part])
        levels = {"smallest": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "largest": 1.0}
        values = {name: distribution.quantile(level)[0]["hidden"] for name, level in levels.items()}
        rows += [
            {"part": part, "neuron": number, **{name: round(float(value[unit]), 4) for name, value in values.items()}}
            for number, unit in enumerate(_sampled(inside.model.config.hidden))
        ]
    return rows


def saturation(inside: InsideModel, unit_by_unit: bool = False) -> list[Row]:
    """Figure 4, gate by gate or unit by unit, the update gate in both conventions. A simple unit has no gates."""
    rows: list[Row] = []
    if inside.gates == ["candidate"]:
        return rows
    for part in PARTS:
        seen = gate_saturation(inside.traces["tested"][part], update="both")
        off = seen.off_axes(OFF_AXES)[0]
        for gate, left in seen.left[0].items():
            right = seen.right[0][gate]
            labels = {"part": part, "gate": gate}
            if unit_by_unit:
                pairs = zip(left.tolist(), right.tolist(), strict=True)
                rows += [
                    {**labels, "unit": unit, "left": round(x, 4), "right": round(y, 4)}
                    for unit, (x, y) in enumerate(pairs)
                ]
            else:
                rows.append({**labels, "left": float(left.mean()), "right": float(right.mean()), "off": off[gate]})
    return rows


def emergence(inside: InsideModel, splits: int, seed: int) -> dict[str, float]:
    """One number for each way of looking, so that they can be followed over training."""
    strength = {row["symbols"]: row["strength"] for row in embedding(inside)}
    name = f"encoder W_h{GATES[inside.main_gate]}"
    tables, _, _, _ = position_labels(inside.rows["known"])
    state = inside.traces["known"]["encoder"].hidden[0]
    probe = diagnose(state, tables["encoder"], splits=splits, seed=seed)
    off = [row["off"] for row in saturation(inside) if (row["part"], row["gate"]) == ("encoder", inside.main_gate)]
    return {
        "accuracy on new compositions": inside.accuracy(),
        "mean absolute weight of the decoder embedding": strength["bit strings"],
        "Gini of the strong edges that an encoder gate receives": neuron_graph(
            inside.gate_weights()[name], published.STRONGEST
        ).gini_in,
        "units in the group that tells the table": float(len(probe.group)),
        "encoder gates off both axes": off[0] if off else np.nan,
        "encoder neurons with a narrow range": activations(inside)[0]["narrow"],
    }
