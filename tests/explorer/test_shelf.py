"""Opening models: those in the store, saved ones, and one from Python; each computes what the original computes."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest
import torch
from api_client import TestClient, client_of

import rote
from rote.errors import UnknownNameError, UsageError
from rote.explorer import Shelf, Workbench
from rote.explorer.shelf import names_of
from rote.models import SequenceModel, save_autocomplete
from rote.store import FinishedRun, Store
from rote.studies import Laboratory
from rote.studies.memorization.autocomplete_runs import snapshots

SMALL = {"cells": "gru", "seeds": 1, "initial.seeds": 1, "training.steps": 10}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """With an autocomplete network, language models of words, and some that were trained together."""
    store = Store(tmp_path_factory.mktemp("shelf") / "store")
    laboratory = Laboratory(store, workers=1)
    laboratory.run("autocomplete", "smoke", SMALL)
    laboratory.run("language-modeling", "smoke", {"seeds": 1, "variants": "elman,window"})
    laboratory.run("agreement", "smoke", {"seeds": 2, "cells": "gru"})
    return store


def keys(store: Store, study: str) -> list[str]:
    return [listing.key for listing in Shelf(store).listing() if study in listing.title]


def test_networks_of_the_store_are_listed_and_others_are_not(store: Store) -> None:
    assert len(keys(store, "autocomplete")) == 1
    assert len(keys(store, "language-modeling")) == 1  # the window model is not recurrent
    assert len(keys(store, "agreement")) == 2


def test_a_stored_network_is_the_one_that_was_trained(store: Store) -> None:
    (key,) = keys(store, "autocomplete")
    opened = Shelf(store).open(key)
    run = FinishedRun(store.find(key.removeprefix("run-")))
    weights = run.checkpoint()["model"]
    assert weights.keys() == opened.model.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in opened.model.state_dict().items())
    assert opened.outputs[:2] == ("<eos>", "<unknown>")


def test_a_network_is_opened_as_it_was_on_the_way(store: Store) -> None:
    (key,) = keys(store, "autocomplete")
    shelf = Shelf(store)
    listing = next(item for item in shelf.listing() if item.key == key)
    assert listing.checkpoints == (0, 2, 10)
    first, last = (shelf.open(key, step).model.state_dict() for step in (0, 10))
    assert not torch.equal(first["readout.weight"], last["readout.weight"])
    with pytest.raises(UsageError, match=re.escape("no checkpoint of step 7. It has: 0, 2, 10.")):
        shelf.open(key, 7)


def test_snapshots_lie_closer_at_the_beginning() -> None:
    assert snapshots(500) == {0, 100, 20, 4}
    assert snapshots(3) == {0}


@pytest.mark.parametrize("study", ["language-modeling", "agreement"])
def test_networks_of_words_say_their_own_words(store: Store, study: str) -> None:
    opened = Shelf(store).open(keys(store, study)[0])
    assert isinstance(opened.model, SequenceModel)
    assert opened.model.embedding is not None
    assert len(opened.inputs) == opened.model.embedding.num_embeddings
    logits = opened.model(torch.tensor([[1, 2]]))
    assert logits.shape == (1, 2, len(opened.outputs))


def test_networks_trained_together_are_told_apart(store: Store) -> None:
    first, second = (Shelf(store).open(key).model.state_dict() for key in keys(store, "agreement"))
    assert not torch.equal(first["embedding.weight"], second["embedding.weight"])


def test_an_unknown_model_is_not_found(client: TestClient) -> None:
    answer = client.post("/api/connectivity", json={"model": "../gru", "text": "the"})
    assert answer.status_code == 404


def test_a_saved_model_is_opened_from_its_files(tmp_path: Path) -> None:
    model = rote.load_autocomplete("gru")
    save_autocomplete(tmp_path / "mine", model, torch.float16)
    shelf = Shelf()
    keys = [shelf.add_file(tmp_path / name) for name in ("mine", "mine.json", "mine.safetensors")]
    assert keys == ["mine", "mine-2", "mine-3"]
    tokens = model.encode("the united sta")
    with torch.no_grad():
        torch.testing.assert_close(shelf.open("mine").model(tokens), model(tokens))
    with pytest.raises(UnknownNameError, match="Unknown autocomplete model"):
        shelf.add_file(tmp_path / "other")


def adapted(symbols: int = 5, outputs: int = 5) -> SequenceModel:
    lstm, table = torch.nn.LSTM(3, 4, batch_first=True), torch.nn.Embedding(symbols, 3)
    return rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(4, outputs))


def test_a_users_model_is_explored_from_python(tmp_path: Path) -> None:
    with rote.explore(adapted(), ["<unk>", *"abcd"], title="Mine", store=tmp_path, port=0) as explorer:
        with urllib.request.urlopen(f"{explorer.url}api/models") as answer:
            assert b'"title":"Mine"' in answer.read()
        assert explorer.url in repr(explorer)
        assert f'href="{explorer.url}"' in explorer._repr_html_()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(explorer.url)


def test_a_users_model_answers_like_any_other(tmp_path: Path) -> None:
    bench = Workbench(Store(tmp_path))
    key = bench.shelf.add_model(adapted(), list("abcde"), None, "Mine")
    with client_of(bench) as client:
        answer = client.post("/api/connectivity", json={"model": key, "text": "abcab"})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("vocabulary", "outputs", "said"),
    [
        (None, None, "'vocabulary' is needed"),
        (list("abc"), None, "must name the 5 symbols of the embedding. Got 3."),
        (list("abcde"), None, "'outputs' must name the 2 outputs"),
        (list("abcde"), list("xyz"), "'outputs' must name the 2 outputs of the readout. Got 3."),
    ],
)
def test_names_that_do_not_fit_the_model_are_refused(vocabulary: object, outputs: object, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        names_of(adapted(5, 2), vocabulary, outputs)


def test_what_is_no_model_is_refused_before_a_server_starts() -> None:
    with pytest.raises(UsageError, match=r"must be what rote.adapt\(...\) gives, or a path. Got LSTM"):
        rote.explore(torch.nn.LSTM(2, 2), "ab")
