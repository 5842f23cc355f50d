"""Ten rounds of what can happen to a store; ``benchmarks/faults.py`` plays a hundred."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import harness


def test_whatever_is_killed_filled_damaged_or_moved_the_study_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """In a process of its own: it forks, and waits for all its children."""
    words = [sys.executable, harness.__file__, "10", "0", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    assert answer["wrong"] == []
    assert answer["rounds"] == 10
    assert len(answer["faults"]) >= 6  # kinds; which ones the seed decides
    assert len(answer["files"]) == 5 * 4 + 2  # five runs, and the summary, which has no checkpoint
