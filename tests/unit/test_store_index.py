"""The index of all runs: what is listed, made again when it is lost, found by its id, removed as a whole."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from sample_runs import TABLE, contents, finish, make_request, read_all

from rote.errors import DamagedFileError, StoreError, UnknownNameError, UsageError
from rote.store import Store, index
from rote.store.record import Record


@pytest.fixture
def three(store: Store) -> Store:
    for part in ("random", "narrow"):
        finish(store, part=part)
    with pytest.raises(ZeroDivisionError), store.open(make_request(part="failing")):
        raise ZeroDivisionError
    return store


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records that a listing reads from now on."""
    names: list[str] = []
    read = Record.read

    class Watched:
        @staticmethod
        def read(folder: Path) -> Record:
            names.append(folder.name)
            return read(folder)

    monkeypatch.setattr(index, "Record", Watched)
    return names


def test_a_listing_reads_only_what_changed_since_the_last(three: Store, reads: list[str]) -> None:
    first = three.runs()
    assert (len(first), len(reads)) == (3, 3)
    assert (three.runs(), len(reads)) == (first, 3)
    with three.open(make_request(part="failing")) as run:
        run.finish([TABLE])
    assert sorted(row.status for row in three.runs()) == ["finished"] * 3
    assert reads[3:] == [make_request(part="failing").id]


def test_a_row_says_what_its_record_says(three: Store) -> None:
    (row,) = [row for row in three.runs() if row.part == "random"]
    record = Record.read(three.root / row.folder)
    assert row == index.Listed(
        f"runs/plane/{record.request.id}", row.stamp, record.request.id, "plane", "random", "quick", "finished", 2,
        record.started, record.seconds, '{"model": {"hidden": 4}, "steps": 8}', "", "",
    )  # fmt: skip


def test_the_newest_run_is_listed_first_and_a_damaged_one_last(three: Store) -> None:
    folders = [three.root / row.folder for row in three.runs()]
    for number, folder in enumerate(folders[:2]):
        replace(Record.read(folder), started=f"2026-01-0{number + 1}T00:00:00+00:00").write(folder)
    (folders[2] / "record.json").write_bytes(b"")
    assert [three.root / row.folder for row in three.runs()] == [folders[1], folders[0], folders[2]]


