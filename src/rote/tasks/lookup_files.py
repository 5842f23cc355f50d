"""The original files of lookup-table examples: inputs, outputs and attention targets in three columns, tabs between.

    010 t1 t6 .<TAB>010 101 000<TAB>0 1 2 3

The third column has one entry more than there are outputs: where an end symbol would look, which is never a target.
It may be missing, is not kept, and is written. Reading and writing a published file gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from rote.errors import UsageError
from rote.store.files import write_atomically
from rote.tasks.lookup import END, IGNORED, Example, Functions, check_bijections


def read_tsv(path: Path | str) -> list[Example]:
    """The rows of a file in their order; a malformed one is refused with its line number."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a text file in UTF-8 ({error.reason} at byte {error.start}).") from None
    if not text:
        raise UsageError(f"{path} is empty. Expected rows of inputs, outputs and attention targets.")
    lines = text.removesuffix("\n").split("\n")
    return [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]


def write_tsv(path: Path | str, examples: Iterable[Example]) -> None:
    """The whole file or nothing."""
    lines = []
    for row in examples:
        targets = (*row.attention, len(row.inputs) - 1)
        lines.append("\t".join((" ".join(row.inputs), " ".join(row.outputs), " ".join(map(str, targets)))) + "\n")
    write_atomically(Path(path), "".join(lines).encode())


def functions_of(examples: Iterable[Example]) -> Functions:
    """The tables, from the rows that apply a single one."""
    functions: Functions = {}
    for row in examples:
        if len(row.inputs) == 3:
            string, table, _ = row.inputs
            known = functions.setdefault(table, {}).setdefault(string, row.outputs[1])
            if known != row.outputs[1]:
                raise UsageError(f"The table {table!r} gives both {known!r} and {row.outputs[1]!r} for {string!r}.")
    if not functions:
        raise UsageError("No row applies a single table, so the tables are unknown. Expected rows such as '010 t1 .'.")
    check_bijections(functions)
    return functions


def _row(line: str, where: str) -> Example:
    columns = line.split("\t")
    if len(columns) != 3:
        raise UsageError(
            f"{where}: expected 3 columns with tabs between (inputs, outputs, attention targets). "
            f"Found {len(columns)}: {line!r}."
        )
    inputs, outputs, targets = (tuple(column.split(" ")) for column in columns)
    _check_inputs(inputs, where)
    if len(outputs) != len(inputs) - 1:
        raise UsageError(
            f"{where}: expected {len(inputs) - 1} outputs for {columns[0]!r}, the input and one per table. "
            f"Found {len(outputs)}: {columns[1]!r}."
        )
    for symbol in outputs:
        if not re.fullmatch(f"[01]{{{len(inputs[0])}}}", symbol):
            raise UsageError(f"{where}: expected outputs of {len(inputs[0])} bits. Found {symbol!r}.")
    return Example(inputs, outputs, _attention(targets, len(inputs), where))


def _check_inputs(inputs: tuple[str, ...], where: str) -> None:
    if len(inputs) < 3:
        raise UsageError(f"{where}: expected a bit string, one or more tables and {END!r}. Found {' '.join(inputs)!r}.")
    bits, *tables, end = inputs
    expected = [
        (bits, "[01]+", "a bit string first"),
        *((table, "t[0-9]+", "a table (t1, t2, ...)") for table in tables),
    ]
    for symbol, pattern, what in (*expected, (end, re.escape(END), f"{END!r} at the end of the inputs")):
        if not re.fullmatch(pattern, symbol):
            raise UsageError(f"{where}: expected {what}. Found {symbol!r}.")


def _attention(targets: tuple[str, ...], inputs: int, where: str) -> tuple[int, ...]:
    outputs = inputs - 1
    if len(targets) not in (outputs, outputs + 1):
        raise UsageError(
            f"{where}: expected {outputs} attention targets, one per output, or one more for an end symbol. "
            f"Found {len(targets)}: {' '.join(targets)!r}."
        )
    for target in targets:
        if not re.fullmatch("-?[0-9]+", target):
            raise UsageError(f"{where}: expected whole numbers as attention targets. Found {target!r}.")
        if not IGNORED <= int(target) < inputs:
            raise UsageError(
                f"{where}: expected attention targets from 0 to {inputs - 1}, the positions of the inputs, or "
                f"{IGNORED} for none. Found {target}."
            )
    return tuple(int(target) for target in targets[:outputs])
