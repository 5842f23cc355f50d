"""The command starts fast, explains itself, and loads torch only for what computes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess

import pytest
from command_line import ROTE, environment, python, rote

from rote.cli import COMMANDS

WITHOUT_TORCH = """
import contextlib, io, sys
from rote.cli import main
for words in (["--help"], ["list"], ["list", "tasks"], ["list", "claims"], ["show", "plane"], ["claims"], ["runs"],
              ["cite", "plane"], ["completion", "bash"], ["__complete", "run", "plane", "m"], ["run", "plane", "x=1"]):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:
        main(words)
    if "torch" in sys.modules:
        sys.exit(f"imported by: rote {' '.join(words)}")
    if not out.getvalue() and words[0] != "run":
        sys.exit(f"nothing printed by: rote {' '.join(words)}")
"""


def test_help_that_imports_everything_is_slow(folder):
    """What is imported is counted, since seconds depend on the machine: NumPy alone would be a hundred modules more."""
    program = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); from rote.cli import main; main()"
    answer = python(program, "--help", cwd=folder)
    assert answer.code == 0, answer.err
    assert len(answer.out.splitlines()[-1].split()) < 240


def test_commands_that_only_read_do_not_import_torch(folder):
    answer = python(WITHOUT_TORCH, cwd=folder)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command_has_an_example_and_explains_every_option(call, name):
    answer = call(name, "--help")
    assert answer.code == 0
    assert "Try:\n" in answer.out
    assert f"rote {name}" in answer.out.split("Try:\n")[1].split("\n\n")[0]
    assert "None" not in answer.out


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_in_help_are_commands_that_parse(name):
    from rote.commands.arguments import parse

    lines = (COMMANDS[name].__doc__ or "").split("Try:\n")[1].splitlines()
    examples = [line.strip().split(">")[0] for line in lines if line.strip().startswith("rote ")]
    for example in examples:
        assert isinstance(parse(example.split()[1:], COMMANDS), COMMANDS[name])
    assert examples or name == "completion"


@pytest.mark.parametrize("columns", [1, 5, 20, 40])
def test_help_comes_to_an_end_and_stays_legible_in_a_terminal_of_any_width(call, monkeypatch, columns):
    """With five columns it never ended; with twenty it had one letter on a line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("", *COMMANDS):
        answer = call(*filter(None, (name, "--help")))
        assert answer.code == 0
        assert len(answer.out.splitlines()) < 300, name
    assert os.environ["COLUMNS"] == str(columns)
    wrong = call("run", "plane", "--sseeds", "3")
    assert wrong.err == "rote: Unrecognized options: --sseeds. See: rote run --help\n"
    assert "conduit-frequency" in call("list").out


def test_the_version_is_that_of_the_package(call):
    assert call("--version").out == f"rote {importlib.metadata.version('rote')}\n"
    assert "--version" in call("--help").out


def test_the_command_alone_prints_the_help_with_every_command(call):
    answer = call()
    assert answer.code == 0
    assert all(f" {name} " in answer.out for name in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [("list",), ("list", "tasks"), ("list", "claims"), ("show", "plane"), ("runs",), ("claims",)],
    ids=" ".join,
)
def test_json_of_a_listing_is_json_alone(call, words):
    answer = call(*words, "--json")
    assert answer.code == 0
    found = json.loads(answer.out)
    assert found or words == ("runs",)
    assert answer.err == ""


def test_list_names_what_the_json_names(call):
    for kind in ("studies", "tasks", "claims"):
        shown = call("list", kind).out
        assert all(
            row["name"] in shown and row["about"] in shown for row in json.loads(call("list", kind, "--json").out)
        )


def test_show_gives_every_key_that_can_be_changed(call):
    answer = call("show", "plane")
    facts = json.loads(call("show", "plane", "--json").out)
    assert set(facts["presets"]) == {"smoke", "quick", "paper"}
    for key, value in facts["presets"]["quick"].items():
        assert key in answer.out
        assert str(value).lower() in answer.out.lower()
    assert facts["presets"]["smoke"]["training.steps"] < facts["presets"]["quick"]["training.steps"]


def test_a_narrow_terminal_loses_no_column(folder, finished):
    """Rich cuts columns away without a word when they do not fit."""
    answer = rote("run", "plane", "--preset", "smoke", "--store", finished.store, cwd=folder, COLUMNS="60")
    headings = [line for line in answer.out.splitlines() if line.startswith("setting ")]
    assert " ".join(headings).split().count("compositional_high") == 1
    assert "published" in " ".join(headings)
    assert max(map(len, answer.out.splitlines())) <= 60


def test_output_that_is_no_terminal_is_not_wrapped(finished):
    (heading,) = (line for line in finished.first.out.splitlines() if line.startswith("setting "))
    assert heading.split()[-1] == "compositional_high"
    assert "\x1b" not in finished.first.out


def test_a_reader_that_goes_away_is_no_error(folder):
    answer = subprocess.run(
        ["bash", "-c", f"{ROTE} claims | true"],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
