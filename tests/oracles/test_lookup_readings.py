"""What lookup-readings reads from a model, against the same by hand on a small model; and its claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rote.analyses import diagnose, neuron_graph
from rote.claims import judge, measure
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.studies.realization import readings_measures as measures
from rote.studies.realization.inside_measures import InsideModel
from rote.studies.realization.readings import COLUMNS, LookupReadingsStudy, all_tables, run_tables
from rote.studies.realization.readings_claims import CLAIMS
from rote.tasks.lookup import LookupTask

TASK, UNITS = LookupTask(longer=0), 40  # of which 5 % are two


def made(cell: str) -> InsideModel:
    inputs, outputs = TASK.vocabulary()
    config = EncoderDecoderConfig(cell=cell, hidden=UNITS, embedding=4, limit=1.0)
    return InsideModel(EncoderDecoder(config, len(inputs), len(outputs), seeds=[3], dtype=torch.float64), TASK)


@pytest.fixture(scope="module")
def inside() -> InsideModel:
    return made("gru")


def strongest_rows(weight: np.ndarray) -> list[int]:
    """The two rows with the most of the strongest 1 % of the weights; of equals the row with the larger weights."""
    absolute = np.abs(weight)
    limit = np.sort(absolute, axis=None)[-round(0.01 * weight.size)]
    return sorted(range(len(weight)), key=lambda row: (-(absolute[row] >= limit).sum(), -absolute[row].sum()))[:2]


def test_strongly_connected_neurons_are_those_with_the_most_strong_weights(inside: InsideModel) -> None:
    encoder, decoder = inside.encoder.recurrent.cell(0), inside.decoder.recurrent.cell(0)
    by_name = {row["matrix"]: row for row in measures.connected(inside)}
    for name, weight in (
        ("encoder W_hz", encoder.weight_hh[UNITS : 2 * UNITS]),
        ("decoder W_ir", decoder.weight_ih[:UNITS].T),  # what a neuron sends stands in a column
    ):
        matrix = weight.detach().numpy()
        chosen = strongest_rows(matrix)
        limit = np.sort(np.abs(matrix), axis=None)[-round(0.01 * matrix.size)]
        strong = np.where(np.abs(matrix) >= limit, matrix, 0.0)
        for key, values in (("polarity", matrix), ("polarity_strong", strong)):
            expected = np.mean([abs(values[row].sum()) / np.abs(values[row]).sum() for row in chosen])
            assert by_name[name][key] == pytest.approx(expected), (name, key)


def test_opposite_signs_are_counted_among_the_strongly_connected_of_either_gate(inside: InsideModel) -> None:
    cell = inside.encoder.recurrent.cell(0)
    update, reset = (cell.weight_hh[rows].detach().numpy() for rows in (slice(UNITS, 2 * UNITS), slice(0, UNITS)))
    chosen = set(strongest_rows(update)) | set(strongest_rows(reset))
    (row,) = [row for row in measures.opposite(inside) if row["part"] == "encoder"]
    assert row["neurons"] == len(chosen)
    assert row["opposite"] == np.mean([update[unit].mean() * reset[unit].mean() < 0 for unit in chosen])


def test_a_neuron_without_a_strong_weight_is_not_strongly_connected() -> None:
    weight = torch.zeros(40, 40)
    weight[7, :16] = 1.0
    assert measures.strongly_connected(neuron_graph(weight), "in").tolist() == [7]


def test_units_without_two_gates_have_no_opposite_ones() -> None:
    lstm = made("lstm")
    assert measures.opposite(lstm) == []
    assert {row["matrix"] for row in measures.connected(lstm)} >= {"encoder W_hf", "decoder W_io"}


def test_probes_are_diagnoses_without_a_penalty_and_with_that_of_the_code(inside: InsideModel) -> None:
    rows = measures.probes(inside, 1, False, 5)
    _, _, values, labels = measures.asked(inside)[0]
    for penalty, c in (("none", np.inf), ("L2", 1.0)):
        probe = diagnose(values, labels, splits=1, seed=5, regularization=c)
        (row,) = [
            row for row in rows
            if (row["input"], row["label"], row["penalty"], row["ranking"])
            == ("encoder state", "table", penalty, "corrected")
        ]  # fmt: skip
        assert (row["accuracy"], row["units"]) == (probe.accuracy, len(probe.group))
    gates = [row for row in rows if row["input"] == "decoder update gate"]
    assert [row["penalty"] for row in gates] == ["none"]
    assert "units" not in gates[0]


def test_groups_are_as_alike_as_the_share_of_units_that_both_have() -> None:
    assert measures.alikeness([{1, 2}, {2, 3}, {1, 2}]) == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)


def made_up(model: str, seed: int, better: float) -> dict[str, list[dict[str, Any]]]:
    """Rows in which all is as the source says, by ``better``; 0: no difference."""
    guided, labels = model == "guided", {"cell": "gru", "model": model, "seed": seed}
    ranked = ("corrected", "as_published")
    states = [("encoder state", "table"), ("encoder state", "time step")]
    units = 2 if guided and better else 35
    return {
        "probes": [
            *(
                {**labels, "input": source, "label": label, "penalty": "none", "ranking": ranking, "accuracy": 1.0,
                 "group_accuracy": 0.96, "units": units}
                for source, label in states for ranking in ranked
            ),
            *(
                {**labels, "input": f"decoder {gate} gate", "label": "table", "penalty": "none", "ranking": "corrected",
                 "accuracy": 1.0 if guided or not better else 0.5}
                for gate in ("update", "reset")
            ),
        ],
        "shapley": [
            {**labels, "penalty": penalty, "units_weights": 4.0, "units_shapley": 4.0 + 3 * better,
             "confirmed": 0.2 + 0.7 * better, "alike_weights": 0.8, "alike_shapley": 0.8 - 0.3 * better}
            for penalty in ("none", "L2")
        ],
        "connected": [
            {**labels, "matrix": matrix, "neurons": 10, "polarity": 0.1, "polarity_strong": 0.2 + 0.5 * guided * better}
            for matrix in ("encoder W_hz", "decoder W_iz")
        ],
        "opposite": [
            {**labels, "part": part, "neurons": 10, "opposite": 0.3 + 0.5 * better} for part in ("encoder", "decoder")
        ],
    }  # fmt: skip


def outcomes(better: float, without: str = "") -> dict[str, str]:
    collected: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
    for seed in range(5):
        for model in ("baseline", "guided"):
            for name, rows in made_up(model, seed, better).items():
                collected[name] += rows if name != without else []
    tables = {table.name: table for table in all_tables({one.name: one for one in run_tables(collected)})}
    return {claim.id: judge(claim, measure(claim, tables)).outcome for claim in CLAIMS}


def test_claims_come_out_either_way_and_are_not_run_without_their_measure() -> None:
    assert set(outcomes(1.0).values()) == {"supported"}, outcomes(1.0)
    assert set(outcomes(0.0).values()) == {"contradicted"}, outcomes(0.0)
    assert outcomes(1.0, without="opposite")["lookup-opposite-connected"] == "not run"


def test_groups_of_gates_that_were_not_looked_for_are_left_empty() -> None:
    rows = [row for model in ("baseline", "guided") for row in made_up(model, 0, 1.0)["probes"]]
    (every,) = run_tables({"probes": rows})
    summary = all_tables({"probes": every})[0]
    gate = summary.where(input="decoder update gate", model="guided").records()[0]
    assert (gate["units"], gate["accuracy"], gate["units_published"]) == (None, 1.0, 22.2)


def test_it_looks_at_the_models_of_the_accuracy_study() -> None:
    from rote.studies.realization.accuracy import LookupAccuracyStudy

    readings, accuracy = LookupReadingsStudy(), LookupAccuracyStudy()
    looked = {one.request.id for job in readings.jobs(readings.resolve("paper", {})) for one in job.needs}
    offered = {one.request.id for job in accuracy.jobs(accuracy.resolve("paper", {})) for one in job.needs}
    assert looked < offered
