"""A run that is killed at any moment goes on to the bytes that it would have written uninterrupted."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tempfile
from typing import Any

import killed_runs
import pytest


@functools.cache
def killings(case: str) -> dict[str, Any]:
    """What killed_runs.py found out about this case; the tests below look at one part each."""
    with tempfile.TemporaryDirectory() as folder:
        script = [sys.executable, killed_runs.__file__, case, folder]
        done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("case", ["early", "stacked"])
def test_killed_before_and_during_every_single_call_that_touches_the_disk(case: str) -> None:
    answer = killings(case)["sweep"]
    step = f"{3 if case == 'early' else 4:08d}"
    assert answer["files"][:2] == ["metrics.jsonl", "result.json"]
    assert answer["files"][-2:] == [f"weights-{step}.json", f"weights-{step}.safetensors"]
    assert not any(name.startswith("checkpoint-") for name in answer["files"])
    pairs = [f"{stem}-{step}.{suffix}" for stem in ("checkpoint", "weights") for suffix in ("json", "safetensors")]
    for name in ("record.json", "result.json", *pairs):
        assert f"replace {name}" in answer["calls"]  # the sweep covers the moments around each of these
    assert {"write metrics.jsonl", "fsync metrics.jsonl", "create lock"} <= set(answer["calls"])
    assert (
        answer["calls"][-1] == f"unlink checkpoint-{0 if case == 'stacked' else 3:08d}.safetensors"
    )  # last step first
    syncs = [call for call in answer["calls"] if call.startswith("fsync ")]
    assert answer["moments"]["kill"] >= len(answer["calls"]) - len(syncs) > 50  # all but those right after a sync
    assert answer["moments"]["half"] == len([call for call in answer["calls"] if call.startswith("write ")]) > 10
    assert [problem for problem in answer["wrong"] if " lost before call " not in problem] == []


def test_power_lost_after_any_call_whether_or_not_unsynced_names_survive_it() -> None:
    answer = killings("early")["sweep"]
    assert answer["moments"]["data lost"] > 10
    assert answer["moments"]["all lost"] > 40
    assert [problem for problem in answer["wrong"] if " lost before call " in problem] == []


def test_short_runs_that_are_made_durable_together_are_whole_or_computed_again_whenever_power_is_lost() -> None:
    answer = killings("together")
    assert len([call for call in answer["calls"] if call.startswith("fsync ")]) == 2  # for two runs, eight files
    assert all(count > 5 for count in answer["moments"].values())
    assert answer["wrong"] == []


def test_short_trainings_that_are_made_durable_together_lose_no_checkpoint_before_they_are_finished() -> None:
    answer = killings("together trained")
    assert answer["calls"][-2:] == ["unlink checkpoint-00000001.safetensors", "fsync reference"]
    assert all(count > 10 for count in answer["moments"].values())
    assert answer["wrong"] == []


@pytest.mark.parametrize("case", ["early", "stacked"])
def test_killed_again_and_again_also_while_it_is_being_taken_up(case: str) -> None:
    answer = killings(case)["storm"]
    assert sum(answer["killings"]) > 10
    assert answer["wrong"] == []


def test_killed_from_outside_at_times_that_have_nothing_to_do_with_its_files() -> None:
    answer = killings("long")["times"]
    assert answer["killed"] >= 3
    assert answer["wrong"] == []


def test_a_child_process_that_gets_sigint_or_sigterm_stops_keeps_its_step_and_goes_on() -> None:
    for code, status, step, difference in killings("long")["signals"]["ends"]:
        assert (code, status, difference) == (130, "interrupted", "")
        assert 1 <= step < 40
