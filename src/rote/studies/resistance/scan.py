"""SCAN with the word ``jump`` added alone: source 001, section 5.2, appendix B, Figure 3b; with section 4's measures.

The source gives the sizes, Adam with its decaying rate, batch 256, 2000 steps and five seeds. What it leaves open or
says in two ways: see ``deviations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Claim, Estimate, Measurement, Tables, above, below, mean, paired_difference
from rote.config import at_least
from rote.models import TranslatorConfig
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.resistance import published, scan_tables
from rote.studies.study import Progress, Study, studies
from rote.tasks.scan import SplitName
from rote.training import TrainingConfig

SETTINGS = ("original", "random", "replaced")  # A, B as in section 5.2, B as in appendix B
RECORDED = (0, *range(5, 50, 5), *range(50, 100, 10))  # then every 50 steps
INFORMED = (0, 5, 10, 15, 20, 25, 30, 50, 100, 200, 300, 400, 600, 800, 1000, 1200, 1400, 1600, 1800)


@dataclass(frozen=True)
class ScanConfig:
    model: TranslatorConfig = field(default_factory=TranslatorConfig)
    training: TrainingConfig = field(
        default_factory=lambda: TrainingConfig(
            steps=2000, batch=256, optimizer="adam", learning_rate=0.01, schedule="exponential"
        )
    )
    split: SplitName = "addprim_jump"
    seeds: int = 5
    together: int = 3  # seeds that are trained as one program
    sample: int = 512  # commands that an accuracy is measured on during training
    probes: int = 128  # command templates, each with all action words, that the information is measured on

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "together", "sample")
        at_least(self, 2, "probes")

    def recorded_steps(self) -> list[int]:
        if self.training.record_every is not None:
            return self.training.recorded_steps()
        last = self.training.steps
        return sorted({step for step in (*RECORDED, *range(100, last, 50)) if step < last} | {last})

    def informed_steps(self) -> list[int]:
        """Steps at which the information is measured: the early ones, then a few."""
        return sorted({step for step in INFORMED if step < self.training.steps} | {self.training.steps})


@studies.register("scan-jump")
class ScanJumpStudy(Study[ScanConfig]):
    """Does a model that knows a word alone understand commands that combine it?"""

    name = "scan-jump"
    version = 1
    source = published.SOURCE
    place = "Section 5.2, appendix B, Figure 3b"
    title = "SCAN with a word that is only known alone"
    about = (
        "Commands such as 'jump left twice' are turned into actions. In training 'jump' is never combined with another "
        "word (setting A), so that the action word tells how the answer is organized: 'jump' means one action. In "
        "setting B action words are drawn at random and tell nothing of the kind. The test combines 'jump'."
    )
    deviations = (
        "Setting B is described in two ways. 'random', as in section 5.2: every action word of a training line is "
        "drawn anew from the four at each use. 'replaced', as in appendix B: 'jump' becomes one of the other three, in "
        "training and test; its test then has only commands of the training set.",
        "Left open by the source and chosen here: bilinear attention and a tanh layer behind it, attended vectors not "
        "fed back (Luong et al. 2015); both directions' outputs at the first and last position as the decoder's hidden "
        "and cell state; smooth decay of the learning rate; cross entropy as mean over actions; Glorot uniform "
        "weights, forget biases 1; no clipping of gradients.",
        "Training accuracy is measured on a sample of lines drawn as in training; with and without the copies of "
        "'jump', which are a tenth of the lines.",
        "At the end means: median over the records of the last fifth of the steps, because Adam at this rate has "
        "spikes of the loss.",
        "Preset quick: 400 steps with batches of 64, samples of 256, 64 templates; everything else as published.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "seeds": 2, "together": 2, "training.steps": 30, "training.batch": 16, "sample": 32, "probes": 8,
            "model.hidden": 4, "model.embedding": 8,
        },
        "quick": {"training.steps": 400, "training.batch": 64, "sample": 256, "probes": 64},
        "paper": {},
    }  # fmt: skip
    default = ScanConfig()

    def requests(self, config: ScanConfig) -> list[Request]:
        groups = [
            range(config.seeds)[first : first + config.together] for first in range(0, config.seeds, config.together)
        ]
        return [self.request(setting, config, seeds) for seeds in groups for setting in SETTINGS]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.scan_training import train_and_measure

        return train_and_measure(self.config_of(request), request, run, progress, device)

    def summarize(self, config: ScanConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return scan_tables.all_tables([run.tables() for run in runs], config.training.steps)

    claims = (
        Claim(
            "scan-faster", "resistance", "Section 5.2, Figure 3b",
            "Early in training (steps 10 to 25) training accuracy rises faster in setting A than in B.",
            published.SCAN_TRAINS_FASTER,
            (
                Measurement(
                    "Training accuracy at step 25: A minus B, same initial weights and lines",
                    lambda tables: against(tables, "random", "train_25"), above(0.05, at_all=0.0),
                ),
                Measurement(
                    "The same without the copies of 'jump', a tenth of the training lines",
                    lambda tables: against(tables, "random", "combined_25"), above(0.01, at_all=0.0), role="control",
                ),
                Measurement(
                    "Training accuracy, mean over steps 10 to 25: A minus B",
                    lambda tables: against(tables, "random", "train_early"), above(0.0), role="contrast",
                ),
                Measurement(
                    "Without copies, mean over steps 100 to 150: A minus B",
                    lambda tables: against(tables, "random", "combined_middle"), above(0.0), role="contrast",
                ),
                Measurement(
                    "Without copies, mean over steps 100 to 150: A minus B as in appendix B",
                    lambda tables: against(tables, "replaced", "combined_middle"), above(0.0), role="contrast",
                ),
            ),
            remark="If A is ahead only by the copies of 'jump', it has learned one command that makes up a tenth of "
            "its lines; that is no evidence that the redundant information speeds up learning.",
        ),
        Claim(
            "scan-gap", "resistance", "Section 5.2, Figure 3b",
            "At the end the gap between training and test accuracy is much larger in setting A than in B.",
            published.SCAN_LARGER_GAP,
            (
                Measurement(
                    "Training minus test accuracy at the end: A minus B",
                    lambda tables: against(tables, "random", "gap"), above(0.5, at_all=0.1),
                ),
                Measurement(
                    "Training minus test accuracy at the end in B", lambda tables: seed_mean(tables, "random", "gap"),
                    below(0.1), role="control",
                ),
                Measurement(
                    "The same in B as in appendix B", lambda tables: seed_mean(tables, "replaced", "gap"), below(0.1),
                    role="contrast",
                ),
                Measurement(
                    "Training accuracy at the end in A", lambda tables: seed_mean(tables, "original", "train"),
                    above(0.5), role="control",
                ),
            ),
        ),
        Claim(
            "scan-redundant-word", "resistance", "Section 4.3, proposition 5; section 5.2",
            "In setting A the syntax of the answer comes to depend on the action word early in training, and stays so.",
            published.OUTPUTS_ARE_ENTANGLED,
            (
                Measurement(
                    "I(syntax of the answer; action word | syntax of the command), mean over steps 10 to 25, bits: "
                    "A minus B", lambda tables: against(tables, "random", "syntax_word_early"), above(0.1, at_all=0.0),
                ),
                Measurement(
                    "The same at the end", lambda tables: against(tables, "random", "syntax_word"),
                    above(0.3, at_all=0.0),
                ),
                Measurement(
                    "The same in A: end minus untrained", lambda tables: since_untrained(tables, "original"),
                    above(0.0), role="contrast",
                ),
                Measurement(
                    "The same in B: end minus untrained", lambda tables: since_untrained(tables, "random"), below(0.0),
                    role="contrast",
                ),
                Measurement(
                    "At the end, of the words without 'jump': A minus B",
                    lambda tables: against(tables, "random", "syntax_word_others"), above(0.0), role="contrast",
                ),
                Measurement(
                    "Gradient by action words over that by the other words at the end: A minus B",
                    lambda tables: against(tables, "random", "ratio"), above(0.0), role="contrast",
                ),
            ),
            remark="What an untrained model says depends on every word, so growth from there means little; what "
            "training does differently in A is the test. 0.81 bits at the end mean that one word of four, 'jump', gets "
            "a syntax of its own.",
        ),
    )  # fmt: skip


def against(tables: Tables, control: str, column: str) -> Estimate:
    """A minus another setting, seed by seed."""
    seeds = tables["seeds"]
    return paired_difference(
        seeds.where(setting="original").column(column), seeds.where(setting=control).column(column)
    )


def seed_mean(tables: Tables, setting: str, column: str) -> Estimate:
    return mean(tables["seeds"].where(setting=setting).column(column))


def since_untrained(tables: Tables, setting: str) -> Estimate:
    rows = tables["seeds"].where(setting=setting)
    return paired_difference(rows.column("syntax_word"), rows.column("syntax_word_0"))
