"""Modules of users: those that are named on the command line, and those of installed packages.

A package announces its own in ``pyproject.toml``, and they are found without being named:

    [project.entry-points."rote.plugins"]
    cells = "acme.cells"
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from rote.errors import UsageError

GROUP = "rote.plugins"
_begun = False


def load_installed() -> None:
    """Import the modules that installed packages announce; once. One that fails is told, and hinders nothing else."""
    global _begun
    if _begun:
        return
    from importlib.metadata import entry_points  # which takes a while

    _begun = True  # before they are imported: they ask for names themselves
    for point in entry_points(group=GROUP):
        try:
            importlib.import_module(point.module)
        except Exception as error:
            told = " ".join(str(error).split())
            warnings.warn(
                f"The plugin {point.name!r} ({point.module}) cannot be imported: {type(error).__name__}: {told}",
                stacklevel=2,
            )


def load(names: Sequence[str]) -> list[str]:
    """Import files (``cells.py``, a package's folder) and modules (``acme.cells``), in this order; returns their names.

    Of a folder with files only those that are named are imported: to let ``cells.py`` import ``helpers.py`` beside it,
    name both, ``helpers.py`` first.
    """
    return [_load_file(Path(name)) if _is_file(name) else _load_module(name) for name in names]


def _is_file(name: str) -> bool:
    return name.endswith(".py") or os.sep in name or Path(name, "__init__.py").exists()


def _load_file(path: Path) -> str:
    file, name = (path / "__init__.py", path.resolve().name) if path.is_dir() else (path, path.stem)
    if not file.is_file():
        raise UsageError(f"'--import' names the file {file}, which does not exist.")
    if not name.isidentifier():
        raise UsageError(f"'--import' names {path}, but {name!r} cannot be the name of a module. Rename the file.")
    there = sys.modules.get(name)
    found = importlib.util.find_spec(name) if there is None else there.__spec__
    if found is not None and (found.origin is None or Path(found.origin).resolve() != file.resolve()):
        raise UsageError(f"'--import' names {path}, but another module is called {name!r}. Rename the file.")
    if there is None:
        spec = found or importlib.util.spec_from_file_location(name, file.resolve())
        assert spec is not None
        loader = spec.loader
        assert loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        try:
            _told(str(path), lambda: loader.exec_module(module))
        except BaseException:
            del sys.modules[name]
            raise
    return name


def _load_module(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise UsageError(f"'--import' takes a file (cells.py) or a module (acme.cells). Got {name!r}.")
    _told(name, lambda: importlib.import_module(name))
    return name


def _told(named: str, importing: Callable[[], object]) -> None:
    """Import it, and tell in one line what is wrong with it."""
    try:
        importing()
    except ModuleNotFoundError as error:
        missing = error.name or "?"
        if missing.partition(".")[0] == named.partition(".")[0]:
            raise UsageError(
                f"'--import' names the module {named!r}, and {missing!r} is not installed. A file is named with its "
                f"ending: --import {named}.py"
            ) from None
        raise UsageError(
            f"'--import {named}' needs {missing!r}, which is not installed. A file is imported only if it is named, "
            f"before the one that needs it: --import {missing}.py --import {named}"
        ) from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((f" in line {frame.lineno}" for frame in reversed(frames) if frame.filename.endswith(named)), "")
        told = " ".join(str(error).split())
        raise UsageError(f"'--import {named}' fails{line}: {type(error).__name__}: {told}") from error
