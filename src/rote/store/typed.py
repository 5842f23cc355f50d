"""JSON as the typed values that it stands for: one strict validator, made from the annotations of dataclasses.

    from_json(Record, plain, path)      a Record, or a DamagedFileError: which field, what it takes, what it has

Everything that is read from a store goes through it, so that what comes after may rely on the types. Nothing is
converted but lists to tuples and whole numbers to floats, and no field is left out or too many.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import re
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from rote.errors import DamagedFileError, UsageError
from rote.printable import is_one_line
from rote.store.files import remedy
from rote.store.names import is_file_name

SHOWN = 60  # letters of a wrong value
DEEPEST = 64  # lists and objects inside each other
LARGEST = int(sys.float_info.max)
SCALARS = frozenset({str, bool, float, type(None)})
MAY_BE_ABSENT = {"may be absent": True}  # metadata of a field that is then read as its default


@dataclass(frozen=True)
class Only:
    """``Annotated[str, Only("a name", is_name)]``: which values of a type are allowed."""

    expected: str
    holds: Callable[[Any], bool]


def is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


FileName = Annotated[str, Only("the name of a file, without a path", is_file_name)]
Label = Annotated[str, Only("one line of text", is_one_line)]
Digest = Annotated[str, Only("64 hexadecimal digits", lambda text: re.fullmatch("[0-9a-f]{64}", text) is not None)]
RunId = Annotated[str, Only("16 hexadecimal digits", lambda text: re.fullmatch("[0-9a-f]{16}", text) is not None)]
Moment = Annotated[str, Only("a time such as 2026-01-31T12:00:00+00:00", is_moment)]
Count = Annotated[int, Only("a whole number from 0 on", lambda number: number >= 0)]
Amount = Annotated[float, Only("a number from 0 on", lambda number: 0 <= number < math.inf)]


def from_json(kind: Any, plain: object, path: Path, name: str = "") -> Any:
    """``plain`` as the annotated type ``kind``. ``path`` is the file that it is from, ``name`` its place in it."""
    try:
        return _inside(name, _reader(kind), plain)
    except _WrongError as wrong:
        raise DamagedFileError(f"{path} has a wrong value: {wrong} {remedy(path)}") from None


def check(kind: Any, plain: object, what: str) -> None:
    """Refuse to write what could not be read again."""
    try:
        _reader(kind)(json.loads(json.dumps(plain)))
    except _WrongError as wrong:
        raise UsageError(f"{what} cannot be kept: {wrong}") from None


class _WrongError(Exception):
    def __init__(self, expected: str, found: str) -> None:
        self.expected, self.found, self.place = expected, found, ""

    def inside(self, place: str) -> _WrongError:
        self.place = place + self.place
        return self

    def __str__(self) -> str:
        return f"{self.place.lstrip('.') or 'its content'} must be {self.expected}. Got {self.found}."


Reader = Callable[[Any], Any]


@functools.cache
def _reader(kind: Any) -> Reader:
    """The function that reads values of a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return _any
    if origin is Annotated:
        return _restricted(_reader(inner[0]), inner[1])
    if origin in (Union, types.UnionType):
        return _optional(kind, *(_reader(choice) for choice in inner if choice is not type(None)))
    if kind == tuple[tuple[Any, ...], ...]:
        return _rows
    if origin is tuple:
        return _list(_reader(inner[0])) if inner[-1] is ... else _fixed_list([_reader(each) for each in inner])
    if origin is dict:
        return _entries(_reader(inner[0]), _reader(inner[1]))
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    if is_typeddict(kind):
        return _known_entries(kind)
    return _scalar(kind)


def _restricted(read: Reader, only: Only) -> Reader:
    def restricted(plain: Any) -> Any:
        with contextlib.suppress(_WrongError):
            if only.holds(value := read(plain)):
                return value
        raise _WrongError(only.expected, _found(plain))

    return restricted


def _optional(kind: Any, read: Reader) -> Reader:
    def optional(plain: Any) -> Any:
        try:
            return None if plain is None else read(plain)
        except _WrongError as wrong:
            if wrong.place:
                raise
            raise _WrongError(_described(kind), wrong.found) from None

    return optional


def _list(read: Reader) -> Reader:
    def items(plain: Any) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise _WrongError("a list", _found(plain))
        made: list[Any] = []
        try:
            for item in plain:
                made.append(read(item))
        except _WrongError as wrong:
            raise wrong.inside(f"[{len(made)}]") from None
        return tuple(made)

    return items


