"""The units view over the wire: values of the cell's own operations, and gradients against torch's autograd."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
import torch
from api_client import TestClient
from torch.nn.functional import cross_entropy

import rote
from rote.explorer.unit_values import untrained

TEXT = "the united sta"


def numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


def asked(client: TestClient, path: str = "", **changes: Any) -> dict[str, Any]:
    response = client.post(f"/api/units{path}", json={"model": "gru", "text": TEXT} | changes)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("key", ["gru", "lstm", "nested_lstm"])
def test_the_values_are_those_of_a_trace(client: TestClient, key: str) -> None:
    answer, model = asked(client, model=key, unit=5), rote.load_autocomplete(key)
    found = rote.trace(model, model.encode(TEXT))
    values = numbers(answer["values"]).reshape(len(answer["symbols"]), -1)
    names = [node["name"] if node["kind"] not in ("input", "state") else "" for node in answer["nodes"]]
    for gate, own in found.gates[0].items():
        np.testing.assert_allclose(values[:, names.index(gate)], own[0, :, 5], atol=2e-5)
    for state, node in answer["outputs"].items():
        np.testing.assert_allclose(values[:, node], found.states[0][state][0, :, 5], atol=2e-5)
        before = next(at for at, one in enumerate(answer["nodes"]) if (one["kind"], one["name"]) == ("state", state))
        np.testing.assert_allclose(values[1:, before], found.states[0][state][0, :-1, 5], atol=2e-5)
    assert np.isnan(values[:, 0]).all()  # the input has other units
    own = rote.suggest(model, f" {TEXT}", top=1)
    assert answer["said"][-1] == own.words[0]


def test_a_gradient_is_that_of_autograd(client: TestClient) -> None:
    """Of the loss at a step with respect to the states of an earlier one: by increments that are added to these."""
    answer = asked(client, "/gradient", untrained="lstm", text="a state")
    size, layers = len(answer["symbols"]), answer["layers"]
    values = numbers(answer["values"]).reshape(size, layers, size)
    model = untrained("lstm").model
    at, step = 6, 3
    tokens = model.encode("a state")
    inputs = model.embed(tokens)[0]
    added = [[torch.zeros(100, requires_grad=True) for _ in ("hidden", "cell")] for _ in range(layers)]
    states = [list(model.recurrent.cell(layer).zero_state(1)) for layer in range(layers)]
    from rote.cells.arithmetic import Plain

    for now in range(at + 1):
        below = inputs[now][None]
        for layer in range(layers):
            cell = model.recurrent.cell(layer)
            states[layer] = list(cell.step(Plain(), cell.project(below), tuple(states[layer])))
            if now == step:
                states[layer] = [state + more for state, more in zip(states[layer], added[layer], strict=True)]
            below = states[layer][0]
    logits = model.readout(below)
    cross_entropy(logits, logits.argmax(-1)).backward()
    expected = [float(torch.cat([more.grad for more in both]).norm()) for both in added]
    np.testing.assert_allclose(values[at, :, step], expected, rtol=1e-3)
    assert not values[step, :, step + 1 :].any()  # nothing reaches a later state


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"layer": 9}, "'layer' must lie in 0 to 0"),
        ({"unit": 4000}, "'unit' must lie in 0 to 159"),
        ({"text": "a" * 401}, "Shorten"),
    ],
)
def test_what_is_not_there_is_told(client: TestClient, changes: dict[str, Any], told: str) -> None:
    response = client.post("/api/units", json={"model": "gru", "text": TEXT} | changes)
    assert response.status_code == 422
    assert told in response.json()["error"]
