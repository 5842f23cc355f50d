"""Elman's networks on their streams, trained as one program; what they and plain counts predict of other streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey, StackedSRN
from rote.models.fitting import fitted
from rote.models.online_cells import StackedOnline
from rote.store import Table
from rote.studies.foundations.elman import PIECE, SHORT, ElmanRecipe, SimulationMeasurement
from rote.studies.foundations.elman_tables import CURVE, NETWORK, SEED, TRAINED, UNTRAINED, counts_name
from rote.tasks.elman import ElmanTask, Stream
from rote.training import OnlineProgram

if TYPE_CHECKING:
    from rote.recipes import Trained

Predict = Callable[[Sequence[Stream]], "list[Prediction]"]  # of each seed's stream


@dataclass(frozen=True)
class Prediction:
    """What a network or counts expect after each symbol of a stream but the last."""

    stream: Stream
    outputs: NDArray[Any]  # [time - 1, bit]
    hidden: NDArray[Any] | None = None  # [time - 1, unit]

    @property
    def targets(self) -> NDArray[np.float64]:
        return self.stream.codes[self.stream.symbols[1:]]

    @property
    def squared(self) -> NDArray[Any]:
        """[time - 1, bit]"""
        return np.asarray((self.targets - self.outputs) ** 2)

    @property
    def error(self) -> NDArray[Any]:
        """Summed over bits: [time - 1]."""
        return np.asarray(self.squared.sum(1))

    @property
    def place(self) -> NDArray[np.int64]:
        """Of the symbol that is predicted."""
        return self.stream.place[1:]

    def error_by_step(self) -> list[dict[str, Any]]:
        """One row for each prediction."""
        return [{"step": step, "error": float(value)} for step, value in enumerate(self.error)]


class ElmanProgram(OnlineProgram):
    """One network per seed, each on its own stream; a step is a piece of it, and an update each of its symbols."""

    stacked = True
    model: StackedSRN | StackedOnline

    def __init__(self, recipe: ElmanRecipe, seeds: Sequence[int]) -> None:
        self.streams = [recipe.task.training(seed) for seed in seeds]
        self.symbols, self.rate = recipe.training.symbols(recipe.task.length), recipe.training.learning_rate
        self.model, self.replicas = networks(recipe, seeds), len(seeds)

    def update(self, step: int) -> None:
        first = step * PIECE
        codes = piece(self.streams, first, min(PIECE, self.symbols - first) + 1)
        self.model.learn(codes[:, :-1], codes[:, 1:], self.rate)

    def measure(self) -> dict[str, Any]:
        """The loss on the first piece."""
        codes = piece(self.streams, 0, PIECE + 1)
        _, outputs = self.model.run(codes[:, :-1])
        return {"loss": np.square(codes[:, 1:] - outputs).sum(2).mean(1).tolist()}


def networks(recipe: ElmanRecipe, seeds: Sequence[int]) -> StackedSRN | StackedOnline:
    """Before training: his own, or another cell under his procedure."""
    settings, bits = recipe.training, ElmanTask(recipe.task.simulation, SHORT).training(0).codes.shape[1]
    sizes = (bits, settings.hidden, bits, seeds, settings.limit, settings.config(1).torch_dtype())
    return StackedSRN(*sizes) if recipe.cell == "elman" else StackedOnline(recipe.cell, *sizes)


def reopened(trained: Trained, weights: Mapping[str, Any]) -> StackedSRN | StackedOnline:
    """The networks of a finished training with these weights."""
    recipe, seeds = trained.recipe, trained.seeds
    size = len(seeds) * recipe.training.hidden * (recipe.training.hidden if recipe.cell == "elman" else 1)
    return fitted(lambda: networks(recipe, seeds), weights, trained.run.folder, size)


def piece(streams: Sequence[Stream], first: int, count: int) -> NDArray[np.float64]:
    """The codes of so many symbols, [stream, time, bit]; after its end a stream begins again."""
    return np.stack(
        [stream.codes[stream.symbols[np.arange(first, first + count) % len(stream.symbols)]] for stream in streams]
    )


def predictions(model: StackedSRN | StackedOnline, streams: Sequence[Stream]) -> list[Prediction]:
    """Of each network on its stream, from the context at rest; nothing is learned."""
    lengths = [len(stream.symbols) for stream in streams]
    hidden, outputs = model.run(piece(streams, 0, max(lengths)))
    return [
        Prediction(stream, outputs[index, : size - 1], hidden[index, : size - 1])
        for index, (stream, size) in enumerate(zip(streams, lengths, strict=True))
    ]


def counted(order: int, learned: Sequence[Stream], streams: Sequence[Stream]) -> list[Prediction]:
    """The mean code of what followed the last symbols in the streams that were learned from."""
    models = [KneserNey(order, len(stream.names), [stream.symbols]) for stream in learned]
    return [
        Prediction(stream, model.following(stream.symbols)[1:] @ stream.codes)
        for model, stream in zip(models, streams, strict=True)
    ]


def predictors(trained: Trained, orders: Sequence[int]) -> dict[str, Predict]:
    """The trained networks, the same before training, and counts of so many symbols."""
    learned = [trained.recipe.task.training(seed) for seed in trained.seeds]
    return {
        TRAINED: partial(predictions, reopened(trained, trained.weights())),
        UNTRAINED: partial(predictions, reopened(trained, trained.weights(0))),
        **{counts_name(order): partial(counted, order, learned) for order in orders},
    }


def losses_over_training(trained: Trained, streams: Sequence[Stream]) -> Table:
    """The error on these streams with the weights of every step that was kept."""
    rows = [
        {"seed": seed, "pass": trained.recipe.passes_at(step), "loss": float(prediction.error.mean())}
        for step in trained.steps
        for seed, prediction in zip(
            trained.seeds, predictions(reopened(trained, trained.weights(step)), streams), strict=True
        )
    ]
    return Table.make("curve", "Error over training", CURVE, rows, details=True)


def measured(asked: SimulationMeasurement, trained: Trained) -> list[Table]:
    """The tables of a simulation, and the loss over training, on a new stream of every seed."""
    task: ElmanTask = trained.recipe.task
    new = [task.test(seed) for seed in trained.seeds]
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in asked.columns}
    for network, predict in predictors(trained, asked.orders).items():
        of_new = predict(new)
        of_text = predict([task.spelled(asked.text, seed) for seed in trained.seeds]) if asked.text else of_new
        for seed, *pair in zip(trained.seeds, of_new, of_text, strict=True):
            for name, some in asked.rows(*pair).items():
                rows[name] += [{"network": network, "seed": seed, **row} for row in some]
    return [
        losses_over_training(trained, new),
        *(
            Table.make(name, "Every network", (NETWORK, SEED, *columns), rows[name], details=True)
            for name, columns in asked.columns.items()
        ),
    ]
