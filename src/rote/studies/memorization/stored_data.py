"""The source's own stored results: connectivity of its paragraph, suggestions, accuracy and loss curves.

They were published with the article (github.com/distillpub/post--memorization-in-rnns, public/data; copyright 2018
nearForm, MIT license: see stored.LICENSE). ``stored.npz`` holds them without loss in an eighth of the size, made by

    python -m rote.studies.memorization.stored_data FOLDER       # with the six original files, gzipped or not

Connectivity as stored is the *squared* norm of the gradient with respect to the one-hot input; the article's formula
has the norm.

How many positions stand behind its accuracy curves is worked out from their eight decimals. A stored value is hits /
positions, and the values for top 1, 2 and 3 have the same positions. Only few denominators fit all three. Positions can
only become fewer with more known characters, and the three models were tested on one test set, so of several
denominators those are taken that differ least between the models. With no known character there is one position per
word, and the nine values have one denominator in common: the words of the test set. That the denominators then *differ*
between models is the defect: padding at the end of a batch was counted as known characters of the last word
(summary/context_accuracy.py of the source adds one for everything but a space), and how much of it there is depends on
how observations happened to be put into batches.
"""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.errors import DamagedFileError, UsageError
from rote.store.files import reading, write_atomically
from rote.studies.memorization.published import CELLS, PARAGRAPH
from rote.tasks.compressed import content

HERE = Path(__file__).with_name("stored.npz")
MODELS = tuple(CELLS.values())
MATRICES = {"GRU": "connectivity_gru.json", "LSTM": "connectivity_lstm.json", "Nested LSTM": "connectivity_nlstm.json"}
SETS = ("train", "valid")
ROUNDING = 5e-9  # of eight decimals
MOST = 2_000_000  # words that a test set may have


@dataclass(frozen=True)
class Stored:
    """Arrays with the models in the order GRU, LSTM, Nested LSTM."""

    connectivity: NDArray[np.float32]  # [model, output, input], squared norm
    words: NDArray[np.str_]  # [model, output, 3], the suggestions
    chances: NDArray[np.float64]  # [model, output, 3], their probabilities, three decimals
    accuracy: NDArray[np.float64]  # [model, top 1..3, known characters 0..21], eight decimals
    steps: NDArray[np.int32]  # [record]
    seconds: NDArray[np.float64]  # [model, record]
    losses: NDArray[np.float64]  # [model, set, record], three decimals
    smooth: NDArray[np.float64]  # [model, set, record], as plotted
    lengths: NDArray[np.int32]  # [letters], words of the vocabulary by length

    def of(self, model: str) -> NDArray[np.float64]:
        """The model's matrix [output, input]."""
        matrix: NDArray[np.float64] = self.connectivity[MODELS.index(model)].astype(np.float64)
        return matrix


@functools.cache
def load() -> Stored:
    """What the package carries."""
    with reading(HERE), np.load(HERE, allow_pickle=False) as file:
        packed = {name: file[name] for name in file.files}
    size = len(PARAGRAPH)
    connectivity = np.zeros((len(MODELS), size, size), np.float32)
    connectivity[:, *np.tril_indices(size)] = packed["triangles"]
    return Stored(
        connectivity=connectivity,
        words=packed["vocabulary"][packed["suggested"]],
        chances=packed["thousandths"] / 1000,
        accuracy=packed["accuracy"],
        steps=packed["steps"],
        seconds=packed["tenths"] / 10,
        losses=packed["losses"] / 1000,
        smooth=packed["smooth"] / 1000,
        lengths=packed["lengths"],
    )


@dataclass(frozen=True)
class Counts:
    """[model, known characters], and [model, top, known characters] for the hits."""

    positions: NDArray[np.int64]
    hits: NDArray[np.int64]


def derive(accuracy: NDArray[np.float64]) -> Counts:
    """From accuracy [model, top, known], up to the last number of known characters at which anything was right."""
    known = int((accuracy[:, 0] > 0).all(0).sum())
    words = int(denominators(accuracy[:, :, 0].ravel(), MOST)[0])
    positions = np.full((len(accuracy), known), words)
    for k in range(1, known):
        fitting = [denominators(accuracy[m, :, k], int(positions[m, k - 1])) for m in range(len(accuracy))]
        positions[:, k] = min(itertools.product(*fitting), key=lambda some: max(some) - min(some))
    hits = np.rint(accuracy[:, :, :known] * positions[:, None]).astype(np.int64)
    return Counts(positions, hits)


