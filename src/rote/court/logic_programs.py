"""Programs that combine: either of two things seen, both of them, and tables that follow each other."""

from __future__ import annotations

from rote.court.program import Automaton, automaton, programs


@programs.register("or")
def either() -> Automaton:
    """Whether an a has been read: one of many is enough."""
    states = {"none": {"a": "seen", "x": "none", "y": "none"}, "seen": dict.fromkeys("axy", "seen")}
    return automaton(states, {"none": 0.0, "seen": 1.0}, start="none", name="or", about="1 if an a has been read")


@programs.register("and")
def both() -> Automaton:
    """Whether an a and a b have been read: each does nothing without the other."""
    states = {
        "none": {"a": "a", "b": "b", "x": "none"},
        "a": {"a": "a", "b": "both", "x": "a"},
        "b": {"a": "both", "b": "b", "x": "b"},
        "both": dict.fromkeys("abx", "both"),
    }
    says = {"none": 0.0, "a": 0.0, "b": 0.0, "both": 1.0}
    return automaton(states, says, start="none", name="and", about="1 if an a and a b have been read")


TABLES = {"s": (1, 0, 3, 2), "t": (1, 2, 3, 0), "u": (2, 1, 0, 3)}


@programs.register("lookup")
def lookup() -> Automaton:
    """A value, and the tables behind it applied one after the other."""
    values = [str(value) for value in range(4)]
    write = {value: value for value in values}
    states = {"none": {**write, **dict.fromkeys(TABLES, "none")}}
    states |= {value: {**write, **{name: values[row[int(value)]] for name, row in TABLES.items()}} for value in values}
    says = {"none": (0.0,) * 4} | {value: tuple(float(value == other) for other in values) for value in values}
    return automaton(states, says, start="none", name="lookup", about="the last value, as later tables change it")
