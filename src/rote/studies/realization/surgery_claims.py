"""What source 002 says of exchanged parts and cut neurons (section 5, Table 4), as claims."""

from __future__ import annotations

from collections.abc import Sequence

from rote.claims import (
    Assertion,
    Claim,
    Group,
    Published,
    Region,
    above,
    all_of,
    any_of,
    at_most,
    below,
    inside,
    measured,
)
from rote.claims.claim import Role
from rote.studies.realization import published
from rote.studies.realization.retraining import EXCHANGED, STRENGTHS
from rote.studies.realization.surgery_tables import exchanged, lost_share, order_agreement, pruned

NEW_COMPOSITIONS = 32  # rows of the test set
GAINS = ("encoder W_ih", "decoder W_hh")
READINGS = (
    "What makes a neuron strong is not said: by its number of strong edges, its mean or its largest absolute weight; "
    "one of the readings is enough."
)
WHOLE = {"original": "original", "none": "retrained without exchange"}


def _numbers(kind: str, *components: str) -> tuple[Published, ...]:
    """Rows of Table 4: three models each. The source has no retrained models without an exchange."""
    rows = {name: published.SUBSTITUTION[kind, "none" if name == "original" else name] for name in components}
    return tuple(
        Published(
            f"Table 4, {kind}, {name}", exchanged(kind, name), mean=mean, sd=sd, m=3, divisor="m",
            rows=NEW_COMPOSITIONS,
        )
        for name, (mean, sd) in rows.items()
    )  # fmt: skip


def _against(whole: str, component: str, region: Region, role: Role = "part") -> Assertion:
    """Guided models: what an exchange changes, against those as trained or those with the same retraining."""
    change = exchanged("guided", component) - exchanged("guided", whole)
    return Assertion(f"Accuracy, {component} exchanged minus {WHOLE.get(whole, whole)}", change, region, role=role)


def _lost(whole: str, part: str, region: Region, role: Role = "part") -> Assertion:
    return Assertion(
        f"Share of the accuracy that is lost, against {WHOLE[whole]}", measured(lost_share, part, whole), region,
        role=role,
    )  # fmt: skip


def _exchange(
    number: str, says: str, quoted: str, assertions: Sequence[Assertion], *components: str, remark: str = ""
) -> Claim:
    """A claim about guided models with components of baselines."""
    return Claim(
        f"lookup-substitution-{number}", "realization", "Section 5.1, Table 4", says, quoted, (*assertions, COMPOSES),
        numbers=_numbers("guided", *components), remark=remark,
    )  # fmt: skip


def _whole_part(part: str, quoted: str) -> Claim:
    return _exchange(
        part, f"With a frozen baseline {part} a guided model does not find its solution again: most of its accuracy on "
        "new compositions is lost.",
        quoted, (_lost("original", part, above(0.5)), _lost("none", part, above(0.5), "rival")), part,
        remark="Most: more than half; the size is compared with Table 4.",
    )  # fmt: skip


def _retrained(by: str) -> Group:
    """One reading of strong: neurons chosen by it, retrained, against the whole network as trained."""
    gain = pruned(by) - pruned("none", "before")
    return all_of(
        Assertion(f"Restored: retrained minus whole network, kept by {by}", gain, above(-0.05)),
        Assertion(f"Better: retrained minus whole network, kept by {by}", gain, above(0)),
    )


def _retrained_rivals(by: str) -> tuple[Assertion, ...]:
    others = {"none": "the whole network with the same retraining", "random": "random neurons with the same retraining"}
    return tuple(
        Assertion(f"Kept by {by}, minus {told}", pruned(by) - pruned(other), above(0), role="rival")
        for other, told in others.items()
    )


def _strong_numbers(value: str, said: float) -> tuple[Published, ...]:
    return tuple(Published(f"Section 5.2, kept by {by}", pruned(by, value), mean=said) for by in STRENGTHS)


