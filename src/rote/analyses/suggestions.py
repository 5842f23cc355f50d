"""Suggestions of an autocomplete model for a text that is being typed: words, probabilities, the rank of a target.

The state after the last character is kept with the result. ``suggest(model, longer_text, after=earlier)`` reads only
what was typed since, so that one more character costs one step however long the text is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rote.analyses.inputs import as_model
from rote.analyses.result import Result, analyses, needs
from rote.cells import State
from rote.errors import UsageError
from rote.models.autocomplete import AutocompleteModel
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float

    from rote.tasks.alphabet import Outside

LIMIT = 200  # characters of the texts that the source's models learned from


@dataclass(frozen=True, repr=False)
class Suggestions(Result):
    """The most probable words after a text, the first one first."""

    text: str  # with the space before its first word
    words: tuple[str, ...]
    probabilities: Float[Tensor, " choice"]
    target: str | None  # a word that was asked about
    rank: int | None  # its rank among all outputs; 1 is the most probable
    target_probability: float | None
    states: tuple[State, ...]  # after the last character, for each layer

    def to_table(self) -> Table:
        columns = (
            Column("rank", "1 is the most probable", "label"),
            Column("word", "suggested, or asked about", "label"),
            Column("probability", "that this is the word being typed"),
        )
        found = zip(self.words, self.probabilities.tolist(), strict=True)
        rows: list[dict[str, Any]] = [
            {"rank": place, "word": word, "probability": value} for place, (word, value) in enumerate(found, 1)
        ]
        if self.rank is not None and self.rank > len(rows):
            rows.append({"rank": self.rank, "word": self.target, "probability": self.target_probability})
        title = f"Suggestions after {self.text[-40:]!r}"
        return Table.make("suggestions", title, columns, rows, figure="suggestions")


@analyses.register("suggest")
@needs("arithmetic")
def suggest(
    model: AutocompleteModel,
    text: str,
    top: int = 3,
    *,
    target: str | None = None,
    after: Suggestions | None = None,
    limit: int = LIMIT,
    outside: Outside = "warn",
) -> Suggestions:
    """The words that an autocomplete model expects after a text, and the rank of a word that was meant.

    - model: such as ``rote.load_autocomplete()`` gives one.
    - after: an earlier result of the same model; if the text goes on from its text, only the rest is read.
    - outside: characters other than letters and spaces are read as spaces ("warn") or refused ("refuse").

    >>> import rote
    >>> from rote.models import AutocompleteConfig, AutocompleteModel
    >>> words = ["<eos>", "<unknown>", "stand", "states", "united"]
    >>> model = AutocompleteModel(AutocompleteConfig(units=8), words)  # untrained
    >>> typed = rote.suggest(model, "the united st", target="states")
    >>> longer = rote.suggest(model, "the united sta", after=typed)  # reads one more character
    >>> len(longer.words), typed.rank <= len(words)
    (3, True)
    """
    if not isinstance(model, AutocompleteModel):
        raise UsageError(
            "rote.suggest needs an AutocompleteModel, which reads characters and says words, as "
            f"rote.load_autocomplete('gru') gives one. Got {type(model).__name__}."
        )
    as_model(model, "suggest")
    if not 1 <= top <= len(model.vocabulary):
        raise UsageError(f"'top' must lie in 1 to {len(model.vocabulary)}, the outputs of the model. Got {top}.")
    wanted = None if target is None else model.word(target)
    tokens, shown = model.encode(text, outside, limit), model.shown(text)
    start: list[State] | None = None
    if after is not None and shown.startswith(after.text) and len(shown) > len(after.text):
        start, tokens = list(after.states), tokens[:, len(after.text) :]
    with torch.no_grad():
        hidden, states = model.recurrent(model.embed(tokens), initial=start)
        found = model.readout(hidden[0, -1]).softmax(-1)
    values, chosen = found.topk(top)
    rank = None if wanted is None else 1 + int((found > found[wanted]).sum())
    return Suggestions(
        shown, tuple(model.vocabulary[index] for index in chosen.tolist()), values, target, rank,
        None if wanted is None else float(found[wanted]), tuple(states),
    )  # fmt: skip
