"""Text from a user's files: labelled lines, CoNLL-U, plain text. Compressed (gzip, xz) or not.

labelled    one example per line: a label, a blank or tab, the text          1 a stirring , funny film
CoNLL-U     a word per line, ten columns with tabs, an empty line behind each sentence (universaldependencies.org)
plain text  a sentence per line; empty lines are passed over

Words are what blanks separate: a file is tokenized before it comes here. A line that is wrong is named by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from rote.errors import DamagedFileError, UsageError
from rote.tasks.compressed import content

COLUMNS = 10
TagColumn = Literal["upos", "xpos"]
Units = Literal["words", "characters"]


@dataclass(frozen=True)
class Sentence:
    words: tuple[str, ...]
    labels: tuple[str, ...]  # one, or one for each word, or none
    line: int  # in its file, counted from 1


def read_bytes(path: Path | str) -> bytes:
    """The content of a file, decompressed where it is compressed."""
    try:
        return content(Path(path).expanduser())
    except DamagedFileError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}. Name a file that is there.") from None


def lines_of(data: bytes, path: Path | str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Line number and text of every line."""
    try:
        text = data.decode(encoding)
    except LookupError:
        raise UsageError(f"'encoding' must be utf-8, latin-1 or another that Python knows. Got {encoding!r}.") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}, line {line}: not {encoding} (byte {data[error.start]:#04x}). Name its encoding: "
            "task.encoding=latin-1, for example."
        ) from None
    if not text.strip():
        raise UsageError(f"{path} is empty. Expected at least one line of text.")
    # Not splitlines(), which also splits at characters inside a text, so that the numbers would be another program's.
    for number, written in enumerate(text.removeprefix("\ufeff").removesuffix("\n").split("\n"), start=1):
        yield number, written.removesuffix("\r")


def read_labelled(path: Path | str, data: bytes | None = None, encoding: str = "utf-8") -> list[Sentence]:
    """The examples of a file with a label and a text per line."""
    found = []
    for number, line in lines_of(read_bytes(path) if data is None else data, path, encoding):
        label, *text = line.split(maxsplit=1)[:2] or [""]
        if not label:
            raise UsageError(f"{path}, line {number}: empty. Expected a label and a text; remove the line.")
        if not text:
            raise UsageError(f"{path}, line {number}: the label {label!r} has no text. Expected 'label words ...'.")
        found.append(Sentence(tuple(text[0].split()), (label,), number))
    return found


def read_conllu(
    path: Path | str, data: bytes | None = None, column: TagColumn = "upos", encoding: str = "utf-8"
) -> list[Sentence]:
    """The sentences of a CoNLL-U file with a tag for each word. Ranges (1-2) and empty nodes (1.1) are passed over."""
    lines = lines_of(read_bytes(path) if data is None else data, path, encoding)
    blocks = [list(block) for empty, block in groupby(lines, lambda line: not line[1].strip()) if not empty]
    if not blocks:
        raise UsageError(f"{path} has no sentences. Expected CoNLL-U.")
    return [_conllu_sentence(path, block, column) for block in blocks]


def _conllu_sentence(path: Path | str, lines: Sequence[tuple[int, str]], column: TagColumn) -> Sentence:
    words: list[str] = []
    tags: list[str] = []
    for number, line in lines:
        if line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != COLUMNS:
            raise UsageError(
                f"{path}, line {number}: {len(cells)} columns. CoNLL-U has {COLUMNS}, with tabs between them."
            )
        if "-" in cells[0] or "." in cells[0]:
            continue
        if cells[0] != str(len(words) + 1):
            raise UsageError(
                f"{path}, line {number}: the word's number is {cells[0]!r}, expected {len(words) + 1}. Is an empty "
                "line missing between two sentences?"
            )
        tag = cells[3 if column == "upos" else 4]
        if not cells[1].strip() or tag in ("", "_"):
            raise UsageError(f"{path}, line {number}: a word without a form or without a tag ({column}). Got {line!r}.")
        words.append(cells[1])
        tags.append(tag)
    begun = lines[0][0]
    if not words:
        raise UsageError(f"{path}, line {begun}: a sentence without words. Remove it or add its words.")
    return Sentence(tuple(words), tuple(tags), begun)


def read_plain(
    path: Path | str, data: bytes | None = None, units: Units = "words", encoding: str = "utf-8"
) -> list[Sentence]:
    """The lines of a file that are not empty, as words or as characters."""
    return [
        Sentence(tuple(line.split() if units == "words" else line.strip()), (), number)
        for number, line in lines_of(read_bytes(path) if data is None else data, path, encoding)
        if line.strip()
    ]
