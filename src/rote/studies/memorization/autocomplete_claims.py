"""What source 003 says, of networks that are trained here."""

from __future__ import annotations

from rote.claims import Assertion, Claim, Published, Region, above, below, column, inside, measured
from rote.claims.claim import Role
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_tables import view
from rote.studies.memorization.previous_words import NORMS, REACH, SHARE
from rote.studies.memorization.sentences import ahead, short_long, situations, slope

GRU, LSTM, NESTED = published.CELLS.values()
WAITS = (
    "Of one example, and the source warns that it may not generalize. Measured where the word is in the vocabulary: "
    "with 5000 words of text8 all are."
)
POSITIVE = above(0)
AS_PUBLISHED = "with padding and unknown words counted as published"


def _gap(
    label: str, table: str, name: str, first: str, second: str, holds: Region = POSITIVE, role: Role = "part",
    **where: int,
) -> Assertion:  # fmt: skip
    """On a column: that of one cell minus that of another."""
    return Assertion(
        label, column(table, name, cell=first, **where) - column(table, name, cell=second, **where), holds, role=role
    )


CLAIMS = (
    Claim(
        "autocomplete-order", "memorization", "Future work; appendix, test table",
        "GRU and LSTM have almost the same accuracy on the test text, and both a higher one than the Nested LSTM.",
        published.ORDER,
        (
            _gap("Accuracy, GRU minus LSTM", "networks", "accuracy", GRU, LSTM, inside(-0.01, 0.01)),
            _gap("Accuracy, GRU minus Nested LSTM", "networks", "accuracy", GRU, NESTED),
            _gap("Accuracy, LSTM minus Nested LSTM", "networks", "accuracy", LSTM, NESTED),
            _gap("Cross entropy, LSTM minus GRU", "networks", "cross_entropy", LSTM, GRU, role="report"),
            _gap("Cross entropy, Nested LSTM minus LSTM", "networks", "cross_entropy", NESTED, LSTM, role="report"),
        ),
        numbers=tuple(
            Published(
                f"{title}, {cell}", column("networks", name, cell=cell), mean=published.TEST[cell][place], unit=unit
            )
            for place, (name, title, unit) in enumerate(
                (("cross_entropy", "Cross entropy", "nats"), ("accuracy", "Accuracy", ""))
            )
            for cell in published.CELLS.values()
        ),
        remark="Almost identical is taken as within a hundredth, which the source's own difference is. Its curves "
        "cross: its GRU is behind the LSTM for more than half of its mini-batches, so a short training tests this at "
        "another place.",
    ),
    short_long(
        "autocomplete", "asserted", "corrected",
        Assertion(f"The first, {AS_PUBLISHED}", measured(ahead, "as published", 0, 0), above(0), role="report"),
        Assertion(f"The second, {AS_PUBLISHED}", measured(slope, "as published"), below(0), role="report"),
        remark="Padding is not counted, and words outside the vocabulary are left out.",
    ),
    Claim(
        "autocomplete-nested-reach", "memorization", "Connectivity figure",
        "The Nested LSTM draws less on previous words, and less far back, than the GRU and the LSTM.",
        published.NESTED,
        tuple(
            _gap(
                f"{what.capitalize()}, {cell} minus Nested LSTM, {text}, {norm}", "networks",
                view(what, "trained", text, norm), cell, NESTED, role="part" if norm == "squared" else "report",
            )
            for norm in NORMS for text in ("paragraph", "test text") for what in (SHARE, REACH) for cell in (GRU, LSTM)
        ),
        "ours", remark="The source says it of one output of one network.",
    ),
    Claim(
        "autocomplete-initial-reach", "memorization", "Not in the source",
        "The Nested LSTM's short reach is there before any training.",
        "not measured; from the stored networks' connectivity one cannot tell",
        tuple(
            _gap(
                f"log10 of connectivity {lag} characters back, {cell} minus Nested LSTM, untrained", "initial-lags",
                "ratio", cell, NESTED, lag=lag,
            )
            for lag in (10, 50) for cell in (GRU, LSTM)
        ),
        "ours", remark="The source's initialization and, unless initial.units says otherwise, its size.",
    ),
    *situations("autocomplete", "implied", WAITS),
)  # fmt: skip
