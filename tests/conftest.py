"""For all tests: shapes and figures are checked, and hypothesis draws the same examples in every run."""

import pytest
from hypothesis import settings
from shapes import check_shapes

import rote.figures.figure

check_shapes()
rote.figures.figure.CHECKED = True
settings.register_profile("rote", deadline=None, derandomize=True)
settings.load_profile("rote")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of many small tests come last, so that no process works alone in the end."""
    items.sort(key=lambda item: item.path.parent.name == "oracles")
