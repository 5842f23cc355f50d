"""What a run uses from outside the package: what tells its results apart, and what another process needs to compute it.

Results of the package's own code are told apart by the versions of its studies. What a user registers has no version
that anybody keeps, so its text, with that of what it uses, is part of a run's identity, and the modules are sent to
worker processes: what they compute is what the identity says, wherever they are and whatever happens to the files
meanwhile.

What was typed into a notebook or an interpreter is in no file that another process could load. Its identity is the text
that was typed, with that of the functions and classes that it uses and the values of its other names.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import json
import linecache
import os
import reprlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

from rote.errors import UsageError
from rote.slices import rests_on
from rote.sources import MAIN, Module, Source, digest_of, is_users, reached_from

REMEDY = "Put it into a file of its own, and import that."
PLAIN = (bool, int, float, complex, str, bytes, Path)
PLAIN_BY_NAME = ("numpy.dtype", "numpy.ufunc", "re.Pattern", "torch.device", "torch.dtype")  # not imported here
ALL = ""  # no name: the whole text of a module counts
NO_FILE = "<string>"  # what dataclasses write, and what python -c runs
OF_DATACLASSES = (NO_FILE, dataclasses.__file__, reprlib.__file__)  # reprlib: their __repr__, from Python 3.13 on


@dataclass(frozen=True)
class Origin:
    """Something from outside, and a module from which it comes."""

    name: str
    thing: object
    module: str
    file: str = ""  # where it was registered


@dataclass(frozen=True)
class Code:
    """All that a run uses from outside; nothing, for most."""

    hashes: dict[str, str] = field(default_factory=dict)  # module -> sha256 of its text, or of what is used of it
    sources: tuple[Source, ...] = ()
    imports: tuple[str, ...] = ()  # those of the sources that register something
    stays: str = ""  # why no other process can have it, and what to do

    def __or__(self, other: Code) -> Code:
        """What two use together."""
        sources = {source.module: source for source in (*self.sources, *other.sources)}
        imports = dict.fromkeys((*self.imports, *other.imports))
        stays = dict.fromkeys(filter(None, (self.stays, other.stays)))
        return Code(self.hashes | other.hashes, tuple(sources.values()), tuple(imports), " ".join(stays))

    def to_plain(self, known: Collection[str] = ()) -> dict[str, Any]:
        """What a process needs of it that knows these modules already."""
        unknown = [source for source in self.sources if source.module not in known]
        sources = [[source.module, source.file, source.text] for source in unknown]
        return {"imports": list(self.imports), "sources": sources}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Code:
        return cls(sources=tuple(Source(*source) for source in plain["sources"]), imports=tuple(plain["imports"]))


def code_of(origins: Iterable[Origin]) -> Code:
    modules: dict[str, Module] = {}
    used: dict[str, set[str]] = {}  # what is used of each: names that it defines, or ALL
    imports: dict[str, None] = {}
    stays: dict[str, None] = {}
    session = _Session()
    for origin in origins:
        typed = _is_typed(origin.module, _file_of(origin.thing) or origin.file or None)
        reached = {} if typed else reached_from(origin.module)
        if not reached:
            stays[f"{origin.name!r} is not in a file that another process could load. {REMEDY}"] = None
            session.take(origin.name, origin.thing)
            continue
        modules |= reached
        first = next(iter(reached.values()))
        for module in reached.values():
            used.setdefault(module.file, set()).add(_defined_name(origin) if module is first else ALL)
        if origin.module == MAIN and not first.guarded:
            below = f'Put what it does below a line: if __name__ == "{MAIN}":'
            stays[f"{first.file} would run as a whole in every process that loads it. {below}"] = None
        elif first.source is not None:
            imports[first.source.module] = None
    for name in session.modules:
        modules |= (reached := reached_from(name))
        for module in reached.values():
            used.setdefault(module.file, set()).add(ALL)
    compiled = {name: module for name, module in modules.items() if module.source is None}
    stays |= dict.fromkeys(f"{module.file} is compiled and cannot be sent." for module in compiled.values())
    sources = tuple(module.source for module in modules.values() if module.source)
    hashes = {one.label: digest_of(rests_on(one.text, frozenset(used[one.file])).encode()) for one in sources}
    hashes |= {name: module.digest for name, module in compiled.items()} | session.hashes()
    return Code(hashes, sources, tuple(imports), " ".join(stays))


def _defined_name(origin: Origin) -> str:
    """The top-level name under which the module of something from outside defines it, if it does."""
    here = getattr(origin.thing, "__module__", None) == origin.module
    return str(getattr(origin.thing, "__qualname__", ALL)).partition(".")[0] if here else ALL


class _Session:
    """What was typed, followed from object to object."""

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}  # by file: what it defines, text
        self.values: list[tuple[str, object]] = []
        self.modules: dict[str, None] = {}  # the user's, that it uses
        self._seen: dict[int, tuple[str, object]] = {}

    def hashes(self) -> dict[str, str]:
        texts = enumerate(self.texts.values(), start=1)
        hashes = {f"input {number}: {name}": digest_of(text.encode()) for number, (name, text) in texts}
        values = {"values": digest_of(json.dumps(self.values).encode())} if self.values else {}
        return hashes | values

    def take(self, name: str, thing: object) -> None:
        """Of several things with one name each counts."""
        self.values.append((name, self.walk(thing, name)))

    def walk(self, thing: object, name: str) -> object:
        """Take in all that the value of a name depends on; returns plain data that differ when the value does."""
        kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
        if kind == "rote.registry.Registry":  # what is taken from it is named by the settings
            return kind
        if thing is None or (isinstance(thing, PLAIN) and not isinstance(thing, Enum)) or kind in PLAIN_BY_NAME:
            return f"{kind} {thing!r}"
        if id(thing) in self._seen:
            return self._seen[id(thing)][0]
        self._seen[id(thing)] = (f"object {len(self._seen)}", thing)  # kept: no other object gets its number
        return self._inside(thing, name)

    def _inside(self, thing: object, name: str) -> object:
        match thing:
            case ModuleType():
                self._use(thing.__name__)
            case type():
                return self._class(thing)
            case FunctionType():
                return self._function(thing)
            case BuiltinFunctionType():
                return [thing.__qualname__, self.walk(thing.__self__, name)]
            case MethodDescriptorType():
                return thing.__qualname__
            case MethodType():
                return self.walk((thing.__func__, thing.__self__), name)
            case staticmethod() | classmethod():
                return self.walk(thing.__func__, name)
            case property():
                return self.walk((thing.fget, thing.fset, thing.fdel), name)
            case functools.cached_property():
                return self.walk(thing.func, name)
            case functools.partial():
                return self.walk((thing.func, thing.args, thing.keywords), name)
            case list() | tuple():
                return [self.walk(item, f"{name}[{place}]") for place, item in enumerate(thing)]
            case set() | frozenset():
                return sorted(str(self.walk(item, name)) for item in thing)
            case Mapping():
                return [[str(self.walk(key, name)), self.walk(item, f"{name}[{key!r}]")] for key, item in thing.items()]
            case Enum():
                return [self.walk(type(thing), name), thing.name]
            case dataclasses.Field():
                return self.walk((thing.name, thing.default, thing.default_factory), name)
            case _ if thing is dataclasses.MISSING:
                return name
            case _ if dataclasses.is_dataclass(thing):
                values = {one.name: getattr(thing, one.name) for one in dataclasses.fields(thing)}
                return [self.walk(type(thing), name), self.walk(values, name)]
            case _:
                raise UsageError(
                    f"{name!r} is a {type(thing).__name__} of this session, whose contents cannot be part of what "
                    f"identifies a result. {REMEDY}"
                )
        return name

    def _class(self, thing: type) -> str:
        called, file = f"{thing.__module__}.{thing.__qualname__}", _file_of(thing)
        if not _is_typed(thing.__module__, file):
            self._use(thing.__module__)
            return called
        if file is not None:
            self._text(thing.__qualname__, file)
        for base in thing.__bases__:
            self.walk(base, base.__qualname__)
        fields = vars(thing).get("__dataclass_fields__")
        for name, value in vars(thing).items():
            if isinstance(value, FunctionType):
                kept = fields is None or value.__code__.co_filename not in OF_DATACLASSES
            else:
                method = isinstance(value, staticmethod | classmethod | property)
                kept = method or value is fields or not (name.startswith("__") or name == "_abc_impl")
            if kept:
                self.take(f"{thing.__qualname__}.{name}", value)
        return called

    def _function(self, thing: FunctionType) -> str:
        module, file = str(thing.__globals__.get("__name__")), thing.__code__.co_filename
        cells = zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=True)
        used = {name: _content(cell) for name, cell in cells}
        if _is_typed(module, file):
            self._text(thing.__qualname__, file)
            names = _globals_in(thing.__code__)
            used |= {name: thing.__globals__[name] for name in names if name in thing.__globals__}
            used[f"{thing.__qualname__}()"] = [thing.__defaults__, thing.__kwdefaults__]
        else:  # of a decorator, perhaps
            self._use(module)
            used = {name: value for name, value in used.items() if isinstance(value, FunctionType | type)}
        for name, value in used.items():
            self.take(name, value)
        return f"{module}.{thing.__qualname__}"

    def _text(self, name: str, file: str) -> None:
        if file in self.texts:
            return
        text = "".join(linecache.getlines(file))
        if not text:
            raise UsageError(
                f"The source of {name!r} is not known, so that its results could not be told from those of another "
                f"one. {REMEDY}"
            )
        self.texts[file] = (name, text)

    def _use(self, module: str) -> None:
        if is_users(module):
            self.modules[module] = None


def _is_typed(module: str, file: str | None) -> bool:
    """Whether what is defined in ``file`` under this module's name was typed, or made, in a session."""
    loaded = sys.modules.get(module)
    if module != MAIN:
        return getattr(loaded, "__spec__", None) is None
    script = getattr(loaded, "__file__", None) or ""
    return not os.path.isfile(script) or (file is not None and os.path.abspath(file) != os.path.abspath(script))


def _file_of(thing: object) -> str | None:
    """The file of a function, or of a class that has some."""
    functions = [thing] if isinstance(thing, FunctionType) else vars(thing).values() if isinstance(thing, type) else ()
    for one in functions:
        inner = getattr(one, "__func__", getattr(one, "fget", one))
        if isinstance(inner, FunctionType) and inner.__code__.co_filename != NO_FILE:
            return inner.__code__.co_filename
    return None


def _globals_in(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_in(constant)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None
