"""The study of rule frequency: source 000, section 4.1, Figures 1 and 2.

The source gives the network (one layer, 200 units), learning rate 1, clip 0.25, a corpus of a million tokens over a
thousand types, and epochs 40 and 50. The rest is as in the first author's public program: see ``deviations``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rote.claims import Assertion, Claim, PerSeed, above, at_most, below, inside, measured
from rote.config import at_least
from rote.laboratory import studies
from rote.store import Table
from rote.studies.conduits import frequency_tables as measure
from rote.studies.conduits import published
from rote.studies.conduits.rules import NO_OTHERS, PAIRS, RulesConfig, RulesMeasurement, RulesStudy, recurring
from rote.studies.conduits.rules_tables import LEARNED
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


def _rare(column: str, length: measure.Length) -> PerSeed:
    return measured(measure.value, column, "smallest n", length)


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
        f"Preset quick is scaled down: {SCALED['tokens']:,} tokens over {SCALED['vocabulary']} types, "
        f"{SCALED['model.hidden']} units, batch 5, learning rate 5, 4 epochs, after which both figures are shown. A "
        f"pair of symbols then stands {recurring(100_000, 50)} times in the corpus by chance, {PAIRS} in the published "
        "one, and a conduit of two symbols is nowhere new. The Elman network, which the source does not have, with "
        "fewer settings and one seed; GRU and Nested LSTM with others=elman,gru,nested_lstm.",
    )
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "smoke": {
            **SCALED, "tokens": 4000, "counts": (20, 200), "lengths": (2, 3), "figure_2_length": 3, "seeds": 2,
            "other_counts": (200,), "others": ("elman",), "training.epochs": 0.5, "training.measure_every": 0.25,
            "reading.rules": 4, "model.hidden": 8, "model.embedding": 8, "figure_1_epoch": 0.5,
        },
        "quick": {
            **SCALED, "counts": (100, 300, 1000, 3000), "lengths": (2, 4, 8), "training.epochs": 4.0,
            "training.measure_every": 0.5, "others": ("elman",), "other_counts": (1000, 3000),
            "figure_1_epoch": 4.0,
        },
        "paper": {},
    }  # fmt: skip
    optional = (*RulesStudy.optional, "other_counts")
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
                    "log2 of the examples needed, longest over shortest conduit",
                    measured(measure.examples_more), above(0),
                ),
                Assertion(
                    "The same of each length over the next longer one, the largest",
                    measured(measure.examples_fewer), at_most(0),
                ),
                Assertion(
                    "P(close) from the open symbol, largest n, shortest conduit",
                    measured(measure.value, "open", "largest n", "shortest conduit"), above(LEARNED),
                    role="condition", scale="unit",
                ),
                Assertion(
                    "log2 of the epochs needed, largest n, longest over shortest conduit",
                    measured(measure.epochs_more), above(0), role="report",
                ),
            ),
            remark="Needed: P(close) from the open symbol is above 1/2. What no count of the grid reached counts as "
            "the next one that it would have. The grid is coarse, so neighboring lengths may need the same.",
        ),
        Claim(
            "conduit-open-symbol", "conduits", "Section 4.1, Figure 1",
            "Where the open symbol makes the close symbol probable, the conduit by itself leaves it very improbable.",
            published.OPEN_CARRIES,
            (
                Assertion(
                    "log of P(close) from the conduit over that from the open symbol, largest n, largest of all "
                    "lengths",
                    measured(measure.largest_ratio, "conduit", "open"), below(-math.log(10)), scale="log",
                ),
                Assertion(
                    "P(close) from the open symbol, largest n, longest conduit",
                    measured(measure.value, "open", "largest n", "longest conduit"), above(LEARNED),
                    role="condition", scale="unit",
                ),
                Assertion(
                    "The conduit says no more than chance (log of P(close) from it over P(close) before training, "
                    "largest of all lengths)",
                    measured(measure.largest_ratio, "conduit", "open_untrained"), at_most(0), role="rival",
                    scale="log",
                ),
                Assertion(
                    "The first as published: read where close is the input",
                    measured(measure.largest_ratio, "conduit_at_close", "open_at_close"), below(-math.log(10)),
                    role="report", scale="log",
                ),
            ),
            remark="Extremely low is taken as a tenth of what the open symbol gives: an order of magnitude.",
        ),
        Claim(
            "conduit-rare-rule", "conduits", "Section 4.1, Figure 1",
            "Of a rare rule, the open symbol gives a probability that does not depend on the length of the conduit, "
            "and the conduit one that falls with it.",
            published.RARE_RULE,
            (
                Assertion(
                    "log of P(close) from the conduit, smallest n, longest over shortest",
                    _rare("conduit", "longest conduit").log_ratio(_rare("conduit", "shortest conduit")), below(0),
                    scale="log",
                ),
                Assertion(
                    "log of P(close) from the open symbol, smallest n, longest over shortest conduit",
                    _rare("open", "longest conduit").log_ratio(_rare("open", "shortest conduit")),
                    inside(-math.log(2), math.log(2)), scale="log",
                ),
                Assertion(
                    "log of the network's own P(close) at its step over one step early, smallest n, shortest conduit",
                    _rare("end_own", "shortest conduit").log_ratio(_rare("end_own_early", "shortest conduit")),
                    above(0), role="condition", scale="log",
                ),
            ),
            remark="Steady is taken as a factor of less than two: to learn a rule raises P(close) by a factor of about "
            "the number of symbols. Where the shortest rule is not learned in part, every probability is that of "
            "chance, and this is no test.",
        ),
        Claim(
            "conduit-error", "conduits", "Section 4",
            "The two parts of contextual decomposition sum to the network's own state.",
            published.APPROXIMATION, kind="identity",
            test="tests/oracles/test_decomposition_properties.py::test_the_parts_sum_to_the_true_state_exactly",
            remark="The decomposition is exact by construction: the error is that of rounding. The table of networks "
            "has it for each, in float64 and in float32.",
        ),
    )  # fmt: skip
