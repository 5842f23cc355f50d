"""Which settings a study, its recipes and its measurements read while they plan, train, measure and tabulate.

Reading is watched on the classes of their settings. What only constructs, checks, compares, copies or stores settings
reads all of them and says nothing: it does not count.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rote.laboratory import Study, studies
from rote.recipes import Measurement, Recipe, measurements, recipes
from rote.store import Run

COPYING = ("dataclasses.py", "rote/config.py", "<string>")  # files of code that reads everything
CHECKING = ("__post_init__", "unused")
PLANNING = ("prepare", "tables")  # ``jobs`` hands settings on to runs, which have to read them


class Watch:
    """``planned``: by study, what it read before and after its runs, of the user's own configuration: dotted keys.
    ``performed``: by id of a run, class and field."""

    def __init__(self) -> None:
        self.planned: dict[str, set[str]] = {}
        self.performed: dict[str, set[str]] = {}
        self._own: dict[int, str] = {}  # id of a group of the user's configuration -> its prefix
        self._into: Any = None
        self._silent = 0

    def read(self, group: Any, name: str) -> None:
        if self._silent or self._into is None or sys._getframe(2).f_code.co_filename.endswith(COPYING):
            return
        if self._own:
            if id(group) in self._own:
                self._into.add(self._own[id(group)] + name)
        else:
            self._into.add(named(type(group), name))

    def write(self, path: Path) -> None:
        both = {"planned": self.planned, "performed": self.performed}
        path.write_text(json.dumps(both, default=sorted))

    @contextlib.contextmanager
    def planning(self, study: str, config: Any) -> Iterator[None]:
        earlier = self._own, self._into
        self._own, self._into = groups(config), self.planned.setdefault(study, set())
        try:
            yield
        finally:
            self._own, self._into = earlier

    @contextlib.contextmanager
    def performing(self, run: Run) -> Iterator[None]:
        forget()  # what an earlier run has read already would not be read again
        self._own, self._into = {}, self.performed.setdefault(run.request.id, set())
        try:
            yield
        finally:
            self._into = None

    @contextlib.contextmanager
    def silence(self) -> Iterator[None]:
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1


def forget() -> None:
    """Whatever our functions and methods remember of earlier calls with settings."""
    ours = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("rote.")]
    classes = {one for names in ours for one in list(names.values()) if isinstance(one, type)}
    for names in (*ours, *map(vars, classes)):
        for one in list(names.values()):
            if isinstance(one, functools._lru_cache_wrapper) and not takes_plain_values(one.__wrapped__):
                one.cache_clear()


def takes_plain_values(function: Any) -> bool:
    """Whether it cannot read a setting: who called it has read those that it is called with."""
    kinds = inspect.signature(function).parameters.values()
    return all(kind.annotation in ("int", "float", "str", "bool") for kind in kinds)


def groups(config: Any, prefix: str = "") -> dict[int, str]:
    found = {id(config): prefix}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            found |= groups(value, f"{prefix}{field.name}.")
    return found


def watch() -> Watch:
    """Watch all studies, recipes and measurements of this process."""
    made = Watch()
    performers = [*(recipes[name] for name in recipes), *(measurements[name] for name in measurements)]
    settings = [*(studies[name]().default for name in studies), *(kind() for kind in performers)]
    for kind in {kind for one in settings for kind in classes(one)}:
        _watch_class(made, kind)
    for name in studies:
        _watch_study(made, studies[name])
    for one in performers:
        _watch_performer(made, one)
    return made


def named(kind: type, name: str) -> str:
    return f"{kind.__qualname__}.{name}"


def classes(config: Any) -> set[type]:
    inner = [getattr(config, field.name) for field in dataclasses.fields(config)]
    below = [classes(value) for value in inner if dataclasses.is_dataclass(value)]
    return {kind for kind in type(config).__mro__ if dataclasses.is_dataclass(kind)}.union(*below)


def _watch_class(watch: Watch, kind: type) -> None:
    names = {field.name for field in dataclasses.fields(kind)}

    def read(self: Any, name: str) -> Any:
        if name in names:
            watch.read(self, name)
        return object.__getattribute__(self, name)

    kind.__getattribute__ = read  # type: ignore[assignment]
    for name in CHECKING:
        if name in vars(kind):
            setattr(kind, name, _silent(watch, vars(kind)[name]))


def _silent(watch: Watch, method: Any) -> Any:
    @functools.wraps(method)
    def silent(*given: Any) -> Any:
        with watch.silence():
            return method(*given)

    return silent


def _watch_study(watch: Watch, kind: type[Study[Any]]) -> None:
    def planning(method: Any) -> Any:
        def planned(self: Any, config: Any, *more: Any) -> Any:
            with watch.planning(self.name, config):
                return method(self, config, *more)

        return planned

    for name in PLANNING:
        setattr(kind, name, planning(getattr(kind, name)))


def _watch_performer(watch: Watch, kind: type[Recipe] | type[Measurement]) -> None:
    name = "fit" if issubclass(kind, Recipe) else "measure"
    method = getattr(kind, name)

    def performed(self: Any, trained: Any, run: Run, *more: Any) -> Any:
        with watch.performing(run):
            return method(self, trained, run, *more)

    setattr(kind, name, performed)
