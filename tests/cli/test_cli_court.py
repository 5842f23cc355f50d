"""rote court: its table, page, JSON, and what is said of wrong words."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from rote.cli import COMMANDS, run_command
from rote.commands.arguments import parse
from rote.commands.court import Court

FEW = ["--programs", "latch", "--cells", "gru", "--dockets", "compiled", "--strings", "4", "--length", "5"]


def test_the_table_is_printed_and_the_page_shows_truth_beside_attribution(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page"
    assert run_command(["court", *FEW, "--methods", "two,connectivity", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "Compiled networks" in told
    assert str(out / "index.html") in told
    page = (out / "index.html").read_text(encoding="utf-8")
    assert page.count("<img") == 3  # heat maps, drawn into the page
    assert "compiled: latch in gru" in page
    assert 'class="decides"' in page
    assert "<script" not in page
    lines = (out / "methods.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[1] for line in lines[1:]] == ["two", "connectivity"]
    assert sorted(path.name for path in out.iterdir()) == [
        "examples.csv", "index.html", "methods.csv", "networks.csv", "programs.csv",
    ]  # fmt: skip


def test_json_has_the_same_numbers_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["court", *FEW, "--methods", "two", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["methods"]
    assert row["method"] == "two"
    assert 0.5 < row["direction"] <= 1
    assert found["networks"][0]["cell"] == "gru"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--methods", "twoo"], "Unknown method 'twoo'. Did you mean 'two'?"),
        (["--programs", "latc"], "Unknown program 'latc'. Did you mean 'latch'?"),
        (["--cells", ","], "'--cells' names nothing. Leave it out for all."),
        (["--length", "13"], "'length' in 2 to 12"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    rest = [word for name, value in zip(FEW[::2], FEW[1::2], strict=True) if name != words[0] for word in (name, value)]
    assert run_command(["court", *rest, *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_file_in_the_way_of_the_page_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("mine", encoding="utf-8")
    assert run_command(["court", *FEW, "--methods", "alone", "--out", str(tmp_path / "taken")]) == 2
    assert "must be a folder" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "mine"


def test_an_interrupted_court_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import rote.court.judgement

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rote.court.judgement, "_heard", interrupted)
    assert run_command(["court", *FEW, "--out", str(tmp_path / "page")]) == 130
    told = capsys.readouterr().err
    assert "nothing was written, and nothing is kept. Give the same command again to begin again." in told
    assert "go on" not in told
    assert not (tmp_path / "page").exists()


def test_a_method_of_ones_own_is_judged_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my_last.py"
    file.write_text(
        "import torch\nfrom rote.analyses import methods\n\n\n@methods.register('my_last')\n"
        "def my_last(model, tokens, at, target):\n    '''All to the last symbol.'''\n"
        "    return torch.eye(tokens.shape[1], dtype=torch.float64)[-1].expand(tokens.shape)\n",
        encoding="utf-8",
    )
    assert run_command(["court", *FEW, "--import", str(file), "--methods", "my_last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"][0]["method"] == "my_last"


def test_the_lines_of_the_help_can_be_typed() -> None:
    assert Court.__doc__ is not None
    lines = [line.strip() for line in Court.__doc__.split("Try:")[1].splitlines() if line.strip()]
    for line in lines:
        assert isinstance(parse(shlex.split(line)[1:], COMMANDS), Court)
