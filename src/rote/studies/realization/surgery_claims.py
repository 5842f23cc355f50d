"""What section 5 of source 002 claims, and what would confirm it. Criteria were written down before any run."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from rote.claims import Claim, Criterion, Measurement, above, below
from rote.studies.realization import published
from rote.studies.realization import surgery_measures as measure
from rote.studies.realization.surgery_measures import EXCHANGED, STRENGTHS


def said(component: str) -> str:
    """What Table 4 has for guided models with a component exchanged, beside those without."""
    found = [published.SUBSTITUTION["guided", name] for name in (component, "none")]
    return "{} against {}".format(*(f"{accuracy:.2f} ± {sd:.2f}" for accuracy, sd in found))


def lower(component: str, expected: Criterion) -> tuple[Measurement, ...]:
    """The exchange costs accuracy, against the model as trained and against one with the same retraining."""
    return (
        Measurement(
            f"Accuracy, {component} exchanged minus original", measure.guided_minus((component,), ("original",)),
            expected,
        ),
        Measurement(
            "The same minus retrained without an exchange", measure.guided_minus((component,), ("none",)), expected,
            role="control",
        ),
    )  # fmt: skip


def not_lower(
    component: str, expected: Criterion, retrained: Literal["control", "contrast"] = "contrast"
) -> tuple[Measurement, ...]:
    """The exchange costs no more than ``expected`` allows; what the retrained ones must show is ``retrained``."""
    first, second = lower(component, expected)
    return first, replace(second, role=retrained)


CLAIMS = (
    Claim(
        "lookup-substitution-encoder", "realization", "Section 5.1, Table 4",
        "With a frozen baseline encoder a guided model does not find the compositional solution again.",
        said("encoder"), lower("encoder", below(-0.3, at_all=0.0)),
    ),
    Claim(
        "lookup-substitution-drop", "realization", "Section 5.1",
        "Replacing the entire encoder loses four fifths of the accuracy.",
        f"{published.ENCODER_DROP:.0%} drop in accuracy, to {published.ENCODER_ACCURACY}",
        (
            Measurement(
                "Share of the original's accuracy that is lost", measure.relative_drop("encoder"),
                above(0.6, at_all=0.4),
            ),
        ),
    ),
    Claim(
        "lookup-substitution-decoder", "realization", "Section 5.1, Table 4",
        "With a frozen baseline decoder a guided model does not find the compositional solution again.",
        said("decoder"), lower("decoder", below(-0.3, at_all=0.0)),
    ),
    Claim(
        "lookup-substitution-decoder-embedding", "realization", "Section 5.1, Table 4",
        "The decoder's embedding matters for a compositional solution.",
        said("decoder embedding"), lower("decoder embedding", below(-0.2, at_all=0.0)),
    ),
    Claim(
        "lookup-substitution-decoder-input", "realization", "Section 5.1, Table 4",
        "The decoder's input-to-hidden weights matter for a compositional solution.",
        said("decoder W_ih"), lower("decoder W_ih", below(-0.1, at_all=0.0)),
    ),
    Claim(
        "lookup-substitution-encoder-embedding", "realization", "Section 5.1, Table 4",
        "The encoder's embedding does not matter: with that of a baseline the accuracy is similar.",
        said("encoder embedding"), not_lower("encoder embedding", above(-0.15)),
    ),
    Claim(
        "lookup-substitution-encoder-recurrent", "realization", "Section 5.1, Table 4",
        "The encoder's hidden-to-hidden weights can be replaced without as big a drop as the whole encoder.",
        said("encoder W_hh"),
        (
            *not_lower("encoder W_hh", above(-0.15)),
            Measurement(
                "Accuracy, W_hh minus whole encoder exchanged",
                measure.guided_minus(("encoder W_hh",), ("encoder",)), above(0.2, at_all=0.0),
            ),
        ),
    ),
    Claim(
        "lookup-substitution-gains", "realization", "Section 5.1, Table 4",
        "Baseline input-to-hidden weights in the encoder, or hidden-to-hidden weights in the decoder, improve a "
        "guided model.",
        f"{said('encoder W_ih')}; {said('decoder W_hh')}",
        (
            *not_lower("encoder W_ih", above(0.0, at_all=-0.1), "control"),
            *not_lower("decoder W_hh", above(0.0, at_all=-0.1), "control"),
        ),
        remark="Partly: it does not hurt by more than 0.1. The source compares with models that were not trained "
        "any longer; only a gain over the retrained ones can come from the exchange.",
    ),
    Claim(
        "lookup-substitution-order", "realization", "Table 4",
        "Encoder and decoder matter most, then the decoder's embedding, then its input-to-hidden weights.",
        published.SUBSTITUTION_ORDER,
        (
            Measurement(
                "Accuracy, encoder or decoder minus decoder embedding exchanged",
                measure.guided_minus(("encoder", "decoder"), ("decoder embedding",)), below(0.0),
            ),
            Measurement(
                "Decoder embedding minus decoder W_ih",
                measure.guided_minus(("decoder embedding",), ("decoder W_ih",)), below(0.0),
            ),
            Measurement(
                "Decoder W_ih minus encoder embedding, encoder W_hh and original",
                measure.guided_minus(("decoder W_ih",), ("encoder embedding", "encoder W_hh", "original")),
                below(0.0),
            ),
            Measurement(
                "Encoder embedding, encoder W_hh and original minus encoder W_ih and decoder W_hh",
                measure.guided_minus(
                    ("encoder embedding", "encoder W_hh", "original"), ("encoder W_ih", "decoder W_hh")
                ),
                below(0.0, at_all=0.1),
            ),
        ),
    ),
    Claim(
        "lookup-substitution-baseline", "realization", "Section 5.1, Table 4",
        "No component of a guided model makes a baseline compose.",
        published.SUBSTITUTION_IN_BASELINES,
        (
            Measurement(
                "Accuracy of baselines with a guided component, mean over the eight",
                measure.baselines(EXCHANGED), below(0.1, at_all=0.2),
            ),
            Measurement(
                "The same, the best of the eight for each seed", measure.best_baseline(EXCHANGED),
                below(0.1, at_all=0.2), role="contrast",
            ),
            Measurement(
                "Accuracy of the baselines as trained", measure.baselines(("original",)), below(0.1),
                role="control",
            ),
        ),
    ),
    Claim(
        "lookup-pruning", "realization", "Section 5.2",
        "With only the 5 % most strongly connected neurons, guided models fail without retraining.",
        f"{published.PRUNED} against {published.UNPRUNED}",
        (
            Measurement(
                "Accuracy, neurons with the most strong edges kept", measure.pruned_accuracy("edges"),
                below(0.3, at_all=0.5),
            ),
            Measurement(
                "The same minus that of the whole network", measure.pruned_minus_full("edges", "before"),
                below(-0.3, at_all=0.0), role="control",
            ),
            *(
                Measurement(
                    f"Accuracy, neurons with the largest {by} weight kept", measure.pruned_accuracy(by),
                    below(0.3, at_all=0.5), role="contrast",
                )
                for by in STRENGTHS[1:]
            ),
        ),
    ),
    Claim(
        "lookup-pruning-retraining", "realization", "Section 5.2",
        "Retraining restores the pruned models, and makes them better than the whole networks.",
        f"{published.RETRAINED} against {published.UNPRUNED}",
        (
            Measurement(
                "Accuracy, pruned by strong edges and retrained minus whole network as trained",
                measure.pruned_minus_full("edges", "accuracy"), above(0.0, at_all=-0.05),
            ),
            *(
                Measurement(
                    f"The same, neurons with the largest {by} weight kept",
                    measure.pruned_minus_full(by, "accuracy"), above(0.0, at_all=-0.05), role="contrast",
                )
                for by in STRENGTHS[1:]
            ),
            Measurement(
                "The first against the whole network with the same retraining",
                measure.retrained_minus_retrained("edges", "none"), above(0.0, at_all=-0.05), role="contrast",
            ),
            Measurement(
                "The first against random neurons kept, with the same retraining",
                measure.retrained_minus_retrained("edges", "random"), above(0.0), role="contrast",
            ),
        ),
        remark="Partly: it comes back to within 0.05. If random neurons do as well, it is not the strong "
        "connections that matter.",
    ),
)  # fmt: skip
