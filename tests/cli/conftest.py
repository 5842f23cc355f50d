"""Fixtures for tests of the command."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import SETTINGS, SMOKE, Answer, Finished, Report, rote, without_torch

from rote.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of each test is its own, and no setting of whoever runs the tests reaches it."""
    monkeypatch.chdir(tmp_path)
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """The command in this process: no second import of torch."""

    def call(*words: object) -> Answer:
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return Answer(int(end.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A store with one finished study. Tests read it; one that changes runs copies it first."""
    folder = tmp_path_factory.mktemp("finished")
    return Finished(folder / "store", rote("run", *SMOKE, "--store", "store", cwd=folder))


@pytest.fixture(scope="session")
def report(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of that store, written where torch cannot be imported."""
    folder = tmp_path_factory.mktemp("report")
    answer = without_torch("report", "--store", finished.store, "--out", "out", cwd=folder)
    return Report(folder / "out", answer)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own, with the given mount options."""
    place = tmp_path / "disk"

    def mount(options: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("only root can mount a small file system")
        remount = "remount," if place.is_mount() else ""
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{remount}{options}", "tmpfs", place], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"cannot mount a small file system here: {done.stderr.decode().strip()}")
        return place

    yield mount
    if place.is_mount():
        subprocess.run(["umount", place], check=True)
