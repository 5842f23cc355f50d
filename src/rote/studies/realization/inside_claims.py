"""What source 002 says of lookup models inside (sections 3 and 4, Tables 2 and 3, Figures 1 to 4), as claims."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace

from rote.claims import (
    Assertion,
    Claim,
    Group,
    PerSeed,
    Published,
    Region,
    above,
    all_of,
    any_of,
    at_least,
    at_most,
    below,
    column,
    inside,
    measured,
)
from rote.claims.claim import Role
from rote.studies.realization import published
from rote.studies.realization.inside_tables import beyond_threshold
from rote.studies.realization.models import KINDS

PARTS = ("encoder", "decoder")
MOSTLY_SHUT = (("baseline", "encoder"), ("baseline", "decoder"), ("guided", "encoder"))
RECEIVING, SENDING = ("encoder W_hz", "encoder W_hr"), ("decoder W_iz", "decoder W_ir")


def _of(table: str, value: str, **labels: str) -> PerSeed:
    """A column of the models with the source's cell."""
    return column(table, value, cell="gru", **labels)


def _contrast(label: str, region: Region, table: str, value: str, **labels: str) -> Assertion:
    """Guided minus baseline, seed by seed: both start from the same weights."""
    guided, baseline = (_of(table, value, model=model, **labels) for model in ("guided", "baseline"))
    return Assertion(f"{label}: guided minus baseline", guided - baseline, region)


def _both_parts(
    label: str, region: Region, table: str, value: str, models: Sequence[str] = KINDS, role: Role = "part"
) -> list[Assertion]:
    """Of encoder and decoder of these models."""
    return [
        Assertion(f"{label}, {model} {part}", _of(table, value, model=model, part=part), region, role=role)
        for model in models
        for part in PARTS
    ]


def _probed(value: str, model: str, source: str, label: str = "table", **other: str) -> PerSeed:
    """What classifiers have in a column: units ranked over all classes, tokens divided at random, unless ``other``."""
    ways = {"ranking": "corrected", "splits": "tokens", **other}
    return _of("diagnosis", value, model=model, input=source, label=label, **ways)


def _fewer_units(label: str, source: str, what: str, role: Role = "part", **other: str) -> Assertion:
    baseline, guided = (_probed("units", model, source, what, **other) for model in KINDS)
    return Assertion(label, baseline.log_ratio(guided), above(0), role=role, scale="log")


def _small_group(source: str, what: str) -> tuple[Assertion, ...]:
    """The baseline needs more units than the guided model, also as the source ranks them and for unseen prefixes."""
    return (
        _fewer_units("Units of the baseline's group per unit of the guided model's", source, what),
        _fewer_units("The same, units ranked as published", source, what, "rival", ranking="as_published"),
        _fewer_units("The same, no prefix on both sides", source, what, "rival", splits="prefixes"),
    )


def _numbers(source: str, what: str) -> tuple[Published, ...]:
    """A row of Tables 2 and 3: means of five models, without their spread."""
    columns = {"group_accuracy": "accuracy of the group", "accuracy": "accuracy of all units", "units": "units"}
    return tuple(
        Published(f"{told}, {model}", _probed(value, model, source, what, ranking="as_published"), mean=mean, m=5)
        for model in KINDS
        for (value, told), mean in zip(columns.items(), published.DIAGNOSIS[source, what, model], strict=True)
    )


