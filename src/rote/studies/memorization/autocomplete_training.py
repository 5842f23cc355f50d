"""Training an autocomplete model as source 003 did, with Adam and masked cross entropy; and what is measured on it:
connectivity and suggestions on the source's paragraph and on the test text.

Both losses are recorded apart (the source's curves mix them): that of the training batch of the step, before its
update, and that of validation batches, after it. Ours: Adam's epsilon is torch's, not TensorFlow's "epsilon hat".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from rote.analyses import connectivity
from rote.laboratory.aggregate import Row, joined
from rote.models import AutocompleteConfig, AutocompleteModel, SoftmaxConfig
from rote.models.stacked_autocomplete import StackedAutocomplete
from rote.store import Column, Run, Table
from rote.studies.memorization import previous_words
from rote.studies.memorization.autocomplete_accuracy import Evaluation, Hits, evaluate, frequency_loss, prefix_hits
from rote.studies.memorization.previous_words import NETWORK, NORM, NORMS, REACH, SHARE, Looked, Profile, Words
from rote.studies.memorization.published import PARAGRAPH, title_of
from rote.tasks.alphabet import decode, encode
from rote.tasks.autocomplete import SPLITS, UNKNOWN, WORDS_BEFORE, AutocompleteTask, Batch, Observations
from rote.training import Program, TrainingConfig, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.memorization.autocomplete import AutocompleteMeasurement, TextMeasurement, UntrainedMeasurement

LAGS = (1, 5, 10, 20, 50)
SUGGESTED = 3
HITS = (
    Column("counted", "as published: padding and unknown words count; corrected: neither", "label"),
    previous_words.TOP,
    previous_words.KNOWN,
    Column("hits"),
    Column("positions"),
)


class AutocompleteProgram(Program):
    """One model for each seed, on one text. ``measure`` gives "loss", of validation batches and always exact, and
    "training_loss", of the softmax that is trained with, before the update; both in nats, one number per model.

    Sampled words come from torch's random state where one model is trained, and of several from a generator for each,
    which gives every one of them the words that it would be given alone.
    """

    model: AutocompleteModel | StackedAutocomplete

    def __init__(
        self,
        task: AutocompleteTask,
        model: AutocompleteConfig,
        training: TrainingConfig,
        seeds: Sequence[int],
        device: str = "cpu",
        *,
        softmax: SoftmaxConfig | None = None,
        validation_batches: int = 1,
    ) -> None:
        self.text, self.training, self.seeds = task.observations(), training, tuple(seeds)
        self.validation_batches = validation_batches
        self.samples = softmax.samples if softmax is not None and softmax.kind == "sampled" else 0
        self.replicas, self.stacked = len(self.seeds), len(self.seeds) > 1
        words, dtype = self.text.vocabulary, training.torch_dtype()
        if self.stacked:
            self.model = StackedAutocomplete(model, words, self.seeds, dtype)
        else:
            self.model = AutocompleteModel(model, words, self.seeds[0], dtype)
        self.model.to(choose_device(device))
        like = next(self.model.parameters())
        self.frequencies = torch.from_numpy(self.text.frequencies).to(like.device, like.dtype)
        self.frequencies[: len(WORDS_BEFORE)] = 0  # never a target that counts
        self.done = 0
        self.last: Tensor | None = None  # losses of the last training batches
        self._generators: list[torch.Generator] | None = None
        self._drawn = 0  # steps for which they have drawn

    def losses(self, step: int) -> Tensor:
        batches = self._batches(step)
        if isinstance(self.model, StackedAutocomplete):
            losses = self.model.losses(batches, self.samples, self.frequencies, self._generators_at(step))
        else:
            losses = self.model.loss(batches[0], self.samples, self.frequencies)[None]
        self.done, self.last = step + 1, losses.detach()
        return losses

    def measure(self) -> dict[str, Any]:
        last = self._exact(self._batches(0)) if self.last is None else self.last  # before the first update
        first = self.done * self.validation_batches
        numbers = range(first, first + self.validation_batches)
        validation = [
            self._exact([self.text.validation(number, self.training.batch)] * self.replicas) for number in numbers
        ]
        return {"loss": torch.stack(validation).mean(0).tolist(), "training_loss": last.tolist()}

    def _batches(self, step: int) -> list[Batch]:
        return [self.text.training(seed, step, self.training.batch) for seed in self.seeds]

    def _exact(self, batches: Sequence[Batch]) -> Tensor:
        if isinstance(self.model, StackedAutocomplete):
            return self.model.losses(batches)
        return self.model.loss(batches[0])[None]

    def _generators_at(self, step: int) -> list[torch.Generator]:
        """As they are when they have drawn for every step before this one."""
        device = self.frequencies.device
        if self._generators is None or self._drawn != step:
            self._generators = [torch.Generator(device).manual_seed(seed) for seed in self.seeds]
            for generator in self._generators if self.samples else ():
                for _ in range(step):
                    torch.multinomial(self.frequencies, self.samples, replacement=True, generator=generator)
        self._drawn = step + 1
        return self._generators


def tested(asked: AutocompleteMeasurement, trained: Trained, run: Run, progress: Progress, device: str) -> list[Table]:
    """Every network on the test text, and what it draws on before and after training."""
    text, count = noted(trained.recipe.task, run), len(trained.seeds)
    tables: list[Table] = []
    for index in range(count):
        progress(index, count)
        tables += _tested(asked, trained, index, text, device)
    return list(joined(tables).values())


def _tested(
    asked: AutocompleteMeasurement, trained: Trained, index: int, text: Observations, device: str
) -> list[Table]:
    """Of one network."""
    labels = {"cell": title_of(trained.recipe.cell), "seed": trained.seeds[index]}
    shares: list[Row] = []
    for when, step in {"untrained": 0, "trained": None}.items():
        model = cast(AutocompleteModel, trained.network(index, step).model).to(device)
        looked = look(model, labels)
        shares += _shares(model, looked, next(text.batches("test", asked.looked_at, asked.looked_at)), when)
    words, result = Words.find(PARAGRAPH), evaluate(model, text, "test", asked.tested)
    when_and_where = (
        Column("text", "the source's paragraph, or observations of the test text", "label"),
        Column("when", "untrained or trained", "label"),
    )
    return [
        _sizes("sizes", model, labels),
        _curves(labels, trained, index),
        _test(labels, result),
        _hits(labels, result),
        _share_table("shares", shares, *when_and_where),
        previous_words.situation_table([looked], words, ""),
        previous_words.word_table([looked], words, ""),
        previous_words.paragraph_table([looked], words, ""),
    ]


def untrained(asked: UntrainedMeasurement, seed: int, device: str) -> list[Table]:
    """A network before any training: its size, and how far back it draws."""
    vocabulary = [*WORDS_BEFORE, *(f"word {number}" for number in range(asked.words))]
    model = AutocompleteModel(asked.model, vocabulary, seed).to(device)
    text = PARAGRAPH[: asked.characters].rsplit(" ", 1)[0]
    words, tokens = Words.find(text), torch.from_numpy(encode(text))[None].to(device)
    draw = np.random.default_rng(seed).integers(len(WORDS_BEFORE), len(vocabulary), len(words.names))
    targets = torch.from_numpy(draw[words.of])[None].to(device)
    values = _by_norm(connectivity(model, tokens, targets, norm="l2").values[0])
    labels = {"cell": title_of(asked.model.cell), "seed": seed}
    lags = [{**labels, "lag": lag, "ratio": ratio} for lag, ratio in lag_ratios(values["l2"], LAGS).items()]
    shares = [row for norm in NORMS for row in Profile.of(values[norm], words).rows({**labels, "norm": norm})]
    columns = (
        *NETWORK,
        Column("lag", "characters back", "label"),
        Column("ratio", "log10 of connectivity over that of the character itself, median over the outputs"),
    )
    return [
        _sizes("initial-sizes", model, labels),
        Table.make("initial-lags", "Connectivity before training, by distance", columns, lags, details=True),
        _share_table("initial-shares", shares),
    ]


def counted(asked: TextMeasurement, run: Run) -> list[Table]:
    """What text it is, and how far counting gets."""
    text = noted(asked.task, run)
    words, characters = len(text.vocabulary) - len(WORDS_BEFORE), len(text.characters) - 1
    row = {
        "text": text.origin, "characters": characters, "words": int(text.frequencies.sum()),
        "distinct": text.distinct, "vocabulary": words,
        "inside": float(text.frequencies[UNKNOWN + 1 :].sum() / text.frequencies.sum()),
        **{str(split): len(text.splits[split]) for split in SPLITS}, "loss": frequency_loss(text, asked.tested),
    }  # fmt: skip
    columns = (
        Column("text", "where it is from", "label"),
        Column("characters"),
        Column("words"),
        Column("distinct", "different words"),
        Column("vocabulary", "words that are outputs"),
        Column("inside", "share of the words that is in the vocabulary"),
        *(Column(split, "observations") for split in SPLITS),
        Column("loss", "nats, on the test text, of knowing only how frequent words are"),
    )
    note = f"{text.note or f'Text: {text.origin}.'} {characters} characters of it, a vocabulary of {words} words."
    rows = _hit_rows({"counted": "corrected"}, prefix_hits(text, asked.tested))
    return [
        Table.make("text", "The text", columns, [row], note=note),
        Table.make("counting", "The most frequent words with the known letters", HITS, rows, details=True),
    ]


def noted(task: AutocompleteTask, run: Run) -> Observations:
    """The text of the task, its hash in the record of the run."""
    text = task.observations()
    run.note(data={text.origin: text.sha256})
    return text


def look(model: AutocompleteModel, labels: Mapping[str, Any]) -> Looked:
    """The paragraph. Where its word is outside the vocabulary, connectivity is that of the model's own choice."""
    tokens = torch.from_numpy(encode(PARAGRAPH))[None].to(model.readout.weight.device)
    with torch.no_grad():
        chances = model(tokens).softmax(-1)[0]
    targets = model.targets(PARAGRAPH)[0]
    chosen = torch.where(targets == UNKNOWN, chances.argmax(-1), targets)
    values = _by_norm(connectivity(model, tokens, chosen[None], norm="l2").values[0])
    return Looked(labels, values, _suggestions(model, chances, targets))


