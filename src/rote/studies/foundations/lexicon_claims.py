"""The claims about Elman's lexicon, and the numbers on which they are judged. One value per seed."""

from __future__ import annotations

from collections.abc import Sequence

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference, proportion
from rote.studies.foundations import published
from rote.studies.summaries import column_of, grouped, measured

LINKAGE = "average"
CLASSES = ("nouns", "verbs", "animate", "inanimate", "human")


@measured
def quality(tables: Tables, name: str, network: str) -> Estimate:
    return mean(column_of(tables["prediction"], name, network=network))


def _exact(tables: Tables, network: str, linkage: str) -> list[float]:
    """Branches of Figure 7 found, of each seed."""
    rows = tables["groups"].where(network=network, linkage=linkage).records()
    return [sum(row["exact"] for row in group) for _, group in sorted(grouped(rows, ("seed",)).items())]


def branches(tables: Tables, network: str, linkage: str = LINKAGE) -> Estimate:
    return mean(_exact(tables, network, linkage), bounds=(0.0, float(len(published.LEXICON_GROUPS))))


def over_counts(tables: Tables, linkage: str = LINKAGE) -> Estimate:
    return paired_difference(_exact(tables, "trained", linkage), _exact(tables, "counts of 2", linkage))


@measured
def all_of(tables: Tables, groups: Sequence[str], network: str = "trained") -> Estimate:
    """Share of seeds in whose tree all these are branches."""
    found = [column_of(tables["groups"], "exact", network=network, linkage=LINKAGE, group=group) for group in groups]
    return proportion(sum(all(seed) for seed in zip(*found, strict=True)), len(found[0]))


@measured
def share(tables: Tables, table: str, name: str, network: str = "trained") -> Estimate:
    values = column_of(tables[table], name, network=network)
    return proportion(round(sum(values)), len(values))


@measured
def tokens(tables: Tables, network: str = "trained") -> Estimate:
    return mean(column_of(tables["token-seeds"], "own", network=network), bounds=(0.0, 1.0))


CLAIMS = (
    Claim(
        "elman-lexicon-prediction", "foundations", "Elman 1990, p. 199",
        "The network predicts what can follow: its outputs are close to the likelihood of each word, given the "
        "sentence so far.",
        published.LEXICON_PREDICTION,
        (
            Measurement(
                "Cosine with the likelihood vectors", lambda tables: quality(tables, "cosine", "trained"),
                above(0.88, at_all=0.7),
            ),
            Measurement(
                "Error on the actual next word (zeros: 1.0)", lambda tables: quality(tables, "error", "trained"),
                below(0.95, at_all=1.0),
            ),
            Measurement(
                "Cosine before training", lambda tables: quality(tables, "cosine", "untrained"), below(0.6),
                role="control",
            ),
            Measurement(
                "Cosine of counts of two words", lambda tables: quality(tables, "cosine", "counts of 2"),
                below(0.88), role="contrast",
            ),
            Measurement(
                "Cosine of a language model of today", lambda tables: quality(tables, "cosine", "language model"),
                above(0.88), role="contrast",
            ),
            Measurement(
                "Cosine of the grammar's own probabilities",
                lambda tables: quality(tables, "cosine", "the grammar itself"), above(0.88), role="contrast",
            ),
            Measurement(
                "Error on the actual next word of the grammar's own probabilities",
                lambda tables: quality(tables, "error", "the grammar itself"), below(published.LEXICON_ERROR),
                role="contrast",
            ),
        ),
        remark="Likelihood vectors are counted, at the end of a sentence from few sentences: even the grammar that "
        "made them has no cosine of 1. Its error on the next word is the least that can be had; where it is above the "
        "published one, the article's sentences were easier than ours.",
    ),
    Claim(
        "elman-lexicon-tree", "foundations", "Power of RNNs; Elman 1990, Figure 7",
        "The tree of mean hidden states has the branches of the article's: word classes and classes within them.",
        published.LEXICON_TREE,
        (
            Measurement(
                f"Branches of Figure 7, of {len(published.LEXICON_GROUPS)}",
                lambda tables: branches(tables, "trained"), above(6.0, at_all=3.0),
            ),
            Measurement(
                "The same before training", lambda tables: branches(tables, "untrained"), below(3.0), role="control"
            ),
            Measurement(
                "The same, trained, Ward's linkage", lambda tables: branches(tables, "trained", "ward"), above(6.0),
                role="contrast",
            ),
            Measurement(
                "The same of a language model of today", lambda tables: branches(tables, "language model"),
                above(6.0), role="contrast",
            ),
            Measurement(
                "Trained network minus counts of neighboring words", over_counts, above(0.0), role="contrast"
            ),
        ),
        remark="Counts of neighboring words, without a network, give nearly the same tree: by itself the figure does "
        "not show that more than these was learned.",
    ),
    Claim(
        "elman-lexicon-classes", "foundations", "Power of RNNs; Elman 1990, Figure 7",
        "Verbs are apart from nouns, animate from inanimate nouns, and humans within the animate.",
        published.LEXICON_TREE,
        (
            Measurement(
                "Share of seeds with verbs, nouns, animate, inanimate and human as branches",
                lambda tables: all_of(tables, CLASSES), above(0.5),
            ),
            Measurement(
                "The same before training", lambda tables: all_of(tables, CLASSES, "untrained"), below(0.5),
                role="control",
            ),
            Measurement(
                "The same of counts of neighboring words", lambda tables: all_of(tables, CLASSES, "counts of 2"),
                below(0.5), role="contrast",
            ),
        ),
    ),
    Claim(
        "elman-lexicon-animals", "foundations", "Elman 1990, Figure 7",
        "Animals, small and large, are one branch.",
        published.LEXICON_TREE,
        (
            Measurement(
                "Share of seeds with animals as a branch", lambda tables: all_of(tables, ("animals",)), above(0.5)
            ),
        ),
    ),
    Claim(
        "elman-lexicon-zog", "foundations", "Elman 1990, p. 203, Figure 8",
        "A word that was never seen, put in the places of 'man', is taken for a human noun, without learning.",
        published.LEXICON_ZOG,
        (
            Measurement(
                "Share of seeds in which it joins a branch of humans only",
                lambda tables: share(tables, "unseen", "joins_kin"), above(0.5, at_all=0.25),
            ),
            Measurement(
                "The same before training", lambda tables: share(tables, "unseen", "joins_kin", "untrained"),
                below(0.5), role="control",
            ),
            Measurement(
                "Share of seeds in which the nearest word is human",
                lambda tables: share(tables, "unseen", "nearest_kin"), above(0.5), role="contrast",
            ),
        ),
    ),
    Claim(
        "elman-lexicon-tokens", "foundations", "Elman 1990, p. 202",
        "Each occurrence of a word, in whatever context, stays with its own word.",
        published.LEXICON_TOKENS,
        (
            Measurement("Share of tokens nearest to their own word", tokens, above(0.99, at_all=0.9)),
            Measurement(
                "The same before training", lambda tables: tokens(tables, "untrained"), above(0.9), role="contrast"
            ),
        ),
        remark="Before training the word's own weights alone keep its tokens together: staying with one's word is not "
        "something that is learned.",
    ),
)  # fmt: skip
