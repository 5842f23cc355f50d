"""The tables of the study autocomplete: the source's, with its numbers beside ours, and what it does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rote.claims import proportion
from rote.laboratory.aggregate import BAND, Row, band, bands, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.memorization import published
from rote.studies.memorization.previous_words import (
    CELL,
    KNOWN,
    NETWORK,
    NORMS,
    POINT,
    REACH,
    SEED,
    SET,
    SHARE,
    STEP,
    TOP,
    over_seeds,
    share_table,
    summary_table,
)
from rote.studies.memorization.sentences import letter_rows

COUNTING = "counting, no memory"
SHOWN = ("as published", "corrected")
MEASURES = (
    ("cross_entropy", "cross entropy", 0),
    ("accuracy", "accuracy", 1),
    ("corrected", "accuracy on words of the vocabulary", None),
)
LEFT = 0.95  # of the loss of knowing only frequencies: below it a network has left the plateau
TEXTS = {"paragraph": "the paragraph", "test text": "the test text"}
VIEWS = [(when, text, norm) for when in ("untrained", "trained") for text in TEXTS for norm in NORMS]
SITUATION_MEANS = {
    "suggestions": "of the first seed: the likeliest words and their probabilities",
    "rank": "of the target among all words, the middle one of the seeds; empty where it is outside the vocabulary",
}


def all_tables(measured: Mapping[str, Table], cells: Sequence[str], depths: Mapping[str, int]) -> list[Table]:
    """The study's tables, ``cells`` in their order; each says which text it is from. ``depths``: of the Nested LSTM,
    that of the trained networks and of the untrained ones."""
    tables = {name: _by_cell(table, cells) for name, table in measured.items()}
    all_networks, note = _networks(tables), tables["text"].note
    about_networks = [
        _configurations(tables, depths),
        _test(tables),
        _summary(tables),
        _initial(tables["initial-lags"]),
        _situations(tables["situations"]),
        _training(tables["curves"]),
        _accuracy(tables),
        *_shares(tables["shares"]),
        _paragraph(tables["paragraph"]),
        _outside(tables["hits"]),
        _plateau(all_networks, tables["text"].column("loss")[0]),
        all_networks,
        tables["words"],
        tables["hits"],
        *_letters(tables["paragraph"]),
        replace(tables["situations"], details=True),
        tables["initial-lags"],
    ]
    return [tables["text"], *(replace(table, note=f"{table.note} {note}".strip()) for table in about_networks)]


def _by_cell(table: Table, cells: Sequence[str]) -> Table:
    """The rows of one cell after those of another; the slowest were measured first."""
    if CELL not in table.columns:
        return table
    place = table.columns.index(CELL)
    return replace(table, rows=tuple(sorted(table.rows, key=lambda row: cells.index(row[place]))))


def _configurations(tables: Mapping[str, Table], depths: Mapping[str, int]) -> Table:
    """Ours, and the networks at the source's size that are looked at before training; how the recurrent units compare
    with the LSTM's, whose number the source's Nested LSTM has too."""
    parts, rows = ("embedding", "recurrent", "dense"), []
    for name, what in (("sizes", "trained"), ("initial-sizes", "untrained only")):
        firsts = {cell: group[0] for (cell,), group in grouped(tables[name].records(), ("cell",)).items()}
        for cell, first in firsts.items():
            said = zip(parts, published.PARAMETERS.get(cell, (None, None, None)), strict=True)
            beside = first["recurrent"] / firsts["LSTM"]["recurrent"] if "LSTM" in firsts else None
            rows.append(
                {
                    "networks": what, "cell": cell, "units": first["units"], "layers": first["layers"],
                    "depth": None if published.DEPTH.get(cell) is None else depths[what],
                    **{part: first[part] for part in parts}, **{f"{part}_published": value for part, value in said},
                    "parity": beside,
                    "parity_published": published.parity(cell),
                }
            )  # fmt: skip
    columns = (
        Column("networks", "trained here, or only looked at", "label"),
        CELL,
        Column("units", "of each layer, and size of the embedding", "label"),
        Column("layers", role="label"),
        Column("depth", "memory cells inside each other", "label"),
        *(
            column
            for part in parts
            for column in (Column(part, "parameters"), Column(f"{part}_published", "at 600 units", "published"))
        ),
        Column("parity", "recurrent parameters over those of the LSTM"),
        Column("parity_published", "at 600 units", "published"),
    )
    return Table.make("configurations", "Model configurations", columns, rows, place="Appendix")


def _test(tables: Mapping[str, Table]) -> Table:
    rows: list[Row] = []
    for (cell,), group in grouped(tables["test"].records(), ("cell",)).items():
        for name, title, place in MEASURES:
            over = band([row[name] for row in group], (0.0, 1.0) if "accuracy" in title else None)
            said = None if place is None or cell not in published.TEST else published.TEST[cell][place]
            rows.append({"cell": cell, "measure": title, **over, "published": said})
    (text,) = tables["text"].records()
    rows.append({"cell": COUNTING, "measure": "cross entropy", "mean": text["loss"]})
    counts = [row for row in tables["counting"].records() if row["top"] == 1]
    share = sum(row["hits"] for row in counts) / sum(row["positions"] for row in counts)
    rows.append({"cell": COUNTING, "measure": MEASURES[2][1], "mean": share})
    columns = (
        CELL,
        Column("measure", "on the test text; cross entropy in nats, unknown words left out", "label"),
        *BAND,
        Column("published", "at the published size, on text8", "published"),
    )
    return Table.make(
        "test", "Cross entropy and accuracy on the test text", columns, rows, place="Appendix, test table",
        note="Accuracy as published counts words outside the vocabulary as errors. Counting: the loss of knowing "
        "only how frequent words are; the accuracy of suggesting the most frequent word with the known letters.",
    )  # fmt: skip


def _summary(tables: Mapping[str, Table]) -> Table:
    units = tables["initial-sizes"].column("units")[0]
    initial = [
        {**row, "text": "paragraph", "when": f"untrained, {units} units"} for row in tables["initial-shares"].records()
    ]
    rows = sorted([*tables["shares"].records(), *initial], key=lambda row: (row["text"], row["when"], row["norm"]))
    return summary_table(
        rows, "Of outputs whose word is in the vocabulary. The single numbers that the source wished for.",
        Column("text", "the source's paragraph, or observations of the test text", "label"),
        Column("when", "before or after training", "label"),
    )  # fmt: skip


def _initial(lags: Table) -> Table:
    rows = bands(lags.records(), ("cell", "lag"), "ratio")
    columns = (CELL, Column("lag", "characters back", "label"), *BAND)
    return Table.make(
        "initial", "Before any training: connectivity by distance, log10 relative to the character itself", columns,
        rows, place="Not in the source", note="Networks of the size and initialization given in the model "
        "configurations (untrained only), norm of the gradient, median over the outputs of the paragraph.",
    )  # fmt: skip


def _situations(table: Table) -> Table:
    """Over seeds: the middle rank, means of the others; the suggestions are those of the first seed."""
    rows = []
    for group in grouped(table.records(), ("output", "cell")).values():
        ranks = sorted(row["rank"] for row in group if row["rank"] is not None)
        averaged = ("chance", "share_squared", "share_l2", "words_squared", "words_l2")
        means = {name: band([row[name] for row in group])["mean"] for name in averaged}
        rows.append({**group[0], "seeds": len(group), "rank": ranks[len(ranks) // 2] if ranks else None, **means})
    columns = [replace(column, about=SITUATION_MEANS.get(column.name, column.about)) for column in table.columns]
    columns[columns.index(SEED)] = BAND[0]
    return Table.make(
        "situations-summary", "The situations of the text", columns, rows, place="Connectivity figure",
        note="Ranks are among all outputs; a word outside the vocabulary has none. What the first suggestion draws on, "
        "where the word is outside the vocabulary.",
    )  # fmt: skip


def _training(curves: Table) -> Table:
    rows = [
        {"cell": cell, "set": part, "step": step, **band([row[part] for row in group])}
        for (cell, step), group in grouped(curves.records(), ("cell", "step")).items()
        for part in ("train", "valid")
    ]
    columns = (CELL, SET, STEP, *BAND)
    return Table.make(
        "training", "Cross entropy over training", columns, rows, place="Training graph", details=True,
        figure="memorization-training",
        note="Training and validation apart: the source's curves are a mixture of both. Bands: 95 % intervals. How "
        "long a network took is in the record of its run.",
    )  # fmt: skip


def _accuracy(tables: Mapping[str, Table]) -> Table:
    """Means over seeds; of counting the interval of its share."""
    rows: list[Row] = []
    networks = [row for row in tables["hits"].records() if row["counted"] in SHOWN and row["positions"]]
    for (counted, cell, top, k), group in grouped(networks, ("counted", "cell", "top", "k")).items():
        over = band([row["hits"] / row["positions"] for row in group], (0.0, 1.0))
        labels = {"counted": counted, "cell": cell, "top": top, "k": k, "positions": group[0]["positions"]}
        rows.append({**labels, **over, "accuracy": over["mean"]})
    for row in tables["counting"].records():
        if row["positions"]:
            share = proportion(row["hits"], row["positions"])
            rows.append({**row, "cell": COUNTING, "accuracy": share.value, "low": share.low, "high": share.high})
    columns = (
        Column("counted", "as published: padding and unknown words count; corrected: neither", "label"),
        CELL,
        TOP,
        KNOWN,
        BAND[0],
        Column("positions", "characters of the test text", "label"),
        Column("accuracy", "mean over seeds"),
        *interval_columns(),
    )
    return Table.make(
        "accuracy", "Accuracy by known characters", columns, rows, place="Accuracy graph", details=True,
        figure="memorization-accuracy",
        note="Counting: the most frequent words with the known letters, without a look at the text before.",
    )  # fmt: skip


def _shares(shares: Table) -> list[Table]:
    trained = [row for row in shares.records() if row["when"] == "trained"]
    return [
        share_table([row for row in trained if row["text"] == name], "", f"share-{name.split()[0]}", title)
        for name, title in TEXTS.items()
    ]


def _paragraph(table: Table) -> Table:
    first = min(row["seed"] for row in table.records())
    shown = table.where(seed=first)
    note = f"Seed {first}. Where a word is outside the vocabulary: what the model's own first suggestion draws on."
    return replace(shown, note=f"{note} {POINT}")


def _letters(paragraph: Table) -> list[Table]:
    """The fewest known characters of "grammar" with which it is suggested, at both places: over seeds, and of each."""
    rows = letter_rows(paragraph.records())
    about = Column("occurrence", "of grammar in the paragraph", "label")
    letters = Column("letters", "fewest letters with which it is among the three suggestions; empty: never")
    never = Column("never", "networks that never suggest it; the mean is over the others")
    summary = []
    for (cell, occurrence), group in grouped(rows, ("cell", "occurrence")).items():
        needed = [row["letters"] for row in group]
        summary.append({"cell": cell, "occurrence": occurrence, "never": needed.count(None), **band(needed)})
    return [
        Table.make("letters-needed", "Letters of grammar that are needed", (CELL, about, never, *BAND), summary),
        Table.make("letters", letters.about, (*NETWORK, about, letters), rows, details=True),
    ]


def _outside(hits: Table) -> Table:
    """The same for every network: it is a property of the text."""
    mine = hits.where(top=1, cell=hits.column("cell")[0], seed=hits.column("seed")[0]).records()
    rows = []
    for (k,), group in grouped(mine, ("k",)).items():
        positions = {row["counted"]: row["positions"] for row in group}
        outside, counted = positions["outside the vocabulary"], positions["as published"]
        padding = counted - positions["corrected"] - outside
        if counted:
            limit = positions["corrected"] / counted
            rows.append({"k": k, "counted": counted, "padding": padding, "outside": outside, "limit": limit})
    columns = (
        KNOWN,
        Column("counted", "positions as the source counts them"),
        Column("padding", "of these: padding of batches of 16"),
        Column("outside", "of these: words outside the vocabulary"),
        Column("limit", "the highest accuracy that is possible as the source counts"),
    )
    return Table.make(
        "outside", "What of the accuracy graph no model can get right", columns, rows, place="Accuracy graph",
        note="Curves as published fall with many known characters because fewer of the long words are outputs.",
    )  # fmt: skip


def _plateau(networks: Table, loss: float) -> Table:
    rows = []
    for (cell,), group in grouped(networks.records(), ("cell",)).items():
        left = [row["left"] for row in group]
        rows.append({"cell": cell, "never": left.count(None), **band(left)})
    columns = (CELL, Column("never", "networks that did not leave it"), *BAND)
    return Table.make(
        "plateau", "Mini-batches until a network has left the plateau of frequencies", columns, rows,
        place="Not in the source",
        note=f"First record with a validation loss below {LEFT:.0%} of {loss:.2f} nats, the loss of knowing "
        "only how frequent words are. In the source's own curves the GRU stays there for 2300 mini-batches.",
    )  # fmt: skip


def _networks(tables: Mapping[str, Table]) -> Table:
    """One row per trained network, with everything that is one number: what the claims are judged by."""
    (loss,) = tables["text"].column("loss")
    curves = grouped(tables["curves"].records(), ("cell", "seed"))
    shares = grouped(tables["shares"].records(), ("cell", "seed", "when", "text", "norm"))
    rows = []
    for row in tables["test"].records():
        key = (row["cell"], row["seed"])
        left = next((record["step"] for record in curves[key] if record["valid"] < LEFT * loss), None)
        over = {
            view(measure, *one): over_seeds(shares[(*key, *one)], measure)["mean"]
            for one in VIEWS for measure in (SHARE, REACH)
        }  # fmt: skip
        rows.append({**row, "left": left, **over})
    columns = (
        *NETWORK,
        *(replace(column, role="measured") for column in tables["test"].columns[2:]),
        Column("left", "mini-batches until it left the plateau"),
        *(Column(view(measure, *one)) for one in VIEWS for measure in (SHARE, REACH)),
    )
    return Table.make("networks", "Every network", columns, rows, details=True)


def view(measure: str, when: str, text: str, norm: str) -> str:
    """The column of the table networks: "share trained paragraph squared"."""
    return f"{measure.split()[0]} {when} {text} {norm}"
