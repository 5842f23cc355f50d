"""The figures of source 001 that show parameter space, the panel of architectures and the extended network."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rote.errors import UsageError
from rote.figures import draw, spec
from rote.store import Table
from rote.studies.resistance.architecture import all_tables as panel_tables
from rote.studies.resistance.information_tables import extended_network
from rote.studies.resistance.solutions_tables import LANDSCAPE


def landscape() -> Table:
    sides = (-1.0, 0.0, 1.0)
    losses = [{"kind": "loss", "x": x, "y": y, "loss": 1 + x + y * y} for y in sides for x in sides]
    networks = [{"kind": kind, "x": x, "y": y} for kind, x, y in (("start", 0, 0), ("found", 1, 0), ("written", 0, 1))]
    way = [{"kind": "way", "step": step, "x": step / 2, "y": 0.0} for step in (0, 1, 2)]
    rows = [{**row, "seed": 0} for row in (*losses, *networks, *way)]
    return Table.make("landscape", "Loss", LANDSCAPE, rows, figure="loss-landscape")


def test_the_landscape_has_a_square_for_every_loss_and_a_name_for_every_network() -> None:
    data = spec(landscape())["datasets"]
    squares = [cell for cell in data["cells"] if cell["loss"] == 3.0]
    assert [tuple(cell[side] for side in ("left", "right", "bottom", "top")) for cell in squares] == [
        (0.5, 1.5, -1.5, -0.5),
        (0.5, 1.5, 0.5, 1.5),
    ]
    assert [row["name"] for row in data["networks"]] == ["initial weights", "found by training (θB)", "written (θA)"]
    assert [row["step"] for row in data["way"]] == [0, 1, 2]


def test_a_landscape_with_a_missing_loss_is_refused() -> None:
    whole = landscape()
    with pytest.raises(UsageError, match=r"square grid of losses.*has 8 losses for 3 places"):
        draw(replace(whole, rows=whole.rows[1:]))


def test_the_panel_shows_every_structure_below_its_task_and_counts_only_those_that_learned() -> None:
    told = {"parameters": 9, "loss": 0.1, "test": 0.5}
    rows = [
        {**told, "task": "digits", "structure": name, "seed": seed, "train": train, "gap": gap}
        for name, train, gap in (("32-64", 0.9, 0.4), ("32-64, separated", 0.9, 0.0), ("8-16", 0.4, 0.0))
        for seed in (0, 1)
    ]
    panel, seeds = panel_tables(rows, "")
    assert [row["complete"] for row in panel.records()] == [0.0, 1.0, 0.0]
    assert [row["learned"] for row in panel.records()] == [1.0, 1.0, 0.0]
    assert [row["learned_gap"] for row in seeds.records()] == [0.4, 0.4, 0.0, 0.0, None, None]
    drawn = spec(panel)
    assert [chart["title"] for chart in drawn["hconcat"]] == ["digit pairs"]
    assert [row["structure"] for row in drawn["datasets"]["rows"]] == ["32-64", "32-64, separated", "8-16"]


def test_the_extended_network_leads_from_x_to_its_prediction_through_all_networks() -> None:
    """Figure 2: every variable but the last goes into the next network, every network gives the next variables."""
    rows = extended_network().records()
    arrows = {row["name"] for row in rows if row["kind"] == "arrow"}
    assert arrows == {
        "X to g⁻¹", "g⁻¹ to X1", "g⁻¹ to XK", "X1 to g", "XK to g", "g to X", "X to f", "f to Ŷ", "Ŷ to h", "h to Ŷ1",
        "h to ŶK", "Ŷ1 to h⁻¹", "ŶK to h⁻¹", "h⁻¹ to Ŷ",
    }  # fmt: skip
    assert all(row["x"] < row["to_x"] and row["y"] == row["to_y"] for row in rows if row["kind"] == "arrow")
    assert len(spec(extended_network())["datasets"]["network"]) == 5
