"""Lookup tables and their compositions: source 002, section 3, after Liska et al. (2018).

A table is a bijection on bit strings. ``010 t1 t6 .`` asks for the input and every result on the way, ``010 101 000``;
to say the i-th output one has to look at the i-th input, which is what attentive guidance teaches. The last tables are
seen only alone in training. The splits beside train, with the rows of the published samples:

validation, heldout_inputs    compositions of training, with inputs that training does not show (16 + 40)
heldout_compositions          compositions of seen tables that training never shows (64)
heldout_tables                compositions of seen with unseen tables (192)
new_compositions              compositions of unseen tables only (32)
longer_seen                   longer than any in training, of seen tables (longer_compositions_seen)
longer_incremental            longer, of seen with unseen tables (longer_compositions_incremental)
longer_new                    longer, of unseen tables only (longer_compositions_new: length 3, four inputs each, 32)

Deviations: the authors' random numbers are unknown, so what is held out is our own draw; ``rebuild`` makes a published
sample from its held-out lists. Some of their incremental compositions have only seen tables; ours follow the rule.
Longer rows are all that there are up to LONGER_ROWS per split, shared evenly among the lengths; beyond that, a draw.

Their samples compose two tables. For a greater depth, the held-out compositions are of the greatest length, so that no
part of a training row shows them (their later generator does so, too), and compositions that begin with the same two
tables are shown with the same inputs, so that no beginning of a training row shows a held-out one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import factorial

import numpy as np

from rote.config import at_least
from rote.errors import SettingError, UnknownNameError, UsageError
from rote.tasks.task import tasks

Functions = dict[str, dict[str, str]]  # table -> input -> output
Inputs = tuple[str, ...]

PUBLISHED = "61523074 51276304 75243016 04257163 10645237 32576014 36041752 24601357"  # f(000) ... f(111) of t1 ... t8
UNKNOWN, PADDING, END, START = "<unk>", "<pad>", ".", "<sos>"
PAD, IGNORED = 1, -1  # the number of PADDING in both vocabularies; an attention target that does not count
SPLIT_OF = {"seen": "train", "incremental": "heldout_tables", "new": "new_compositions"}
LONGER_ROWS = 512  # of each longer split
MOST_ROWS = 1_000_000  # of all compositions up to the depth
TABLES, HELD_OUT, LONGER = 0, 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Example:
    inputs: Inputs  # ("010", "t1", "t6", ".")
    outputs: tuple[str, ...]  # ("010", "101", "000")
    attention: tuple[int, ...]  # (0, 1, 2): for output i the input position to attend to; -1: ignored


@tasks.register("lookup")
@dataclass(frozen=True)
class LookupTask:
    """Apply lookup tables one after the other, when some compositions, inputs and tables were never seen together."""

    bits: int = 3
    tables: int = 8
    depth: int = 2  # longest composition in training
    unseen_tables: int = 2  # the last tables: seen only alone in training
    heldout_compositions: int = 8
    heldout_inputs: int = 2  # of the 2 ** bits inputs of each remaining composition
    validation: int = 16  # rows of the held-out inputs that are for validation
    longer: int = 2  # how many steps longer the longer compositions go; 0: none
    seed: int = 0  # draws what is held out, and the tables unless they are the published ones
    published_tables: bool = True  # the eight bijections of the original study; else random ones

    def __post_init__(self) -> None:
        at_least(self, 1, "bits", "tables", "depth")
        at_least(self, 0, "unseen_tables", "heldout_compositions", "heldout_inputs", "validation", "longer", "seed")
        self._check_tables()
        self._check_held_out()

    def _check_tables(self) -> None:
        if self.published_tables and (self.bits, self.tables) != (3, 8):
            raise UsageError(
                f"The published tables are 8 with 3 bits. Got tables={self.tables}, bits={self.bits}: set "
                "published_tables=false to draw tables from the seed."
            )
        rows = 0
        for length in range(1, self.depth + 1):
            rows += self.tables**length * 2 ** min(self.bits, 64)
            if rows > MOST_ROWS:
                raise UsageError(
                    f"'bits', 'tables' and 'depth' give too many rows: {self.tables} tables and 2 ** {self.bits} "
                    f"inputs have more than {MOST_ROWS} up to length {length}. Lower one of them."
                )
        if self.bits <= 3 and self.tables > factorial(2**self.bits):
            raise SettingError(
                "tables",
                f"must be at most (2 ** {self.bits})! = {factorial(2**self.bits)}, the number of different "
                f"bijections of {self.bits} bits. Got {self.tables}.",
            )
        if self.unseen_tables >= self.tables:
            raise SettingError(
                "unseen_tables",
                f"must be less than the {self.tables} tables, so that one is seen in compositions. "
                f"Got {self.unseen_tables}.",
            )
        if self.longer > LONGER_ROWS:
            raise SettingError("longer", f"must be at most {LONGER_ROWS}, one row per length. Got {self.longer}.")

    def _check_held_out(self) -> None:
        seen = self.tables - self.unseen_tables
        longest = seen**self.depth if self.depth > 1 else 0
        if self.heldout_compositions > longest:
            raise SettingError(
                "heldout_compositions",
                f"must be at most {longest}, the number of compositions of the greatest length: "
                f"{seen} seen tables, depth {self.depth}. Got {self.heldout_compositions}.",
            )
        if self.heldout_inputs >= 2**self.bits:
            raise SettingError(
                "heldout_inputs",
                f"must be less than 2 ** {self.bits} = {2**self.bits}, so that training has one. "
                f"Got {self.heldout_inputs}.",
            )
        left = sum(seen**length for length in range(2, self.depth + 1)) - self.heldout_compositions
        if self.validation > left * self.heldout_inputs:
            raise SettingError(
                "validation",
                f"must be at most {left} compositions x {self.heldout_inputs} held-out inputs = "
                f"{left * self.heldout_inputs} rows. Got {self.validation}.",
            )

    def vocabulary(self) -> tuple[list[str], list[str]]:
        """The symbols of the inputs and of the outputs, in the order of their numbers."""
        strings = self._strings()
        return [UNKNOWN, PADDING, END, *self._names(), *strings], [UNKNOWN, PADDING, START, *strings]

    def functions(self) -> Functions:
        """t1 -> {"000": "110", ...}; drawn ones are all different."""
        strings = self._strings()
        if self.published_tables:
            drawn = [tuple(int(digit) for digit in digits) for digits in PUBLISHED.split()]
        else:
            random, different = np.random.default_rng((self.seed, TABLES)), dict[tuple[int, ...], None]()
            while len(different) < self.tables:
                different[tuple(random.permutation(len(strings)).tolist())] = None
            drawn = list(different)
        return {
            name: {string: strings[result] for string, result in zip(strings, table, strict=True)}
            for name, table in zip(self._names(), drawn, strict=True)
        }

    def splits(self) -> dict[str, list[Example]]:
        """Split -> its examples, in a fixed order; one that the settings leave without rows is an empty list."""
        seen, unseen = self._names()[: -self.unseen_tables or None], self._names()[self.tables - self.unseen_tables :]
        functions = self.functions()
        longer = {name: [example(functions, row) for row in rows] for name, rows in self._longer(seen, unseen).items()}
        return rebuild(functions, self._held_out(seen), unseen, self.depth) | longer

    def _names(self) -> list[str]:
        return [f"t{number}" for number in range(1, self.tables + 1)]

    def _strings(self) -> list[str]:
        return [format(number, f"0{self.bits}b") for number in range(2**self.bits)]

    def _held_out(self, seen: Sequence[str]) -> dict[str, list[Inputs]]:
        random, strings = np.random.default_rng((self.seed, HELD_OUT)), self._strings()
        longest = list(product(seen, repeat=self.depth)) if self.depth > 1 else []
        never = {longest[place] for place in random.permutation(len(longest))[: self.heldout_compositions]}
        pairs = _compositions(seen, 2, min(2, self.depth))
        unshown = {pair: np.sort(random.permutation(len(strings))[: self.heldout_inputs]) for pair in pairs}
        pool = [
            (strings[place], *composition, END)
            for composition in _compositions(seen, 2, self.depth)
            if composition not in never
            for place in unshown[composition[:2]]
        ]
        chosen = set(random.permutation(len(pool))[: self.validation].tolist())
        return {
            "validation": [row for place, row in enumerate(pool) if place in chosen],
            "heldout_inputs": [row for place, row in enumerate(pool) if place not in chosen],
            "heldout_compositions": [
                (string, *tables, END) for tables in longest if tables in never for string in strings
            ],
        }

    def _longer(self, seen: Sequence[str], unseen: Sequence[str]) -> dict[str, list[Inputs]]:
        names = {"seen": seen, "incremental": [*seen, *unseen], "new": unseen}
        rows: dict[str, list[Inputs]] = {f"longer_{kind}": [] for kind in names}
        for length in range(self.depth + 1, self.depth + self.longer + 1):
            for stream, kind in enumerate(names):
                random = np.random.default_rng((self.seed, LONGER, length, stream))
                rows[f"longer_{kind}"] += self._some(kind, length, names[kind], unseen, random)
        return rows

    def _some(
        self, kind: str, length: int, names: Sequence[str], unseen: Sequence[str], random: np.random.Generator
    ) -> list[Inputs]:
        """All rows of a kind and length, or that length's share of LONGER_ROWS where there are more."""
        strings, most = self._strings(), LONGER_ROWS // self.longer
        count = len(names) ** length
        if kind == "incremental":
            count -= len(unseen) ** length + (len(names) - len(unseen)) ** length
        if count * len(strings) <= most:
            every = product(names, repeat=length) if count else ()
            return [(string, *tables, END) for tables in every if _kind(tables, unseen) == kind for string in strings]
        drawn: dict[Inputs, None] = {}  # a set that keeps its order
        while len(drawn) < most:
            string = strings[random.integers(len(strings))]
            tables = [names[place] for place in random.integers(len(names), size=length)]
            if _kind(tables, unseen) == kind:
                drawn[(string, *tables, END)] = None
        return list(drawn)


