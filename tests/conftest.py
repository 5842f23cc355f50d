"""For all tests: shapes and figures are checked, hypothesis draws the same examples in every run, no disk is waited
for, and Ctrl-C counts."""

import contextlib
import functools
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from shapes import check_shapes

import rote.figures.figure

MEMORY = Path("/dev/shm")


def write_to_memory() -> None:
    """A store waits for the disk whenever it has written something, which is thousands of times a minute here: no test
    pulls the plug. Where there is room, what tests write stays in memory; TMPDIR names another place."""
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    place = os.statvfs(MEMORY)
    if place.f_bavail * place.f_frsize > 4 * 2**30 and not place.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


write_to_memory()
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