def _gate_claim(gate: str) -> Claim:
    """What is read from a gate of the decoder."""
    source = f"decoder {gate} gate"
    baseline, guided = (_probed("accuracy", model, source) for model in KINDS)
    unseen = (_probed("accuracy", model, source, splits="prefixes") for model in ("guided", "baseline"))
    return Claim(
        f"lookup-group-{gate}", "realization", "Section 4.1, Table 2",
        f"A linear classifier reads the current table from the {gate} gates of a guided decoder without error, and "
        "from those of a baseline's in about half of the cases.",
        "“we are able to perfectly predict the current table in the guided models. With the baseline model, an "
        "accuracy of only around 50 % is reached”",
        (
            Assertion("Accuracy of all units, guided model", guided, at_least(0.995), scale="unit"),
            Assertion("Accuracy of all units, baseline model", baseline, inside(0.4, 0.6), scale="unit"),
            Assertion("Guided minus baseline, no input on both sides", operator.sub(*unseen), above(0), role="rival"),
            _fewer_units("Units of the baseline's group per unit of the guided model's", source, "table", "report"),
        ),
        numbers=_numbers(source, "table"),
        remark="Perfectly: 1 to the two digits of Table 2. Around 50 %: nearer to 0.5 than to 0.3 or 0.7. That fewer "
        "units are needed stands in the table, not in the text: it is reported.",
    )  # fmt: skip


def _shut_gates(gate: str) -> Group:
    """One reading of which value of the update gate is shut to new information."""

    def shut(model: str, part: str) -> Assertion:
        left, right = (_of("gates", side, model=model, part=part, gate=gate) for side in ("left", "right"))
        return Assertion(f"Shut minus open share of {gate}, {model} {part}", left - right, above(0))

    return all_of(
        *(shut(*which) for which in MOSTLY_SHUT),
        _contrast(f"Open share of {gate} in the decoder", above(0), "gates", "right", part="decoder", gate=gate),
    )


def _strong_share(strength: str, model: str = "guided") -> PerSeed:
    """Of the units that tell the table, how many are among the strongest."""
    return _of("strong-groups", "share", model=model, strength=strength)


def _embedding(model: str, symbols: str) -> PerSeed:
    return _of("embedding", "strength", model=model, symbols=symbols)


def _embedding_ratio(symbols: str, region: Region) -> Assertion:
    ratio = _embedding("guided", symbols).log_ratio(_embedding("baseline", symbols))
    return Assertion("Mean absolute weight, guided over baseline", ratio, region, scale="log")


def _embedding_numbers(symbols: str) -> tuple[Published, ...]:
    return tuple(
        Published(f"Figure 1, {symbols}, {model}", _embedding(model, symbols), mean=published.EMBEDDING[model, symbols])
        for model in KINDS
    )


