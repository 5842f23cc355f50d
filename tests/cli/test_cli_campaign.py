"""rote campaign: what is kept and what is next, stages, and going on elsewhere from what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.cli import run_command
from rote.laboratory import Laboratory, campaign, fresh, studies
from rote.laboratory.campaign import CARRIED, Part
from rote.laboratory.kept_results import Kept

QUEUE = campaign.PARTS
PART = Part("small", ("conduit-procedure",), "smoke", (2,), 4.0, "some/where")


@pytest.fixture(autouse=True)
def one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "PARTS", (PART,))
    monkeypatch.setattr(fresh, "installed", lambda: {"commit": "c" * 40, "dirty": False})


def run(out: Path, store: Path) -> int:
    return run_command(["campaign", "run", "--out", str(out), "--store", str(store), "--workers", "1"])


def test_stopped_it_goes_on_in_an_empty_store_from_what_was_measured_to_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert run(whole, tmp_path / "first") == 0
    assert not list(whole.rglob(CARRIED))

    calls: list[int] = []
    perform = Laboratory.perform

    def perform_twice(lab: Laboratory, jobs: list) -> dict:
        calls.append(len(jobs))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return perform(lab, jobs)

    with monkeypatch.context() as patch:
        patch.setattr(Laboratory, "perform", perform_twice)
        assert run(stopped, tmp_path / "second") == 130
    carried = list(stopped.rglob("*.run"))
    assert len(carried) == 2

    computed: list[int] = []

    def counting(lab: Laboratory, jobs: list) -> dict:
        computed.append(len(jobs))
        return perform(lab, jobs)

    monkeypatch.setattr(Laboratory, "perform", counting)
    assert run(stopped, tmp_path / "third") == 0
    path = PART.path("conduit-procedure", whole).relative_to(whole)
    one, other = Kept.read(whole / path), Kept.read(stopped / path)
    assert len(computed) == len(one.record.uses) - 2
    assert one.tables() == other.tables()
    assert set(one.record.request.seeds) == set(other.record.request.seeds)
    assert min(one.record.request.seeds) >= 1000
    assert len(set(one.record.request.seeds)) == 2
    known = {record.request.id for record in other.runs}  # trainings whose weights were never here are told too
    assert all(used in known for record in (other.record, *other.runs) for used in record.uses)

    capsys.readouterr()
    assert run_command(["campaign", "--out", str(stopped), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["kept_seeds"], row["hours_left"], row["carried"]) == (2, 0, 0)


def test_the_list_says_what_is_next_and_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["campaign", "--out", str(tmp_path)]) == 0
    assert "Next: small with 2 seeds. About 4 hours of one core are left." in capsys.readouterr().out


def test_a_damaged_measurement_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job, *_) = campaign._jobs(PART.studies[0], PART.preset, {"seeds": 1})
    path = PART.carried(tmp_path) / f"{job.request.id}.run"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    assert run(tmp_path, tmp_path / "store") != 0
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert path.name in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["go"], "Unknown action 'go'"),
        (["run", "smal"], "Unknown part 'smal'. Did you mean 'small'?"),
        (["--workers", "2"], "'--workers' goes with: rote campaign run"),
        (["run", "--json"], "'--json' goes with: rote campaign list"),
        (["run", "--hours", "-1"], "'--hours' must be positive. Got -1."),
    ],
)
def test_wrong_words_are_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["campaign", *words]) == 2
    assert told in capsys.readouterr().err


def test_every_part_is_of_studies_presets_and_settings_that_there_are() -> None:
    for part in QUEUE:
        for name in part.studies:
            studies[name]().resolve(part.preset, {**part.overrides, "seeds": part.stages[0]})
        assert list(part.stages) == sorted(set(part.stages))
    assert len({part.name for part in QUEUE}) == len(QUEUE)
