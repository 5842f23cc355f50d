"""Writes the tables of docs/matrix.md from the result that is kept in docs/reproduction/across/cells."""

from __future__ import annotations

from pathlib import Path

from page_tables import written

from rote.laboratory.aggregate import grouped
from rote.laboratory.kept_results import Kept

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "matrix.md"
KEPT = ROOT / "docs" / "reproduction" / "across" / "cells" / "matrix.json"
MEASURES = (
    "behavior, new", "decomposition, cue", "connectivity, cue", "functional groups, read", "interdependence", "gates",
    "gradient flow",
)  # fmt: skip


def tables(kept: Kept) -> str:
    """How the networks were trained, and for each task the means of every cell, in the order of the settings."""
    config = kept.record.request.config
    steps, units = config["training"]["steps"], config["model"]["hidden"]
    rows = kept.tables()["matrix"].records()
    means = {key: row["mean"] for key, (row,) in grouped(rows, ("task", "cell", "measure")).items()}
    sizes = f"{units} units, {steps} updates, {config['seeds']} seeds"
    told = [f"{sizes}: means; a gap is a measure that a unit does not have."]
    for task in config["tasks"]:
        table = [f"| {task} | {' | '.join(MEASURES)} |", f"|---|{'---|' * len(MEASURES)}"]
        for cell in config["cells"]:
            values = (means[task, cell, measure] for measure in MEASURES)
            table.append(f"| `{cell}` | {' | '.join('' if value is None else f'{value:.2f}' for value in values)} |")
        told.append("\n".join(table))
    return "\n\n".join(told)


def page() -> str:
    """As it should be."""
    made = {"cells": tables(Kept.read(KEPT))}
    return written(PAGE.read_text(encoding="utf-8"), "benchmarks/matrix_table.py", made)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
