"""What the court found: a table of methods, the cases behind it, strings with truth and attribution side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.court.scores import MEASURES
from rote.store import Column, Table

if TYPE_CHECKING:
    from rote.court.judgement import Record

REPLICATES = 400
SHOWN = 2  # strings of each program among the examples
SHOWN_CELL = "lstm"
INTERVALS = ("direction", "size", "rank")
MEDIAN = ("size",)
WORST = ("largest", "long")


@dataclass(frozen=True)
class Verdict:
    """``summary``: a row for every docket and method; ``programs``: by program, over cells; ``cases``: every network;
    ``examples``: strings, position by position."""

    summary: Table
    programs: Table
    cases: Table
    examples: Table
    left_out: tuple[str, ...]  # why networks are missing

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.summary, self.programs, self.cases, self.examples)

    def to_table(self) -> Table:
        return self.summary

    def figure(self, measure: str = "direction") -> Any:
        """Heat maps of methods by programs, one for each docket."""
        from dataclasses import replace

        from rote.figures import draw

        return draw(replace(self.programs, options={**self.programs.options, "measure": measure}))

    def __repr__(self) -> str:
        names = ["docket", "method", *MEASURES]
        widths = [max(len(name), 9) for name in names]
        rows = [names] + [[_short(row[name]) for name in names] for row in self.summary.records()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(names))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def made_of(records: Sequence[Record], methods: Sequence[str], left_out: Sequence[str]) -> Verdict:
    dockets = list(dict.fromkeys(record.case.docket for record in records))
    groups = {
        (docket, method): [record for record in records if (record.case.docket, record.method) == (docket, method)]
        for docket in dockets
        for method in methods
    }
    numbers = tuple(Column(name, about) for name, about in MEASURES.items())
    bounds = tuple(Column(f"{name} {side}", "95 % of resamples") for name in INTERVALS for side in ("low", "high"))
    docket, method = Column("docket", "compiled or trained networks", "label"), Column("method", role="label")
    program = Column("program", role="label")
    rows = [{"docket": d, "method": m, **_summary(group, True)} for (d, m), group in groups.items()]
    by_program = [
        {"docket": d, "method": m, "program": name, **_summary(some, False)}
        for (d, m), group in groups.items()
        for name, some in _by_program(group)
    ]
    each = [
        {
            "docket": one.case.docket, "method": one.method, "program": one.case.program.name, "cell": one.case.cell,
            "network": one.case.network, **_summary([one], False),
        }
        for one in records
    ]  # fmt: skip
    cell, network = Column("cell", role="label"), Column("network", "its coding or its seed", "label")
    return Verdict(
        Table.make("methods", "Explanation methods against the truth", (docket, method, *numbers, *bounds), rows),
        Table.make(
            "programs", "Methods by program", (docket, program, method, *numbers), by_program, figure="court",
            options={"about": dict(MEASURES)}, details=True,
        ),
        Table.make("networks", "Every network", (docket, program, cell, network, method, *numbers), each, details=True),
        _examples(records),
        tuple(dict.fromkeys(left_out)),
    )  # fmt: skip


def _by_program(group: Iterable[Record]) -> list[tuple[str, list[Record]]]:
    found: dict[str, list[Record]] = {}
    for record in group:
        found.setdefault(record.case.program.name, []).append(record)
    return list(found.items())


def _summary(group: Sequence[Record], intervals: bool) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for measure in MEASURES:
        values = [record.scores[measure] for record in group if measure in record.scores]
        known = np.concatenate(values) if values else np.empty(0)
        known = known[~np.isnan(known)]
        found[measure] = None if not len(known) else float(_middle(measure, known))
        if intervals and measure in INTERVALS and len(known):
            low, high = _interval(measure, values)
            found[f"{measure} low"], found[f"{measure} high"] = low, high
    return found


def _middle(measure: str, values: np.ndarray, axis: int | None = None) -> Any:
    if measure in WORST:
        return np.nanmax(values, axis=axis)
    return np.nanmedian(values, axis=axis) if measure in MEDIAN else np.nanmean(values, axis=axis)


def _interval(measure: str, values: Sequence[np.ndarray]) -> tuple[float, float]:
    """Over networks and the strings of each: both are drawn again, with a fixed seed."""
    table, draw = np.stack(values), np.random.default_rng(0)
    networks, strings = table.shape
    rows = draw.integers(networks, size=(REPLICATES, networks, 1))
    columns = draw.integers(strings, size=(REPLICATES, networks, strings))
    drawn = table[rows, columns].reshape(REPLICATES, -1)
    drawn = drawn[~np.isnan(drawn).all(1)]
    low, high = np.percentile(_middle(measure, drawn, axis=1), [2.5, 97.5])
    return float(low), float(high)


def _examples(records: Sequence[Record]) -> Table:
    """The first strings of each program in one cell: the truth, and what every method says."""
    columns = (
        Column("docket", role="label"), Column("program", role="label"), Column("cell", role="label"),
        Column("string", role="label"), Column("position", role="label"), Column("symbol", role="label"),
        Column("decides", "1 where the position is in a minimal set that decides the output", "label"),
        Column("method", "truth: the exact Shapley value", "label"), Column("value"),
    )  # fmt: skip
    rows: list[dict[str, Any]] = []
    told: set[tuple[str, str]] = set()
    cells = {record.case.cell for record in records}
    chosen = SHOWN_CELL if SHOWN_CELL in cells else next(iter(sorted(cells)))
    for record in records:
        case = record.case
        if case.cell != chosen or not (case.network == "busy" or case.network == "seed 0"):
            continue
        if (case.docket, case.program.name) not in told:
            told.add((case.docket, case.program.name))
            rows += _strip(record, "truth", case.truth.shapley)
        rows += _strip(record, record.method, record.values)
    return Table.make("examples", "Strings, with truth and attribution side by side", columns, rows, details=True)


def _strip(record: Record, method: str, values: np.ndarray) -> list[dict[str, Any]]:
    case = record.case
    found = []
    for string in range(min(SHOWN, len(values))):
        names = case.program.decode(case.truth.tokens[string])
        for position, symbol in enumerate(names):
            found.append(
                {
                    "docket": case.docket, "program": case.program.name, "cell": case.cell, "string": string,
                    "position": position, "symbol": symbol, "decides": int(case.truth.used[string, position]),
                    "method": method, "value": float(values[string, position]),
                }
            )  # fmt: skip
    return found


def _short(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.1e}"
