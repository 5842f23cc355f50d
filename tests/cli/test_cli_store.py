"""Looking into the run store through the command: list, show, remove, export, cite."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest
from command_line import SMOKE, contents

from rote.store import Request, Store


@pytest.fixture
def store(folder, finished):
    """A copy that a test may change."""
    return shutil.copytree(finished.store, folder / "rote-store")


def test_list_has_every_run_and_filters_by_status_and_study(call, store):
    rows = json.loads(call("runs", "--json").out)
    assert {row["part"] for row in rows} == {"training", "measurement", "study"}
    shown = call("runs").out
    assert all(row["id"][:10] in shown for row in rows)
    assert len(json.loads(call("runs", "list", "--status", "finished", "--study", "plane", "--json").out)) == 9
    assert json.loads(call("runs", "list", "--status", "failed", "--json").out) == []
    assert json.loads(call("runs", "list", "--study", "scan", "--json").out) == []
    assert call("runs", "list", "--study", "scan").out == f"No such runs in {store}.\n"


def test_list_of_a_study_has_the_trainings_of_other_names_that_its_measurements_looked_at(call, folder):
    training, other = (Request("recipe", 1, "training", {}, (seed,)) for seed in (0, 1))
    measurement = Request("asked", 1, "measurement", {}, (0,), uses=(training.id,))
    for request in (training, other, measurement):
        with Store().open(request) as run:
            run.note(uses=request.uses)
            run.finish([])
    rows = json.loads(call("runs", "list", "--study", "asked", "--json").out)
    assert {row["id"] for row in rows} == {training.id, measurement.id}
    removed = call("runs", "rm", "--study", "asked", "--yes")
    assert removed.code == 0
    assert {row.id for row in Store().runs()} == {training.id, other.id}  # others may use them


def test_show_prints_what_the_record_holds(call, store):
    row = next(row for row in Store().runs() if row.part == "study")
    shown = call("runs", "show", row.id[:12]).out
    found = json.loads(call("runs", "show", row.id, "--json").out)
    assert found["id"] == row.id
    assert found["status"] == "finished"
    assert len(found["uses"]) == 4
    for text in (row.id, "part study", "preset smoke", "0 to 4", *found["uses"], "What the networks make"):
        assert text in shown


def test_export_has_every_recorded_number(call, store, folder):
    run = Store().load(next(row.id for row in Store().runs() if row.part == "training"))
    call("runs", "export", run.id, "--out", "run.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "run.csv").read_text())))
    expected = [
        (run.id, "plane", "training", str(row["step"]), measure, str(seed), value)
        for row in run.metrics()
        for measure in row
        if measure != "step"
        for seed, value in zip(run.record.request.seeds, row[measure], strict=True)
    ]
    assert [(*list(row.values())[:-1], float(row["value"])) for row in rows] == expected
    assert len(rows) == len(run.metrics()) * 5  # the loss of each seed


def test_export_to_the_terminal_is_the_same_csv(call, store, folder):
    ids = [row.id for row in Store().runs() if row.part == "training"]
    call("runs", "export", *ids, "--out", "runs.csv")
    printed = call("runs", "export", *ids)
    assert (printed.code, printed.err) == (0, "")
    assert printed.out == (folder / "runs.csv").read_text()
    assert {row["run"] for row in csv.DictReader(io.StringIO(printed.out))} == set(ids)


def test_export_of_a_measure_that_is_not_by_seed(call, store):
    """A program may record plain data; pairing it with the seeds lost or refused it."""
    from rote.store import Request

    request = Request("plane", 1, "odd", {}, (3, 4))
    with Store().open(request) as run:
        run.metrics.append({"step": 0, "loss": [0.5, 0.25], "temperature": 2.0, "sizes": [1, 2, 3]})
        run.finish([])
    lines = call("runs", "export", request.id).out.splitlines()
    assert [line.split("0,", 1)[1] for line in lines[1:]] == [
        "loss,3,0.5",
        "loss,4,0.25",
        'sizes,,"[1, 2, 3]"',
        "temperature,,2.0",
    ]


def test_remove_takes_the_named_run_alone(call, store):
    rows = Store().runs()
    gone, kept = rows[0], rows[1:]
    before = contents(store)
    answer = call("runs", "rm", gone.id[:10], gone.id, "--yes")
    assert (answer.code, answer.out) == (0, f"Removed {gone.id}\n")
    assert {row.id for row in Store().runs()} == {row.id for row in kept}
    after = contents(store)
    for name, data in before.items():
        if gone.id not in name and "index" not in name:
            assert after[name] == data
    assert not [name for name in after if gone.id in name]


def test_remove_without_yes_removes_nothing(call, store):
    before = contents(store / "runs")
    answer = call("runs", "rm", Store().runs()[0].id)
    assert (answer.code, answer.out) == (2, "")
    assert "--yes" in answer.err
    assert contents(store / "runs") == before


@pytest.mark.parametrize(("typed", "left"), [("n", 9), ("", 9), ("yes", 8)])
def test_remove_on_a_terminal_asks(call, store, monkeypatch, typed, left):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: typed)
    assert call("runs", "rm", Store().runs()[0].id).code == 0
    assert len(Store().runs()) == left


def test_a_removed_run_is_computed_again_to_the_same_bytes(call, store):
    before = found_by(store)
    study = next(row.id for row in Store().runs() if row.part == "study")
    measurement = Store().load(study).record.uses[0]
    (training,) = Store().load(measurement).record.uses
    call("runs", "rm", training, measurement, study, "--yes")
    answer = call("run", *SMOKE)
    assert answer.err.endswith("Runs: 2 computed, 6 reused\n")  # progress before it, where the machine is slow
    assert found_by(store) == before


def found_by(store):
    return {name: data for name, data in contents(store / "runs").items() if not name.endswith(("record.json", "lock"))}


@pytest.mark.parametrize("action", ["show", "rm", "export"])
def test_an_id_that_stands_for_several_runs_is_refused(call, store, action):
    ids = [row.id for row in Store().runs()]
    first = {name[0] for name in ids}
    shared = next((letter for letter in first if sum(name[0] == letter for name in ids) > 1), None)
    if shared is None:  # the ids are hashes; make two that begin alike
        copy = store / "runs" / "plane" / f"{ids[0][:-1]}{'0' if ids[0][-1] != '0' else '1'}"
        shutil.copytree(store / "runs" / "plane" / ids[0], copy)
        shared = ids[0][:-1]
    answer = call("runs", action, shared, "--yes")
    assert answer.code == 2


def test_a_damaged_run_is_listed_with_its_reason_and_can_be_removed(call, store):
    row = Store().runs()[0]
    (store / row.folder / "record.json").write_text("{")
    assert "truncated" in call("runs", "list", "--status", "damaged").out
    assert call("runs", "show", row.id).code == 1
    assert call("runs", "rm", row.id, "--yes").code == 0
    assert len(Store().runs()) == 8


def test_cite_names_the_source_once_and_rote(call, store):
    ids = {row.part: row.id for row in Store().runs()}
    for words in ((), ("plane",), *((run[:12],) for run in ids.values()), ("plane", ids["study"])):
        answer = call("cite", *words)
        assert answer.code == 0
        assert answer.out.count("@misc{resistance,") == 1
        assert answer.out.count("@software{rote,") == 1


def test_cite_of_an_empty_store_is_rote_alone(call, folder):
    assert call("cite").out.startswith("@software{rote,")


def test_a_kept_study_gives_its_pages_and_report_without_the_store(call, store, folder, monkeypatch):
    study = next(row for row in Store().runs() if row.part == "study")
    assert "Kept in" in call("runs", "keep", study.id, "--out", "kept/resistance").out
    (folder / "kept/resistance/notes.md").write_text("A remark of ours.\n")
    monkeypatch.setenv("ROTE_HOME", str(folder / "elsewhere"))  # an empty store
    assert call("report", "--kept", "kept", "--markdown").code == 0
    page = (folder / "kept/resistance/plane.md").read_text()
    assert page.startswith("# The plane with a corner held out")
    assert "rote run plane --preset smoke" in page
    assert "| plane-corner |" in page
    assert "9 runs" in page
    source = (folder / "kept/resistance/README.md").read_text()
    assert source.startswith("# Source 001: Gradient descent resists compositionality\n\nOf 4 claims")
    assert "A remark of ours." in source
    assert "(resistance/README.md)" in (folder / "kept/README.md").read_text()
    assert call("report", "--kept", "kept", "--out", "published").code == 0
    assert "The plane with a corner held out" in (folder / "published/resistance.html").read_text()
    (folder / "kept/resistance/again").mkdir()
    shutil.copy(folder / "kept/resistance/plane.json", folder / "kept/resistance/again")
    assert call("report", "--kept", "kept/resistance", "--out", "one-source").code == 0
    assert "Of 4 claims" in (folder / "one-source/index.html").read_text()  # each once, though kept twice


def test_report_of_nothing_kept_says_how_to_keep(call, folder):
    answer = call("report", "--kept", "nowhere", "--markdown")
    assert answer.code == 2
    assert "rote runs keep ID" in answer.err
    assert "--kept DIR" in call("report", "--markdown").err


def test_keep_wants_the_run_of_a_study_and_a_folder(call, store):
    ids = {row.part: row.id for row in Store().runs()}
    answers = call("runs", "keep", ids["measurement"], "--out", "kept"), call("runs", "keep", ids["study"])
    assert [answer.code for answer in answers] == [2, 2]
    assert "is a measurement of plane. Give one whose part is 'study'. See: rote runs list" in answers[0].err
    assert "--out FOLDER" in answers[1].err
