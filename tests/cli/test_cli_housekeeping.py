"""Looking after the store through the command: verify, rm by selection, export to other programs, import."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys

import pytest
from command_line import contents, without_torch

from rote.store import Store
from rote.store.lock import locked


@pytest.fixture
def store(folder, finished):
    """A copy that a test may change."""
    return shutil.copytree(finished.store, folder / "rote-store")


def part(name):
    return next(row for row in Store().runs() if row.part == name)


def test_verify_ends_with_1_only_where_something_is_damaged(call, store):
    sound = call("runs", "verify")
    assert (sound.code, sound.out) == (0, f"{store}: everything is as it should be.\n")
    (store / "notes.txt").write_text("mine")
    (store / part("training").folder / ".x.tmp").write_text("half")
    told = call("runs", "verify")
    assert told.code == 0
    assert "1 foreign, 1 leftover." in told.out
    assert "Mend with: rote runs verify --repair" in told.out
    assert "Repaired." in call("runs", "verify", "--repair").out
    assert (store / "notes.txt").read_text() == "mine"
    result = store / part("measurement").folder / "result.json"
    result.write_bytes(result.read_bytes()[:-1])
    damaged = call("runs", "verify", "--json")
    assert damaged.code == 1
    kinds = {(row["kind"], row["path"]) for row in json.loads(damaged.out)}
    assert kinds == {("foreign", "notes.txt"), ("damaged", str(result.relative_to(store)))}


def test_verify_list_and_remove_need_no_torch(store, folder):
    for words in (("verify",), ("list", "--preset", "smoke"), ("rm", "--study", "plane", "--yes")):
        answer = without_torch("runs", *words, cwd=folder)
        assert answer.code == 0, answer.err


def test_remove_by_selection_lists_sizes_first_and_warns_of_results_that_used_them(call, store):
    study = part("study").id
    before = contents(store / "runs")
    answer = call("runs", "rm", "plane/training", "plane/measurement", "--preset", "smoke", "--dry-run")
    assert answer.code == 0
    training = part("training")
    size = sum(path.stat().st_size for path in (store / training.folder).iterdir())
    assert f"{training.id}  plane training, smoke, finished, {size / 1e3:.0f} kB" in answer.out
    assert f"The study {study} of plane stays, made from 4 of these." in answer.out
    assert answer.out.splitlines()[-1].startswith("8 runs, ")
    assert contents(store / "runs") == before
    assert call("runs", "rm", "--study", "plane", "--older-than", "1d", "--yes").out.startswith("No such runs in ")
    gone = call("runs", "rm", "--study", "pl*", "--status", "finished", "--yes")
    assert gone.out.count("Removed ") == 9
    assert Store().runs() == []


def test_runs_that_are_being_computed_are_not_removed(call, store):
    from dataclasses import replace

    from rote.store import Record

    row = part("training")
    record = Record.read(store / row.folder)
    replace(record, status="started", files={}).write(store / row.folder)
    before = contents(store / "runs")
    with locked(store / row.folder):
        answer = call("runs", "rm", "--study", "plane", "--yes")
        assert (answer.code, answer.out) == (1, "")
        assert f"1 of these runs are being computed: {row.id}." in answer.err
    assert {name: data for name, data in contents(store / "runs").items() if "lock" not in name} == {
        name: data for name, data in before.items() if "lock" not in name
    }


def test_export_as_parquet_has_the_same_rows_as_csv_with_their_types(call, store, folder):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is optional: pip install 'rote[export]'")
    call("runs", "export", "--study", "plane", "--out", "all.csv")
    answer = call("runs", "export", "--study", "plane", "--out", "all.parquet")
    rows = list(csv.DictReader((folder / "all.csv").read_text().splitlines()))
    assert answer.out == f"{len(rows)} rows in all.parquet\n"
    with duckdb.connect() as connection:
        read = connection.execute("SELECT * FROM read_parquet('all.parquet')").fetchall()
        kinds = dict(connection.execute("DESCRIBE SELECT * FROM 'all.parquet'").fetchall()[i][:2] for i in range(7))
    assert kinds | {"step": "BIGINT", "seed": "BIGINT", "value": "DOUBLE", "measure": "VARCHAR"} == kinds
    assert [tuple(map(str, row)) for row in read] == [
        (*list(row.values())[:-1], str(float(row["value"]))) for row in rows
    ]
    assert len(rows) > 100
    assert not list(folder.glob(".*tmp"))


def test_export_of_tables_and_of_everything_into_a_folder(call, store, folder):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is optional: pip install 'rote[export]'")
    study = part("study").id
    expected = Store().load(study).tables()["outcome"].records()
    call("runs", "export", study, "--table", "outcome", "--out", "outcome.parquet")
    with duckdb.connect() as connection:
        names = [row[0] for row in connection.execute("DESCRIBE SELECT * FROM 'outcome.parquet'").fetchall()]
        read = connection.execute("SELECT * FROM 'outcome.parquet'").fetchall()
    assert names == ["run", "study", "part", *expected[0]]
    found = [dict(zip(names, row, strict=True)) for row in read]
    assert [{name: row[name] for name in expected[0]} for row in found] == expected
    call("runs", "export", "plane/*", "--out", "everything")
    tables = {name for row in Store().runs() for name in Store().load(row.id).tables()}
    assert {path.name for path in (folder / "everything").iterdir()} == {
        "metrics.csv",
        *(f"table-{name}.csv" for name in tables),
    }
    unknown = call("runs", "export", study, "--table", "outcomes")
    assert unknown.code == 2
    assert "Unknown table 'outcomes' of these runs. Did you mean 'outcome'?" in unknown.err


def test_export_as_events_holds_every_scalar_of_every_seed(call, store, folder):
    pytest.importorskip("tensorboardX", reason="tensorboardX is optional: pip install 'rote[export]'")
    run = Store().load(part("training").id)
    for _ in range(2):  # a second time replaces the first
        assert call("runs", "export", run.id, "--format", "tensorboard", "--out", "events").code == 0
    read = {}
    for path in (folder / "events").rglob("events*"):
        for event in events_in(path):
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    key = (path.parent.name, value.tag, event.step)
                    assert key not in read
                    read[key] = value.simple_value
    expected = {
        (f"seed-{seed}", measure, row["step"]): value
        for row in run.metrics()
        for measure in row
        if measure != "step"
        for seed, value in zip(run.record.request.seeds, row[measure], strict=True)
    }
    assert set(read) == set(expected)
    for key, value in expected.items():
        assert read[key] == pytest.approx(value, rel=1e-6)


def events_in(path):
    """The records of an event file: length, its checksum, the event, its checksum."""
    import struct

    from tensorboardX.proto import event_pb2

    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        yield event_pb2.Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]


@pytest.mark.parametrize(("format", "package"), [("parquet", "duckdb"), ("tensorboard", "tensorboardX")])
def test_an_extra_that_is_missing_is_asked_for_by_name(call, store, folder, monkeypatch, format, package):
    monkeypatch.setitem(sys.modules, package, None)
    answer = call("runs", "export", "--study", "plane", "--format", format, "--out", "out")
    assert (answer.code, answer.out) == (2, "")
    assert f"needs the package {package}. Install it with: pip install 'rote[export]'" in answer.err
    assert not (folder / "out").exists()


def test_import_brings_a_store_that_claims_and_reports_read(call, store, folder):
    dry = call("runs", "import", "rote-store", "--store", "new", "--dry-run")
    assert dry.out.startswith("9 runs would be imported, ")
    assert not (folder / "new").exists()
    assert call("runs", "import", "rote-store", "--store", "new").out.startswith("9 runs imported, ")
    again = call("runs", "import", "rote-store", "--store", "new")
    assert again.out == "0 runs imported, 0 bytes; 9 were here already.\n"
    assert call("claims", "--here", "--store", "new").out == call("claims", "--here").out
    assert call("runs", "verify", "--store", "new").code == 0
    itself = call("runs", "import", "rote-store")
    assert itself.code == 2
    assert "is this store itself" in itself.err


def test_import_tells_what_is_damaged_and_brings_the_rest(call, store, folder):
    row = part("training")
    (store / row.folder / "result.json").write_text("{}")
    answer = call("runs", "import", "rote-store", "--store", "new")
    assert answer.code == 1
    assert answer.out.startswith("8 runs imported, ")
    assert f"Not imported: {row.folder}: result.json: Its checksum is not the one in its record." in answer.err
    assert "1 runs of" in answer.err


def test_a_name_that_is_no_text_and_an_index_that_is_a_folder_hinder_nothing(call, store):
    (store / "runs" / "plane" / os.fsdecode(b"\xff\xfe")).mkdir()
    assert len(call("runs").out.splitlines()) > 5
    (store / "index.sqlite").unlink()
    (store / "index.sqlite").mkdir()
    assert "Repaired." in call("runs", "verify", "--repair").out
    assert (store / "index.sqlite").is_file()


def test_a_folder_keeps_one_result_of_a_study_and_says_so(call, store, folder):
    study = part("study").id
    answer = call("runs", "keep", study, study, "--out", "kept")
    assert (answer.code, "Several of these are of plane" in answer.err) == (2, True)
    (folder / "afile").write_text("mine")
    assert call("runs", "keep", study, "--out", "afile").err.startswith("rote: Cannot write afile/plane.json")
    assert call("runs", "keep", study, "--out", "kept").code == 0
    assert call("report", "--kept", "kept", "--markdown").code == 0
    assert (folder / "kept" / "resistance" / "plane.md").is_file()
