"""Six ways to look inside lookup models: source 002, sections 3 and 4, Tables 2 and 3, Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rote.claims import Assertion, Claim, Criterion, above, below
from rote.config import at_least
from rote.laboratory import Study, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import inside_tables as measure
from rote.studies.realization import published
from rote.studies.realization.accuracy import AccuracyConfig
from rote.studies.realization.models import KINDS, QUICK, SMOKE

PARTS = ("encoder", "decoder")
MOSTLY_SHUT = (("baseline", "encoder"), ("baseline", "decoder"), ("guided", "encoder"))
RECEIVING, SENDING = ("encoder W_hz", "encoder W_hr"), ("decoder W_iz", "decoder W_ir")


@measurements.register("lookup-inside")
@dataclass(frozen=True)
class InsideMeasurement(Measurement):
    """What the weights and activations of one seed's lookup models show, at the end and over training."""

    name = "lookup-inside"
    source = published.SOURCE
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    over_training: bool = True  # look also at the weights kept during training

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.inside_measures import look

        (seed,) = run.request.seeds
        return measure.run_tables(look(trained, seed, self.splits, self.over_training, progress))


@dataclass(frozen=True)
class InsideConfig(AccuracyConfig):
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    over_training: bool = True  # look also at the weights kept during training

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "splits")
        at_least(self, 1, "task.unseen_tables", "task.heldout_compositions")


def _guided_minus_baseline(text: str, region: Criterion, table: str, column: str, **labels: str) -> Assertion:
    """Of one column, seed by seed."""
    return Assertion(text, lambda tables: measure.guided_minus_baseline(tables, table, column, **labels), region)


def _group_claim(number: str, source: str, label: str, table: str) -> Claim:
    units, guided = (published.DIAGNOSIS[(source, label, model)] for model in ("baseline", "guided"))
    ratio, region = partial(measure.group_ratio, source=source, label=label), above(2.0, at_all=1.0)
    off = partial(measure.off_published, source=source, label=label)
    return Claim(
        f"lookup-group-{number}", "realization", table,
        f"A linear classifier reads the {label} from far fewer units of the {source} in guided models than in "
        "baseline models.",
        f"baseline {units[2]:g} units ({units[0]:g} of {units[1]:g}), guided {guided[2]:g} ({guided[0]:g} of "
        f"{guided[1]:g})",
        (
            Assertion("Units of the baseline's group per unit of the guided model's", ratio, region),
            *(
                Assertion(
                    f"Distance of all units' accuracy from the published one, {model}", partial(off, model=model),
                    below(0.05), role="control",
                )
                for model in KINDS
            ),
            Assertion(
                "The ratio with the ranking as published", partial(ratio, ranking="as_published"), region,
                role="contrast",
            ),
            Assertion("The ratio without shared prefixes", partial(ratio, splits="prefixes"), region, role="contrast"),
        ),
    )  # fmt: skip


