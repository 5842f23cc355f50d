"""The tables of the digit pairs, from the rows of every network over training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rote.claims import mean
from rote.laboratory.aggregate import Row, grouped, interval_columns
from rote.store import Column, Table
from rote.studies.resistance import published
from rote.studies.resistance.summaries import STEP, Rows, accuracy_rows, average, over_training

ABOUT = {
    "redundant": "A: the right digit is the same or the next one",
    "random": "B: the right digit is any",
    "noise": "A with noise on the right image in training",
    "dropout": "A with dropout in the fully connected layer",
    "slow": "A with a smaller learning rate",
}
SETTING = Column(
    "setting", "what the right digit tells in training: redundant is the source's A, random its B", "label"
)
AB = "redundant is the source's setting A, random its setting B."
MATCHED = 0.8  # training accuracy at which settings that learn at different speeds are compared


def all_tables(rows: Rows, early: float, columns: Sequence[Column], note: str) -> list[Table]:
    """``early``: the last step that counts as early; ``note``: what every table must say of the data."""
    seeds = per_seed(rows, early)
    main = [row for row in rows if row["setting"] in ("redundant", "random")]
    tables = [_outcome(seeds, note), _accuracy(main, note), _information(main, note)]
    if {row["setting"] for row in rows} - {"redundant", "random"}:
        tables.append(_remedies(seeds, note))
    curves = Table.make("curves", "Every network over training", columns, rows, details=True, note=note)
    return [*tables, _seeds(seeds, note), curves]


def per_seed(rows: Rows, early: float) -> list[Row]:
    """One row per network: at the end, early, untrained, and where it first reached a certain training accuracy."""
    found = []
    for (setting, seed), mine in grouped(rows, ("setting", "seed")).items():
        informed = [row for row in mine if row["right_given"] is not None]
        first, last = informed[0], informed[-1]
        limit = max(early, mine[1]["step"])  # few records: then the first one is early
        soon, soon_informed = ([row for row in some if 0 < row["step"] <= limit] for some in (mine, informed))
        matched = next((row for row in mine if row["train"] >= MATCHED), None)
        found.append(
            {
                "setting": setting, "seed": seed, "train": last["train"], "test": last["test"],
                "gap": last["train"] - last["test"], "train_0": first["train"],
                "early_train": average(row["train"] for row in soon),
                "given": last["right_given"], "given_0": first["right_given"], "left": last["left_given"],
                "early_given": average(row["right_given"] for row in soon_informed),
                "ratio": last["right_gradient"] / last["left_gradient"],
                "bias": last["right_bias"],
                "matched_step": matched and matched["step"],
                "matched_gap": matched and matched["train"] - matched["test"],
            }
        )  # fmt: skip
    return found


SEED_COLUMNS = (
    SETTING,
    Column("seed", "random seed", "label"),
    Column("train", "training accuracy at the end"),
    Column("test", "test accuracy at the end"),
    Column("gap", "training minus test accuracy at the end"),
    Column("train_0", "training accuracy before training"),
    Column("early_train", "training accuracy, mean over the first quarter of the steps"),
    Column("given", "I(prediction; right | left) at the end, bits"),
    Column("given_0", "the same before training"),
    Column("early_given", "the same, mean over the first quarter of the steps"),
    Column("bias", "expected bias of 'given' from the finite number of images, bits"),
    Column("left", "I(prediction; left | right) at the end, bits"),
    Column("ratio", "gradient by the right image over that by the left, at the end"),
    Column("matched_step", f"first recorded step with a training accuracy of {MATCHED:g}"),
    Column("matched_gap", "training minus test accuracy at that step"),
)


def _seeds(seeds: Rows, note: str) -> Table:
    return Table.make("seeds", "Every network at the end", SEED_COLUMNS, seeds, details=True, note=note)


def _outcome(seeds: Rows, note: str) -> Table:
    rows = []
    for (setting,), mine in grouped(seeds, ("setting",)).items():
        if setting not in ("redundant", "random"):
            continue
        said = {"redundant": published.LARGER_GAP}
        gap = mean([row["gap"] for row in mine])
        rows.append(
            {"setting": setting, "seeds": len(mine), "published": said.get(setting), "low": gap.low, "high": gap.high}
            | {name: average(row[name] for row in mine) for name in ("early_train", "train", "test", "gap", "given")}
        )
    columns = (
        SETTING,
        Column("seeds", "networks trained", "label"),
        Column("published", "what the source reports; it gives no numbers", "published"),
        Column("early_train", "training accuracy, mean over the first quarter of the steps"),
        Column("train", "training accuracy at the end"),
        Column("test", "test accuracy at the end"),
        Column("gap", "training minus test accuracy at the end"),
        *interval_columns(),
        Column("given", "I(prediction; right | left) at the end, bits"),
    )
    return Table.make(
        "outcome", "Digit pairs: accuracy on seen and on held-out combinations", columns, rows,
        place="Section 5.1", note=_notes(AB, note),
    )  # fmt: skip


def _accuracy(rows: Rows, note: str) -> Table:
    columns = (
        SETTING,
        STEP,
        Column("measure", "accuracy on the training distribution or on held-out combinations", "label"),
        Column("mean", "mean over seeds"),
        Column("variance", "variance over seeds"),
    )
    return Table.make(
        "accuracy", "Training and test accuracy over training", columns,
        accuracy_rows(rows, ("train", "test")), place="Figure 3a", figure="digits-accuracy", details=True,
        note=_notes(f"Bands: one standard deviation over seeds. {AB}", note),
    )  # fmt: skip


def _information(rows: Rows, note: str) -> Table:
    measures: dict[str, Callable[[Row], float]] = {
        "I(prediction; right | left), bits": lambda row: row["right_given"],
        "I(prediction; left | right), bits": lambda row: row["left_given"],
        "gradient by right over left": lambda row: row["right_gradient"] / row["left_gradient"],
    }
    return over_training(
        "information", "What the prediction takes from each digit, over training",
        [row for row in rows if row["right_given"] is not None], measures,
        _notes(f"Left and right test images, all combined with all. {AB}", note), SETTING,
    )  # fmt: skip


def _remedies(seeds: Rows, note: str) -> Table:
    rows = []
    for (setting,), mine in grouped(seeds, ("setting",)).items():
        row: dict[str, Any] = {"setting": setting, "about": ABOUT[setting], "seeds": len(mine)}
        for name in ("train", "test", "gap", "given", "ratio"):
            found = mean([item[name] for item in mine])
            row |= {name: found.value}
            row |= {f"{name}_low": found.low, f"{name}_high": found.high} if name in ("gap", "given") else {}
        matched = [item["matched_gap"] for item in mine if item["matched_gap"] is not None]
        rows.append({**row, "matched_gap": average(matched), "matched": len(matched)})
    columns = (
        Column("setting", "setting of the source, or remedy", "label"),
        Column("about", "what was changed", "label"),
        Column("seeds", "networks trained", "label"),
        Column("train", "training accuracy at the end"),
        Column("test", "test accuracy at the end"),
        Column("gap", "training minus test accuracy at the end"),
        *interval_columns("gap"),
        Column("given", "I(prediction; right | left) at the end, bits"),
        *interval_columns("given"),
        Column("ratio", "gradient by the right image over that by the left"),
        Column("matched_gap", f"gap when the training accuracy first is {MATCHED:g}"),
        Column("matched", f"networks whose training accuracy reached {MATCHED:g}"),
    )
    text = (
        "Ours. A remedy that slows learning has a smaller gap for that reason alone: compare the gap at equal accuracy."
    )
    return Table.make(
        "remedies", "What makes the network depend less on the redundant digit", columns, rows,
        place="Beyond the source", figure="digits-remedies", note=_notes(text, note),
    )  # fmt: skip


def _notes(*texts: str) -> str:
    return " ".join(filter(None, texts))
