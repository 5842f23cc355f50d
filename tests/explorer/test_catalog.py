"""Opening models: those in the store, saved ones, and one from Python; each computes what the original computes."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path

import pytest
import torch
from api_client import TestClient, bearing, client_of

import rote
from rote.errors import DamagedFileError, UnknownNameError, UsageError
from rote.explorer import Catalog, Workbench
from rote.explorer.catalog import names_of
from rote.laboratory import Laboratory
from rote.models import SequenceModel, save_autocomplete
from rote.models.saved_autocomplete import BUNDLED
from rote.store import FinishedRun, Store

SMALL = {"cells": "gru", "seeds": 1, "initial.seeds": 1, "training.steps": 10}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """With an autocomplete network, language models of words, and some that were trained together."""
    store = Store(tmp_path_factory.mktemp("catalog") / "store")
    laboratory = Laboratory(store, workers=1)
    laboratory.run("autocomplete", "smoke", SMALL)
    laboratory.run("language-modeling", "smoke", {"seeds": 1, "variants": "elman,window"})
    laboratory.run("agreement", "smoke", {"seeds": 2, "cells": "gru"})
    return store


def keys(store: Store, study: str) -> list[str]:
    return [listing.key for listing in Catalog(store).listing() if study in listing.title]


def test_networks_of_the_store_are_listed_and_others_are_not(store: Store) -> None:
    assert len(keys(store, "autocomplete")) == 1
    assert len(keys(store, "language-modeling")) == 1  # the window model is not recurrent
    assert len(keys(store, "agreement")) == 2


def test_a_stored_network_is_the_one_that_was_trained(store: Store) -> None:
    (key,) = keys(store, "autocomplete")
    opened = Catalog(store).open(key)
    run = FinishedRun(store.find(key.removeprefix("run-")))
    weights = run.checkpoint()["model"]
    assert weights.keys() == opened.model.state_dict().keys()
    assert all(torch.equal(weights[name], value) for name, value in opened.model.state_dict().items())
    assert opened.outputs[:2] == ("<eos>", "<unknown>")


def test_a_network_is_opened_as_it_was_on_the_way(store: Store) -> None:
    (key,) = keys(store, "autocomplete")
    catalog = Catalog(store)
    listing = next(item for item in catalog.listing() if item.key == key)
    assert listing.checkpoints == (0, 2, 10)
    first, last = (catalog.open(key, step).model.state_dict() for step in (0, 10))
    assert not torch.equal(first["readout.weight"], last["readout.weight"])
    with pytest.raises(UsageError, match=re.escape("no checkpoint of step 7. It has: 0, 2, 10.")):
        catalog.open(key, 7)


@pytest.mark.parametrize("study", ["language-modeling", "agreement"])
def test_networks_of_words_say_their_own_words(store: Store, study: str) -> None:
    opened = Catalog(store).open(keys(store, study)[0])
    assert isinstance(opened.model, SequenceModel)
    assert opened.model.embedding is not None
    assert len(opened.inputs) == opened.model.embedding.num_embeddings
    logits = opened.model(torch.tensor([[1, 2]]))
    assert logits.shape == (1, 2, len(opened.outputs))


def test_networks_trained_together_are_told_apart(store: Store) -> None:
    first, second = (Catalog(store).open(key).model.state_dict() for key in keys(store, "agreement"))
    assert not torch.equal(first["embedding.weight"], second["embedding.weight"])


def test_an_unknown_model_is_not_found(client: TestClient) -> None:
    answer = client.post("/api/connectivity", json={"model": "../gru", "text": "the"})
    assert answer.status_code == 404


def test_a_saved_model_is_opened_from_its_files(tmp_path: Path) -> None:
    model = rote.load_autocomplete("gru")
    save_autocomplete(tmp_path / "mine", model, torch.float16)
    catalog = Catalog()
    keys = [catalog.add_file(tmp_path / name) for name in ("mine", "mine.json", "mine.safetensors")]
    assert keys == ["mine", "mine-2", "mine-3"]
    tokens = model.encode("the united sta")
    with torch.no_grad():
        torch.testing.assert_close(catalog.open("mine").model(tokens), model(tokens))
    with pytest.raises(UsageError, match=r"no saved autocomplete model at '.*other': .*other\.json is missing\.$"):
        catalog.add_file(tmp_path / "other")


def test_files_of_the_folder_do_not_stand_in_for_bundled_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in BUNDLED:
        Path(f"{name}.json").write_text('{"not": "a model"}')
    bundled = {name: rote.load_autocomplete(name) for name in BUNDLED}
    catalog = Catalog()
    assert [catalog.add_file(name) for name in BUNDLED] == list(BUNDLED)  # they stand there already
    assert [listing.key for listing in catalog.listing()] == list(BUNDLED)
    save_autocomplete("gru.json", bundled["lstm"], torch.float16)  # "gru", but an LSTM
    for file in ("./gru", "gru.json", "gru.safetensors", Path("gru")):
        assert rote.load_autocomplete(file).config.cell == "lstm"
        assert catalog.find(catalog.add_file(file)).cell == "lstm"
    assert rote.load_autocomplete("gru").config.cell == catalog.open("gru").model.config.cell == "gru"
    assert [(listing.key, listing.title) for listing in catalog.listing()][:2] == [
        ("gru-2", "gru-2"),
        ("gru-3", "gru-3"),
    ]


def test_nobody_is_told_to_remove_a_file_of_theirs_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "gru.json"
    path.write_text('{"not": "a model"}')
    with pytest.raises(DamagedFileError, match=r"not a rote autocomplete model .* Name another file") as caught:
        rote.load_autocomplete(path)
    assert "Remove" not in str(caught.value)


def test_what_is_neither_a_bundled_name_nor_a_file_is_told() -> None:
    with pytest.raises(UnknownNameError, match=r"'grue', and there is no file grue\.json\. Did you mean 'gru'\?"):
        rote.load_autocomplete("grue")
    with pytest.raises(UsageError, match=r"at './gru': gru\.json is missing\. The model .* is 'gru', without a path\."):
        rote.load_autocomplete("./gru")


def adapted(symbols: int = 5, outputs: int = 5) -> SequenceModel:
    lstm, table = torch.nn.LSTM(3, 4, batch_first=True), torch.nn.Embedding(symbols, 3)
    return rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(4, outputs))


def test_a_users_model_is_explored_from_python(tmp_path: Path) -> None:
    with rote.explore(adapted(), ["<unk>", *"abcd"], title="Mine", store=tmp_path, port=0) as explorer:
        request = urllib.request.Request(f"{explorer.address}api/models", headers=bearing(explorer.token))
        with urllib.request.urlopen(request) as answer:
            assert b'"title":"Mine"' in answer.read()
        assert explorer.url in repr(explorer)
        assert f'href="{explorer.url}"' in str(explorer._repr_html_())
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(explorer.url)
    assert repr(explorer) == "Explorer (stopped)"
    assert explorer._repr_html_() is None  # it would ask a server that is gone


def test_a_users_model_answers_like_any_other(tmp_path: Path) -> None:
    bench = Workbench(Store(tmp_path))
    key = bench.catalog.add_model(adapted(), list("abcde"), None, "Mine")
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