def denominators(values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Every whole number up to ``most`` of which all the rounded values are whole parts, the smallest first."""
    fitting = np.arange(1, most + 1)
    for value in values:
        part = value * fitting
        fitting = fitting[np.abs(part - np.rint(part)) <= ROUNDING * fitting + 1e-9]
    return fitting


def write(stored: Stored, path: Path) -> None:
    """Lower triangles, whole numbers for decimals, each word once. The same data always give the same bytes."""
    vocabulary, suggested = np.unique(stored.words, return_inverse=True)
    packed = {
        "triangles": stored.connectivity[:, *np.tril_indices(len(PARAGRAPH))],
        "vocabulary": vocabulary,
        "suggested": suggested.reshape(stored.words.shape).astype(np.int16),
        "thousandths": _whole(stored.chances, 1000, np.int16),
        "accuracy": stored.accuracy,
        "steps": stored.steps,
        "tenths": _whole(stored.seconds, 10, np.int32),
        "losses": _whole(stored.losses, 1000, np.int16),
        "smooth": _whole(stored.smooth, 1000, np.int16),
        "lengths": stored.lengths,
    }
    data = io.BytesIO()
    np.savez_compressed(data, allow_pickle=False, **packed)
    write_atomically(path, data.getvalue())


def read(folder: Path) -> Stored:
    """From the original files."""
    matrices = [json.loads(_text(folder / MATRICES[model])) for model in MODELS]
    for model, rows in zip(MODELS, matrices, strict=True):
        if "".join(row["char"] for row in rows) != PARAGRAPH:
            raise DamagedFileError(f"{folder / MATRICES[model]} is not about the article's paragraph. Get it again.")
    curves = json.loads(_text(folder / "word-length-results.json"))
    vocabulary = json.loads(_text(folder / "autocomplete.json"))["word_map"][2:]  # after <eos> and <unknown>
    training = list(csv.DictReader(io.StringIO(_text(folder / "autocomplete-training.csv"))))
    return Stored(
        connectivity=np.array([[row["connectivity"] for row in rows] for rows in matrices], np.float32),
        words=np.array([[row["predict"] for row in rows] for rows in matrices]),
        chances=np.array([[row["probability"] for row in rows] for rows in matrices]).round(3),
        accuracy=np.array([curves[model] for model in MODELS]),
        steps=np.array(_column(training, "GRU", "train", "step"), np.int32),
        seconds=np.array([_column(training, model, "train", "sec") for model in MODELS]),
        losses=np.array([[_column(training, model, part, "loss") for part in SETS] for model in MODELS]),
        smooth=np.array([[_column(training, model, part, "loss smooth") for part in SETS] for model in MODELS]),
        lengths=np.bincount([len(word) for word in vocabulary]).astype(np.int32),
    )


def _column(rows: list[dict[str, str]], model: str, part: str, name: str) -> list[float]:
    return [float(row[name]) for row in rows if row["model"] == model and row["dataset"] == part]


def _text(path: Path) -> str:
    zipped = path.with_name(path.name + ".gz")
    with reading(path):
        return content(zipped if zipped.exists() else path).decode()


def _whole(values: NDArray[np.float64], parts: int, kind: Any) -> NDArray[Any]:
    numbers = np.rint(values * parts)
    if not np.allclose(numbers / parts, values, rtol=0, atol=1e-9) or numbers.max() > np.iinfo(kind).max:
        raise UsageError(f"A stored number is not a multiple of 1/{parts}, so that it would not be kept exactly.")
    return numbers.astype(kind)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"Expected the folder with the original files. Got {len(sys.argv) - 1} arguments.")
    write(read(Path(sys.argv[1])), HERE)
    print(f"{HERE}: {HERE.stat().st_size} bytes, {len(fields(Stored))} arrays")
