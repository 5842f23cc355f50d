"""What every analysis must keep: a labelled, frozen, storable result, and a model that is as it was."""

from __future__ import annotations

import dataclasses
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from rote.analyses import Result
from rote.store import Table
from rote.testing.untouched import interrupted, untouched


def check_analysis(function: Callable[..., Result], model: Any, *arguments: Any, **options: Any) -> Result:
    """Calls ``function(model, *arguments, **options)`` several times; gives its result for further checks."""
    modules = [model] if isinstance(model, nn.Module) else []

    def run() -> Result:
        return function(model, *arguments, **options)

    with untouched(*modules):
        result, again = run(), run()
        _frozen(result)
        _axes(result)
        _table(result.to_table())
        _figure(result)
        _round_trip(result)
    difference = _difference(result, again)
    assert not difference, f"Two calls give different results: {difference}."
    text = repr(result)
    assert text.startswith(type(result).__name__), f"The repr must begin with the class. Got {text[:80]!r}."
    assert len(text) < 2000, f"The repr is {len(text)} characters long: name the arrays, do not print them."
    assert "tensor(" not in text, f"The repr prints an array: {text[:200]!r}."
    interrupted(run, *modules)
    return result


def _frozen(result: Any) -> None:
    kind = type(result).__name__
    assert isinstance(result, Result), f"An analysis must return a rote.analyses.Result. Got {kind}."
    assert dataclasses.is_dataclass(result), f"{kind} must be a dataclass."
    field = dataclasses.fields(result)[0].name
    try:
        setattr(result, field, getattr(result, field))
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError(f"{kind} must be frozen: its {field!r} could be set.")


def _axes(result: Result) -> None:
    """Every array has named axes, and an axis has one length throughout."""
    sizes: dict[str, int] = {}
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        if not isinstance(value, Tensor):
            continue
        names = type(result).axes.get(field.name)
        assert names is not None, f"{type(result).__name__}.axes does not name the axes of {field.name!r}."
        assert len(names) == value.dim(), (
            f"The axes of {field.name!r} are {names}, but it has the shape {tuple(value.shape)}."
        )
        for name, size in zip(names, value.shape, strict=True):
            assert sizes.setdefault(name, size) == size, f"The axis {name!r} is both {sizes[name]} and {size} long."


def _table(table: Any) -> None:
    assert isinstance(table, Table), f"to_table() must give a rote.store.Table. Got {type(table).__name__}."
    assert table.columns, f"The table {table.name!r} has no columns."
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names), f"The table {table.name!r} has two columns of one name: {names}."
    labels = [index for index, column in enumerate(table.columns) if column.role == "label"]
    assert len(labels) < len(names), f"The table {table.name!r} has labels but no numbers."
    seen = set()
    for row in table.rows:
        assert len(row) == len(names), f"A row of {table.name!r} has {len(row)} cells for {len(names)} columns."
        for name, cell in zip(names, row, strict=True):
            assert cell is None or isinstance(cell, str | int | float), (
                f"{name!r} of the table {table.name!r} must hold plain values. Got {type(cell).__name__}."
            )
        key = tuple(row[index] for index in labels)
        assert not labels or key not in seen, f"The table {table.name!r} is not tidy: two rows are labelled {key}."
        seen.add(key)
    assert Table.from_plain(table.to_plain()) == table, f"The table {table.name!r} does not survive being stored."


def _figure(result: Result) -> None:
    assert "vocabulary" in inspect.signature(result.figure).parameters, (
        f"figure() of {type(result).__name__} must take the vocabulary, as every result's does."
    )
    if not result.to_table().rows:
        return
    spec = result.figure().spec()
    assert "$schema" in spec, "figure() must give a Vega-Lite chart."
    assert spec == result.figure().spec(), "figure() draws differently the second time."


def _round_trip(result: Result) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "result")
        loaded = type(result).load(Path(folder) / "result")
    difference = _difference(result, loaded)
    assert not difference, f"save() and load() change the result: {difference}."


def _difference(one: Result, other: Result) -> str:
    """Where two results differ, or nothing. Functions (what is measured later) are not compared."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if not callable(a) and not _equal(a, b):
            return f"{field.name} is {_short(a)} and {_short(b)}"
    return ""


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        return isinstance(b, Tensor) and a.dtype == b.dtype and a.shape == b.shape and _same_values(a, b)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and bool(a == b or a != a)


def _same_values(a: Tensor, b: Tensor) -> bool:
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _short(value: Any) -> str:
    text = f"an array {tuple(value.shape)} of {value.dtype}" if isinstance(value, Tensor) else repr(value)
    return text if len(text) < 200 else f"{text[:200]}..."
