"""Elman's simulations, agreement and selection through the command: tables, verdicts, figures, reuse, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Answer, script, without_torch
from test_cli_documents import blocks, commands

CLAIMS = {
    "elman-xor": ("elman-xor-drop", "elman-xor-everywhere"),
    "elman-letters": ("elman-letters-vowels", "elman-letters-bits"),
    "elman-words": ("elman-words-onset", "elman-words-boundaries"),
    "elman-lexicon": (
        "elman-lexicon-prediction", "elman-lexicon-tree", "elman-lexicon-classes", "elman-lexicon-animals",
        "elman-lexicon-zog", "elman-lexicon-tokens",
    ),
    "agreement": ("agreement-n-grams", "agreement-rnn", "agreement-far"),
    "selection": ("selection-n-grams", "selection-rnn", "selection-vanishing", "selection-mixed"),
}  # fmt: skip
FIGURES = {
    "elman-xor": ("steps", "curve"),
    "elman-letters": ("steps", "bits", "curve"),
    "elman-words": ("steps", "places", "curve"),
    "elman-lexicon": (
        "tree-trained", "tree-with-an-unseen-word", "tree-counts-of-2", "tree-language-model", "tree-untrained",
        "curve",
    ),
    "agreement": ("conditions", "curve"),
    "selection": ("over-training",),
}  # fmt: skip
RUN_ALL = """
import sys
from rote.cli import main
for study in sys.argv[1].split(","):
    try:
        main(["run", study, "--preset", "smoke", "--store", "store", "--workers", "1", "--json"])
    except SystemExit as end:
        assert not end.code, study
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All six at smoke, in one process."""
    folder = tmp_path_factory.mktemp("foundations")
    answer = script(RUN_ALL, ",".join(CLAIMS), cwd=folder)
    assert answer.code == 0, answer.err[-3000:]
    return folder / "store"


@pytest.mark.parametrize("study", CLAIMS)
def test_a_finished_study_shows_every_verdict_and_computes_nothing_again(study, store, call):
    answer = call("run", study, "--preset", "smoke", "--store", store)
    assert answer.code == 0, answer.err
    for claim in CLAIMS[study]:
        told = "TESTED" if claim.endswith("n-grams") else "OPEN"  # two seeds decide nothing
        assert re.search(rf"^{claim}  .*\n(    .*\n)*?    {told}  smoke, here", answer.out, re.MULTILINE)
    assert "0 computed" in answer.err


@pytest.mark.parametrize("study", CLAIMS)
def test_every_table_with_a_figure_can_be_drawn(study, store):
    from rote.figures import spec
    from rote.store import Store

    (finished,) = [row for row in Store(store).runs() if row.study == study and row.part == "study"]
    tables = Store(store).load(finished.id).tables()
    assert tuple(name for name, table in tables.items() if table.figure) == FIGURES[study]
    for name in FIGURES[study]:
        assert any(spec(tables[name])["datasets"].values())


def test_published_numbers_stand_beside_ours_and_are_read_without_torch(store, folder):
    answer = without_torch("run", "elman-lexicon", "--preset", "smoke", "--store", store, "--json", cwd=folder)
    first, second, *_ = json.loads(answer.out)["tables"]["outcome"]
    assert (first["network"], first["cosine"], first["error"], first["likelihood"]) == ("published", 0.916, 0.88, 0.053)
    assert second["network"] == "trained"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("elman-xor", "bits=1000"), "'bits' of the study 'elman-xor' must be a multiple of 3. Got 1000."),
        (("elman-letters", "training.passes=0"), "'training.passes' of the study 'elman-letters' must be above 0."),
        (("elman-lexicon", "classes=all"), "Unknown value 'all' of 'classes'."),
        (("agreement", "task.nouns=0"), "'task.nouns' of the study 'agreement' must be at least 1. Got 0."),
        (("agreement", "cells=lstn"), "Unknown cell 'lstn'. Did you mean 'lstm'?"),
        (("selection", "gaps=2,40"), "must be 1 to 12 words between noun and object. Got 40."),
        (("selection", "gaps="), "'gaps' of the study 'selection' must name at least one. Got none."),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(words, message, call, folder):
    answer: Answer = call("run", *words)
    assert answer.code == 2
    assert message in answer.err
    assert len(answer.err.strip().splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_tasks_are_listed_and_a_study_is_shown_without_torch(call, folder):
    answer = without_torch("show", "elman-lexicon", cwd=folder)
    assert answer.code == 0, answer.err
    assert {"elman", "agreement", "selection"} <= set(call("list", "tasks").out.split())


def test_the_page_runs_and_its_commands_name_what_there_is(call, folder):
    answer = script("\n".join(blocks("docs/foundations.md", "python")), cwd=folder)
    assert answer.code == 0, answer.err
    assert "| " in answer.out
    from rote.config import parse_overrides
    from rote.laboratory import studies

    for line in commands("docs/foundations.md"):
        words = line.split()[2:]
        overrides = parse_overrides(word for word in words if "=" in word)
        assert studies[words[0]]().resolve("paper" if "paper" in words else "quick", overrides)
