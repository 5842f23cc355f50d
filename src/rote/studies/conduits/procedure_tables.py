"""The tables of the study of the training procedure, and what its claim takes from them: one value per seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.claims import NotMeasuredError, Tables, Values
from rote.laboratory import aggregate
from rote.laboratory.aggregate import BAND, Row, grouped
from rote.store import Column, Table
from rote.studies.conduits import rules_tables as shared

if TYPE_CHECKING:
    from rote.studies.conduits.procedure import ProcedureConfig

PLAIN, MOMENTUM, DECAY = "as published", "momentum", "weight decay"
BOTH, SAME_STEP = "momentum and weight decay", "momentum, same step"
PROCEDURE = (
    Column("learning_rate", role="label"),
    Column("momentum", role="label"),
    Column("weight_decay", role="label"),
)
NAME = Column("procedure", "by which networks were trained", "label")
MEASURE = Column("measure", "what P(close) is computed from", "label")
OVER_TRAINING = {"open": "open symbol", "own": "the whole network"}
KEY = ("procedure", "seed")


def all_tables(config: ProcedureConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    named = {_key(vars(training)): name for name, training in config.procedures().items()}
    rows = [{"procedure": named[_key(row)], **row} for row in measured["measures"].records()]
    unseen = [row for row in rows if row["kind"] == "unseen"]
    networks = _networks(config, unseen)
    note = f"k = {config.length}, n = {config.rules}. {config.seeds} seeds of {config.model.cell}, unseen conduits."
    return [
        _outcome(networks, config.training.epochs, note),
        Table.make(
            "over-training", "P(close) over training", (NAME, shared.EPOCH, MEASURE, *BAND),
            shared.bands(unseen, ("procedure", "epoch"), OVER_TRAINING), place="Section 3", figure="conduit-procedure",
            details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        networks,
    ]  # fmt: skip


def _key(values: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(values[column.name] for column in PROCEDURE)


def _networks(config: ProcedureConfig, rows: list[Row]) -> Table:
    """One row per network: at the end, and when it had learned the rule."""
    ends = {
        key: {
            **group[-1], "learned": _time(group, "open"), "learned_own": _time(group, "own"),
            **{name: shared.largest(group, name) for name in ("error", "growth")},
        }
        for key, group in grouped(rows, KEY).items()
    }  # fmt: skip
    columns = (
        NAME, *PROCEDURE, *(Column(name, role="label") for name in ("seed", "epoch")),
        *(Column(name) for name in ("open", "own", "loss")),
        Column("learned", "epoch at which P(close) from the open symbol passes 1/2, between measured ones by log odds"),
        Column("learned_own", "the same of the network's own P(close)"), shared.ERROR, shared.GROWTH,
    )  # fmt: skip
    order = list(config.procedures())
    ordered = sorted(ends.values(), key=lambda row: (order.index(row["procedure"]), row["seed"]))
    return Table.make("networks", "Every network", columns, ordered, details=True)


def _time(rows: list[Row], name: str) -> float | None:
    """The epoch at which P(close) passes one half, between two measured ones by its log odds: procedures that learn
    within one interval of measurement are told apart."""
    for one, other in itertools.pairwise(rows):
        if one[name] <= shared.LEARNED < other[name]:
            low, high = (shared.log_odds(row[name]) for row in (one, other))
            passed = (shared.log_odds(shared.LEARNED) - low) / (high - low)
            return float(one["epoch"] + passed * (other["epoch"] - one["epoch"]))
    return None


def _outcome(networks: Table, epochs: float, note: str) -> Table:
    rows = []
    for (name,), group in grouped(networks.records(), ("procedure",)).items():
        opened, times = shared.band([row["open"] for row in group]), [row["learned"] for row in group]
        rows.append(
            {
                "procedure": name, **{column.name: group[0][column.name] for column in PROCEDURE},
                "seeds": opened["seeds"], "open": opened["mean"], "low": opened.get("low"), "high": opened.get("high"),
                "own": shared.band([row["own"] for row in group])["mean"],
                "learned": sum(time is not None for time in times), "epochs": aggregate.band(times)["mean"],
            }
        )  # fmt: skip
    own, _, _, *learned = shared.OWN
    columns = (NAME, *PROCEDURE, shared.SEEDS, *shared.OPEN, own, *learned)
    title = f"How probable the close symbol is after {epochs:g} epochs, and when the rule was learned"
    return Table.make("outcome", title, columns, rows, place="Section 3", note=note)


def delay(tables: Tables, procedure: str) -> Values:
    """log2 of the epochs that a procedure needs over those of the published one; infinite where one of them did not
    learn the rule, no number where neither did."""
    slow, plain = _times(tables, procedure), _times(tables, "as published")
    return {seed: time - plain[seed] for seed, time in slow.items()}


def learned(tables: Tables) -> Values:
    """The share of training after which the published procedure has learned the rule; infinite where it has not."""
    (epochs,) = {row["epoch"] for row in tables["networks"].records()}
    return {seed: 2**time / epochs for seed, time in _times(tables, "as published").items()}


def _times(tables: Tables, procedure: str) -> Values:
    rows = tables["networks"].where(procedure=procedure).records()
    if not rows:
        raise NotMeasuredError(f"no network of the procedure {procedure!r}")
    return {row["seed"]: math.inf if row["learned"] is None else math.log2(row["learned"]) for row in rows}