def rebuild(
    functions: Mapping[str, Mapping[str, str]],
    heldout: Mapping[str, Iterable[Inputs]],
    unseen: Iterable[str] = (),
    depth: int = 2,
) -> dict[str, list[Example]]:
    """All splits, from the tables and the rows (their inputs) that are held out.

    Of everything up to length ``depth`` that is not listed, what composes only ``unseen`` tables is new_compositions,
    what composes seen with unseen ones is heldout_tables, and the rest is train.
    """
    check_bijections(functions)
    new = frozenset(unseen)
    for table in sorted(new):
        if table not in functions:
            raise UnknownNameError("table", table, functions, " among the unseen ones")
    place: dict[Inputs, str] = {}
    for name, rows in heldout.items():
        for inputs in map(tuple, rows):
            if inputs in place:
                raise UsageError(f"The row '{' '.join(inputs)}' is held out twice: in {place[inputs]} and in {name}.")
            place[inputs] = name
    splits: dict[str, list[Example]] = {name: [] for name in ("train", *heldout, "heldout_tables", "new_compositions")}
    for inputs, name in place.items():
        splits[name].append(example(functions, inputs))
    for composition in _compositions(list(functions), 1, depth):
        rule = SPLIT_OF[_kind(composition, new)] if len(composition) > 1 else "train"
        for string in functions[composition[0]]:
            inputs = (string, *composition, END)
            if inputs not in place:
                splits[rule].append(example(functions, inputs))
    return splits