def profiles(model: AutocompleteModel, batch: Batch) -> dict[str, Profile]:
    """Share and reach by both norms over all observations; only outputs whose word is in the vocabulary count."""
    device = model.readout.weight.device
    tokens, targets = (torch.from_numpy(part).to(device) for part in (batch.tokens, batch.targets))
    lengths = torch.from_numpy(batch.lengths)
    values = _by_norm(connectivity(model, tokens, targets, lengths=lengths, norm="l2").values)
    by_row: dict[str, list[Profile]] = {norm: [] for norm in NORMS}
    for row, length in enumerate(batch.lengths.tolist()):
        words = Words.find(decode(batch.tokens[row, :length].tolist()))
        for norm in NORMS:
            part = values[norm][row, :length, :length]
            by_row[norm].append(Profile.of(part, words, batch.targets[row, :length] > UNKNOWN))
    return {norm: Profile.joined(parts) for norm, parts in by_row.items()}


def lag_ratios(values: np.ndarray, lags: tuple[int, ...]) -> dict[int, float]:
    """log10 of what outputs draw on the character ``lag`` before, relative to that on their own; the median."""
    own = np.diagonal(values)
    return {lag: float(np.log10(np.median(np.diagonal(values, -lag) / own[lag:]))) for lag in lags}


