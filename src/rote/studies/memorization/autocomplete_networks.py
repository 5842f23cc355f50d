"""One row for each trained network of the study autocomplete, with everything that is one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.store import Column, Table
from rote.studies.memorization.tables import CELL, NORMS, REACH, SEED, SHARE, over_seeds
from rote.studies.summaries import BAND, Row, band, grouped

LEFT = 0.95  # of the loss of knowing only frequencies: below it a network has left the plateau
TEXTS = (("paragraph", "the paragraph"), ("test text", "the test text"))


def plateau(tables: Mapping[str, Table]) -> Table:
    rows = []
    for (cell,), group in grouped(networks(tables).records(), ("cell",)).items():
        left = [row["left"] for row in group]
        found = band([value for value in left if value is not None])
        rows.append({"cell": cell, "never": left.count(None), **found})
    columns = (CELL, Column("never", "networks that did not leave it"), *BAND)
    (text,) = tables["text"].records()
    return Table.make(
        "plateau", "Mini-batches until a network has left the plateau of frequencies", columns, rows,
        place="Not in the source",
        note=f"First record with a validation loss below {LEFT:.0%} of {text['loss']:.2f} nats, the loss of knowing "
        "only how frequent words are. In the source's own curves the GRU stays there for 2300 mini-batches.",
    )  # fmt: skip


def networks(tables: Mapping[str, Table]) -> Table:
    """One row per trained network, with everything that is one number: what the claims are judged by."""
    (text,) = tables["text"].records()
    curves = grouped(tables["curves"].records(), ("cell", "seed"))
    shares = grouped(tables["shares"].records(), ("cell", "seed", "when", "text", "norm"))
    rows = []
    for row in tables["test"].records():
        key = (row["cell"], row["seed"])
        curve = curves[key]
        left = next((one["step"] for one in curve if one["valid"] < LEFT * text["loss"]), None)
        rates = [one["rate"] for one in curve if one["rate"] is not None]
        rates_mean = sum(rates) / len(rates) if rates else None
        made: Row = {**row, "left": left, "minutes": curve[-1]["minutes"], "rate": rates_mean}
        for when, name, norm in _views():
            group = shares[(*key, when, name, norm)]
            for measure in (SHARE, REACH):
                made[view(measure, when, name, norm)] = over_seeds(group, measure)["mean"]
        rows.append(made)
    columns = (
        CELL,
        SEED,
        *(replace(column, role="measured") for column in tables["test"].columns[2:]),
        Column("left", "mini-batches until it left the plateau"),
        Column("minutes", "of training"),
        Column("rate", "characters per second"),
        *(Column(view(measure, *one)) for one in _views() for measure in (SHARE, REACH)),
    )
    return Table.make("networks", "Every network", columns, rows, details=True)


def _views() -> Sequence[tuple[str, str, str]]:
    return [(when, name, norm) for when in ("untrained", "trained") for name, _ in TEXTS for norm in NORMS]


def view(measure: str, when: str, text: str, norm: str) -> str:
    """The column of the table networks: "share trained paragraph squared"."""
    return f"{measure.split()[0]} {when} {text} {norm}"


def per_seed(rows: Sequence[Mapping[str, Any]], known: range) -> float:
    """Accuracy of one network's rows over several numbers of known characters."""
    mine = [row for row in rows if row["k"] in known]
    positions = sum(row["positions"] for row in mine)
    return sum(row["hits"] for row in mine) / positions if positions else float("nan")
