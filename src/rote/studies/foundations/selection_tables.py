"""The tables of selection: updates until a gap is learned, accuracy at the end and over training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.laboratory.aggregate import BAND, Row, band, bands, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.foundations.sentences import counted, neural
from rote.tasks.selection import SelectionTask

if TYPE_CHECKING:
    from rote.studies.foundations.selection import SelectionConfig

LEARNED = 0.95  # share of items right, from which on a gap is learned
MIXED = "mixed gaps"
MODEL = Column("model", "recurrent unit, or n-grams by order, counted or neural", "label")
TRAINED = Column("trained", "gaps of the training", "label")
GAP = Column("gap", "words between noun and object in the test", "label")
STEP = Column("step", "updates", "label")
ACCURACY = (
    MODEL,
    TRAINED,
    Column("seed", "random seed of sentences and network", "label"),
    STEP,
    GAP,
    Column("accuracy", "share of items in which objects of the right kind are more probable"),
)


def all_tables(config: SelectionConfig, tables: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from that of its measurements."""
    rows = tables["accuracy"].records()
    networks = _networks(config, rows)
    note = f"{config.seeds} seeds, {config.training.steps} updates, {config.items} items each."
    own = [row for row in rows if row["model"] in config.cells and row["gap"] == longest(config, row["trained"])]
    return [
        _outcome(networks, config.further, note),
        _counts(config, rows, note),
        Table.make(
            "over-training", "Share of items right over training", (MODEL, TRAINED, STEP, *BAND),
            bands(own, ("model", "trained", "step"), "accuracy", (0.0, 1.0)), place="Selectional Restrictions",
            figure="selection", details=True,
            note=f"With the trained gap; mixed training with its longest. Bands: 95 % intervals. {note}",
        ),
        Table.make(
            "gaps", "Accuracy at the end by gap of the test", (MODEL, TRAINED, GAP, *BAND),
            bands(_last(rows), ("model", "trained", "gap"), "accuracy", (0.0, 1.0)), details=True, note=note,
        ),
        networks,
    ]  # fmt: skip


def longest(config: SelectionConfig, trained: str) -> int:
    """The longest gap of a training."""
    settings: dict[str, SelectionTask] = config.settings()
    return max(settings[trained].gaps)


def _last(rows: list[Row]) -> list[Row]:
    last = {model: max(row["step"] for row in group) for (model,), group in grouped(rows, ("model",)).items()}
    return [row for row in rows if row["step"] == last[row["model"]]]


def _networks(config: SelectionConfig, rows: list[Row]) -> Table:
    """One row per model, training and seed: accuracy at the end, by gap, and when the trained gap was learned."""
    each = []
    gaps = (*sorted({*config.gaps, *config.alone}), config.further)
    for key, group in grouped(rows, ("model", "trained", "seed")).items():
        own = longest(config, key[1])
        over = sorted((row["step"], row["accuracy"]) for row in group if row["gap"] == own)
        end = {row["gap"]: row["accuracy"] for row in group if row["step"] == over[-1][0]}
        learned = next((step for step, right in over if right > LEARNED), None)
        labels = dict(zip(("model", "trained", "seed"), key, strict=True))
        reached = {"own": end[own], "before": over[0][1], "learned": learned if key[0] in config.cells else None}
        each.append({**labels, **reached, **{f"gap_{gap}": end.get(gap) for gap in gaps}})
    columns = (
        MODEL, TRAINED, Column("seed", role="label"),
        Column("own", "accuracy at the end with the trained gap, of several the longest"),
        Column("before", "the same before training"),
        Column("learned", f"first recorded update with more than {LEARNED:.0%} right"),
        *(Column(f"gap_{gap}", f"accuracy at the end with a gap of {gap}") for gap in gaps),
    )  # fmt: skip
    return Table.make("networks", "Every model", columns, each, details=True)


def _outcome(networks: Table, further: int, note: str) -> Table:
    rows = []
    for (model, trained), group in grouped(networks.records(), ("model", "trained")).items():
        if model.endswith("-gram"):
            continue
        times = [row["learned"] for row in group]
        rows.append(
            {
                "model": model, "trained": trained, **band([row["own"] for row in group], (0.0, 1.0)),
                "learned": sum(time is not None for time in times), "updates": band(times)["mean"],
                "further": band([row[f"gap_{further}"] for row in group])["mean"] if trained == MIXED else None,
            }
        )  # fmt: skip
    columns = (
        MODEL, TRAINED, Column("seeds", "networks", "label"),
        Column("mean", "share of items right with the trained gap, of several the longest"),
        *interval_columns(),
        Column("learned", f"networks with more than {LEARNED:.0%} right at some time"),
        Column("updates", "until then, mean over those"),
        Column("further", f"share right with an untrained gap of {further}"),
    )  # fmt: skip
    title = "Is the object learned across the gap, and after how many updates?"
    return Table.make("outcome", title, columns, rows, place="Selectional Restrictions", note=note)


def _counts(config: SelectionConfig, rows: list[Row], note: str) -> Table:
    models = dict.fromkeys(row["model"] for row in rows)
    names = [name for kind in (counted, neural) for name in map(kind, config.orders) if name in models]
    own = [row for row in _last(rows) if row["model"] in names and row["trained"] == f"gap {row['gap']}"]
    wide = [
        {
            "gap": gap,
            **{name: band([row["accuracy"] for row in group if row["model"] == name])["mean"] for name in names},
        }
        for (gap,), group in grouped(own, ("gap",)).items()
    ]
    columns = (GAP, *(Column(name, "share of items right, mean over seeds") for name in names))
    return Table.make(
        "n-grams", "The same by n-grams, counted and neural", columns, wide, place="Selectional Restrictions",
        note=f"Counted on {config.sentences} sentences with that gap, or trained as the networks above. {note}",
    )  # fmt: skip