def _by_norm(values: Tensor) -> dict[str, np.ndarray]:
    norm = values.double().cpu().numpy()
    return {"squared": norm**2, "l2": norm}


def _suggestions(model: AutocompleteModel, chances: Tensor, targets: Tensor) -> previous_words.Suggestions:
    best, numbers = chances.topk(SUGGESTED, -1)
    own = chances.gather(1, targets[:, None])
    ranks = 1 + (chances > own).sum(-1)
    inside = (targets > UNKNOWN).tolist()
    return previous_words.Suggestions(
        words=[[model.vocabulary[number] for number in row] for row in numbers.tolist()],
        chances=best.tolist(),
        ranks=[rank if known else None for rank, known in zip(ranks.tolist(), inside, strict=True)],
        target_chances=[value if known else None for value, known in zip(own[:, 0].tolist(), inside, strict=True)],
    )


def _shares(model: AutocompleteModel, looked: Looked, batch: Batch, when: str) -> list[Row]:
    words, inside = Words.find(PARAGRAPH), (model.targets(PARAGRAPH)[0] > UNKNOWN).cpu().numpy()
    paragraph = {norm: Profile.of(looked.values[norm], words, inside) for norm in NORMS}
    return [
        row
        for text, by_norm in {"paragraph": paragraph, "test text": profiles(model, batch)}.items() for norm in NORMS
        for row in by_norm[norm].rows({**looked.labels, "when": when, "text": text, "norm": norm})
    ]  # fmt: skip


