"""Shapes in the signatures of Rote are checked while the tests run (jaxtyping and beartype), and only then."""

from __future__ import annotations

import builtins
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jaxtyping

# beartype draws which item of a list it looks at: not from the random state, which some tests watch.
with patch.object(random, "getrandbits", random.Random(0).getrandbits):
    from beartype import beartype

PACKAGES = ("analyses", "cells", "models")
SOURCE = Path(__file__).parents[1] / "src" / "rote"


def check_shapes() -> None:
    """Must be called before the modules are imported. Those that write no shapes (the inner loops) are left alone."""
    # The modules import these names for type checkers only, so that jaxtyping is no dependency of Rote. Here the
    # annotations are evaluated: a name that a module does not have is looked up among the built-in ones.
    for name in ("Bool", "Float", "Int", "Shaped"):
        setattr(builtins, name, getattr(jaxtyping, name))
    jaxtyping.install_import_hook(annotated_modules(), "shapes.checked")


def annotated_modules() -> list[str]:
    return [
        f"rote.{package}.{path.stem}"
        for package in PACKAGES
        for path in sorted((SOURCE / package).glob("*.py"))
        if "from jaxtyping import" in path.read_text(encoding="utf-8")
    ]


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``beartype`` for functions with a shape in their signature; it cannot read every other annotation of ours."""
    hints = getattr(function, "__annotations__", {}).values()
    return beartype(function) if any("[Tensor, '" in str(hint) for hint in hints) else function