def _rows(plain: Any) -> tuple[tuple[Any, ...], ...]:
    """The rows of a table, which are most of what is read: all at once where they hold nothing but simple values."""
    if type(plain) is list and {list}.issuperset(map(type, plain)):
        kinds = set(map(type, chain.from_iterable(plain)))
        whole = [item for item in chain.from_iterable(plain) if type(item) is int]
        if kinds <= SCALARS | {int} and max(map(abs, whole), default=0) <= LARGEST:
            return tuple(map(tuple, plain))
    rows: tuple[tuple[Any, ...], ...] = _list(_list(_any))(plain)  # which tells what is wrong, and where
    return rows


def _fixed_list(readers: list[Reader]) -> Reader:
    def items(plain: Any) -> tuple[Any, ...]:
        if type(plain) is not list or len(plain) != len(readers):
            raise _WrongError(f"a list of {len(readers)}", _found(plain))
        return tuple(_inside(f"[{index}]", readers[index], item) for index, item in enumerate(plain))

    return items


def _entries(read_key: Reader, read: Reader) -> Reader:
    def entries(plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise _WrongError("an object", _found(plain))
        return {
            _inside(" (a key)", read_key, key): _inside(f"[{key[:SHOWN]!r}]", read, item) for key, item in plain.items()
        }

    return entries


def _known_entries(kind: Any) -> Reader:
    """Of a TypedDict: what it does not name may be anything."""
    readers = {name: _reader(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}

    def entries(plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise _WrongError("an object", _found(plain))
        return {key: _inside(f"[{key[:SHOWN]!r}]", readers.get(key, _any), item) for key, item in plain.items()}

    return entries


def _object(kind: Any) -> Reader:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    readers = {name: _reader(hints[name]) for name in names}
    absent = {field.name for field in dataclasses.fields(kind) if field.metadata == MAY_BE_ABSENT}
    as_list = getattr(kind, "AS_LIST", False)

    def made(plain: Any) -> Any:
        if as_list and type(plain) is list and len(plain) == len(names):
            plain = dict(zip(names, plain, strict=True))
        if type(plain) is not dict:
            raise _WrongError("a list of its values" if as_list else "an object", _found(plain))
        if plain.keys() - absent != readers.keys() - absent:
            raise _other_fields(plain, hints, [name for name in names if name not in absent])
        values = {name: _inside(f".{name}", readers[name], item) for name, item in plain.items()}
        try:
            return kind(**values)
        except ValueError as error:  # fields that do not fit each other
            raise _WrongError("consistent", str(error)) from None

    return made


def _other_fields(plain: dict[str, Any], hints: dict[str, Any], names: list[str]) -> _WrongError:
    for key in plain:
        if key not in names:
            return _WrongError("left out: there is no such field", _found(plain[key])).inside(f".{key[:SHOWN]}")
    missing = next(name for name in names if name not in plain)
    return _WrongError(_described(hints[missing]), "nothing").inside(f".{missing}")


def _scalar(kind: Any) -> Reader:
    choices = get_args(kind) if get_origin(kind) is Literal else ()

    def scalar(plain: Any) -> Any:
        if kind is float and type(plain) in (int, float) and abs(plain) <= LARGEST:
            return float(plain)
        if type(plain) is kind and (kind is not int or abs(plain) <= LARGEST):
            return plain
        if choices and isinstance(plain, str) and plain in choices:
            return plain
        raise _WrongError(_described(kind), _found(plain))

    return scalar


def _any(plain: Any, depth: int = 0) -> Any:
    """Whatever JSON can say, as long as one can compute with it."""
    kind = type(plain)
    if kind is list or kind is dict:
        if depth == DEEPEST:
            raise _WrongError(f"at most {DEEPEST} lists and objects inside each other", "more")
        for item in plain.values() if kind is dict else plain:
            if type(item) not in SCALARS:
                _any(item, depth + 1)
    elif kind is int and abs(plain) > LARGEST:
        raise _WrongError(_described(int), _found(plain))
    return plain


def _inside(place: str, read: Reader, plain: Any) -> Any:
    try:
        return read(plain)
    except _WrongError as wrong:
        raise wrong.inside(place) from None


def _described(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return str(inner[1].expected)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_described, inner))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, inner))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}
    return words.get(kind) or ("a list" if origin is tuple else "an object")


def _found(plain: object) -> str:
    if isinstance(plain, list | dict):
        return f"{'a list' if isinstance(plain, list) else 'an object'} of {len(plain)}"
    if type(plain) is int and abs(plain) > LARGEST:
        return "one of more than 308 digits"
    text = "null" if plain is None else str(plain).lower() if isinstance(plain, bool) else repr(plain)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
