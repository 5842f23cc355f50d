"""Studies of these tests, and one process that has imported torch for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import deadly_study
import pytest
import tiny_study

from rote.studies import processes, studies

CLASSES = (tiny_study.Tiny, deadly_study.Deadly, deadly_study.Threaded)


def forget() -> None:
    for study in CLASSES:
        studies._registered.pop(study.name, None)
        studies._loaded.pop(study.name, None)


forget()  # other tests look at all studies that there are


@pytest.fixture(autouse=True, scope="module")  # a package has no end of its own here
def own_studies() -> Iterator[None]:
    for study in CLASSES:
        studies.register(study.name)(study)
    yield
    forget()


@pytest.fixture(autouse=True)
def one_nursery(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is started anew when the environment changes, and pytest puts the name of each test there."""
    environment = processes._environment
    monkeypatch.setattr(
        processes, "_environment", lambda: {**environment(), "PYTEST_CURRENT_TEST": "one of tests/faults"}
    )
