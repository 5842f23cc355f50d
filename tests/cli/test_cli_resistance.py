"""The studies digit-pairs and plane-information through the command: tables, data, reuse, refusals. No network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import requests
from command_line import Answer, rote, without_torch

from rote.figures import spec
from rote.store import FinishedRun, Store, Table
from rote.tasks import downloads

CLAIMS = {
    "digit-pairs": ("digits-faster", "digits-gap", "digits-redundant-input"),
    "plane-information": (
        "plane-gradient-information",
        "plane-loss-information",
        "plane-needed-input",
        "plane-redundant-information",
        "plane-entangled-outputs",
    ),
}
TINY = ("seeds=1", "training.steps=2", "training.record_every=1", "evaluated=10", "crossed=1", "gradients=2")


@pytest.fixture(scope="module", params=CLAIMS)
def smoke(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Answer]:
    """The study, its store, and what the command said; ROTE_DATA names a folder that is not there."""
    folder = tmp_path_factory.mktemp("smoke")
    words = (request.param, "--preset", "smoke", "--store", "store", "--workers", "1")
    return request.param, folder / "store", rote("run", *words, cwd=folder, ROTE_DATA=str(folder / "none"))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """An empty cache, no mirror, and a network that does not answer."""

    def refused(*words: object, **more: object) -> None:
        raise requests.ConnectionError("no network")

    monkeypatch.delenv("ROTE_DATA", raising=False)
    monkeypatch.setattr(downloads, "cache", lambda: folder / "cache")
    monkeypatch.setattr(requests.Session, "request", refused)


def tables_of(store: Path) -> dict[str, Table]:
    (study,) = [row for row in Store(store).runs() if row.part == "study"]
    return FinishedRun(store / study.folder).tables()


def test_smoke_prints_a_verdict_on_every_claim(smoke):
    study, _, answer = smoke
    assert answer.code == 0, answer.err
    scale = "smoke, stand-in data" if study == "digit-pairs" else "smoke"
    for claim in CLAIMS[study]:
        assert re.search(rf"^{claim}  .*(\n    .*)+?\n    [A-Z ]+  {scale}, here", answer.out, re.MULTILINE)
    assert "NOT RUN" not in answer.out


def test_a_finished_study_is_read_without_torch(smoke, folder):
    study, store, first = smoke
    again = without_torch("run", study, "--preset", "smoke", "--store", store, cwd=folder, ROTE_DATA="none")
    assert (again.code, again.out) == (0, first.out)


def test_every_figure_of_the_studies_can_be_drawn(smoke):
    study, store, _ = smoke
    drawn = {table.figure for table in tables_of(store).values() if table.figure and spec(table)["datasets"]}
    expected = {"digits-accuracy", "information-training", "digits-remedies"}
    assert drawn == (expected if study == "digit-pairs" else {"information-training", "extended-network"})


def test_every_table_made_with_the_stand_in_says_so_and_its_runs_have_its_checksum(smoke):
    study, store, _ = smoke
    if study == "digit-pairs":
        for table in tables_of(store).values():
            assert "Not MNIST but a stand-in, scikit-learn's 1,797 digits" in table.note, table.name
        records = [FinishedRun(store / row.folder).record for row in Store(store).runs() if row.part == "training"]
        assert len(records) == 10
        assert all(set(record.data) == {"scikit-learn digits"} for record in records)


def test_figure_3a_is_the_mean_and_variance_of_the_networks(smoke):
    study, store, _ = smoke
    if study == "digit-pairs":
        tables = tables_of(store)
        for row in tables["accuracy"].records():
            values = tables["curves"].where(setting=row["setting"], step=row["step"]).column(row["measure"])
            assert row["mean"] == pytest.approx(sum(values) / 2)
            assert row["variance"] == pytest.approx((values[0] - values[1]) ** 2 / 2)


def test_the_information_is_measured_on_both_settings_while_they_learn(smoke):
    study, store, _ = smoke
    steps = {"digit-pairs": {0, 2, 4, 6, 8}, "plane-information": {0, 1, 2, 4, 8, 16}}[study]
    table = tables_of(store)["information"]
    for setting in ("redundant", "random"):
        assert set(table.where(setting=setting).column("step")) == steps


def test_without_mnist_and_network_the_stand_in_is_used_and_everything_found_again(offline, call, folder):
    first = call("run", "digit-pairs", "--workers", "1", *TINY, "remedies=false")
    assert first.code == 0, first.err
    assert first.out.count("Not MNIST but a stand-in") == 1
    again = call("run", "digit-pairs", "--workers", "1", *TINY, "remedies=false")
    assert again.err == "Runs: 0 computed, 4 reused\n"
    assert again.out == first.out


def test_the_runs_of_the_source_are_the_same_with_and_without_remedies(offline, call):
    words = ("run", "digit-pairs", "--workers", "1", *TINY)
    assert call(*words, "remedies=false").err == "Runs: 4 computed, 0 reused\n"
    assert call(*words, "noise=2").err == "Runs: 6 computed, 4 reused\n"


def test_mnist_that_cannot_be_had_is_refused_with_what_to_do(offline, call):
    answer = call("run", "digit-pairs", "--workers", "1", *TINY, "data=mnist")
    assert answer.code == 2
    assert "Cannot download train-images-idx3-ubyte.gz" in answer.err
    assert "set ROTE_DATA to a folder that has mnist/train-images-idx3-ubyte.gz" in answer.err


def test_a_damaged_file_in_the_mirror_is_refused_before_any_run(offline, call, folder, monkeypatch):
    monkeypatch.setenv("ROTE_DATA", str(folder))
    (folder / "mnist").mkdir()
    (folder / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"\x1f\x8bnot all of it")
    answer = call("run", "digit-pairs", "--workers", "1", *TINY)
    assert answer.code == 1
    assert "mnist/train-images-idx3-ubyte.gz is truncated or altered: 15 bytes" in answer.err
    assert not (folder / "rote-store" / "runs" / "digit-pairs").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("digit-pairs", "side=4"), "'side' of the study 'digit-pairs' must be at least 8"),
        (("digit-pairs", "dropout=1"), "'dropout' of the study 'digit-pairs' must be at least 0 and below 1"),
        (("digit-pairs", "data=minst"), "Did you mean 'mnist'?"),
        (("digit-pairs", "model.depths=32,0"), "'model.depths' of the study 'digit-pairs' must be at least 1. Got 0"),
        (("plane-information", "values=1"), "'values' of the study 'plane-information' must be at least 2"),
    ],
)
def test_wrong_settings_are_refused(offline, call, words, message):
    answer = call("run", *words)
    assert answer.code == 2
    assert message in answer.err
