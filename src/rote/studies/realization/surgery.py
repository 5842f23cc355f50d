"""Exchanging parts of lookup models and cutting neurons out of them: source 002, section 5, Table 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from rote.claims import Assertion, Claim, Criterion, above, below
from rote.config import at_least
from rote.errors import SettingError
from rote.laboratory import Study, studies
from rote.recipes import Job, Measurement, Trained, measurements
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.realization import published
from rote.studies.realization import surgery_tables as measure
from rote.studies.realization.models import QUICK, SMOKE, LookupConfig
from rote.studies.realization.retraining import (
    COMPONENTS,
    EXCHANGED,
    PRUNED,
    STRENGTHS,
    ExchangeRecipe,
    PruningRecipe,
    RetrainedRecipe,
    published_retraining,
)
from rote.training import TrainingConfig


@measurements.register("lookup-surgery")
@dataclass(frozen=True)
class SurgeryMeasurement(Measurement):
    """Accuracy of changed lookup models, before and after they were trained again."""

    name = "lookup-surgery"
    source = published.SOURCE

    def of(self, *trainings: Job, seeds: Sequence[int] | None = None) -> Job:
        """The retrained models first, then those that they were made from. The first tell the measurements apart."""
        job = super().of(*trainings, seeds=seeds)
        return replace(job, request=replace(job.request, label=trainings[0].request.label))

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.realization.surgery_training import before_and_after

        retrained, *models = trained
        recipe: RetrainedRecipe = retrained.recipe
        rows = before_and_after(recipe.program(models, device), retrained, measure.SPLITS)
        return [measure.trial_table(*recipe.trial, rows)]


@dataclass(frozen=True)
class SurgeryConfig(LookupConfig):
    retraining: TrainingConfig = field(default_factory=published_retraining)  # with exchanged parts
    pruned_steps: int = 4640  # of retraining after pruning: 20 epochs
    keep: float = 0.05  # share of the neurons that stay
    strongest: float = published.STRONGEST  # share of a layer's weights that count as strong edges

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "pruned_steps")
        at_least(self, 1, "task.unseen_tables", "task.heldout_compositions", "task.heldout_inputs", "task.validation")
        for name in ("keep", "strongest"):
            if not 0 < getattr(self, name) <= 1:
                raise SettingError(name, f"must be a share above 0 and at most 1. Got {getattr(self, name)}.")

    def recipes(self) -> list[RetrainedRecipe]:
        """Each part exchanged in both kinds of models, and each way to prune."""
        models = self.guided(self.model.cell)
        after_pruning = replace(self.retraining, steps=self.pruned_steps, patience=None)
        return [
            *(
                ExchangeRecipe(models, self.retraining, kind, part)
                for kind in ("guided", "baseline")
                for part in COMPONENTS
            ),
            *(PruningRecipe(models, after_pruning, by, self.keep, self.strongest) for by in PRUNED),
        ]


def _exchange(
    number: str, says: str, component: str, region: Criterion, role: Literal["control", "contrast"] = "control",
    more: Sequence[Assertion] = (),
) -> Claim:  # fmt: skip
    """A claim about guided models with one component of a baseline."""
    return Claim(
        f"lookup-substitution-{number}", "realization", "Section 5.1, Table 4", says, _said(component),
        (*_against_whole(component, region, role), *more),
    )  # fmt: skip


def _said(component: str) -> str:
    """What Table 4 has for guided models with a component exchanged, beside those without."""
    rows = [published.SUBSTITUTION["guided", name] for name in (component, "none")]
    return "{} against {}".format(*(f"{accuracy:.2f} ± {sd:.2f}" for accuracy, sd in rows))


def _against_whole(
    component: str, region: Criterion, role: Literal["control", "contrast"] = "control"
) -> tuple[Assertion, Assertion]:
    """What the exchange changes, against the model as trained, and against one with the same retraining."""
    return (
        Assertion(
            f"Accuracy, {component} exchanged minus original", measure.guided_minus((component,), ("original",)), region
        ),
        Assertion(
            "The same minus retrained without an exchange", measure.guided_minus((component,), ("none",)), region, role
        ),
    )


CLAIMS = (
    _exchange(
        "encoder", "With a frozen baseline encoder a guided model does not find the compositional solution again.",
        "encoder", below(-0.3, at_all=0.0),
    ),
    Claim(
        "lookup-substitution-drop", "realization", "Section 5.1",
        "Replacing the entire encoder loses four fifths of the accuracy.",
        f"{published.ENCODER_DROP:.0%} drop in accuracy, to {published.ENCODER_ACCURACY}",
        (
            Assertion(
                "Share of the original's accuracy that is lost", measure.relative_drop("encoder"),
                above(0.6, at_all=0.4),
            ),
        ),
    ),
    _exchange(
        "decoder", "With a frozen baseline decoder a guided model does not find the compositional solution again.",
        "decoder", below(-0.3, at_all=0.0),
    ),
    _exchange(
        "decoder-embedding", "The decoder's embedding matters for a compositional solution.", "decoder embedding",
        below(-0.2, at_all=0.0),
    ),
    _exchange(
        "decoder-input", "The decoder's input-to-hidden weights matter for a compositional solution.", "decoder W_ih",
        below(-0.1, at_all=0.0),
    ),
    _exchange(
        "encoder-embedding",
        "The encoder's embedding does not matter: with that of a baseline the accuracy is similar.",
        "encoder embedding", above(-0.15), "contrast",
    ),
    _exchange(
        "encoder-recurrent",
        "The encoder's hidden-to-hidden weights can be replaced without as big a drop as the whole encoder.",
        "encoder W_hh", above(-0.15), "contrast",
        [
            Assertion(
                "Accuracy, W_hh minus whole encoder exchanged",
                measure.guided_minus(("encoder W_hh",), ("encoder",)), above(0.2, at_all=0.0),
            )
        ],
    ),
    Claim(
        "lookup-substitution-gains", "realization", "Section 5.1, Table 4",
        "Baseline input-to-hidden weights in the encoder, or hidden-to-hidden weights in the decoder, improve a "
        "guided model.",
        f"{_said('encoder W_ih')}; {_said('decoder W_hh')}",
        (
            *_against_whole("encoder W_ih", above(0.0, at_all=-0.1)),
            *_against_whole("decoder W_hh", above(0.0, at_all=-0.1)),
        ),
        remark="Partly: it does not hurt by more than 0.1. The source compares with models that were not trained "
        "any longer; only a gain over the retrained ones can come from the exchange.",
    ),
    Claim(
        "lookup-substitution-order", "realization", "Table 4",
        "Encoder and decoder matter most, then the decoder's embedding, then its input-to-hidden weights.",
        published.SUBSTITUTION_ORDER,
        (
            Assertion(
                "Accuracy, encoder or decoder minus decoder embedding exchanged",
                measure.guided_minus(("encoder", "decoder"), ("decoder embedding",)), below(0.0),
            ),
            Assertion(
                "Decoder embedding minus decoder W_ih",
                measure.guided_minus(("decoder embedding",), ("decoder W_ih",)), below(0.0),
            ),
            Assertion(
                "Decoder W_ih minus encoder embedding, encoder W_hh and original",
                measure.guided_minus(("decoder W_ih",), ("encoder embedding", "encoder W_hh", "original")),
                below(0.0),
            ),
            Assertion(
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
            Assertion(
                "Accuracy of baselines with a guided component, mean over the eight",
                measure.baselines(EXCHANGED), below(0.1, at_all=0.2),
            ),
            Assertion(
                "The same, the best of the eight for each seed", measure.best_baseline(EXCHANGED),
                below(0.1, at_all=0.2), role="contrast",
            ),
            Assertion(
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
            Assertion(
                "Accuracy, neurons with the most strong edges kept", measure.pruned_accuracy("edges"),
                below(0.3, at_all=0.5),
            ),
            Assertion(
                "The same minus that of the whole network", measure.pruned_minus_full("edges", "before"),
                below(-0.3, at_all=0.0), role="control",
            ),
            *(
                Assertion(
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
            Assertion(
                "Accuracy, pruned by strong edges and retrained minus whole network as trained",
                measure.pruned_minus_full("edges", "accuracy"), above(0.0, at_all=-0.05),
            ),
            *(
                Assertion(
                    f"The same, neurons with the largest {by} weight kept",
                    measure.pruned_minus_full(by, "accuracy"), above(0.0, at_all=-0.05), role="contrast",
                )
                for by in STRENGTHS[1:]
            ),
            Assertion(
                "The first against the whole network with the same retraining",
                measure.retrained_minus_retrained("edges", "none"), above(0.0, at_all=-0.05), role="contrast",
            ),
            Assertion(
                "The first against random neurons kept, with the same retraining",
                measure.retrained_minus_retrained("edges", "random"), above(0.0), role="contrast",
            ),
        ),
        remark="Partly: it comes back to within 0.05. If random neurons do as well, it is not the strong "
        "connections that matter.",
    ),
)  # fmt: skip


@studies.register("lookup-surgery")
class LookupSurgeryStudy(Study[SurgeryConfig]):
    """Which parts of a lookup model hold the compositional solution, and how few neurons does it need?"""

    name = "lookup-surgery"
    source = published.SOURCE
    place = "Section 5, Table 4"
    title = "Lookup models with exchanged parts, and with 5 % of their neurons"
    about = (
        "A part of a model trained without attention targets is put into a model trained with them, frozen, and the "
        "rest is retrained: where accuracy on compositions of tables that were never composed does not come back, the "
        "part was needed for it. The same the other way round. And all but the 5 % most strongly connected neurons are "
        "cut out of the guided models."
    )
    deviations = (
        "Left open by the source and chosen here: W_ih and W_hh are matrices without their biases; a part goes into "
        "the model of the same seed; the whole decoder includes attention, focus and readout; the order of the "
        "examples is a new one; Adam starts anew.",
        "At most 100 epochs: retraining ends when the validation loss of no model has fallen for about 10 epochs "
        "(retraining.patience=none for all 100). The model with the lowest validation loss is taken, which may be that "
        "before retraining. The authors' public script for it exchanges whole modules and takes all epochs.",
        "The source's row without an exchanged part is the model as trained, not retrained. We have both: what is "
        "gained over the original may come from the longer training alone.",
        "The source tuned 16 models and reports three; here every seed is reported.",
        "Which neurons are strongly connected is not said, and no script for it is public: three readings, of which "
        "the number of strong edges decides. What is cut stays zero, also in the state that the decoder starts from.",
        "Preset quick: 192 units, batch 4, learning rate 0.002, 25 epochs of training and 3 of retraining; 5 % are 10 "
        "neurons, and the guided models compose less well to begin with.",
    )
    claims = CLAIMS
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SMOKE, "retraining.batch": 16, "retraining.steps": 4, "retraining.record_every": 2, "pruned_steps": 4,
            "keep": 0.25,
        },
        "quick": {
            **QUICK, "retraining.batch": 4, "retraining.learning_rate": 0.002, "retraining.steps": 174,
            "retraining.record_every": 29, "pruned_steps": 174,
        },
        "paper": {},
    }  # fmt: skip
    fixed: ClassVar[Mapping[str, str]] = {
        "task.longer": "only lookup-accuracy measures longer compositions.",
        "retraining.dtype": "retraining goes on with the numbers of 'training.dtype'.",
    }
    default = SurgeryConfig()

    def jobs(self, config: SurgeryConfig) -> list[Job]:
        retrained = [job for recipe in config.recipes() for job in recipe.jobs(range(config.seeds))]
        return [SurgeryMeasurement().of(job, *job.needs) for job in retrained]

    def tables(self, config: SurgeryConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(measured)
