"""What lookup-inside reads from a model, against the same by hand on a small model."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from rote.claims import judge, measure
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.studies.realization import inside_measures as measures
from rote.studies.realization.inside_claims import CLAIMS
from rote.studies.realization.inside_tables import COLUMNS, all_tables, run_tables
from rote.tasks.lookup import LookupTask

TASK = LookupTask(longer=0)


@pytest.fixture(scope="module", params=["gru", "lstm"])
def inside(request):
    inputs, outputs = TASK.vocabulary()
    config = EncoderDecoderConfig(cell=request.param, hidden=12, embedding=4, limit=1.0)
    model = EncoderDecoder(config, len(inputs), len(outputs), seeds=[3], dtype=torch.float64)
    return measures.InsideModel(model, TASK)


def test_traces_are_the_models_own_pass(inside):
    batch = inside.data.whole("known", 1)
    with torch.no_grad():
        decoded = inside.model(batch.tokens, batch.mask, batch.targets, inside.data.start)
    trace = inside.traces["known"]
    torch.testing.assert_close(trace["encoder"].hidden[0][batch.mask[0]], decoded.encoded[0][batch.mask[0]])
    seen = trace["decoder"].mask
    torch.testing.assert_close(trace["decoder"].logits[seen], decoded.logits[0][seen])


def test_labels_name_the_table_at_each_position():
    rows = TASK.splits()["train"]
    tables, steps, prefixes, whole = measures.position_labels(rows)
    for number, row in enumerate(rows):
        applied = [name for name in row.inputs if name.startswith("t")]
        assert tables["encoder"][number][: len(row.inputs)] == [None, *applied, None]
        assert tables["decoder"][number][: len(row.outputs)] == [None, *applied]
        assert steps[number][: len(row.inputs)] == list(range(len(row.inputs)))
        assert prefixes[number][1] == " ".join(row.inputs[:2])
        assert whole[number][0] == " ".join(row.inputs)
    lengths = {len(labels) for group in (tables["encoder"], steps, prefixes) for labels in group}
    assert lengths == {4}


def test_every_table_is_one_case_of_eight():
    """What a majority classifier can get, counted from the rows as the task writes them."""
    rows = [row for name in measures.KNOWN for row in TASK.splits()[name]]
    read = Counter(symbol for row in rows for symbol in row.inputs if symbol.startswith("t"))
    applied = Counter(row.inputs[at] for row in rows for at in row.attention if row.inputs[at].startswith("t"))
    assert read == applied == dict.fromkeys((f"t{number}" for number in range(1, 9)), 136)
    assert max(read.values()) / read.total() == 1 / 8


def test_diagnoses_cover_every_input_ranking_and_split(inside):
    rows = measures.diagnoses(inside, splits=2, seed=0)
    gates = {"gru": ["reset", "update"], "lstm": ["input", "forget", "output"]}[inside.model.config.cell]
    inputs = [
        ("encoder state", "table"),
        ("encoder state", "time step"),
        *((f"decoder {g} gate", "table") for g in gates),
    ]
    wanted = {
        (*which, ranking, splits)
        for which in inputs
        for ranking in ("corrected", "as_published")
        for splits in ("tokens", "prefixes")
    }
    assert {(row["input"], row["label"], row["ranking"], row["splits"]) for row in rows} == wanted
    for row in rows:
        assert row["units"] == len(row["group"]) <= 12
        assert row["group_accuracy"] >= 0.95 * row["accuracy"]
        if row["label"] == "table":
            assert row["majority"] == 0.125
    strong = measures.strong_group(inside, rows)
    group = next(set(row["group"]) for row in rows if row["ranking"] == "corrected")
    cell = inside.encoder.recurrent.cell(0)
    received = torch.cat([cell.weight_ih.view(-1, 12, 4), cell.weight_hh.view(-1, 12, 12)], 2).abs()
    sent = cell.weight_hh.abs().view(-1, 12, 12).sum((0, 1))
    count = received.shape[0] * received.shape[2] + received.shape[0] * 12
    mean = (received.sum((0, 2)) + sent) / count
    strongest = {int(mean.argmax())}  # 5 % of twelve is one
    assert next(row["share"] for row in strong if row["strength"] == "mean") == len(group & strongest) / len(group)


def test_embedding_rows_by_hand(inside):
    weight = inside.model.decoder.embedding.weight[0].detach().abs()
    found = {row["symbols"]: row["strength"] for row in measures.embedding(inside)}
    assert found["never used"] == pytest.approx(float(weight[:2].mean()))
    assert found["start"] == pytest.approx(float(weight[2].mean()))
    assert found["bit strings"] == pytest.approx(float(weight[3:].mean()))
    drawn = measures.embedding_map(inside)
    assert len(drawn) == 11 * 12
    assert drawn[12 * 3 + 5]["symbol"] == "000"


def test_graphs_look_at_the_gates_rows(inside):
    cell, weights = inside.model.config.cell, inside.gate_weights()
    encoder, decoder = inside.encoder.recurrent.cell(0), inside.decoder.recurrent.cell(0)
    if cell == "gru":
        assert torch.equal(weights["encoder W_hz"], encoder.weight_hh[12:24])
        assert torch.equal(weights["decoder W_ir"], decoder.weight_ih[:12])
        (state,) = [row["correlation"] for row in measures.polarities(inside) if row["part"] == "encoder"]
        update, reset = encoder.weight_hh[12:24].detach().numpy(), encoder.weight_hh[:12].detach().numpy()
        assert state == pytest.approx(np.corrcoef(update.mean(1), reset.mean(1))[0, 1])
        strongest = {int(np.abs(weight.mean(1)).argmax()) for weight in (update, reset)}  # 5 % of twelve is one
        opposite = [np.sign(update.mean(1)[unit]) != np.sign(reset.mean(1)[unit]) for unit in strongest]
        assert measures.polarities(inside)[0]["opposite"] == np.mean(opposite)
        sent = [row["correlation"] for row in measures.polarities(inside) if row["part"] == "decoder"]
        update, reset = decoder.weight_ih[12:24].detach().numpy(), decoder.weight_ih[:12].detach().numpy()
        assert sent == [pytest.approx(np.corrcoef(update.mean(0), reset.mean(0))[0, 1])]
    else:
        assert torch.equal(weights["encoder W_hf"], encoder.weight_hh[12:24])
        assert torch.equal(weights["decoder W_io"], decoder.weight_ih[36:])
        assert measures.polarities(inside) == []
    for row in measures.graphs(inside):
        weight = weights[row["matrix"]].abs()
        limit = 0.2 if row["matrix"].startswith("encoder") else 0.17
        assert row["beyond"] == pytest.approx(float((weight > limit).double().mean()))
        assert row["most_in"] == 1  # one edge is 1 % of 144


def test_activations_and_gates_by_hand(inside):
    for row in measures.activations(inside):
        trace = inside.traces["tested"][row["part"]]
        seen = trace.hidden[0][trace.mask]
        width = seen.amax(0) - seen.amin(0)
        assert row["narrow"] == pytest.approx(float((width < 0.5).double().mean()))
        assert row["narrow_sampled"] == int((width < 0.5).sum())  # of twelve neurons all are drawn
    for row in measures.saturation(inside):
        trace = inside.traces["tested"][row["part"]]
        flipped = row["gate"] == "1 - update"
        seen = trace.gates[0]["update" if flipped else row["gate"]][trace.mask]
        seen = 1 - seen if flipped else seen
        assert row["left"] == pytest.approx(float((seen < 0.1).double().mean()))
        assert row["right"] == pytest.approx(float((seen > 0.9).double().mean()))
    chosen = measures.shown_activations(inside)
    assert len(chosen) == 24
    assert all(row["smallest"] <= row["lower"] <= row["median"] <= row["upper"] <= row["largest"] for row in chosen)


def test_a_simple_unit_has_no_gates_and_is_looked_at_all_the_same():
    inputs, outputs = TASK.vocabulary()
    config = EncoderDecoderConfig(cell="elman", hidden=8, embedding=4, limit=0.5)
    inside = measures.InsideModel(EncoderDecoder(config, len(inputs), len(outputs), seeds=[0]), TASK)
    assert measures.saturation(inside) == []
    assert [row["matrix"] for row in measures.graphs(inside)] == ["encoder W_hn", "decoder W_in"]
    assert np.isnan(measures.emergence(inside, 2, 0)["encoder gates off both axes"])


def made_up(model: str, seed: int, better: float) -> dict[str, list[dict[str, object]]]:
    """Rows in which guided models are as the source says, by ``better``; 0: no difference."""
    guided = model == "guided"
    labels = {"cell": "gru", "model": model, "seed": seed}
    noise = 0.001 * (seed - 2)
    sources = [("encoder state", "table"), ("encoder state", "time step")]
    sources += [("decoder update gate", "table"), ("decoder reset gate", "table")]
    accuracy = {"encoder state": (0.98, 1.0), "decoder update gate": (0.53, 1.0), "decoder reset gate": (0.52, 1.0)}
    units = {"encoder state": (35, 2), "decoder update gate": (52, 22), "decoder reset gate": (44, 21)}
    rows: dict[str, list[dict[str, object]]] = {
        "diagnosis": [
            {
                **labels, "input": source, "label": label, "ranking": ranking, "splits": splits,
                "accuracy": accuracy[source][guided], "group_accuracy": 0.9, "majority": 0.125,
                "units": units[source][guided and better > 0] + seed % 2,
            }
            for source, label in sources
            for ranking in ("corrected", "as_published") for splits in ("tokens", "prefixes")
        ],
        "strong-groups": [
            {**labels, "strength": by, "share": 0.95 if guided and better else 0.1, "group_units": 2,
             "strong_units": 26}
            for by in ("mean", "max", "edges")
        ],
        "embedding": [
            {**labels, "symbols": "bit strings", "strength": (0.035 + 0.09 * better * guided) + noise},
            {**labels, "symbols": "start", "strength": 0.23 + noise},
            {**labels, "symbols": "never used", "strength": 0.04},
        ],
        "graphs": [
            {
                **labels, "matrix": matrix, "beyond": 0.01 + noise, "most_in": 5, "most_out": 5, "threshold": 0.2,
                **dict.fromkeys(
                    ("gini_in", "gini_out", "polarity_in", "polarity_out"),
                    0.5 + 0.3 * better * guided + noise * (1 + guided),
                ),
                "beyond_gini_in": 0.5, "beyond_gini_out": 0.5,
            }
            for matrix in ("encoder W_hz", "encoder W_hr", "decoder W_iz", "decoder W_ir")
        ],
        "polarity": [
            {**labels, "part": part, "correlation": -0.3 * better + noise, "opposite": 0.1 + 0.7 * better + noise}
            for part in ("encoder", "decoder")
        ],
        "activations": [
            {**labels, "part": part, "median_range": 1.9, "median_iqr": 0.5, "narrow": 0.3 * better * guided,
             "narrow_sampled": 0 if guided or better else 9}
            for part in ("encoder", "decoder")
        ],
        "gates": [
            {**labels, "part": part, "gate": gate, "left": 0.2 * better + 2 * noise,
             "right": 0.1 * better + 0.3 * better * (guided and part == "decoder") + noise * (1 + guided),
             "off": 0.3 - 0.2 * better * guided + noise * (1 + guided)}
            for part in ("encoder", "decoder") for gate in ("update", "1 - update", "reset")
        ],
    }  # fmt: skip
    return rows


def outcomes(better: float, wrong: bool = False) -> dict[str, str]:
    """``wrong``: what is said to be equal, or perfect, is not."""
    collected = {name: [] for name in COLUMNS}
    for seed in range(5):
        for model in ("baseline", "guided"):
            for name, rows in made_up(model, seed, better).items():
                collected[name] += rows
    if wrong:
        for row in collected["diagnosis"]:
            row["accuracy"] -= 0.3
            row["units"] += 100 if row["input"] == "encoder state" else 0
        for row in (*collected["embedding"], *collected["graphs"]):
            for name in {"strength", "beyond"} & row.keys():
                row[name] *= 5 if row["model"] == "guided" else 1
    runs = {table.name: table for table in run_tables(collected)}
    tables = {table.name: table for table in all_tables(runs, 512)}
    return {claim.id: judge(claim, measure(claim, tables)).outcome for claim in CLAIMS if claim.assertions}


def test_claims_come_out_either_way():
    supported, equal = outcomes(1.0), outcomes(0.0)
    assert set(supported.values()) == {"supported"}, supported
    no_contrast = {f"lookup-{name}" for name in ("start", "threshold", "gate-groups", "group-update", "group-reset")}
    assert {claim for claim, outcome in equal.items() if outcome == "supported"} == no_contrast
    wrong = outcomes(1.0, wrong=True)
    for claim in (*no_contrast, "lookup-group-step"):
        assert wrong[claim] == "contradicted", claim


@pytest.mark.parametrize(
    ("claim", "table", "column", "factor"),
    [
        ("lookup-strong-neurons", "graphs", "gini_in", -1),
        ("lookup-polar-neurons", "graphs", "polarity_out", -1),
        ("lookup-embedding", "embedding", "strength", 0.1),
        ("lookup-narrow-neurons", "activations", "median_range", 0.5),
        ("lookup-gates-on-axes", "gates", "off", 9),
    ],
)
def test_a_part_that_fails_contradicts_its_claim(claim, table, column, factor):
    rows = [row for seed in range(5) for model in ("baseline", "guided") for row in made_up(model, seed, 1.0)[table]]
    for row in rows:
        row[column] *= factor if row["model"] == "guided" else 1
    tables = {one.name: one for one in run_tables({table: rows})}
    (asked,) = [one for one in CLAIMS if one.id == claim]
    assert judge(asked, measure(asked, tables)).outcome == "contradicted"


def test_thresholds_are_no_test_of_smaller_layers():
    rows = [(name, row) for seed in range(5) for model in ("baseline", "guided")
            for name, found in made_up(model, seed, 1.0).items() for row in found]  # fmt: skip
    chosen = {name: [row for of, row in rows if of == name] for name in ("graphs", "strong-groups")}
    for row in chosen["strong-groups"]:
        row["strong_units"] = 10
    tables = {table.name: table for table in run_tables(chosen)}
    (claim,) = [claim for claim in CLAIMS if claim.id == "lookup-threshold"]
    assert judge(claim, measure(claim, tables)).outcome == "void"


def test_a_claim_whose_measure_is_missing_is_not_run():
    rows = [
        row for seed in range(5) for model in ("baseline", "guided") for row in made_up(model, seed, 1.0)["diagnosis"]
    ]
    tables = {table.name: table for table in run_tables({"diagnosis": rows})}
    (claim,) = [claim for claim in CLAIMS if claim.id == "lookup-opposite-gates"]
    assert judge(claim, measure(claim, tables)).outcome == "not run"


def test_published_values_stand_beside_gru_models_only():
    rows = [row for model in ("baseline", "guided") for row in made_up(model, 0, 1.0)["diagnosis"]]
    other = [{**row, "cell": "lstm"} for row in rows]
    (every,) = run_tables({"diagnosis": rows + other})
    table = all_tables({"diagnosis": every}, 512)[0]
    gru, lstm = (table.where(cell=cell) for cell in ("gru", "lstm"))
    assert set(gru.column("units_published")) == {35.0, 2.0, 40.0, 52.0, 22.2, 44.0, 20.8}
    assert set(lstm.column("units_published")) == {None}


def test_settings_without_what_the_figures_show_are_refused():
    from rote.errors import UsageError
    from rote.studies.realization.inside import InsideConfig

    with pytest.raises(UsageError, match="unseen_tables"):
        InsideConfig(task=replace(TASK, unseen_tables=0))
