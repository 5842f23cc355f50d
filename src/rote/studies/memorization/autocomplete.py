"""Autocomplete models of three recurrent units: source 003, its appendix and all of its figures.

The source trained one network of each; here a run is one network, so that workers and machines can share them and more
seeds are added to those that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rote.store import FinishedRun, Request, Run, Table
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_claims import CLAIMS
from rote.studies.memorization.autocomplete_tables import all_tables
from rote.studies.memorization.settings import AUTO, PAPER, QUICK, SMOKE, InitialConfig, MemorizationConfig
from rote.studies.study import Progress, Study, studies
from rote.studies.summaries import collected
from rote.tasks.text_files import available

INITIAL = "untrained "  # before the name of a cell: the part of a run that trains nothing
PREFIX = 10_000_000  # characters of text8 that the text "auto" takes


@studies.register("autocomplete")
class AutocompleteStudy(Study[MemorizationConfig]):
    """Which recurrent units use the words before, and which only the letters of the word that they complete?"""

    name = "autocomplete"
    version = 1
    source = published.SOURCE
    place = "All figures, appendix"
    title = "Autocomplete with GRU, LSTM and Nested LSTM"
    about = (
        "A network reads a text character by character and names, at each, the word that is being typed. How far its "
        "answer depends on each earlier character (connectivity), and how often it is right with so many letters "
        "known, shows whether it uses the words before or only the letters of the word. Cost of the preset paper: "
        "70 to 80 hours of one core for each of the three networks (14 278 mini-batches of 64 x 200 characters, 16 384 "
        "words; at 60 GFLOP/s), and 1.5 GB of memory; with one network of each nothing is "
        "decided, --seeds 5 is five times that. "
        "In hours instead, see docs/memorization.md: one layer of 256 units, 5000 words, 10 million characters."
    )
    deviations = (
        "The text is the first 10 million characters of text8 where they are on this machine (in $ROTE_DATA or the "
        "cache), else three works that come with the package (task.text chooses). Every table says which.",
        "Epochs are shuffled as a whole, the source's through a window of 10 000; Adam's epsilon is torch's.",
        "The source's defects are measured beside the corrected numbers: padding and unknown words in the accuracy "
        "graph, training and validation mixed in the loss curves, squared norm for the formula's norm.",
        "quick: 64 units in one layer, 2000 words, observations of 100 characters, 500 mini-batches of 32 with a "
        "falling learning rate, learning from 256 sampled words instead of all (tested exactly): seconds of training "
        "where the source had hours. The word 'grammar' is not in that vocabulary.",
    )
    claims = CLAIMS
    presets: ClassVar[Mapping[str, Mapping[str, object]]] = {"smoke": SMOKE, "quick": QUICK, "paper": PAPER}
    default = MemorizationConfig()

    def resolve(self, preset: str, overrides: Mapping[str, object]) -> MemorizationConfig:
        config = super().resolve(preset, overrides)
        if config.task.text != AUTO:
            return replace(config, task=config.task.resolved())
        wanted = PREFIX if config.task.characters is None else config.task.characters
        if available(wanted):
            return replace(config, task=replace(config.task, text="text8", characters=wanted))
        return replace(config, task=replace(config.task, text="bundled"))

    def prepare(self, config: MemorizationConfig) -> None:
        config.task.observations()

    def requests(self, config: MemorizationConfig) -> list[Request]:
        """The slowest first. A run's settings are those that it depends on, so that other studies' choices find it."""
        alone = replace(config, initial=InitialConfig(), seeds=1)
        trained = [
            self.request(cell, replace(alone, cells=(cell,)), (seed,))
            for seed in range(config.seeds) for cell in reversed(config.cells)
        ]  # fmt: skip
        default = MemorizationConfig()
        text = replace(default, task=config.task, tested=config.tested)
        untrained = [
            self.request(INITIAL + cell, replace(default, initial=replace(config.initial, seeds=1)), (seed,))
            for seed in range(config.initial.seeds) for cell in config.cells
        ]  # fmt: skip
        return [*trained, *untrained, self.request("text", text, ())]

    def perform(self, request: Request, run: Run, progress: Progress, device: str) -> Sequence[Table]:
        from rote.studies.memorization import autocomplete_runs as made

        config = self.config_of(request)
        if request.part == "text":
            return made.text_tables(config, run)
        (seed,) = request.seeds
        if request.part.startswith(INITIAL):
            return made.initial_tables(config, request.part.removeprefix(INITIAL), seed, device)
        return made.model_tables(config, request.part, seed, run, progress, device)

    def summarize(self, config: MemorizationConfig, runs: Sequence[FinishedRun]) -> Sequence[Table]:
        order = {cell: place for place, cell in enumerate(config.cells)}
        ordered = sorted(runs, key=lambda run: order.get(run.record.request.part.removeprefix(INITIAL), len(order)))
        return all_tables(collected(ordered))