CLAIMS = (
    Claim(
        "lookup-embedding", "realization", "Section 3.1, Figure 1",
        "The decoder embedding of the outputs has larger weights in guided models than in baseline models.",
        "read off the figure: 0.127 against 0.035, 3.6 times",
        (
            Assertion(
                "Mean absolute weight, guided divided by baseline", measure.embedding_ratio, above(2.0, at_all=1.0)
            ),
        ),
    ),
    Claim(
        "lookup-start", "realization", "Section 3.1, Figure 1",
        "The embedding of the start symbol is equally strong in both models.",
        "read off the figure: 0.239 and 0.235",
        (
            Assertion("Difference between the models, relative to their mean", measure.start_difference, below(0.25)),
            *(
                Assertion(
                    f"Start symbol divided by symbols that are never used, {model}",
                    partial(measure.start_ratio, model=model), above(4.0, at_all=1.0),
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
            Assertion(
                f"Doublings between the share beyond the threshold and 1 %, {matrix}",
                partial(measure.beyond_threshold, matrix=matrix), below(1.0),
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
            _guided_minus_baseline(
                f"Inequality of strong edges, {side} side of {matrix}: guided minus baseline",
                above(0.05, at_all=0.0), "graphs", column, matrix=matrix,
            )
            for side, column, matrices in (("receiving", "gini_in", RECEIVING), ("sending", "gini_out", SENDING))
            for matrix in matrices
        ),
    ),
    Claim(
        "lookup-polar-neurons", "realization", "Section 3.2, Figure 2",
        "The strongest neurons of guided models are polar: their weights are on average positive or negative.",
        "in words",
        tuple(
            _guided_minus_baseline(
                f"Polarity of the top 5 % {side} neurons of {matrix}: guided minus baseline", above(0.0),
                "graphs", column, matrix=matrix,
            )
            for side, column, matrix in (
                ("receiving", "polarity_in", "encoder W_hz"), ("sending", "polarity_out", "decoder W_iz"),
            )
        ),
    ),
    Claim(
        "lookup-opposite-gates", "realization", "Section 3.2",
        "In both models a neuron that is positive on average in the update gate is negative in the reset gate.",
        "inversely related, in words",
        tuple(
            Assertion(
                f"Correlation of mean update and reset weights, {model}, {part}",
                partial(measure.average, table="polarity", column="correlation", model=model, part=part), below(0.0),
            )
            for model in KINDS for part in PARTS
        ),
    ),
    Claim(
        "lookup-narrow-neurons", "realization", "Section 4.1, Figure 3",
        "Some encoder neurons of guided models keep to a narrow range of values, unlike the baseline's; in the decoder "
        "most cover the whole range.",
        "in words",
        (
            _guided_minus_baseline(
                "Share of encoder neurons with a narrow range: guided minus baseline", above(0.05, at_all=0.0),
                "activations", "narrow", part="encoder",
            ),
            Assertion(
                "The same in guided models: encoder minus decoder", measure.narrow_in_encoder, above(0.05, at_all=0.0)
            ),
        ),
    ),
    _group_claim("state", "encoder state", "table", "Table 2"),
    _group_claim("update", "decoder update gate", "table", "Table 2"),
    _group_claim("reset", "decoder reset gate", "table", "Table 2"),
    _group_claim("step", "encoder state", "time step", "Table 3"),
    Claim(
        "lookup-majority", "realization", "Section 4.1, footnote 6",
        "Guessing the most frequent table would be right in one case of eight.", "12.5 %",
        (Assertion("Distance of the most frequent table's share from 1/8", measure.majority, below(0.001)),),
    ),
    Claim(
        "lookup-gate-groups", "realization", "Section 4.1, Table 2",
        "In guided models the groups of the decoder's gates are larger than that of the encoder's state.",
        "22.2 and 20.8 units against 2",
        tuple(
            Assertion(
                f"Units, decoder {gate} gate minus encoder state",
                partial(measure.larger_group, gate=f"decoder {gate} gate"), above(0.0),
            )
            for gate in ("update", "reset")
        ),
    ),
    Claim(
        "lookup-strong-groups", "realization", "Section 4.1",
        "Nearly all units of the guided models' functional group are among the 5 % with the strongest weights.",
        f"{100 * published.STRONG_GROUP_UNITS:.0f} %",
        (
            Assertion(
                "Share of the group among the strongest units, guided",
                partial(measure.strong_share, model="guided", strength="mean"), above(0.8, at_all=0.5),
            ),
            Assertion(
                "The same by largest weight", partial(measure.strong_share, model="guided", strength="max"),
                above(0.8, at_all=0.5), role="contrast",
            ),
            Assertion(
                "The same, baseline", partial(measure.strong_share, model="baseline", strength="mean"), below(0.5),
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
            _guided_minus_baseline(
                f"Share of {part} {gate} gates off both axes: guided minus baseline", below(0.0),
                "gates", "off", part=part, gate=gate,
            )
            for part in PARTS for gate in ("update", "reset")
        ),
    ),
    Claim(
        "lookup-shut-gates", "realization", "Section 4.2, Figure 4",
        "Update gates are mostly shut to new information in the baseline and in the guided encoder; in the guided "
        "decoder more of them are often open.",
        "in words, for a gate that admits the new state",
        (
            *(
                Assertion(
                    f"Shut minus open share of 1 - z, {model} {part}",
                    partial(measure.left_minus_right, model=model, part=part, gate="1 - update"), above(0.0),
                )
                for model, part in MOSTLY_SHUT
            ),
            _guided_minus_baseline(
                "Open share of 1 - z in the decoder: guided minus baseline", above(0.0),
                "gates", "right", part="decoder", gate="1 - update",
            ),
            *(
                Assertion(
                    f"Shut minus open share of z, {model} {part}",
                    partial(measure.left_minus_right, model=model, part=part, gate="update"), above(0.0),
                    role="contrast",
                )
                for model, part in MOSTLY_SHUT
            ),
        ),
        remark="The source's equations have 1 - z where its code, as PyTorch, has z. The verdict follows the equations "
        "and the words; the contrasts are the code's reading.",
    ),
)  # fmt: skip


@studies.register("lookup-inside")
class LookupInsideStudy(Study[InsideConfig]):
    """What do models that compose lookup tables look like inside, against models that do not?"""

    name = "lookup-inside"
    source = published.SOURCE
    place = "Sections 3 and 4, Tables 2 and 3, Figures 1 to 4"
    title = "Inside lookup models with and without guidance"
    about = (
        "The models of lookup-accuracy, looked into in six ways: weights of the decoder embedding, strong connections "
        "between neurons, the range of their activations, what a linear classifier reads from states and gates and how "
        "few units it needs, how often gates are shut or open, and all of that over training, to see when it appears."
    )
    deviations = (
        "Functional groups: the authors' code ranks units by the first class alone; here the ranking sums over classes "
        "('corrected'), with theirs beside it ('as_published'). Both use L2 with C = 1, as their code and unlike their "
        "text, and converge, which theirs mostly did not.",
        "Samples: all rows, as in their code, in random divisions 90 to 10 ('tokens'). Equal prefixes give equal "
        "states, so a test state may have been trained on; 'prefixes' keeps such samples on one side.",
        "Time steps include the final dot, as in their code; the text's footnote has three.",
        "The update gate is shown in both conventions: z keeps the old state (PyTorch, their code), 1 - z admits the "
        "new one (their equations).",
        "'Strong' connections: the strongest 1 % of each matrix; the published thresholds 0.2 and 0.17 beside it.",
        "What makes a unit strong is not said: mean absolute weight decides, largest weight and number of strong edges "
        "stand beside it.",
        "Figure 3 shows 50 random neurons of our own choice.",
        "Not in the source: LSTM models, and all measures over training.",
        "quick: models of 192 units as in lookup-accuracy, one division of the samples instead of five, no LSTMs.",
    )
    claims = CLAIMS
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {**SMOKE, "splits": 2},
        "quick": {**QUICK, "splits": 1, "lstm": False},
        "paper": {},
    }
    fixed: ClassVar[Mapping[str, str]] = {"task.longer": "only lookup-accuracy measures longer compositions."}
    default = InsideConfig()

    def jobs(self, config: InsideConfig) -> list[Job]:
        """One for each seed and cell: both models of that seed."""
        measurement, pairs = InsideMeasurement(config.splits, config.over_training), config.pairs()
        trained = [zip(*(recipe.jobs(range(config.seeds)) for recipe in pair), strict=True) for pair in pairs]
        return [
            measurement.of(*both, seeds=(seed,))
            for of_cells in zip(*trained, strict=True)
            for seed in of_cells[0][0].request.seeds
            for both in of_cells
        ]

    def tables(self, config: InsideConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured, config.model.hidden)
