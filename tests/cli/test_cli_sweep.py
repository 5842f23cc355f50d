"""The command rote sweep: grids, random draws and Optuna on the store, dry runs, questions, files."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from pathlib import Path

import pytest
from command_line import script, without_torch

from rote.store import Store

HERE = Path(__file__).parent
SMOKE = ("--preset", "smoke", "--workers", "1", "--store", "store")
GRID = ("sweep", "classification", "model.hidden=2,4", "training.learning_rate=0.01", "--seeds", "2")


def test_a_grid_is_listed_with_the_best_first_drawn_written_and_never_computed_twice(call, folder):
    answer = call(*GRID, *SMOKE, "--json", "--out", "grid.csv", "--figure", "grid.svg")
    rows = json.loads(answer.out)
    assert sorted(row["model.hidden"] for row in rows) == ["2", "4"]
    assert rows[0]["score"] >= rows[1]["score"]
    assert set(rows[0]) == {"model.hidden", "score", "low", "high", "seeds", "run"}
    assert [row["seeds"] for row in rows] == [2, 2]
    for row in rows:  # the score is the mean over the networks of that run
        networks = Store("store").load(row["run"]).tables()["networks"].column("dev")
        assert row["score"] == pytest.approx(sum(networks) / 2)
    assert [row["run"] for row in csv.DictReader((folder / "grid.csv").read_text().splitlines())] == [
        row["run"] for row in rows
    ]
    assert (folder / "grid.svg").read_text().startswith("<svg")
    before = len(Store("store").runs())
    again = call(*GRID, *SMOKE).out
    assert again.index(rows[0]["run"]) < again.index(rows[1]["run"])
    assert re.search(r"^Baselines, dev: majority 0\.\d+\.$", again, re.MULTILINE)
    assert len(Store("store").runs()) == before


def meeting(*words, cwd):
    """The command as in a script that has imported a study of one's own."""
    program = f"import sys; sys.path.insert(0, {str(HERE)!r}); import meeting_study; from rote.cli import main; "
    places = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
    return script(program + "main(sys.argv[1:])", "sweep", "meeting", *words, cwd=cwd, PYTHONPATH=places)


def test_small_runs_of_different_trials_keep_two_workers_busy_and_one_that_fails_stops_no_other(folder):
    """Trials one after another waited for each other for ever."""
    answer = meeting("guest=0,1,2,13", "--of", "guests.guest", "--lowest", "--workers", "2", "--json", cwd=folder)
    assert answer.code == 0, answer.err
    rows = json.loads(answer.out)
    assert [(row["guest"], row["score"]) for row in rows] == [("0", 0.0), ("1", 1.0), ("2", 2.0), ("13", None)]
    assert "ZeroDivisionError: unlucky" in rows[-1]["failed"]
    assert "meeting: guest=13 failed: 1 of 1 runs failed." in answer.err


def test_a_sweep_of_which_nothing_succeeds_ends_with_1_and_draws_nothing(folder):
    answer = meeting("guest=13", "--of", "guests.guest", "--figure", "figure.svg", "--workers", "1", cwd=folder)
    assert answer.code == 1
    assert "Every trial failed: nothing is drawn in figure.svg." in answer.err
    assert not (folder / "figure.svg").exists()


def test_an_objective_that_nobody_knows_yet_is_told_after_the_first_trial_which_is_kept(folder):
    answer = meeting("guest=0,3,4", "--of", "guests.host", "--workers", "1", cwd=folder)
    assert (answer.code, answer.out) == (2, "")
    assert "Unknown column 'host' of the table 'guests'. Known: guest." in answer.err
    assert sorted(row.part for row in Store(folder / "rote-store").runs()) == ["measurement", "study"]
    again = meeting("guest=0,3,4", "--of", "guests.guest", "--json", "--workers", "1", cwd=folder)
    assert [row["score"] for row in json.loads(again.out)] == [4.0, 3.0, 0.0]


