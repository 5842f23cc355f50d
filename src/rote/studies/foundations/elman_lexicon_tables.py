"""The tables of the lexicon: prediction beside what was published, branches of Figure 7, tokens, the unseen word; and
the numbers that its claims judge, one value per seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rote.claims import Estimate, Tables, mean, paired_difference, proportion
from rote.laboratory.aggregate import Row, band, column_of, grouped, interval_columns, measured
from rote.store import Column, Table
from rote.studies.foundations import published
from rote.studies.foundations.elman_tables import NETWORK, SEEDS, TRAINED, UNTRAINED, counts_name, curve, per_network

LINKAGE = "average"
COUNTS, MODEL, GRAMMAR = counts_name(2), "language model", "the grammar itself"
WITH_UNSEEN = "with an unseen word"
PUBLISHED = {
    "error": published.LEXICON_ERROR,
    "cosine": published.LEXICON_COSINE,
    "cosine_sd": published.LEXICON_COSINE_SD,
    "likelihood": published.LEXICON_LIKELIHOOD,
    "likelihood_sd": published.LEXICON_LIKELIHOOD_SD,
}
LINKED = Column("linkage", "how distances of branches are computed", "label")
COLUMNS = {
    "prediction": (
        Column("words", "length of the training stream"),
        Column("error", "distance from the actual next word: root of the mean squared error, summed over bits"),
        Column("squared", "the same before the root"),
        Column("cosine", "with the likelihood vector, mean over words"),
        Column("cosine_sd", "its standard deviation over words"),
        Column("likelihood", "squared error from the likelihood vector, summed over bits, mean over words"),
        Column("likelihood_sd", "its standard deviation over words"),
    ),
    "groups": (
        LINKED,
        Column("group", "branch of Figure 7", "label"),
        Column("exact", "1 if it is a branch here, with the same words and no others"),
        Column("likeness", "of the most similar branch: words in both over words in either"),
    ),
    "tokens": (
        Column("own", "share of all occurrences that are nearest to the mean state of their own word"),
        Column(
            "place", "of boy and girl: share nearest to the mean of their own place, first or later in the sentence"
        ),
    ),
    "unseen": (
        Column("nearest", "the three words nearest to it", "label"),
        Column("branch", "the words of the branch that it joins", "label"),
        Column("nearest_kin", "1 if the nearest is a human noun"),
        Column("joins_kin", "1 if the branch has human nouns only"),
    ),
}
TREES = {
    TRAINED: ("Words by their mean hidden states, Elman's procedure", "Figure 7"),
    WITH_UNSEEN: ("Words by their mean hidden states, with 'zog' in the place of 'man'", "Figure 8"),
    COUNTS: ("Words by counts of their neighbors, no network", ""),
    MODEL: ("Words by the mean hidden states of a vanilla RNN language model", "Power of RNNs"),
    UNTRAINED: ("The same before training", "Footnote 6"),
}


def tree_name(network: str) -> str:
    return f"tree {network}".replace(" ", "-")


def all_tables(tables: Mapping[str, Table], note: str) -> list[Table]:
    """The study's tables, from those of its measurements."""
    lengths = ", ".join(f"{length:,}" for length in published.LEXICON_STREAMS)
    streams = f"Published lengths of the one stream: {lengths} words."
    return [
        per_network(tables["prediction"], "Prediction of the next word", "p. 199", f"{note} {streams}", PUBLISHED),
        _trees(tables["groups"], note),
        _groups(tables["groups"], note),
        per_network(tables["tokens"], "Tokens and their own word", "p. 202, Figure 9", note, name="tokens"),
        per_network(tables["unseen"], "The unseen word in the place of 'man'", "Figure 8", note, name="unseen-word"),
        *(tables[tree_name(network)] for network in TREES if tree_name(network) in tables),
        curve(tables["curve"], note),
        *(tables[name] for name in ("prediction", "groups", "unseen")),
        replace(tables["tokens"], name="token-seeds"),
    ]


def _trees(groups: Table, note: str) -> Table:
    rows: list[Row] = []
    for (network, linkage), group in grouped(groups.records(), ("network", "linkage")).items():
        exact = [sum(row["exact"] for row in one) for one in grouped(group, ("seed",)).values()]
        rows.append({"network": network, "linkage": linkage, **band(exact, (0.0, len(published.LEXICON_GROUPS)))})
    columns = (
        NETWORK, LINKED, SEEDS,
        Column("mean", f"branches of Figure 7 that are branches here, of {len(published.LEXICON_GROUPS)}"),
        *interval_columns(),
    )  # fmt: skip
    return Table.make("trees", "Branches of Figure 7 found exactly", columns, rows, place="Figure 7", note=note)


def _groups(groups: Table, note: str) -> Table:
    networks = list(dict.fromkeys(groups.column("network")))
    shares = {
        key: sum(row["exact"] for row in group) / len(group)
        for key, group in grouped(groups.where(linkage=LINKAGE).records(), ("group", "network")).items()
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


def _exact(tables: Tables, network: str, linkage: str = LINKAGE) -> list[float]:
    """How many branches of Figure 7 the tree of each seed has."""
    rows = tables["groups"].where(network=network, linkage=linkage).records()
    return [sum(row["exact"] for row in group) for _, group in sorted(grouped(rows, ("seed",)).items())]


def branches(network: str = TRAINED, linkage: str = LINKAGE) -> Callable[[Tables], Estimate]:
    """The mean number of branches of Figure 7."""
    return lambda tables: mean(_exact(tables, network, linkage), (0.0, float(len(published.LEXICON_GROUPS))))


def branches_over_counts(tables: Tables) -> Estimate:
    """The same of the trained networks minus that of counts."""
    return paired_difference(_exact(tables, TRAINED), _exact(tables, COUNTS))


def all_of(*groups: str, network: str = TRAINED) -> Callable[[Tables], Estimate]:
    """The share of seeds in whose tree all these are branches."""

    @measured
    def share_of_seeds(tables: Tables) -> Estimate:
        exact = [column_of(tables["groups"], "exact", network=network, linkage=LINKAGE, group=name) for name in groups]
        return proportion(sum(all(seed) for seed in zip(*exact, strict=True)), len(exact[0]))

    return share_of_seeds


def share(table: str, name: str, network: str = TRAINED) -> Callable[[Tables], Estimate]:
    """The share of seeds in which a column is 1."""

    @measured
    def share_of_seeds(tables: Tables) -> Estimate:
        values = column_of(tables[table], name, network=network)
        return proportion(round(sum(values)), len(values))

    return share_of_seeds
