"""Small models with vocabularies of their own, as a user would bring them."""

from __future__ import annotations

import torch

import rote
from rote.explorer.reading import Reader
from rote.models import SequenceModel

WORDS = ("<unk>", "the", "dogs", "bark", "cat", "sleeps", ".", "The")


def model_of(symbols: int, outputs: int | None = None, *, bidirectional: bool = False) -> SequenceModel:
    torch.manual_seed(7)
    lstm = torch.nn.LSTM(6, 9, num_layers=2, batch_first=True, bidirectional=bidirectional)
    readout = torch.nn.Linear(18 if bidirectional else 9, outputs or symbols)
    return rote.adapt(recurrent=lstm, embedding=torch.nn.Embedding(symbols, 6), readout=readout)


def word_reader() -> Reader:
    return Reader.of(model_of(len(WORDS)), WORDS)
