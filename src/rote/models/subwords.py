"""Names of the tokens of a tokenizer, with the way from a text to them. Imports neither torch nor a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from rote.errors import UsageError

SPACES = ("Ġ", "▁")  # how tokenizers write the space before a word
PART = "##"  # how they write that a word goes on


class Subwords(tuple[str, ...]):
    """The names of tokens in their order, as a vocabulary. ``encode`` gives the numbers of a text; ``begins`` says of
    each token whether it begins a word."""

    encode: Callable[[str], list[int]]
    begins: tuple[bool, ...]

    def __new__(cls, names: Sequence[str], encode: Callable[[str], list[int]]) -> Self:
        parts = any(name.startswith(PART) for name in names)
        made = super().__new__(cls, map(_shown, names))
        made.encode = encode
        made.begins = tuple(not name.startswith(PART) if parts else name.startswith((*SPACES, " ")) for name in names)
        return made

    def sized(self, count: int) -> Subwords:
        """With names for rows of an embedding that no token has."""
        if count < len(self):
            raise UsageError(f"The tokenizer has {len(self)} tokens, but the embedding of the model only {count} rows.")
        made = Subwords([*self, *(f"<unused {number}>" for number in range(len(self), count))], self.encode)
        made.begins = (*self.begins, *(False,) * (count - len(self)))
        return made


def is_tokenizer(given: Any) -> bool:
    return callable(getattr(given, "encode", None)) and callable(getattr(given, "get_vocab", None))


def subwords_of(tokenizer: Any) -> Subwords:
    """Of transformers or tokenizers, or of any object with ``get_vocab()`` (numbers by token) and ``encode(text)``."""
    numbers: dict[str, int] = tokenizer.get_vocab()
    if not numbers:
        raise UsageError("The tokenizer has no tokens.")
    names = [f"<unused {number}>" for number in range(max(numbers.values()) + 1)]
    for name, number in numbers.items():
        names[number] = name

    def encode(text: str) -> list[int]:
        found = tokenizer.encode(text, add_special_tokens=False)
        return [int(number) for number in getattr(found, "ids", found)]

    return Subwords(names, encode)


def _shown(name: str) -> str:
    for space in SPACES:
        name = name.replace(space, " ")
    return name.removeprefix(PART).replace("Ċ", "\n") or name
