"""Examples in docstrings are run, and every function that ``import rote`` gives has one."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import rote

SOURCE = Path(rote.__file__).parent
MODULES = sorted(
    "rote." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
FUNCTIONS = [name for name in rote.__all__ if inspect.isfunction(getattr(rote, name))]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_print_what_they_say(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testmod(import_module(module))
    assert tried > 0
    assert failed == 0, capsys.readouterr().out


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_of_the_facade_shows_how_it_is_called(function: str) -> None:
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(getattr(rote, function)) or "")
    assert any(f"rote.{function}(" in example.source for example in examples), f"rote.{function} has no example"
