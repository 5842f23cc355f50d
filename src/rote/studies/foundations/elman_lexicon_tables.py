"""The tables of the lexicon: prediction beside what was published, branches of Figure 7, tokens, the unseen word; and
how many branches a seed's tree has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rote.claims import NotMeasuredError, Tables, Values
from rote.laboratory.aggregate import Row, band, grouped, interval_columns
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


def tree_name(network: str, seed: int | None = None) -> str:
    """Of a study's table; or, with its seed, of a measurement's."""
    return f"tree {network}{'' if seed is None else f' {seed}'}".replace(" ", "-")


def all_tables(tables: Mapping[str, Table], note: str, shown: int) -> list[Table]:
    """The study's tables, from those of its measurements. ``shown``: the seed whose trees are shown."""
    lengths = ", ".join(f"{length:,}" for length in published.LEXICON_STREAMS)
    streams = f"Published lengths of the one stream: {lengths} words."
    return [
        per_network(tables["prediction"], "Prediction of the next word", "p. 199", f"{note} {streams}", PUBLISHED),
        _trees(tables["groups"], note),
        _groups(tables["groups"], note),
        per_network(tables["tokens"], "Tokens and their own word", "p. 202, Figure 9", note, name="tokens"),
        per_network(tables["unseen"], "The unseen word in the place of 'man'", "Figure 8", note, name="unseen-word"),
        *(
            replace(tables[tree_name(network, shown)], name=tree_name(network))
            for network in TREES
            if tree_name(network, shown) in tables
        ),
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


def branches(tables: Tables, network: str, linkage: str, of: tuple[str, ...] = ()) -> Values:
    """How many branches of Figure 7, all or these, the tree of each seed has."""
    rows = tables["groups"].where(network=network, linkage=linkage).records()
    chosen = [row for row in rows if not of or row["group"] in of]
    if not chosen:
        raise NotMeasuredError(f"no tree of {network} with {linkage} linkage")
    return {seed: sum(row["exact"] for row in group) for (seed,), group in grouped(chosen, ("seed",)).items()}
