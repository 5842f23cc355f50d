"""The study lookup-surgery through the command: the models that it needs, tables, verdicts, figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Answer, rote, without_torch

from rote.studies.realization.retraining import COMPONENTS, PRUNED
from rote.studies.realization.surgery import LookupSurgeryStudy

SMOKE = ("lookup-surgery", "--preset", "smoke", "--workers", "1", "--store")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Answer]:
    folder = tmp_path_factory.mktemp("surgery")
    return folder / "store", rote("run", *SMOKE, "store", cwd=folder)


def test_smoke_trains_the_models_it_needs_and_prints_a_verdict_on_every_claim(smoke):
    answer = smoke[1]
    assert answer.code == 0, answer.err
    assert answer.err.endswith(f"Runs: {2 + 2 * (2 * len(COMPONENTS) + len(PRUNED))} computed, 0 reused\n")
    for claim in LookupSurgeryStudy.claims:
        assert re.search(rf"^{claim.id}  .*(\n    .*)+?\n    OPEN  smoke, here, exploratory", answer.out, re.MULTILINE)
    for component in (*COMPONENTS, "original"):
        for kind in ("guided", "baseline"):
            assert re.search(rf"^{kind} +{component} +2 ", answer.out, re.MULTILINE)
    for by in PRUNED:
        assert len(re.findall(rf"^{by} +(?:before|after) retraining +2 ", answer.out, re.MULTILINE)) == 2


def test_other_pruning_finds_the_models_and_the_exchanges_again(smoke, folder):
    answer = rote("run", *SMOKE, smoke[0], "keep=0.5", cwd=folder)
    assert answer.err.endswith(f"Runs: {2 * len(PRUNED)} computed, {2 + 4 * len(COMPONENTS)} reused\n")


def test_a_finished_study_is_read_and_drawn_without_torch(smoke, folder):
    again = without_torch("run", *SMOKE, smoke[0], cwd=folder)
    assert (again.code, again.out) == (0, smoke[1].out)
    report = without_torch("report", "--store", smoke[0], "--out", "out", cwd=folder)
    assert report.code == 0, report.err
    page = (folder / "out" / "realization.html").read_text()
    assert "Table 4" in page
    assert "Section 5.2" in page
