"""Façades whose names are imported at first use, so that importing a package does not import torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``: ``modules`` says which module of ``package`` holds each public name."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return load
