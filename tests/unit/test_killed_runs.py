"""A run that is killed at any moment goes on to the bytes that it would have written uninterrupted."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import killed_runs
import pytest

Found = dict[str, Any]


@pytest.fixture(scope="module")
def killings(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What killed_runs.py found out about each case; the tests below look at one part each."""
    script = [sys.executable, killed_runs.__file__, str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=1500)
    assert done.returncode == 0, done.stderr[-3000:]
    answer: Found = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("case", ["early", "stacked"])
def test_killed_before_and_during_the_calls_that_touch_the_disk(case: str, killings: Found) -> None:
    answer = killings[case]["sweep"]
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
    kills = len(answer["calls"]) - len(syncs)  # all but those right after a sync
    halves = len([call for call in answer["calls"] if call.startswith("write ")])
    assert kills > 50
    assert halves > 10
    if case == "early":
        assert answer["moments"]["kill"] >= kills
        assert answer["moments"]["half"] == halves
    else:  # a quarter of them, drawn; benchmarks/faults.py looks at all
        assert answer["moments"]["kill"] > kills / 8
        assert answer["moments"]["half"] > halves / 8
    assert [problem for problem in answer["wrong"] if " lost before call " not in problem] == []


def test_power_lost_after_any_call_whether_or_not_unsynced_names_survive_it(killings: Found) -> None:
    answer = killings["early"]["sweep"]
    assert answer["moments"]["data lost"] > 10
    assert answer["moments"]["all lost"] > 40
    assert [problem for problem in answer["wrong"] if " lost before call " in problem] == []


def test_short_runs_that_are_made_durable_together_are_whole_or_computed_again_whenever_power_is_lost(
    killings: Found,
) -> None:
    answer = killings["together"]
    assert len([call for call in answer["calls"] if call.startswith("fsync ")]) == 2  # for two runs, eight files
    assert all(count > 5 for count in answer["moments"].values())
    assert answer["wrong"] == []


def test_short_trainings_that_are_made_durable_together_lose_no_checkpoint_before_they_are_finished(
    killings: Found,
) -> None:
    answer = killings["together trained"]
    assert answer["calls"][-2:] == ["unlink checkpoint-00000001.safetensors", "fsync reference"]
    assert all(count > 10 for count in answer["moments"].values())
    assert answer["wrong"] == []


@pytest.mark.parametrize("case", ["early", "stacked"])
def test_killed_again_and_again_also_while_it_is_being_taken_up(case: str, killings: Found) -> None:
    answer = killings[case]["storm"]
    assert sum(answer["killings"]) > 10
    assert answer["wrong"] == []


def test_killed_from_outside_at_times_that_have_nothing_to_do_with_its_files(killings: Found) -> None:
    answer = killings["long"]["times"]
    assert answer["killed"] >= 3
    assert answer["wrong"] == []


def test_a_child_process_that_gets_sigint_or_sigterm_stops_keeps_its_step_and_goes_on(killings: Found) -> None:
    for code, status, step, difference in killings["long"]["signals"]["ends"]:
        assert (code, status, difference) == (130, "interrupted", "")
        assert 1 <= step < 40
