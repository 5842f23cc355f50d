"""One value for each seed, taken from a study's tables: what assertions are about.

    wrong = column("seeds", "corner_wrong", setting="redundant")
    excess = wrong - column("seeds", "seen_wrong", setting="redundant")
    excess(tables)     # {0: 0.31, 1: 0.28, ...}

Each knows how it is written, which is part of what is registered. What columns cannot express is a function of the
tables, ``measured(function, "lstm")``, whose text is part of it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import math
import textwrap
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from rote.store import Table

Tables = Mapping[str, Table]
Values = dict[int, float]
SEED = "seed"


class NotMeasuredError(Exception):
    """A run with other settings may lack what a claim is about: another cell has other gates."""


@dataclass(frozen=True)
class PerSeed:
    """``of`` gives the values; ``written`` says the same in writing, when that is asked for."""

    of: Callable[[Tables], Values]
    written: Callable[[], str]

    @property
    def text(self) -> str:
        """What identifies it."""
        return self.written()

    def __call__(self, tables: Tables) -> Values:
        return self.of(tables)

    def __sub__(self, other: PerSeed | float) -> PerSeed:
        return self._with(other, lambda a, b: a - b, "-")

    def __add__(self, other: PerSeed | float) -> PerSeed:
        return self._with(other, lambda a, b: a + b, "+")

    def log_ratio(self, other: PerSeed) -> PerSeed:
        """The natural logarithm of this over the other; what cannot be compared (nothing over nothing) is NaN."""
        return self._with(other, _log_ratio, "log/")

    def log(self) -> PerSeed:
        return PerSeed(
            lambda tables: {seed: _log_ratio(a, 1.0) for seed, a in self(tables).items()}, lambda: f"log({self.text})"
        )

    def log_odds(self) -> PerSeed:
        """Of a probability."""
        return PerSeed(
            lambda tables: {seed: _log_ratio(a, 1.0 - a) for seed, a in self(tables).items()},
            lambda: f"log_odds({self.text})",
        )

    def _with(self, other: PerSeed | float, what: Callable[[float, float], float], sign: str) -> PerSeed:
        if not isinstance(other, PerSeed):
            number = float(other)
            return PerSeed(
                lambda tables: {seed: what(a, number) for seed, a in self(tables).items()},
                lambda: f"({self.text} {sign} {number:g})",
            )

        def paired(tables: Tables) -> Values:
            first, second = self(tables), other(tables)
            if first.keys() != second.keys():
                raise NotMeasuredError(f"other seeds in {self.text} than in {other.text}")
            return {seed: what(value, second[seed]) for seed, value in first.items()}

        return PerSeed(paired, lambda: f"({self.text} {sign} {other.text})")


def _log_ratio(a: float, b: float) -> float:
    if a < 0 or b < 0 or math.isnan(a) or math.isnan(b) or a == b == 0:
        return math.nan
    return math.inf if b == 0 else -math.inf if a == 0 else math.log(a / b)


def column(table: str, value: str, /, **where: Any) -> PerSeed:
    """A column of the rows with these labels, of which each seed must have exactly one."""

    def of(tables: Tables) -> Values:
        if table not in tables:
            raise NotMeasuredError(f"no table {table!r}")
        missing = [name for name in (SEED, value, *where) if name not in tables[table].names]
        if missing:
            raise NotMeasuredError(f"no column {missing[0]!r} in the table {table!r}")
        found: Values = {}
        for row in tables[table].where(**where).records():
            if row[SEED] in found:
                raise ValueError(
                    f"The table {table!r} has several rows of seed {row[SEED]} with {_told(where)}: name more."
                )
            # A table has no NaN: where others have a value, this one is that of a network that diverged.
            found[row[SEED]] = math.nan if row[value] is None else float(row[value])
        if all(map(math.isnan, found.values())):
            raise NotMeasuredError(f"no {value!r} with {_told(where)} in the table {table!r}")
        return found

    return PerSeed(of, lambda: f"{table}.{value}[{_told(where)}]")


def measured(function: Callable[..., Mapping[int, float]], *arguments: Any, **named: Any) -> PerSeed:
    """What a function makes of the tables and of these arguments."""
    given = [*(repr(value) for value in arguments), *(f"{name}={value!r}" for name, value in sorted(named.items()))]
    return PerSeed(
        lambda tables: {int(seed): float(value) for seed, value in function(tables, *arguments, **named).items()},
        lambda: f"{function.__name__}({', '.join(given)}): {_source(function)}",
    )


@functools.cache
def _source(function: Callable[..., Any]) -> str:
    """The text of a function and of what it refers to beside it, without comments and docstrings, so that these can be
    improved."""
    text, known = "", {function}
    waiting = [function]
    while waiting:
        one = waiting.pop(0)
        text += _text(one)
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            if isinstance(value, FunctionType) and value.__module__.startswith("rote.studies") and value not in known:
                known.add(value)
                waiting.append(value)
            elif isinstance(value, float | int | str | tuple):
                text += f" {name}={value!r}"
    return text


def _names(code: CodeType) -> list[str]:
    """The names that a function looks up, those of the functions inside it too."""
    inner = [name for value in code.co_consts if isinstance(value, CodeType) for name in _names(value)]
    return sorted({*code.co_names, *inner})


def _text(function: Callable[..., Any]) -> str:
    source = textwrap.dedent(inspect.getsource(function))
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0] - 1] = lines[token.start[0] - 1][: token.start[1]]
    (tree,) = ast.parse(source).body
    if isinstance(tree, ast.FunctionDef) and ast.get_docstring(tree) is not None and len(tree.body) > 1:
        about = tree.body[0]
        lines[about.lineno - 1 : about.end_lineno] = []
    return " ".join(" ".join(lines).split())


def _told(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in where.items())
