"""Connectivity over the wire: the numbers of rote.connectivity, and what is told beside them."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from text_models import WORDS, model_of

import rote
from rote.explorer import Workbench
from rote.explorer.guided_tour import SITUATIONS, walk
from rote.studies.memorization import published, stored_data

TEXT = "the united states of america"


def matrix(answer: dict) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(answer["values"]), "<f4")
    size = len(answer["symbols"])
    if not answer["causal"]:
        return values.reshape(size, size)
    full = np.zeros((size, size), np.float32)
    full[np.tril_indices(size)] = values
    return full


def asked(client: TestClient, **changes: object) -> dict:
    response = client.post("/api/connectivity", json={"model": "gru", "text": TEXT} | changes)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    "options", [{}, {"norm": "signed", "of": "log_probability"}, {"norm": "squared", "wrt": "embedding"}]
)
def test_the_matrix_is_that_of_rote_connectivity(client: TestClient, options: dict) -> None:
    model = rote.load_autocomplete("gru")
    own = rote.connectivity(model, model.encode(TEXT), model.targets(TEXT), **options).values[0]
    np.testing.assert_allclose(matrix(asked(client, **options)), own.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_suggestions_and_ranks_are_those_of_rote_suggest(client: TestClient) -> None:
    answer, model = asked(client, top=4), rote.load_autocomplete("gru")
    for at in (0, 7, 13, 27):
        own = rote.suggest(model, f" {TEXT}"[: at + 1], top=4, target=answer["asked"][at])
        assert answer["suggested"][at] == list(own.words)
        assert answer["ranks"][at] == own.rank
        np.testing.assert_allclose(answer["suggested_chances"][at], own.probabilities.tolist(), atol=2e-6)
    assert answer["asked"][27] == "america"
    assert not any(answer["own"])


def test_one_word_can_be_asked_about_everywhere(client: TestClient) -> None:
    answer, model = asked(client, ask="word", word="world"), rote.load_autocomplete("gru")
    targets = torch.full_like(model.encode(TEXT), model.word("world"))
    own = rote.connectivity(model, model.encode(TEXT), targets).values[0].detach().numpy()
    np.testing.assert_allclose(matrix(answer), own, rtol=1e-4, atol=1e-6)
    assert set(answer["asked"]) == {"world"}


def test_the_models_own_choice(client: TestClient) -> None:
    answer = asked(client, ask="choice")
    assert answer["asked"] == [words[0] for words in answer["suggested"]]
    assert set(answer["ranks"]) == {1}


def test_a_users_words_and_both_directions(bench: Workbench, client: TestClient) -> None:
    model = model_of(len(WORDS), bidirectional=True)
    key = bench.catalog.add_model(model, WORDS, None, "Mine")
    answer = asked(client, model=key, text="the dogs bark wolves")
    own = rote.connectivity(model, torch.tensor([[1, 2, 3, 0]]), torch.tensor([[2, 3, 0, 0]]))
    found = matrix(answer)
    assert not answer["causal"]
    np.testing.assert_allclose(found[:3], own.values[0, :3].detach().numpy(), rtol=1e-4, atol=1e-7)
    assert answer["own"] == [False, False, False, True]
    assert "“wolves”" in answer["notes"][0]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"model": "gruu"}, 404, "Did you mean 'gru'?"),
        ({"text": "a" * 500}, 422, "at most 400"),
        ({"ask": "word"}, 422, "'word' is empty"),
        ({"ask": "word", "word": "xqz"}, 422, "'xqz' is not among"),
        ({"norm": "l3"}, 422, "norm"),
        ({"checkpoint": 7}, 422, "no checkpoint of step 7"),
        ({"other": 1}, 422, "other"),
        ({"text": "x" * 5000}, 422, "text"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(client: TestClient, body: dict, status: int, said: str) -> None:
    response = client.post("/api/connectivity", json={"model": "gru", "text": TEXT} | body)
    assert response.status_code == status
    assert said in response.json()["error"]


def test_the_walk_points_where_the_article_points(client: TestClient) -> None:
    story = client.get("/api/connectivity/walk").json()
    assert story == json.loads(json.dumps(walk()))
    assert f" {story['text']}" == published.PARAGRAPH
    text = published.PARAGRAPH
    for situation in SITUATIONS:
        for place in situation.places:
            assert place.at in published.SITUATIONS
            before, bar, after = place.label.split(": ")[-1].partition("|")
            if bar:
                assert text[: place.at + 1].endswith(f" {before}")
                assert text[place.at + 1 :].startswith(after)


def test_a_users_model_gives_a_text_to_begin_with(bench: Workbench, client: TestClient) -> None:
    key = bench.catalog.add_model(model_of(len(WORDS)), WORDS, None, "Mine")
    found = client.post("/api/connectivity/symbols", json={"model": key}).json()
    assert found["example"] == "the dogs bark cat sleeps . The"
    assert found["count"] == len(WORDS)
    assert asked(client, model=key, text=found["example"])["notes"] == []


def test_the_articles_own_matrices_stand_beside_live_models(client: TestClient) -> None:
    listed = client.get("/api/connectivity/walk").json()["stored"]
    assert [one["key"] for one in listed] == ["article:gru", "article:lstm", "article:nested_lstm"]
    stored = stored_data.load()
    for index, one in enumerate(listed):
        answer = asked(client, model=one["key"], text=published.PARAGRAPH.strip(), norm="squared")
        np.testing.assert_array_equal(matrix(answer), stored.connectivity[index])
        norm = asked(client, model=one["key"], text=published.PARAGRAPH, norm="l2")
        np.testing.assert_allclose(matrix(norm), np.sqrt(stored.connectivity[index]), rtol=1e-6)
        assert answer["suggested"] == stored.words[index].tolist()
    learning = asked(client, model="article:gru", text=published.PARAGRAPH)
    assert (learning["asked"][106], learning["ranks"][106], learning["chances"][106]) == ("learning", 1, 0.575)
    assert learning["ranks"][28] is None  # beyond the three that were stored
    live = asked(client, text=published.PARAGRAPH)
    assert (live["symbols"], live["words"]) == (learning["symbols"], learning["words"])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"text": "the"}, "its own paragraph alone"),
        ({"norm": "signed"}, "'norm' is l2 or squared"),
        ({"ask": "choice"}, "'ask' is text"),
        ({"wrt": "embedding"}, "'wrt' is one_hot"),
    ],
)
def test_what_the_article_did_not_store_is_told(client: TestClient, changes: dict, told: str) -> None:
    body = {"model": "article:lstm", "text": published.PARAGRAPH} | changes
    response = client.post("/api/connectivity", json=body)
    assert response.status_code == 422
    assert told in response.json()["error"]
