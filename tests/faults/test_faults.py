"""A few rounds of what can happen to a store; ``benchmarks/faults.py`` plays hundreds."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
import rounds


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    words = [sys.executable, rounds.__file__, "10", "6", "0", str(tmp_path_factory.mktemp("rounds"))]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_whatever_is_killed_filled_damaged_or_moved_the_study_ends_with_the_same_bytes(played: Any) -> None:
    answer = played["kills"]
    assert answer["wrong"] == []
    assert answer["rounds"] == 10
    assert len(answer["faults"]) >= 6  # kinds; which ones the seed decides
    # Five trainings with weights of three steps, their measurements, and the study.
    assert len(answer["files"]) == 5 * 8 + 5 * 2 + 2


def test_no_flipped_bit_in_any_file_at_any_stage_makes_a_wrong_result_that_verify_approves(played: Any) -> None:
    answer = played["flips"]
    assert answer["wrong"] == []
    flipped = {fault.split(" ")[0] for fault in answer["faults"]} - {"nothing"}
    stages = {fault.rsplit(" ", 1)[1] for fault in answer["faults"]}
    assert stages == {"running", "killed", "resumed", "finished"}
    assert len(flipped) >= 3  # kinds of files
