"""Measures every cell of docs/recurrences.md and prints the tables of that page; with --write puts them into it.

Agreement is that with the public implementation (``tests/oracles/public_recurrences.py``); sums and growth are those of
a small model of characters that was trained here, over 256 characters and by every rule that the cell allows.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import torch
from recurrences import (
    BATCH,
    FEW,
    LONG,
    READ,
    STEPS,
    TIME,
    UNITS,
    characters,
    connected,
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


def times_gru(cell: str, gru: float) -> float:
    return seconds(update(Recurrent(cell, UNITS, UNITS), torch.randn(BATCH, TIME, UNITS)), 5) / gru


def connectivity(cell: str) -> float:
    """Times as fast as a backward pass for each output."""
    model = SequenceModel(Recurrent(cell, FEW, FEW), nn.Embedding(50, FEW), nn.Linear(FEW, 50))
    ours, passes = connected(model, torch.randint(50, (1, LONG)))
    return passes / ours


def tables() -> dict[str, str]:
    """The page's tables by their names."""
    gru = seconds(update(nn.GRU(UNITS, UNITS, batch_first=True), torch.randn(BATCH, TIME, UNITS)))
    measured = [
        f"| cell | lines | differs from its public implementation by | sums miss, {CHARACTERS} steps | growth | "
        f"an update, times `nn.GRU` | connectivity, times as fast as {LONG} backward passes |",
        "|---|---|---|---|---|---|---|",
    ]
    rules = [
        "| cell | gates in parts: removed, alone, growth | gates whole: removed, alone, growth |",
        "|---|---|---|",
    ]
    for cell in ("gru", "lstm", *CELLS):
        model = learned(cell)
        told = " | ".join(f"{a:.2f}, {b:.2f}, {growth:.1f}" for a, b, growth in yardsticks(model).values())
        rules.append(f"| `{cell}` | {told} |")
        if cell in CELLS:
            missing, growth = sums(model)
            speed = f"{times_gru(cell, gru):.1f} | {connectivity(cell):.0f}"
            row = f"| `{cell}` | {lines(cell)} | {agreement(cell)} | {missing:.0e} | {growth:.1f} | {speed} |"
            measured.append(row)
            print(row, flush=True)
    return {"measured": "\n".join(measured), "rules": "\n".join(rules)}


def written(page: str, made: dict[str, str]) -> str:
    """The page with these tables between their marks."""
    for name, table in made.items():
        begin, end = f"<!-- {name}: benchmarks/recurrences_table.py -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{table}\n\n{end}{rest.split(end)[1]}"
    return page


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    made = tables()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), made), encoding="utf-8")
    print("\n\n".join(made.values()))
    print(f"Trained for {STEPS} updates on {READ} characters at a time.")


if __name__ == "__main__":
    main()
