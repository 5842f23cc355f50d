"""The study scan-jump through the command: tables, verdicts, figures, reuse, options, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Answer, rote, without_torch

CLAIMS = ("scan-faster", "scan-gap", "scan-redundant-word")
SMALL = ("--preset", "smoke", "training.steps=12", "sample=16")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("scan")
    words = ("scan-jump", "--preset", "smoke", "--store", "store", "--workers", "1")
    return folder / "store", rote("run", *words, cwd=folder)


def test_smoke_prints_a_verdict_on_every_claim(smoke):
    answer = smoke[1]
    assert answer.code == 0, answer.err
    for claim in CLAIMS:
        assert re.search(rf"^{claim}  .*(\n    .*)+?\n    OPEN  smoke, here, exploratory", answer.out, re.MULTILINE)
    for setting in ("original", "random", "replaced"):
        assert re.search(rf"^{setting} +2 ", answer.out, re.MULTILINE)


def test_a_finished_study_is_read_again_without_torch(smoke, folder):
    again = without_torch("run", "scan-jump", "--preset", "smoke", "--store", smoke[0], cwd=folder)
    assert (again.code, again.out) == (0, smoke[1].out)


def test_the_tables_hold_every_model_at_the_steps_that_were_recorded(smoke):
    from rote.figures import spec
    from rote.store import FinishedRun, Store

    (study,) = [row for row in Store(smoke[0]).runs() if row.part == "study"]
    tables = FinishedRun(smoke[0] / "runs" / "scan-jump" / study.id).tables()
    assert set(tables["curves"].column("step")) == {0, 5, 10, 15, 20, 25, 30}
    assert {(row["setting"], row["seed"]) for row in tables["seeds"].records()} == {
        (setting, seed) for setting in ("original", "random", "replaced") for seed in (0, 1)
    }
    for row in tables["accuracy"].where(measure="train").records():
        curves = tables["curves"].where(setting=row["setting"], step=row["step"]).column("train")
        assert row["mean"] == pytest.approx(sum(curves) / 2)
        assert row["variance"] == pytest.approx((curves[0] - curves[1]) ** 2 / 2)
    for name in ("accuracy", "information"):
        assert spec(tables[name])["datasets"]["rows"]


@pytest.mark.parametrize("option", ["split=length", "split=template_around_right", "model.cell=gru"])
def test_other_splits_and_cells(option, call):
    answer = call("run", "scan-jump", *SMALL, "--seeds", "1", "--workers", "1", option, "--json")
    assert answer.code == 0, answer.err
    tables = json.loads(answer.out)["tables"]
    assert {row["setting"] for row in tables["seeds"]} == {"original", "random", "replaced"}


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("split=addprim_jumps", "addprim_jump"),
        ("model.cell=lstms", "lstm"),
        ("probes=1", "'probes' of the study 'scan-jump' must be at least 2"),
    ],
)
def test_wrong_options_are_refused(option, told, call):
    answer = call("run", "scan-jump", "--preset", "smoke", "--workers", "1", option)
    assert answer.code == 2
    assert told in answer.err
