"""Named things (tasks, cells, analyses, studies), one file each, found without importing them.

A package owns a registry; a file of that package adds an entry with the decorator:

    # rote/tasks/plane.py
    @tasks.register("plane")
    class PlaneTask:
        '''One line that `rote list tasks` prints.'''

The names and lines of a package's own files are read from their source text, so that listing them imports neither
them nor torch. ``registry["plane"]`` imports the one file that holds it. Entries from outside the package (a user's
own task) are there as soon as the module that registers them has been imported.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

from rote.errors import UnknownNameError

T = TypeVar("T")
E = TypeVar("E")


@dataclass(frozen=True)
class Entry:
    name: str
    description: str
    module: str


class Registry(Mapping[str, T], Generic[T]):
    def __init__(self, kind: str, package: str) -> None:
        self.kind, self.package = kind, package
        self._loaded: dict[str, T] = {}
        self._entries: dict[str, Entry] | None = None
        self._registered: dict[str, Entry] = {}

    def register(self, name: str) -> Callable[[E], E]:
        """Decorator that enters a class or function under ``name``; a second entry of that name is refused."""

        def add(thing: E) -> E:
            # A class or function; read through getattr because E is deliberately unconstrained.
            module = str(getattr(thing, "__module__", "?"))
            earlier = self._registered.get(name) or self._found().get(name)
            if earlier is not None and earlier.module != module:
                raise ValueError(f"The {self.kind} {name!r} of {module} is already registered by {earlier.module}.")
            self._loaded[name] = cast(T, thing)
            self._registered[name] = Entry(name, _first_line(getattr(thing, "__doc__", None)), module)
            return thing

        return add

    def entries(self) -> list[Entry]:
        """Every entry with its one-line description, by name."""
        return [entry for _, entry in sorted({**self._found(), **self._registered}.items())]

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            found = self._found().get(name)
            if found is None:
                raise UnknownNameError(self.kind, name, self)
            importlib.import_module(found.module)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({**self._found(), **self._registered}))

    def __len__(self) -> int:
        return len({**self._found(), **self._registered})

    def __contains__(self, name: object) -> bool:
        return name in self._registered or name in self._found()

    def _found(self) -> dict[str, Entry]:
        if self._entries is None:
            self._entries = {}
            for entry in _entries_in_sources(self.package):
                if entry.name in self._entries:
                    first = self._entries[entry.name].module
                    raise ValueError(
                        f"The {self.kind} {entry.name!r} is registered by both {first} and {entry.module}."
                    )
                self._entries[entry.name] = entry
        return self._entries


def _entries_in_sources(package: str) -> Iterator[Entry]:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if ".register(" not in source:
                continue
            inner = path.relative_to(folder).with_suffix("").parts
            module = ".".join((package, *(part for part in inner if part != "__init__")))
            for node in ast.parse(source).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef):
                    for decorator in node.decorator_list:
                        name = _registered_name(decorator)
                        if name is not None:
                            yield Entry(name, _first_line(ast.get_docstring(node)), module)


def _registered_name(decorator: ast.expr) -> str | None:
    match decorator:
        case ast.Call(func=ast.Attribute(attr="register"), args=[ast.Constant(value=str(name))]):
            return name
    return None


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n", 1)[0]
