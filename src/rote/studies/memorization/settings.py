"""What determines the models of the study autocomplete, and how they are looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rote.config import at_least
from rote.errors import UsageError
from rote.models import AutocompleteConfig, SoftmaxConfig
from rote.studies.memorization import published
from rote.tasks.autocomplete import AutocompleteTask
from rote.training import TrainingConfig

AUTO = "auto"  # as the text of the task: text8 where it is on this machine, else the one that comes with the package


@dataclass(frozen=True)
class InitialConfig:
    """Networks that are looked at before any training, at the source's size unless said otherwise."""

    units: int = published.UNITS
    layers: int = 2  # of GRU and LSTM; the Nested LSTM has one
    words: int = published.WORDS
    seeds: int = 5
    characters: int = 100  # of the paragraph, from its beginning

    def __post_init__(self) -> None:
        at_least(self, 1, "units", "layers", "words", "seeds")
        if not 60 <= self.characters <= len(published.PARAGRAPH):
            raise UsageError(
                f"'characters' of InitialConfig must lie in 60 to {len(published.PARAGRAPH)}, the paragraph's length. "
                f"Got {self.characters}."
            )


@dataclass(frozen=True)
class MemorizationConfig:
    task: AutocompleteTask = field(default_factory=AutocompleteTask)
    model: AutocompleteConfig = field(default_factory=AutocompleteConfig)  # its cell: see ``cells``
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=published.STEPS, batch=published.BATCH, optimizer="adam", learning_rate=0.001, record_every=10
        )
    )
    softmax: SoftmaxConfig = field(default_factory=SoftmaxConfig)
    cells: tuple[str, ...] = tuple(published.CELLS)
    nested_layers: int = 1  # of the Nested LSTM, where the others have model.layers
    tested: int | None = None  # observations of the test text; None: all
    looked_at: int = 16  # of these, how many connectivity is computed for, beside the source's paragraph
    initial: InitialConfig = field(default_factory=InitialConfig)
    seeds: int = 1

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "nested_layers", "tested", "looked_at")
        if self.model.cell != "gru":
            raise UsageError(f"'model.cell' is not used by this study. Set cells={self.model.cell} instead.")
        unknown = [cell for cell in self.cells if cell not in published.CELLS]
        if unknown or not self.cells or len(set(self.cells)) < len(self.cells):
            raise UsageError(f"'cells' must name some of {', '.join(published.CELLS)}, each once. Got {self.cells}.")

    def model_of(self, cell: str) -> AutocompleteConfig:
        return replace(self.model, cell=cell, layers=self.nested_layers if cell == "nested_lstm" else self.model.layers)

    def initial_model_of(self, cell: str) -> AutocompleteConfig:
        return AutocompleteConfig(cell, self.initial.units, 1 if cell == "nested_lstm" else self.initial.layers)


SMOKE: Mapping[str, object] = {
    "task.text": "bundled", "task.characters": 40_000, "task.words": 400, "task.length": 100, "model.units": 16,
    "model.layers": 1, "training.steps": 12, "training.batch": 16, "training.record_every": 4, "tested": 8,
    "looked_at": 2, "initial.units": 24, "initial.layers": 1, "initial.words": 100, "initial.seeds": 2,
    "initial.characters": 60, "seeds": 2,
}  # fmt: skip
QUICK: Mapping[str, object] = {
    "task.text": AUTO, "task.words": 2000, "task.length": 100, "model.units": 64, "model.layers": 1,
    "softmax.kind": "sampled", "softmax.samples": 256, "training.steps": 500, "training.batch": 32,
    "training.learning_rate": 0.01, "training.schedule": "exponential", "training.decay": 0.2,
    "training.decay_every": 500, "training.clip": 1.0, "training.record_every": 25, "tested": 320, "looked_at": 12,
    "initial.characters": 80, "seeds": 5,
}  # fmt: skip
PAPER: Mapping[str, object] = {}
