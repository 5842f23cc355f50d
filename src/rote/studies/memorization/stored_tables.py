"""The tables of stored-connectivity, what the source's stored matrices and curves say, worked out anew; and what its
claims take from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.claims import Tables, Values, proportion
from rote.laboratory.aggregate import Row
from rote.store import Column, Table
from rote.studies.memorization import published
from rote.studies.memorization.previous_words import (
    CELL,
    KNOWN,
    NORM,
    NORMS,
    OUTPUT,
    REACH,
    SET,
    SHARE,
    STEP,
    TOP,
    Looked,
    Profile,
    Suggestions,
    Words,
    paragraph_table,
    share_table,
    situation_table,
    summary_table,
    word_table,
)
from rote.studies.memorization.stored_data import MODELS, SETS, Counts, Stored, derive

PLATEAU = 7.5  # nats: below it a model has left the plateau at which it only knows how frequent words are
LAST, MILESTONES = 1000, (1000, 4000, published.EPOCH)  # mini-batches
KEYS = ("gru", "lstm", "nested")  # of the models, in names of columns
ONE_NETWORK = "One network of each cell and one paragraph, as published: no interval says how another would come out."


def all_tables(stored: Stored) -> list[Table]:
    words, counts = Words.find(published.PARAGRAPH), derive(stored.accuracy)
    networks = [looked_at(stored, model, words) for model in MODELS]
    profiles = [
        ({**network.labels, "norm": norm}, Profile.of(network.values[norm], words))
        for network in networks for norm in NORMS
    ]  # fmt: skip
    by_known = [row for labels, profile in profiles for row in profile.rows(labels)]
    return [
        summary_table(by_known, f"{ONE_NETWORK} The single numbers that the source wished for."),
        situation_table(networks, words, ONE_NETWORK, (CELL,)),
        paragraph_table(networks, words, ONE_NETWORK, (CELL,)),
        share_table(by_known, ONE_NETWORK),
        word_table(networks, words, ONE_NETWORK, (CELL,)),
        _outputs(profiles, words),
        _accuracy(stored, counts),
        _compared(counts),
        _training(stored),
        _losses(stored),
        _smoothing(stored),
    ]


def looked_at(stored: Stored, model: str, words: Words) -> Looked:
    """A published network; of the ranks of its targets only those up to 3 were stored."""
    index, squared = MODELS.index(model), stored.of(model)
    suggested, chances = stored.words[index].tolist(), stored.chances[index].tolist()
    targets = [words.names[word] for word in words.of]
    ranks = [
        best.index(target) + 1 if target in best else None for best, target in zip(suggested, targets, strict=True)
    ]
    known = [None if rank is None else best[rank - 1] for rank, best in zip(ranks, chances, strict=True)]
    values = {"squared": squared, "l2": np.sqrt(squared)}
    return Looked({"cell": model, "seed": None}, values, Suggestions(suggested, chances, ranks, known))


def _outputs(profiles: list[tuple[Row, Profile]], words: Words) -> Table:
    later = np.flatnonzero(words.of > 0)
    rows = [
        {**labels, "output": output, "word": words.of[output].item(), "k": words.known[output].item(),
         SHARE: profile.share[index].item(), REACH: profile.reach[index].item()}
        for labels, profile in profiles for index, output in enumerate(later.tolist())
    ]  # fmt: skip
    columns = (
        CELL,
        NORM,
        OUTPUT,
        Column("word", "number of its word", "label"),
        Column("k", "known characters of it", "label"),
        Column(SHARE),
        Column(REACH),
    )
    return Table.make("outputs", "Share and reach of every output", columns, rows, details=True)


def _accuracy(stored: Stored, counts: Counts) -> Table:
    rows = []
    for (model, top, k), accuracy in np.ndenumerate(stored.accuracy):
        row: dict[str, Any] = {"cell": MODELS[model], "top": top + 1, "k": k, "accuracy": float(accuracy)}
        if k < counts.positions.shape[1]:
            hits, positions = int(counts.hits[model, top, k]), int(counts.positions[model, k])
            share = proportion(hits, positions)
            row |= {"hits": hits, "positions": positions, "low": share.low, "high": share.high}
        rows.append(row)
    columns = (
        CELL,
        TOP,
        KNOWN,
        Column("accuracy", "as stored", "published"),
        Column("hits", "worked out from the eight decimals"),
        Column("positions", "worked out from the eight decimals"),
        Column("low", "lower end of the 95 % interval of these counts"),
        Column("high", "upper end of it"),
    )
    return Table.make(
        "accuracy", "Accuracy by known characters", columns, rows, place="Accuracy graph", details=True,
        figure="memorization-accuracy",
        note="As published: padding counts as known characters, a word outside the vocabulary as an error. "
        f"The longest word of the vocabulary has {len(stored.lengths) - 1} letters, so that beyond it nothing "
        "can be right.",
    )  # fmt: skip


def _compared(counts: Counts) -> Table:
    rows = []
    for k in range(counts.positions.shape[1]):
        shares = {f"accuracy_{m}": counts.hits[i, 0, k] / counts.positions[i, k] for i, m in enumerate(KEYS)}
        positions = counts.positions[:, k]
        rows.append(
            {
                "k": k, **{name: float(value) for name, value in shares.items()},
                "difference": float(shares["accuracy_gru"] - shares["accuracy_lstm"]),
                **{f"positions_{m}": int(positions[i]) for i, m in enumerate(KEYS)},
                "padding": int(positions.max() - positions.min()),
            }
        )  # fmt: skip
    columns = (
        KNOWN,
        *(Column(f"accuracy_{key}", f"{model}, top 1", "published") for key, model in zip(KEYS, MODELS, strict=True)),
        Column("difference", "GRU minus LSTM"),
        *(Column(f"positions_{key}", f"counted for {model}") for key, model in zip(KEYS, MODELS, strict=True)),
        Column("padding", "largest difference of positions: padding that was counted, at least"),
    )
    return Table.make(
        "accuracy-compared", "GRU against LSTM by known characters", columns, rows, place="Accuracy graph",
        note="One test set, so the positions of a row should be equal. They are for the first two; from then on "
        "padding was counted, and differently often.",
    )  # fmt: skip


def _training(stored: Stored) -> Table:
    """Means of ten stored records, 100 mini-batches: single batches are noisy."""
    rows, together = [], 10
    for (model, part), losses in _curves(stored.losses):
        for first in range(0, len(losses), together):
            some = slice(first, first + together)
            rows.append(
                {
                    "cell": MODELS[model], "set": SETS[part], "step": int(stored.steps[some][-1]),
                    "hours": float(stored.seconds[model, some][-1]) / 3600, "mean": float(losses[some].mean()),
                }
            )  # fmt: skip
    columns = (
        CELL,
        SET,
        STEP,
        Column("hours", "of training, on the author's machine", "label"),
        Column("mean", "cross entropy in nats, mean over 100 mini-batches", "published"),
    )
    return Table.make(
        "training", "Cross entropy over training", columns, rows, place="Training graph", details=True,
        figure="memorization-training", note="From the stored losses, not the stored smoothed ones: see smoothing.",
    )  # fmt: skip


def _losses(stored: Stored) -> Table:
    rows = []
    for (model, part), losses in _curves(stored.losses):
        below = np.flatnonzero(losses < PLATEAU)
        near = {f"at_{step}": float(losses[np.abs(stored.steps - step) <= 100].mean()) for step in MILESTONES}
        last = losses[stored.steps > stored.steps[-1] - LAST]
        left = int(stored.steps[below[0]]) if len(below) else None
        rows.append({"cell": MODELS[model], "set": SETS[part], "left": left, **near, "last": float(last.mean())})
    columns = (
        CELL,
        SET,
        Column("left", f"first mini-batch with a loss below {PLATEAU}"),
        *(Column(f"at_{step}", f"mean loss around mini-batch {step}") for step in MILESTONES),
        Column("last", f"mean loss of the last {LAST} mini-batches"),
    )
    return Table.make(
        "plateau", "When each model leaves the first plateau, and where it ends", columns, rows, place="Training graph",
        note="Not mentioned by the source: the GRU stays for some two thousand mini-batches at the loss of a model "
        "that knows only how frequent words are, and then overtakes both others.",
    )  # fmt: skip


def _smoothing(stored: Stored) -> Table:
    rows = []
    for model, name in enumerate(MODELS):
        turns = stored.losses[model, ::-1].T.ravel()  # valid, train, valid, ... as the rows of the file
        together = smoothed(turns).reshape(-1, 2).T[::-1]
        for part, title in enumerate(SETS):
            plotted, alone = stored.smooth[model, part], smoothed(stored.losses[model, part])
            rows.append(
                {
                    "cell": name, "set": title, "together": float(np.abs(plotted - together[part]).max()),
                    "apart": float(np.abs(plotted - alone).max()),
                }
            )  # fmt: skip
    columns = (
        CELL,
        SET,
        Column("together", "largest distance of the plotted curve from training and validation smoothed in turns"),
        Column("apart", "largest distance from this curve smoothed by itself"),
    )
    return Table.make(
        "smoothing", "What the plotted loss curves are", columns, rows, place="Training graph",
        note="Each plotted curve is an exponential mean over the other as well: the two graphs are mixed.",
    )  # fmt: skip


def smoothed(values: NDArray[np.float64], weight: float = 0.25) -> NDArray[np.float64]:
    """Exponential mean with weights that sum to one from the start, as pandas has it."""
    total, mass, out = 0.0, 0.0, np.empty(len(values))
    for index, value in enumerate(values):
        total, mass = total * (1 - weight) + value, mass * (1 - weight) + 1
        out[index] = total / mass
    return out


def _curves(losses: NDArray[np.float64]) -> Iterator[tuple[tuple[int, int], NDArray[np.float64]]]:
    for model, part in np.ndindex(losses.shape[:2]):
        yield (model, part), losses[model, part]


def one(tables: Tables, table: str, name: str, /, **where: str) -> Values:
    """A number of the one network of a cell."""
    (value,) = tables[table].where(**where).column(name)
    return {0: value}


def largest(tables: Tables, table: str, name: str) -> Values:
    return {0: max(tables[table].column(name))}
