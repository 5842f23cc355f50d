"""The tables of captioning: pairs that were seen together and pairs that were not, and the shapes of the slide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rote.laboratory.aggregate import Row, band, grouped, interval_columns
from rote.store import Column, Table

if TYPE_CHECKING:
    from rote.studies.foundations.captioning import CaptioningConfig

NEAREST, SAID = "nearest picture", "most frequent caption"
MODEL = Column("model", "recurrent unit, a network with a fixed-size output, or a baseline", "label")
HELD = Column("held", "of ten differences between two digits, never shown in training", "label")
LABELS = (MODEL, HELD, Column("seed", "random seed", "label"), Column("part", "pairs of the test", "label"))
SCORES = {
    "right": "share of captions that are right in every word",
    "first": "share with the first digit right",
    "relation": "share with the relation right",
    "second": "share with the second digit right",
    "trained_pair": "share that is wrong and says a pair of digits that training has",
}
ANSWERS = (*LABELS, *(Column(name, about) for name, about in SCORES.items()))
EXAMPLES = (
    *LABELS,
    Column("number", "of the picture", "label"),
    Column("picture", "what is on it", "label"),
    Column("said", "what the network says", "label"),
)
# Slide "Using RNNs": the shape, the lecture's example, and the studies that train networks of it.
SHAPES = (
    ("one to one", "MLP", ("plane", "digit-pairs"), "a point or a picture to a class"),
    ("one to many", "image captioning", ("captioning",), "a picture to words"),
    ("many to one", "text classification", ("classification", "padding"), "a text to a class"),
    ("many to many", "seq2seq", ("scan-jump", "lookup-accuracy"), "a command to actions, read before anything is said"),
    ("many to many, step by step", "POS tagging", ("tagging", "language-modeling"), "a word to its tag or the next"),
)


def all_tables(config: CaptioningConfig, tables: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from those of its measurements."""
    answers = tables["answers"]
    note = " ".join(filter(None, [f"{config.seeds} seeds, {config.pictures} pictures each.", answers.note]))
    return [
        _outcome(answers, note),
        _shapes(),
        _words(answers, note),
        Table.make(
            "examples", "What was said", EXAMPLES, tables["examples"].records(), details=True,
            note="The first pictures of the first seed.",
        ),
        _networks(answers),
        answers,
    ]  # fmt: skip


def _outcome(answers: Table, note: str) -> Table:
    """A row per model and number of held-out differences: pairs seen together, and pairs that were not."""
    rows: list[Row] = []
    for (held, model), group in grouped(answers.records(), ("held", "model")).items():
        row: Row = {"held": held, "model": model}
        for part, short in (("seen", "seen"), ("held-out", "new")):
            found = band([one["right"] for one in group if one["part"] == part], (0.0, 1.0))
            row |= {"seeds": found["seeds"], short: found["mean"]}
            row |= {f"{short}_low": found.get("low"), f"{short}_high": found.get("high")}
        rows.append(row)
    rows.sort(key=lambda row: row["held"])
    columns = (
        HELD, MODEL, Column("seeds", "networks", "label"),
        Column("seen", "share of captions right, pairs that training shows"), *interval_columns("seen"),
        Column("new", "share of captions right, pairs that it never shows"), *interval_columns("new"),
    )  # fmt: skip
    return Table.make("outcome", "Captions that are right", columns, rows, place="Using RNNs", note=note)


def _words(answers: Table, note: str) -> Table:
    """What goes wrong with pairs that were never shown."""
    rows: list[Row] = []
    for (held, model), group in grouped(answers.where(part="held-out").records(), ("held", "model")).items():
        means = {name: band([one[name] for one in group])["mean"] for name in SCORES}
        rows.append({"held": held, "model": model, **means})
    rows.sort(key=lambda row: row["held"])
    columns = (HELD, MODEL, *(Column(name, about) for name, about in SCORES.items()))
    title = "Word by word, pairs that training never shows"
    return Table.make("words", title, columns, rows, place="Using RNNs", note=note)


def _networks(answers: Table) -> Table:
    rows: list[Row] = []
    for (model, held, seed), group in grouped(answers.records(), ("model", "held", "seed")).items():
        right = {one["part"]: one["right"] for one in group}
        rows.append({"model": model, "held": held, "seed": seed, "seen": right["seen"], "new": right["held-out"]})
    columns = (
        *LABELS[:3], Column("seen", "share of captions right, pairs that training shows"),
        Column("new", "share of captions right, pairs that it never shows"),
    )  # fmt: skip
    return Table.make("networks", "Every network", columns, rows, details=True)


def _shapes() -> Table:
    columns = (
        Column("shape", "what is read, what is said", "label"), Column("example", "of the lecture", "label"),
        Column("studies", "that train networks of this shape", "label"), Column("here", "what they do", "label"),
    )  # fmt: skip
    rows = [
        {"shape": shape, "example": example, "studies": ", ".join(studies), "here": here}
        for shape, example, studies, here in SHAPES
    ]
    return Table.make("shapes", "The five shapes of the slide", columns, rows, place="Using RNNs")
