"""The tables of the study autocomplete: the source's, with its numbers beside ours, and what it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rote.claims import proportion
from rote.store import Column, Table
from rote.studies.memorization import published
from rote.studies.memorization.autocomplete_networks import TEXTS, networks, plateau
from rote.studies.memorization.measures import Words
from rote.studies.memorization.tables import CELL, POINT, SEED, share_table, summary_table
from rote.studies.summaries import BAND, Row, band, bands, grouped

COUNTING = "counting, no memory"
SHOWN = ("as published", "corrected")
MEASURES = (
    ("cross_entropy", "cross entropy", 0),
    ("accuracy", "accuracy", 1),
    ("corrected", "accuracy on words of the vocabulary", None),
)
SITUATION_MEANS = {
    "suggestions": "of the first seed: the likeliest words and their probabilities",
    "rank": "of the target among all words, the middle one of the seeds; empty where it is outside the vocabulary",
}


def all_tables(tables: Mapping[str, Table]) -> list[Table]:
    """From the collected tables of the runs; each says which text it is from."""
    note = tables["text"].note
    made = [
        _configurations(tables),
        _test(tables),
        _summary(tables),
        _initial(tables["initial-lags"]),
        _situations(tables["situations"]),
        _training(tables["curves"]),
        _accuracy(tables),
        *_shares(tables["shares"]),
        _paragraph(tables["paragraph"]),
        _outside(tables["hits"]),
        plateau(tables),
        networks(tables),
        tables["words"],
        tables["hits"],
        *_letters(tables["paragraph"]),
        replace(tables["situations"], details=True),
        tables["initial-lags"],
    ]
    return [tables["text"], *(replace(table, note=f"{table.note} {note}".strip()) for table in made)]


def _configurations(tables: Mapping[str, Table]) -> Table:
    """Ours, and the networks at the source's size that are looked at before training."""
    rows = []
    for name, what in (("sizes", "trained"), ("initial-sizes", "untrained only")):
        for (cell,), group in grouped(tables[name].records(), ("cell",)).items():
            first = group[0]
            parts = dict(zip(("embedding", "recurrent", "dense"), published.PARAMETERS[cell], strict=True))
            rows.append(
                {
                    "networks": what, "cell": cell, "units": first["units"], "layers": first["layers"],
                    "depth": published.DEPTH[cell],
                    **{part: first[part] for part in parts},
                    **{f"{part}_published": value for part, value in parts.items()},
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
            for part in ("embedding", "recurrent", "dense")
            for column in (Column(part, "parameters"), Column(f"{part}_published", "at 600 units", "published"))
        ),
    )
    return Table.make("configurations", "Model configurations", columns, rows, place="Appendix")


