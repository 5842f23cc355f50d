"""The lecture's claims about number agreement, and the numbers on which they are judged. One value per seed."""

from __future__ import annotations

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean
from rote.studies.foundations import published
from rote.studies.summaries import column_of, measured

ORDERS = (2, 3, 4, 5)
SUBJECT, OBJECT = "subject relative", "object relative"


@measured
def accuracy(tables: Tables, model: str, attractors: str, depth: int = 2, structure: str = "phrases") -> Estimate:
    labels = {"model": model, "attractors": attractors, "depth": depth, "structure": structure}
    return mean(column_of(tables["accuracy"], "accuracy", **labels), bounds=(0.0, 1.0))


def _of(label: str, role: str, criterion: object, *condition: object) -> Measurement:
    return Measurement(label, lambda tables: accuracy(tables, *condition), criterion, role)  # type: ignore[arg-type]


CLAIMS = (
    Claim(
        "agreement-n-grams", "foundations", "Long-distance dependencies, I; Summary",
        "Models of n-grams cannot give a verb the number of a subject that is further away than their n words.",
        published.N_GRAMS,
        (
            *(
                _of(f"{n}-gram, two phrases, opposite nouns", "main", below(0.6), f"{n}-gram", "opposite")
                for n in ORDERS
            ),
            _of("2-gram, two phrases, congruent nouns", "control", above(0.9), "2-gram", "congruent"),
            _of("2-gram, subject next to the verb", "control", above(0.9), "2-gram", "congruent", 0),
            _of("4-gram, subject relative, opposite noun", "contrast", below(0.6), "4-gram", "opposite", 1, SUBJECT),
            _of("5-gram, object relative, opposite noun", "contrast", below(0.6), "5-gram", "opposite", 1, OBJECT),
        ),
        remark="The controls show that they follow the noun before the verb. In a subject relative the inner verb, "
        "within four words, carries the subject's number: there the claim does not hold for n of at least 4.",
    ),
    Claim(
        "agreement-rnn", "foundations", "Long-distance dependencies, I; Summary",
        "A vanilla recurrent network can: it agrees with the subject whatever the nouns between.",
        published.IN_PRINCIPLE,
        (
            _of("Elman, two phrases, opposite nouns", "main", above(0.9, at_all=0.6), "elman", "opposite"),
            _of("Elman, object relative, opposite", "main", above(0.9, at_all=0.6), "elman", "opposite", 1, OBJECT),
            _of("Untrained, two phrases, opposite nouns", "control", below(0.6), "untrained elman", "opposite"),
            _of("GRU, two phrases, opposite nouns", "contrast", above(0.9), "gru", "opposite"),
            _of("LSTM, two phrases, opposite nouns", "contrast", above(0.9), "lstm", "opposite"),
        ),
    ),
    Claim(
        "agreement-far", "foundations", "Long-distance dependencies, I",
        "Also where the subject is very far away: further than in any sentence of the training.",
        published.NUMBER,
        (
            _of("Elman, three phrases, opposite nouns", "main", above(0.9, at_all=0.6), "elman", "opposite", 3),
            _of("Elman, five phrases, opposite nouns", "main", above(0.9, at_all=0.6), "elman", "opposite", 5),
            _of("GRU, five phrases, opposite nouns", "contrast", above(0.9), "gru", "opposite", 5),
            _of("LSTM, five phrases, opposite nouns", "contrast", above(0.9), "lstm", "opposite", 5),
        ),
        remark="The lecture speaks of principle; sentences longer than those of the training are our test of it.",
    ),
)  # fmt: skip
