"""Named things (tasks, cells, analyses, studies), one file each, found without importing them.

A package owns a registry; a file of that package adds an entry with the decorator:

    # rote/tasks/plane.py
    @tasks.register("plane")
    class PlaneTask:
        '''One line that `rote list tasks` prints.'''

The names and lines of a package's own files are read from their source text, so that listing them imports neither
them nor torch. ``registry["plane"]`` imports the one file that holds it. Entries from outside the package (a user's
own task) are there as soon as the module that registers them has been imported; those of installed plugins are imported
when all entries are asked for, or a name that is not the package's.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar, cast

from rote.errors import UnknownNameError
from rote.outside import Origin
from rote.plugins import load_installed
from rote.sources import forget, is_outside, reached_from

T = TypeVar("T")
E = TypeVar("E")


@dataclass(frozen=True)
class Entry:
    name: str
    description: str
    module: str
    outside: tuple[str, ...] = field(default=(), compare=False)  # the modules outside the package that it comes from
    file: str = field(default="", compare=False)  # that registered it, if it comes from there


_registries: list[Registry[Any]] = []  # that have entries from outside


def all_outside() -> list[Entry]:
    """Everything that users have registered."""
    return [entry for registry in _registries for entry in registry._registered.values() if entry.outside]


def registered_outside(names: Collection[str]) -> list[Origin]:
    """What the user has registered under any of these names."""
    return [origin for registry in _registries for origin in registry.origins(names)]


class Registry(Mapping[str, T], Generic[T]):
    def __init__(self, kind: str, package: str, name: str = "", *others: str) -> None:
        """``name``: what the registry is called where it is used as a decorator; by default as its package. ``others``:
        packages that have entries too."""
        self.kind, self.packages, self.name = kind, (package, *others), name or package.rsplit(".", 1)[-1]
        self._loaded: dict[str, T] = {}
        self._entries: dict[str, Entry] | None = None
        self._registered: dict[str, Entry] = {}

    def register(self, name: str) -> Callable[[E], E]:
        """Decorator that enters a class or function under ``name``; a second entry of that name is refused."""

        def add(thing: E) -> E:
            # A class or function; read through getattr because E is deliberately unconstrained.
            module = str(getattr(thing, "__module__", "?"))
            own = module.startswith(
                tuple(f"{one}." for one in self.packages)
            )  # two of those are told apart when they are listed
            earlier = self._registered.get(name) or (None if own else self._found().get(name))
            if earlier is not None and earlier.module != module:
                raise ValueError(f"The {self.kind} {name!r} of {module} is already registered by {earlier.module}.")
            frame, about = sys._getframe(1), _first_line(getattr(thing, "__doc__", None))
            outside = self._outside(module, frame, again=name in self._registered)
            self._loaded[name] = cast(T, thing)
            self._registered[name] = Entry(name, about, module, outside, frame.f_code.co_filename)
            return thing

        return add

    def _outside(self, module: str, frame: FrameType, *, again: bool) -> tuple[str, ...]:
        """The modules outside the package that something comes from, and their texts read: they are being imported."""
        registers = str(frame.f_globals.get("__name__"))
        # What is registered by a function is so when the module that it is from is imported, or calls that function.
        both = (module, registers) if frame.f_code.co_name == "<module>" or not is_outside(module) else (module,)
        found = tuple(dict.fromkeys(one for one in both if is_outside(one)))
        for one in found:
            if again:
                forget(one)
            reached_from(one)
        if found and not any(registry is self for registry in _registries):
            _registries.append(self)
        return found

    def origins(self, names: Collection[str]) -> list[Origin]:
        """Of those of these names that are from outside the package."""
        entries = [entry for name, entry in self._registered.items() if name in names]
        return [
            Origin(entry.name, self._loaded[entry.name], one, entry.file) for entry in entries for one in entry.outside
        ]

    def entries(self) -> list[Entry]:
        """Every entry with its one-line description, by name."""
        load_installed()
        return [entry for _, entry in sorted({**self._found(), **self._registered}.items())]

    def __getitem__(self, name: str) -> T:
        if name not in self:
            raise UnknownNameError(self.kind, name, self)
        if name not in self._loaded:
            importlib.import_module(self._found()[name].module)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter([entry.name for entry in self.entries()])

    def __len__(self) -> int:
        return len(self.entries())

    def __contains__(self, name: object) -> bool:
        if name not in self._registered and name not in self._found():
            load_installed()
        return name in self._registered or name in self._found()

    def _found(self) -> dict[str, Entry]:
        if self._entries is None:
            self._entries = {}
            for entry in (entry for one in self.packages for entry in _entries_in_sources(one, self.name)):
                if entry.name in self._entries:
                    first = self._entries[entry.name].module
                    raise ValueError(
                        f"The {self.kind} {entry.name!r} is registered by both {first} and {entry.module}."
                    )
                self._entries[entry.name] = entry
        return self._entries


def _entries_in_sources(package: str, registry: str) -> Iterator[Entry]:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if f"{registry}.register(" not in source:
                continue
            inner = path.relative_to(folder).with_suffix("").parts
            module = ".".join((package, *(part for part in inner if part != "__init__")))
            for node in ast.parse(source).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    for decorator in node.decorator_list:
                        name = _registered_name(decorator, registry)
                        if name is not None:
                            yield Entry(name, _first_line(ast.get_docstring(node)), module)


def _registered_name(decorator: ast.expr, registry: str) -> str | None:
    match decorator:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=used), attr="register"), args=[ast.Constant(value=str(name))]
        ) if used == registry:
            return name
    return None


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n", 1)[0]
