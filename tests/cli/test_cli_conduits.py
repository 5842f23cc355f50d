"""The studies of source 000 through the command: tables, verdicts, reuse, refusals."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_line import Answer, rote, without_torch

CLAIMS = {
    "conduit-counting": ("conduit-counting",),
    "conduit-frequency": ("conduit-length", "conduit-open-symbol", "conduit-rare-rule", "conduit-error"),
    "conduit-long-run": ("conduit-late-harm",),
    "conduit-predictability": ("conduit-early-help", "conduit-generator", "conduit-gradient"),
    "conduit-procedure": ("conduit-procedure-slows",),
}  # fmt: skip
FIGURES = {
    "conduit-counting": ("figure-2", "over-training"),
    "conduit-frequency": ("figure-1", "figure-2", "over-training"),
    "conduit-long-run": ("figure-3", "own-probability"),
    "conduit-predictability": ("figure-3", "own-probability", "gradients"),
    "conduit-procedure": ("over-training",),
}


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    """All studies at smoke, by one command in an empty folder."""
    folder = tmp_path_factory.mktemp("conduits")
    return folder, rote("reproduce", "conduits", "--preset", "smoke", "--workers", "1", cwd=folder)


@pytest.fixture(scope="module")
def store(reproduced: tuple[Path, Answer]) -> Path:
    return reproduced[0] / "rote-store"


def test_reproduce_runs_judges_and_writes_the_report(reproduced):
    folder, answer = reproduced
    assert answer.code == 0, answer.err
    for number, study in enumerate(CLAIMS, 1):
        assert re.search(rf"^\[{number}/{len(CLAIMS)}\] {study}: [1-9]\d* computed, 0 reused", answer.err, re.MULTILINE)
    # So little training leaves every probability at chance, where nobody can tell whether a network counts.
    assert not re.search(r"NOT RUN +(?! |conduit-counting)", answer.out)
    assert answer.out.splitlines()[-1] == f"Report: {folder / 'report' / 'index.html'}"
    first, page = ((folder / "report" / name).read_text() for name in ("index.html", "conduits.html"))
    for claim in (claim for claims in CLAIMS.values() for claim in claims):
        assert claim in answer.out
        assert claim in first
        assert claim in page
    assert {path.name for path in folder.iterdir()} == {"report", "rote-store"}


@pytest.mark.parametrize("study", CLAIMS)
def test_a_finished_study_is_read_without_torch_with_its_table_and_a_verdict_on_every_claim(study, store, folder):
    answer = without_torch("run", study, "--preset", "smoke", "--store", store, cwd=folder)
    assert answer.code == 0, answer.err
    for claim in CLAIMS[study]:
        # Two seeds decide nothing, and smoke has other lengths than those that Figure 3 is judged at.
        said = "TESTED" if claim == "conduit-error" else "(OPEN|NOT RUN)"
        assert re.search(rf"^{claim}  .*(\n    .*)+?\n    {said}  smoke, here", answer.out, re.MULTILINE)
    if study == "conduit-procedure":
        assert re.search(r"^momentum, same step +0\.5 +0\.9 +0 +2 ", answer.out, re.MULTILINE)
        return
    assert re.search(r"^lstm .* 2 ", answer.out, re.MULTILINE)
    if study == "conduit-counting":
        return
    assert re.search(r"^elman .* 1 ", answer.out, re.MULTILINE)  # another cell, with its own number of seeds
    assert "Seeds of lstm: 2; elman: 1." in answer.out


@pytest.mark.parametrize(
    "words",
    [("conduit-frequency", "reading.bias=never", "figure_1_epoch=0.25"), ("conduit-predictability", "reading.rules=3")],
)
def test_another_reading_trains_nothing_again(words, store, folder):
    store = shutil.copytree(store, folder / "store")
    trainings = {path.parent for path in store.glob("runs/conduits/*/*.safetensors")}
    assert trainings
    answer = rote("run", *words, "--preset", "smoke", "--workers", "1", "--store", store, cwd=folder)
    assert answer.code == 0, answer.err
    assert re.search(r"Runs: (\d+) computed, \1 reused", answer.err)  # each training once, each measurement again
    assert {path.parent for path in store.glob("runs/conduits/*/*.safetensors")} == trainings


@pytest.mark.parametrize("study", CLAIMS)
def test_every_table_with_a_figure_can_be_drawn(study, store):
    from rote.figures import spec
    from rote.store import Store

    (row,) = [row for row in Store(store).runs() if row.study == study]
    tables = Store(store).load(row.id).tables()
    assert tuple(name for name, table in tables.items() if table.figure) == FIGURES[study]
    for name in FIGURES[study]:
        assert spec(tables[name])["datasets"]["rows"]


def test_another_cell_can_be_the_main_one_and_both_readings_chosen(call):
    words = ("run", "conduit-frequency", "--preset", "smoke", "--workers", "1", "--seeds", "1", "--json", "others=")
    answer = call(*words, "model.cell=gru", "reading.at=at_close", "reading.bias=never", "generator=as_published")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert {row["cell"] for row in found["tables"]["networks"]} == {"gru"}
    last = [row for row in found["tables"]["figure-2"] if row["n"] == 200]
    (network,) = [
        row
        for row in found["tables"]["networks"]
        if (row["k"], row["n"], row["kind"]) == (3, 200, "unseen")
    ]  # fmt: skip
    assert last[0]["mean"] == pytest.approx(network["end_open_at_close"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("conduit-frequency", "counts=200000"),
            "200000 rules of k + 2 = 4 symbols need 200000 x 4 = 800000 of 100000",
        ),
        (
            ("conduit-predictability", "copies=200"),
            "q x m = 100 x 200 = 20000 copies of 8 symbols and 1000 rules of 10",
        ),
        (("conduit-frequency", "model.cell=lstn"), "Unknown cell 'lstn'. Did you mean 'lstm'?"),
        (("conduit-frequency", "reading.bias=always"), "always"),
        (("conduit-frequency", "training.learning_rate=0"), "'training.learning_rate'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(words, message, call, folder):
    answer = call("run", *words)
    assert answer.code == 2
    assert message in answer.err
    assert not (folder / "rote-store").exists()


@pytest.mark.parametrize("study", CLAIMS)
def test_show_estimates_the_cost_of_the_published_setting(study, call):
    answer = call("show", study)
    assert answer.code == 0
    assert re.search(
        r"still to be done .* estimated\npreset +runs +finished +time +disk +from *\n(.*\n)*paper +[1-9]\d* +0 +\S",
        answer.out,
    )