def example(functions: Mapping[str, Mapping[str, str]], inputs: Inputs) -> Example:
    """The input and each result on the way; output i is read off input i."""
    start, *composition = inputs[:-1]
    outputs = [start]
    for table in composition:
        try:
            outputs.append(functions[table][outputs[-1]])
        except KeyError:
            raise UsageError(
                f"The row '{' '.join(inputs)}' applies {table!r} to {outputs[-1]!r}, which the tables do not have. "
                f"Known: {', '.join(functions)}."
            ) from None
    return Example(tuple(inputs), tuple(outputs), tuple(range(len(outputs))))


def check_bijections(functions: Mapping[str, Mapping[str, str]]) -> None:
    """Every table maps the same inputs, each of them to another one."""
    expected = set(next(iter(functions.values()), ()))
    for name, table in functions.items():
        preimage: dict[str, str] = {}
        for string, result in table.items():
            if result in preimage:
                raise UsageError(
                    f"The table {name!r} is not a bijection: {preimage[result]!r} and {string!r} both give {result!r}."
                )
            preimage[result] = string
        for what, found in (("inputs", set(table)), ("outputs", set(preimage))):
            if found != expected:
                differing = ", ".join(sorted(found ^ expected))
                raise UsageError(
                    f"The {what} of the table {name!r} are not the inputs of the first table. Differing: {differing}."
                )


def _compositions(names: Sequence[str], shortest: int, longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(shortest, longest + 1):
        yield from product(names, repeat=length)


def _kind(composition: Sequence[str], unseen: Container[str]) -> str:
    """Of seen tables, of unseen ones ("new"), or of both ("incremental")."""
    new = sum(table in unseen for table in composition)
    return "seen" if new == 0 else "new" if new == len(composition) else "incremental"
