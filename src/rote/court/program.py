"""What is compiled into networks: a program over strings of symbols, whose working is known exactly.

Most programs are finite automata with an output in every state. A position may be a no-op, which changes nothing: it is
the zero vector of a network, and what stands where a symbol was taken away. So deleting a symbol, occluding it and the
zero baseline of gradients are one and the same, and no method can be blamed for its baseline.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.errors import UnknownNameError, UsageError
from rote.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

NOTHING = -1  # the no-op
Strings = str | Sequence[str] | Sequence[Sequence[str]] | np.ndarray


@dataclass(frozen=True)
class Program(ABC):
    """``values`` is the exact interpreter."""

    name: str
    about: str
    symbols: tuple[str, ...]
    outputs: tuple[str, ...]  # what each output says; one number where there is one

    @abstractmethod
    def values(self, tokens: np.ndarray) -> np.ndarray:
        """Outputs [string, time, output] after every symbol of tokens [string, time]; ``NOTHING`` is a no-op."""

    @property
    @abstractmethod
    def empty(self) -> np.ndarray:
        """Outputs [output] before anything is read."""

    @property
    def gap(self) -> float:
        """The smallest difference between two values of one output: half of it is what a network may miss."""
        return 1.0

    def encode(self, strings: Strings) -> np.ndarray:
        """Numbers [string, time] of strings of symbols: one text or several, or lists of symbols, all of one length."""
        if isinstance(strings, np.ndarray) or hasattr(strings, "numpy"):
            return self._checked(np.asarray(strings))
        rows: list[Any] = [strings] if isinstance(strings, str) else list(strings)
        if rows and isinstance(rows[0], str) and not isinstance(strings, str) and set(rows) <= set(self.symbols):
            rows = [rows]  # one string, as the list of its symbols
        cut = [
            row.split() if isinstance(row, str) and any(len(name) > 1 for name in self.symbols) else row for row in rows
        ]
        if not cut or len({len(row) for row in cut}) != 1 or not len(cut[0]):
            raise UsageError(
                f"Strings must be at least one, all of one length. Got lengths {[len(row) for row in cut]}."
            )
        number = {name: index for index, name in enumerate(self.symbols)}
        for row in cut:
            for symbol in row:
                if symbol not in number:
                    raise UnknownNameError("symbol", str(symbol), self.symbols, f" of the program {self.name!r}")
        return np.array([[number[symbol] for symbol in row] for row in cut])

    def _checked(self, tokens: np.ndarray) -> np.ndarray:
        tokens = tokens[None] if tokens.ndim == 1 else tokens
        if tokens.ndim != 2 or not tokens.size or tokens.dtype.kind not in "iu":
            raise UsageError(f"Strings as numbers must be [string, time]. Got {tokens.dtype} {tokens.shape}.")
        if tokens.min() < NOTHING or tokens.max() >= len(self.symbols):
            wrong = tokens[(tokens < NOTHING) | (tokens >= len(self.symbols))].flat[0]
            raise UsageError(
                f"Symbols of {self.name!r} are 0 to {len(self.symbols) - 1} ({', '.join(self.symbols)}), and {NOTHING} "
                f"for none. Got {wrong}."
            )
        return tokens.astype(np.int64)

    def decode(self, tokens: np.ndarray) -> list[str]:
        """Of one string, the names of its symbols."""
        return ["" if number == NOTHING else self.symbols[number] for number in np.asarray(tokens).tolist()]

    def strings(self, seed: int, count: int, length: int, blanks: float = 0.0) -> np.ndarray:
        """Random strings, each symbol as likely, some of the positions no-ops."""
        draw = np.random.default_rng(seed)
        tokens = draw.integers(len(self.symbols), size=(count, length))
        return np.where(draw.random((count, length)) < blanks, NOTHING, tokens)


@dataclass(frozen=True)
class Automaton(Program):
    """A finite automaton (Moore machine); its first state is the start."""

    states: tuple[str, ...]
    moves: tuple[tuple[int, ...], ...]  # by state and symbol, the next state
    says: tuple[tuple[float, ...], ...]  # by state, its outputs

    def values(self, tokens: np.ndarray) -> np.ndarray:
        tokens, says = self._checked(tokens), np.array(self.says)
        return np.asarray(says[self.visited(tokens)])

    def visited(self, tokens: np.ndarray) -> np.ndarray:
        """The state after every symbol."""
        moves = np.column_stack([np.array(self.moves), np.arange(len(self.states))])  # the last column is the no-op
        state, visited = np.zeros(len(tokens), dtype=np.int64), np.empty_like(tokens)
        for step in range(tokens.shape[1]):
            state = visited[:, step] = moves[state, tokens[:, step]]
        return visited

    @property
    def empty(self) -> np.ndarray:
        return np.array(self.says[0])

    @cached_property
    def gap(self) -> float:
        levels = [np.unique(column) for column in np.array(self.says).T]
        return float(min([np.diff(level).min() for level in levels if len(level) > 1], default=1.0))

    @property
    def idle(self) -> tuple[int, ...]:
        """Symbols that never change the state."""
        return tuple(
            symbol for symbol in range(len(self.symbols)) if all(row[symbol] == q for q, row in enumerate(self.moves))
        )

    def resets_to(self, symbol: int) -> int | None:
        """The state that a symbol leads to from every state, if it is one and the same."""
        targets = {row[symbol] for row in self.moves}
        return targets.pop() if len(targets) == 1 else None


def automaton(
    transitions: Mapping[str, Mapping[str, str]],
    outputs: Mapping[str, float | Sequence[float]],
    *,
    start: str,
    name: str = "automaton",
    about: str = "",
) -> Automaton:
    """A program of one's own: state -> symbol -> next state, and what each state says.

    >>> from rote.court import automaton
    >>> door = automaton(
    ...     {"shut": {"push": "open", "pull": "shut"}, "open": {"push": "open", "pull": "shut"}},
    ...     {"shut": 0.0, "open": 1.0}, start="shut")
    >>> door.values(door.encode("push pull push"))[0, :, 0].tolist()
    [1.0, 0.0, 1.0]
    """
    if start not in transitions:
        raise UnknownNameError("state", start, transitions, " as 'start'")
    states = (start, *(state for state in transitions if state != start))
    symbols = tuple(dict.fromkeys(symbol for row in transitions.values() for symbol in row))
    if not symbols:
        raise UsageError("An automaton needs at least one symbol. Got transitions without any.")
    moves, said = [], []
    for state in states:
        for symbol in symbols:
            if symbol not in transitions[state]:
                raise UsageError(
                    f"State {state!r} has no transition for {symbol!r}. Every state needs one for each of "
                    f"{', '.join(symbols)}."
                )
            if transitions[state][symbol] not in states:
                raise UnknownNameError("state", transitions[state][symbol], states, f", reached from {state!r}")
        if state not in outputs:
            raise UsageError(f"State {state!r} has no output. Give one for each of {', '.join(states)}.")
        moves.append(tuple(states.index(transitions[state][symbol]) for symbol in symbols))
        value = outputs[state]
        said.append(tuple(map(float, value)) if isinstance(value, Sequence) else (float(value),))
    if len({len(row) for row in said}) != 1:
        raise UsageError(f"Every state must have as many outputs. Got {sorted({len(row) for row in said})}.")
    names = tuple(f"output {index}" for index in range(len(said[0]))) if len(said[0]) > 1 else ("output",)
    return Automaton(name, about, symbols, names, states, tuple(moves), tuple(said))


class Programs(Registry[Program]):
    """By name; what is registered is a function that makes the program."""

    def __getitem__(self, name: str) -> Program:
        made: Callable[[], Program] = super().__getitem__(name)  # type: ignore[assignment]
        return made()


programs: Programs = Programs("program", "rote.court", "programs")


def as_program(program: str | Program) -> Program:
    if isinstance(program, Program):
        return program
    if not isinstance(program, str):
        raise UsageError(f"'program' must be a name or a rote.court.Program. Got {type(program).__name__}.")
    return programs[program]
