"""What every result must be able to do: be saved and loaded unchanged, make a table, and be drawn."""

import dataclasses
from pathlib import Path
from typing import Any

import torch

from rote.analyses import Result
from rote.figures import export
from rote.store import Table


def assert_survives_saving(result: Result, folder: Path) -> None:
    result.save(folder / "result")
    loaded = type(result).load(folder / "result")
    for field in dataclasses.fields(result):
        assert_same(getattr(loaded, field.name), getattr(result, field.name), field.name)
    assert repr(loaded) == repr(result)
    assert loaded.to_table() == result.to_table()


def assert_same(one: Any, other: Any, where: str) -> None:
    assert type(one) is type(other), where
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype, where
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key}]")
    else:
        assert one == other, where


def assert_draws(result: Result) -> str:
    """The figure as SVG, on both papers; its table goes through JSON unchanged, as a report would keep it."""
    table = result.to_table()
    assert table.rows
    plain = Table.from_plain(table.to_plain())
    assert plain.rows == table.rows
    drawn = export(result.figure(), "svg").decode()
    assert drawn.startswith("<svg")
    assert "NaN" not in drawn
    assert export(plain, "svg", on="dark").startswith(b"<svg")
    return drawn
