"""The tables of the study of rule frequency, and what its claims take from them: one value per seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from rote.claims import NotMeasuredError, Tables, Values
from rote.laboratory.aggregate import BAND, Row, grouped
from rote.store import Column, Table
from rote.studies.conduits import rules_tables as shared

if TYPE_CHECKING:
    from rote.studies.conduits.frequency import FrequencyConfig

Count = Literal["largest n", "smallest n"]
Length = Literal["shortest conduit", "longest conduit"]
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
    return Table.make("networks", "Every network", columns, rows, details=True)


def _outcome(networks: Table, epoch: float, note: str) -> Table:
    rows = shared.outcomes(networks, ("cell", "k", "n")).values()
    columns = (*GRID, shared.SEEDS, *shared.OPEN, shared.CONDUIT, *shared.OWN)
    title = f"How probable the close symbol is after {epoch:g} epochs"
    return Table.make("outcome", title, columns, rows, place="Figure 1", note=note)


def _prefixes(config: FrequencyConfig, rows: list[Row], note: str) -> Table:
    lengths = {row["k"] for row in rows}
    length = config.figure_2_length if config.figure_2_length in lengths else max(lengths)
    return shared.prefixes(rows, length, config.training.epochs, note)


def value(tables: Tables, name: str, count: Count, length: Length) -> Values:
    """A column of the network with this number of rules and this conduit."""
    return {seed: rows[0 if length == "shortest conduit" else -1][name] for seed, rows in _at(tables, count).items()}


def largest_ratio(tables: Tables, over: str, under: str) -> Values:
    """The largest over all lengths, where the rule is most frequent, of the logarithm of one column over another."""
    networks = _at(tables, "largest n").items()
    return {seed: max(math.log(row[over] / row[under]) for row in rows) for seed, rows in networks}


def examples_more(tables: Tables) -> Values:
    """log2 of the examples that the longest conduit needs over those of the shortest."""
    return {seed: counts[-1] - counts[0] for seed, counts in _examples(tables).items()}


def examples_fewer(tables: Tables) -> Values:
    """log2 of the examples that a conduit needs over those of the next longer one, the largest of these."""
    return {seed: max(a - b for a, b in itertools.pairwise(counts)) for seed, counts in _examples(tables).items()}


def epochs_more(tables: Tables) -> Values:
    """log2 of the epochs that the longest conduit needs over those of the shortest, where the rule is most frequent;
    infinite where the rule was not learned."""
    times = {
        seed: [math.inf if row["learned"] is None else math.log2(row["learned"]) for row in rows]
        for seed, rows in _at(tables, "largest n").items()
    }
    return {seed: epochs[-1] - epochs[0] for seed, epochs in times.items()}


def _examples(tables: Tables) -> dict[int, list[float]]:
    """log2 of the smallest count from which each length was learned, the shortest first; where none was enough, of the
    next one that the grid would have."""
    rows = _grid(tables)
    counts = sorted({row["n"] for row in rows})
    beyond = counts[-1] * counts[-1] / counts[-2]
    needed: dict[int, list[float]] = {}
    for (seed, _), group in sorted(grouped(rows, ("seed", "k")).items()):
        enough = min([row["n"] for row in group if row["open"] > shared.LEARNED], default=beyond)
        needed.setdefault(seed, []).append(math.log2(enough))
    return needed


def _at(tables: Tables, count: Count) -> dict[int, list[Row]]:
    """By seed, the networks with the most or the fewest rules, the shortest conduit first."""
    rows = _networks_of(tables) if count == "largest n" else _grid(tables)
    n = (max if count == "largest n" else min)(row["n"] for row in rows)
    chosen = sorted((row for row in rows if row["n"] == n), key=lambda row: (row["seed"], row["k"]))
    return {seed: group for (seed,), group in grouped(chosen, ("seed",)).items()}


def _grid(tables: Tables) -> list[Row]:
    """The networks where several lengths and counts can be compared."""
    rows = _networks_of(tables)
    if any(len({row[name] for row in rows}) < 2 for name in ("k", "n")):
        raise NotMeasuredError("one length or one count is no grid")
    return rows


def _networks_of(tables: Tables) -> list[Row]:
    """The LSTMs, tested with unseen conduits."""
    rows = tables["networks"].where(cell="lstm", kind="unseen").records()
    if not rows:
        raise NotMeasuredError("no LSTM")
    return rows
