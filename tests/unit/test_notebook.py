"""What a notebook shows of a result: a picture in the page, without scripts or a network."""

from __future__ import annotations

import base64
import html
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import rote
from rote.errors import UsageError
from rote.figures import Figure, export
from rote.figures.tokens import visible

MODEL = rote.adapt(
    recurrent=torch.nn.LSTM(4, 6, batch_first=True), embedding=torch.nn.Embedding(9, 4), readout=torch.nn.Linear(6, 9)
)
TOKENS = torch.tensor([[1, 2, 3, 4]])
VOCABULARY = ["<pad>", "a", "dog", " ", "barked", *"vwxy"]


def texts(figure: Figure) -> list[str]:
    """What is written in the picture."""
    root = ElementTree.fromstring(export(figure, "svg"))
    return [element.text or "" for element in root.iter() if element.tag.endswith("text")]


def test_connectivity_and_parts_show_their_figures() -> None:
    for result in (rote.connectivity(MODEL, TOKENS), rote.decompose(MODEL, TOKENS, [(1, 2)])):
        shown = result._repr_html_()
        assert shown is not None
        data = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">(<p>.*</p>)?', shown)
        assert data is not None
        assert data[1].rstrip(".") in result.figure().description
        assert ("error=" in str(data[3]) and "growth=" in str(data[3])) == isinstance(result, rote.analyses.Parts)
        root = ElementTree.fromstring(base64.b64decode(data[2]))
        assert root.tag.endswith("svg")
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", base64.b64decode(data[2]).decode())


def test_what_is_too_large_is_told_in_words() -> None:
    assert rote.decompose_all(MODEL, torch.ones(1, 12, dtype=torch.long))._repr_html_() is None
    assert rote.connectivity(MODEL, torch.ones(5, 201, dtype=torch.long))._repr_html_() is None


def test_a_figure_shows_itself_as_a_picture_that_every_front_end_knows_and_as_nothing_else() -> None:
    figure = rote.connectivity(MODEL, TOKENS).figure()
    data, about = figure._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {"text/html", "image/png", "text/plain"}  # one that nbformat does not know ends the run
    assert all(isinstance(value, str) for value in data.values())
    shown = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', data["text/html"])
    assert shown is not None
    assert html.unescape(shown[1]) == data["text/plain"] == figure.description
    size = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).size
    drawn = ElementTree.fromstring(base64.b64decode(shown[2]))
    for side, pixels in zip(("width", "height"), size, strict=True):  # a PNG is as large on the page as the SVG
        assert abs(about["image/png"][side] - float(drawn.attrib[side])) < 1
        assert pixels >= 2 * about["image/png"][side] - 1


ALONG_TOKENS = [
    lambda: rote.trace(MODEL, TOKENS),
    lambda: rote.gradient_flow(MODEL, TOKENS, at=3, jacobians=False),
    lambda: rote.connectivity(MODEL, TOKENS, TOKENS.clone()),
    lambda: rote.decompose(MODEL, TOKENS, [(1, 2)]),
]


@pytest.mark.parametrize("ask", ALONG_TOKENS)
def test_figures_along_tokens_have_the_vocabulary_on_their_axes(ask: Callable[[], Any], tmp_path: Path) -> None:
    result = ask()
    result.save(tmp_path / "result")
    for drawn in (result, type(result).load(tmp_path / "result")):
        written = texts(drawn.figure(VOCABULARY))
        for name in ("a", "dog", "␣", "barked"):
            assert name in written, (name, written)
        assert "<pad>" not in written
    assert "dog" not in texts(result.figure())
    with pytest.raises(UsageError, match=r"'vocabulary' must name the tokens 0 to 4\. Got 4 names"):
        result.figure(VOCABULARY[:4])
    with pytest.raises(UsageError, match=r"'vocabulary' must be a list of names.*Got dict. Say sorted\(names, key=nam"):
        result.figure({name: number for number, name in enumerate(VOCABULARY)})


def test_vectors_have_no_vocabulary_and_a_mean_over_sequences_no_tokens() -> None:
    trace = rote.trace(rote.adapt(recurrent=torch.nn.GRU(3, 2, batch_first=True)), torch.randn(1, 4, 3))
    with pytest.raises(UsageError, match="'vocabulary' names tokens, but the inputs of this result are vectors"):
        trace.figure(VOCABULARY)
    same = rote.gradient_flow(MODEL, TOKENS.repeat(2, 1), at=3, jacobians=False)
    assert "dog" in texts(same.figure(VOCABULARY))
    with pytest.raises(UsageError, match=r"the mean over 2 sequences of different tokens\. For one of them"):
        rote.gradient_flow(MODEL, torch.cat([TOKENS, TOKENS + 1]), at=3, jacobians=False).figure(VOCABULARY)


def test_what_cannot_be_seen_of_a_token_is_shown_as_a_sign() -> None:
    shown = {" ": "␣", " the": "␣the", "new york": "new york", "a\n": "a↵", "\t": "⇥", "": "", "x": "x", "  a ": "␣␣a␣"}
    assert {name: visible(name) for name in shown} == shown
