"""A run that is wanted, with the runs that must be finished before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol

from rote.config import to_plain
from rote.errors import UsageError
from rote.outside import Code, Origin, code_of
from rote.registry import registered_outside
from rote.sources import is_outside
from rote.store import Request

TRAINING, MEASUREMENT = "training", "measurement"


@dataclass(frozen=True)
class Job:
    request: Request
    needs: tuple[Job, ...] = ()

    def all(self) -> Iterator[Job]:
        """The job and everything that it needs, what comes first in front."""
        for need in self.needs:
            yield from need.all()
        yield self


class Named(Protocol):
    """What a recipe, a measurement and a study have in common: a name and a version of what they compute."""

    name: ClassVar[str]
    version: ClassVar[int]


def job_of(thing: Named, part: str, seeds: Sequence[int], needs: Sequence[Job] = (), label: str = "") -> Job:
    """The job of a recipe or a measurement. Its identity is the thing's plain form, its version, the seeds, the runs
    that it needs, and the text of what it uses from outside the package."""
    if "__dataclass_params__" not in vars(type(thing)):  # its own fields would be no part of it
        raise UsageError(
            f"The class of the {part} {thing.name!r} must be a dataclass: write @dataclass(frozen=True) above it."
        )
    plain = to_plain(thing)
    request = Request(
        thing.name, thing.version, part, plain, tuple(seeds), label=label, code=code_used(thing, plain).hashes,
        uses=tuple(need.request.id for need in needs),
    )  # fmt: skip
    return Job(request, tuple(needs))


def code_used(thing: Named, plain: Mapping[str, Any]) -> Code:
    """What a run uses from outside the package: the thing itself, if it is from there, and what its settings name."""
    kinds = [kind for kind in _kinds(thing) if is_outside(kind.__module__)]
    own = [Origin(getattr(kind, "name", kind.__qualname__), kind, kind.__module__) for kind in kinds]
    return code_of([*own, *registered_outside(set(_texts(plain)))])


def _kinds(thing: object) -> Iterator[type]:
    """The classes of a setting and of all settings inside it."""
    if isinstance(thing, list | tuple | Mapping):
        for item in thing.values() if isinstance(thing, Mapping) else thing:
            yield from _kinds(item)
    elif is_dataclass(thing) and not isinstance(thing, type):
        yield type(thing)
        for one in fields(thing):
            yield from _kinds(getattr(thing, one.name))


def _texts(plain: object) -> Iterator[str]:
    """All texts in a configuration: names are among them."""
    if isinstance(plain, str):
        yield plain
    elif isinstance(plain, list | tuple | Mapping):
        for item in plain.values() if isinstance(plain, Mapping) else plain:
            yield from _texts(item)
