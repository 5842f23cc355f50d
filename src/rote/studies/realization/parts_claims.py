"""What source 002 says of an exchanged decoder (section 5.1, Table 4), under several readings of decoder, as claims."""

from __future__ import annotations

from rote.claims import Assertion, Claim, Published, above, any_of, at_most, inside, measured
from rote.studies.realization import published
from rote.studies.realization.parts_tables import lost_share, pieced
from rote.studies.realization.retraining import PIECES

NEW_COMPOSITIONS = 32  # rows of the test set
DECODERS = ("decoder", "decoder without attention", "recurrent part")  # what decoder may mean
BASELINE = pieced("baseline", "original")
COMPOSES = Assertion(
    "Guided minus baseline, both as trained", pieced("guided", "original") - BASELINE, above(0), role="condition"
)
FORMS = {"original": "as trained", "none": "only retrained", "decoder": "with a baseline's decoder"}


def _numbers(kind: str) -> tuple[Published, ...]:
    """The row of Table 4 with a decoder, three models, against each reading of it."""
    mean, sd = published.SUBSTITUTION[kind, "decoder"]
    return tuple(
        Published(f"Table 4, {kind}, decoder read as {name}", pieced(kind, name), mean=mean, sd=sd, m=3, divisor="m",
                  rows=NEW_COMPOSITIONS)
        for name in DECODERS
    )  # fmt: skip


CLAIMS = (
    Claim(
        "lookup-parts-decoder", "realization", "Section 5.1, Table 4",
        "With a frozen baseline decoder, in one of the readings of decoder, a guided model loses most of its accuracy "
        "on new compositions.",
        "Table 4: .12 ± .05 against .82 ± .12; “the network is apparently unable to recover”",
        (
            any_of(
                *(
                    Assertion(f"Share of the accuracy that is lost, {name} exchanged",
                              measured(lost_share, name, "gru"), above(0.5))
                    for name in DECODERS
                )
            ),
            COMPOSES,
        ),
        kind="implied",
        numbers=_numbers("guided"),
        remark="Most: more than half. With or without attention, or the recurrent part alone: one reading is enough.",
    ),
    Claim(
        "lookup-parts-baseline", "realization", "Section 5.1, Table 4",
        "In one of the readings of decoder, a guided decoder does not make a baseline better on new compositions.",
        "“None of the baseline models given a frozen component from an AG model are able to retrain themselves such "
        "that they significantly increase performance”",
        (
            any_of(
                *(
                    Assertion(f"Gain with a guided {name}", pieced("baseline", name) - BASELINE, at_most(0.1))
                    for name in DECODERS
                )
            ),
            *(
                Assertion(f"Gain with a guided {name} alone", pieced("baseline", name) - BASELINE, at_most(0.1),
                          role="report")
                for name in PIECES if name not in DECODERS
            ),
            COMPOSES,
        ),
        kind="implied",
        numbers=_numbers("baseline"),
        remark="Significantly: by more than 0.1, as in lookup-substitution-baseline, which has the whole decoder.",
    ),
    Claim(
        "lookup-parts-attention", "realization", "Not in the source",
        "What lifts a baseline with a guided decoder is its attention: without it, less is gained.",
        "not in the source, where a guided decoder lifts no baseline",
        (
            Assertion("Accuracy of a baseline, guided decoder with minus without attention",
                      pieced("baseline", "decoder") - pieced("baseline", "decoder without attention"), above(0)),
            Assertion("Gain with a whole guided decoder", pieced("baseline", "decoder") - BASELINE, above(0.1),
                      role="condition"),
            Assertion("Gain with a guided attention alone", pieced("baseline", "attention") - BASELINE, above(0.1),
                      role="report"),
        ),
        kind="ours",
    ),
    Claim(
        "lookup-gru-form", "realization", "Section 2.2, equations, against the authors' code",
        "Whether the reset gate acts before the matrix, as in the equations, or after it, as in the authors' code, "
        "guided models are about as accurate on new compositions, as trained and with a baseline's decoder.",
        "the equation of the candidate state has the reset gate inside the product with W_hh",
        tuple(
            Assertion(f"Reset before minus reset after, guided, {told}",
                      pieced("guided", name, "gru_before") - pieced("guided", name), inside(-0.15, 0.15))
            for name, told in FORMS.items()
        ),
        kind="ours",
        remark="About: within 0.15, about the standard deviation of the source's own guided models. Preset quick has "
        "one form only: cells=gru,gru_before for both.",
    ),
)  # fmt: skip