BASELINE = exchanged("baseline", "original")
COMPOSES = Assertion(
    "Guided minus baseline, both as trained", exchanged("guided", "original") - BASELINE, above(0),
    role="condition",
)  # fmt: skip
TABLE_4 = {
    "original" if component == "none" else component: accuracy
    for (kind, component), (accuracy, _) in published.SUBSTITUTION.items()
    if kind == "guided"
}
CLAIMS = (
    _whole_part("encoder", "“Replacing the entire encoder results in a 80% drop in accuracy to 0.167”"),
    Claim(
        "lookup-substitution-drop", "realization", "Section 5.1",
        "Replacing the entire encoder loses four fifths of the accuracy on new compositions.",
        "“a 80% drop in accuracy to 0.167”",
        (_lost("original", "encoder", inside(0.65, 0.95)), COMPOSES),
        remark="Within 0.15, about the published standard deviation of 0.11 as a share of 0.82. The accuracy itself is "
        "compared in lookup-substitution-encoder.",
    ),
    _whole_part("decoder", "Table 4: .12 ± .05 against .82 ± .12; “the network is apparently unable to recover”"),
    _exchange(
        "decoder-embedding", "With a baseline's decoder embedding a guided model is less accurate.",
        "“do seem to play a role, as indicated by a much lower score than the original AG model”",
        (_against("original", "decoder embedding", below(0)), _against("none", "decoder embedding", below(0), "rival")),
        "decoder embedding",
    ),
    _exchange(
        "decoder-input", "With a baseline's input-to-hidden weights in the decoder a guided model is less accurate.",
        "“replacing the decoder’s W_ih weights drops the accuracy to around 0.6”",
        (_against("original", "decoder W_ih", below(0)), _against("none", "decoder W_ih", below(0), "rival")),
        "decoder W_ih",
    ),
    _exchange(
        "encoder-embedding", "With a baseline's encoder embedding a guided model is about as accurate.",
        "“the encoder embeddings seem irrelevant for a compositional solution: using baseline embeddings result in a "
        "similar score”",
        (
            _against("original", "encoder embedding", inside(-0.15, 0.15)),
            _against("none", "encoder embedding", inside(-0.15, 0.15), "report"),
        ),
        "encoder embedding",
        remark="Similar: within 0.15, the standard deviation of the three published models without an exchange.",
    ),
    _exchange(
        "encoder-recurrent",
        "The encoder's hidden-to-hidden weights can be replaced without as big a drop as the whole encoder.",
        "“the encoder hidden to hidden (W_hh) weight can be replaced without as big a drop”",
        (
            _against("encoder", "encoder W_hh", above(0)),
            _against("original", "encoder W_hh", inside(-0.15, 0.15), "report"),
        ),
        "encoder W_hh",
    ),
    Claim(
        "lookup-substitution-gains", "realization", "Section 5.1, Table 4",
        "Baseline input-to-hidden weights in the encoder, and hidden-to-hidden weights in the decoder, improve a "
        "guided model.",
        "“using the baseline input to hidden (W_ih) weights actually improves the accuracy”; “an unexpected increase "
        "to almost 0.9”",
        (
            *(_against("original", component, above(0)) for component in GAINS),
            *(_against("none", component, above(0), "rival") for component in GAINS),
            Assertion("Accuracy of the original", exchanged("guided", "original"), below(1), role="condition",
                      scale="unit"),
        ),
        numbers=_numbers("guided", *GAINS),
        remark="The source compares with models that were not trained any longer: only a gain over the retrained ones "
        "can come from the exchange.",
    ),
    Claim(
        "lookup-substitution-order", "realization", "Table 4",
        "The eight components, and none, stand in the published order of the accuracy that is left.",
        published.SUBSTITUTION_ORDER,
        (
            Assertion("Kendall's tau between Table 4 and a seed's accuracies", measured(order_agreement, TABLE_4),
                      above(0)),
        ),
        kind="implied",
        numbers=_numbers("guided", "original"),
        remark="It sums up the rows of Table 4, which other claims take one by one; the order as a whole is our ",
    ),
    Claim(
        "lookup-substitution-baseline", "realization", "Section 5.1, Table 4",
        "No component of a guided model makes a baseline better on new compositions.",
        "“None of the baseline models given a frozen component from an AG model are able to retrain themselves such "
        "that they significantly increase performance”",
        (
            *(
                Assertion(f"Gain with a guided {component}", exchanged("baseline", component) - BASELINE,
                          at_most(0.1))
                for component in EXCHANGED
            ),
            Assertion("Gain by retraining alone", exchanged("baseline", "none") - BASELINE, at_most(0.1),
                      role="report"),
        ),
        numbers=_numbers("baseline", "original", "encoder", "decoder"),
        remark="Significantly: by more than 0.1, three of the 32 new compositions; published baselines differ by two.",
    ),
    Claim(
        "lookup-pruning", "realization", "Section 5.2",
        "With only the 5 % most strongly connected neurons, guided models are less accurate before they are retrained.",
        "“Distilling the network in this way results in a performance drop to 12.4% sequence accuracy on the new "
        "compositions task”",
        (
            any_of(*(
                Assertion(f"Accuracy, neurons kept by {by} minus whole network",
                          pruned(by, "before") - pruned("none", "before"), below(0))
                for by in STRENGTHS
            )),
            Assertion("Accuracy of the whole network", pruned("none", "before"), above(0), role="condition",
                      scale="unit"),
        ),
        numbers=_strong_numbers("before", published.PRUNED),
        remark=READINGS,
    ),
    Claim(
        "lookup-pruning-retraining", "realization", "Section 5.2",
        "Retraining restores the pruned models, and makes them better than the whole networks.",
        "“Re-training the network for 20 epochs fully restores the functionality and even yields better performance of "
        "92.5% on average compared to the full network with 82.3%”",
        (
            any_of(*map(_retrained, STRENGTHS)),
            *(rival for by in STRENGTHS for rival in _retrained_rivals(by)),
            Assertion("Accuracy of the whole network as trained", pruned("none", "before"), below(1),
                      role="condition", scale="unit"),
        ),
        numbers=_strong_numbers("accuracy", published.RETRAINED),
        remark=f"{READINGS} Restored: at most 0.05 below, one or two of the 32 new compositions. If random neurons do "
        "as well, it is not the strong connections that matter; if the whole network does, it is the training.",
    ),
)  # fmt: skip
