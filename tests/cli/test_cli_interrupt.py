"""Ctrl-C, killed workers and killed commands: what was done is kept, and the same command goes on to the same bytes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import ROTE, environment, outcome, rote, wait_until

import rote.report.exhibits as exhibits
from rote.store import Record, Store, load_tree, save_tree
from rote.store.checkpoint import Checkpoints
from rote.store.tree import tree_facts

STEPS = 700  # long enough to be caught in the middle
WORDS = f"run plane --preset smoke seeds=2 training.steps={STEPS} --store store --workers".split()


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    answer = rote(*WORDS, "1", cwd=folder)
    assert answer.code == 0, answer.err
    return outcome(folder / "store")


def start(folder: Path, workers: int) -> subprocess.Popen[str]:
    """The command, in the middle of a run."""
    process = subprocess.Popen(
        [ROTE, *WORDS, str(workers)], cwd=folder, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: bool(in_the_middle(folder)), process)
    return process


def in_the_middle(folder: Path) -> list[Path]:
    reached = [path.parent for path in folder.glob("store/runs/plane/*/checkpoint-00000064.json")]
    return [run for run in reached if Record.read(run).status != "finished"]


def steps(run: Path) -> list[int]:
    return [int(path.stem.split("-")[1]) for path in run.glob("checkpoint-*.json")]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_study_goes_on_to_the_same_bytes(call, folder, undisturbed, workers):
    process = start(folder, workers)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert len([line for line in err.splitlines() if line.startswith("rote: ")]) == 1  # beside progress, if it is slow
    if workers == 1:
        (step,) = re.findall(rf"Stopped after step (\d+) of {STEPS}; it is kept", err)
        assert 64 <= int(step) < STEPS
    else:
        assert "every run keeps its last step" in err
    assert err.endswith("Give the same command again to go on.\n")

    assert "interrupted" in {row.status for row in Store("store").runs()}
    runs = in_the_middle(folder)
    assert all(64 <= max(steps(run)) < STEPS for run in runs)
    assert all({0, 1, 2, 4, 8, 16, 32, 64} <= set(steps(run)) for run in runs)
    assert call(*WORDS, workers).code == 0
    assert outcome(folder / "store") == undisturbed
    assert not list(folder.glob("store/runs/*/*/checkpoint-*"))  # a finished training keeps its weights
    assert {Record.read(run).resumed for run in runs} == {1}


def test_the_run_of_a_killed_worker_is_taken_up_again(folder, undisturbed):
    process = start(folder, 2)
    runs = in_the_middle(folder)
    worker = int((runs[0] / "lock").read_text().split()[1])
    assert worker != process.pid
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "died (exit code -9); its run is taken up again." in err
    assert outcome(folder / "store") == undisturbed
    assert Record.read(runs[0]).resumed == 1


def test_a_killed_command_leaves_nothing_that_hinders_the_next(call, folder, undisturbed):
    process = start(folder, 2)
    process.kill()
    process.communicate()
    assert process.returncode == -9
    answer = call(*WORDS, 1)
    assert answer.code == 0, answer.err
    assert outcome(folder / "store") == undisturbed


def test_a_run_goes_on_from_its_last_checkpoint_and_does_not_begin_again(call, folder, undisturbed):
    """With other weights in that checkpoint it must end elsewhere."""
    process = start(folder, 1)
    process.kill()
    process.communicate()
    (run,) = in_the_middle(folder)
    path = run / f"checkpoint-{max(steps(run)):08d}"
    facts, state = tree_facts(path, Checkpoints.kind, 1), load_tree(path, Checkpoints.kind, 1)
    changed = {name: weight + 0.5 for name, weight in state["model"].items()}
    save_tree(path, Checkpoints.kind, 1, {**state, "model": changed}, **facts)
    assert call(*WORDS, 1).code == 0
    assert outcome(folder / "store") != undisturbed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_report_that_is_told_to_end_leaves_no_folder_behind(call, finished, folder, monkeypatch, number):
    def ended(figure):
        assert list(folder.iterdir())  # the folder that is being filled
        os.kill(os.getpid(), number)
        return render(figure)

    render = exhibits.render
    monkeypatch.setattr("rote.report.exhibits.render", ended)
    answer = call("report", "--store", finished.store, "--out", "out")
    assert (answer.code, answer.out) == (130, "")
    assert "Interrupted" in answer.err
    assert list(folder.iterdir()) == []
