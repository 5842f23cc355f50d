"""Six ways to look inside lookup models: source 002, sections 3 and 4, Tables 2 and 3, Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from rote.config import at_least
from rote.store import FinishedRun, Request, Run, Table
from rote.studies.realization import published
from rote.studies.realization.accuracy import AccuracyConfig, cells_of, kept_steps, load_models, model_requests
from rote.studies.realization.inside_claims import CLAIMS
from rote.studies.realization.inside_tables import COLUMNS, all_tables, run_table
from rote.studies.realization.settings import KINDS, QUICK, SMOKE
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected

SHOWN_MATRICES = ("encoder W_hz", "decoder W_iz", "encoder W_hi", "decoder W_ii")  # Figure 2; for LSTMs the input gate


@dataclass(frozen=True)
class InsideConfig(AccuracyConfig):
    splits: int = 5  # random divisions of the samples into training and test, for each classifier
    over_training: bool = True  # look also at the weights kept during training

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "splits")
        at_least(self.task, 1, "unseen_tables", "heldout_compositions")


@studies.register("lookup-inside")
class LookupInsideStudy(Study[InsideConfig]):
    """What do models that compose lookup tables look like inside, against models that do not?"""

    name = "lookup-inside"
    version = 1
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
    default = InsideConfig()

    def needs(self, config: InsideConfig) -> list[Request]:
        return model_requests(config, config.seeds, cells_of(config))

    def requests(self, config: InsideConfig) -> list[Request]:
        """A run for each cell and seed: both models of that seed."""
        return [
            self.request(cell, replace(config, lstm=False, model=replace(config.model, cell=cell)), (seed,))
            for seed in range(config.seeds)
            for cell in cells_of(config)
        ]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        config, (seed,) = self.config_of(request), request.seeds
        trained = [run.other(needed) for needed in model_requests(config, config.seeds, (request.part,))]
        kept = kept_steps(config) if config.over_training else {}
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in COLUMNS}
        total, done = len(KINDS) * (1 + len(kept)), 0
        for kind, models in zip(KINDS, trained, strict=True):
            labels = {"cell": request.part, "model": kind, "seed": seed}
            found = look(models, seed, config)
            done += 1
            progress(done, total)
            found["emergence"] = []
            for step, epoch in kept.items():
                found["emergence"] += emerged(models, seed, config, step, epoch)
                done += 1
                progress(done, total)
            for name, more in found.items():
                rows[name] += [{**labels, **row} for row in more]
        return [run_table(name, rows[name]) for name in COLUMNS if rows[name]]

    def summarize(self, config: InsideConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        return all_tables(collected(runs), config.model.hidden)


def look(models: FinishedRun, seed: int, config: InsideConfig) -> dict[str, list[dict[str, Any]]]:
    """Every measure of one trained model; for seed 0 also what the figures show in detail."""
    from rote.studies.realization import inside_measures as measures

    inside = measures.InsideModel(load_models(models).select([seed]), config.task)
    groups = measures.diagnoses(inside, config.splits, seed)
    found = {
        "diagnosis": groups,
        "strong-groups": measures.strong_group(inside, groups),
        "embedding": measures.embedding(inside),
        "graphs": measures.graphs(inside),
        "polarity": measures.polarities(inside),
        "activations": measures.activations(inside),
        "gates": measures.saturation(inside),
    }
    if seed == 0:
        found |= {
            "embedding-weights": measures.embedding_map(inside),
            "edges": measures.edges(inside, SHOWN_MATRICES),
            "neurons": measures.shown_activations(inside),
            "gate-units": measures.saturation(inside, unit_by_unit=True),
        }
    return found


def emerged(models: FinishedRun, seed: int, config: InsideConfig, step: int, epoch: int) -> list[dict[str, Any]]:
    """The measures of one model as it was at a step; at the last step, as it was selected."""
    from rote.studies.realization import inside_measures as measures

    inside = measures.InsideModel(load_models(models, step).select([seed]), config.task)
    values = measures.emergence(inside, min(config.splits, 3), seed)
    return [{"epoch": epoch, "measure": measure, "value": value} for measure, value in values.items()]
