"""Studies of these tests, and one process that has imported torch for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import deadly_study
import linked_studies
import pytest
import tiny_study

from rote.laboratory import processes, studies
from rote.recipes import measurements, recipes
from rote.registry import Registry

CLASSES: tuple[tuple[Registry[Any], Any], ...] = (
    (recipes, tiny_study.TinyRecipe), (recipes, deadly_study.DeadlyRecipe), (recipes, deadly_study.LastingRecipe),
    (recipes, deadly_study.ThreadedRecipe),
    (measurements, tiny_study.TinyMeasurement),
    (studies, tiny_study.Tiny), (studies, deadly_study.Deadly), (studies, deadly_study.Threaded),
    (recipes, linked_studies.FailingRecipe), (recipes, linked_studies.NextRecipe),
    (measurements, linked_studies.OtherMeasurement),
    (studies, linked_studies.Other), (studies, linked_studies.Failing), (studies, linked_studies.BadTables),
)  # fmt: skip


def forget() -> None:
    for registry, thing in CLASSES:
        registry._registered.pop(thing.name, None)
        registry._loaded.pop(thing.name, None)


forget()  # other tests look at all studies that there are


@pytest.fixture(autouse=True, scope="module")  # a package has no end of its own here
def own_studies() -> Iterator[None]:
    for registry, thing in CLASSES:
        registry.register(thing.name)(thing)
    yield
    forget()


@pytest.fixture(autouse=True)
def one_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started anew when the environment changes, and pytest puts the name of each test there."""
    environment = processes._environment
    monkeypatch.setattr(
        processes, "_environment", lambda: {**environment(), "PYTEST_CURRENT_TEST": "one of tests/faults"}
    )
