"""The tables of the study of rule frequency, and the numbers on which its claims are judged: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rote.claims import Estimate, Tables, mean, paired_difference
from rote.laboratory.aggregate import BAND, Row, grouped
from rote.store import Column, Table
from rote.studies.conduits import rules_tables as shared

if TYPE_CHECKING:
    from rote.studies.conduits.frequency import FrequencyConfig

GRID = (shared.CELL, shared.LENGTH, shared.COUNT)
MEASURE = Column("measure", "what P(close) is computed from", "label")
PARTS = {"open": "open symbol", "conduit": "conduit"}
OVER_TRAINING = {"open": "open symbol", "whole": "open symbol and conduit", "own": "the whole network"}


def all_tables(config: FrequencyConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    measures = _sorted(config, measured["measures"])
    networks = _networks(config, measures, measured["corpora"].records())
    unseen = [row for row in measures if row["kind"] == "unseen"]
    shown = shared.at_epoch(unseen, config.figure_1_epoch)
    seeds = shared.seeds_note(config.model.cell, config.seeds, config.others, config.other_seeds)
    note = f"{seeds} Conduits of the test are unseen."
    return [
        _outcome(networks, config.figure_1_epoch, note),
        Table.make(
            "figure-1", "P(close) from the open symbol and from the conduit", (*GRID, MEASURE, *BAND),
            shared.bands(shown, ("cell", "k", "n"), PARTS), place="Figure 1", figure="conduit-grid", details=True,
            note=f"After {config.figure_1_epoch:g} epochs. Bands: 95 % intervals. {note}",
        ),
        _prefixes(config, _sorted(config, measured["prefixes"]), note),
        Table.make(
            "over-training", "P(close) over training", (*GRID, shared.EPOCH, MEASURE, *BAND),
            shared.bands(unseen, ("cell", "k", "n", "epoch"), OVER_TRAINING), place="Section 4.1",
            figure="conduit-training", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        shared.variants(_sorted(config, measured["variants"]), ("cell", "k", "n"), note),
        networks,
    ]  # fmt: skip


def _sorted(config: FrequencyConfig, table: Table) -> list[Row]:
    """The rows by cell, the main one first, then by length, count and seed."""
    cells = (config.model.cell, *config.others)
    return sorted(table.records(), key=lambda row: (cells.index(row["cell"]), row["k"], row["n"], row["seed"]))


def _networks(config: FrequencyConfig, measures: list[Row], corpora: list[Row]) -> Table:
    """One row per network and kind of conduit: at the epoch of Figure 1, at the end, and before training."""
    shown, end = shared.at_epoch(measures, config.figure_1_epoch), shared.at_epoch(measures, config.training.epochs)
    start = {shared.key_of(row): row for row in shared.at_epoch(measures, 0.0)}
    last, times = {shared.key_of(row): row for row in end}, shared.learning_times(measures)
    single = {tuple(row[name] for name in shared.NETWORK[:-1]): row["error"] for row in corpora}
    groups = grouped(measures, shared.NETWORK)
    values = ("open", "open_at_close", "conduit", "conduit_at_close", "whole", "own", "interdependence", "loss")
    ends = ("open", "open_at_close", "whole", "whole_at_close", "own", "own_early")
    rows = [
        {
            **{name: row[name] for name in (*shared.NETWORK, "epoch", *values)},
            **{f"end_{name}": last[shared.key_of(row)][name] for name in ends},
            "open_untrained": start[shared.key_of(row)]["open"], "learned": times[shared.key_of(row)],
            **{name: shared.largest(groups[shared.key_of(row)], name) for name in ("error", "growth")},
            "error_float32": single[shared.key_of(row)[:-1]],
        }
        for row in shown
    ]  # fmt: skip
    columns = (
        *(Column(name, role="label") for name in (*shared.NETWORK, "epoch")),
        *(Column(name) for name in values),
        *(Column(f"end_{name}", "at the end of training") for name in ends),
        Column("open_untrained", "P(close) from the open symbol before training"),
        shared.LEARNED_AT,
        shared.ERROR,
        Column("error_float32", "the same at the end, in float32"),
        shared.GROWTH,
    )
    options = {"figure_2_length": config.figure_2_length}
    return Table.make("networks", "Every network", columns, rows, details=True, options=options)


def _outcome(networks: Table, epoch: float, note: str) -> Table:
    rows = shared.outcomes(networks, ("cell", "k", "n")).values()
    columns = (*GRID, shared.SEEDS, *shared.OPEN, shared.CONDUIT, *shared.OWN)
    title = f"How probable the close symbol is after {epoch:g} epochs"
    return Table.make("outcome", title, columns, rows, place="Figure 1", note=note)


def _prefixes(config: FrequencyConfig, rows: list[Row], note: str) -> Table:
    lengths = {row["k"] for row in rows}
    length = config.figure_2_length if config.figure_2_length in lengths else max(lengths)
    chosen = [row for row in rows if row["k"] == length and row["kind"] == "unseen"]
    means = [
        {**dict(zip(("cell", "n", "i"), key, strict=True)), **shared.band([row["probability"] for row in group])}
        for key, group in grouped(chosen, ("cell", "n", "i")).items()
    ]
    columns = (shared.CELL, shared.COUNT, Column("i", "symbols of the conduit in the prefix", "label"), *BAND)
    return Table.make(
        "figure-2", f"P(close) from prefixes of the rule, k = {length}", columns, means, place="Figure 2",
        figure="conduit-prefixes", details=True,
        note=f"After {config.training.epochs:g} epochs. Bands: 95 % intervals. {note}",
    )  # fmt: skip


def networks(tables: Tables) -> list[Row]:
    """The networks of the main cell, tested with unseen conduits."""
    table = tables["networks"]
    return table.where(cell=table.column("cell")[0], kind="unseen").records()


def per_seed(rows: list[Row], value: Callable[[list[Row]], float]) -> list[float]:
    return [value(group) for _, group in sorted(grouped(rows, ("seed",)).items())]


def examples_needed(tables: Tables) -> Estimate:
    rows = networks(tables)
    counts = sorted({row["n"] for row in rows})
    beyond = counts[-1] * counts[-1] / counts[-2] if len(counts) > 1 else 2 * counts[-1]

    def needed(group: list[Row]) -> float:
        return math.log2(min([row["n"] for row in group if row["open"] > shared.LEARNED], default=beyond))

    return _longest_minus_shortest(rows, needed)


def epochs_needed(tables: Tables) -> Estimate:
    def needed(group: list[Row]) -> float:
        (row,) = group
        return math.log2(row["epoch"] if row["learned"] is None else row["learned"])

    return _longest_minus_shortest(_at_count(tables, max), needed)


def open_minus_conduit(tables: Tables, at: str) -> Estimate:
    rows = _at_count(tables, max)
    return paired_difference(per_seed(rows, _mean(f"open{at}")), per_seed(rows, _mean(f"conduit{at}")))


def from_conduit(tables: Tables) -> Estimate:
    return mean(per_seed(_at_count(tables, max), _mean("conduit")), bounds=(0.0, 1.0))


def untrained(tables: Tables) -> Estimate:
    return mean(per_seed(_at_count(tables, max), _mean("open_untrained")), bounds=(0.0, 1.0))


def rare_conduit(tables: Tables) -> Estimate:
    return _longest_minus_shortest(_at_count(tables, min), lambda group: math.log10(group[0]["conduit"]))


def rare_open(tables: Tables) -> Estimate:
    rows = _at_count(tables, min)
    short, long = _by_length(rows)
    pairs = zip(per_seed(short, _mean("open")), per_seed(long, _mean("open")), strict=True)
    return mean([abs(math.log10(one / other)) for one, other in pairs])


def rise(tables: Tables, at: str) -> Estimate:
    """Of Figure 2: the whole rule up to the close symbol against the open symbol alone, at the end of training."""
    rows = _figure_2(tables)
    return paired_difference(per_seed(rows, _mean(f"end_whole{at}")), per_seed(rows, _mean(f"end_open{at}")))


def timing(tables: Tables) -> Estimate:
    rows = _figure_2(tables)
    return paired_difference(per_seed(rows, _mean("end_own")), per_seed(rows, _mean("end_own_early")))


def error_single(tables: Tables) -> Estimate:
    return mean(per_seed(networks(tables), lambda group: max(row["error_float32"] for row in group)), bounds=(0.0, 1.0))


def error_double(tables: Tables) -> Estimate:
    return mean(per_seed(networks(tables), lambda group: max(row["error"] for row in group)), bounds=(0.0, 1.0))


def _at_count(tables: Tables, extreme: Callable[[list[int]], int]) -> list[Row]:
    rows = networks(tables)
    return [row for row in rows if row["n"] == extreme([other["n"] for other in rows])]


def _figure_2(tables: Tables) -> list[Row]:
    """The networks of Figure 2's length; of the longest where the grid does not have it."""
    rows, length = _at_count(tables, max), tables["networks"].options["figure_2_length"]
    lengths = {row["k"] for row in rows}
    return [row for row in rows if row["k"] == (length if length in lengths else max(lengths))]


def _by_length(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Those of the shortest and of the longest conduit."""
    lengths = [row["k"] for row in rows]
    return [row for row in rows if row["k"] == min(lengths)], [row for row in rows if row["k"] == max(lengths)]


def _longest_minus_shortest(rows: list[Row], value: Callable[[list[Row]], float]) -> Estimate:
    short, long = _by_length(rows)
    return paired_difference(per_seed(long, value), per_seed(short, value))


def _mean(column: str) -> Callable[[list[Row]], float]:
    return lambda group: sum(row[column] for row in group) / len(group)
