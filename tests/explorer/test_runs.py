"""The runs' routes: the list, curves over seeds, settings that differ."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from api_client import TestClient, client_of
from picture_models import RECIPE, trained_in
from sample_store import FAILED, make_store

from rote.explorer import Workbench
from rote.explorer.runs import POINTS, compared, curves, differences, flat, thinned
from rote.recipes import Trained
from rote.store import FinishedRun, Store
from rote.studies.foundations.captioning_training import pixels, reopened, say
from rote.tasks.captions import CaptionsTask, spoken
from rote.tasks.mnist import load_digits


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("runs") / "store")


@pytest.fixture(scope="module")
def lab(store: Store) -> Iterator[TestClient]:
    with client_of(Workbench(store)) as client:
        yield client


def test_every_run_is_listed_with_its_status(lab: TestClient, store: Store) -> None:
    listed = lab.get("/api/runs").json()["runs"]
    assert [row["id"] for row in listed] == [row.id for row in store.runs()]
    assert {row["status"] for row in listed} == {"finished", "failed", "damaged"}


def test_a_curve_is_the_mean_over_seeds_at_each_recorded_step(lab: TestClient, store: Store) -> None:
    row = next(row for row in store.runs() if row.status == "finished" and row.part == "training")
    told = lab.post("/api/runs/compare", json={"runs": [row.id]}).json()["runs"][0]
    metrics = FinishedRun(store.root / row.folder).metrics()
    assert [point[0] for point in told["curves"]["loss"]["points"]] == [each["step"] for each in metrics]
    np.testing.assert_allclose(
        [point[1] for point in told["curves"]["loss"]["points"]], [np.mean(each["loss"]) for each in metrics]
    )
    assert told["curves"]["loss"]["seeds"] == row.seeds


def test_bands_hold_the_middle_of_the_seeds_and_missing_values_are_left_out() -> None:
    found = curves([{"step": 0, "loss": [*range(11)], "name": "x"}, {"step": 5, "loss": [None] * 11}])
    assert found == {"loss": {"points": [[0, 5.0], [5, None]], "band": [[0, 1.0, 9.0]], "seeds": 11}}


def test_long_curves_are_thinned_and_keep_their_ends() -> None:
    places = thinned(10_000)
    assert len(places) == POINTS
    assert (places[0], places[-1]) == (0, 9999)
    assert thinned(POINTS) == list(range(POINTS))


def test_only_settings_that_differ_are_told() -> None:
    first, second = flat({"a": 1, "b": {"c": [1], "d": 2}}), flat({"a": 1, "b": {"c": [2]}})
    assert differences([first, second]) == [
        {"key": "b.c", "values": [[1], [2]]},
        {"key": "b.d", "values": [2, None]},
    ]


def test_a_damaged_run_says_why_and_leaves_the_others(lab: TestClient, store: Store) -> None:
    answer = lab.post("/api/runs/compare", json={"runs": ["0123456789abcdef", FAILED.id]})
    damaged, failed = answer.json()["runs"]
    assert "record.json is truncated" in damaged["problem"]
    assert failed["curves"]["loss"]["points"] == [[0, 1.0]]
    assert failed["problem"] == ""


@pytest.mark.parametrize("wanted", ["../../etc", "nothing", ""])
def test_what_is_not_a_run_of_the_store_is_never_looked_for(lab: TestClient, wanted: str) -> None:
    answer = lab.post("/api/runs/compare", json={"runs": [wanted]})
    assert answer.status_code in (404, 422)


def test_a_link_out_of_the_store_is_not_followed(tmp_path: Path, store: Store) -> None:
    other = Store(tmp_path / "other")
    (other.root / "runs" / "plane").mkdir(parents=True)
    row = next(row for row in store.runs() if row.status == "finished")
    (other.root / "runs" / "plane" / row.id).symlink_to(store.root / row.folder)
    told = compared(other, [row.id])["runs"][0]
    assert "leads out of the store" in told["problem"]
    assert told["curves"] == {}


def test_every_setting_of_a_recipe_is_told_with_what_it_came_to(lab: TestClient, store: Store) -> None:
    rows = [row for row in store.runs() if row.study == "plane" and row.part == "training" and row.status == "finished"]
    found = lab.post("/api/runs/settings", json={"run": rows[0].id}).json()
    assert {run["id"] for run in found["runs"]} == {row.id for row in rows if row.preset == rows[0].preset}
    for run in found["runs"]:
        row = next(row for row in rows if row.id == run["id"])
        last = FinishedRun(store.root / row.folder).metrics()[-1]
        assert run["last"]["loss"] == pytest.approx(np.mean(last["loss"]))
    for axis in found["axes"]:
        assert len(axis["values"]) == len(found["runs"])
        assert len({str(value) for value in axis["values"]}) > 1
    assert lab.post("/api/runs/settings", json={"run": "nothing"}).status_code == 404


def test_pictures_come_with_what_their_network_says_of_them(tmp_path: Path) -> None:
    recipe, store = RECIPE, Store(tmp_path)
    row = trained_in(store)
    with client_of(Workbench(store)) as client:
        (run,) = client.post("/api/runs/compare", json={"runs": [row.id]}).json()["runs"]
        assert run["networks"] == []
        assert run["describing"] == [f"{held} of 10 held out, seed {seed}" for held in recipe.held for seed in (0, 1)]
        shown = client.post("/api/runs/described", json={"run": row.id, "network": 3}).json()
        assert client.post("/api/runs/described", json={"run": row.id, "network": 4}).status_code == 422
    trained = Trained(FinishedRun(store.root / row.folder))
    model = reopened(recipe, trained, trained.weights())
    images = load_digits("stand-in").test.shrunk(recipe.side)
    for part, about in (
        ("seen", "digits that training shows together"),
        ("held-out", "digits that it never shows together"),
    ):
        own = [item for item in shown if item["part"] == about]
        drawn = CaptionsTask(recipe.held[1]).test(images, 1, part, len(own))
        assert [item["right"] for item in own] == [spoken(words) for words in drawn.captions]
        every = pixels([drawn] * 4)  # one network for each, of which the last is asked
        assert [item["said"] for item in own] == [spoken(words) for words in say(recipe, model, every)[3]]
        picture = np.frombuffer(base64.b64decode(own[0]["picture"]), np.uint8).reshape(
            own[0]["height"], own[0]["width"]
        )
        np.testing.assert_allclose(picture / 255, drawn.images[0], atol=0.003)
