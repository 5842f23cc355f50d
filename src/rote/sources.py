"""The text of modules from outside the package, as it was when they were imported.

A module's text is read the first time that anybody asks, which is when it registers something, and again when it is
executed again. Edits of the file in between take no effect on what is imported, and none here.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import Any

MAIN = "__main__"
ALIAS = "__rote_main__"  # the name of a script in a worker, where what stands below its main guard must not run
INSTALLED = {"site-packages", "dist-packages"}
STANDARD = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))


@dataclass(frozen=True)
class Source:
    module: str  # the name under which a worker imports it
    file: str
    text: str

    @property
    def label(self) -> str:
        return Path(self.file).name if self.module == ALIAS else self.module

    @cached_property
    def digest(self) -> str:
        return digest_of(self.text.encode())


@dataclass(frozen=True)
class Module:
    """A user's module."""

    spec: ModuleSpec | None  # another one once it was reloaded
    file: str
    source: Source | None  # None: it is compiled
    digest: str
    follows: tuple[str, ...]  # what it imports, as far as that is the user's too
    guarded: bool  # whether what it does as a script stands below a main guard


_known: dict[str, Module] = {}


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_outside(module: str) -> bool:
    return module.partition(".")[0] != "rote"


def reached_from(name: str) -> dict[str, Module]:
    """The user's modules that importing this one imports, itself first; none if it has no file.

    Import statements are followed, wherever they stand. Not followed are the standard library, installed packages
    (other than the one that the module belongs to) and names that are computed, as in ``import_module(name)``.
    """
    found: dict[str, Module] = {}
    waiting = [name]
    while waiting:
        name = waiting.pop()
        if name not in found and (module := _module(name)) is not None:
            found[name] = module
            waiting += module.follows
    return found


def forget(name: str) -> None:
    """The module is being executed again."""
    _known.pop(name, None)


def _module(name: str) -> Module | None:
    known, loaded = _known.get(name), sys.modules.get(name)
    if known is not None and (loaded is None or known.spec is getattr(loaded, "__spec__", None)):
        return known
    spec, file = _located(name)
    if file is None or not is_outside(name) or _is_standard(file):
        return None
    _known[name] = _read(name, spec, os.path.abspath(file))
    return _known[name]


def _read(name: str, spec: ModuleSpec | None, file: str) -> Module:
    loader: Any = spec.loader if spec else None
    if isinstance(loader, SourceFileLoader):  # in a worker, of what it was sent
        text = loader.get_source(loader.name)
    else:
        written = file.endswith(".py") or name == MAIN  # a script may be called anything
        text = importlib.util.decode_source(Path(file).read_bytes()) if written else None
    if text is None:
        return Module(spec, file, None, digest_of(Path(file).read_bytes()), (), guarded=True)
    called = name if name != MAIN else spec.name if spec else ALIAS
    tree = ast.Module([], [])
    with contextlib.suppress(SyntaxError):  # which whoever imports it will be told
        tree = ast.parse(text)
    named = [*_with_parents(called), *_imported(tree, spec.parent if spec else None)]
    follows = dict.fromkeys(one for one in named if one not in (name, called) and is_users(one, called))
    source = Source(called, file, text)
    return Module(spec, file, source, source.digest, tuple(follows), any(map(is_main_guard, tree.body)))


def _imported(tree: ast.Module, package: str | None) -> Iterator[str]:
    """The names of all modules that it imports, and names that may be one: ``from package import name``."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for one in names:
                    yield from _with_parents(one.name)
            case ast.ImportFrom(module=module, names=names, level=level):
                with contextlib.suppress(ImportError):  # beyond the top, as whoever executes it will be told
                    base = importlib.util.resolve_name("." * level + (module or ""), package)
                    yield from _with_parents(base)
                    yield from (f"{base}.{one.name}" for one in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield from _with_parents(name)


def _with_parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def is_users(name: str, importer: str = "") -> bool:
    """Whether a module is neither ours nor standard nor installed, unless together with the one that imports it."""
    file = _located(name)[1] if is_outside(name) else None
    if file is None or _is_standard(file):
        return False
    return name.partition(".")[0] == importer.partition(".")[0] or not INSTALLED & set(Path(file).parts)


def _is_standard(file: str) -> bool:
    path = os.path.realpath(file)
    return path.startswith(STANDARD) and not INSTALLED & set(Path(path).parts)


def _located(name: str) -> tuple[ModuleSpec | None, str | None]:
    loaded = sys.modules.get(name)
    spec = _find(name) if loaded is None else getattr(loaded, "__spec__", None)
    file = getattr(loaded, "__file__", None) or (spec.origin if spec and spec.has_location else None)
    there = file is not None and (os.path.isfile(file) or isinstance(spec and spec.loader, SourceFileLoader))
    return spec, file if there else None  # such as <stdin>


def _find(name: str) -> ModuleSpec | None:
    """As an import would, but without importing the packages above it."""
    above, path = name.rpartition(".")[0], None
    if above:
        spec = _located(above)[0]
        path = spec.submodule_search_locations if spec else None
        if path is None:
            return None
    found = (finder.find_spec(name, path) for finder in sys.meta_path if hasattr(finder, "find_spec"))
    return next((spec for spec in found if spec is not None), None)


def is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            return {ast.unparse(left), ast.unparse(right)} == {"__name__", repr(MAIN)}
    return False
