"""The networks of the lexicon: Elman's, by his procedure, and the lecture's, a vanilla RNN language model of today."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rote.analyses import trace
from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.store import Column, Run, Table
from rote.studies.foundations import lexicon_measures as measures
from rote.studies.foundations import published
from rote.studies.foundations.elman_tables import NETWORK
from rote.studies.foundations.elman_training import (
    SEED,
    TRAINED,
    UNTRAINED,
    ElmanProgram,
    Prediction,
    counts_name,
    train_networks,
)
from rote.tasks.elman import Stream
from rote.tasks.elman_lexicon import grammar
from rote.training import Program, TrainingConfig, choose_device, train

if TYPE_CHECKING:
    from rote.studies.foundations.elman_lexicon import LexiconConfig, WordModel
    from rote.studies.study import Progress

COUNTS, MODEL, GRAMMAR = counts_name(2), "language model", "the grammar itself"
ROWS = 10  # in which a stream is read by a language model, each from a state of zeros
Found = Mapping[str, Sequence[Prediction]]
PREDICTION = (
    Column("words", "length of the training stream"),
    Column("error", "distance from the actual next word: root of the mean squared error, summed over bits"),
    Column("squared", "the same before the root"),
    Column("cosine", "with the likelihood vector, mean over words"),
    Column("cosine_sd", "its standard deviation over words"),
    Column("likelihood", "squared error from the likelihood vector, summed over bits, mean over words"),
    Column("likelihood_sd", "its standard deviation over words"),
)
GROUPS = (
    Column("linkage", "how distances of branches are computed", "label"),
    Column("group", "branch of Figure 7", "label"),
    Column("exact", "1 if it is a branch here, with the same words and no others"),
    Column("likeness", "of the most similar branch: words in both over words in either"),
)
TOKENS = (
    Column("own", "share of all occurrences that are nearest to the mean state of their own word"),
    Column("place", "of boy and girl: share nearest to the mean of their own place, first or later in the sentence"),
)
UNSEEN = (
    Column("nearest", "the three words nearest to it", "label"),
    Column("branch", "the words of the branch that it joins", "label"),
    Column("nearest_kin", "1 if the nearest is a human noun"),
    Column("joins_kin", "1 if the branch has human nouns only"),
)


def elman_networks(config: LexiconConfig, run: Run, progress: Progress) -> list[Table]:
    """Elman's procedure; beside it the same networks before training, and counts."""
    seeds, task = run.request.seeds, config.task()
    whole = {seed: task.training(seed) for seed in seeds}
    read = {seed: beginning(stream, config.read) for seed, stream in whole.items()}
    program = ElmanProgram(task, config.training, seeds, read.__getitem__)
    tables = [train_networks(program, run, progress)]
    untrained, changed = program.untrained(), [measures.with_unseen(read[seed]) for seed in seeds]
    found = {
        TRAINED: program.predictions(program.model, program.tested),
        UNTRAINED: program.predictions(untrained, program.tested),
        COUNTS: program.counted(2, program.tested),
        GRAMMAR: [measures.by_grammar(stream, grammar(config.classes)) for stream in program.tested],
    }
    unseen = {
        TRAINED: program.predictions(program.model, changed), UNTRAINED: program.predictions(untrained, changed)
    }  # fmt: skip
    counted = [measures.neighbors(whole[seed]) for seed in seeds]
    return [*tables, *measured(found, unseen, [whole[seed] for seed in seeds], seeds, counted)]


def language_models(config: LexiconConfig, run: Run, progress: Progress, device: str) -> list[Table]:
    """What the lecture's slide says: a vanilla RNN trained as a language model."""
    seeds, task = run.request.seeds, config.task()
    whole = [task.training(seed) for seed in seeds]
    read = [beginning(stream, config.read) for stream in whole]
    program = WordModels(whole, task.length, config.language_model, seeds, device)
    train(program, program.config, run, progress=progress)
    found = {MODEL: [program.prediction(index, stream) for index, stream in enumerate(read)]}
    unseen = {MODEL: [program.prediction(i, measures.with_unseen(stream)) for i, stream in enumerate(read)]}
    return measured(found, unseen, whole, seeds, [])


