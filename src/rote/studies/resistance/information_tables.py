"""The tables of the information on the plane, from the rows of every network over training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from rote.claims import Tables, Values, mean
from rote.laboratory.aggregate import Row, grouped
from rote.store import Column, Table
from rote.studies.resistance.summaries import Rows, over_training

PARTS = tuple((setting, outputs) for outputs in (1, 2) for setting in ("redundant", "random", "narrow"))
SETTINGS = (
    "Settings: redundant, as published; random, X2 independent of the class; narrow, X2 uninformative and the corner "
    "unseen."
)
SETTING = Column("setting", "what X2 tells about the class in training", "label")
MEASURES: dict[str, Callable[[Row], float]] = {
    "I(prediction; X2 | X1), bits": lambda row: row["other_given"],
    "I(prediction; X1 | X2), bits": lambda row: row["own_given"],
    "mean derivative by X2": lambda row: row["other_slope"],
}
OUTPUTS: dict[str, Callable[[Row], float]] = {
    "I(output; the other's input | its own), bits": lambda row: row["other_given"],
    "I(output; its own input | the other), bits": lambda row: row["own_given"],
    "both right in the corner, accuracy": lambda row: row["corner"],
}
FOLLOWED = {
    "other_given": "I(prediction; the other input | its own), bits",
    "first_given": "I(prediction of the class; X2 | X1), bits",
    "second_given": "I(prediction of the sign of X2; X1 | X2), bits",
    "own_given": "I(prediction; its own input | the other), bits",
    "own_gradient": "mean size of the derivative by its own input",
    "other_slope": "mean derivative by the other input",
    "corner": "share of the held-out corner that is right",
}
TIMES = {"0": "before training", "early": "early", "end": "at the end"}
SEED_COLUMNS = (
    SETTING,
    Column("outputs", "1: the class; 2: the sign of X2 too", "label"),
    Column("seed", "random seed", "label"),
    *(Column(f"{name}_{time}", f"{about}, {when}") for name, about in FOLLOWED.items() for time, when in TIMES.items()),
    Column("correlation", "rank correlation over training of other_given and the mean size of the derivative"),
    Column("rises", "share of early intervals with falling loss in which I(class; prediction) rises"),
    Column("slack", "smallest I(input; prediction) - I(class; prediction), bits"),
)


# The source's Figure 2 from left to right: kind, name, place, and where an arrow ends.
EXTENDED = (
    ("variable", "X", 0, 1), ("network", "g⁻¹", 1, 1), ("variable", "X1", 2, 2), ("variable", "…", 2, 1),
    ("variable", "XK", 2, 0), ("network", "g", 3, 1), ("variable", "X", 4, 1), ("network", "f", 5, 1),
    ("variable", "Ŷ", 6, 1), ("network", "h", 7, 1), ("variable", "Ŷ1", 8, 2), ("variable", "…", 8, 1),
    ("variable", "ŶK", 8, 0), ("network", "h⁻¹", 9, 1), ("variable", "Ŷ", 10, 1),
)  # fmt: skip


BESIDE = {"variable": 0.22, "network": 0.48}  # where an arrow begins or ends beside one


def all_tables(rows: Rows, early: float, columns: Sequence[Column]) -> list[Table]:
    """``early``: the last step that counts as early."""
    seeds = per_seed(rows, early)
    one, two = ([row for row in rows if row["outputs"] == outputs] for outputs in (1, 2))
    return [
        _outcome(seeds),
        extended_network(),
        over_training(
            "information", "What the prediction takes from each input, over training", one, MEASURES, SETTINGS, SETTING
        ),
        over_training(
            "outputs", "Two outputs: what each takes from the other's input, over training", two, OUTPUTS,
            f"The second output is the sign of X2. {SETTINGS}", SETTING,
        ),
        Table.make("seeds", "Every network early and at the end", SEED_COLUMNS, seeds, details=True, note=SETTINGS),
        Table.make("curves", "Every network over training", columns, rows, details=True, note=SETTINGS),
    ]  # fmt: skip


def per_seed(rows: Rows, early: float) -> list[Row]:
    """One row per network. ``early``: the last step that counts as early."""
    found = []
    for (setting, outputs, seed), mine in grouped(rows, ("setting", "outputs", "seed")).items():
        soon = [row for row in mine if row["step"] <= early]
        at = {"0": mine[0], "early": soon[-1], "end": mine[-1]}
        falling = [(one, two) for one, two in pairwise(soon) if two["loss"] < one["loss"]]
        rises = [two["class"] > one["class"] for one, two in falling]
        found.append(
            {"setting": setting, "outputs": outputs, "seed": seed}
            | {f"{name}_{time}": row.get(name) for name in FOLLOWED for time, row in at.items()}
            | {
                "correlation": _correlation(mine, "other_given", "other_gradient"),
                "rises": sum(rises) / len(rises) if rises else None,
                "slack": min(row["input"] - row["class"] for row in mine),
            }
        )
    return found


def rising_share(tables: Tables, setting: str) -> Values:
    """Of the networks whose loss falls early: those of which it never does say nothing of what happens as it falls."""
    shares = tables["seeds"].where(setting=setting, outputs=1).records()
    return {row["seed"]: row["rises"] for row in shares if row["rises"] is not None}


def _correlation(rows: Rows, one: str, other: str) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr([row[one] for row in rows], [row[other] for row in rows]).statistic)


def _outcome(seeds: Rows) -> Table:
    rows = []
    for setting, outputs in PARTS:
        mine = [row for row in seeds if (row["setting"], row["outputs"]) == (setting, outputs)]
        row: Row = {"setting": setting, "outputs": outputs, "seeds": len(mine)}
        for time in TIMES:
            found = mean([item[f"other_given_{time}"] for item in mine])
            row |= {f"other_{time}": found.value, f"low_{time}": found.low, f"high_{time}": found.high}
        rows.append({**row, "corner": mean([item["corner_end"] for item in mine]).value})
    columns = (
        SETTING,
        Column("outputs", "1: the class; 2: the sign of X2 too", "label"),
        Column("seeds", "networks trained", "label"),
        *(
            Column(f"{kind}_{time}", f"{about}, {when}")
            for time, when in TIMES.items()
            for kind, about in (
                ("other", "I(prediction; the other input | its own), bits, mean over seeds"),
                ("low", "lower end of its 95 % interval"),
                ("high", "upper end of its 95 % interval"),
            )
        ),
        Column("corner", "share of the held-out corner that is right at the end, by all outputs"),
    )
    return Table.make(
        "outcome", "Information in the input that the prediction does not need", columns, rows, place="Section 4",
        note=SETTINGS,
    )  # fmt: skip


def extended_network() -> Table:
    """The source's Figure 2: each variable goes into the next network, each network gives the next variables."""
    found: list[Row] = [{"kind": kind, "name": name, "x": x, "y": y} for kind, name, x, y in EXTENDED]
    drawn = [row for row in found if row["name"] != "…"]
    for one in drawn:
        for other in drawn:
            if other["x"] == one["x"] + 1:
                height = (one if one["kind"] == "variable" else other)["y"]
                arrow = {"kind": "arrow", "name": f"{one['name']} to {other['name']}", "y": height, "to_y": height}
                ends = one["x"] + BESIDE[one["kind"]], other["x"] - BESIDE[other["kind"]]
                found.append({**arrow, "x": ends[0], "to_x": ends[1]})
    columns = (
        Column("kind", "variable, network, or arrow between them", "label"),
        Column("name", "as the source calls it", "label"),
        Column("x", "place in the drawing, from the left", "label"),
        Column("y", "place in the drawing, from below", "label"),
        Column("to_x", "where an arrow ends", "label"),
        Column("to_y", "where an arrow ends", "label"),
    )
    return Table.make(
        "structure", "The network of the propositions: f, with fixed networks around it", columns, found,
        place="Figure 2", figure="extended-network", details=True,
        note="Only f is trained. g takes the components X1 to XK to the entangled input and h the entangled output to "
        "its components; each stands beside its inverse, so that together they change nothing. On the plane, where X1 "
        "and X2 are given apart, g and h are the identity.",
    )  # fmt: skip
