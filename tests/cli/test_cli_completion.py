"""Completion in the shell: what is offered where."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from command_line import ROTE, environment

from rote.cli import COMMANDS
from rote.commands.completion import SCRIPTS, complete
from rote.laboratory import studies
from rote.store import Store

BASH = """
set -u
PATH="$(dirname "$1"):$PATH"
source <(rote completion bash)
[[ "$(complete -p rote)" == *_rote_complete* ]] || exit 3
shift
COMP_WORDS=(rote "$@") COMP_CWORD=$#
compopt() { :; }  # outside an interactive completion there is no option to set
_rote_complete
printf '%s\\n' "${COMPREPLY[@]}"
"""


def in_bash(*words: str) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", ROTE, *words], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_bash_script_completes_in_bash():
    assert in_bash("run", "pl") == ["plane", "plane-information"]
    assert in_bash("run", "plane", "training.s") == ["training.steps=", "training.schedule=", "training.select="]
    assert in_bash("r") == ["reproduce", "run", "runs", "report"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_ask_the_command_and_parse(shell):
    assert "rote __complete" in SCRIPTS[shell]
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n", "-c", SCRIPTS[shell]], check=True)


@pytest.mark.parametrize(
    ("typed", "offered"),
    {
        "": list(COMMANDS),
        "sh": ["show", "share"],
        "show ": sorted(studies),
        "nothing ": [],
        "run plane model.": ["model.hidden=", "model.layers=", "model.activation="],
        "run plane model.hidden=3 model.": ["model.layers=", "model.activation="],
        "run nothing model.": [],
        "run --preset ": ["smoke", "quick", "paper"],
        "run --preset smoke pl": ["plane", "plane-information"],
        "run --workers 2 plane --json model.h": ["model.hidden="],
        "run --workers ": [],
        "run plane --d": ["--device"],
        "run plane --s": ["--seeds", "--store"],
        "reproduce res": ["resistance"],
        "data ewt sst": ["sst2"],
        "data tag": ["tagging"],
        "list s": ["studies"],
        "runs e": ["export"],
        "runs --study ": sorted(studies),
        "runs rm --y": ["--yes"],
        "completion ": ["bash", "zsh", "fish"],
    }.items(),
)
def test_what_is_offered(typed, offered):
    assert complete(typed.split(" "), COMMANDS) == offered


def test_ids_are_offered_from_the_store_that_is_named(finished):
    ids = sorted(row.id for row in Store(finished.store).runs())
    for before in (
        ["runs", "show", "--store", str(finished.store)],
        ["runs", "rm", "--yes", "--store", str(finished.store)],
    ):
        assert sorted(complete([*before, ""], COMMANDS)) == ids
        assert complete([*before, ids[0][:12]], COMMANDS) == [ids[0]]
    assert complete(["runs", "show", ""], COMMANDS) == []


def test_the_command_prints_what_is_offered(call, capsys):
    from rote.cli import main

    main(["__complete", "run", "pl"])
    assert capsys.readouterr().out == "plane\nplane-information\n"
