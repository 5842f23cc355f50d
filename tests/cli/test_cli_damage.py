"""One damaged run, study or claim is named and left out; everything else goes on, and the exit code is 1."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from command_line import contents

from rote.claims import Assertion, Claim, above, measured
from rote.laboratory import studies
from rote.store import FinishedRun, Store, write_document

ESCAPE = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"


@pytest.fixture
def store(folder, finished, monkeypatch):
    """A copy that a test may change; pages without Vega, which takes a second."""
    monkeypatch.setattr("rote.report.report.vega_bundle", lambda: "/* Vega */\n")
    return shutil.copytree(finished.store, folder / "rote-store")


def part(name):
    return next(row for row in Store().runs() if row.part == name)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def rewrite(folder, **changes):
    """Another record, with the right checksum."""
    body = json.loads((folder / "record.json").read_bytes())["body"]
    request = {**body["request"], **changes.pop("request", {})}
    write_document(folder / "record.json", "rote run record", 1, {**body, "request": request, **changes})


def another_run(store, tables=(), **changes):
    """A finished run as that of the study is, with one seed more; or another part of it, which has tables."""
    first = FinishedRun(store / part("study").folder)
    request = dataclasses.replace(first.record.request, seeds=(*first.record.request.seeds, 999), **changes)
    with Store().open(request) as run:
        run.finish(tables)
    return FinishedRun(Store().folder(request))


def _runs_of_plane(answer):
    return {row["verdicts"][0]["runs"][0] for row in json.loads(answer.out) if row["study"] == "plane"}


# --- runs ----------------------------------------------------------------------------------------------------------


def test_a_flipped_bit_in_one_run_of_a_study_leaves_the_claims_and_the_report_of_everything_else(call, store):
    first, newest = part("study").id, another_run(store)
    sound = call("claims", "--here", "--json")
    assert sound.code == 0
    assert _runs_of_plane(sound) == {newest.id}
    flip(newest.folder / "record.json")
    answer = call("claims", "--here", "--json")
    assert answer.code == 1
    assert answer.err.startswith(f"rote: Left out: the run {newest.id} of plane. ")
    assert answer.err.count("\n") == 1
    assert _runs_of_plane(answer) == {first}
    report = call("report")
    assert (report.code, report.err) == (1, answer.err)
    assert "plane" in Path("report/index.html").read_text()


@pytest.mark.parametrize(("whose", "file"), [("study", "record.json"), ("measurement", "result.json")])
def test_where_the_only_run_of_a_study_is_damaged_or_what_it_is_made_of_its_claims_say_so(call, store, whose, file):
    study = part("study")
    flip(store / part(whose).folder / file)
    answer = call("claims", "--here", "--json")
    assert answer.code == 1
    rows = [row for row in json.loads(answer.out) if row["kind"] != "identity"]
    reasons = {row["verdicts"][0]["reason"] for row in rows if row["study"] == "plane"}
    assert len(reasons) == 1
    assert reasons.pop().startswith(f"Left out: the run {study.id} of plane. ")
    others = [row for row in rows if row["study"] != "plane"]
    assert {row["verdicts"][0]["reason"][:30] for row in others} == {"No finished run in the store. "}
    assert call("report").code == 1
    assert Path("report/index.html").exists()


def test_a_run_with_settings_that_the_study_cannot_have_had_is_left_out(call, store):
    strange = another_run(store, config={"hidden": "many"})
    answer = call("report")
    assert answer.code == 1
    assert f"the run {strange.id} of plane. Unknown key 'hidden'" in answer.err
    assert part("study")
    assert Path("report/index.html").exists()


WRONG = {
    "a seed that is text": {"request": {"seeds": ["0"]}},
    "a part that is a number": {"request": {"part": 3}},
    "a configuration that is a list": {"request": {"config": [1]}},
    "a time that is none": {"started": "now"},
    "seconds without end": {"seconds": 10**400},
    "a status that is a list": {"status": ["finished"]},
    "no packages": {"environment": {"packages": 3}},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_record_of_wrong_types_is_no_traceback_in_any_command(call, store, wrong):
    training, study = part("training"), part("study")
    rewrite(store / training.folder, **WRONG[wrong])
    listed = call("runs", "list", "--json")
    assert {row["id"]: row["status"] for row in json.loads(listed.out)}[training.id] == "damaged"
    assert training.id[:10] in call("runs").out
    for words in (("show", training.id), ("export", training.id)):
        answer = call("runs", *words)
        assert (answer.code, answer.out) == (1, "")
        assert "has a wrong value: " in answer.err
    shown = call("runs", "show", training.id, study.id)
    assert shown.code == 1
    assert study.id in shown.out
    exported = call("runs", "export", "--study", "plane", "--out", "all")
    assert exported.code == 1
    assert "metrics.csv" in exported.out
    # Whatever was wrong, the same damaged run is listed: two of the cases show what a report makes of such a list.
    written = [("report",)] if wrong in ("a part that is a number", "seconds without end") else []
    for words in (("claims",), ("cite", study.id), ("cite",), ("show", "plane"), *written):
        assert call(*words).code == int(words[0] in ("claims", "report"))
    kept = call("runs", "keep", study.id, "--out", "kept")
    assert kept.code == 0
    removed = call("runs", "rm", "--study", "plane", "--older-than", "0s", "--yes")
    assert removed.code == 0
    assert call("runs", "rm", training.id, "--yes").out == f"Removed {training.id}\n"


def test_show_tells_what_the_record_says_where_only_the_result_is_damaged(call, store):
    measurement = part("measurement")
    flip(store / measurement.folder / "result.json")
    answer = call("runs", "show", measurement.id)
    assert answer.code == 1
    assert "part measurement" in answer.out
    assert "was altered" in answer.err


# --- claims ------------------------------------------------------------------------------------------------------


def test_a_claim_whose_function_raises_is_named_and_the_others_are_judged(call, store, monkeypatch):
    def broken(tables):
        raise KeyError("corner")

    plane = studies["plane"]
    bad = Claim(
        "plane-broken", "resistance", "nowhere", "It breaks.", "1", (Assertion("x", measured(broken), above(0.5)),)
    )
    monkeypatch.setattr(plane, "claims", (bad, *plane.claims))
    answer = call("claims", "--here", "--json")
    assert answer.code == 1
    assert answer.err.startswith("rote: Left out: the claim plane-broken of plane. It cannot be judged from the run ")
    assert answer.err.endswith("KeyError: 'corner'\n")
    rows = {row["claim"]: row for row in json.loads(answer.out)}
    assert rows["plane-broken"]["verdict"] == "not run"
    assert "KeyError" in rows["plane-broken"]["verdicts"][0]["reason"]
    assert all(rows[claim.id]["verdicts"][0]["findings"] for claim in plane.claims[1:])
    assert call("report").code == 1
    assert "plane-broken" in Path("report/index.html").read_text()
    assert call("run", "plane", "--preset", "smoke", "--workers", "1").code == 1


# --- kept results ------------------------------------------------------------------------------------------------


def test_a_damaged_kept_result_is_named_and_the_others_are_reported(call, store):
    call("runs", "keep", part("study").id, "--out", "kept/resistance")
    sound = Path("kept/resistance/plane.json").read_bytes()
    Path("kept/resistance/other.json").write_bytes(sound[:-90])
    body = json.loads(sound)["body"]
    unknown = json.loads(json.dumps(body))
    unknown["records"][0]["request"]["study"] = "no-such-study"
    write_document(Path("kept/resistance/unknown.json"), "rote kept result", 1, unknown)
    write_document(Path("kept/resistance/wrong.json"), "rote kept result", 1, {**body, "tables": {}})
    for words in (("--out", "out"), ("--markdown",)):
        answer = call("report", "--kept", "kept", *words)
        assert answer.code == 1
        told = answer.err.splitlines()
        assert len(told) == 3
        assert "other.json is truncated" in told[0]
        assert "unknown.json. Unknown study 'no-such-study'" in told[1]
        assert "wrong.json has a wrong value: tables must be a list. Got an object of 0." in told[2]
    assert Path("out/index.html").exists()
    assert Path("kept/resistance/plane.md").exists()


# --- what becomes a path, a command of a terminal, a column of a table -------------------------------------------


@pytest.mark.parametrize("study", ["../../x", "/tmp/x", "..", "a/../../../x"])
def test_a_study_named_as_a_path_writes_nothing_outside(call, store, folder, study):
    precious = folder / "x"
    precious.mkdir()
    (precious / "thesis.txt").write_text("mine")
    rewrite(store / part("training").folder, request={"study": study})
    rewrite(store / part("study").folder, request={"study": study})
    ids = [row.id for row in Store().runs() if row.status == "damaged"]
    assert len(ids) == 2
    before = contents(folder)
    for run in ids:
        assert call("runs", "keep", run, "--out", "out/a").code == 1
        assert call("runs", "export", run, "--out", "out/a").code == 1
        assert call("runs", "export", run, "--out", "out/a", "--format", "tensorboard").code == 1
    assert {name for name in contents(folder) if "index.sqlite" not in name} == {
        name for name in before if "index.sqlite" not in name
    }


def test_tables_and_parts_with_names_like_paths_stay_in_the_folder_of_an_export(call, store, folder):
    study = FinishedRun(store / part("study").folder)
    table = next(iter(study.tables().values()))
    names = ("../../x", "a/b", "a-b", "/etc/x", "x" * 300, "..", "a\x1b\x00b")
    strange = another_run(store, [dataclasses.replace(table, name=name) for name in names], part="../../..")
    before = set(contents(folder))
    answer = call("runs", "export", strange.id, "--out", "out")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert len(list(Path("out").iterdir())) == len(names) + 1
    pytest.importorskip("tensorboardX", reason="tensorboardX is optional: pip install 'rote[export]'")
    assert call("runs", "export", strange.id, "--out", "events", "--format", "tensorboard").code == 0
    assert len(list(Path("events/plane").iterdir())) == 1
    made = set(contents(folder)) - before
    assert all(name.startswith(("out/", "events/")) for name in made if "index.sqlite" not in name)


def test_no_text_of_a_record_or_a_table_reaches_the_terminal_as_a_command_to_it(call, store, monkeypatch):
    study = FinishedRun(store / part("study").folder)
    table = next(iter(study.tables().values()))
    column = dataclasses.replace(table.columns[0], name=f"[/red]{ESCAPE}")
    nasty = dataclasses.replace(table, title=ESCAPE, note=ESCAPE, columns=(column, *table.columns[1:]), details=False)
    strange = another_run(store, [nasty], part="strange")
    rewrite(strange.folder, error=f"{ESCAPE}\nlast {ESCAPE}", device="cpu")
    damaged = store / "runs" / f"plane{ESCAPE}" / f"{ESCAPE}0123"
    damaged.mkdir(parents=True)
    (damaged / "record.json").write_text("{")
    monkeypatch.setenv("FORCE_COLOR", "1")  # colors and bars, which are rich's own, stay
    answers = [
        call("runs"),
        call("runs", "show", strange.id),
        call("runs", "show", strange.id, "--json"),
        call("runs", "verify"),
        call("runs", "rm", "--status", "damaged", "--dry-run"),
        call("runs", "show", ESCAPE),
    ]
    for answer in answers:
        printed = answer.out + answer.err
        assert not any(code in printed for code in ("\x1b]", "\x1b[2J", "\x07", "\u009b", "\u202e")), printed
    assert "\\x1b[2J" in answers[0].out
    assert json.loads(answers[2].out)["error"].startswith(ESCAPE)


def test_completion_offers_no_name_that_the_shell_would_run(call, store, capsys):
    from rote.cli import main

    (store / "runs" / "plane" / "; rm x").mkdir()
    main(["__complete", "runs", "show", ""])
    assert sorted(capsys.readouterr().out.split("\n")) == sorted(
        ["", *(row.id for row in Store().runs() if row.status != "damaged")]
    )
