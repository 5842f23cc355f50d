"""The lecture's claims about selectional restrictions, and the numbers on which they are judged. One value per seed."""

from __future__ import annotations

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.studies.foundations import published
from rote.studies.summaries import column_of, measured

LEARNED = 0.95
MIXED = "mixed gaps"


@measured
def accuracy(tables: Tables, model: str, trained: str | None = None, column: str = "own") -> Estimate:
    return mean(_values(tables, model, trained, column), bounds=(0.0, 1.0))


@measured
def gain(tables: Tables, model: str) -> Estimate:
    """Accuracy with the longest gap: trained with all gaps minus with that alone."""
    return paired_difference(_values(tables, model, MIXED, "own"), _values(tables, model, None, "own"))


@measured
def gated(tables: Tables, model: str) -> Estimate:
    return paired_difference(_values(tables, model, None, "own"), _values(tables, "elman", None, "own"))


@measured
def shorter(tables: Tables, model: str) -> Estimate:
    """Accuracy of training with the shortest gap alone minus with the longest alone."""
    shortest = min(tables["networks"].column("trained"), key=_number)
    return paired_difference(_values(tables, model, shortest, "own"), _values(tables, model, None, "own"))


def further(tables: Tables, model: str) -> Estimate:
    return accuracy(tables, model, MIXED, f"gap_{tables['networks'].options['further']}")


def _values(tables: Tables, model: str, trained: str | None, column: str) -> list[float]:
    """``trained``: None for the longest gap alone, which is the lecture's."""
    networks = tables["networks"]
    return column_of(networks, column, model=model, trained=trained or f"gap {networks.options['lecture']}")


def _number(trained: str) -> int:
    return int(trained.removeprefix("gap ")) if trained.startswith("gap ") else 1000


CLAIMS = (
    Claim(
        "selection-n-grams", "foundations", "Selectional Restrictions",
        "n-grams, as P(word | they wanted a larger), cannot tell the family's object from the team's.",
        published.SELECTION,
        (
            Measurement("4-gram, gap of the lecture", lambda tables: accuracy(tables, "4-gram"), below(0.6)),
            Measurement("5-gram, gap of the lecture", lambda tables: accuracy(tables, "5-gram"), below(0.6)),
            Measurement(
                "4-gram, gap of 2: the noun is within its reach", lambda tables: accuracy(tables, "4-gram", "gap 2"),
                above(0.9), role="control",
            ),
        ),
    ),
    Claim(
        "selection-rnn", "foundations", "Selectional Restrictions; Summary",
        "A vanilla recurrent network, in principle, captures such a dependency: trained on sentences with the "
        "lecture's gap, it expects the right object.",
        published.IN_PRINCIPLE,
        (
            Measurement(
                "Elman, gap of the lecture alone", lambda tables: accuracy(tables, "elman"), above(0.9, at_all=0.6)
            ),
            Measurement(
                "Elman before training", lambda tables: accuracy(tables, "elman", column="before"), below(0.6),
                role="control",
            ),
            Measurement(
                "Elman, gap of 2 alone", lambda tables: accuracy(tables, "elman", "gap 2"), above(0.9),
                role="contrast",
            ),
            Measurement(
                "GRU, gap of the lecture alone", lambda tables: accuracy(tables, "gru"), above(0.9), role="contrast"
            ),
            Measurement(
                "LSTM, gap of the lecture alone", lambda tables: accuracy(tables, "lstm"), above(0.9), role="contrast"
            ),
        ),
        remark="Within the updates of the preset.",
    ),
    Claim(
        "selection-vanishing", "foundations", "Next Time",
        "Vanilla recurrent networks have a problem with distance in training that gated ones have less.",
        published.VANISHING,
        (
            Measurement(
                "Elman: accuracy with the shortest gap alone minus with the longest alone",
                lambda tables: shorter(tables, "elman"), above(0.2, at_all=0.0),
            ),
            Measurement(
                "LSTM minus Elman, gap of the lecture alone", lambda tables: gated(tables, "lstm"),
                above(0.2, at_all=0.0),
            ),
            Measurement(
                "GRU minus Elman, gap of the lecture alone", lambda tables: gated(tables, "gru"), above(0.2),
                role="contrast",
            ),
        ),
        remark="The lecture announces it and measures nothing.",
    ),
    Claim(
        "selection-mixed", "foundations", "Selectional Restrictions; with source 000",
        "What the long gap alone does not teach a vanilla network, it learns when shorter gaps are seen beside it.",
        published.SCAFFOLD,
        (
            Measurement(
                "Elman, gap of the lecture: trained with all gaps minus with it alone",
                lambda tables: gain(tables, "elman"), above(0.2, at_all=0.0),
            ),
            Measurement(
                "Elman, gap of the lecture, trained with all gaps", lambda tables: accuracy(tables, "elman", MIXED),
                above(0.9, at_all=0.6),
            ),
            Measurement("GRU, the difference", lambda tables: gain(tables, "gru"), above(0.0), role="contrast"),
            Measurement("LSTM, the difference", lambda tables: gain(tables, "lstm"), above(0.0), role="contrast"),
            Measurement(
                "Elman, a gap longer than any trained", lambda tables: further(tables, "elman"), above(0.6),
                role="contrast",
            ),
            Measurement(
                "LSTM, a gap longer than any trained", lambda tables: further(tables, "lstm"), above(0.6),
                role="contrast",
            ),
        ),
        remark="Not a claim of the lecture: our question to it, from source 000, where a long rule is built on short "
        "constituents.",
    ),
)  # fmt: skip
