"""rote connectivity: a text in color, numbers where there is no color, and JSON for programs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import run_markdown

import rote
from rote.cli import COMMANDS, run_command
from rote.commands import Connectivity
from rote.commands.arguments import parse
from rote.explorer.contributions import TREE, WORDS
from rote.explorer.text_connectivity import LIMIT
from rote.models.saved_autocomplete import describe_autocomplete

TEXT = "a young age through advanced learning"
OUTPUTS = len(describe_autocomplete("gru")[1])


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run_command(["connectivity", *words]) == 0
    return capsys.readouterr().out


def test_json_has_the_numbers_of_rote_connectivity(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = json.loads(said(capsys, TEXT, "--at", "24", "--model", "lstm", "--norm", "signed", "--json"))
    model = rote.load_autocomplete("lstm")
    own = rote.connectivity(model, model.encode(TEXT), model.targets(TEXT), norm="signed").values[0, 24]
    assert found["values"] == pytest.approx(own.tolist(), rel=1e-4, abs=1e-6)
    assert (found["read"], found["asked"]) == (" a young age through adva", "advanced")
    words = {row["word"]: row["value"] for row in found["words"]}
    assert words["age"] == pytest.approx(float(own[8:12].sum()), rel=1e-4, abs=1e-6)


def test_the_norm_of_a_word_is_that_of_all_its_characters(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = json.loads(said(capsys, TEXT, "--at", "24", "--json"))
    young = sum(value**2 for value in found["values"][2:8]) ** 0.5
    assert {row["word"]: row["value"] for row in found["words"]}["young"] == pytest.approx(young, rel=1e-5)


def test_without_colors_the_numbers_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "the united st")
    assert "\x1b" not in out
    assert "states (the first suggestion): rank 1" in out  # the last word is still being typed
    assert re.search(r"^ *11 +space +\d", out, re.MULTILINE)
    assert len(re.findall(r"^ *\d+ +(\w+) +-?\d", out, re.MULTILINE)) == 14


def test_in_color_every_character_stands_once_and_the_chosen_one_is_underlined(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "COLUMNS": "120"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = said(capsys, TEXT, "--at", "31", "--model", "gru,lstm", "--words", "--theme", "light")
    plain = re.sub(r"\x1b\[[\d;]*m", "", out)
    assert plain.count(f" {TEXT}\n") == 2
    assert len(re.findall(r"\x1b\[1;4;[\d;]*me", out)) == 2
    assert "learning: rank" in plain
    assert "rests on le" in plain


def test_characters_outside_the_alphabet_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 character is not in the model's alphabet and read as a space: “é”." in said(capsys, "café")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "The text is empty. Give one in quotes"),
        (("the", "--at", "9"), "'--at' must lie in 0 to 3, the characters of the text. Got 9."),
        (("the", "--model", "gruu"), "Unknown autocomplete model 'gruu', and there is no file gruu.json. Did you mean"),
        (("the", "--model", "."), "There is no model in '.': config.json, of save_pretrained(), is missing."),
        (("the", "--target", "statse"), f"'statse' is not among the {OUTPUTS} outputs of the model. Did you mean"),
        (("the", "--norm", "l3"), "invalid choice 'l3' for argument '--norm'"),
        (("the", "--top", "0"), "'--top' must lie in 1 to 20. Got 0."),
        (("a" * 500,), "The text has 500 characters; at most 400 are read here."),
    ],
)
def test_mistakes_are_told_in_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], error: str) -> None:
    assert run_command(["connectivity", *words]) == 2
    told = capsys.readouterr().err
    assert error in told
    assert told.count("\n") == 1


def test_the_page_on_texts_says_what_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python runs, its commands parse, its bounds are those of the code."""
    page = Path(__file__).parents[2] / "docs" / "texts.md"
    monkeypatch.chdir(tmp_path)
    assert run_markdown.run(page) == []
    assert "<!doctype html>" in (tmp_path / "connectivity.html").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    assert f"at most {LIMIT} symbols" in text
    assert f"at most {TREE} symbols or {WORDS} words" in text
    for line in re.findall(r"^rote connectivity .*$", text, re.MULTILINE):
        assert isinstance(parse(shlex.split(line)[1:], COMMANDS), Connectivity)
