"""The settings of the recurrent playground with their bounds: what a client sends, a link holds and a session is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from rote.explorer.messages import Body

OWN = "00 = 0\n01 = 1\n10 = 1\n11 = 0"


class RecurrentSettings(Body):
    """What determines a session. The learning rate can change as the networks learn; the rest makes new ones."""

    model_config = ConfigDict(frozen=True)

    task: Literal["xor", "copy", "parity", "open_close", "agreement", "own"] = "parity"
    length: Annotated[int, Field(ge=1, le=12)] = 5  # triples, dots, bits, fillers or further nouns, as the task has it
    pairs: Annotated[str, Field(max_length=8000)] = OWN  # of the task "own"
    cell: Annotated[str, Field(min_length=1, max_length=40)] = "gru"  # any that is registered
    units: Annotated[int, Field(ge=1, le=64)] = 16
    batch: Annotated[int, Field(ge=1, le=64)] = 16
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.01  # of Adam
    seeds: Annotated[int, Field(ge=1, le=6)] = 3  # networks side by side
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0  # of the first network; the others have the next numbers

    def seed_numbers(self) -> range:
        return range(self.seed, self.seed + self.seeds)

    def same_networks(self, other: RecurrentSettings) -> bool:
        return self.model_copy(update={"learning_rate": other.learning_rate}) == other
