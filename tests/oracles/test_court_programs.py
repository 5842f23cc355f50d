"""Programs against plain Python, their truth against its definitions, and networks against the programs they hold."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch

from rote import court
from rote.court.program import NOTHING
from rote.errors import UnknownNameError, UsageError


def first_or_none(symbols: list[str], kinds: dict[str, float]) -> float:
    return next((kinds[symbol] for symbol in symbols if symbol in kinds), 0.0)


def subject(symbols: list[str]) -> float:
    phrase = False
    for symbol in symbols:
        if symbol == "prep":
            phrase = True
        elif symbol in ("sg", "pl"):
            if not phrase:
                return 1.0 if symbol == "sg" else -1.0
            phrase = False
    return 0.0


def closed(symbols: list[str]) -> float:
    depth = 0
    for symbol in symbols:
        depth += {"(": 1, ")": -1}.get(symbol, 0)
        if not 0 <= depth <= 3:
            return 0.0
    return float(depth == 0)


def looked_up(symbols: list[str]) -> list[float]:
    tables, value = {"s": (1, 0, 3, 2), "t": (1, 2, 3, 0), "u": (2, 1, 0, 3)}, None
    for symbol in symbols:
        value = int(symbol) if symbol.isdigit() else value if value is None else tables[symbol][value]
    return [float(value == other) for other in range(4)]


def newest(symbols: list[str]) -> float:
    letters = [symbol for symbol in symbols if symbol in "ab"]
    return float(bool(letters) and letters.count(letters[-1]) == 1)


ORACLES: dict[str, Callable[[list[str]], float | list[float]]] = {
    "latch": lambda s: first_or_none(s[::-1], {"+": 1.0, "-": -1.0}),
    "conduit": lambda s: first_or_none(s, {"[": 1.0, "(": -1.0}),
    "agreement": subject,
    "first_of_kind": newest,
    "parity": lambda s: float(s.count("1") % 2),
    "mod3": lambda s: [float(sum(map(int, s)) % 3 == rest) for rest in range(3)],
    "brackets": closed,
    "counter": lambda s: float(s.count("(") - s.count(")")),
    "or": lambda s: float("a" in s),
    "and": lambda s: float("a" in s and "b" in s),
    "lookup": looked_up,
}


def test_there_are_twelve_programs_and_each_has_its_oracle() -> None:
    assert set(court.programs) == {*ORACLES, "copy"}


@pytest.mark.parametrize("name", sorted(ORACLES))
def test_a_program_says_what_plain_python_says_after_every_symbol(name: str) -> None:
    program = court.programs[name]
    tokens = program.strings(1, 30, 9, blanks=0.3)
    said = program.values(tokens)
    for row, string in enumerate(tokens):
        for step in range(9):
            read = [program.symbols[number] for number in string[: step + 1] if number != NOTHING]
            assert said[row, step].tolist() == np.atleast_1d(ORACLES[name](read)).tolist()
    assert program.empty.tolist() == np.atleast_1d(ORACLES[name]([])).tolist()


def test_copy_counts_blanks_as_steps() -> None:
    program = court.programs["copy"]
    said = program.values(np.array([[0, 1, NOTHING, 1, 0, 0]]))
    assert said[0, :, 0].tolist() == [0, 0, 0, 1, -1, 0]


@pytest.mark.parametrize("name", ["latch", "lookup", "parity", "counter"])
def test_the_truth_is_what_the_definitions_say(name: str) -> None:
    program, time = court.programs[name], 4
    strings = program.strings(3, 4, time)
    found = court.truth(program, strings)

    def worth(row: int, members: tuple[int, ...]) -> float:
        kept = np.where(np.isin(np.arange(time), members), strings[row], NOTHING)
        return float(program.values(kept[None])[0, -1, found.targets[row]])

    positions, everything = range(time), tuple(range(time))
    sets = [some for size in range(time + 1) for some in itertools.combinations(positions, size)]
    orders = list(itertools.permutations(positions))
    for row in range(len(strings)):
        gains = np.zeros(time)
        for order in orders:
            for place, position in enumerate(order):
                gains[position] += worth(row, order[: place + 1]) - worth(row, order[:place])
        assert found.shapley[row].tolist() == pytest.approx((gains / len(orders)).tolist())
        whole = worth(row, everything)
        enough = [s for s in sets if all(worth(row, u) == whole for u in sets if set(s) <= set(u))]
        smallest = [s for s in enough if not any(set(other) < set(s) for other in enough)]
        assert set(np.flatnonzero(found.used[row])) == {position for some in smallest for position in some}
        spans = np.zeros((len(strings), 1, time), dtype=bool)
        spans[:, 0, 1:3] = True
        assert found.alone(spans)[row, 0] == worth(row, (1, 2)) - worth(row, ())
        assert found.removed(spans)[row, 0] == whole - worth(row, (0, 3))


def test_interactions_are_what_a_pair_does_beyond_both() -> None:
    """Of two ones the parity is all interaction; an "and" needs both."""
    assert court.truth("parity", "11").interactions[0, 0, 1] == -2
    assert court.truth("parity", "11").shapley[0].tolist() == [0, 0]
    assert court.truth("and", "abx").interactions[0].tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert court.truth("and", "abx").dummy[0].tolist() == [False, False, True]


def test_redrawn_symbols_are_averaged_exactly() -> None:
    program = court.programs["agreement"]
    found = court.truth(program, "prep sg pl", absent="redrawn")
    every = list(itertools.product(range(4), repeat=2))
    alone = np.mean([program.values(np.array([[a, b, 1]]))[0, -1, 0] for a, b in every])
    assert found.worth[0, 0b100] == pytest.approx(alone)


def test_a_word_for_every_kind_of_wrong_input() -> None:
    states = {"p": {"a": "q", "b": "p"}, "q": {"a": "q"}}
    with pytest.raises(
        UsageError, match=r"State 'q' has no transition for 'b'\. Every state needs one for each of a, b\."
    ):
        court.automaton(states, {"p": 0, "q": 1}, start="p")
    with pytest.raises(UnknownNameError, match="Unknown state 'r', reached from 'p'"):
        court.automaton({"p": {"a": "r"}}, {"p": 0}, start="p")
    with pytest.raises(UsageError, match=r"State 'p' has no output\."):
        court.automaton({"p": {"a": "p"}}, {}, start="p")
    with pytest.raises(UnknownNameError, match="Unknown symbol '!' of the program 'latch'"):
        court.truth("latch", "+!")
    with pytest.raises(UsageError, match=r"Symbols of 'latch' are 0 to 3 .* Got 7\."):
        court.truth("latch", np.array([[0, 7]]))
    with pytest.raises(UsageError, match=r"at most 12 symbols. Got 13"):
        court.truth("latch", "+" * 13)
    with pytest.raises(UsageError, match="min_gru cannot hold 'parity': its gates see the input alone"):
        court.compile("parity", cell="min_gru")
    with pytest.raises(UsageError, match="lru cannot hold 'latch': its step is linear"):
        court.compile("latch", cell="lru")
    with pytest.raises(UsageError, match=r"'latch' in lstm is off by .* Take a larger one"):
        court.compile("latch", cell="lstm", saturation=2)


@pytest.mark.parametrize("cell", court.COMPILED)
def test_a_compiled_network_is_its_program_on_strings_it_was_not_checked_with(cell: str) -> None:
    few = ("latch", "or", "counter") if cell.startswith("min_") else ("lookup", "copy", "counter", "brackets")
    for name in few:
        program = court.programs[name]
        model = court.compile(program, cell=cell)
        tokens = program.strings(77, 8, 40, blanks=0.4)
        assert np.abs(model.outputs(tokens) - program.values(tokens)).max() < 0.01
        assert model.margin > 0.45
        tokens = program.strings(78, 8, 12)
        assert np.allclose(model(torch.from_numpy(tokens)).numpy(), model.outputs(tokens))  # as any model of tokens


@pytest.mark.parametrize("cell", ["elman", "elman_relu", "gru", "lstm", "peephole_lstm", "nested_lstm", "min_gru"])
def test_variants_compute_the_same_with_other_weights(cell: str) -> None:
    plain = court.compile("latch", cell=cell)
    tokens = plain.program.strings(5, 8, 20, blanks=0.3)
    for options in ({"redundancy": 3}, {"rotation": 4}, {"redundancy": 2, "rotation": 1}):
        varied = court.compile("latch", cell=cell, **options)
        assert np.allclose(varied.outputs(tokens), plain.outputs(tokens), atol=1e-9)
        assert varied.recurrent.cell(0).weight_ih.shape != plain.recurrent.cell(0).weight_ih.shape or not torch.equal(
            varied.recurrent.cell(0).weight_ih, plain.recurrent.cell(0).weight_ih
        )


def test_codings_compute_the_same_with_other_units() -> None:
    sizes = {}
    for coding in ("busy", "lazy", "candidate", "idle"):
        model = court.compile("latch", cell="lstm", coding=coding)
        sizes[coding] = len(model.carries)
        tokens = model.program.strings(5, 8, 20)
        assert np.abs(model.outputs(tokens) - model.program.values(tokens)).max() < 0.01
    assert sizes == {"busy": 6, "lazy": 2, "candidate": 9, "idle": 2}


def test_units_carry_what_they_are_said_to_carry() -> None:
    model = court.compile("latch", cell="elman")
    program = model.program
    tokens = program.encode("+..-,.+")
    assert isinstance(program, court.Automaton)
    visited = program.visited(tokens)[0]
    hidden, _ = model.recurrent(model.vectors(tokens))
    for unit, name in enumerate(model.carries):
        if name.startswith("in "):
            state, symbol = name.removeprefix("in ").split(" after ")
            fires = [
                program.states[at] == state and program.symbols[tokens[0, step]] == symbol
                for step, at in enumerate(visited)
            ]
            assert (hidden[0, :, unit] > 0).tolist() == fires
