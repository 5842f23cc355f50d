"""What every analysis returns: a frozen dataclass of labelled arrays with a table, a figure, and a file form."""

from __future__ import annotations

import dataclasses
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor

from rote.errors import DamagedFileError, UsageError
from rote.models.architecture import Capability
from rote.registry import Registry
from rote.store import Table, load_tree, save_tree

SHAPE = re.compile(r"""\w+\[Tensor, ['"]([^'"]*)['"]\]""")  # of an annotation, as jaxtyping writes it
F = TypeVar("F", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True, repr=False)
class Result(ABC):
    """``axes`` names the axes of each array; ``version`` is raised when the fields of the file form change.

    The axes are read from the annotations of the fields: ``values: Float[Tensor, "batch unit"]``. A class names in
    ``axes`` only those of fields without such an annotation.
    """

    axes: ClassVar[dict[str, tuple[str, ...]]] = {}
    version: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inherited = [vars(base).get("axes", {}) for base in reversed(cls.__mro__[1:])]
        annotated = {name: SHAPE.search(str(kind)) for name, kind in inspect.get_annotations(cls).items()}
        written = {name: tuple(shape[1].split()) for name, shape in annotated.items() if shape is not None}
        cls.axes = {
            name: axes for some in (*inherited, written, vars(cls).get("axes", {})) for name, axes in some.items()
        }

    @abstractmethod
    def to_table(self) -> Table:
        """Tidy rows: one number per row with its labels."""

    def figure(self, vocabulary: Sequence[str] | None = None) -> Any:
        """The figure of ``to_table()``: an Altair chart with its data; shows itself in a notebook.

        vocabulary: the names of the tokens, in the order of their numbers. Every result takes it; a figure that shows
        no tokens is the same with it.
        """
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
        for field in sorted(dataclasses.fields(self), key=lambda field: bool(field.kw_only)):  # the class's own first
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


@dataclasses.dataclass(frozen=True, repr=False)
class OverTokens(Result):
    """A result along the steps of sequences: told the vocabulary, its figure has the tokens on its axes."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = {"tokens": ("batch", "time")}

    # In files from before there was this field, and where the inputs are vectors, it is None.
    tokens: Tensor | None = dataclasses.field(default=None, kw_only=True)

    def figure(self, vocabulary: Sequence[str] | None = None) -> Any:
        """The figure of ``to_table()``; ``vocabulary``: the names of the tokens, in the order of their numbers."""
        from rote.figures import draw

        table = self.to_table()
        if vocabulary is not None:
            names = token_names(self.tokens, vocabulary)
            table = dataclasses.replace(table, options={**table.options, "tokens": names})
        return draw(table)


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


def token_names(
    tokens: Tensor | None, vocabulary: Sequence[str], argument: str = "vocabulary", what: str = "tokens"
) -> list[list[str]]:
    """The name of every token [batch, time]; an error if the vocabulary cannot be the one of these tokens."""
    if tokens is None:
        raise UsageError(f"{argument!r} names {what}, but the inputs of this result are vectors. Leave it out.")
    if not isinstance(vocabulary, Sequence) or not all(isinstance(name, str) for name in vocabulary):
        remedy = " Say sorted(names, key=names.get)." if isinstance(vocabulary, Mapping) else ""
        raise UsageError(
            f"{argument!r} must be a list of names, in the order of the numbers of the {what}. "
            f"Got {type(vocabulary).__name__}.{remedy}"
        )
    if int(tokens.max()) >= len(vocabulary):
        raise UsageError(f"{argument!r} must name the {what} 0 to {int(tokens.max())}. Got {len(vocabulary)} names.")
    return [[vocabulary[number] for number in row] for row in tokens.tolist()]


def needs(capability: Capability | None) -> Callable[[F], F]:
    """Decorator that says what an analysis needs of a model, in its attribute ``needs``; None: only weights or samples.

    The analysis itself refuses a model that lacks it, with ``rote.models.capabilities.require``.
    """

    def declare(analysis: F) -> F:
        vars(analysis)["needs"] = capability
        return analysis

    return declare


analyses: Registry[Any] = Registry("analysis", "rote.analyses")
