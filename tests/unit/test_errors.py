"""The error tree is what the command line turns into exit codes; messages are what a user acts on."""

from __future__ import annotations

import pytest

from rote import errors
from rote.errors import InterruptedRunError, RoteError, RunFailedError, StoreError, UnknownNameError, UsageError


@pytest.mark.parametrize(
    ("error", "code"), [(UsageError, 2), (StoreError, 1), (RunFailedError, 1), (InterruptedRunError, 130)]
)
def test_exit_code_of_a_kind_of_error_is_not_another_kinds(error: type[RoteError], code: int) -> None:
    assert error("x").exit_code == code


def test_every_error_is_caught_by_one_except_clause_and_keeps_the_exit_code_of_its_parent() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(kinds) >= 9
    for kind in kinds:
        assert issubclass(kind, RoteError)
        if kind is not RoteError and kind.__base__ is not RoteError:
            assert kind.exit_code == kind.__base__.exit_code


def test_the_tree_in_the_module_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert f"{name} " in errors.__doc__


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("plan", ["plane", "scan-jump"], "Unknown study 'plan'. Did you mean 'plane'?"),
        ("zzz", ["scan-jump", "plane"], "Unknown study 'zzz'. Known: plane, scan-jump."),
        ("zzz", [], "Unknown study 'zzz'. Known: none yet."),
        ("", ["plane"], "Unknown study ''. Known: plane."),
    ],
)
def test_unknown_name_suggests_the_nearest_or_lists_all_but_never_neither(
    name: str, known: list[str], expected: str
) -> None:
    error = UnknownNameError("study", name, known)
    assert str(error) == expected
    assert (error.kind, error.name, error.known) == ("study", name, sorted(known))


def test_unknown_name_accepts_an_iterator_that_can_be_read_once() -> None:
    assert "Did you mean 'plane'?" in str(UnknownNameError("study", "plan", iter(["plane"])))


def test_of_many_names_some_are_listed() -> None:
    told = str(UnknownNameError("run", "plane", [f"{number:04x}" for number in range(243)]))
    assert told.endswith("0026, 0027 and 203 more.")
