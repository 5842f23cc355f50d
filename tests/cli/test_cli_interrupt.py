"""Ctrl-C, killed workers and killed commands: what was done is kept, and the same command goes on to the same bytes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import ROTE, environment, outcome, rote, wait_until

from rote.store import Record, Store

STEPS = 700  # long enough to be caught in the middle
WORDS = f"run plane --preset smoke engine=stacked seeds=2 training.steps={STEPS} --store store --workers".split()


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


def kept(runs: list[Path]) -> dict[Path, int]:
    """When the early checkpoints were written: a run that begins again writes them again."""
    return {path: path.stat().st_mtime_ns for run in runs for path in run.glob("checkpoint-000000[0-3]?.*")}


def steps(run: Path) -> list[int]:
    return [int(path.stem.split("-")[1]) for path in run.glob("checkpoint-*.json")]


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_study_goes_on_to_the_same_bytes(call, folder, undisturbed, workers):
    process = start(folder, workers)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
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
    before = kept(runs)
    assert len(before) == 2 * 7 * len(runs)  # steps 0 to 32
    assert call(*WORDS, workers).code == 0
    assert outcome(folder / "store") == undisturbed
    assert kept(runs) == before
    assert {Record.read(run).resumed for run in runs} == {1}


def test_the_run_of_a_killed_worker_is_taken_up_again(folder, undisturbed):
    process = start(folder, 2)
    runs = in_the_middle(folder)
    before = kept(runs)
    worker = int((runs[0] / "lock").read_text().split()[1])
    assert worker != process.pid
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "died (exit code -9); its run is taken up again." in err
    assert outcome(folder / "store") == undisturbed
    assert kept(runs) == before
    assert Record.read(runs[0]).resumed == 1


def test_a_killed_command_leaves_nothing_that_hinders_the_next(call, folder, undisturbed):
    process = start(folder, 2)
    runs = in_the_middle(folder)
    process.kill()
    process.communicate()
    assert process.returncode == -9
    before = kept(runs)
    answer = call(*WORDS, 1)
    assert answer.code == 0, answer.err
    assert outcome(folder / "store") == undisturbed
    assert kept(runs) == before