def measured(
    found: Found,
    unseen: Found,
    whole: Sequence[Stream],
    seeds: Sequence[int],
    counted: Sequence[Mapping[str, NDArray[Any]]],
) -> list[Table]:
    """The tables of a run. ``counted``: words as their neighbors' counts, if these are clustered too."""
    likelihoods = [measures.Likelihood(stream).vectors for stream in whole]
    human = published.LEXICON_GROUPS["human"]
    rows: dict[str, list[dict[str, Any]]] = {"prediction": [], "groups": [], "tokens": [], "unseen": []}
    trees: list[Table] = []
    for name, predictions in found.items():
        for index, (seed, prediction) in enumerate(zip(seeds, predictions, strict=True)):
            labels = {"network": name, "seed": seed}
            quality = measures.prediction_row(prediction, likelihoods[index])
            rows["prediction"].append({**labels, "words": len(whole[index].symbols), **quality})
            if name == GRAMMAR:
                continue
            means = counted[index] if name == COUNTS else measures.mean_states(prediction)
            rows["groups"] += [{**labels, **row} for row in measures.group_rows(means, published.LEXICON_GROUPS)]
            if seed == 0:
                trees.append(_tree(name, means))
            if name != COUNTS:
                rows["tokens"].append({**labels, **measures.token_row(prediction)})
                strange = measures.mean_states(unseen[name][index])
                rows["unseen"].append({**labels, **measures.unseen_row(strange, human)})
                if seed == 0 and name == TRAINED:
                    trees.append(_tree("with an unseen word", strange))
    columns = {"prediction": PREDICTION, "groups": GROUPS, "tokens": TOKENS, "unseen": UNSEEN}
    made = [Table.make(name, name, (NETWORK, SEED, *columns[name]), rows[name], details=True) for name in columns]
    return [*made, *trees]


def beginning(stream: Stream, words: int | None) -> Stream:
    return stream if words is None else replace(stream, symbols=stream.symbols[:words], place=stream.place[:words])


def _tree(name: str, means: Mapping[str, NDArray[Any]]) -> Table:
    titles = {
        TRAINED: ("Words by their mean hidden states, Elman's procedure", "Figure 7"),
        UNTRAINED: ("The same before training", "Footnote 6"),
        COUNTS: ("Words by counts of their neighbors, no network", ""),
        MODEL: ("Words by the mean hidden states of a vanilla RNN language model", "Power of RNNs"),
        "with an unseen word": ("Words by their mean hidden states, with 'zog' in the place of 'man'", "Figure 8"),
    }
    title, place = titles[name]
    return measures.dendrogram(means, f"tree {name}".replace(" ", "-"), title, place, "Seed 0.")


class WordModels(Program):
    """Language models of one layer, truncated backpropagation through columns of the stream."""

    stacked = True
    model: StackedLanguageModel

    def __init__(
        self, streams: Sequence[Stream], length: int, settings: WordModel, seeds: Sequence[int], device: str
    ) -> None:
        self.settings, self.replicas, self.device = settings, len(seeds), choose_device(device)
        self.rows = length // settings.columns
        self.steps = max(1, math.ceil((self.rows - 1) / settings.bptt))  # updates in a pass
        self.config = TrainingConfig(
            steps=max(1, round(settings.passes * self.steps)), batch=settings.columns, optimizer="adam",
            learning_rate=settings.learning_rate, clip=settings.clip,
        )  # fmt: skip
        self.config = replace(self.config, record_every=self.config.steps)
        names = len(streams[0].names)
        model = LanguageModelConfig(cell="elman", embedding=names, hidden=settings.hidden)
        self.model = StackedLanguageModel(names, model, seeds, self.config.torch_dtype(), settings.columns)
        self.model.to(self.device)
        size = self.rows * settings.columns
        columns = [stream.symbols[np.arange(size) % len(stream.symbols)] for stream in streams]
        self.columns = torch.from_numpy(np.stack(columns)).view(len(streams), settings.columns, -1).to(self.device)

    def losses(self, step: int) -> Tensor:
        within = step % self.steps
        if within == 0:
            self.model.carry(None)
        piece = self.columns[:, :, within * self.settings.bptt :][:, :, : self.settings.bptt + 1]
        losses, state = self.model.losses(piece[..., :-1], piece[..., 1:], self.model.carried)
        self.model.carry(state)
        return losses

    def measure(self) -> dict[str, Any]:
        piece = self.columns[:, :, :101]
        zeros = tuple(torch.zeros_like(state) for state in self.model.carried)
        return {"loss": self.model.losses(piece[..., :-1], piece[..., 1:], zeros)[0].tolist()}

    @torch.no_grad()
    def prediction(self, index: int, stream: Stream) -> Prediction:
        time = (len(stream.symbols) - 1) // ROWS
        tokens = torch.from_numpy(stream.symbols[: time * ROWS]).view(ROWS, time).to(self.device)
        traced = trace(self.model.replica(index), tokens)
        assert traced.logits is not None
        chances = traced.logits.softmax(-1).flatten(0, 1).cpu().numpy() @ stream.codes
        cut = replace(stream, symbols=stream.symbols[: time * ROWS + 1], place=stream.place[: time * ROWS + 1])
        return Prediction(cut, chances, traced.hidden[0].flatten(0, 1).cpu().numpy())
