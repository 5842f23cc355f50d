"""The tables of language models that are compared with one budget of parameters and trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.store import Column, Table

if TYPE_CHECKING:
    from rote.studies.foundations.language_modeling import LanguageConfig

NETWORK = Column("network", "feed-forward (window), or recurrent unit", "label")
RATE = Column("rate", "learning rate", "label")
SEED = Column("seed", "random seed", "label")
REACHED = (
    Column("parameters", "trained numbers"),
    Column("loss", "lowest cross entropy on dev, nats"),
    Column("dev", "perplexity there, dev"),
    Column("test", "perplexity there, test"),
    Column("epoch", "passes over the training data until then"),
)
TRIALS = (NETWORK, RATE, SEED, *REACHED)


def tuned_tables(config: LanguageConfig, trials: Table | None, note: str) -> list[Table]:
    """Of each network and seed the learning rate that is best on dev; none without trials."""
    if trials is None:
        return []
    best: list[Row] = [
        min(group, key=lambda row: row["loss"]) for group in grouped(trials.records(), ("network", "seed")).values()
    ]
    told = (
        f"At most {config.budget} parameters each, learning rates {', '.join(f'{rate:g}' for rate in config.rates)} "
        f"to choose from on dev, {config.tuned_epochs:g} epochs. {note}"
    )
    columns = (NETWORK, SEED, Column("rate", "learning rate that is best on dev"), *REACHED)
    return [
        _outcome(best, told),
        Table.make("tuned-networks", "Every network with one budget", columns, best, details=True, note=told),
        Table.make("trials", "Every trial", TRIALS, trials.records(), details=True, note=told),
    ]


def _outcome(best: list[Row], note: str) -> Table:
    rows: list[Row] = []
    for (network,), group in grouped(best, ("network",)).items():
        means = {name: band([row[name] for row in group])["mean"] for name in ("dev", "epoch")}
        rates = [row["rate"] for row in group]
        test = band([row["test"] for row in group])
        chosen = ", ".join(f"{rate:g}: {rates.count(rate)}" for rate in sorted(set(rates)))
        labels = {"network": network, "parameters": group[0]["parameters"], "rates": chosen}
        rows.append({**labels, **test, "test": test["mean"], **means})
    columns = (
        NETWORK, Column("seeds", "networks", "label"), Column("parameters", "trained numbers", "label"),
        Column("dev", "perplexity, dev"), Column("test", "perplexity, test"), *interval_columns(),
        Column("rates", "learning rates that dev chose, and in how many seeds", "label"),
        Column("epoch", "mean epoch of the lowest loss on dev"),
    )  # fmt: skip
    title = "One budget of parameters and trials: perplexity"
    return Table.make("tuned", title, columns, rows, place="RNNs: high-level", note=note)
