"""Phrases over the wire: the parts of rote.decompose, summing to the model's own logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from text_models import WORDS, model_of

import rote
from rote.errors import UsageError
from rote.explorer import Workbench
from rote.explorer.contributions import all_spans
from rote.explorer.reading import Reader

TEXT = "a young age through advanced le"
SPAN = (20, 28)


def asked(client: TestClient, path: str = "phrase", **changes: object) -> dict:
    where = {"start": SPAN[0], "end": SPAN[1]} if path == "phrase" else {"at": 12}
    response = client.post(f"/api/decomposition/{path}", json={"model": "lstm", "text": TEXT} | where | changes)
    assert response.status_code == 200, response.text
    return response.json()


def test_the_parts_and_the_bias_sum_to_the_models_logit(client: TestClient) -> None:
    answer, model = asked(client), rote.load_autocomplete("lstm")
    with torch.no_grad():
        logits = model(model.encode(TEXT))[0]
    whole = np.add(answer["phrase"], answer["rest"]) + answer["bias"]
    assert answer["steps"] == list(range(SPAN[0], 32))
    assert answer["outputs"] == [model.vocabulary[index] for index in logits[SPAN[0] :].argmax(-1).tolist()]
    np.testing.assert_allclose(whole, logits[SPAN[0] :].max(-1).values.numpy(), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(answer["chance"], logits[SPAN[0] :].softmax(-1).max(-1).values.numpy(), atol=1e-4)
    assert answer["error"] < 1e-4


def test_a_users_model_with_a_projection_and_a_norm_before_its_readout_is_taken_apart(
    client: TestClient, bench: Workbench
) -> None:
    torch.manual_seed(7)
    readout = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.Linear(4, len(WORDS)))
    lstm, table = torch.nn.LSTM(6, 9, 2, proj_size=4), torch.nn.Embedding(len(WORDS), 6)
    model = rote.adapt(recurrent=lstm, embedding=table, readout=readout)
    brought = {"model": bench.catalog.add_model(model, WORDS, None, "mine"), "text": "the dogs bark ."}
    answer = asked(client, **brought, start=1, end=2)
    logits = rote.trace(model, torch.tensor([[1, 2, 3, 6]])).logits[0, 1:].max(-1).values.numpy()
    np.testing.assert_allclose(np.add(answer["phrase"], answer["rest"]) + answer["bias"], logits, atol=1e-5)
    assert len(asked(client, "tree", **brought, at=3)["scores"]) == 10
    for path in ("autocomplete", "connectivity"):
        assert client.post(f"/api/{path}", json=brought).status_code == 200


@pytest.mark.parametrize("rules", [{}, {"rules": "murdoch2018"}, {"rules": "gcd2019"}])
def test_the_phrases_part_is_that_of_rote_decompose(client: TestClient, rules: dict) -> None:
    answer, model = asked(client, word="learning", **rules), rote.load_autocomplete("lstm")
    parts = rote.decompose(model, model.encode(TEXT), [SPAN], **rules)
    own = parts.logits()[0, 0, SPAN[0] :, model.word("learning")]
    alone = parts.probabilities()[0, 0, SPAN[0] :, model.word("learning")]
    np.testing.assert_allclose(answer["phrase"], own.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(answer["chance_phrase"], alone.numpy(), rtol=1e-3, atol=2e-6)


def test_the_texts_own_word_can_be_looked_at(client: TestClient) -> None:
    assert asked(client, target=True)["outputs"][:9] == ["advanced"] * 9


def test_the_tree_holds_the_score_of_every_span(client: TestClient) -> None:
    answer, model = asked(client, "tree", word="world"), rote.load_autocomplete("lstm")
    tokens = model.encode(TEXT)[:, :13]
    parts = rote.decompose_all(model, tokens)
    own = parts.logits(at=slice(-1, None))[0, :, 0, model.word("world")]
    assert len(answer["scores"]) == 13 * 14 // 2
    assert answer["units"] == [[step, step] for step in range(13)]
    np.testing.assert_allclose(answer["scores"], own.numpy(), rtol=1e-3, atol=1e-4)
    assert answer["measured"] >= 12
    assert answer["error"] < 1e-3


def test_the_tree_of_words_is_that_of_their_characters(client: TestClient) -> None:
    answer, model = asked(client, "tree", at=30, unit="words"), rote.load_autocomplete("lstm")
    assert answer["units"] == [[0, 1], [2, 7], [8, 11], [12, 19], [20, 28], [29, 30]]
    assert len(answer["scores"]) == 21
    parts = rote.decompose(model, model.encode(TEXT)[:, :31], [(2, 11), (20, 28)])
    own = parts.logits(at=slice(-1, None))[0, :, 0, model.word(answer["output"])].tolist()
    np.testing.assert_allclose([answer["scores"][7], answer["scores"][18]], own, rtol=1e-3, atol=1e-4)


def test_a_users_model_of_words(bench: Workbench, client: TestClient) -> None:
    model = model_of(len(WORDS))
    key = bench.catalog.add_model(model, WORDS, None, "Mine")
    answer = asked(client, model=key, text="the dogs bark .", start=1, end=1)
    with torch.no_grad():
        logits = model(torch.tensor([[1, 2, 3, 6]]))[0, 1:]
    whole = np.add(answer["phrase"], answer["rest"]) + answer["bias"]
    np.testing.assert_allclose(whole, logits.max(-1).values.numpy(), rtol=1e-4, atol=1e-5)


def test_a_wide_model_takes_fewer_spans() -> None:
    wide = rote.adapt(
        recurrent=torch.nn.RNN(2, 4000, batch_first=True), embedding=torch.nn.Embedding(3, 2),
        readout=torch.nn.Linear(4000, 3),
    )  # fmt: skip
    with pytest.raises(UsageError, match="The 465 spans of 30 symbols are too many for a model of 4000 units"):
        all_spans(Reader.of(wide, ["a", "b", "c"]), "abc" * 10, 29)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("phrase", {"start": 5, "end": 3}, "must not lie behind its end"),
        ("phrase", {"start": 5, "end": 300}, "inside the sequence of 32 steps"),
        ("phrase", {"word": "xqz"}, "'xqz' is not among"),
        ("phrase", {"rules": "some"}, "rules"),
        ("tree", {"at": 99}, "'at' must lie in 0 to 31"),
        ("tree", {"at": 80, "text": TEXT * 4}, "at most 60 symbols"),
        ("tree", {"at": 80, "text": "a " * 50, "unit": "words"}, "at most 32 words"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(client: TestClient, path: str, body: dict, said: str) -> None:
    where = {"start": 0, "end": 1} if path == "phrase" else {"at": 12}
    response = client.post(f"/api/decomposition/{path}", json={"model": "lstm", "text": TEXT} | where | body)
    assert response.status_code == 422
    assert said in response.json()["error"]


def test_the_first_example_is_one_that_the_search_ranks_by_its_phrase(client: TestClient) -> None:
    example = client.get("/api/decomposition/example").json()
    start, end = example["phrase"]
    body = {"model": example["model"], "text": example["text"], "start": start, "end": end}
    found = client.post("/api/decomposition/phrase", json=body).json()
    assert found["outputs"][-1] == "angeles"
    assert found["chance"][-1] > 0.5
    assert found["phrase"][-1] > 3 * abs(found["rest"][-1])
