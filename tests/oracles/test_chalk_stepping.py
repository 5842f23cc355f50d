"""Stepping through a graph: the gradients shown are those that backward() gives, and nothing of the user's changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rote.chalk import Tensor, ops, show
from rote.chalk.stepping import MOST, _text, steps
from rote.explorer.chalk import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_last_gradients_are_those_of_backward_and_sums_are_of_all_ways(name: str) -> None:
    loss = EXAMPLES[name][1]()
    found = steps(loss)
    order = loss._topo_sort()
    assert all(tensor._grad is None for tensor in order)  # looking computes nothing into the tensors
    loss.backward()
    shown = {step["node"]: step["gradient"] for step in found["backward"]}
    for place, tensor in enumerate(order):
        assert found["nodes"][place]["value"] == _text(tensor.value)
        assert shown.get(place) == (None if tensor._grad is None else _text(tensor.grad))
        assert all(parent < place for parent in found["nodes"][place]["parents"])
    arrived = {given["to"]: given["sum"] for step in found["backward"] for given in step["given"]}
    assert all(shown[place] == total for place, total in arrived.items())


def test_a_page_is_written_whole_and_holds_the_steps(tmp_path: Path) -> None:
    page = show(ops.reduce_sum(Tensor(np.ones((2, 2)), name="</script>") * 2.0))
    page.save(tmp_path / "graph.html")
    text = (tmp_path / "graph.html").read_text()
    assert [file.name for file in tmp_path.iterdir()] == ["graph.html"]
    inside = text.partition('id="steps">')[2].partition("</script>")[0]
    assert json.loads(inside)["nodes"][0]["name"] == "</script>"
    assert "iframe" in page._repr_html_()


def test_what_cannot_be_shown_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="reduce_sum"):
        show(Tensor([1.0, 2.0]) * 2.0)
    long = Tensor(1.0)
    for _ in range(MOST):
        long = ops.tanh(long)
    with pytest.raises(ValueError, match=f"up to {MOST} tensors"):
        show(long)
