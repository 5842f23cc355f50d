"""Measures every cell of docs/recurrences.md and prints the tables of that page; with --write puts them into it. With
names of tables only these: python benchmarks/recurrences_table.py --write speed

rules     which rule takes models of characters apart best (``recurrences.py``)
programs  the same on small programs, against exact Shapley values (``decomposition_rules.py``)
measured  agreement with the public implementation (``tests/oracles/public_recurrences.py``), and sums, growth and
          connectivity of the models of characters, over 256 characters and by every rule that the cell allows
speed     an update, connectivity and decomposition of all spans, each against what it is compared with in the same run
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import torch
from decomposition_rules import both, compared, latch
from page_tables import written
from recurrences import (
    BATCH,
    FEW,
    LONG,
    READ,
    SPANS,
    STEPS,
    TIME,
    UNITS,
    characters,
    connected,
    decomposed,
    learned,
    seconds,
    update,
    yardsticks,
)
from torch import nn

import rote
from rote.cells import Recurrent, cells
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "oracles"))
from public_recurrences import PUBLIC, difference  # noqa: E402

PAGE = ROOT / "docs" / "recurrences.md"
CELLS = (
    "min_gru", "min_lstm", "lru", "rg_lru", "s6", "ssd", "rwkv4", "rwkv7", "linear_attention", "delta", "gated_delta",
    "mlstm", "slstm",
)  # fmt: skip
PROGRAMMED = ("min_gru", "rg_lru")
CHARACTERS = 256
RULES = [
    {"rules": rules, "gates": gates} for rules in ("shapley", "murdoch2018", "gcd2019") for gates in ("parts", "whole")
]


def lines(cell: str) -> int:
    """Of the cell's class, with its sizes, weights and where they start."""
    return len([line for line in inspect.getsource(cells[cell]).splitlines() if line.strip()])


def agreement(cell: str) -> str:
    if cell not in PUBLIC:
        return "its equations in torch (tests)"
    name, pair = PUBLIC[cell]
    return f"{name}: {difference(pair()):.0e}"


def sums(model: SequenceModel) -> tuple[float, float]:
    """The largest that is missing from a sum of parts, over the largest state, and the largest growth of a part."""
    tokens = characters()[None, 100 : 100 + CHARACTERS]
    half = torch.rand(CHARACTERS, generator=torch.Generator().manual_seed(2)) < 0.5
    inside = torch.zeros(1, 4, CHARACTERS, dtype=torch.bool)
    inside[0, 0, :4], inside[0, 1, 100], inside[0, 2], inside[0, 3, -24:] = True, True, half, True
    missing, growth = 0.0, 0.0
    for rules in RULES:
        try:
            parts = rote.decompose(model, tokens, inside, **rules)  # type: ignore[arg-type]
        except UsageError:  # refused on this cell
            continue
        missing = max(missing, float(parts.error.max()))
        growth = max(growth, float(parts.growth.max()))
    return missing, growth


def missed(model: SequenceModel) -> float:
    """By connectivity, of what autograd gives for the first, the middle and the last output."""
    return float(rote.connectivity(model, characters()[None, 100 : 100 + CHARACTERS]).error.max())


def times_gru(cell: str) -> float:
    """The processor's speed changes while others work on it: each has a GRU beside it."""
    inputs = torch.randn(BATCH, TIME, UNITS)
    gru = seconds(update(nn.GRU(UNITS, UNITS, batch_first=True), inputs), 5)
    return seconds(update(Recurrent(cell, UNITS, UNITS), inputs), 5) / gru


def speeds(cell: str) -> tuple[float, float]:
    """Connectivity, times as fast as a backward pass for each output; all spans, as a forward pass for each of them."""
    model = SequenceModel(Recurrent(cell, FEW, FEW), nn.Embedding(50, FEW), nn.Linear(FEW, 50))
    tokens = torch.randint(50, (1, LONG))
    (ours, passes), (spans, runs) = connected(model, tokens), decomposed(model, tokens)
    return passes / ours, runs / spans


@cache
def model_of(cell: str) -> SequenceModel:
    return learned(cell)


def table(head: str, rows: Iterable[str]) -> str:
    columns = len(head.split("|")) - 2
    return "\n".join([head, "|" + "---|" * columns, *rows])


def rules() -> str:
    rows = []
    for cell in ("gru", "lstm", *CELLS):
        told = " | ".join(f"{a:.2f}, {b:.2f}, {growth:.1f}" for a, b, growth in yardsticks(model_of(cell)).values())
        rows.append(f"| `{cell}` | {told} |")
    return table("| cell | gates in parts: removed, alone, growth | gates whole: removed, alone, growth |", rows)


def programs() -> str:
    found, _ = compared(list(PROGRAMMED), (latch, both))
    names = {
        "murdoch2018": "`murdoch2018`",
        "shapley, gates whole": "gates whole",
        "shapley, gates in parts": "default",
    }
    rows = []
    for cell in PROGRAMMED:
        means = [[sum(values) / len(values) for values in zip(*found[cell, name], strict=True)] for name in names]
        told = " | ".join(f"{cosine:.2f}, {error:.2f}" for cosine, _, _, error, _ in means)
        rows.append(f"| `{cell}` | {len(found[cell, 'murdoch2018'])} | {told} |")
    return table(f"| cell | networks | {' | '.join(names.values())} |", rows)


def measured() -> str:
    rows = []
    for cell in CELLS:
        missing, growth = sums(model_of(cell))
        told = (lines(cell), agreement(cell), f"{missing:.0e}", f"{growth:.1f}", f"{missed(model_of(cell)):.0e}")
        rows.append(f"| `{cell}` | {' | '.join(map(str, told))} |")
    head = "| cell | lines | differs from its public implementation by | "
    return table(f"{head}sums miss, {CHARACTERS} steps | growth | connectivity differs from autograd by |", rows)


def speed() -> str:
    rows = []
    for cell in CELLS:
        connectivity, spans = speeds(cell)
        rows.append(f"| `{cell}` | {times_gru(cell):.1f} | {connectivity:.1f} | {spans:.1f} |")
        print(rows[-1], flush=True)
    head = f"| cell | an update, times `nn.GRU` | connectivity, times as fast as {LONG} backward passes | "
    return table(
        f"{head}all {SPANS * (SPANS + 1) // 2} spans of {SPANS} steps, times as fast as forward passes |", rows
    )


TABLES: dict[str, Callable[[], str]] = {"rules": rules, "programs": programs, "measured": measured, "speed": speed}


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    write, asked = "--write" in sys.argv, [name for name in sys.argv[1:] if name != "--write"]
    if strange := [name for name in asked if name not in TABLES]:
        raise SystemExit(f"Tables are {', '.join(TABLES)}. Got {', '.join(strange)}.")
    for name in asked or TABLES:
        made = TABLES[name]()
        print(made)
        if write:
            page = PAGE.read_text(encoding="utf-8")  # as it is by now: measuring takes minutes
            PAGE.write_text(written(page, "benchmarks/recurrences_table.py", {name: made}), encoding="utf-8")
    print(f"Models of characters: trained for {STEPS} updates on {READ} characters at a time.")


if __name__ == "__main__":
    main()
