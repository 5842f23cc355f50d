"""Mistakes of the user: one clear line, exit code 2, nothing started and nothing written."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import ROTE, SMOKE, contents, run_here

from rote.cli import main

MISTAKES = {
    "command": ("rnu plane", "Unknown command 'rnu'. Did you mean 'run'?"),
    "option": ("run plane --sseeds 3", "Unrecognized options: --sseeds"),
    "no study": ("run --seeds 3", "Missing from rote run: STUDY."),
    "study": ("run plan", "Unknown study 'plan'. Did you mean 'plane'?"),
    "study to show": ("show plan", "Unknown study 'plan'. Did you mean 'plane'?"),
    "preset": ("run plane --preset smok", "Unknown preset 'smok'. Did you mean 'smoke'?"),
    "preset to reproduce": ("reproduce --preset smok", "Unknown preset 'smok'. Did you mean 'smoke'?"),
    "preset of a report": ("report --preset smok", "Unknown preset 'smok'. Did you mean 'smoke'?"),
    "preset of what is kept": ("report --kept a --preset quick", "leave them out with --kept"),
    "key": ("run plane training.step=3", "Unknown key 'training.step'. Did you mean 'training.steps'?"),
    "group for a key": ("run plane model=3", "The key 'model' is a group. Set one of its keys: model.hidden,"),
    "cell of SCAN": ("run scan-jump model.cell=lstn", "Unknown cell 'lstn'. Did you mean 'lstm'?"),
    "cell of lookup tables": ("run lookup-accuracy model.cell=lstn", "Unknown cell 'lstn'. Did you mean 'lstm'?"),
    "source": ("reproduce resistence", "Unknown source 'resistence'. Did you mean 'resistance'?"),
    "kind": ("list study", "Unknown kind 'study'."),
    "action": ("runs remove", "Unknown action 'remove'."),
    "status": ("runs list --status fail", "Unknown status 'fail'. Did you mean 'failed'?"),
    "shell": ("completion tcsh", "Unknown shell 'tcsh'. Known: bash, fish, zsh."),
    "id": ("runs show 123", "Unknown run '123'. Known: none yet."),
    "no id": ("runs show", "'rote runs show' needs the id of a run. See: rote runs list"),
    "nothing to export": ("runs export", "'rote runs export' needs the id of a run, or a filter such as --study."),
    "everything to remove": ("runs rm --yes", "'rote runs rm' needs the id of a run, or a filter such as --study."),
    "age": ("runs rm --older-than month", "'older-than' takes a number and a unit (s, m, h, d, w), for example 30d."),
    "endless age": ("runs rm --older-than 999999999w", "'older-than' goes back before all dates."),
    "pattern": ("runs rm look-*", "No run is named 'look-*': not by study, by study/part, nor by id."),
    "format": ("runs export 3f --format parket", "Unknown format 'parket'. Did you mean 'parquet'?"),
    "parquet to a terminal": ("runs export 3f --format parquet", "cannot go to the terminal. Say where: --out PATH."),
    "no store to import": ("runs import", "'rote runs import' takes the folder of one other store. Got none."),
    "import of no store": ("runs import nowhere", "nowhere is no store: it has no folder 'runs'."),
    "repair of a list": ("runs list --repair", "'--repair' goes with: rote runs verify"),
    "dry list": ("runs list --dry-run", "'--dry-run' goes with: rote runs rm, rote runs slim, rote runs import"),
    "part of a store": ("runs verify 3f", "'rote runs verify' looks at the whole store."),
    "id to list": ("runs list 123", "'rote runs list' takes no ids. Did you mean: rote runs show 123"),
    "name to cite": ("cite plan", "Unknown study or run 'plan'. Did you mean 'plane'?"),
    "device": ("run plane --device tpu", "The device 'tpu' is not on this machine. Available: auto, cpu"),
    "device to reproduce": ("reproduce --device tpu", "The device 'tpu' is not on this machine."),
    "text for a number": ("run plane training.steps=many", "'training.steps' takes a whole number. Got 'many'."),
    "part of a step": ("run plane training.steps=1.5", "'training.steps' takes a whole number. Got '1.5'."),
    "infinite": ("run plane training.learning_rate=inf", "'training.learning_rate' takes a number. Got 'inf'."),
    "choice": ("run plane training.optimizer=sdg", "Unknown value 'sdg' of 'training.optimizer'. Did you mean 'sgd'?"),
    "negative steps": ("run plane training.steps=-1", "'training.steps' of the study 'plane' must be at least 1. Got"),
    "negative rate": ("run plane training.learning_rate=-0.1", "'training.learning_rate' of the study 'plane' must be"),
    "no seeds": ("run plane seeds=0", "'seeds' of the study 'plane' must be at least 1. Got 0."),
    "negative seeds": ("run plane --seeds -3", "'seeds' of the study 'plane' must be at least 1. Got -3."),
    "endless seeds": ("run plane --seeds 1000000000000", "'seeds' of the study 'plane' must be at most 1000000. Got"),
    "seeds beyond numbers": (f"run plane seeds={'9' * 400}", "'seeds' takes a whole number. Got '9999"),
    "steps beyond numbers": (f"run plane training.steps={'9' * 400}", "'training.steps' takes a whole number. Got"),
    "long name of a store": (f"runs --store {'a' * 300}", "File name too long. Choose another --store."),
    "long name to import": (f"runs import {'a' * 300}", "is no folder: "),
    "home of nobody": ("runs import ~nosuch/x", "is no folder: Could not determine home directory."),
    "filter for verify": ("runs verify --preset quick", "'rote runs verify' looks at the whole store."),
    "word for seeds": ("run plane --seeds some", "The option --seeds takes a whole number. Got 'some'."),
    "no workers": ("run plane --workers 0", "'workers' must be at least 1. Got 0."),
    "no workers to reproduce": ("reproduce --workers 0", "'workers' must be at least 1. Got 0."),
    "cluster": ("run plane --cluster host:8786", "Expected a scheduler as tcp://HOST:PORT"),
    "cluster to reproduce": ("reproduce --cluster host", "Expected a scheduler as tcp://HOST:PORT"),
    "scheduler": ("worker host", "Expected a scheduler as tcp://HOST:PORT"),
    "no scheduler": ("worker tcp://127.0.0.1:1", "No scheduler answers at tcp://127.0.0.1:1"),
    "no workers to join": ("worker tcp://127.0.0.1:1 --workers 0", "'workers' must be at least 1. Got 0."),
    "jobs to join": ("worker slurm", "With --cluster slurm the workers are Slurm jobs"),
    "key twice": ("run plane seeds=1 seeds=2", "The key 'seeds' is set twice: to '1' and to '2'."),
    "seeds twice": ("run plane --seeds 1 seeds=2", "Seeds are given twice: --seeds 1 and seeds=2."),
    "option twice": ("run plane --seeds 1 --seeds=2", "The option --seeds is given 2 times. Give it once."),
    "option in two spellings": ("runs --older_than 3d --older-than 4d", "The option --older-than is given 2 times."),
    "flag twice": ("claims --json --json", "The option --json is given 2 times."),
    "source twice": ("reproduce resistance 001", "The source 'resistance' is named 2 times. Name it once."),
    "cells twice": ("run matrix cells=lstm,lstm", "'cells' of the study 'matrix' must name each value once. Got lstm"),
    "cell that others decide": ("run matrix model.cell=gru", "'model.cell' of the study 'matrix' has no effect:"),
    "seeds of nothing": ("run stored-connectivity --seeds 5", "'seeds' of the study 'stored-connectivity' has no"),
    "outcome": ("claims --outcome suported", "Unknown outcome 'suported'. Did you mean 'supported'?"),
    "source of claims": ("claims --source 01", "Unknown source '01'. Did you mean '001'?"),
    "study of claims": ("claims --study plan", "Unknown study 'plan'. Did you mean 'plane'?"),
    "study of another source": ("claims --study plane --source conduits", "is of the source 'resistance', not of"),
    "place of Markdown": ("report --kept a --markdown --out b", "'--markdown' writes beside the results: leave out"),
    "filter for a run": ("runs show 3f --study plane", "'--study' goes with: rote runs list, rote runs rm, rote runs"),
    "format of a list": ("runs list --format csv", "'--format' goes with: rote runs export"),
    "JSON of an export": ("runs export 3f --json", "'--json' goes with: rote runs list, rote runs show, rote runs ver"),
    "table of a folder": ("runs export 3f --out folder --table seeds", "'--table' goes with one file; a folder gets"),
    "model twice": ("connectivity text --model gru,gru", "'--model' must name each value once. Got gru 2 times."),
    "shades in JSON": ("connectivity text --words --json", "'--words' and '--theme' shade what is printed for people"),
    "no value": ("run plane training.steps", "Expected key=value, for example training.steps=100. Got 'training."),
    "no key": ("run plane =3", "Expected key=value, for example training.steps=100. Got '=3'."),
    "space": ("run plane training.steps 3", "Expected key=value, for example training.steps=100. Got 'training."),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line_before_anything_starts(call, folder, mistake):
    words, told = MISTAKES[mistake]
    answer = call(*words.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("rote: ")
    assert answer.err.count("\n") == 1
    assert told in answer.err
    assert not list(folder.iterdir())


def test_a_device_that_is_missing_here_is_refused(call, folder):
    import torch

    missing = "mps" if torch.cuda.is_available() else "cuda"
    answer = call("run", *SMOKE, "--device", missing)
    assert answer.code == 2
    assert answer.err.startswith(f"rote: The device {missing!r} is not on this machine. Available: auto, cpu")
    assert not list(folder.iterdir())


@pytest.mark.parametrize("words", [("run", *SMOKE), ("reproduce",), ("runs",), ("claims",), ("report",), ("cite",)])
@pytest.mark.parametrize("below", ["", "/store"], ids=["is a file", "below a file"])
def test_a_store_that_is_a_file_is_refused_and_left_alone(call, folder, words, below):
    (folder / "file").write_text("mine")
    answer = call(*words, "--store", f"file{below}")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert f"The store {folder}/file{below} is a file, or lies below one." in answer.err
    assert contents(folder) == {"file": b"mine"}


@pytest.mark.parametrize("words", [("run", *SMOKE), ("reproduce", "--preset", "smoke", "--out", "report")])
def test_a_store_that_cannot_be_written_is_refused_before_the_work(call, folder, small_disk, words):
    if os.geteuid() == 0:
        place = small_disk("size=1m,ro")
    else:
        place = folder / "closed"
        place.mkdir(mode=0o555)
    answer = call(*words, "--store", place / "store")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert f"The store {place}/store cannot be written: " in answer.err
    assert "--store" in answer.err
    assert contents(folder) == {}


@pytest.mark.parametrize("command", [("report",), ("reproduce", "--preset", "smoke")])
def test_a_folder_that_is_no_report_is_refused_before_the_work(call, folder, command):
    (folder / "out").mkdir()
    (folder / "out" / "thesis.txt").write_text("mine")
    answer = call(*command, "--out", "out")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert "is not a report of Rote, so it is left alone." in answer.err
    assert contents(folder / "out") == {"thesis.txt": b"mine"}
    assert [path.name for path in folder.iterdir()] == ["out"]


def test_a_report_with_a_file_of_the_user_in_it_is_not_replaced(call, folder, finished, report):
    shutil.copytree(report.folder, folder / "report")
    (folder / "report" / "notes.txt").write_text("mine")
    answer = call("report", "--store", finished.store)
    assert answer.code == 2
    assert "notes.txt" in answer.err
    assert (folder / "report" / "notes.txt").read_text() == "mine"


def test_options_may_stand_between_the_settings(call, folder):
    """tyro alone refuses words after an option that follows other words."""
    words = "run --preset smoke plane --workers 1 seeds=1 --json grid=3"
    answer = call(*words.split())
    assert (answer.code, answer.err) == (0, "")


def test_a_wrong_environment_variable_does_not_fail_every_run_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "often")
    with pytest.raises(SystemExit) as end:
        main(["run", "plane", "--preset", "smoke", "--store", str(tmp_path / "store")])
    assert end.value.code == 2
    assert (
        capsys.readouterr().err
        == "rote: ROTE_CHECKPOINT_SECONDS must be a number of seconds, at least 0. Got 'often'.\n"
    )
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_may_be_started_without_a_stream(folder, finished, closed):
    words = f"{ROTE} runs rm --study plane --store {finished.store} {closed}"
    done = subprocess.run(["sh", "-c", words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (done.stdout, "Add --yes" in done.stderr) == ("", "2" not in closed)


def test_output_that_cannot_be_written_is_told(folder, finished):
    done = subprocess.run(
        ["sh", "-c", f"{ROTE} runs --store {finished.store} > /dev/full"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "rote: The output cannot be written: No space left on device.\n")


def test_letters_that_a_terminal_has_not_are_spelled(folder, finished):
    answer = run_here([ROTE, "claims", "--store", str(finished.store)], folder, PYTHONIOENCODING="ascii")
    assert answer.code == 0, answer.err


def test_settings_that_no_machine_can_compute_are_told_in_one_line(call, folder):
    answer = call("run", "plane", "model.hidden=99999999999", "--preset", "smoke", "--workers", "1")
    assert answer.code == 1
    assert answer.err.startswith("rote: 8 of 8 runs failed. RuntimeError: ")
