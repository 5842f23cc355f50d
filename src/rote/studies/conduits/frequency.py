"""The study of rule frequency: source 000, section 4.1, Figures 1 and 2.

The source gives the network (one layer, 200 units), learning rate 1, clip 0.25, a corpus of a million tokens over a
thousand types, and epochs 40 and 50. The rest is as in the first author's public program: see ``deviations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, above, below
from rote.config import at_least
from rote.laboratory import studies
from rote.store import Table
from rote.studies.conduits import frequency_tables as measure
from rote.studies.conduits import published
from rote.studies.conduits.rules import NO_OTHERS, RulesConfig, RulesMeasurement, RulesStudy
from rote.tasks.rules import Generator, RulesTask

SCALED = {  # where the effects of the published setting can be seen in seconds per network
    "tokens": 100_000, "vocabulary": 50, "model.embedding": 32, "model.hidden": 32, "training.batch": 5,
    "training.learning_rate": 5.0, "reading.rules": 16, "reading.checked": 2, "reading.gradients_every": 4,
}  # fmt: skip


@dataclass(frozen=True)
class FrequencyConfig(RulesConfig):
    reading: RulesMeasurement = field(default_factory=lambda: RulesMeasurement(gradients=0))
    generator: Generator = "clean"
    counts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)  # n
    lengths: tuple[int, ...] = (2, 3, 4, 6, 8, 10, 12)  # k, the conduit without open and close symbol
    other_counts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    figure_1_epoch: float = float(published.FIGURE_1_EPOCH)
    figure_2_length: int = published.FIGURE_2_LENGTH

    def __post_init__(self) -> None:
        at_least(self, 1, "lengths", "counts", "other_counts", "figure_2_length")
        at_least(self, 0, "figure_1_epoch")
        super().__post_init__()

    def unused(self) -> dict[str, str]:
        reasons = super().unused()
        if not self.others:
            reasons["other_counts"] = NO_OTHERS
        if self.figure_2_length not in self.lengths:
            reasons["figure_2_length"] = "it is none of 'lengths'."
        if self.figure_1_epoch > self.training.epochs:
            reasons["figure_1_epoch"] = "'training.epochs' ends before it."
        return reasons

    def corpora(self, *, main: bool) -> list[list[RulesTask]]:
        """Those of each length by themselves; of other cells, which have fewer, all."""
        grid = [[self.task(n, k) for n in (self.counts if main else self.other_counts)] for k in self.lengths]
        return grid if main else [[task for tasks in grid for task in tasks]]

    def task(self, rules: int, length: int) -> RulesTask:
        return RulesTask(self.tokens, self.vocabulary, rules, length, generator=self.generator)


@studies.register("conduit-frequency")
class FrequencyStudy(RulesStudy[FrequencyConfig]):
    """How often must a rule occur before a language model learns it, and which part of it is what counts?"""

    name = "conduit-frequency"
    place = "Section 4.1, Figures 1 and 2"
    title = "Frequency of a long-distance rule"
    about = (
        "In uniform noise an open symbol promises a close symbol k symbols later. A language model is trained, and its "
        "state before the close symbol is taken apart: how probable is the close symbol from the open symbol alone, "
        "from the conduit between them as one phrase, and from prefixes of the rule? One network of the preset "
        "paper: counts=10000 lengths=4 --seeds 1. The weights after every pass are kept, so that another reading.* "
        "looks at the same networks."
    )
    deviations = (
        "k is the length of the conduit. The source writes x[t-k] for the open symbol, so its k may be one more.",
        "Left open by the source, and as in the author's program: batch 20, truncated backpropagation over 35 symbols "
        "with carried state, embedding and readout uniform in [-0.1, 0.1], torch's own initialization of the cell. By "
        "default that program has dropout 0.2; the source does not mention it and we use none (model.dropout).",
        "Which n and k Figure 1 shows is not in the text; the grid is ours.",
        "Decomposition in float64, bias products relevant within the span, no bias of the readout, read one step "
        "before the close symbol, where it is predicted. The author's program reads one step later, where it is the "
        "input; both are measured (reading.at, reading.bias choose), and 10 symbols of context stand before a rule.",
        "The corpora are clean: no rule is overwritten (generator=as_published for the author's program).",
        "Preset quick is scaled down: 100 000 tokens over 50 types, 32 units, batch 5, learning rate 5, 4 epochs. "
        "Elman, GRU and Nested LSTM, which the source does not have, with fewer settings and seeds.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SCALED, "tokens": 4000, "counts": (20, 200), "lengths": (1, 3), "figure_2_length": 3, "seeds": 2,
            "other_counts": (200,), "others": ("elman",), "training.epochs": 0.5, "training.measure_every": 0.25,
            "reading.rules": 4, "model.hidden": 8, "model.embedding": 8, "figure_1_epoch": 0.5,
        },
        "quick": {
            **SCALED, "counts": (100, 300, 1000, 3000), "lengths": (2, 4, 8), "training.epochs": 4.0,
            "training.measure_every": 0.5, "others": ("elman", "gru", "nested_lstm"), "other_counts": (1000, 3000),
            "figure_1_epoch": 4.0,
        },
        "paper": {},
    }  # fmt: skip
    default = FrequencyConfig()

    def tables(self, config: FrequencyConfig, measured: Mapping[str, Table]) -> Sequence[Table]:
        return measure.all_tables(config, measured)

    claims = (
        Claim(
            "conduit-length", "conduits", "Section 4.1, Figure 1",
            "The longer the conduit, the more examples a network needs before it learns the rule.",
            published.LONGER_NEEDS_MORE,
            (
                Assertion(
                    "log2 of the examples needed, longest minus shortest conduit",
                    measure.examples_needed, above(1.0, at_all=0.0),
                ),
                Assertion(
                    "log2 of the epochs needed at the largest n, longest minus shortest conduit",
                    measure.epochs_needed, above(0.5, at_all=0.0),
                ),
            ),
            remark="Needed: P(close) from the open symbol is above 1/2. What no count or epoch reached is counted as "
            "the next count of the grid, or as the end of training: the true difference is larger.",
        ),
        Claim(
            "conduit-open-symbol", "conduits", "Section 4.1, Figure 1",
            "What carries a learned rule is the open symbol; the conduit by itself says almost nothing.",
            published.OPEN_CARRIES,
            (
                Assertion(
                    "P(close) from the open symbol minus from the conduit, largest n",
                    lambda tables: measure.open_minus_conduit(tables, ""), above(0.5, at_all=0.1),
                ),
                Assertion(
                    "P(close) from the conduit, largest n", measure.from_conduit, below(0.05, at_all=0.2)
                ),
                Assertion(
                    "P(close) from the open symbol before training", measure.untrained, below(0.1), role="control"
                ),
                Assertion(
                    "The first as published: read where close is the input",
                    lambda tables: measure.open_minus_conduit(tables, "_at_close"), above(0.5, at_all=0.1),
                    role="contrast",
                ),
            ),
        ),
        Claim(
            "conduit-rare-rule", "conduits", "Section 4.1, Figure 1",
            "Of a rare rule, the open symbol gives a low probability whatever the length, and the conduit one that "
            "falls with its length.",
            published.RARE_RULE,
            (
                Assertion(
                    "log10 P(close) from the conduit, smallest n, longest minus shortest conduit",
                    measure.rare_conduit, below(0.0),
                ),
                Assertion(
                    "|log10 P(close)| from the open symbol, smallest n, between longest and shortest conduit",
                    measure.rare_open, below(0.1, at_all=0.3),
                ),
            ),
        ),
        Claim(
            "conduit-counting", "conduits", "Section 4.1, Figure 2",
            "Together with the open symbol the conduit raises the probability slightly: the network counts.",
            published.COUNTING,
            (
                Assertion(
                    "P(close) from open symbol and conduit minus from the open symbol alone, largest n",
                    lambda tables: measure.rise(tables, ""), above(0.0),
                ),
                Assertion(
                    "The same as published: read where close is the input",
                    lambda tables: measure.rise(tables, "_at_close"), above(0.0), role="contrast",
                ),
                Assertion(
                    "The network's own P(close) at the right step minus one step early", measure.timing, above(0.5),
                    role="contrast",
                ),
            ),
            remark="The last is what counting would have to show: a close symbol at the right step and not before it.",
        ),
        Claim(
            "conduit-error", "conduits", "Section 4",
            "The two parts of contextual decomposition sum to the network's own state.",
            published.APPROXIMATION,
            (
                Assertion("Largest relative error, float32", measure.error_single, below(published.ERROR)),
                Assertion(
                    "Largest relative error, float64", measure.error_double, below(1e-10), role="contrast"
                ),
            ),
            remark="The decomposition is exact by construction: the error is that of rounding. Ours is of the hidden "
            "state at its worst step; the source's is of the output vector.",
        ),
    )  # fmt: skip
