"""Faults of the disk for the tests of the store: a step of a write that fails, and what an error must then say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rote.errors import StoreError


def assert_helpful(error: StoreError, path: Path) -> None:
    """The message names the file and what to do about it."""
    assert str(path) in str(error)
    advice = ("Remove the run folder", "Remove this file", "Name another file", "Install a newer", "Free some")
    assert any(words in str(error) for words in advice)


def fail_at(monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException) -> None:
    """Make one of the steps of an atomic write fail; a failing write has already written half."""

    def fail(*_: object, **__: object) -> None:
        raise error

    if call != "write":
        monkeypatch.setattr(os, call, fail)
        return
    fdopen = os.fdopen

    class HalfWriter:
        def __init__(self, descriptor: int, mode: str) -> None:
            self.file = fdopen(descriptor, mode)

        def __enter__(self) -> HalfWriter:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            raise error

    monkeypatch.setattr(os, "fdopen", HalfWriter)
