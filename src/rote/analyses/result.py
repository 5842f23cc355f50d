"""What every analysis returns: a frozen dataclass of labelled arrays with a table, a figure, and a file form."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from rote.errors import DamagedFileError
from rote.registry import Registry
from rote.store import Table, load_tree, save_tree


@dataclasses.dataclass(frozen=True, repr=False)
class Result(ABC):
    """``axes`` names the axes of each array; ``version`` is raised when the fields of the file form change."""

    axes: ClassVar[dict[str, tuple[str, ...]]]
    version: ClassVar[int] = 1

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
        save_tree(Path(path), f"rote {type(self).__name__}", self.version, self._to_tree())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """What ``save`` wrote. Nothing is unpickled."""
        tree = load_tree(Path(path), f"rote {cls.__name__}", cls.version)
        try:
            return cls._from_tree(tree)
        except (KeyError, TypeError) as error:
            raise DamagedFileError(f"{path} has other fields than {cls.__name__}: {error}.") from None

    def _to_tree(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def _from_tree(cls, tree: Mapping[str, Any]) -> Self:
        return cls(**tree)

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


class MeasuredLater(Result):
    """A result whose ``error`` is measured by ``error_of`` when it is first read, and stored with it."""

    error_of: Callable[[], Tensor]
    error: Any

    def _to_tree(self) -> dict[str, Any]:
        tree = super()._to_tree()
        del tree["error_of"]
        return {**tree, "error": self.error}

    @classmethod
    def _from_tree(cls, tree: Mapping[str, Any]) -> Self:
        error = tree["error"]
        fields = {name: value for name, value in tree.items() if name != "error"}
        return cls(**fields | {"error_of": lambda: error})


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
