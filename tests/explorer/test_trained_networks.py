"""Networks of stored runs, opened as text models: each is the one that its title names, and reads its own symbols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from api_client import TestClient, client_of
from scipy.special import expit

from rote.errors import UnknownNameError
from rote.explorer import Catalog, Workbench
from rote.explorer.trained_networks import MOST, Networks, networks
from rote.laboratory import Laboratory, studies
from rote.models import StackedSRN
from rote.models.logistic import as_sequence_model
from rote.recipes import Trained, recipes
from rote.recipes.job import MEASUREMENT, TRAINING
from rote.store import FinishedRun, Listed, Store
from rote.studies.conduits.rules import rule_names
from rote.tasks.elman import ElmanTask
from rote.tasks.rules import RulesTask

RUNS = {
    "selection": {"cells": "elman", "gaps": "2,9", "alone": "9", "seeds": 2},
    "matrix": {"tasks": "lookup", "cells": "gru", "seeds": 2, "training.steps": 2, "questions": 8, "jacobians": 1},
    "conduit-frequency": {"others": "", "lengths": "1,3", "counts": "20", "tokens": 2000},
    "conduit-predictability": {"others": "", "settings": "unpredictable,predictable", "lengths": "2", "tokens": 2000},
    "elman-letters": {},
    "elman-lexicon": {"seeds": 1, "sentences": 500, "read": 1000},
    "tagging": {"seeds": 1, "variants": "lstm-both"},
    "classification": {"seeds": 1, "variants": "average,elman,lstm-both"},
}
SYMBOLS = {  # of each, some that it must read
    "selection": {".", "family", "larger", "market"}, "matrix": {"<start>", "t1", "000"},
    "conduit-frequency": {"(", ")", "0", "49"}, "conduit-predictability": {"(", ")", "0", "19"},
    "elman-letters": set("bdgaiu"), "elman-lexicon": {"dragon", "eat"}, "tagging": {"<unk>", "the"},
    "classification": {"<unk>", "the"},
}  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("rebuilt") / "store")
    laboratory = Laboratory(store, workers=1)
    for study, overrides in RUNS.items():
        laboratory.run(study, "smoke", overrides)
    return store


@pytest.fixture(scope="module")
def opening(store: Store) -> Iterator[TestClient]:
    with client_of(Workbench(store)) as client:
        yield client


def found(store: Store, study: str) -> list[tuple[Listed, Networks]]:
    """The trainings of a study that have networks to open."""
    kind = studies[study]()
    jobs = kind.jobs(kind.resolve("smoke", RUNS[study]))
    trainings = {one.request.id for job in jobs for one in job.all() if one.request.part == TRAINING}
    rows = [row for row in store.runs() if row.id in trainings]
    assert len(rows) == len(trainings)
    return [(row, networks(store.root, row)) for row in rows if networks(store.root, row).listings]


def measured(store: Store, study: str, table: str, training: str) -> list[dict[str, object]]:
    """The rows of a table of the measurement that looked at this training alone."""
    (row,) = (
        row for row in store.runs()
        if row.part == MEASUREMENT and FinishedRun(store.root / row.folder).record.request.uses == (training,)
    )  # fmt: skip
    return FinishedRun(store.root / row.folder).tables()[table].records()


@pytest.mark.parametrize("study", RUNS)
def test_every_view_on_texts_opens_the_networks_of(store: Store, opening: TestClient, study: str) -> None:
    for row, opened in found(store, study):
        (told,) = opening.post("/api/runs/compare", json={"runs": [row.id]}).json()["runs"]
        assert [network["key"] for network in told["networks"]] == [listing.key for listing in opened.listings]
        key = opened.listings[-1].key
        assert opening.get(f"/api/models/{key}").json()["title"] == opened.listings[-1].title
        text = opening.post("/api/connectivity/symbols", json={"model": key}).json()["example"]
        asked = {"model": key, "text": text}
        first = opening.post("/api/connectivity", json=asked)
        assert first.status_code == 200, first.text
        assert not first.json()["notes"]  # it knows every symbol of its example
        for path, more in (("autocomplete", {}), ("decomposition/phrase", {"start": 0, "end": 1})):
            answer = opening.post(f"/api/{path}", json={**asked, **more})
            assert answer.status_code == 200, answer.text
    assert found(store, study)


@pytest.mark.parametrize("study", RUNS)
def test_a_network_reads_the_symbols_of_its_study(store: Store, study: str) -> None:
    for _, opened in found(store, study):
        model = Catalog(store).open(opened.listings[0].key)
        assert SYMBOLS[study] <= set(model.inputs)
        assert len(model.inputs) == model.model.embedding.num_embeddings
        assert len(model.outputs) == model.model.readout.out_features


@pytest.mark.parametrize("study", ["selection", "matrix", "conduit-frequency", "conduit-predictability"])
def test_networks_trained_together_are_those_of_their_place_in_the_checkpoint(store: Store, study: str) -> None:
    for row, opened in found(store, study):
        weights = FinishedRun(store.root / row.folder).checkpoint()["model"]
        for index, listing in enumerate(opened.listings):
            state = Catalog(store).open(listing.key).model.state_dict()
            assert torch.equal(state["readout.weight"], weights["readout"][index])
            assert torch.equal(state["embedding.weight"], weights["embedding"][index])


def test_titles_name_the_settings_in_the_order_of_training(store: Store) -> None:
    """A wrong order would show one network under the name of another."""
    ((row, opened),) = found(store, "selection")
    rows = measured(store, "selection", "accuracy", row.id)
    last = [one for one in rows if one["step"] == 6 and one["gap"] == 9]
    titles = [listing.title for listing in opened.listings]
    assert titles == [f"Elman network, selection smoke, {one['trained']}, seed {one['seed']}" for one in last]
    for row, opened in found(store, "conduit-frequency"):
        corpora = measured(store, "conduit-frequency", "corpora", row.id)
        named = [f"k = {one['k']}, n = {one['n']}, seed {one['seed']}" for one in corpora]
        for listing, words in zip(opened.listings, named, strict=True):
            assert listing.title.startswith("LSTM, conduits smoke, ")
            assert listing.title.endswith(words)


@pytest.mark.parametrize("simulation", ["xor", "letters", "words", "lexicon"])
def test_elmans_network_in_tanh_is_the_same_network(simulation: str) -> None:
    """Against his own program: hidden units, and the probability of each code by its bits."""
    stream = ElmanTask(simulation, 30).test(3)
    bits = stream.codes.shape[1]
    networks = StackedSRN(bits, 5, bits, [3, 4], 1.5, torch.float64)
    symbols = stream.symbols[:40]
    hidden, outputs = networks.run(np.stack([stream.codes[symbols]] * 2))
    model = as_sequence_model(networks, 1, stream.codes)
    with torch.no_grad():
        states, _ = model.recurrent(model.embed(torch.from_numpy(symbols)[None]))
        chances = model(torch.from_numpy(symbols)[None])[0].softmax(-1)
    np.testing.assert_allclose((states[0].numpy() + 1) / 2, hidden[1], atol=1e-12)
    each = np.where(stream.codes == 1, outputs[1][:, None], 1 - outputs[1][:, None]).prod(-1)  # [time, symbol]
    np.testing.assert_allclose(chances.numpy(), each / each.sum(1, keepdims=True), atol=1e-12)


def test_elmans_stored_networks_predict_as_when_they_were_measured(store: Store) -> None:
    ((row, opened),) = found(store, "elman-letters")
    run = FinishedRun(store.root / row.folder)
    curve = measured(store, "elman-letters", "curve", row.id)
    recorded = {one["seed"]: one["loss"] for one in curve}  # the last of each
    task = Trained(run).recipe.task
    for seed, listing in enumerate(opened.listings):
        stream = task.test(seed)
        model = Catalog(store).open(listing.key).model
        hidden, _ = model.recurrent(model.embed(torch.from_numpy(stream.symbols[:-1])[None]))
        outer = run.checkpoint()["model"]["outer"][seed].double().numpy()
        outputs = expit((hidden[0].detach().double().numpy() + 1) / 2 @ outer[:-1] + outer[-1])
        error = ((stream.codes[stream.symbols[1:]] - outputs) ** 2).sum(1).mean()
        assert error == pytest.approx(recorded[seed], rel=1e-5)


def test_the_symbols_of_a_rule_stand_where_the_corpus_has_them() -> None:
    clean, published = RulesTask(1000, 20, 10, 3), RulesTask(1000, 20, 10, 3, generator="as_published")
    assert rule_names(clean)[clean.open] == rule_names(published)[published.open] == "("
    assert rule_names(clean)[:2] == ("0", "1")
    assert len(rule_names(clean)) == clean.symbols


def test_a_run_without_networks_says_why_and_what_to_do(store: Store) -> None:
    rows = [row for row in store.runs() if row.study.startswith(("classification", "text"))]
    said = {(row.part, row.label): networks(store.root, row).closed for row in rows}
    assert next(told for (part, _), told in said.items() if part == "study").startswith(
        "A study has tables, no network"
    )
    assert next(told for (part, _), told in said.items() if part == "measurement").startswith(
        "A measurement has tables"
    )
    trained = {label: told for (part, label), told in said.items() if part == "training"}
    assert len(trained) == 3
    assert sum("does not read step by step" in told for told in trained.values()) == 1  # the average
    assert sum("reads both ways says nothing before the end" in told for told in trained.values()) == 1
    assert sum(told == "" for told in trained.values()) == 1


def test_what_cannot_be_opened_says_why_not(store: Store) -> None:
    training = next(row for row in store.runs() if row.part == TRAINING)
    older = replace(training, part="some part")
    assert "of version 0.1" in networks(store.root, older).closed
    stopped = replace(training, study="selection", status="interrupted")
    assert networks(store.root, stopped).closed == "It has not finished. To go on with it: rote run selection"
    for name in recipes:
        closed = recipes[name]().closed()
        assert closed == "" or closed.endswith((".", ")"))
        assert "is not known here" not in closed


def test_the_list_is_short_and_every_network_is_opened_all_the_same(store: Store) -> None:
    catalog = Catalog(store)
    listed = {listing.key for listing in catalog.listing()}
    every = [listing.key for study in RUNS for _, opened in found(store, study) for listing in opened.listings]
    assert len(listed) <= MOST + 3
    hidden = next(key for key in every if key not in listed)
    assert catalog.open(hidden).listing == catalog.find(hidden)
    with pytest.raises(UnknownNameError):
        catalog.find(f"{hidden}9")
