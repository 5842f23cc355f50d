"""Elman's networks on their streams, trained as one program, and what they and plain counts say of other streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.models import KneserNey, StackedSRN
from rote.store import Column, Run, Table
from rote.studies.foundations.elman_settings import PIECE, Procedure
from rote.tasks.elman import ElmanTask, Stream
from rote.training import OnlineProgram, train

if TYPE_CHECKING:
    from rote.studies.study import Progress

TRAINED, UNTRAINED = "trained", "untrained"
NETWORK = Column("network", "the trained network, the same before training, or counts of so many symbols", "label")
SEED = Column("seed", "random seed of stream and weights", "label")
CURVE = (
    SEED,
    Column("pass", "passes over the stream", "label"),
    Column("loss", "squared error of a prediction, summed over its bits"),
)


def counts_name(order: int) -> str:
    return f"counts of {order}"


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


class ElmanProgram(OnlineProgram):
    stacked = True
    model: StackedSRN

    def __init__(
        self, task: ElmanTask, procedure: Procedure, seeds: Sequence[int], tested: Callable[[int], Stream]
    ) -> None:
        self.procedure, self.replicas, self.length = procedure, len(seeds), task.length
        self.training, self.tested = [task.training(seed) for seed in seeds], [tested(seed) for seed in seeds]
        self.seeds, self.config = seeds, procedure.config(task.length)
        self.model = self.untrained()

    def untrained(self) -> StackedSRN:
        bits = self.training[0].codes.shape[1]
        settings = self.procedure
        return StackedSRN(bits, settings.hidden, bits, self.seeds, settings.limit, self.config.torch_dtype())

    def update(self, step: int) -> None:
        first = step * PIECE
        count = min(PIECE, self.procedure.symbols(self.length) - first)
        codes = piece(self.training, first, count + 1)
        self.model.learn(codes[:, :-1], codes[:, 1:], self.procedure.learning_rate)

    def measure(self) -> dict[str, Any]:
        return {"loss": [float(found.error.mean()) for found in self.predictions(self.model, self.tested)]}

    @staticmethod
    def predictions(model: StackedSRN, streams: Sequence[Stream]) -> list[Prediction]:
        """Of each network on its stream, from the context at rest; nothing is learned."""
        lengths = [len(stream.symbols) for stream in streams]
        hidden, outputs = model.run(piece(streams, 0, max(lengths)))
        return [
            Prediction(stream, outputs[index, : size - 1], hidden[index, : size - 1])
            for index, (stream, size) in enumerate(zip(streams, lengths, strict=True))
        ]

    def counted(self, order: int, streams: Sequence[Stream]) -> list[Prediction]:
        """The mean code of what followed the last symbols in the training stream."""
        found = []
        for trained, stream in zip(self.training, streams, strict=True):
            model = KneserNey(order, len(stream.names), [trained.symbols])
            found.append(Prediction(stream, model.following(stream.symbols)[1:] @ stream.codes))
        return found


def piece(streams: Sequence[Stream], first: int, count: int) -> NDArray[np.float64]:
    """The codes of so many symbols, [stream, time, bit]; after its end a stream begins again."""
    found = []
    for stream in streams:
        symbols = stream.symbols[np.arange(first, first + count) % len(stream.symbols)]
        found.append(stream.codes[symbols])
    return np.stack(found)


def train_networks(program: ElmanProgram, run: Run, progress: Progress) -> Table:
    """Train to the end; the loss on the tested streams over the passes."""
    train(program, program.config, run, progress=progress)
    total, per_pass = program.procedure.symbols(program.length), program.length
    rows = [
        {"seed": seed, "pass": min(record["step"] * PIECE, total) / per_pass, "loss": loss}
        for record in run.metrics.rows()
        for seed, loss in zip(program.seeds, record["loss"], strict=True)
    ]
    return Table.make("curve", "Error over training", CURVE, rows, details=True)


@dataclass(frozen=True)
class Reading:
    """One table of a simulation: the rows that ``measure`` makes of each prediction of the tested streams, or of
    another stream, ``on``."""

    name: str
    title: str
    columns: tuple[Column, ...]
    measure: Callable[[Prediction], list[dict[str, Any]]]
    on: Callable[[int], Stream] | None = None


def simulate(
    task: ElmanTask, procedure: Procedure, run: Run, progress: Progress, orders: Sequence[int], *readings: Reading
) -> list[Table]:
    """Train a population of networks; what they, the same before training, and counts of symbols predict."""
    seeds = run.request.seeds
    program = ElmanProgram(task, procedure, seeds, task.test)
    tables = [train_networks(program, run, progress)]
    for reading in readings:
        streams = program.tested if reading.on is None else [reading.on(seed) for seed in seeds]
        found = everyone(program, streams, orders)
        rows = [
            {"network": name, "seed": seed, **row}
            for name, predictions in found.items()
            for seed, prediction in zip(seeds, predictions, strict=True)
            for row in reading.measure(prediction)
        ]
        tables.append(Table.make(reading.name, reading.title, (NETWORK, SEED, *reading.columns), rows, details=True))
    return tables


def everyone(program: ElmanProgram, streams: Sequence[Stream], orders: Sequence[int]) -> dict[str, list[Prediction]]:
    return {
        TRAINED: program.predictions(program.model, streams),
        UNTRAINED: program.predictions(program.untrained(), streams),
        **{counts_name(order): program.counted(order, streams) for order in orders},
    }