CLAIMS = (
    Claim(
        "lookup-embedding", "realization", "Section 3.1, Figure 1",
        "The decoder embedding of the outputs has larger weights in guided models than in baseline models.",
        "“The baseline model exhibits small weights whereas the AG model shows bigger weights in rows 2-10”",
        (_embedding_ratio("bit strings", above(0)),),
        numbers=_embedding_numbers("bit strings"),
        remark="The published sizes are read off one figure, so they are shown and not compared.",
    ),
    Claim(
        "lookup-start", "realization", "Section 3.1, Figure 1",
        "The embedding of the start symbol is equally strong in both models.",
        "“Row number two is an exception, since it is equally strong for both networks”",
        (
            _embedding_ratio("start", inside(-math.log(1.25), math.log(1.25))),
            *(
                Assertion(f"Start symbol over symbols that are never used, {model}",
                          _embedding(model, "start").log_ratio(_embedding(model, "never used")), above(0),
                          role="report", scale="log")
                for model in KINDS
            ),
        ),
        numbers=_embedding_numbers("start"),
        remark="Equally: within a factor of 1.25, about a sixth, in logarithms, of what the other rows of the "
        "published figure differ by.",
    ),
    Claim(
        "lookup-threshold", "realization", "Section 3.2",
        "The thresholds 0.2 (encoder) and 0.17 (decoder) leave, on average over both models, the strongest 1 % of the "
        "weights.",
        "“a threshold of ± 0.2 and ± 0.17 respectively, which corresponds on average (between AG and vanilla models) "
        "to the strongest one percent of the weights”",
        (
            *(
                Assertion(f"Doublings from 1 % to the share beyond the threshold, {matrix}",
                          measured(beyond_threshold, matrix, published.STRONGEST), inside(-1, 1))
                for matrix in ("encoder W_hz", "decoder W_iz")
            ),
            Assertion("Units that are 5 % of a layer", _of("strong-groups", "strong_units", model="guided",
                      strength="mean"), Region(26, 26, closed=True), role="condition"),
        ),
        remark="Within a factor of two, which is more than rounding to whole percents allows. The thresholds belong to "
        "layers of 512 units, 26 of them 5 %: at other sizes weights have another scale, and this is no test.",
    ),
    Claim(
        "lookup-strong-neurons", "realization", "Section 3.2, Figure 2",
        "In guided models the strong connections belong to fewer neurons: those that receive in the encoder, those "
        "that send in the decoder.",
        "“the baseline weights seem much more cluttered”; “AG models learn to specialize using fewer but more strongly "
        "connected neurons”",
        tuple(
            _contrast(f"Inequality of strong edges, {side} side of {matrix}", above(0), "graphs", value, matrix=matrix)
            for side, value, matrices in (("receiving", "gini_in", RECEIVING), ("sending", "gini_out", SENDING))
            for matrix in matrices
        ),
    ),
    Claim(
        "lookup-polar-neurons", "realization", "Section 3.2, Figure 2",
        "The most polar neurons of guided models are more so than the baseline's: their weights are on average "
        "positive or negative.",
        "“the AG model exhibits a few distinct, strongly polar neurons - neurons whose weights are on average negative "
        "or positive”",
        tuple(
            _contrast(f"Polarity of the top 5 % {side} neurons of {matrix}", above(0), "graphs", value, matrix=matrix)
            for side, value, matrix in (
                ("receiving", "polarity_in", "encoder W_hz"), ("sending", "polarity_out", "decoder W_iz"),
            )
        ),
    ),
    Claim(
        "lookup-opposite-gates", "realization", "Section 3.2",
        "In both models, most neurons that are on average strongly positive or negative have opposite signs in the "
        "update and in the reset gate.",
        "“The polarity of the neurons that are on average strongly positive or negative are inversely related”",
        (
            *_both_parts("Opposite signs among strongly polar neurons", above(0.5), "polarity", "opposite"),
            *_both_parts("Correlation over all neurons", below(0), "polarity", "correlation", role="report"),
        ),
        remark="Strongly: among the 5 % of the neurons with the largest absolute mean weight in either gate. Results "
        "kept by version 0.1 have the correlation over all neurons only.",
    ),
    Claim(
        "lookup-narrow-neurons", "realization", "Section 4.1, Figure 3",
        "Some neurons of guided encoders and decoders keep to a narrow range of values, none of 50 neurons of a "
        "baseline does; most of the guided decoder cover the whole range.",
        "“in contrast to the baseline, some neurons of the AG only produce activations in specific value ranges [...] "
        "The same can be found inside the AG’s decoder, although most of the neurons sampled seem to cover the whole "
        "value range”",
        (
            *_both_parts("Share of narrow neurons", above(0), "activations", "narrow", ("guided",)),
            *_both_parts("Narrow neurons among 50", at_most(0), "activations", "narrow_sampled", ("baseline",)),
            Assertion("Range of the median neuron, guided decoder",
                      _of("activations", "median_range", model="guided", part="decoder"), above(1.5)),
            *(
                replace(_contrast(f"Share of narrow neurons, {part}", above(0), "activations", "narrow", part=part),
                        role="report")
                for part in PARTS
            ),
        ),
        remark="Of values from -1 to 1, narrow is a range of less than a quarter, whole one of more than three "
        "quarters. Results kept by version 0.1 do not say which of the baseline's narrow neurons are among 50.",
    ),
    Claim(
        "lookup-group-state", "realization", "Section 4.1, Table 2",
        "A linear classifier needs fewer units of a guided encoder's state than of a baseline's to tell the current "
        "table.",
        "“for the baseline models on average 35 units are required to make a good prediction, the information is "
        "stored in only 2 units in the guided models”",
        _small_group("encoder state", "table"),
        numbers=_numbers("encoder state", "table"),
    ),
    _gate_claim("update"),
    _gate_claim("reset"),
    Claim(
        "lookup-group-step", "realization", "Section 4.1, Table 3",
        "A linear classifier can tell the time step from the encoder's state in both models, and needs fewer units in "
        "guided ones.",
        "“Using all units, it is possible to predict the time step with all models, but, in the guided attention "
        "models, the information is more concentrated”",
        (
            *(
                Assertion(f"Accuracy, {model} model", _probed("accuracy", model, "encoder state", "time step"),
                          above(0.75), scale="unit")
                for model in KINDS
            ),
            *_small_group("encoder state", "time step"),
        ),
        numbers=_numbers("encoder state", "time step"),
        remark="Possible: nearer to 1 than to the one half that the source calls 'only around 50 %'.",
    ),
    Claim(
        "lookup-majority", "realization", "Section 4.1, footnote 6",
        "Guessing the most frequent table is right in one case of eight.",
        "“Accuracy with a majority classifier for the task is 12.5 %”",
        kind="identity",
        test="tests/oracles/test_lookup_inside.py::test_every_table_is_one_case_of_eight",
    ),
    Claim(
        "lookup-gate-groups", "realization", "Section 4.1, Table 2",
        "In guided models the groups of the decoder's gates that tell the table are larger than that of the encoder's "
        "state.",
        "“remarkably larger than with the encoder hidden activations”",
        tuple(
            Assertion(f"Units, {gate} over encoder state", _probed("units", "guided", gate).log_ratio(
                _probed("units", "guided", "encoder state")), above(0), scale="log")
            for gate in ("decoder update gate", "decoder reset gate")
        ),
    ),
    Claim(
        "lookup-strong-groups", "realization", "Section 4.1",
        "Nearly all units of the guided models' functional group are among the 5 % with the strongest weights.",
        "“On average, 93% of the units in the functional group of the AG models can be found in the top 5% of the "
        "units with the strongest absolute weight values”",
        (
            Assertion("Share of the group that is strong by mean absolute weight", _strong_share("mean"), above(0.8)),
            Assertion("The same, by largest weight", _strong_share("max"), above(0.8), role="rival"),
            Assertion("The same, by number of strong edges", _strong_share("edges"), above(0.8), role="report"),
            Assertion("The same, by mean, baseline", _strong_share("mean", "baseline"), below(0.5), role="report"),
        ),
        numbers=(Published("Section 4.1, guided", _strong_share("mean"), mean=published.STRONG_GROUP_UNITS, m=5),),
        remark="A group has two or three units: above 0.8 all of them are strong. Which weights count is not said: "
        "mean absolute weight decides, largest weight is the rival reading.",
    ),
    Claim(
        "lookup-gates-on-axes", "realization", "Section 4.2, Figure 4",
        "Gates of guided models stick to the axes: they are saturated to one side or not at all; more of the "
        "baseline's lie in between.",
        "“Activations tend to stick to the axes [...] Values in between, mostly seen in the baseline models”",
        tuple(
            _contrast(f"Share of {part} {gate} gates off both axes", below(0), "gates", "off", part=part, gate=gate)
            for part in PARTS for gate in ("update", "reset")
        ),
    ),
    Claim(
        "lookup-shut-gates", "realization", "Section 4.2, Figure 4",
        "Update gates are more often shut to new information than open in the baseline and in the guided encoder; in "
        "the guided decoder more of them are open than in the baseline's.",
        "“they are mostly left saturated, which means that new information is rarely incorporated [...] in both the "
        "encoder and decoder”; “In the AG decoder, some gates are also often right-saturated”",
        (any_of(_shut_gates("1 - update"), _shut_gates("update")),),
        remark="By the source's equations the gate that admits new information is 1 - z where its code, as PyTorch, "
        "has z: all four parts must hold in one of the readings.",
    ),
)  # fmt: skip
