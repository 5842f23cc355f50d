"""The three kinds of runs of the study autocomplete: the text and what counting knows of it, networks before any
training, and one trained network. Each returns its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rote.analyses import connectivity
from rote.models import AutocompleteModel
from rote.store import Column, FinishedRun, Run, Table
from rote.studies.memorization import baseline, looking, published
from rote.studies.memorization.evaluation import Evaluation, evaluate
from rote.studies.memorization.measures import Words
from rote.studies.memorization.tables import (
    CELL,
    NORM,
    NORMS,
    REACH,
    SEED,
    SHARE,
    Looked,
    Profile,
    paragraph_table,
    situation_rows,
    situation_table,
    word_rows,
    word_table,
)
from rote.studies.memorization.training import AutocompleteProgram
from rote.tasks.alphabet import encode
from rote.tasks.autocomplete import SPLITS, UNKNOWN, WORDS_BEFORE, Observations
from rote.training import train

if TYPE_CHECKING:
    from rote.studies.memorization.settings import MemorizationConfig
    from rote.studies.study import Progress

LAGS = (1, 5, 10, 20, 50)
COUNTED = ("as published", "corrected", "outside the vocabulary")
WHEN = Column("when", "untrained or trained", "label")
TEXT = Column("text", "the source's paragraph, or observations of the test text", "label")
TEST = (
    Column("cross_entropy", "nats, as published: mean over observations of their mean; unknown words left out"),
    Column("accuracy", "as published: all characters, unknown words are errors"),
    Column("corrected", "accuracy on words of the vocabulary"),
    Column("loss", "nats, mean over all characters of words of the vocabulary"),
    Column("observations", "of the test text", "label"),
)
HITS = (
    Column("counted", "as published: padding and unknown words count; corrected: neither", "label"),
    Column("top", "the word must be among so many suggestions", "label"),
    Column("k", "characters of the word that are known", "label"),
    Column("hits"),
    Column("positions"),
)


def text_tables(config: MemorizationConfig, run: Run) -> list[Table]:
    """What text it is, and how far counting gets."""
    text = config.task.observations()
    run.note(data={text.origin: text.sha256})
    inside = text.frequencies[UNKNOWN + 1 :].sum() / text.frequencies.sum()
    row: dict[str, Any] = {
        "text": text.origin, "characters": len(text.characters) - 1, "words": int(text.frequencies.sum()),
        "distinct": text.distinct, "vocabulary": len(text.vocabulary) - len(WORDS_BEFORE), "inside": float(inside),
        **{str(split): len(text.splits[split]) for split in SPLITS},
        "loss": baseline.frequency_loss(text, config.tested),
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
    hits, positions = baseline.prefix_hits(text, config.tested)
    rows = [
        {"counted": "corrected", "top": top + 1, "k": k, "hits": int(hits[top, k]), "positions": int(positions[k])}
        for top, k in np.ndindex(hits.shape)
    ]
    return [
        Table.make("text", "The text", columns, [row], note=said(text)),
        Table.make("counting", "The most frequent words with the known letters", HITS, rows, details=True),
    ]


def said(text: Observations) -> str:
    """What every table says of the text."""
    words, characters = len(text.vocabulary) - len(WORDS_BEFORE), len(text.characters) - 1
    return f"{text.note or f'Text: {text.origin}.'} {characters} characters of it, a vocabulary of {words} words."


def initial_tables(config: MemorizationConfig, cell: str, seed: int, device: str) -> list[Table]:
    """A network of the source's size (or another) before any training: its size, and how far back it draws."""
    vocabulary = [*WORDS_BEFORE, *(f"word {number}" for number in range(config.initial.words))]
    model = AutocompleteModel(config.initial_model_of(cell), vocabulary, seed).to(device)
    text = published.PARAGRAPH[: config.initial.characters].rsplit(" ", 1)[0]
    words, tokens = Words.find(text), torch.from_numpy(encode(text))[None].to(device)
    draw = np.random.default_rng(seed).integers(len(WORDS_BEFORE), len(vocabulary), len(words.names))
    targets = torch.from_numpy(draw[words.of])[None].to(device)
    norm = connectivity(model, tokens, targets, norm="l2").values[0].double().cpu().numpy()
    labels = {"cell": published.CELLS[cell], "seed": seed}
    lags = [{**labels, "lag": lag, "ratio": ratio} for lag, ratio in looking.lag_ratios(norm, LAGS).items()]
    shares = [
        row
        for name, values in (("squared", norm**2), ("l2", norm))
        for row in Profile.of(values, words).rows({**labels, "norm": name})
    ]
    lag_columns = (
        CELL,
        SEED,
        Column("lag", "characters back", "label"),
        Column("ratio", "log10 of connectivity over that of the character itself, median over the outputs"),
    )
    return [
        size_table("initial-sizes", [{**labels, **_size(model)}]),
        Table.make("initial-lags", "Connectivity before training, by distance", lag_columns, lags, details=True),
        shares_table("initial-shares", shares),
    ]


