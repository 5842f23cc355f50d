"""The tables of the lexicon: prediction beside what was published, branches of Figure 7, tokens, the unseen word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rote.store import Column, FinishedRun, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_tables import NETWORK, SEEDS, curve, per_network
from rote.studies.summaries import Row, band, collected, grouped, interval_columns

if TYPE_CHECKING:
    from rote.studies.foundations.elman_lexicon import LexiconConfig

PUBLISHED = {
    "error": published.LEXICON_ERROR,
    "cosine": published.LEXICON_COSINE,
    "cosine_sd": published.LEXICON_COSINE_SD,
    "likelihood": published.LEXICON_LIKELIHOOD,
    "likelihood_sd": published.LEXICON_LIKELIHOOD_SD,
}


def all_tables(config: LexiconConfig, runs: Sequence[FinishedRun]) -> list[Table]:
    found = collected(runs)
    note = f"After {config.training.passes:g} passes over {config.sentences} sentences; {config.seeds} seeds."
    lengths = ", ".join(f"{length:,}" for length in published.LEXICON_STREAMS)
    streams = f"Published lengths of the one stream: {lengths} words."
    return [
        per_network(found["prediction"], "Prediction of the next word", "p. 199", f"{note} {streams}", PUBLISHED),
        _trees(found["groups"], note),
        _groups(found["groups"], note),
        per_network(found["tokens"], "Tokens and their own word", "p. 202, Figure 9", note, name="tokens"),
        per_network(found["unseen"], "The unseen word in the place of 'man'", "Figure 8", note, name="unseen-word"),
        *(table for name, table in sorted(found.items(), key=_tree_order) if name.startswith("tree-")),
        curve(found["curve"], note),
        *(found[name] for name in ("prediction", "groups", "unseen")),
        replace(found["tokens"], name="token-seeds"),
    ]


def _tree_order(item: tuple[str, Table]) -> int:
    order = ("tree-trained", "tree-with-an-unseen-word", "tree-counts-of-2", "tree-language-model", "tree-untrained")
    return order.index(item[0]) if item[0] in order else len(order)


def _trees(groups: Table, note: str) -> Table:
    rows: list[Row] = []
    for (network, linkage), group in grouped(groups.records(), ("network", "linkage")).items():
        exact = [sum(row["exact"] for row in one) for one in grouped(group, ("seed",)).values()]
        rows.append({"network": network, "linkage": linkage, **band(exact, (0.0, len(published.LEXICON_GROUPS)))})
    columns = (
        NETWORK, Column("linkage", "how distances of branches are computed", "label"), SEEDS,
        Column("mean", f"branches of Figure 7 that are branches here, of {len(published.LEXICON_GROUPS)}"),
        *interval_columns(),
    )  # fmt: skip
    return Table.make("trees", "Branches of Figure 7 found exactly", columns, rows, place="Figure 7", note=note)


def _groups(groups: Table, note: str) -> Table:
    networks = list(dict.fromkeys(groups.column("network")))
    shares = {
        key: sum(row["exact"] for row in group) / len(group)
        for key, group in grouped(groups.where(linkage="average").records(), ("group", "network")).items()
    }
    rows = [
        {"group": name, "words": len(words), **{network: shares[name, network] for network in networks}}
        for name, words in published.LEXICON_GROUPS.items()
    ]
    columns = (
        Column("group", "branch of Figure 7", "label"), Column("words", "in the branch", "label"),
        *(Column(network, "share of seeds in which it is a branch of its tree") for network in networks),
    )  # fmt: skip
    return Table.make("branches", "Which branches of Figure 7 are found", columns, rows, place="Figure 7", note=note)
