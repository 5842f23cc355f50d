"""What is remembered of the kept results is what they say, and nothing else's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rote.laboratory import kept_bodies, kept_results
from rote.laboratory.bodies import Body, body_of
from rote.laboratory.kept_results import Kept
from rote.laboratory.study import studies

ONE = kept_results.CHECKOUT / "resistance" / "plane.json"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kept result that may be changed, and a cache that is empty."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr(kept_bodies, "kept_folder", lambda: folder)
    monkeypatch.setattr(kept_bodies, "packaged", lambda: kept_results.kept_in(folder, []))
    monkeypatch.setattr(kept_bodies, "cache", lambda: tmp_path / "cache")
    return Path(shutil.copy(ONE, folder))


def refuse(*_: object) -> Body:
    raise AssertionError("It was made again.")


def same(first: Body, second: Body) -> bool:
    return repr(first) == repr(second)  # NaN is NaN


def test_it_is_made_once_and_remembered_to_the_last_digit(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = body_of(studies["plane"](), Kept.read(kept), "kept")
    assert expected.values["plane-corner"]
    (made,) = kept_bodies.kept_bodies()["plane"]
    monkeypatch.setattr(kept_bodies, "body_of", refuse)
    (remembered,) = kept_bodies.kept_bodies()["plane"]
    assert same(made, expected)
    assert same(remembered, expected)


def test_a_changed_result_is_read_again(kept: Path, tmp_path: Path) -> None:
    kept_bodies.kept_bodies()
    shutil.copy(kept_results.CHECKOUT / "resistance" / "digit-pairs.json", kept.parent)
    kept.unlink()
    assert list(kept_bodies.kept_bodies()) == ["digit-pairs"]
    assert len(list((tmp_path / "cache" / "ledger").iterdir())) == 1  # what was remembered before is gone


@pytest.mark.parametrize("content", [b"", b"{}", b"\x80nonsense"])
def test_a_damaged_memory_is_made_again(kept: Path, tmp_path: Path, content: bytes) -> None:
    first = kept_bodies.kept_bodies()
    (path,) = (tmp_path / "cache" / "ledger").iterdir()
    path.write_bytes(content)
    assert same(first["plane"][0], kept_bodies.kept_bodies()["plane"][0])


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(kept: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder would be")
    assert list(kept_bodies.kept_bodies()) == ["plane"]
