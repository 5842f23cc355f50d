"""SCAN with the word ``jump`` added alone: source 001, section 5.2, appendix B, Figure 3b; with section 4's measures.

The source gives the sizes, Adam with its decaying rate, batch 256, 2000 steps and five seeds. What it leaves open or
says in two ways: see ``deviations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from rote.claims import Assertion, Claim, above, below, inside
from rote.config import at_least
from rote.laboratory import Study, StudyConfig, studies
from rote.models import TranslatorConfig
from rote.recipes import Job, Measurement, Network, Recipe, Trained, measurements, recipes
from rote.recipes.recipe import Progress
from rote.store import Run, Table
from rote.studies.resistance import published, scan_tables
from rote.studies.resistance.summaries import difference, more_in, of
from rote.tasks.scan import SplitName
from rote.tasks.scan_examples import ScanTask, Setting
from rote.training import TrainingConfig

if TYPE_CHECKING:
    from rote.studies.resistance.scan_training import ScanProgram

SETTINGS: tuple[Setting, ...] = ("original", "random", "replaced")  # A, B as in section 5.2, B as in appendix B
RECORDED = (0, *range(5, 50, 5), *range(50, 100, 10))  # then every 50 steps
SMALL = 64  # commands of a batch, up to which six seeds train faster as one program than three and three
SYNTAX_FROM_WORD = "I(syntax of the answer; action word | syntax of the command)"
INFORMED = (0, 5, 10, 15, 20, 25, 30, 50, 100, 200, 300, 400, 600, 800, 1000, 1200, 1400, 1600, 1800)


def training() -> TrainingConfig:
    """As published."""
    return TrainingConfig(steps=2000, batch=256, optimizer="adam", learning_rate=0.01, schedule="exponential")


@recipes.register("scan-jump")
@dataclass(frozen=True)
class ScanRecipe(Recipe):
    """An encoder and a decoder with attention that translate SCAN's commands."""

    name = "scan-jump"
    source = published.SOURCE
    measured_inside = "Accuracies are recorded at 60 steps, and their weights would take three times those kept."
    task: ScanTask = field(default_factory=ScanTask)
    model: TranslatorConfig = field(default_factory=TranslatorConfig)
    training: TrainingConfig = field(default_factory=training)
    sample: int = 512  # commands that an accuracy is measured on while it is trained

    @property
    def together(self) -> int:  # type: ignore[override]
        return 6 if self.training.batch <= SMALL else 3

    @property
    def label(self) -> str:
        return self.task.setting

    def recorded_steps(self) -> list[int]:
        """Steps at which accuracies are measured."""
        if self.training.record_every is not None:
            return self.training.recorded_steps()
        last = self.training.steps
        return sorted({step for step in (*RECORDED, *range(100, last, 50)) if step < last} | {last})

    def informed_steps(self) -> list[int]:
        """Steps whose weights are kept, for the information: the early ones, then a few."""
        return sorted({step for step in INFORMED if step < self.training.steps} | {self.training.steps})

    def fit(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> None:
        from rote.training import train

        train(
            self.program(run.request.seeds, device), self.training, run, progress=progress,
            record_at=self.recorded_steps(), snapshots=self.informed_steps(),
        )  # fmt: skip

    def program(self, seeds: Sequence[int], device: str) -> ScanProgram:
        from rote.studies.resistance.scan_training import ScanProgram

        return ScanProgram(self, seeds, device)

    def closed(self) -> str:
        return (
            "An encoder and a decoder that translate whole commands: nothing is said at each word. What they do is in "
            "the report: rote report."
        )

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models import StackedTranslator
        from rote.models.fitting import fitted
        from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS

        one = {name: weight[index : index + 1] for name, weight in weights.items()}
        seed, dtype, config = trained.seeds[index], self.training.torch_dtype(), self.model
        model = fitted(
            lambda: StackedTranslator(config, len(COMMAND_WORDS), len(ACTIONS) + 1, (seed,), dtype),
            one, trained.run.folder, config.hidden**2, config.hidden * config.embedding,
        )  # fmt: skip
        return Network(model.eval(), inputs=tuple(COMMAND_WORDS), outputs=(*ACTIONS, "<end>"))


@measurements.register("scan-jump")
@dataclass(frozen=True)
class ScanMeasurement(Measurement):
    """Accuracies over training and at the end, and what an answer takes from each component of a command."""

    name = "scan-jump"
    source = published.SOURCE
    probes: int = 128  # command templates, each with all action words, that the information is measured on

    def measure(self, trained: Sequence[Trained], run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.resistance.scan_training import measured

        return measured(self, trained[0], progress, device)


@dataclass(frozen=True)
class ScanConfig(StudyConfig):
    model: TranslatorConfig = field(default_factory=TranslatorConfig)
    training: TrainingConfig = field(default_factory=training)
    split: SplitName = "addprim_jump"
    sample: int = 512
    probes: int = 128

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "sample")
        at_least(self, 2, "probes")

    def recipe(self, setting: Setting) -> ScanRecipe:
        return ScanRecipe(ScanTask(self.split, setting), self.model, self.training, self.sample)


@studies.register("scan-jump")
class ScanJumpStudy(Study[ScanConfig]):
    """Does a model that knows a word alone understand commands that combine it?"""

    name = "scan-jump"
    source = published.SOURCE
    place = "Section 5.2, appendix B, Figure 3b"
    title = "SCAN with a word that is only known alone"
    about = (
        "Commands such as 'jump left twice' are turned into actions. In training 'jump' is never combined with another "
        "word (setting A), so that the action word tells how the answer is organized: 'jump' means one action. In "
        "setting B action words are drawn at random and tell nothing of the kind. The test combines 'jump'. (Table 1 "
        "of the source has 'before' in two commands; SCAN has no such word, only 'and' and 'after'.)"
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
        "Table 1 joins two of its commands with 'before', a word that SCAN's grammar does not have; the official files "
        "join by 'and' or 'after' only, and so do we. The table 'examples' has every line, and SCAN's own actions.",
        "The source plots every step. The trainings of this study are recorded every 5 steps up to 50, every 10 up to "
        "100 and every 50 from there, so that accuracies can be measured on many commands; study 'every-step' has all "
        "steps, on small batches of commands.",
        "At the end means: median over the records of the last fifth of the steps, because Adam at this rate has "
        "spikes of the loss.",
        "Preset quick: 400 steps with batches of 64, samples of 256, 64 templates; everything else as published.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            "seeds": 2, "training.steps": 30, "training.batch": 16, "sample": 32, "probes": 8,
            "model.hidden": 4, "model.embedding": 8,
        },
        "quick": {"training.steps": 400, "training.batch": 64, "sample": 256, "probes": 64},
        "paper": {},
    }  # fmt: skip
    default = ScanConfig()

    def jobs(self, config: ScanConfig) -> list[Job]:
        measurement = ScanMeasurement(config.probes)
        groups = zip(*(config.recipe(setting).jobs(config.seed_numbers) for setting in SETTINGS), strict=True)
        return [measurement.of(job) for group in groups for job in group]  # all settings of a few seeds, then more

    def tables(self, config: ScanConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return scan_tables.all_tables(measured, config.split)

    claims = (
        Claim(
            "scan-faster", "resistance", "Section 5.2, Figure 3b",
            "Early in training (steps 10 to 25) training accuracy rises faster in setting A than in B.",
            published.SCAN_TRAINS_FASTER,
            (
                Assertion(
                    "Training accuracy at step 25: A minus B, same initial weights and lines",
                    more_in("original", "random", "train_25"), above(0),
                ),
                Assertion(
                    "Training accuracy at step 25 without the copies of 'jump', a tenth of the lines: A minus B",
                    more_in("original", "random", "combined_25"), above(0), role="rival",
                ),
                Assertion(
                    "Training accuracy, mean over steps 10 to 25: A minus B",
                    more_in("original", "random", "train_early"), above(0), role="report",
                ),
                Assertion(
                    "Without copies, mean over steps 100 to 150: A minus B",
                    more_in("original", "random", "combined_middle"), above(0), role="report",
                ),
                Assertion(
                    "Without copies, mean over steps 100 to 150: A minus B as in appendix B",
                    more_in("original", "replaced", "combined_middle"), above(0), role="report",
                ),
            ),
            remark="If A is ahead only by the copies of 'jump', it has learned one command that makes up a tenth of "
            "its lines; that is no evidence that the redundant information speeds up learning.",
        ),
        Claim(
            "scan-gap", "resistance", "Section 5.2, Figure 3b",
            "At the end the gap between training and test accuracy is larger in setting A than in B.",
            published.SCAN_LARGER_GAP,
            (
                Assertion(
                    "Training minus test accuracy at the end: A minus B", more_in("original", "random", "gap"),
                    above(0),
                ),
                Assertion(
                    "Training accuracy at the end in A", of("original", "train"), above(0.5), role="condition",
                    scale="unit",
                ),
                Assertion(
                    "Training minus test accuracy at the end in B", of("random", "gap"), inside(-0.1, 0.1),
                    role="condition",
                ),
                Assertion(
                    "Training minus test accuracy at the end in B as in appendix B", of("replaced", "gap"),
                    inside(-0.1, 0.1), role="report",
                ),
            ),
            remark="Figure 3 calls training and test 'close' in B: within 0.1, the share of the training lines that "
            "copies of one command make up.",
        ),
        Claim(
            "scan-redundant-word", "resistance", "Section 4.3, proposition 5; section 5.2",
            "In setting A the syntax of the answer depends more on the action word early in training, and stays so.",
            published.OUTPUTS_ARE_ENTANGLED,
            (
                Assertion(
                    f"{SYNTAX_FROM_WORD}, mean over steps 10 to 25, bits: A minus B",
                    more_in("original", "random", "syntax_word_early"), above(0),
                ),
                Assertion(
                    f"{SYNTAX_FROM_WORD} at the end, bits: A minus B", more_in("original", "random", "syntax_word"),
                    above(0),
                ),
                Assertion(
                    f"{SYNTAX_FROM_WORD} at the end without 'jump', bits: A minus B",
                    more_in("original", "random", "syntax_word_others"), above(0), role="rival",
                ),
                Assertion(
                    f"{SYNTAX_FROM_WORD} in A: end minus untrained",
                    difference("original", "syntax_word", "syntax_word_0"), above(0), role="report",
                ),
                Assertion(
                    f"{SYNTAX_FROM_WORD} in B: end minus untrained",
                    difference("random", "syntax_word", "syntax_word_0"), below(0), role="report",
                ),
                Assertion(
                    "Gradient by action words over that by the other words at the end: A over B",
                    of("original", "ratio").log_ratio(of("random", "ratio")), above(0), role="report", scale="log",
                ),
            ),
            kind="implied",
            remark="What an untrained model says depends on every word, so growth from there means little; what "
            "training does differently in A is the test. Where only 'jump' gets a syntax of its own, at most "
            "H(1/4) bits can come of it.",
        ),
    )  # fmt: skip
