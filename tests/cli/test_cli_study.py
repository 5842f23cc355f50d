"""From a study's name to tables, verdicts and the report, through the command."""

from __future__ import annotations

import json
import re

import pytest
from command_line import SMOKE, Answer, contents, outcome, rote, without_torch

from rote.store import Store
from rote.studies.resistance.plane import PlaneRecipe

CLAIMS = ("plane-seeds", "plane-corner", "plane-redundant-input", "plane-first-step")


def test_run_prints_its_tables_and_a_verdict_on_every_claim(finished):
    assert finished.first.code == 0
    assert "What the networks make of the corner they never saw" in finished.first.out
    for setting in ("redundant", "random", "narrow", "epochs"):
        assert re.search(rf"^{setting} +5 ", finished.first.out, re.MULTILINE)
    for claim in CLAIMS:
        assert re.search(rf"^{claim}  .*(\n    .*)+?\n    [A-Z]+  smoke, here", finished.first.out, re.MULTILINE)
    assert "NOT RUN" not in finished.first.out
    assert finished.first.err == "Runs: 8 computed, 0 reused\n"


def test_a_second_run_computes_nothing_and_says_the_same(folder, finished):
    before = contents(finished.store / "runs")
    again = rote("run", *SMOKE, "--store", finished.store, cwd=folder)
    assert again.err == "Runs: 0 computed, 8 reused\n"
    assert again.out == finished.first.out
    assert contents(finished.store / "runs") == before


def test_a_finished_study_is_read_without_torch(folder, finished):
    again = without_torch("run", *SMOKE, "--store", finished.store, cwd=folder)
    assert (again.code, again.out) == (0, finished.first.out)


def test_json_of_a_run_has_the_tables_and_verdicts_that_the_text_has(call, finished):
    answer = call("run", *SMOKE, "--store", finished.store, "--json")
    found = json.loads(answer.out)
    assert [row["claim"] for row in found["verdicts"]] == list(CLAIMS)
    assert f"Run {found['run']}" in finished.first.out
    for row in found["tables"]["outcome"]:
        assert f"{row['corner_wrong']:.3g}" in finished.first.out


def test_reuse_does_not_mistake_other_settings_for_the_same(call, folder, finished):
    call("run", *SMOKE, "--store", "store")
    answer = call("run", *SMOKE, "--store", "store", "model.hidden=5")
    assert answer.err == "Runs: 8 computed, 0 reused\n"
    assert {row.config.count('"hidden": 5') for row in Store("store").runs()} == {0, 1}


def test_the_home_folder_of_the_environment_is_used_and_an_option_goes_before_it(call, folder, monkeypatch):
    monkeypatch.setenv("ROTE_HOME", str(folder / "home"))
    assert call("run", *SMOKE).code == 0
    assert call("run", *SMOKE, "--store", "other").err == "Runs: 8 computed, 0 reused\n"
    assert len(Store("home").runs()) == len(Store("other").runs()) == 9
    assert outcome(folder / "home") == outcome(folder / "other")
    assert not (folder / "rote-store").exists()


def test_seeds_as_option_and_as_key_are_the_same_request(call, folder):
    assert call("run", *SMOKE, "--seeds", "2").err == "Runs: 8 computed, 0 reused\n"
    assert call("run", *SMOKE, "seeds=2").err == "Runs: 0 computed, 8 reused\n"


def test_stacked_and_one_after_another_the_seeds_find_the_same(call, monkeypatch):
    """A replica that leaks into its neighbors, or a seed that depends on its place in the stack, would show here."""
    words = ("run", "plane", "--preset", "smoke", "--seeds", "3", "training.dtype=float64", "--json")
    tables = {}
    for together in (64, 1):
        monkeypatch.setattr(PlaneRecipe, "together", together)
        answer = call(*words, "--workers", "1")
        assert answer.code == 0, answer.err
        tables[together] = json.loads(answer.out)["tables"]
    assert len(Store().runs()) == 8 + 1 + 24 + 1
    assert tables[64].keys() == tables[1].keys()
    for name, rows in tables[64].items():
        assert len(rows) == len(tables[1][name])
        for row, other in zip(sorted_rows(rows), sorted_rows(tables[1][name]), strict=True):
            assert row.keys() == other.keys()
            for key, value in row.items():
                expected = pytest.approx(other[key], rel=1e-9, abs=1e-9) if isinstance(value, float) else other[key]
                assert value == expected, f"{name}: {row} and {other}"


def sorted_rows(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    labels = ("setting", "seed", "step", "measure", "x1", "x2")
    return sorted(rows, key=lambda row: [str(row.get(label)) for label in labels])


def test_a_note_of_engines_of_version_0_1_is_left_alone(call, folder):
    (folder / "rote-store").mkdir()
    (folder / "rote-store" / "engines.json").write_text("{")
    assert call("run", *SMOKE).code == 0
    assert (folder / "rote-store" / "engines.json").read_text() == "{"
    assert "foreign" not in call("runs", "verify").out


def test_other_workers_find_the_runs_of_the_first_command(call):
    """How a run is executed is no part of what it is."""
    words = ("run", "plane", "--preset", "smoke", "--seeds", "1")
    assert call(*words, "--workers", "1").err == "Runs: 8 computed, 0 reused\n"
    assert call(*words, "--workers", "2").err == "Runs: 0 computed, 8 reused\n"


def test_runs_compute_with_the_threads_that_their_recipe_asks_for_and_no_other_work_does(call, monkeypatch):
    """On a busy machine two threads that wait for each other are many times slower."""
    import torch

    threads = []
    fit = PlaneRecipe.fit

    def watched(self, *given):
        threads.append(torch.get_num_threads())
        fit(self, *given)

    monkeypatch.setattr(PlaneRecipe, "fit", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        call("run", "plane", "--preset", "smoke", "--seeds", "1", "--workers", "1")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert threads == [1] * 4


def test_report_is_rebuilt_without_torch(report):
    page = report.folder / "index.html"
    assert report.answer == Answer(0, f"Report: {page}\n", "")
    assert all(claim in page.read_text() for claim in CLAIMS)


def test_the_time_in_the_report_is_that_of_all_runs_of_the_study(finished, folder, monkeypatch):
    """To make its tables takes a moment; the work is in the trainings, which its measurements were made from."""
    import rote.commands.reporting

    sections = []
    monkeypatch.setattr(rote.commands.reporting, "build", lambda found, *rest, **more: sections.extend(found))
    rote.commands.reporting.write_report(Store(finished.store), folder / "out")
    (section,) = sections
    assert section.seconds == pytest.approx(sum(row.seconds for row in Store(finished.store).runs()))
    assert len(section.runs) == 9
