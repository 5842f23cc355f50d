"""The studies of source 003 through the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Answer, rote, without_torch

from rote.cli import COMMANDS
from rote.commands.arguments import parse
from rote.config import parse_overrides
from rote.laboratory import studies


def test_the_stored_results_are_judged_without_torch_and_count_for_every_preset(folder):
    first = without_torch("run", "stored-connectivity", "--preset", "smoke", "--store", "store", cwd=folder)
    assert first.code == 0, first.err
    for claim, said in (("advanced", "HOLDS"), ("positions", "DOES NOT HOLD")):
        assert re.search(rf"^stored-{claim}  .*(\n    .*)+?\n    {said}  published, here$", first.out, re.MULTILINE)
    again = without_torch("run", "stored-connectivity", "--preset", "paper", "--store", "store", cwd=folder)
    assert again.out == first.out  # the presets ask for the same, which is kept once


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("memorization")
    words = ("run", "autocomplete", "--preset", "smoke", "--store", "store", "--workers", "1", "--seeds", "1")
    return folder, rote(*words, cwd=folder)


def test_smoke_trains_each_cell_and_says_which_text_it_was(smoke):
    answer = smoke[1]
    assert answer.code == 0, answer.err
    for cell in ("GRU", "LSTM", "Nested LSTM"):
        assert re.search(rf"^{cell} +cross entropy +1 ", answer.out, re.MULTILINE)
    assert answer.out.count("Alice's Adventures in Wonderland") >= 5
    for claim in ("order", "short-long", "nested-reach", "initial-reach"):
        assert re.search(verdict(claim, "OPEN"), answer.out, re.MULTILINE)
    for claim in ("hero", "learning", "advanced", "grammar", "schools"):  # of words that are not in the vocabulary
        assert re.search(verdict(claim, "NOT RUN"), answer.out, re.MULTILINE)


def verdict(claim: str, said: str) -> str:
    return rf"^autocomplete-{claim}  .*(\n    .*)+?\n    {said}  smoke, stand-in data, here"


def test_two_small_networks_are_one_training_beside_what_is_there_and_every_figure_is_drawn(smoke, call):
    folder = smoke[0]
    words = ("run", "autocomplete", "--preset", "smoke", "--store", folder / "store", "--workers", "1", "--seeds", "2")
    more = call(*words, "cells=gru")
    assert "Runs: 2 computed, 3 reused" in more.err  # both seeds, trained and measured; all else was there
    written = call("report", "--store", folder / "store", "--out", folder / "out")
    assert written.code == 0, written.err
    pictures = {path.stem.removeprefix("autocomplete-") for path in (folder / "out" / "figures").glob("*.svg")}
    assert pictures == {"training", "accuracy", "share-paragraph", "share-test", "paragraph"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("task.words=5000", "has 1334 different words; a vocabulary of 5000 needs as many"),
        ("task.text=nowhere.txt", "There is no file 'nowhere.txt'"),
        ("cells=elmann", "Unknown cell 'elmann'"),
        ("model.cell=lstm", "has no effect: 'cells' names the cells that are trained"),
        ("initial.characters=20", "'initial.characters' of the study 'autocomplete' must lie in 60 to 198"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_trained(setting, said, folder, call):
    answer = call("run", "autocomplete", "--preset", "smoke", "--store", "store", setting)
    assert answer.code == 2
    assert said in answer.err
    assert not list(folder.rglob("record.json"))


def test_the_page_runs_and_its_commands_can_be_run():
    page = (Path(__file__).parents[2] / "docs" / "memorization.md").read_text()
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec("\n".join(text for kind, text in found if kind == "python"), {})
    lines = "".join(text for kind, text in found if not kind).replace("\\\n", " ").splitlines()
    runs = [parse(line.split("#")[0].split()[1:], COMMANDS) for line in lines]
    asked = [run for run in runs if isinstance(run, COMMANDS["run"])]
    assert len(asked) == 5
    for run in asked:
        studies[run.study]().resolve(run.preset, parse_overrides(run.overrides))
