"""Each package's façade: what it promises exists, in order, and nothing else is public; importing it stays cheap."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType

import pytest
from jaxtyping import TypeCheckError

import rote
from rote.analyses import analyses
from rote.cells import Cell, LSTMCell, Recurrent
from rote.errors import UnknownNameError

SOURCE = Path(rote.__file__).parent
PACKAGES = ["rote", *(f"rote.{found.name}" for found in pkgutil.iter_modules([str(SOURCE)]) if found.ispkg)]
WITHOUT_TORCH = (
    "rote.chalk",
    "rote.store",
    "rote.tasks",
    "rote.claims",
    "rote.figures",
    "rote.report",
    "rote.models",
    "rote.training",
)


def reading_order(name: str) -> tuple[int, list[str | int]]:
    """CONSTANTS, Classes, functions; digits as numbers. The order that ruff keeps."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_facade_can_be_imported_and_stands_in_order(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__doc__, f"{package} does not say what it is"
    names = list(module.__all__)
    assert names == sorted(set(names), key=reading_order)
    for name in names:
        found = getattr(module, name)
        assert not isinstance(found, ModuleType), f"{package}.{name} is a module: a file of that name hides it"


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_of_a_packages_own_is_public_by_accident(package: str) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        getattr(module, name)
    own = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and str(getattr(value, "__module__", "")).startswith(f"{package}.")
    }
    assert own <= set(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_lazy_facade_tells_type_checkers_the_same_names(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    declared = {
        alias.asname or alias.name
        for block in tree.body
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("rote")
        for alias in statement.names
    }
    assert declared in (set(), set(module.__all__))


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    for package in ("rote", "rote.models", "rote.training"):
        with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
            importlib.import_module(package).nothing  # noqa: B018


def test_importing_rote_and_what_needs_no_torch_does_not_import_torch() -> None:
    script = f"import sys, rote\nassert 'torch' not in sys.modules, 'rote'\nfor name in {WITHOUT_TORCH}:\n"
    script += "    __import__(name)\n    assert 'torch' not in sys.modules, name\n"
    script += "from rote.laboratory import studies\nfor name in studies:\n    studies[name]\n"
    script += "    assert 'torch' not in sys.modules, name\n"  # what is claimed is read without it
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rote_is_marked_as_typed() -> None:
    assert resources.files("rote").joinpath("py.typed").is_file()


def test_the_shapes_in_signatures_are_checked_in_this_run() -> None:
    """If the hook of tests/shapes.py did not work, every other test would pass all the same."""
    import torch

    from rote.analyses import Interdependence
    from rote.cells import mask_of

    with pytest.raises(TypeCheckError, match="mask_of"):
        mask_of(torch.ones(2, 1, dtype=torch.long), 3)
    mask = torch.zeros(1, 2, 3, dtype=torch.bool)
    with pytest.raises(TypeCheckError, match="values"):
        Interdependence(torch.zeros(2), mask, mask, torch.ones(1, 2))
    with pytest.raises(TypeCheckError, match="second"):
        Interdependence(torch.zeros(1, 2, 3), mask, mask[:, :1], torch.ones(1, 2))


def test_no_public_function_hides_its_arguments() -> None:
    """``**options`` tells neither a reader nor an editor what can be given."""
    hidden = []
    for package in ("rote", "rote.analyses", "rote.cells", "rote.models"):
        module = importlib.import_module(package)
        for name in module.__all__:
            found = getattr(module, name)
            if not inspect.isfunction(found) and not (inspect.isclass(found) and issubclass(found, Cell)):
                continue
            if inspect.isabstract(found):  # a kind of cell says its options, not what all kinds have in common
                continue
            parameters = inspect.signature(found).parameters.values()
            hidden += [f"{package}.{name}" for parameter in parameters if parameter.kind is parameter.VAR_KEYWORD]
    assert not hidden
    assert list(inspect.signature(LSTMCell).parameters) == [
        "input_size", "hidden_size", "biases", "initialization", "weights", "proj_size",
    ]  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"Unknown option 'proj' of LSTMCell. Did you mean 'proj_size'\?"):
        LSTMCell(2, 3, proj=1)
    with pytest.raises(UnknownNameError, match=r"Unknown option 'depth' of GRUCell. Known: reset"):
        Recurrent("gru", 2, 3, depth=2)


def test_lengths_are_given_by_name() -> None:
    """Beside tokens and targets a third tensor is easily taken for another."""
    taking = [name for name in analyses if "lengths" in inspect.signature(analyses[name]).parameters]
    assert "trace" in taking
    for name in taking:
        kind = inspect.signature(analyses[name]).parameters["lengths"].kind
        assert kind is inspect.Parameter.KEYWORD_ONLY, name


def test_what_changes_models_is_public_but_no_analysis() -> None:
    for name in ("prune", "substitute"):
        assert name not in analyses
        assert name in rote.__all__
