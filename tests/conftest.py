"""For all tests: shapes and figures are checked, hypothesis draws the same examples in every run, and Ctrl-C counts."""

import contextlib
import functools
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings
from shapes import check_shapes

import rote.figures.figure

check_shapes()
rote.figures.figure.CHECKED = True


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    rote.figures.figure.CHECKED = False
    try:
        yield
    finally:
        rote.figures.figure.CHECKED = True


def draw_once() -> None:
    """Tests write many reports of the same few tables: in each process, Vega draws a figure once for all of them."""
    import rote.report.exhibits as exhibits
    import rote.report.report as report
    from rote.figures import Figure, spec
    from rote.figures.export import Picture, render, to_json

    pictures: dict[str, dict[Picture, bytes]] = {}

    def once(figure: Figure) -> dict[Picture, bytes]:
        with unchecked():  # the report has checked it just before
            key = to_json(spec(figure))
        if key not in pictures:
            pictures[key] = render(figure)
        return pictures[key]

    exhibits.render = once
    report.vega_bundle = functools.cache(report.vega_bundle)


draw_once()
settings.register_profile("rote", deadline=None, derandomize=True)
settings.load_profile("rote")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell: what tests start would too
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of many small tests come last, so that no process works alone in the end."""
    items.sort(key=lambda item: item.path.parent.name == "oracles")
