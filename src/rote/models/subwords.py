"""Names of the tokens of a tokenizer, with the way from a text to them. Imports neither torch nor a tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from rote.errors import UsageError

SPACES = ("Ġ", "▁")  # how tokenizers write the space before a word
PART = "##"  # how they write that a word goes on
MOST = 0.95  # of the names of a tokenizer of bytes are bytes; others were added to it


class Subwords(tuple[str, ...]):
    """The names of tokens in their order, as a vocabulary. ``encode`` gives the numbers of a text; ``begins`` says of
    each token whether it begins a word."""

    encode: Callable[[str], list[int]]
    begins: tuple[bool, ...]

    def __new__(cls, names: Sequence[str], encode: Callable[[str], list[int]]) -> Self:
        bytewise = _are_bytes(names)
        made = super().__new__(cls, (_of_bytes(name) if bytewise else _shown(name) for name in names))
        made.encode = encode
        made.begins = _begins(names)
        return made

    def sized(self, count: int) -> Subwords:
        """With names for rows of an embedding that no token has."""
        if count < len(self):
            raise UsageError(f"The tokenizer has {len(self)} tokens, but the embedding of the model only {count} rows.")
        unused = [f"<unused {number}>" for number in range(len(self), count)]
        made = tuple.__new__(type(self), (*self, *unused))
        made.encode, made.begins = self.encode, (*self.begins, *(False,) * len(unused))
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


def _begins(names: Sequence[str]) -> tuple[bool, ...]:
    """Which tokens begin a word: those that do not go on with one, those behind a space, or, where tokens are neither
    marked nor single characters, all of them."""
    if any(name.startswith(PART) for name in names):
        return tuple(not name.startswith(PART) for name in names)
    marked = tuple(name.startswith((*SPACES, " ")) for name in names)
    words = not any(marked) and any(len(name) > 1 and not _is_special(name) for name in names)
    return (True,) * len(names) if words else marked


def _is_special(name: str) -> bool:
    return len(name) > 2 and (name[0], name[-1]) in (("<", ">"), ("[", "]"))


def _byte_letters() -> dict[str, int]:
    """The letter by which tokenizers of bytes, as GPT-2's, write each of them: printable ones as they are."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTES = _byte_letters()


def _are_bytes(names: Sequence[str]) -> bool:
    """Whether these are bytes: spaces are written as one of their letters, and almost all names are of such letters."""
    plain = [name for name in names if not _is_special(name)]
    if not any(name.startswith(SPACES[0]) for name in plain) or any(" " in name for name in plain):
        return False
    return sum(all(letter in BYTES for letter in name) for name in plain) >= MOST * len(plain)


def _of_bytes(name: str) -> str:
    """As text; a part of a character as its bytes, \\xe6."""
    if _is_special(name) or any(letter not in BYTES for letter in name):
        return name
    return bytes(BYTES[letter] for letter in name).decode("utf-8", "backslashreplace")


def _shown(name: str) -> str:
    return name.replace(SPACES[1], " ").removeprefix(PART) or name
