"""What sections 3 and 4 of source 002 claim, and what would confirm it. Criteria were written down before any run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.studies.realization import published
from rote.studies.summaries import column_of, measured

RECEIVING, SENDING = ("encoder W_hz", "encoder W_hr"), ("decoder W_iz", "decoder W_ir")


def values(tables: Tables, table: str, column: str, **labels: str) -> list[float]:
    """Over the seeds of the first cell, that of the source."""
    cell = tables["diagnosis"].column("cell")[0]
    return column_of(tables.get(table), column, cell=cell, **labels)


@measured
def guided_minus_baseline(tables: Tables, table: str, column: str, **labels: str) -> Estimate:
    """Seed by seed: both start from the same weights."""
    return paired_difference(
        *(values(tables, table, column, model=model, **labels) for model in ("guided", "baseline"))
    )


@measured
def average(tables: Tables, table: str, column: str, **labels: str) -> Estimate:
    return mean(values(tables, table, column, **labels))


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate:
    return mean([top / bottom for top, bottom in zip(numerators, denominators, strict=True)])


@measured
def embedding_ratio(tables: Tables) -> Estimate:
    guided, baseline = (
        values(tables, "embedding", "strength", model=model, symbols="bit strings") for model in ("guided", "baseline")
    )
    return ratio(guided, baseline)


@measured
def start_difference(tables: Tables) -> Estimate:
    """Between the models, relative to their mean."""
    guided, baseline = (
        values(tables, "embedding", "strength", model=model, symbols="start") for model in ("guided", "baseline")
    )
    return mean([abs(x - y) / ((x + y) / 2) for x, y in zip(guided, baseline, strict=True)])


@measured
def start_ratio(tables: Tables, model: str) -> Estimate:
    start, unused = (
        values(tables, "embedding", "strength", model=model, symbols=symbols) for symbols in ("start", "never used")
    )
    return ratio(start, unused)


@measured
def beyond_threshold(tables: Tables, matrix: str) -> Estimate:
    """Mean over both models, as a distance in doublings from the published one percent."""
    shares = zip(
        *(values(tables, "graphs", "beyond", model=model, matrix=matrix) for model in ("guided", "baseline")),
        strict=True,
    )
    return mean([abs(math.log2(max((x + y) / 2, 1e-9) / published.STRONGEST)) for x, y in shares])


@measured
def group_ratio(
    tables: Tables, source: str, label: str, ranking: str = "corrected", splits: str = "tokens"
) -> Estimate:
    """Units in the baseline's group divided by those in the guided model's."""
    baseline, guided = (
        values(
            tables, "diagnosis", "units", model=model, input=source, label=label, ranking=ranking, splits=splits
        )
        for model in ("baseline", "guided")
    )  # fmt: skip
    return ratio(baseline, guided)


@measured
def off_published(tables: Tables, source: str, label: str, model: str) -> Estimate:
    """How far the accuracy of all units is from the published one."""
    found = values(
        tables, "diagnosis", "accuracy", model=model, input=source, label=label, ranking="corrected", splits="tokens"
    )
    theirs = published.DIAGNOSIS[(source, label, model)][1]
    return mean([abs(value - theirs) for value in found])


@measured
def larger_group(tables: Tables, gate: str) -> Estimate:
    """Guided models: units of a gate's group minus those of the encoder state's."""
    gates, states = (
        values(tables, "diagnosis", "units", model="guided", input=source, label="table", ranking="corrected",
               splits="tokens")
        for source in (gate, "encoder state")
    )  # fmt: skip
    return paired_difference(gates, states)


@measured
def majority(tables: Tables) -> Estimate:
    found = values(tables, "diagnosis", "majority", model="guided", input="encoder state", label="table",
                   ranking="corrected", splits="tokens")  # fmt: skip
    return mean([abs(value - published.MAJORITY) for value in found])


@measured
def narrow_in_encoder(tables: Tables) -> Estimate:
    """Guided models: share of narrow neurons, encoder minus decoder."""
    encoder, decoder = (
        values(tables, "activations", "narrow", model="guided", part=part) for part in ("encoder", "decoder")
    )
    return paired_difference(encoder, decoder)


@measured
def left_minus_right(tables: Tables, model: str, part: str, gate: str) -> Estimate:
    left, right = (values(tables, "gates", side, model=model, part=part, gate=gate) for side in ("left", "right"))
    return paired_difference(left, right)


def _group_claim(number: str, source: str, label: str, table: str) -> Claim:
    units, guided = (published.DIAGNOSIS[(source, label, model)] for model in ("baseline", "guided"))
    return Claim(
        f"lookup-group-{number}", "realization", table,
        f"A linear classifier reads the {label} from far fewer units of the {source} in guided models than in "
        "baseline models.",
        f"baseline {units[2]:g} units ({units[0]:g} of {units[1]:g}), guided {guided[2]:g} ({guided[0]:g} of "
        f"{guided[1]:g})",
        (
            Measurement(
                "Units of the baseline's group per unit of the guided model's",
                partial(group_ratio, source=source, label=label), above(2.0, at_all=1.0),
            ),
            *(
                Measurement(
                    f"Distance of all units' accuracy from the published one, {model}",
                    partial(off_published, source=source, label=label, model=model), below(0.05), role="control",
                )
                for model in ("baseline", "guided")
            ),
            Measurement(
                "The ratio with the ranking as published",
                partial(group_ratio, source=source, label=label, ranking="as_published"), above(2.0, at_all=1.0),
                role="contrast",
            ),
            Measurement(
                "The ratio without shared prefixes",
                partial(group_ratio, source=source, label=label, splits="prefixes"),
                above(2.0, at_all=1.0), role="contrast",
            ),
        ),
    )  # fmt: skip


CLAIMS = (
    Claim(
        "lookup-embedding", "realization", "Section 3.1, Figure 1",
        "The decoder embedding of the outputs has larger weights in guided models than in baseline models.",
        "read off the figure: 0.127 against 0.035, 3.6 times",
        (Measurement("Mean absolute weight, guided divided by baseline", embedding_ratio, above(2.0, at_all=1.0)),),
    ),
    Claim(
        "lookup-start", "realization", "Section 3.1, Figure 1",
        "The embedding of the start symbol is equally strong in both models.",
        "read off the figure: 0.239 and 0.235",
        (
            Measurement("Difference between the models, relative to their mean", start_difference, below(0.25)),
            *(
                Measurement(
                    f"Start symbol divided by symbols that are never used, {model}", partial(start_ratio, model=model),
                    above(4.0, at_all=1.0),
                )
                for model in ("guided", "baseline")
            ),
        ),
    ),
    Claim(
        "lookup-threshold", "realization", "Section 3.2",
        "The thresholds 0.2 (encoder W_hz) and 0.17 (decoder W_iz) leave the strongest 1 % of the weights.",
        "one percent on average over both models",
        tuple(
            Measurement(
                f"Doublings between the share beyond the threshold and 1 %, {matrix}",
                partial(beyond_threshold, matrix=matrix), below(1.0),
            )
            for matrix in ("encoder W_hz", "decoder W_iz")
        ),
        remark="The thresholds belong to models of 512 units: at other sizes weights have another scale.",
    ),
    Claim(
        "lookup-strong-neurons", "realization", "Section 3.2, Figure 2",
        "In guided models few neurons have most of the strong connections: those that receive in the encoder, those "
        "that send in the decoder.",
        "in words; the baseline's weights look much more cluttered",
        tuple(
            Measurement(
                f"Inequality of strong edges, {side} side of {matrix}: guided minus baseline",
                partial(guided_minus_baseline, table="graphs", column=column, matrix=matrix), above(0.05, at_all=0.0),
            )
            for side, column, matrices in (("receiving", "gini_in", RECEIVING), ("sending", "gini_out", SENDING))
            for matrix in matrices
        ),
    ),
    Claim(
        "lookup-polar-neurons", "realization", "Section 3.2, Figure 2",
        "The strongest neurons of guided models are polar: their weights are on average positive or negative.",
        "in words",
        (
            Measurement(
                "Polarity of the top 5 % receiving neurons of encoder W_hz: guided minus baseline",
                partial(guided_minus_baseline, table="graphs", column="polarity_in", matrix="encoder W_hz"),
                above(0.0),
            ),
            Measurement(
                "Polarity of the top 5 % sending neurons of decoder W_iz: guided minus baseline",
                partial(guided_minus_baseline, table="graphs", column="polarity_out", matrix="decoder W_iz"),
                above(0.0),
            ),
        ),
    ),
    Claim(
        "lookup-opposite-gates", "realization", "Section 3.2",
        "In both models a neuron that is positive on average in the update gate is negative in the reset gate.",
        "inversely related, in words",
        tuple(
            Measurement(
                f"Correlation of mean update and reset weights, {model}, {part}",
                partial(average, table="polarity", column="correlation", model=model, part=part), below(0.0),
            )
            for model in ("baseline", "guided") for part in ("encoder", "decoder")
        ),
    ),
    Claim(
        "lookup-narrow-neurons", "realization", "Section 4.1, Figure 3",
        "Some encoder neurons of guided models keep to a narrow range of values, unlike the baseline's; in the decoder "
        "most cover the whole range.",
        "in words",
        (
            Measurement(
                "Share of encoder neurons with a narrow range: guided minus baseline",
                partial(guided_minus_baseline, table="activations", column="narrow", part="encoder"),
                above(0.05, at_all=0.0),
            ),
            Measurement("The same in guided models: encoder minus decoder", narrow_in_encoder, above(0.05, at_all=0.0)),
        ),
    ),
    _group_claim("state", "encoder state", "table", "Table 2"),
    _group_claim("update", "decoder update gate", "table", "Table 2"),
    _group_claim("reset", "decoder reset gate", "table", "Table 2"),
    _group_claim("step", "encoder state", "time step", "Table 3"),
    Claim(
        "lookup-majority", "realization", "Section 4.1, footnote 6",
        "Guessing the most frequent table would be right in one case of eight.", "12.5 %",
        (Measurement("Distance of the most frequent table's share from 1/8", majority, below(0.001)),),
    ),
    Claim(
        "lookup-gate-groups", "realization", "Section 4.1, Table 2",
        "In guided models the groups of the decoder's gates are larger than that of the encoder's state.",
        "22.2 and 20.8 units against 2",
        tuple(
            Measurement(
                f"Units, decoder {gate} gate minus encoder state",
                partial(larger_group, gate=f"decoder {gate} gate"), above(0.0),
            )
            for gate in ("update", "reset")
        ),
    ),
    Claim(
        "lookup-strong-groups", "realization", "Section 4.1",
        "Nearly all units of the guided models' functional group are among the 5 % with the strongest weights.",
        f"{100 * published.STRONG_GROUP_UNITS:.0f} %",
        (
            Measurement(
                "Share of the group among the strongest units, guided",
                partial(average, table="strong-groups", column="share", model="guided", strength="mean"),
                above(0.8, at_all=0.5),
            ),
            Measurement(
                "The same by largest weight",
                partial(average, table="strong-groups", column="share", model="guided", strength="max"),
                above(0.8, at_all=0.5), role="contrast",
            ),
            Measurement(
                "The same, baseline",
                partial(average, table="strong-groups", column="share", model="baseline", strength="mean"), below(0.5),
                role="contrast",
            ),
        ),
    ),
    Claim(
        "lookup-gates-on-axes", "realization", "Section 4.2, Figure 4",
        "Gates of guided models stick to the axes: they are saturated to one side or not at all; the baseline's lie in "
        "between.",
        "in words",
        tuple(
            Measurement(
                f"Share of {part} {gate} gates off both axes: guided minus baseline",
                partial(guided_minus_baseline, table="gates", column="off", part=part, gate=gate), below(0.0),
            )
            for part in ("encoder", "decoder") for gate in ("update", "reset")
        ),
    ),
    Claim(
        "lookup-shut-gates", "realization", "Section 4.2, Figure 4",
        "Update gates are mostly shut to new information in the baseline and in the guided encoder; in the guided "
        "decoder more of them are often open.",
        "in words, for a gate that admits the new state",
        (
            *(
                Measurement(
                    f"Shut minus open share of 1 - z, {model} {part}",
                    partial(left_minus_right, model=model, part=part, gate="1 - update"), above(0.0),
                )
                for model, part in (("baseline", "encoder"), ("baseline", "decoder"), ("guided", "encoder"))
            ),
            Measurement(
                "Open share of 1 - z in the decoder: guided minus baseline",
                partial(guided_minus_baseline, table="gates", column="right", part="decoder", gate="1 - update"),
                above(0.0),
            ),
            *(
                Measurement(
                    f"Shut minus open share of z, {model} {part}",
                    partial(left_minus_right, model=model, part=part, gate="update"), above(0.0), role="contrast",
                )
                for model, part in (("baseline", "encoder"), ("baseline", "decoder"), ("guided", "encoder"))
            ),
        ),
        remark="The source's equations have 1 - z where its code, as PyTorch, has z. The verdict follows the equations "
        "and the words; the contrasts are the code's reading.",
    ),
)  # fmt: skip
