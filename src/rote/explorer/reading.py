"""How a model reads a text: which symbols it sees at each step, what was changed for it, what the text expects of it.

The model's alphabet decides. A symbol that is not in it is replaced (by the unknown symbol, else by a space) or left
out; nothing is refused, and everything that was changed is said.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from rote.errors import UsageError
from rote.models import AutocompleteModel, SequenceModel
from rote.models.subwords import Subwords
from rote.tasks.alphabet import CHARACTERS
from rote.tasks.autocomplete import UNKNOWN

UNKNOWNS = ("<unknown>", "<unk>", "<UNK>", "[UNK]", "UNK")  # what vocabularies call a symbol that they do not know
LIMIT = 400  # symbols of a text that are read, in every view; static/lib/textview.js tells it
SHOWN = 6  # changed symbols that a note names
_PIECES = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Reading:
    """A text as a model sees it, step by step."""

    tokens: Tensor  # [1, time]
    symbols: tuple[str, ...]
    words: tuple[int, ...]  # the number of the word that a step belongs to; a space belongs to the word after it
    targets: tuple[int | None, ...]  # the output that the text itself has there; None: it does not say
    expects: str  # what the targets are
    changed: tuple[int, ...]  # steps that show another symbol than the text has
    notes: tuple[str, ...]  # what was changed, for people

    @property
    def time(self) -> int:
        return len(self.symbols)

    def facts(self) -> dict[str, object]:
        """What every answer about a text begins with."""
        return {
            "symbols": self.symbols, "words": self.words, "expects": self.expects, "changed": self.changed,
            "notes": self.notes,
        }  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """A model with the names of its inputs and outputs. ``outputs``: the inputs again, where it predicts the next."""

    model: SequenceModel
    inputs: Sequence[str]
    outputs: Sequence[str]
    sample: str = ""  # a text of the kind that it was trained on

    @classmethod
    def of(
        cls,
        model: SequenceModel,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> Reader:
        """For a model of our own the names are known; for another the vocabulary is given."""
        if isinstance(model, AutocompleteModel):
            return cls(model, CHARACTERS, model.vocabulary)
        if inputs is None or (isinstance(model, SequenceModel) and (model.embedding is None or model.readout is None)):
            raise UsageError("A text needs a model with an embedding and a readout, and the names of its symbols.")
        read = inputs if isinstance(inputs, Subwords) else tuple(inputs)
        return cls(model, read, tuple(inputs if outputs is None else outputs))

    @cached_property
    def by_characters(self) -> bool:
        """What one step reads: a character, or a word."""
        return not isinstance(self.inputs, Subwords) and all(
            len(name) == 1 for name in self.inputs if not _is_special(name)
        )

    def read(self, text: str, limit: int = LIMIT) -> Reading:
        """``limit``: the most symbols that are read; a space that is put before a typed text does not count."""
        if isinstance(self.inputs, Subwords):
            found = self._encoded(text, self.inputs)
        else:
            found = self._typed(text) if isinstance(self.model, AutocompleteModel) else self._looked_up(text)
        size = len(text) if isinstance(self.model, AutocompleteModel) else len(found.symbols)
        if size > limit:
            unit = "characters" if self.by_characters else "symbols"
            raise UsageError(f"The text has {size} {unit}; at most {limit} are read here. Shorten it.")
        return found

    def example(self, size: int = 12) -> str:
        """A text of symbols that the model knows; of no meaning, where the vocabulary is all that we have."""
        if self.sample:
            return self.sample
        plain = [name.strip() for name in self.inputs if not _is_special(name) and name.strip()]
        return ("" if self.by_characters else " ").join(plain[:size])

    def output(self, word: str) -> int:
        """The output of this name."""
        try:
            return self.outputs.index(word)
        except ValueError:
            near = difflib.get_close_matches(word, self.outputs, n=1, cutoff=0.75)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{word!r} is not among the {len(self.outputs)} outputs of the model.{hint}") from None

    def _typed(self, text: str) -> Reading:
        assert isinstance(self.model, AutocompleteModel)
        shown = self.model.shown(text)
        lowered = shown.translate({code: chr(code + 32) for code in range(65, 91)})
        outside = [step for step, symbol in enumerate(lowered) if symbol not in self.inputs]
        read = "".join(" " if symbol not in self.inputs else symbol for symbol in lowered)
        notes = _notes((shown[step] for step in outside), "read as a space", "character")
        if lowered != shown:
            notes = (*notes, "Capital letters are read as small letters.")
        targets = [None if target <= UNKNOWN else target for target in self.model.targets(read)[0].tolist()]
        return Reading(
            self.model.encode(read), tuple(read), _words(read), tuple(targets), "the word being typed",
            tuple(outside), notes,
        )  # fmt: skip

    def _encoded(self, text: str, names: Subwords) -> Reading:
        """As a tokenizer reads it."""
        tokens = names.encode(text)
        if not tokens:
            raise UsageError(f"The tokenizer finds no token in the text {text[:40]!r}.")
        starts = [names.begins[number] for number in tokens]
        words = [sum(starts[1 : step + 1]) for step in range(len(tokens))]
        targets = self._next(tokens)
        device = next(self.model.parameters()).device
        return Reading(
            torch.tensor([tokens], device=device), tuple(names[number] for number in tokens), tuple(words), targets,
            "the next symbol" if tuple(self.outputs) == tuple(names) else "the model's own choice", (), (),
        )  # fmt: skip

    def _next(self, tokens: list[int]) -> tuple[int | None, ...]:
        """The output that the text itself has after each step."""
        predicts_next = tuple(self.outputs) == tuple(self.inputs)
        return (*tokens[1:], None) if predicts_next else (None,) * len(tokens)

    def _looked_up(self, text: str) -> Reading:
        numbers = {name: number for number, name in enumerate(self.inputs)}
        unknown = next((name for name in UNKNOWNS if name in numbers), None)
        if unknown is None and self.by_characters and " " in numbers:
            unknown = " "
        found: list[tuple[str, str | None]] = []
        for unit in _characters(text, numbers) if self.by_characters else _units(text, numbers):
            known = next((name for name in (unit, unit.lower()) if name in numbers), unknown)
            found.append((unit, known))
        symbols = [name for _, name in found if name is not None]
        if not symbols:
            raise UsageError(f"The text {text[:40]!r} has no symbol that the model reads. Try: {self.example()}")
        kept = [(unit, name) for unit, name in found if name is not None]
        changed = tuple(step for step, (unit, name) in enumerate(kept) if name not in (unit, unit.lower()))
        kind = "character" if self.by_characters else "word"
        how = "left out" if unknown is None else "read as a space" if unknown == " " else f"read as {unknown}"
        notes = _notes((unit for unit, name in found if name not in (unit, unit.lower())), how, kind)
        tokens = [numbers[name] for name in symbols]
        predicts_next = tuple(self.outputs) == tuple(self.inputs)
        return Reading(
            torch.tensor([tokens], device=next(self.model.parameters()).device), tuple(symbols),
            _words(symbols) if self.by_characters else tuple(range(len(symbols))), self._next(tokens),
            "the next symbol" if predicts_next else "the model's own choice", changed, notes,
        )  # fmt: skip


def _characters(text: str, known: dict[str, int]) -> list[str]:
    """All of them; spaces only stand between symbols where the vocabulary has none."""
    return [character for character in text if " " in known or not character.isspace()]


def _units(text: str, known: dict[str, int]) -> list[str]:
    """Between spaces, as the vocabulary has it; what it does not have is taken apart into words and marks."""
    made: list[str] = []
    for piece in text.split():
        whole = piece in known or piece.lower() in known
        made += [piece] if whole else _PIECES.findall(piece)
    return made


def _words(symbols: Sequence[str]) -> tuple[int, ...]:
    """Each space begins a word."""
    word, found = -1 if symbols and symbols[0] == " " else 0, []
    for symbol in symbols:
        word += symbol == " "
        found.append(word)
    return tuple(found)


def _notes(outside: Iterable[str], how: str, kind: str) -> tuple[str, ...]:
    """One sentence about what the model does not know."""
    found = list(outside)
    if not found:
        return ()
    named = list(dict.fromkeys(found))
    quoted = ", ".join(f"“{symbol}”" for symbol in named[:SHOWN]) + (", …" if len(named) > SHOWN else "")
    count = f"1 {kind} is" if len(found) == 1 else f"{len(found)} {kind}s are"
    known = "alphabet" if kind == "character" else "vocabulary"
    return (f"{count} not in the model's {known} and {how}: {quoted}.",)


def _is_special(name: str) -> bool:
    return len(name) > 2 and name[0] + name[-1] in ("<>", "[]")