def _test(tables: Mapping[str, Table]) -> Table:
    rows: list[Row] = []
    for (cell,), group in grouped(tables["test"].records(), ("cell",)).items():
        for name, title, place in MEASURES:
            found = band([row[name] for row in group], (0.0, 1.0) if "accuracy" in title else None)
            said = None if place is None else published.TEST[cell][place]
            rows.append({"cell": cell, "measure": title, **found, "published": said})
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
    found = []
    for group in grouped(table.records(), ("output", "cell")).values():
        ranks = sorted(row["rank"] for row in group if row["rank"] is not None)
        means = {
            name: band([row[name] for row in group])["mean"]
            for name in ("chance", "share_squared", "share_l2", "words_squared", "words_l2")
        }
        found.append({**group[0], "seeds": len(group), "rank": ranks[len(ranks) // 2] if ranks else None, **means})
    columns = [replace(column, about=SITUATION_MEANS.get(column.name, column.about)) for column in table.columns]
    columns[columns.index(SEED)] = Column("seeds", "networks", "label")
    return Table.make(
        "situations-summary", "The situations of the text", columns, found, place="Connectivity figure",
        note="Ranks are among all outputs; a word outside the vocabulary has none. What the first suggestion draws on, "
        "where the word is outside the vocabulary.",
    )  # fmt: skip


def _training(curves: Table) -> Table:
    rows: list[Row] = []
    for (cell, step), group in grouped(curves.records(), ("cell", "step")).items():
        minutes = sum(row["minutes"] for row in group) / len(group)
        rows += [
            {"cell": cell, "set": part, "step": step, "minutes": minutes, **band([row[part] for row in group])}
            for part in ("train", "valid")
        ]
    columns = (
        CELL,
        Column("set", "train or valid", "label"),
        Column("step", "mini-batches", "label"),
        Column("minutes", "of training, mean over seeds", "label"),
        *BAND,
    )
    return Table.make(
        "training", "Cross entropy over training", columns, rows, place="Training graph", details=True,
        figure="memorization-training", options={"time": "minutes"},
        note="Training and validation apart: the source's curves are a mixture of both. Bands: 95 % intervals.",
    )  # fmt: skip


def _accuracy(tables: Mapping[str, Table]) -> Table:
    """Means over seeds; of counting the interval of its share."""
    rows: list[Row] = []
    networks = [row for row in tables["hits"].records() if row["counted"] in SHOWN and row["positions"]]
    for (counted, cell, top, k), group in grouped(networks, ("counted", "cell", "top", "k")).items():
        found = band([row["hits"] / row["positions"] for row in group], (0.0, 1.0))
        ends = {"low": found.get("low"), "high": found.get("high")}
        rows.append(
            {"counted": counted, "cell": cell, "top": top, "k": k, "accuracy": found["mean"], **ends,
             "seeds": found["seeds"], "positions": group[0]["positions"]}
        )  # fmt: skip
    for row in tables["counting"].records():
        if row["positions"]:
            share = proportion(row["hits"], row["positions"])
            counts = {"positions": row["positions"], "accuracy": share.value, "low": share.low, "high": share.high}
            rows.append({**{name: row[name] for name in ("counted", "top", "k")}, "cell": COUNTING, **counts})
    columns = (
        Column("counted", "as published: padding and unknown words count; corrected: neither", "label"),
        CELL,
        Column("top", "the word must be among so many suggestions", "label"),
        Column("k", "characters of the word that are known", "label"),
        Column("seeds", "networks", "label"),
        Column("positions", "characters of the test text", "label"),
        Column("accuracy", "mean over seeds"),
        Column("low", "lower end of its 95 % interval"),
        Column("high", "upper end of it"),
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
        for name, title in TEXTS
    ]


def _paragraph(table: Table) -> Table:
    first = min(row["seed"] for row in table.records())
    shown = table.where(seed=first)
    note = f"Seed {first}. Where a word is outside the vocabulary: what the model's own first suggestion draws on."
    return replace(shown, note=f"{note} {POINT}")


def _letters(paragraph: Table) -> list[Table]:
    """The fewest known characters of "grammar" with which it is suggested, at both places: over seeds, and of each."""
    rows = []
    for (cell, seed), group in grouped(paragraph.records(), ("cell", "seed")).items():
        suggested = {row["output"] for row in group if "grammar" in row["suggestions"]}
        for number, start in enumerate(_starts("grammar")):
            found = [letters for letters in range(len(" grammar")) if start + letters in suggested]
            rows.append({"cell": cell, "seed": seed, "occurrence": number + 1, "letters": min(found, default=None)})
    about = Column("occurrence", "of grammar in the paragraph", "label")
    letters = Column("letters", "fewest letters with which it is among the three suggestions; empty: never")
    summary = [
        {
            "cell": cell, "occurrence": occurrence, "never": sum(row["letters"] is None for row in group),
            **band([row["letters"] for row in group]),
        }
        for (cell, occurrence), group in grouped(rows, ("cell", "occurrence")).items()
    ]  # fmt: skip
    never = Column("never", "networks that never suggest it; the mean is over the others")
    return [
        Table.make("letters-needed", "Letters of grammar that are needed", (CELL, about, never, *BAND), summary),
        Table.make("letters", letters.about, (CELL, SEED, about, letters), rows, details=True),
    ]


def _starts(name: str) -> list[int]:
    words = Words.find(published.PARAGRAPH)
    found = [number for number, word in enumerate(words.names) if word == name]
    return [int((words.of == number).argmax()) for number in found]


def _outside(hits: Table) -> Table:
    """The same for every network: it is a property of the text."""
    rows = hits.where(top=1, cell=hits.column("cell")[0], seed=hits.column("seed")[0]).records()
    found = []
    for (k,), group in grouped(rows, ("k",)).items():
        positions = {row["counted"]: row["positions"] for row in group}
        inside, outside, counted = (
            positions["corrected"],
            positions["outside the vocabulary"],
            positions["as published"],
        )
        if counted:
            found.append(
                {
                    "k": k, "counted": counted, "padding": counted - inside - outside, "outside": outside,
                    "limit": inside / counted,
                }
            )  # fmt: skip
    columns = (
        Column("k", "characters of the word that are known", "label"),
        Column("counted", "positions as the source counts them"),
        Column("padding", "of these: padding of batches of 16"),
        Column("outside", "of these: words outside the vocabulary"),
        Column("limit", "the highest accuracy that is possible as the source counts"),
    )
    return Table.make(
        "outside", "What of the accuracy graph no model can get right", columns, found, place="Accuracy graph",
        note="Curves as published fall with many known characters because fewer of the long words are outputs.",
    )  # fmt: skip
