"""The three small models of characters that come with the package (``data/characters``): a Mamba, a GRU and an LSTM.

They were made by ``python -m rote.studies.memorization.characters``, with the same text, width, layers and training;
each file holds the record of that. Their text is the one that comes with the package, which is in the public domain.
Weights are stored in 16 bits and used in 32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from rote.cells import Recurrent
from rote.config import one_of
from rote.models.blocks import BlocksConfig
from rote.models.fitting import fitted
from rote.models.sequence import SequenceModel
from rote.store import load_tree
from rote.store.tree import tree_facts
from rote.tasks.alphabet import CHARACTERS

KIND, VERSION = "rote model of characters", 1
FOLDER = Path(__file__).parents[1] / "data" / "characters"
BUNDLED = ("mamba", "gru", "lstm")
WIDTH, LAYERS = 64, 2


def character_model(name: str, seed: int = 0) -> SequenceModel:
    """Before training: two layers of 64 units, blocks of S6 for "mamba", that predict the next character."""
    one_of("name", name, BUNDLED)
    if name == "mamba":
        made = BlocksConfig(mixer="s6", width=WIDTH, layers=LAYERS).build(len(CHARACTERS), seed=seed)
        assert isinstance(made, SequenceModel)
        return made
    recurrent = Recurrent(name, WIDTH, WIDTH, layers=LAYERS)
    return SequenceModel(recurrent, nn.Embedding(len(CHARACTERS), WIDTH), nn.Linear(WIDTH, len(CHARACTERS)))


def load_characters(name: str = "mamba") -> SequenceModel:
    """The trained model of this name, "mamba", "gru" or "lstm", in evaluation mode.

    >>> from rote.models import load_characters
    >>> from rote.tasks.alphabet import CHARACTERS, encode
    >>> import torch
    >>> said = load_characters("mamba")(torch.from_numpy(encode("paradise los"))[None])[0, -1]
    >>> CHARACTERS[int(said.argmax())]
    't'
    """
    path = FOLDER / one_of("name", name, BUNDLED)
    tree = load_tree(path, KIND, VERSION)
    return fitted(lambda: character_model(name), tree.get("weights"), path, LAYERS * WIDTH**2).eval()


def characters_record(name: str = "mamba") -> dict[str, Any]:
    """How a bundled model was made: text, settings, seed, versions, time, and what it reached on the test text."""
    return tree_facts(FOLDER / one_of("name", name, BUNDLED), KIND, VERSION)
