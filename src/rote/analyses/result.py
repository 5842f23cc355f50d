"""What every analysis returns: a frozen dataclass of labelled arrays with a table, a figure, and a file form."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from rote.errors import DamagedFileError
from rote.registry import Registry
from rote.store import Table, load_tree, save_tree

VERSION = 1


@dataclasses.dataclass(frozen=True, repr=False)
class Result(ABC):
    """``axes`` names the axes of each array."""

    axes: ClassVar[dict[str, tuple[str, ...]]]

    @abstractmethod
    def to_table(self) -> Table:
        """Tidy rows: one number per row with its labels."""

    def figure(self) -> Any:
        """The figure of ``to_table()``: an Altair chart with its data; shows itself in a notebook."""
        from rote.figures import draw

        return draw(self.to_table())

    def picture(self) -> str:
        """The figure as an HTML image, which needs no script and no network."""
        from rote.figures import still

        return still(self.figure())

    def save(self, path: Path | str) -> None:
        """Write ``<path>.safetensors`` and ``<path>.json``."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        save_tree(Path(path), f"rote {type(self).__name__}", VERSION, fields)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """What ``save`` wrote. Nothing is unpickled."""
        fields = load_tree(Path(path), f"rote {cls.__name__}", VERSION)
        try:
            return cls(**fields)
        except TypeError as error:
            raise DamagedFileError(f"{path} has other fields than {cls.__name__}: {error}.") from None

    def __repr__(self) -> str:
        shown = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            names = self.axes.get(field.name, ())
            if isinstance(value, Tensor):
                labelled = ", ".join(f"{axis}={size}" for axis, size in zip(names, value.shape, strict=False))
                shown.append(f"{field.name}[{labelled}]")
            elif isinstance(value, dict):
                shown.append(f"{field.name}({', '.join(map(str, value))})")
            elif isinstance(value, str | int | float | bool):
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def rows_of(values: Tensor, axes: tuple[str, ...], name: str, mask: Tensor | None = None) -> list[dict[str, Any]]:
    """One row per number of an array: its index on each axis and its value; only where ``mask`` is true."""
    kept = torch.ones_like(values, dtype=torch.bool) if mask is None else mask.expand_as(values)
    index = kept.nonzero()
    numbers = values[kept].tolist()
    return [
        {**dict(zip(axes, place, strict=True)), name: value}
        for place, value in zip(index.tolist(), numbers, strict=True)
    ]


analyses: Registry[Any] = Registry("analysis", "rote.analyses")
