"""The tables of the SCAN study, from the rows of every model over training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median

from rote.claims import mean
from rote.errors import UsageError
from rote.laboratory.aggregate import Row, grouped
from rote.store import Column, Table
from rote.studies.resistance import published
from rote.studies.resistance.summaries import STEP, Rows, accuracy_rows, average, over_training
from rote.tasks import scan
from rote.tasks.scan import SplitName

EARLY, MIDDLE = (10, 25), (100, 150)  # steps; the first as published
BEFORE = "before"  # joins two commands of the source's Table 1
LAST = 0.2  # share of the steps whose median is taken for the end
SETTING = Column("setting", "original is the source's A, random its B, replaced its B as in appendix B", "label")
NOTE = (
    "Settings: original, the source's A; random, its B as in section 5.2, action words drawn at random; replaced, B as "
    "in appendix B, 'jump' replaced in training and test."
)
INFORMATION: dict[str, Callable[[Row], float]] = {
    "I(answer's syntax; action word | syntax), bits": lambda row: row["syntax_word"],
    "I(answer's words; syntax | action word), bits": lambda row: row["word_syntax"],
    "gradient by action words over other words": lambda row: row["gradient_word"] / row["gradient_syntax"],
}
SEED_COLUMNS = (
    SETTING,
    Column("seed", "random seed", "label"),
    Column("train_25", "training accuracy at step 25"),
    Column("combined_25", "the same without the copies of the command that is added alone"),
    Column("train_early", "training accuracy, mean over steps 10 to 25"),
    Column("combined_middle", "training accuracy without copies, mean over steps 100 to 150"),
    Column("train", "training accuracy at the end, median over the last fifth of the steps"),
    Column("combined", "the same without copies"),
    Column("test", "test accuracy at the end, median over the last fifth of the steps"),
    Column("gap", "train minus test"),
    Column("all_train", "share of all different training commands that is right with the last weights"),
    Column("all_test", "share of all test commands that is right with the last weights"),
    Column("syntax_word_0", "I(answer's syntax; action word | syntax) before training, bits"),
    Column("syntax_word_early", "the same, mean over steps 10 to 25"),
    Column("syntax_word", "the same at the end, median over the last fifth of the steps"),
    Column("syntax_word_others", "the same without 'jump'"),
    Column("word_syntax", "I(answer's action words; syntax | action word) at the end, bits"),
    Column("ratio", "gradient by action words over that by the other words, at the end"),
)


def all_tables(measured: Mapping[str, Table], split: SplitName) -> list[Table]:
    curves, information, whole = (measured[name].records() for name in ("curves", "information", "whole"))
    seeds = per_seed(curves, information, whole)
    return [
        _outcome(seeds),
        examples(split),
        _accuracy(curves),
        over_training(
            "information", "What the answer takes from the action word and from the syntax", information, INFORMATION,
            "Command templates combined with all four action words, of which 'replaced' has never seen 'jump'. "
            f"{NOTE}", SETTING,
        ),
        Table.make("seeds", "Every model", SEED_COLUMNS, seeds, details=True, note=NOTE),
        Table.make("curves", "Every model over training", measured["curves"].columns, curves, details=True, note=NOTE),
        Table.make(
            "measures", "What every model takes from the parts of a command", measured["information"].columns,
            information, details=True, note=NOTE,
        ),
    ]  # fmt: skip


def per_seed(curves: Rows, information: Rows, whole: Rows) -> list[Row]:
    told = grouped(information, ("setting", "seed"))
    ends = grouped(whole, ("setting", "seed"))
    found = []
    for key, mine in grouped(curves, ("setting", "seed")).items():
        row: Row = {"setting": key[0], "seed": key[1]}
        steps = mine[-1]["step"]  # early stopping ends sooner
        row |= {f"{name}_25": _at(mine, name, (25, 25)) for name in ("train", "combined")}
        row |= {"train_early": _at(mine, "train", EARLY), "combined_middle": _at(mine, "combined", MIDDLE)}
        row |= {name: _end(mine, name, steps) for name in ("train", "combined", "test")}
        row |= {"gap": row["train"] - row["test"]}
        row |= {f"all_{name}": ends[key][0][name] for name in ("train", "test")}
        row |= {"syntax_word_0": told[key][0]["syntax_word"], "syntax_word_early": _at(told[key], "syntax_word", EARLY)}
        row |= {name: _end(told[key], name, steps) for name in ("syntax_word", "syntax_word_others", "word_syntax")}
        gradients = [_end(told[key], name, steps) for name in ("gradient_word", "gradient_syntax")]
        found.append({**row, "ratio": gradients[0] / gradients[1]})
    return found


def _at(rows: Rows, name: str, steps: tuple[int, int]) -> float | None:
    """Mean over the records between two steps; None where there are none."""
    return average(row[name] for row in rows if steps[0] <= row["step"] <= steps[1])


def _end(rows: Rows, name: str, steps: int) -> float:
    return float(median(row[name] for row in rows if row["step"] >= (1 - LAST) * steps))


def _outcome(seeds: Rows) -> Table:
    said = {"original": published.SCAN_LARGER_GAP}
    names = ("train_25", "combined_25", "train", "test", "gap", "syntax_word")
    rows = []
    for (setting,), mine in grouped(seeds, ("setting",)).items():
        gap = mean([row["gap"] for row in mine])
        rows.append(
            {"setting": setting, "seeds": len(mine), "published": said.get(setting), "low": gap.low, "high": gap.high}
            | {name: average(row[name] for row in mine) for name in names}
        )
    about = {column.name: column for column in SEED_COLUMNS}
    columns = (
        SETTING,
        Column("seeds", "models trained", "label"),
        Column("published", "what the source reports; it gives no numbers", "published"),
        *(about[name] for name in names[:5]),
        Column("low", "lower end of the gap's 95 % interval"),
        Column("high", "upper end of the gap's 95 % interval"),
        about["syntax_word"],
    )
    return Table.make(
        "outcome", "SCAN: accuracy on commands as in training and on new combinations", columns, rows,
        place="Section 5.2", note=f"Means over seeds. {NOTE}",
    )  # fmt: skip


def _accuracy(curves: Rows) -> Table:
    columns = (
        SETTING,
        STEP,
        Column("measure", "train: as in training; combined: without copies of 'jump'; test: new combinations", "label"),
        Column("mean", "share of commands that is right to the last action, mean over seeds"),
        Column("variance", "variance over seeds"),
    )
    return Table.make(
        "accuracy", "Training and test accuracy over training", columns,
        accuracy_rows(curves, ("train", "combined", "test")), place="Figure 3b", figure="scan-accuracy", details=True,
        note=f"Bands: one standard deviation over seeds. {NOTE}",
    )  # fmt: skip


def examples(split: SplitName) -> Table:
    """The commands of the source's Table 1, with what SCAN makes of them."""
    short = {"I_TURN_LEFT": "LTURN", "I_TURN_RIGHT": "RTURN"}
    parts = {"training": dict(scan.split(split)[0]), "test": dict(scan.split(split)[1])}
    rows = []
    for printed, command, actions in published.EXAMPLES:
        in_scan = command.replace(BEFORE, "and")
        asked = [short.get(action, action.removeprefix("I_")) for action in scan.interpret(in_scan).split()]
        found = [part for part, lines in parts.items() if in_scan in lines]
        rows.append(
            {
                "part": printed, "command": command, "published": actions, "in_grammar": _in_grammar(command),
                "in_scan": in_scan, "actions": " ".join(asked), "found": found[0] if found else "neither",
            }
        )  # fmt: skip
    columns = (
        Column("part", "section of the source's table", "label"),
        Column("command", "as printed", "label"),
        Column("published", "actions as printed", "published"),
        Column("in_grammar", "whether SCAN's grammar has the command", "label"),
        Column("in_scan", "the command as SCAN says it", "label"),
        Column("actions", "what SCAN asks for, written as in the source", "label"),
        Column("found", f"where the split {split} has it", "label"),
    )
    return Table.make(
        "examples", "Commands and their actions", columns, rows, place="Table 1",
        note=f"SCAN's grammar has no '{BEFORE}': these commands are in neither part of the dataset. Said with 'and', "
        "they ask for the printed actions.",
    )  # fmt: skip


def _in_grammar(command: str) -> str:
    try:
        scan.interpret(command)
    except UsageError:
        return "no"
    return "yes"
