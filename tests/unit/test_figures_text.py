"""The figure of networks on text shows every row of its table and every baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rote.errors import UsageError
from rote.figures import export, spec
from rote.store import Column, Table

COLUMNS = [Column(name, role="label") for name in ("panel", "model", "epoch")] + [
    Column(name) for name in ("mean", "low", "high")
]
ROWS = [
    {"panel": panel, "model": model, "epoch": epoch, "mean": 0.5, "low": 0.4, "high": 0.6}
    for panel in ("elman", "lstm")
    for model in ("true", "column")
    for epoch in (0.0, 0.5, 1.0)
]
OPTIONS = {"measure": "share right", "baselines": {"majority": 0.45, "counting": 0.5}}
TABLE = Table.make("training", "Over training", COLUMNS, ROWS, figure="text-training", note="A note.", options=OPTIONS)


def test_every_row_and_every_baseline_is_in_the_figure():
    made = spec(TABLE)
    assert [row["epoch"] for row in made["datasets"]["rows"]] == [row["epoch"] for row in ROWS]
    assert made["datasets"]["baselines"] == [
        {"baseline": "majority", "value": 0.45},
        {"baseline": "counting", "value": 0.5},
    ]
    assert len(made["hconcat"]) == 2
    assert made["description"] == "Over training. A note."


def test_it_is_drawn_also_without_baselines_intervals_and_with_one_panel():
    rows = [{**row, "low": None, "high": None} for row in ROWS if row["panel"] == "lstm"]
    made = Table.make("training", "Over training", COLUMNS, rows, figure="text-training")
    assert b"<svg" in export(made, "svg")


def test_a_table_without_models_is_refused():
    bare = replace(TABLE, columns=TABLE.columns[2:], rows=tuple(row[2:] for row in TABLE.rows))
    with pytest.raises(UsageError, match="lacks panel, model"):
        spec(bare)