def test_a_dry_run_tells_runs_time_and_disk_without_torch_and_starts_nothing(folder):
    words = ("sweep", "tagging", "model.hidden=8,16,32", "--seeds", "2", "--dry-run", "--store", "store")
    answer = without_torch(*words, cwd=folder)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("tagging, preset quick: 3 trials\n")
    found = json.loads(without_torch(*words, "--json", cwd=folder).out)
    assert (found["trials"], found["finished"]) == (3, 0)
    assert found["runs"] == 3 * 2 + 3 + 1  # networks, their measurements, and baselines that all share
    assert found["seconds"] > 0
    assert found["bytes"] > 0
    assert "package" in found["basis"]
    assert not list(folder.iterdir())


MILLION = ("sweep", "tagging", *(f"{key}={','.join(map(str, range(1, 101)))}" for key in (
    "model.hidden", "model.embedding", "training.batch")), "--store", "store")  # fmt: skip


def test_a_grid_of_a_million_trials_by_mistake_asks_first(call, folder, monkeypatch):
    answer = call(*MILLION)
    assert (answer.code, answer.out) == (2, "")
    assert re.match(r"rote: This is a sweep of 1,000,000 trials and [\d,]+ runs \(time: .*\)\. Add --yes ", answer.err)
    assert not list(folder.iterdir())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    answer = call(*MILLION)
    assert (answer.code, answer.err) == (2, "rote: Nothing was begun.\n")
    assert not list(folder.iterdir())


def test_every_trial_counts_when_it_is_to_be_asked_and_ctrl_d_is_a_no(call, folder, monkeypatch):
    for values in ("2,1100", "1100,2"):
        answer = call("sweep", "tagging", f"seeds={values}", "--preset", "smoke")
        assert answer.code == 2
        assert "This is a sweep of 2 trials and 1,103 runs" in answer.err
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", ended)
    assert call("sweep", "tagging", "seeds=2,1100", "--preset", "smoke").err == "rote: Nothing was begun.\n"
    assert not list(folder.iterdir())


def ended(question):
    raise EOFError


def test_optuna_is_asked_for_by_name_where_it_is_missing(call, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    answer = call("sweep", "tagging", "model.hidden=4,8", "--method", "optuna", "--trials", "2", *SMOKE)
    assert answer.code == 2
    assert "pip install 'rote[sweep]'" in answer.err
    assert not list(folder.iterdir())


def test_optuna_proposes_the_same_trials_again_from_the_same_store(call):
    pytest.importorskip("optuna", reason="optuna is optional: pip install 'rote[sweep]'")
    words = ("sweep", "tagging", "training.learning_rate=0.003..0.3", "--seeds", "1", "--method", "optuna")
    first, again = (call(*words, "--trials", "3", *SMOKE, "--json").out for _ in range(2))
    rates = [float(row["training.learning_rate"]) for row in json.loads(first)]
    assert len(rates) == 3
    assert all(0.003 <= rate <= 0.3 for rate in rates)
    assert first == again


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--of", "networks.deb"), "Unknown column 'deb' of the table 'networks'. Did you mean 'dev'?"),
        (("--of", "network.dev"), "Unknown table 'network' of tagging. Did you mean 'networks'?"),
        (("--lowest",), "'--lowest' goes with --of TABLE.COLUMN."),
        (("--out", "table.xls"), "Unknown ending '.xls' of table.xls."),
        (("--figure", "nowhere/figure.svg"), "there is no folder nowhere"),
        (("seeds=2", "--seeds", "3"), "The key 'seeds' is given twice."),
        (("--seeds", "0"), "'seeds' of"),
        (("--trials", "2", "--seed", "-1"), "'seed' must lie in 0 to 4294967295. Got -1."),
        (("--seed", "3"), "'--seed' goes with --trials N: a grid draws nothing."),
        (("--dry-run", "--out", "table.csv"), "'--dry-run' writes nothing: leave out --out and --figure."),
        (("training.batch=4,4",), "'training.batch' must name each value once. Got 4 2 times."),
        (("--out", "folder.csv"), "it is a folder. Give another name."),
        (("--workers", "0"), "'workers' must be at least 1. Got 0."),
    ],
)
def test_mistakes_are_told_before_any_work(call, folder, words, told):
    (folder / "folder.csv").mkdir()
    answer = call("sweep", "tagging", "model.hidden=4,8", "--preset", "smoke", "--store", "store", *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["folder.csv"]
