"""Studies that train networks of several cells and set them against n-grams of the same corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rote.models import LanguageModelConfig
from rote.store import Request
from rote.studies.study import Study
from rote.training import TrainingConfig

C = TypeVar("C")
COUNTS = "n-grams"


class AgainstCounts(Study[C]):
    """``config`` has model, training, cells, orders and seeds."""

    def requests(self, config: Any) -> list[Request]:
        """A run for each cell, with all seeds, and one for the counts; each with what it depends on."""
        seeds: Sequence[int] = range(config.seeds)
        parts = [
            replace(config, model=replace(config.model, cell=cell), cells=(cell,), orders=(1,)) for cell in config.cells
        ]
        counts = replace(config, model=LanguageModelConfig(), training=TrainingConfig(), cells=("elman",))
        networks = [self.request(part.model.cell, part, seeds) for part in parts]
        return [*networks, self.request(COUNTS, counts, seeds)]
