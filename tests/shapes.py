"""Shapes in the signatures of Rote are checked while the tests run (jaxtyping and beartype), and only then."""

from __future__ import annotations

import builtins
import functools
import inspect
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
    jaxtyping.jaxtyped = functools.partial(wrapped, jaxtyping.jaxtyped)
    jaxtyping.install_import_hook(annotated_modules(), f"{__name__}.{beartype.__name__}")


def annotated_modules() -> list[str]:
    return [
        f"rote.{package}.{path.stem}"
        for package in PACKAGES
        for path in sorted((SOURCE / package).glob("*.py"))
        if "from jaxtyping import" in path.read_text(encoding="utf-8")
    ]


def wrapped(jaxtyped: Callable[..., Any], thing: Any = None, *, typechecker: Callable[..., Any]) -> Any:
    """``jaxtyped`` for functions and dataclasses that write a shape. Others it would also wrap, inner loops among them,
    whose calls then take longer than what they compute; and beartype cannot read every other annotation of ours."""
    if thing is None:
        return functools.partial(wrapped, jaxtyped, typechecker=typechecker)
    return jaxtyped(thing, typechecker=typechecker) if writes_a_shape(thing) else thing


def writes_a_shape(thing: Any) -> bool:
    function = thing.__init__ if inspect.isclass(thing) else getattr(thing, "__func__", thing)
    hints = getattr(function, "__annotations__", {}).values()
    return any("[Tensor, '" in str(hint) for hint in hints)
