"""``rote lesson`` from the first call to the last task: each check admits the right answer and names a wrong one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.cli import run_command
from rote.commands.lesson_tasks import TASKS

PAIRS = """ax = a
bx = b
ay = a
by = b
axy = a
bxy = b
---
axyx = a
byyx = b
bxyxy = b"""
RIGHT = {
    "1_operation.py": """
import numpy as np
from rote.chalk import Operation, tensor_op
@tensor_op
class softplus(Operation):
    @staticmethod
    def forward(ctx, a):
        ctx.append(a)
        return np.logaddexp(0, a)
    @staticmethod
    def backward(ctx, grad_output):
        return [grad_output / (1 + np.exp(-ctx[0]))]
""",
    "2_cell.py": "import numpy as np\ndef step(x, h, W, U, b): return np.tanh(W @ x + U @ h + b)\n",
    "3_vanishing.py": """
def reach(slope, share):
    if slope >= 1:
        return None
    steps, left = 0, 1.0
    while left >= share:
        steps, left = steps + 1, left * slope
    return steps
""",
    "4_pairs.py": f'PAIRS = """{PAIRS}"""',
    "5_gate.py": """
def keeping(f, i):
    return [u for u in range(f.shape[1]) if f[1:, u].min() > 0.9 and i[1:, u].max() < 0.1]
""",
}
WRONG = {
    "1_operation.py": ("grad_output / (1 + np.exp(-ctx[0]))", "grad_output", "the gradient of x"),
    "2_cell.py": ("U @ h", "h @ U", "step(x, h, W, U, b) of random numbers must be"),
    "3_vanishing.py": ("left >= share", "left > share / 10", "reach(0.5, 0.01) must be 7, and is 10"),
    "4_pairs.py": ("axyx = a", "axyx = x", "the answer to 'axyx' must be 'a'"),
    "5_gate.py": ("f[1:, u].min()", "f[1:, u].mean()", "units that keep what the first step wrote: [2]"),
}


def told(folder: Path, capsys: pytest.CaptureFixture[str], code: int) -> list[dict[str, object]]:
    assert run_command(["lesson", str(folder), "--json"]) == code
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_all_five_from_the_first_call_to_the_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lesson"
    assert run_command(["lesson", str(folder)]) == 1
    assert "1_operation.py" in capsys.readouterr().out
    assert sorted(file.name for file in folder.iterdir()) == sorted(RIGHT) == [task.file for task in TASKS]
    for number, (name, text) in enumerate(RIGHT.items()):
        assert sum(bool(row["solved"]) for row in told(folder, capsys, 1)) == number
        (folder / name).write_text(text)
    assert all(row["solved"] for row in told(folder, capsys, 0))
    assert run_command(["lesson", str(folder)]) == 0
    assert "All five are solved." in capsys.readouterr().out
    assert (folder / "2_cell.py").read_text() == RIGHT["2_cell.py"]  # nothing is written over


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_told_with_what_should_have_come(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong, said = WRONG[name]
    (tmp_path / name).write_text(RIGHT[name].replace(right, wrong))
    row = next(row for row in told(tmp_path, capsys, 1) if str(row["file"]).endswith(name))
    assert said in str(row["why"])


def test_broken_files_and_a_file_in_place_of_the_folder_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "2_cell.py").write_text("def step(:\n")
    (tmp_path / "3_vanishing.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "5_gate.py").write_text("")
    whys = [str(row["why"]) for row in told(tmp_path, capsys, 1)]
    assert whys[1].startswith("SyntaxError")
    assert whys[2].startswith("SystemExit")
    assert whys[4] == "the file must define keeping()"
    assert run_command(["lesson", str(tmp_path / "2_cell.py")]) == 2