def _curves(labels: Row, trained: Trained, index: int) -> Table:
    rows = [
        {**labels, "step": row["step"], "train": train[index], "valid": row["loss"][index]}
        for row in trained.run.metrics()
        for train in [np.atleast_1d(row["training_loss"]).tolist()]  # earlier runs of one network have a plain number
    ]
    columns = (
        *NETWORK,
        previous_words.STEP,
        Column("train", "cross entropy of the mini-batch before its update, nats"),
        Column("valid", "cross entropy of a validation batch after it, nats"),
    )
    return Table.make("curves", "Every network over training", columns, rows, details=True)


def _test(labels: Row, result: Evaluation) -> Table:
    row = {
        **labels, "cross_entropy": result.cross_entropy, "accuracy": result.accuracy,
        "corrected": result.corrected_accuracy, "loss": result.mean_loss, "observations": result.observations,
    }  # fmt: skip
    columns = (
        *NETWORK,
        Column("cross_entropy", "nats, as published: mean over observations of their mean; unknown words left out"),
        Column("accuracy", "as published: all characters, unknown words are errors"),
        Column("corrected", "accuracy on words of the vocabulary"),
        Column("loss", "nats, mean over all characters of words of the vocabulary"),
        Column("observations", "of the test text", "label"),
    )
    return Table.make("test", "Every network on the test text", columns, [row])


def _hits(labels: Row, result: Evaluation) -> Table:
    parts = {
        "as published": result.as_published, "corrected": result.corrected, "outside the vocabulary": result.outside
    }  # fmt: skip
    rows = [row for name, part in parts.items() for row in _hit_rows({**labels, "counted": name}, part)]
    return Table.make("hits", "Hits by known characters", (*NETWORK, *HITS), rows, details=True)


def _hit_rows(labels: Row, part: Hits) -> list[Row]:
    return [
        {**labels, "top": top + 1, "k": k, "hits": int(hits), "positions": int(part.positions[k])}
        for (top, k), hits in np.ndenumerate(part.hits)
    ]


def _sizes(name: str, model: AutocompleteModel, labels: Row) -> Table:
    config, counts = model.config, model.parameter_counts()
    columns = (
        *NETWORK,
        Column("units", "of each layer, and size of the embedding", "label"),
        Column("layers", role="label"),
        *(Column(part, "parameters") for part in ("embedding", "recurrent", "dense")),
    )
    row = {**labels, "units": config.units, "layers": config.layers, **counts}
    return Table.make(name, "Model configurations", columns, [row], details=True)


def _share_table(name: str, rows: list[Row], *labels: Column) -> Table:
    columns = (
        *labels,
        *NETWORK,
        NORM,
        previous_words.KNOWN,
        Column("outputs", "characters with so many known", "label"),
        Column(SHARE),
        Column(REACH),
    )
    return Table.make(name, "Share and reach of every network", columns, rows, details=True)
