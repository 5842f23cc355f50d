"""The tables of the study of conduit predictability: what is printed, and the data behind its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rote.store import Column, FinishedRun, Table
from rote.studies.conduits.summary import NETWORK, at_epoch, band, bands, key_of, largest_error, learning_times
from rote.studies.conduits.tables import (
    CELL,
    EPOCH,
    ERROR,
    KIND,
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
    from rote.studies.conduits.predictability import PredictabilityConfig

EARLY = 0.25  # of training: what the claim about gradients calls early
SETTING = Column("setting", "conduits also outside the rule (predictable) or not; generator", "label")
MEASURE = Column("measure", "what is measured", "label")
GRADIENTS = {"jacobians": "product of Jacobians", "carried": "gradient at open over before close"}
CURVE = ("cell", "setting", "k", "epoch")


def all_tables(config: PredictabilityConfig, runs: Sequence[FinishedRun]) -> list[Table]:
    found = collected(runs)
    measures = in_order(config, found["measures"].records())
    corpora = in_order(config, found["corpora"].records())
    unseen = [row for row in measures if row["kind"] == "unseen"]
    networks = _networks(config, measures)
    note = seeds_note(config.model.cell, config.seeds, config.others, config.other_seeds)
    curve = (CELL, SETTING, LENGTH, EPOCH, MEASURE, *BAND)
    by_kind = (CELL, SETTING, KIND, LENGTH, EPOCH, MEASURE, *BAND)
    return [
        _outcome(networks, corpora, config.training.epochs, note),
        Table.make(
            "figure-3", "P(close) from the open symbol over training", curve,
            bands(unseen, CURVE, {"open": "open symbol"}), place="Figure 3", figure="conduit-predictability",
            details=True, note=f"Unseen conduits in the test. Bands: 95 % intervals. {note}",
        ),
        Table.make(
            "own-probability", "The networks' own P(close) over training", by_kind,
            bands(measures, ("cell", "setting", "kind", "k", "epoch"), {"own": "the whole network"}),
            place="Section 4.2", figure="conduit-own", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        Table.make(
            "gradients", "How the loss at the close symbol reaches the open symbol", by_kind,
            bands(measures, ("cell", "setting", "kind", "k", "epoch"), GRADIENTS, probability=False),
            place="Section 1", figure="conduit-gradients", details=True,
            note=f"log10 of norms, through the conduit. Bands: 95 % intervals. {note}",
        ),
        variants(in_order(config, found["variants"].records()), ("cell", "setting", "k"), note),
        networks,
    ]  # fmt: skip


def in_order(config: PredictabilityConfig, rows: list[Row]) -> list[Row]:
    """The main cell first, then by setting, length and seed."""
    cells, settings = (config.model.cell, *config.others), config.settings
    return sorted(
        rows, key=lambda row: (cells.index(row["cell"]), settings.index(row["setting"]), row["k"], row["seed"])
    )


def _networks(config: PredictabilityConfig, measures: list[Row]) -> Table:
    """One row per network and kind of conduit: at the end, and early in training."""
    learned, own = learning_times(measures), learning_times(measures, "own")
    groups = grouped(measures, NETWORK)
    values = ("open", "open_at_close", "conduit", "whole", "own", "own_early", "interdependence", "loss")
    rows = []
    for row in at_epoch(measures, config.training.epochs):
        key = key_of(row)
        early = [other for other in groups[key] if 0 < other["epoch"] <= EARLY * config.training.epochs]
        rows.append(
            {
                **{name: row[name] for name in (*NETWORK, "epoch", *values)},
                "learned": learned[key], "learned_own": own[key],
                **{f"early_{name}": band([other[name] for other in early], False)["mean"] for name in GRADIENTS},
                "error": largest_error(groups[key]),
            }
        )  # fmt: skip
    columns = (
        *(Column(name, role="label") for name in (*NETWORK, "epoch")),
        *(Column(name) for name in values),
        LEARNED_AT,
        Column("learned_own", "the same of the network's own P(close)"),
        *(Column(f"early_{name}", f"{title}, log10, first quarter of training") for name, title in GRADIENTS.items()),
        ERROR,
    )
    return Table.make("networks", "Every network", columns, rows, details=True)


def _outcome(networks: Table, corpora: list[Row], epochs: float, note: str) -> Table:
    labels = ("cell", "setting", "k")
    placed = grouped(corpora, labels)
    rows = []
    for key, row in outcomes(networks, labels).items():
        whole = [corpus["whole"] / corpus["opened"] if corpus["opened"] else None for corpus in placed[key]]
        kept = [corpus["whole"] / corpus["asked"] for corpus in placed[key]]
        rows.append({**row, "whole": band(whole)["mean"], "rules": band(kept)["mean"]})
    columns = (
        CELL, SETTING, LENGTH, SEEDS,
        Column("whole", "share of the corpus's open symbols that have their close symbol"),
        Column("rules", "share of the rules asked for that the corpus has"),
        *OPEN, *OWN,
    )  # fmt: skip
    title = f"Corpora, and how probable the close symbol is after {epochs:g} epochs"
    return Table.make("outcome", title, columns, rows, place="Figure 3", note=f"Tested with unseen conduits. {note}")
