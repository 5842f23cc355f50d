"""The tables of the study of rule frequency: what is printed, and the data behind its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rote.store import Column, FinishedRun, Table
from rote.studies.conduits.summary import (
    BAND,
    NETWORK,
    Row,
    at_epoch,
    band,
    bands,
    collected,
    grouped,
    largest_error,
    learning_times,
)

if TYPE_CHECKING:
    from rote.studies.conduits.frequency import FrequencyConfig

CELL, LENGTH, COUNT = (
    Column("cell", "recurrent unit", "label"),
    Column("k", "symbols between open and close", "label"),
    Column("n", "rules in the training corpus", "label"),
)
EPOCH = Column("epoch", "passes over the corpus", "label")
MEASURE = Column("measure", "what P(close) is computed from", "label")
PARTS = {"open": "open symbol", "conduit": "conduit"}
OVER_TRAINING = {"open": "open symbol", "whole": "open symbol and conduit", "own": "the whole network"}


def tables(config: FrequencyConfig, runs: Sequence[FinishedRun]) -> list[Table]:
    found = collected(runs)
    measures = in_order(config, found["measures"].records())
    networks = _networks(config, measures, found["corpora"].records())
    unseen = [row for row in measures if row["kind"] == "unseen"]
    shown = at_epoch(unseen, config.figure_1_epoch)
    note = f"{_seeds(config)} Conduits of the test are unseen."
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


def variants(rows: list[Row], names: tuple[str, ...], note: str) -> Table:
    """P(close) from the open symbol at the end, by bias rule and step of reading, where the rule is most frequent."""
    most = max(row["n"] for row in rows)
    chosen = [row for row in rows if row["kind"] == "unseen" and row["n"] == most]
    made = []
    for key, group in grouped(chosen, (*names, "bias", "at")).items():
        labels = dict(zip((*names, "bias", "at"), key, strict=True))
        opened, conduit = band([row["open"] for row in group]), band([row["conduit"] for row in group])
        made.append({**labels, "seeds": opened["seeds"], "open": opened["mean"], "conduit": conduit["mean"]})
    columns = (
        *(Column(name, role="label") for name in names),
        Column("bias", "where products of biases count as relevant", "label"),
        Column("at", "step of reading; at_close as published", "label"),
        Column("seeds", "networks", "label"),
        Column("open", "P(close) from the open symbol alone, mean over seeds"),
        Column("conduit", "P(close) from the conduit as one phrase, mean over seeds"),
    )
    title = "P(close) by the three published bias rules and both steps of reading"
    return Table.make("variants", title, columns, made, place="Section 3.1", note=f"n = {most}. {note}", details=True)


def _networks(config: FrequencyConfig, measures: list[Row], corpora: list[Row]) -> Table:
    """One row per network and kind of conduit: at the epoch of Figure 1, at the end, and before training."""
    shown, end = at_epoch(measures, config.figure_1_epoch), at_epoch(measures, config.training.epochs)
    start = {_key(row): row for row in at_epoch(measures, 0.0)}
    last, times = {_key(row): row for row in end}, learning_times(measures)
    single = {tuple(row[name] for name in NETWORK[:-1]): row["error"] for row in corpora}
    worst = {key: largest_error(group) for key, group in grouped(measures, NETWORK).items()}
    values = ("open", "open_at_close", "conduit", "conduit_at_close", "whole", "own", "interdependence", "loss")
    ends = ("open", "open_at_close", "whole", "whole_at_close", "own", "own_early")
    rows = [
        {
            **{name: row[name] for name in (*NETWORK, "epoch", *values)},
            **{f"end_{name}": last[_key(row)][name] for name in ends},
            "open_untrained": start[_key(row)]["open"], "learned": times[_key(row)],
            "error": worst[_key(row)], "error_float32": single[_key(row)[:-1]],
        }
        for row in shown
    ]  # fmt: skip
    columns = (
        *(Column(name, role="label") for name in (*NETWORK, "epoch")),
        *(Column(name) for name in values),
        *(Column(f"end_{name}", "at the end of training") for name in ends),
        Column("open_untrained", "P(close) from the open symbol before training"),
        Column("learned", "first measured epoch with P(close) from the open symbol above 1/2"),
        Column("error", "largest relative error of the decomposition over training, float64"),
        Column("error_float32", "the same at the end, in float32"),
    )
    options = {"figure_2_length": config.figure_2_length}
    return Table.make("networks", "Every network", columns, rows, details=True, options=options)


def _outcome(networks: Table, epoch: float, note: str) -> Table:
    unseen, seen = (networks.where(kind=kind).records() for kind in ("unseen", "training"))
    with_seen = grouped(seen, ("cell", "k", "n"))
    rows = []
    for key, group in grouped(unseen, ("cell", "k", "n")).items():
        opened, times = band([row["open"] for row in group]), [row["learned"] for row in group]
        rows.append(
            {
                **dict(zip(("cell", "k", "n"), key, strict=True)), "seeds": opened["seeds"], "open": opened["mean"],
                "low": opened.get("low"), "high": opened.get("high"),
                **{name: band([row[name] for row in group])["mean"] for name in ("conduit", "own")},
                "own_training": band([row["own"] for row in with_seen[key]])["mean"],
                "interdependence": band([row["interdependence"] for row in group], probability=False)["mean"],
                "learned": sum(time is not None for time in times),
                "epochs": band(times, probability=False)["mean"],
            }
        )  # fmt: skip
    columns = (
        CELL, LENGTH, COUNT, Column("seeds", "networks", "label"),
        Column("open", "P(close) from the open symbol alone, mean over seeds"),
        Column("low", "lower end of its 95 % interval"),
        Column("high", "upper end of its 95 % interval"),
        Column("conduit", "P(close) from the conduit as one phrase"),
        Column("own", "the network's own P(close)"),
        Column("own_training", "the same with conduits of the training rules"),
        Column("interdependence", "of open symbol and conduit, relative"),
        Column("learned", "networks that learned the rule: P(close) from the open symbol above 1/2 at some time"),
        Column("epochs", "after how many epochs, mean over those"),
    )  # fmt: skip
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


def _seeds(config: FrequencyConfig) -> str:
    others = f"; {', '.join(config.others)}: {config.other_seeds}" if config.others else ""
    return f"Seeds of {config.model.cell}: {config.seeds}{others}."


def _key(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in NETWORK)