def model_tables(
    config: MemorizationConfig, cell: str, seed: int, run: Run, progress: Progress, device: str
) -> list[Table]:
    """Train one network, test it, look at it before and after."""
    program = AutocompleteProgram(
        config.task, config.model_of(cell), config.training, seed, device, softmax=config.softmax, run=run
    )
    run.note(data={program.text.origin: program.text.sha256})
    name = published.CELLS[cell]
    labels = {"cell": name, "seed": seed}
    start = AutocompleteModel(config.model_of(cell), program.text.vocabulary, seed).to(device)
    untrained, _ = _shares(start, program.text, config, {**labels, "when": "untrained"})
    train(program, config.training, run, progress=progress, snapshots=snapshots(config.training.steps))
    model = program.model.eval()
    trained, looked = _shares(model, program.text, config, {**labels, "when": "trained"})
    words = Words.find(published.PARAGRAPH)
    looked = Looked(labels, looked.values, looked.suggestions)
    found = evaluate(model, program.text, "test", config.tested)
    return [
        size_table("sizes", [{**labels, **_size(model)}]),
        _curves(labels, run),
        _test(labels, found),
        _hits(labels, found),
        shares_table("shares", [*untrained, *trained], TEXT, WHEN),
        situation_table(situation_rows(looked, words), ""),
        word_table(word_rows(looked, words), ""),
        paragraph_table([looked], words, ""),
    ]


def snapshots(steps: int) -> set[int]:
    """Before training and at a few steps on the way, closer at its beginning: for looking at how a network changed."""
    return {0, *(steps // 5**power for power in range(1, 4) if steps // 5**power)}


def load_model(config: MemorizationConfig, run: FinishedRun, step: int | None = None) -> AutocompleteModel:
    """The network of a finished run, as it was trained or as it was at a ``step`` whose checkpoint was kept."""
    cell, (seed,) = run.record.request.part, run.record.request.seeds
    model = AutocompleteModel(config.model_of(cell), config.task.observations().vocabulary, seed)
    model.load_state_dict(run.checkpoint(step)["model"])
    return model.eval()


def _size(model: AutocompleteModel) -> dict[str, Any]:
    config, counts = model.config, model.parameter_counts()
    return {"units": config.units, "layers": config.layers, **counts}


def _shares(
    model: AutocompleteModel, text: Observations, config: MemorizationConfig, labels: dict[str, Any]
) -> tuple[list[dict[str, Any]], Looked]:
    looked = looking.look(model, labels)
    inside = np.asarray(looking.asked_words(model, Words.find(published.PARAGRAPH)) > UNKNOWN)
    batch = next(text.batches("test", config.looked_at, config.looked_at))
    found = {"paragraph": looking.paragraph_profiles(looked, inside), "test text": looking.profiles(model, batch)}
    rows = [
        row
        for name, by_norm in found.items() for norm in NORMS
        for row in by_norm[norm].rows({**labels, "text": name, "norm": norm})
    ]  # fmt: skip
    return rows, looked


def _curves(labels: dict[str, Any], run: Run) -> Table:
    rows = [
        {**labels, "step": row["step"], "minutes": row["seconds"] / 60, "train": row["training_loss"],
         "valid": row["validation_loss"], "rate": row["characters_per_second"]}
        for row in run.metrics.rows()
    ]  # fmt: skip
    columns = (
        CELL,
        SEED,
        Column("step", "mini-batches", "label"),
        Column("minutes", "of training", "label"),
        Column("train", "cross entropy of the mini-batch before its update, nats"),
        Column("valid", "cross entropy of a validation batch after it, nats"),
        Column("rate", "characters per second since the last record"),
    )
    return Table.make("curves", "Every network over training", columns, rows, details=True)


def _test(labels: dict[str, Any], found: Evaluation) -> Table:
    row = {
        **labels, "cross_entropy": found.cross_entropy, "accuracy": found.accuracy,
        "corrected": found.corrected_accuracy, "loss": found.mean_loss, "observations": found.observations,
    }  # fmt: skip
    return Table.make("test", "Every network on the test text", (CELL, SEED, *TEST), [row])


def _hits(labels: dict[str, Any], found: Evaluation) -> Table:
    parts = dict(zip(COUNTED, (found.as_published, found.corrected, found.outside), strict=True))
    rows = [
        {**labels, "counted": name, "top": top + 1, "k": k, "hits": int(hits), "positions": int(part.positions[k])}
        for name, part in parts.items() for (top, k), hits in np.ndenumerate(part.hits)
    ]  # fmt: skip
    return Table.make("hits", "Hits by known characters", (CELL, SEED, *HITS), rows, details=True)


def size_table(name: str, rows: list[dict[str, Any]]) -> Table:
    columns = (
        CELL,
        SEED,
        Column("units", "of each layer, and size of the embedding", "label"),
        Column("layers", role="label"),
        *(Column(part, "parameters") for part in ("embedding", "recurrent", "dense")),
    )
    return Table.make(name, "Model configurations", columns, rows, details=True)


def shares_table(name: str, rows: list[dict[str, Any]], *labels: Column) -> Table:
    columns = (
        *labels,
        CELL,
        SEED,
        NORM,
        Column("k", "characters of the word that are known", "label"),
        Column("outputs", "characters with so many known", "label"),
        Column(SHARE),
        Column(REACH),
    )
    return Table.make(name, "Share and reach of every network", columns, rows, details=True)
