"""The tables of the study of conduit predictability, and what its claims take from them: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.claims import NotMeasuredError, Tables, Values
from rote.laboratory import aggregate
from rote.laboratory.aggregate import BAND, Row, grouped
from rote.store import Column, Table
from rote.studies.conduits import rules_tables as shared

if TYPE_CHECKING:
    from rote.studies.conduits.predictability import PredictabilityConfig

EARLY = 0.25  # of training: what the claim about gradients calls early
SETTING = Column("setting", "conduits also outside the rule (predictable) or not; generator", "label")
MEASURE = Column("measure", "what is measured", "label")
GRADIENTS = {"jacobians": "product of Jacobians", "carried": "gradient at open over before close"}
CURVE = ("cell", "setting", "k", "epoch")


def all_tables(config: PredictabilityConfig, measured: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    measures, corpora = _sorted(config, measured["measures"]), _sorted(config, measured["corpora"])
    unseen = [row for row in measures if row["kind"] == "unseen"]
    networks = _networks(config, measures)
    note = shared.seeds_note(config.model.cell, config.seeds, config.others, config.other_seeds)
    curve = (shared.CELL, SETTING, shared.LENGTH, shared.EPOCH, MEASURE, *BAND)
    by_kind = (shared.CELL, SETTING, shared.KIND, shared.LENGTH, shared.EPOCH, MEASURE, *BAND)
    gradients = Table.make(
        "gradients", "How the loss at the close symbol reaches the open symbol", by_kind,
        shared.bands(measures, ("cell", "setting", "kind", "k", "epoch"), GRADIENTS, None),
        place="Section 1", figure="conduit-gradients", details=True,
        note=f"log10 of norms, through the conduit. Bands: 95 % intervals. {note}",
    )  # fmt: skip
    return [
        _outcome(networks, corpora, config.training.epochs, note),
        Table.make(
            "figure-3", "P(close) from the open symbol over training", curve,
            shared.bands(unseen, CURVE, {"open": "open symbol"}), place="Figure 3", figure="conduit-predictability",
            details=True, note=f"Unseen conduits in the test. Bands: 95 % intervals. {note}",
        ),
        Table.make(
            "own-probability", "The networks' own P(close) over training", by_kind,
            shared.bands(measures, ("cell", "setting", "kind", "k", "epoch"), {"own": "the whole network"}),
            place="Section 4.2", figure="conduit-own", details=True, note=f"Bands: 95 % intervals. {note}",
        ),
        *([gradients] if gradients.rows else []),
        shared.variants(_sorted(config, measured["variants"]), ("cell", "setting", "k"), note),
        networks,
    ]  # fmt: skip


def _sorted(config: PredictabilityConfig, table: Table) -> list[Row]:
    """The rows by cell, the main one first, then by setting, length and seed."""
    cells, settings = (config.model.cell, *config.others), config.settings
    return sorted(
        table.records(),
        key=lambda row: (cells.index(row["cell"]), settings.index(row["setting"]), row["k"], row["seed"]),
    )


def _networks(config: PredictabilityConfig, measures: list[Row]) -> Table:
    """One row per network and kind of conduit: at the end, and early in training."""
    learned, own = shared.learning_times(measures), shared.learning_times(measures, "own")
    groups = grouped(measures, shared.NETWORK)
    values = ("open", "open_at_close", "conduit", "whole", "own", "own_early", "interdependence", "loss")
    rows = []
    for row in shared.at_epoch(measures, config.training.epochs):
        key = shared.key_of(row)
        early = [other for other in groups[key] if 0 < other["epoch"] <= EARLY * config.training.epochs]
        rows.append(
            {
                **{name: row[name] for name in (*shared.NETWORK, "epoch", *values)},
                "learned": learned[key], "learned_own": own[key],
                **{f"early_{name}": aggregate.band([other[name] for other in early])["mean"] for name in GRADIENTS},
                **{name: shared.largest(groups[key], name) for name in ("error", "growth")},
            }
        )  # fmt: skip
    columns = (
        *(Column(name, role="label") for name in (*shared.NETWORK, "epoch")),
        *(Column(name) for name in values),
        shared.LEARNED_AT,
        Column("learned_own", "the same of the network's own P(close)"),
        *(Column(f"early_{name}", f"{title}, log10, first quarter of training") for name, title in GRADIENTS.items()),
        shared.ERROR,
        shared.GROWTH,
    )
    return Table.make("networks", "Every network", columns, rows, details=True)


def _outcome(networks: Table, corpora: list[Row], epochs: float, note: str) -> Table:
    labels = ("cell", "setting", "k")
    placed = grouped(corpora, labels)
    rows = []
    for key, row in shared.outcomes(networks, labels).items():
        whole = [corpus["whole"] / corpus["opened"] if corpus["opened"] else None for corpus in placed[key]]
        kept = [corpus["whole"] / corpus["asked"] for corpus in placed[key]]
        rows.append({**row, "whole": shared.band(whole)["mean"], "rules": shared.band(kept)["mean"]})
    columns = (
        shared.CELL, SETTING, shared.LENGTH, shared.SEEDS,
        Column("whole", "share of the corpus's open symbols that have their close symbol"),
        Column("rules", "share of the rules asked for that the corpus has"),
        *shared.OPEN, *shared.OWN,
    )  # fmt: skip
    title = f"Corpora, and how probable the close symbol is after {epochs:g} epochs"
    return Table.make("outcome", title, columns, rows, place="Figure 3", note=f"Tested with unseen conduits. {note}")


def head_start(tables: Tables, k: int, column: str = "learned", kind: str = "unseen", suffix: str = "") -> Values:
    """log2 of the epochs that the unpredictable setting needs over those of the predictable one; infinite where one of
    them did not learn the rule, no number where neither did."""
    slow, fast = (_times(tables, f"{setting}{suffix}", k, column, kind) for setting in ("unpredictable", "predictable"))
    return {seed: time - fast[seed] for seed, time in slow.items()}


def learned(tables: Tables, k: int) -> Values:
    """The share of training after which the rule is learned in the faster setting; infinite where in neither."""
    one, other = (_times(tables, setting, k, "learned", "unseen") for setting in ("unpredictable", "predictable"))
    (epochs,) = {row["epoch"] for row in tables["networks"].records()}
    return {seed: 2 ** min(time, other[seed]) / epochs for seed, time in one.items()}


def learned_in(tables: Tables, setting: str, k: int, kind: str) -> Values:
    """The share of training after which the rule is learned in one setting; infinite where it is not."""
    times = _times(tables, setting, k, "learned", kind)
    (epochs,) = {row["epoch"] for row in tables["networks"].records()}
    return {seed: 2**time / epochs for seed, time in times.items()}


def _times(tables: Tables, setting: str, k: int, column: str, kind: str) -> Values:
    rows = tables["networks"].where(cell="lstm", setting=setting, k=k, kind=kind).records()
    if not rows:
        raise NotMeasuredError(f"no LSTM of the setting {setting!r} with k = {k}")
    return {row["seed"]: math.inf if row[column] is None else math.log2(row[column]) for row in rows}
