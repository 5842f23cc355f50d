"""Suggestions while typing: the same as from scratch, for one step of work."""

from __future__ import annotations

import base64

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from text_models import WORDS, model_of, word_reader

import rote
from rote.explorer.prefix_cache import Trails
from rote.explorer.reading import Reader

TEXT = "the united states of am"


def asked(client: TestClient, **changes: object) -> dict:
    response = client.post("/api/autocomplete", json={"model": "lstm", "text": TEXT} | changes)
    assert response.status_code == 200, response.text
    return response.json()


def floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_typing_reads_one_step_and_gives_what_reading_all_gives() -> None:
    reader, trails = Reader.of(rote.load_autocomplete("lstm")), Trails()
    trails.follow(reader, reader.read(TEXT, 400))
    for changed, steps in ((f"{TEXT}e", 1), (f"{TEXT}e", 0), (TEXT, 0), ("the united kin", 3), ("other", 5)):
        trail, read = trails.follow(reader, reader.read(changed, 400))
        own = rote.trace(reader.model, reader.read(changed, 400).tokens)
        assert read == steps
        torch.testing.assert_close(trail.last, own.logits[0, -1], rtol=1e-4, atol=1e-4)
        for name, values in (own.states[0] | own.gates[0]).items():
            torch.testing.assert_close(trail.series[0][name], values[0], rtol=1e-4, atol=1e-5)


def test_trails_are_bounded_in_number_and_size() -> None:
    reader = word_reader()
    few, small = Trails(kept=3), Trails(size=2000)
    for count in range(1, 12):
        for trails in (few, small):
            trails.follow(reader, reader.read("the " * count, 400))
    assert len(few) == 3
    assert len(small) == 1


def test_a_model_that_is_trained_further_is_read_again() -> None:
    reader, trails = word_reader(), Trails()
    before, _ = trails.follow(reader, reader.read("the dogs", 400))
    with torch.no_grad():
        for weight in reader.model.parameters():
            weight.add_(0.1)
    after, read = trails.follow(reader, reader.read("the dogs", 400))
    assert read == 2
    assert not torch.equal(before.last, after.last)


def test_a_model_of_two_directions_is_read_whole() -> None:
    reader, trails = Reader.of(model_of(len(WORDS), bidirectional=True), WORDS), Trails()
    trails.follow(reader, reader.read("the dogs", 400))
    trail, read = trails.follow(reader, reader.read("the dogs bark", 400))
    assert read == 3
    own = rote.trace(reader.model, torch.tensor([[1, 2, 3]]))
    torch.testing.assert_close(trail.last, own.logits[0, -1])


def test_suggestions_are_those_of_rote_suggest(client: TestClient) -> None:
    own = rote.suggest(rote.load_autocomplete("lstm"), TEXT, top=8, target="american")
    answer = asked(client, word="american")
    assert answer["suggested"] == list(own.words)
    assert answer["rank"] == own.rank
    np.testing.assert_allclose(answer["chances"], own.probabilities.tolist(), atol=2e-6)


def test_the_strip_has_every_outputs_neighborhood(client: TestClient) -> None:
    answer, model = asked(client), rote.load_autocomplete("lstm")
    with torch.no_grad():
        chances = model(model.encode(TEXT))[0, -1].softmax(-1)
    strip = floats(answer["strip"])
    assert len(strip) == len(answer["strip_words"]) == 256
    np.testing.assert_allclose(strip.max(), float(chances.max()), rtol=1e-4)
    found = [float(chances[model.vocabulary.index(word)]) for word in answer["strip_words"]]
    np.testing.assert_allclose(strip, found, rtol=1e-3, atol=1e-8)


def test_the_activity_is_that_of_rote_trace_and_only_its_new_part_is_sent(client: TestClient) -> None:
    model = rote.load_autocomplete("lstm")
    own = rote.trace(model, model.encode(TEXT)).gates[0]["forget"][0].numpy()
    answer = asked(client, series="forget", since=20)
    assert (answer["since"], answer["units"]) == (20, own.shape[1])
    np.testing.assert_allclose(floats(answer["activity"]).reshape(-1, own.shape[1]), own[20:], rtol=1e-4, atol=1e-5)
    assert set(answer["series"]) == {"hidden", "cell", "forget", "input", "candidate", "output"}


def test_an_unknown_word_has_no_rank_and_all_else_is_answered(client: TestClient) -> None:
    plain, answer = asked(client), asked(client, word="amerikan")
    outputs = len(rote.load_autocomplete("lstm").vocabulary)
    told = f"'amerikan' is not among the {outputs} outputs of the model. Did you mean 'american'?"
    assert answer["unknown"] == told
    assert (answer["rank"], answer["chance"]) == (None, None)
    assert answer["suggested"] == plain["suggested"]
    assert plain["unknown"] == ""


def test_nothing_typed_yet_is_the_space_before_the_first_word(client: TestClient) -> None:
    assert asked(client, text="")["symbols"] == [" "]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"series": "forgett"}, 404, "Did you mean 'forget'?"),
        ({"layer": 3}, 422, "'layer' must lie in 0 to 0"),
        ({"since": -1}, 422, "since"),
        ({"text": "a" * 450}, 422, "at most 400"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(client: TestClient, body: dict, status: int, said: str) -> None:
    response = client.post("/api/autocomplete", json={"model": "lstm", "text": TEXT} | body)
    assert response.status_code == status
    assert said in response.json()["error"]
