"""The tables of the study of rule frequency: what is printed, and the data behind its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rote.store import Column, FinishedRun, Table
from rote.studies.conduits.summary import NETWORK, at_epoch, band, bands, key_of, largest_error, learning_times
from rote.studies.conduits.tables import (
    CELL,
    CONDUIT,
    COUNT,
    EPOCH,
    ERROR,
    LEARNED_AT,
    LENGTH,
    OPEN,
    OWN,
    SEEDS,
    outcomes,
    seeds_note,
    variants,
)
from rote.studies.summaries import BAND, Row, collected, grouped

if TYPE_CHECKING:
    from rote.studies.conduits.frequency import FrequencyConfig

MEASURE = Column("measure", "what P(close) is computed from", "label")
PARTS = {"open": "open symbol", "conduit": "conduit"}
OVER_TRAINING = {"open": "open symbol", "whole": "open symbol and conduit", "own": "the whole network"}


def all_tables(config: FrequencyConfig, runs: Sequence[FinishedRun]) -> list[Table]:
    found = collected(runs)
    measures = in_order(config, found["measures"].records())
    networks = _networks(config, measures, found["corpora"].records())
    unseen = [row for row in measures if row["kind"] == "unseen"]
    shown = at_epoch(unseen, config.figure_1_epoch)
    seeds = seeds_note(config.model.cell, config.seeds, config.others, config.other_seeds)
    note = f"{seeds} Conduits of the test are unseen."
    return [
        _outcome(networks, config.figure_1_epoch, note),
        Table.make(
            "figure-1", "P(close) from the open symbol and from the conduit", (CELL, LENGTH, COUNT, MEASURE, *BAND),
            bands(shown, ("cell", "k", "n"), PARTS), place="Figure 1", figure="conduit-grid", details=True,
            note=f"After {config.figure_1_epoch:g} epochs. Bands: 95 % intervals. {note}",
        ),
        _prefixes(config, in_order(config, found["prefixes"].records()), note),
        Table.make(
            "over-training", "P(close) over training", (CELL, LENGTH, COUNT, EPOCH, MEASURE, *BAND),
            bands(unseen, ("cell", "k", "n", "epoch"), OVER_TRAINING), place="Section 4.1",
            figure="conduit-training", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        variants(in_order(config, found["variants"].records()), ("cell", "k", "n"), note),
        networks,
    ]  # fmt: skip


def in_order(config: FrequencyConfig, rows: list[Row]) -> list[Row]:
    """The main cell first, then by length, count and seed."""
    cells = (config.model.cell, *config.others)
    return sorted(rows, key=lambda row: (cells.index(row["cell"]), row["k"], row["n"], row["seed"]))


def _networks(config: FrequencyConfig, measures: list[Row], corpora: list[Row]) -> Table:
    """One row per network and kind of conduit: at the epoch of Figure 1, at the end, and before training."""
    shown, end = at_epoch(measures, config.figure_1_epoch), at_epoch(measures, config.training.epochs)
    start = {key_of(row): row for row in at_epoch(measures, 0.0)}
    last, times = {key_of(row): row for row in end}, learning_times(measures)
    single = {tuple(row[name] for name in NETWORK[:-1]): row["error"] for row in corpora}
    worst = {key: largest_error(group) for key, group in grouped(measures, NETWORK).items()}
    values = ("open", "open_at_close", "conduit", "conduit_at_close", "whole", "own", "interdependence", "loss")
    ends = ("open", "open_at_close", "whole", "whole_at_close", "own", "own_early")
    rows = [
        {
            **{name: row[name] for name in (*NETWORK, "epoch", *values)},
            **{f"end_{name}": last[key_of(row)][name] for name in ends},
            "open_untrained": start[key_of(row)]["open"], "learned": times[key_of(row)],
            "error": worst[key_of(row)], "error_float32": single[key_of(row)[:-1]],
        }
        for row in shown
    ]  # fmt: skip
    columns = (
        *(Column(name, role="label") for name in (*NETWORK, "epoch")),
        *(Column(name) for name in values),
        *(Column(f"end_{name}", "at the end of training") for name in ends),
        Column("open_untrained", "P(close) from the open symbol before training"),
        LEARNED_AT,
        ERROR,
        Column("error_float32", "the same at the end, in float32"),
    )
    options = {"figure_2_length": config.figure_2_length}
    return Table.make("networks", "Every network", columns, rows, details=True, options=options)


def _outcome(networks: Table, epoch: float, note: str) -> Table:
    rows = outcomes(networks, ("cell", "k", "n")).values()
    columns = (CELL, LENGTH, COUNT, SEEDS, *OPEN, CONDUIT, *OWN)
    title = f"How probable the close symbol is after {epoch:g} epochs"
    return Table.make("outcome", title, columns, rows, place="Figure 1", note=note)


def _prefixes(config: FrequencyConfig, rows: list[Row], note: str) -> Table:
    lengths = {row["k"] for row in rows}
    length = config.figure_2_length if config.figure_2_length in lengths else max(lengths)
    chosen = [row for row in rows if row["k"] == length and row["kind"] == "unseen"]
    made = [
        {**dict(zip(("cell", "n", "i"), key, strict=True)), **band([row["probability"] for row in group])}
        for key, group in grouped(chosen, ("cell", "n", "i")).items()
    ]
    columns = (CELL, COUNT, Column("i", "symbols of the conduit in the prefix", "label"), *BAND)
    return Table.make(
        "figure-2", f"P(close) from prefixes of the rule, k = {length}", columns, made, place="Figure 2",
        figure="conduit-prefixes", details=True,
        note=f"After {config.training.epochs:g} epochs. Bands: 95 % intervals. {note}",
    )  # fmt: skip
