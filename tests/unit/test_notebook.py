"""What a notebook shows of a result: a picture in the page, without scripts or a network."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree

import torch

import rote

MODEL = rote.adapt(
    recurrent=torch.nn.LSTM(4, 6, batch_first=True), embedding=torch.nn.Embedding(9, 4), readout=torch.nn.Linear(6, 9)
)
TOKENS = torch.tensor([[1, 2, 3, 4]])


def test_connectivity_and_parts_show_their_figures() -> None:
    for result in (rote.connectivity(MODEL, TOKENS), rote.decompose(MODEL, TOKENS, [(1, 2)])):
        shown = result._repr_html_()
        assert shown is not None
        data = re.fullmatch(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)">', shown)
        assert data is not None
        assert data[1].rstrip(".") in result.figure().description
        root = ElementTree.fromstring(base64.b64decode(data[2]))
        assert root.tag.endswith("svg")
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", base64.b64decode(data[2]).decode())


def test_what_is_too_large_is_told_in_words() -> None:
    assert rote.decompose_all(MODEL, torch.ones(1, 12, dtype=torch.long))._repr_html_() is None
    assert rote.connectivity(MODEL, torch.ones(5, 201, dtype=torch.long))._repr_html_() is None