@pytest.mark.parametrize(
    "damage",
    ["deleted", "garbage", "empty", "truncated", "other layout", "other table", "a folder", "stale rows"],
)
def test_an_index_that_is_lost_or_wrong_is_made_again_from_the_folders(three: Store, damage: str) -> None:
    expected, path = three.runs(), three.root / "index.sqlite"
    data = path.read_bytes()
    if damage in ("other layout", "other table", "stale rows"):
        with contextlib.closing(sqlite3.connect(path)) as connection, connection:
            if damage == "other layout":
                connection.execute("PRAGMA user_version = 99")
            elif damage == "other table":
                connection.executescript("DROP TABLE runs; CREATE TABLE runs (a, b); INSERT INTO runs VALUES (1, 2)")
            else:
                connection.execute("UPDATE runs SET stamp = 'old', status = 'nonsense', study = 'nonsense'")
        connection.close()
    else:
        path.unlink()
    if damage == "a folder":
        (path / "inside").mkdir(parents=True)
    elif damage in ("garbage", "empty", "truncated"):
        path.write_bytes({"garbage": b"no database" * 500, "empty": b"", "truncated": data[: len(data) // 2]}[damage])
    assert three.runs() == expected
    assert three.runs() == expected


def test_a_damaged_run_is_listed_with_the_reason_while_the_others_are_fine(three: Store) -> None:
    rows = {row.part: row for row in three.runs()}
    path = three.root / rows["narrow"].folder / "record.json"
    path.write_bytes(path.read_bytes()[:-40])
    after = {row.id: row for row in three.runs()}
    bad = after[rows["narrow"].id]
    assert (bad.status, bad.study, bad.folder) == ("damaged", "plane", rows["narrow"].folder)
    assert str(path) in bad.error
    assert after[rows["random"].id] == rows["random"]
    read_all(three.load(rows["random"].id))
    with pytest.raises(DamagedFileError, match="Remove the run folder"):
        three.load(bad.id)
    three.remove(bad.id)
    assert {row.part for row in three.runs()} == {"random", "failing"}


def test_a_run_is_not_called_damaged_any_more_once_it_can_be_read(
    three: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that answers again, permissions put right, a newer Rote: the record itself did not change."""
    expected = three.runs()
    (three.root / "index.sqlite").unlink()
    with monkeypatch.context() as patch:

        def fail(folder: Path) -> Record:
            raise StoreError("Cannot read it.")

        patch.setattr(Record, "read", fail)
        assert {row.status for row in three.runs()} == {"damaged"}
    assert three.runs() == expected


def test_a_folder_that_was_removed_by_hand_is_no_longer_listed(three: Store) -> None:
    import shutil

    gone, *rest = three.runs()
    shutil.rmtree(three.root / gone.folder)
    assert three.runs() == rest


def test_a_store_that_does_not_exist_lists_nothing_and_is_not_made(store: Store) -> None:
    assert store.runs() == []
    assert not store.root.exists()


def test_a_file_where_the_store_should_be_is_said_so_and_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for store in (Store(tmp_path / "file"), Store(tmp_path / "file" / "below")):
        with pytest.raises(UsageError, match=r"is a file, or lies below one\. Set ROTE_HOME"):
            store.check_writable()
        with pytest.raises(StoreError, match="Cannot read"):
            store.runs()


def test_stray_files_and_hidden_folders_are_not_listed_as_runs(three: Store) -> None:
    expected = three.runs()
    (three.root / "runs" / "notes.txt").write_text("x")
    (three.root / "runs" / "plane" / "notes.txt").write_text("x")
    (three.root / "runs" / "plane" / ".removed-abc").mkdir()
    assert three.runs() == expected


# --- finding and removing ----------------------------------------------------------------------------------------


def test_a_run_is_found_by_the_start_of_its_id_unless_that_is_unknown_or_stands_for_several(store: Store) -> None:
    requests = [make_request(seeds=(seed,)) for seed in range(20)]  # more than 16: two share their first digit
    for request in requests:
        with store.open(request):
            pass
    for request in requests:
        assert store.find(request.id) == store.folder(request)
    first = sorted(request.id for request in requests)
    shared = next(a[0] for a, b in itertools.pairwise(first) if a[0] == b[0])
    with pytest.raises(UsageError, match=rf"The id '{shared}' stands for \d+ runs: .*Give more of it") as caught:
        store.find(shared)
    assert all((request.id in str(caught.value)) == request.id.startswith(shared) for request in requests)
    wrong = first[0][:-1] + ("0" if first[0][-1] != "0" else "1")
    with pytest.raises(UnknownNameError, match=rf"Unknown run '{wrong}'\. Did you mean '{first[0]}'\?"):
        store.find(wrong)
    with pytest.raises(UnknownNameError):
        store.find("")  # not: all of them


def test_a_run_is_removed_as_a_whole_and_alone(three: Store) -> None:
    gone, *rest = three.runs()
    three.remove(gone.id[:10])
    assert three.runs() == rest
    assert len(list((three.root / "runs" / "plane").iterdir())) == 2
    with pytest.raises(UnknownNameError):
        three.remove(gone.id)


def test_a_run_can_be_removed_again_after_a_removal_that_was_killed_halfway(store: Store) -> None:
    run = finish(store)
    half = run.folder.with_name(f".removed-{run.folder.name}")
    half.mkdir()
    (half / "metrics.jsonl").write_text("left by a process that was killed")
    store.remove(run.id)
    assert list(run.folder.parent.iterdir()) == []


@pytest.mark.parametrize("link", ["run", "study", "runs"])
def test_a_link_in_a_store_is_followed_neither_to_read_nor_to_write_nor_to_remove(
    store: Store, tmp_path: Path, link: str
) -> None:
    elsewhere = Store(tmp_path / "elsewhere")
    run = finish(elsewhere)
    kept = contents(elsewhere.root)
    place = {"run": store.folder(make_request()), "study": store.root / "runs" / "plane", "runs": store.root / "runs"}
    place[link].parent.mkdir(parents=True)
    place[link].symlink_to({"run": run.folder, "study": run.folder.parent, "runs": run.folder.parents[1]}[link])
    assert not any(row.status == "finished" for row in store.runs())
    with pytest.raises(DamagedFileError, match="is a link"):
        store.finished(make_request())
    for request in (make_request(), make_request(seeds=(9,)))[: 1 if link == "run" else 2]:
        with pytest.raises(DamagedFileError, match="is a link"), store.open(request):
            pass
    with pytest.raises((DamagedFileError, UnknownNameError)):
        store.remove(run.id)
    assert contents(elsewhere.root) == kept
    assert place[link].is_symlink()


def test_removing_a_link_to_another_run_of_the_store_keeps_that_run(store: Store) -> None:
    run = finish(store)
    link = run.folder.with_name("0" * 16)
    link.symlink_to(run.folder)
    before = contents(run.folder)
    assert {row.id: row.status for row in store.runs()} == {run.id: "finished", link.name: "damaged"}
    with pytest.raises(DamagedFileError, match="Remove the link by hand"):
        store.remove(link.name)
    assert link.is_symlink()
    assert contents(run.folder) == before


def test_the_store_is_where_the_environment_says_unless_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_HOME", str(tmp_path / "home"))
    assert Store().root == tmp_path / "home"
    assert Store(tmp_path / "told").root == tmp_path / "told"
    monkeypatch.delenv("ROTE_HOME")
    monkeypatch.chdir(tmp_path)
    assert Store().root == tmp_path / "rote-store"


def test_a_store_keeps_its_place_when_the_process_changes_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("relative")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    finish(store)
    assert (tmp_path / "relative" / "runs").is_dir()
