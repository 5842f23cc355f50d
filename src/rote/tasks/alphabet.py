"""The characters of text8, and the rules by which it was made of Wikipedia (Mahoney 2006): lower case, digits spelled
out, everything that is not a letter from a to z a space, no two spaces in a row.

Numbers of characters are the source's (003): 0 stands for the end of a text and for padding, 1 for the space.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.errors import UsageError

Outside = Literal["warn", "refuse"]  # what to do about characters outside the alphabet
END, SPACE = 0, 1
CHARACTERS = ("<eos>", " ", *"abcdefghijklmnopqrstuvwxyz")
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LETTER = bytes(range(ord("a"), ord("z") + 1))
_TO_TEXT8 = bytes(
    byte + 32 if 65 <= byte <= 90 else byte if byte in _LETTER or 48 <= byte <= 57 else 32 for byte in range(256)
)
_TO_NUMBERS = bytes(byte - 95 if byte in _LETTER else SPACE for byte in range(256))


def clean(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A text, piece by piece, by the rules of text8: single spaces, none at the beginning or the end."""
    after_space, held = True, b""
    for piece in pieces:
        spelled = piece.translate(_TO_TEXT8)
        for digit, name in enumerate(DIGITS):
            spelled = spelled.replace(b"%d" % digit, b" %s " % name.encode())
        values = np.frombuffer(spelled, np.uint8)
        if not len(values):
            continue
        space = values == 32
        second = space & np.concatenate([[after_space], space[:-1]])
        after_space = bool(space[-1])
        made = held + values[~second].tobytes()
        held = b" " if made.endswith(b" ") else b""
        yield made.removesuffix(b" ")


def numbers(text: bytes) -> NDArray[np.uint8]:
    """The number of each character of a clean text; every other character counts as a space."""
    return np.frombuffer(text.translate(_TO_NUMBERS), np.uint8)


def encode(text: str, outside: Outside = "warn", limit: int | None = None) -> NDArray[np.int64]:
    """What a model reads for a text that is being typed, one number for each character: lower case, and a space before
    it, as every observation has. A character outside the alphabet is read as a space, with a warning, or refused."""
    if not text:
        raise UsageError("The text is empty. Type at least one character.")
    lowered = text if text.startswith(" ") else " " + text
    lowered = lowered.translate({code: chr(code + 32) for code in range(65, 91)})
    if limit is not None and len(lowered) > limit:
        raise UsageError(f"The text has {len(lowered)} characters with its leading space; at most {limit} are read.")
    found = next((character for character in lowered if character not in CHARACTERS), None)
    if found is not None:
        say = f"The character {found!r} at position {lowered.index(found)} is not a letter from a to z or a space"
        if outside == "refuse":
            raise UsageError(f"{say}. Leave it out, or have it read as a space with outside='warn'.")
        warnings.warn(f"{say}: it is read as a space.", stacklevel=2)
    return numbers(lowered.encode("ascii", "replace")).astype(np.int64)


def decode(codes: Iterable[int]) -> str:
    """The text of these numbers, without padding."""
    return "".join(CHARACTERS[code] for code in codes if code != END)
