"""The tables of the studies of text: baselines beside every network, each network, and both over training; and how
far networks are above a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rote.claims import NotMeasuredError, PerSeed, Tables, Values, column, mean
from rote.laboratory.aggregate import BAND, Row, bands, grouped, interval_columns, interval_values
from rote.store import Column, Table
from rote.tasks.text_baselines import baselines
from rote.tasks.text_tasks import Corpus, Kind

BASELINES = "baselines"
SCORE = {"classification": "share of texts that are right", "tagging": "share of words that are right"}
MODEL = Column("model", "baseline, or network", "label")


def score(kind: Kind) -> str:
    """What a number in the tables is."""
    return SCORE.get(kind, "perplexity: exp of the mean loss per word, end of sentence included")


def curve_columns(kind: Kind) -> tuple[Column, ...]:
    """Of the table that has every network over training."""
    return (
        MODEL,
        Column("seed", "random seed", "label"),
        Column("epoch", "passes over the training data", "label"),
        Column("parameters", "trained numbers", "label"),
        Column("loss", "cross entropy on dev, nats"),
        Column("dev", score(kind) + ", dev"),
        Column("test", score(kind) + ", test"),
    )


def baseline_table(kind: Kind, corpus: Corpus) -> Table:
    """What counting gives."""
    columns = (MODEL, Column("dev", score(kind) + ", dev"), Column("test", score(kind) + ", test"))
    rows = [{"model": name, **scores} for name, scores in baselines(kind, corpus).items()]
    return Table.make(BASELINES, "Baselines", columns, rows, note=corpus.note)


def all_tables(kind: Kind, title: str, place: str, tables: Mapping[str, Table]) -> list[Table]:
    """A study's tables, from those of its measurements."""
    counted, curves = tables[BASELINES], tables["curves"]
    networks = [_network(key, rows) for key, rows in grouped(curves.records(), ("model", "seed")).items()]
    columns = (
        MODEL,
        Column("seed", "random seed", "label"),
        Column("parameters", "trained numbers"),
        Column("dev", score(kind) + ", dev, with the weights that have the lowest loss there"),
        Column("test", score(kind) + ", test, with these weights"),
        Column("last_dev", "dev, with the last weights"),
        Column("last_test", "test, with the last weights"),
        Column("best_epoch", "epoch of the lowest loss on dev"),
        Column("epochs", "epochs trained"),
    )
    return [
        _outcome(kind, title, place, counted, networks),
        _over_training(kind, curves, counted),
        Table.make("networks", "Every network", columns, networks, details=True, note=counted.note),
        Table.make("curves", "Every network over training", curves.columns, curves.records(), details=True),
    ]


def _network(key: tuple[Any, ...], rows: list[Row]) -> Row:
    best = min(rows, key=lambda row: math.inf if row["loss"] is None else row["loss"])
    last = rows[-1]
    return {
        "model": key[0], "seed": key[1], "parameters": last["parameters"], "dev": best["dev"], "test": best["test"],
        "last_dev": last["dev"], "last_test": last["test"], "best_epoch": best["epoch"], "epochs": last["epoch"],
    }  # fmt: skip


def _outcome(kind: Kind, title: str, place: str, counted: Table, networks: list[Row]) -> Table:
    rows: list[Row] = [dict(row) for row in counted.records()]
    for (name,), mine in grouped(networks, ("model",)).items():
        row: Row = {"model": name, "seeds": len(mine), "parameters": mine[0]["parameters"]}
        for part in ("dev", "test"):
            values = [item[part] for item in mine if item[part] is not None]
            average = mean(values)
            row |= {part: average.value} if values else {}
            row |= interval_values(average, part)
        epochs = [item["best_epoch"] for item in mine]
        rows.append({**row, "best_epoch": sum(epochs) / len(epochs)})
    columns = (
        MODEL,
        Column("seeds", "networks trained", "label"),
        Column("parameters", "trained numbers", "label"),
        *(
            column
            for part in ("dev", "test")
            for column in (Column(part, f"{score(kind)}, {part}"), *interval_columns(part))
        ),
        Column("best_epoch", "mean epoch of the lowest loss on dev, whose weights are used"),
    )
    return Table.make("outcome", f"{title}: {score(kind)}", columns, rows, place=place, note=counted.note)


def _over_training(kind: Kind, curves: Table, counted: Table) -> Table:
    rows = [{"panel": "dev", **row} for row in bands(curves.records(), ("model", "epoch"), "dev")]
    columns = (
        Column("panel", "part of the data", "label"), MODEL, Column("epoch", "passes over the training data", "label"),
        *BAND,
    )  # fmt: skip
    lines = {row["model"]: row["dev"] for row in counted.records() if row["model"] != "uniform"}
    return Table.make(
        "training", f"Over training: {score(kind)}, dev", columns, rows, figure="text-training", details=True,
        note=counted.note, options={"measure": score(kind), "baselines": lines},
    )  # fmt: skip


def difference(first: str, second: str, part: str = "test") -> PerSeed:
    """The score of one variant's networks minus that of another's, same seed."""
    return column("networks", part, model=first) - column("networks", part, model=second)


def over_baseline(tables: Tables, baseline: Mapping[str, str], **network: str) -> Values:
    """The scores in test of the networks with these labels minus that of a baseline."""
    counted = tables["outcome"].where(**baseline).column("test")
    if counted in ([], [None]):
        raise NotMeasuredError(f"no score of {baseline} in test")
    return {seed: value - counted[0] for seed, value in column("networks", "test", **network)(tables).items()}
