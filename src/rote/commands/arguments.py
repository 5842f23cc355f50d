"""From the words of a command line to a command: typed by its dataclass, wrong words told in one line."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import itertools
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import tyro
from tyro.conf import DisallowNone, FlagCreatePairsOff, subcommand

from rote.errors import UnknownNameError, UsageError

DEEP = " " * 9  # the help of a missing argument is indented by two levels
NARROWEST = 40  # columns that anything is set in; a narrower terminal breaks the lines itself
ABOUT = "Does a sequence model compose, or has it learned by rote? (rote --version tells the version.)"


def parse(words: Sequence[str], commands: Mapping[str, type[Any]]) -> Any:
    """The command that ``words`` ask for. Help is printed and ends the program (SystemExit 0), as does none at all."""
    words = list(words) or ["--help"]
    if not words[0].startswith("-") and words[0] not in commands:
        raise UnknownNameError("command", words[0], commands)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), wide_enough():
            return tyro.cli(
                _one_of(commands, words[0]), prog="rote", args=options_first(words, commands), description=ABOUT,
                config=(FlagCreatePairsOff, DisallowNone),
            )  # fmt: skip
    except SystemExit as end:
        if not end.code:
            raise
    asked = f"{words[0]} " if words[0] in commands else ""
    raise UsageError(f"{in_one_line(said.getvalue())} See: rote {asked}--help")


@contextlib.contextmanager
def wide_enough() -> Iterator[None]:
    """Of a few columns tyro makes one letter per line, and of even fewer it never finds an end."""
    given = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(max(NARROWEST, shutil.get_terminal_size().columns))
    try:
        yield
    finally:
        if given is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = given


def options_first(words: Sequence[str], commands: Mapping[str, type[Any]]) -> list[str]:
    """Options last, since tyro takes only one unbroken row of other words: ``run plane --json seeds=2``."""
    if not words or words[0] not in commands:
        return list(words)
    command = commands[words[0]]
    options, others = split(words[1:], command)
    for name, times in Counter(_named(options, command)).items():
        if times > 1 and name != "--import":
            raise UsageError(f"The option {name} is given {times} times. Give it once.")
    return [words[0], *others, *options]


def _named(options: Sequence[str], command: type[Any]) -> list[str]:
    """The names among options and their values; tyro takes underscores too, and the value behind an equals sign."""
    taking, rest = values_of(command), iter(options)
    found = []
    for word in rest:
        found.append(word.partition("=")[0].replace("_", "-"))
        if word in taking:
            next(rest, None)
    return found


def split(words: Sequence[str], command: type[Any]) -> tuple[list[str], list[str]]:
    """The options of ``command`` with their values, and the other words."""
    taking, options, others = values_of(command), list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        (options if word.startswith("-") else others).append(word)
        if word in taking:
            options += [value for value in [next(rest, None)] if value is not None]
    return options, others


def options_of(command: type[Any]) -> list[str]:
    return [_spelled(field) for field in dataclasses.fields(command) if "Positional" not in str(field.type)]


def values_of(command: type[Any]) -> set[str]:
    """The options that are followed by a value."""
    flags = {_spelled(field) for field in dataclasses.fields(command) if field.default is False}
    return set(options_of(command)) - flags


def _spelled(field: dataclasses.Field[Any]) -> str:
    return "--import" if field.name == "imports" else f"--{field.name.replace('_', '-')}"  # import is Python's word


def in_one_line(box: str) -> str:
    """tyro's framed explanation, up to its first rule or empty line."""
    lines = [line.strip("│").rstrip() for line in box.splitlines()[1:]]
    groups = [list(group) for rule, group in itertools.groupby(lines, lambda line: not line.strip("─╰╯- ")) if not rule]
    text = " ".join(line.strip() for line in groups[0] if not line.startswith(DEEP))
    number = re.fullmatch(r"Error parsing (\S+): no type matching INT .*\['(.*)'\]\.?", text)
    if number:
        return f"The option {number[1]} takes a whole number. Got {number[2]!r}."
    return text if text.endswith(".") else f"{text}."


def _one_of(commands: Mapping[str, type[Any]], chosen: str) -> Any:
    """The union of the command classes. The chosen one brings its whole docstring, the others their first line."""
    union: Any = None
    for name, kind in commands.items():
        text = inspect.cleandoc(kind.__doc__ or "")
        about = text if name == chosen else text.split("\n", 1)[0]
        member = Annotated[kind, subcommand(name, description=about)]  # type: ignore[valid-type]
        union = member if union is None else union | member
    return union
