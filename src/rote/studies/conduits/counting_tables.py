"""The tables of the study of counting, and what its claim takes from them: one value per seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.claims import NotMeasuredError, Tables, Values
from rote.laboratory import aggregate
from rote.laboratory.aggregate import BAND, Row, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.conduits import rules_tables as shared

if TYPE_CHECKING:
    from rote.studies.conduits.counting import CountingConfig

RISES = {
    "rise": ("whole", "open"),
    "rise_at_close": ("whole_at_close", "open_at_close"),
    "timing": ("own", "own_early"),
}
CEILING = 0.99  # P(close) from which on there is no room to rise
OFF_CHANCE = 2  # times P(close) of an untrained network, below which nothing was learned
LABELS = ("cell", "k", "n", "seed")
GRID = (shared.CELL, shared.LENGTH, shared.COUNT)
MEASURE = Column("measure", "what P(close) is computed from", "label")
OVER_TRAINING = {"open": "open symbol", "whole": "open symbol and conduit", "own": "the whole network"}
POINTS = Column("points", "measured epochs between chance and ceiling")
TIMING = Column("timing", "log odds of the network's own P(close) at its step minus one step early, mean over these")
RISE = Column("rise", "log odds of close from open symbol and conduit minus from the open symbol, mean over these")


def all_tables(config: CountingConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    rows = sorted(measured["measures"].records(), key=lambda row: (row["n"], row["seed"]))
    unseen = [row for row in rows if row["kind"] == "unseen"]
    networks = counted(unseen)
    between = f"Where the middle of the two log odds is between {OFF_CHANCE} times chance and {CEILING:g}."
    note = f"{config.seeds} seeds of {config.model.cell}, unseen conduits."
    return [
        _outcome(networks, f"{between} {note}"),
        shared.prefixes(measured["prefixes"].records(), config.length, config.training.epochs, note),
        Table.make(
            "over-training", "P(close) over training", (*GRID, shared.EPOCH, MEASURE, *BAND),
            shared.bands(unseen, ("cell", "k", "n", "epoch"), OVER_TRAINING), place="Section 4.1",
            figure="conduit-training", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        shared.variants(measured["variants"].records(), ("cell", "k", "n"), note),
        networks,
    ]  # fmt: skip


def counted(rows: list[Row]) -> Table:
    """Of every network, what the conduit adds to the open symbol and how the network times the close symbol, over the
    epochs at which there is room; and both probabilities at the end."""
    made = []
    for key, group in grouped(rows, LABELS).items():
        points = [row for row in group if has_room(row["open"], row["whole"], chance=group[0]["open"])]
        means = {name: aggregate.band([_rise(row, name) for row in points])["mean"] for name in RISES}
        labels = dict(zip(LABELS, key, strict=True))
        largest = {name: shared.largest(group, name) for name in ("error", "growth")}
        ends = {f"end_{name}": group[-1][name] for name in ("open", "whole")}
        made.append({**labels, "points": len(points), **means, **ends, **largest})
    columns = (
        *GRID, Column("seed", role="label"), POINTS, RISE,
        Column("rise_at_close", "the same read where close is the input, as published"), TIMING,
        Column("end_open", "P(close) from the open symbol at the end of training"),
        Column("end_whole", "P(close) from open symbol and conduit at the end of training"),
        shared.ERROR, shared.GROWTH,
    )  # fmt: skip
    return Table.make("networks", "Every network", columns, made, details=True)


def _rise(row: Row, name: str) -> float:
    over, under = RISES[name]
    return shared.log_odds(row[over]) - shared.log_odds(row[under])


def has_room(one: float, other: float, chance: float) -> bool:
    """Whether the middle of two probabilities, in log odds, is off chance and below the ceiling. Both decide, so that
    neither is favored."""
    middle = (shared.log_odds(one) + shared.log_odds(other)) / 2
    return shared.log_odds(OFF_CHANCE * chance) < middle < shared.log_odds(CEILING)


def _outcome(networks: Table, note: str) -> Table:
    rows = []
    for key, group in grouped(networks.records(), LABELS[:-1]).items():
        rise = aggregate.band([row["rise"] for row in group])
        points = sum(row["points"] for row in group)
        timing = aggregate.band([row["timing"] for row in group])["mean"]
        labels = dict(zip(LABELS[:-1], key, strict=True))
        interval = {name: rise.get(name) for name in ("low", "high")}
        rows.append(
            {**labels, "seeds": len(group), "points": points, "rise": rise["mean"], **interval, "timing": timing}
        )
    columns = (*GRID, shared.SEEDS, POINTS, RISE, *interval_columns(), TIMING)
    return Table.make("outcome", "What the conduit adds to the open symbol", columns, rows, place="Figure 2", note=note)


def over_all(tables: Tables, name: str) -> Values:
    """A column's mean over a seed's networks that had room at some time."""
    rows = [row for row in _lstms(tables) if row["points"]]
    if not rows:
        raise NotMeasuredError("P(close) was measured only at chance and at its ceiling")
    return {seed: sum(row[name] for row in group) / len(group) for (seed,), group in grouped(rows, ("seed",)).items()}


def at_end(tables: Tables, name: str) -> Values:
    """A column at the end of training, where the rule is most frequent."""
    rows = _lstms(tables)
    most = max(row["n"] for row in rows)
    return {row["seed"]: row[name] for row in rows if row["n"] == most}


def _lstms(tables: Tables) -> list[Row]:
    rows = tables["networks"].where(cell="lstm").records()
    if not rows:
        raise NotMeasuredError("no LSTM")
    return rows
