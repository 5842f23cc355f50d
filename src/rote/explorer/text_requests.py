"""What the views on texts ask: a model of the catalog, at one of its checkpoints, and a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rote.explorer.messages import Body, Key
from rote.explorer.workbench import Workbench

if TYPE_CHECKING:
    from rote.explorer.reading import Reader

Word = Annotated[str, Field(max_length=80)]
Step = Annotated[int, Field(ge=0, le=4000)]


class TextBody(Body):
    model: Key
    checkpoint: Annotated[int, Field(ge=0, le=10**12)] | None = None
    text: Annotated[str, Field(max_length=20_000)]  # how much of it is read, the reader says

    def reader(self, bench: Workbench) -> Reader:
        """The model, opened; to be called in the pool, because it may have to be read."""
        from rote.explorer.reading import Reader  # imports torch

        opened = bench.catalog.open(self.model, self.checkpoint)
        return Reader(opened.model, opened.inputs, opened.outputs, opened.example)
