"""Documents that several commands add to at once lose nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rote.errors import NewerVersionError, RunLockedError
from rote.laboratory import costs
from rote.store import Store, read_document, shared, write_document
from rote.store.lock import locked
from rote.store.shared import add, entries
from rote.store.verify import verify

KIND, COMMANDS = "rote machines", 8


def test_commands_that_note_something_at_the_same_moment_keep_each_others_notes(store: Store) -> None:
    together = threading.Barrier(COMMANDS)

    def note(number: int) -> float:
        together.wait()
        return add(store.root / "machine.json", KIND, f"machine {number}", float(number))

    store.check_writable()
    with ThreadPoolExecutor(COMMANDS) as pool:
        assert list(pool.map(note, range(COMMANDS))) == [float(number) for number in range(COMMANDS)]
    assert len(read_document(store.root / "machine.json", KIND, 1)) == COMMANDS
    assert verify(store.root) == []


def test_a_note_of_engines_that_version_0_1_made_is_rote_s_own(store: Store) -> None:
    store.check_writable()
    write_document(store.root / "engines.json", "rote engines", 1, {"a": "stacked"})
    assert verify(store.root) == []


def test_of_two_values_for_one_key_the_first_stays_and_both_commands_get_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    assert add(path, KIND, "a", "stacked") == "stacked"
    assert add(path, KIND, "a", "processes") == "stacked"
    assert entries(path, KIND, str) == {"a": "stacked"}


def test_what_a_later_version_noted_is_neither_overwritten_nor_called_damaged(store: Store) -> None:
    store.root.mkdir()
    for name, kind in (("engines.json", "rote engines"), ("machine.json", KIND)):
        write_document(store.root / name, kind, 2, {"more": {}})
    before = [path.read_bytes() for path in sorted(store.root.glob("*.json"))]
    with pytest.raises(NewerVersionError, match=r"machine\.json was written by a later version of Rote"):
        add(store.root / "machine.json", KIND, "a", 1.0)
    assert costs.speed(store) > 0
    assert [path.read_bytes() for path in sorted(store.root.glob("*.json"))] == before
    assert {(finding.kind, finding.path) for finding in verify(store.root)} == {
        ("newer", "engines.json"),
        ("newer", "machine.json"),
    }


@pytest.mark.parametrize("body", [[], "x", {"a": 1, "b": None}])
def test_entries_of_a_wrong_form_are_found_out_again(tmp_path: Path, body: object) -> None:
    write_document(tmp_path / "notes.json", KIND, 1, body)
    assert entries(tmp_path / "notes.json", KIND, str) == {}
    assert add(tmp_path / "notes.json", KIND, "a", "stacked") == "stacked"


def test_a_command_that_is_frozen_while_it_adds_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "PATIENCE", 0.05)
    with locked(tmp_path), pytest.raises(RunLockedError, match=r"The store .* is being written by process"):
        add(tmp_path / "notes.json", KIND, "a", "stacked")
