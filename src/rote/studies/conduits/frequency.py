"""The study of rule frequency: source 000, section 4.1, Figures 1 and 2.

The source gives the network (one layer, 200 units), learning rate 1, clip 0.25, a corpus of a million tokens over a
thousand types, and epochs 40 and 50. The rest is as in the first author's public program: see ``deviations``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from rote.claims import Claim, Measurement, above, below
from rote.config import at_least
from rote.models import LanguageModelConfig
from rote.models.settings import known_cells
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.conduits import frequency_claims as measure
from rote.studies.conduits import published
from rote.studies.conduits.frequency_tables import all_tables
from rote.studies.conduits.settings import Passes, Reading
from rote.studies.study import Progress, Study, studies
from rote.tasks.rules import Generator, RulesTask

RANDOM = "random conduits"
SCALED = {  # where the effects of the published setting can be seen in seconds per network
    "tokens": 100_000, "vocabulary": 50, "model.embedding": 32, "model.hidden": 32, "training.batch": 5,
    "training.learning_rate": 5.0, "reading.rules": 16, "reading.checked": 2, "reading.gradients_every": 4,
    "together": True,
}  # fmt: skip


@dataclass(frozen=True)
class FrequencyConfig:
    model: LanguageModelConfig = field(default_factory=LanguageModelConfig)
    training: Passes = field(default_factory=lambda: Passes(epochs=published.FIGURE_2_EPOCH))
    reading: Reading = field(default_factory=lambda: Reading(gradients=0))
    tokens: int = published.TOKENS
    vocabulary: int = published.VOCABULARY
    generator: Generator = "clean"
    counts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)  # n
    lengths: tuple[int, ...] = (2, 3, 4, 6, 8, 10, 12)  # k, the conduit without open and close symbol
    others: tuple[str, ...] = ()  # cells that are trained beside model.cell
    other_counts: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    other_seeds: int = 1
    seeds: int = 5
    figure_1_epoch: float = published.FIGURE_1_EPOCH
    figure_2_length: int = published.FIGURE_2_LENGTH
    together: bool = False  # many networks as one program; else a run for each

    def __post_init__(self) -> None:
        at_least(self, 1, "lengths", "counts", "other_counts", "seeds", "other_seeds", "figure_2_length")
        known_cells(*self.others)
        for k in self.lengths:
            for n in {*self.counts, *(self.other_counts if self.others else ())}:
                self.task(n, k)  # refuses what does not fit

    def task(self, rules: int, length: int) -> RulesTask:
        return RulesTask(self.tokens, self.vocabulary, rules, length, generator=self.generator)


@studies.register("conduit-frequency")
class FrequencyStudy(Study[FrequencyConfig]):
    """How often must a rule occur before a language model learns it, and which part of it is what counts?"""

    name = "conduit-frequency"
    version = 2
    source = published.SOURCE
    place = "Section 4.1, Figures 1 and 2"
    title = "Frequency of a long-distance rule"
    about = (
        "In uniform noise an open symbol promises a close symbol k symbols later. A language model is trained, and its "
        "state before the close symbol is taken apart: how probable is the close symbol from the open symbol alone, "
        "from the conduit between them as one phrase, and from prefixes of the rule? Cost of the preset paper: about "
        "one minute of one core per pass over a million tokens, 45 minutes per network; 35 settings with 5 seeds are "
        "175 networks, 130 hours of one core. One of them: counts=10000 lengths=4 --seeds 1."
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

    def requests(self, config: FrequencyConfig) -> list[Request]:
        """Each with the part of the grid that it computes, so that other grids find it again. The slowest first."""
        requests = []
        for cell in (*reversed(config.others), config.model.cell):
            main = cell == config.model.cell
            counts, seeds = (config.counts, config.seeds) if main else (config.other_counts, config.other_seeds)
            for lengths, some in self._groups(config, counts, one_length=main):
                part = replace(
                    config, model=replace(config.model, cell=cell), lengths=lengths, counts=some, others=(),
                    other_counts=(1,), other_seeds=1, seeds=seeds, figure_1_epoch=0.0, figure_2_length=1,
                )  # fmt: skip
                title = f"{cell}, k = {', '.join(map(str, lengths))}, n = {', '.join(map(str, some))}"
                chosen = [tuple(range(seeds))] if config.together else [(seed,) for seed in range(seeds)]
                requests += [self.request(title, part, group) for group in chosen]
        return requests

    def _groups(
        self, config: FrequencyConfig, counts: tuple[int, ...], one_length: bool
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Lengths and counts of each run; together can be trained what has corpora of one size."""
        if not config.together:
            return [((k,), (n,)) for k in config.lengths for n in counts]
        by_size: dict[int, list[int]] = {}
        for n in counts:
            by_size.setdefault(config.task(n, config.lengths[0]).length, []).append(n)
        lengths = [(k,) for k in config.lengths] if one_length else [config.lengths]
        return [(some, tuple(group)) for some in lengths for group in by_size.values()]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.conduits.training import ConduitProgram, Replica, train_and_measure

        config = self.config_of(request)
        replicas = [
            Replica(config.task(n, k), RANDOM, seed)
            for k in config.lengths
            for n in config.counts
            for seed in request.seeds
        ]
        program = ConduitProgram(replicas, config.model, config.training, config.reading, device)
        return train_and_measure(program, run, progress)

    def summarize(self, config: FrequencyConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(config, runs)

    claims = (
        Claim(
            "conduit-length", "conduits", "Section 4.1, Figure 1",
            "The longer the conduit, the more examples a network needs before it learns the rule.",
            published.LONGER_NEEDS_MORE,
            (
                Measurement(
                    "log2 of the examples needed, longest minus shortest conduit",
                    measure.examples_needed, above(1.0, at_all=0.0),
                ),
                Measurement(
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
                Measurement(
                    "P(close) from the open symbol minus from the conduit, largest n",
                    lambda tables: measure.open_minus_conduit(tables, ""), above(0.5, at_all=0.1),
                ),
                Measurement(
                    "P(close) from the conduit, largest n", measure.from_conduit, below(0.05, at_all=0.2)
                ),
                Measurement(
                    "P(close) from the open symbol before training", measure.untrained, below(0.1), role="control"
                ),
                Measurement(
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
                Measurement(
                    "log10 P(close) from the conduit, smallest n, longest minus shortest conduit",
                    measure.rare_conduit, below(0.0),
                ),
                Measurement(
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
                Measurement(
                    "P(close) from open symbol and conduit minus from the open symbol alone, largest n",
                    lambda tables: measure.rise(tables, ""), above(0.0),
                ),
                Measurement(
                    "The same as published: read where close is the input",
                    lambda tables: measure.rise(tables, "_at_close"), above(0.0), role="contrast",
                ),
                Measurement(
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
                Measurement("Largest relative error, float32", measure.error_single, below(published.ERROR)),
                Measurement(
                    "Largest relative error, float64", measure.error_double, below(1e-10), role="contrast"
                ),
            ),
            remark="The decomposition is exact by construction: the error is that of rounding. Ours is of the hidden "
            "state at its worst step; the source's is of the output vector.",
        ),
    )  # fmt: skip
