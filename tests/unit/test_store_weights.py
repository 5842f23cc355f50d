"""A finished training keeps its weights; one that may still be resumed keeps everything. So does ``rote runs slim``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from killed_runs import matters
from reaper import Reaper
from sample_runs import TABLE, contents, make_request

from rote.cli import run_command
from rote.errors import DamagedFileError, RunLockedError, StoreError
from rote.store import FinishedRun, Record, Request, Run, Store, transfer, weights
from rote.store import run as run_module
from rote.store.checkpoint import Checkpoints, steps_among
from rote.store.lock import locked
from rote.store.slim import slim
from rote.store.verify import repair, verify

REQUEST = make_request()
PAIRS = [f"weights-{step:08d}.{suffix}" for step in (0, 2, 4) for suffix in ("json", "safetensors")]


def state(step: int) -> dict[str, Any]:
    moments = {"state": {0: {"first": torch.ones(100) * step, "second": torch.zeros(100)}}}
    return {"model": {"w": torch.arange(100.0) + step}, "optimizer": moments, "random": [step] * 50, "early": None}


def go_on(run: Run) -> None:
    step = (run.resume() or (-1, {}))[0]
    while step < 4:
        step += 1
        run.metrics.append({"step": step, "loss": [1 / (1 + step)]})
        run.save(step, state(step), keep={0, 2})


def complete(store: Store, request: Request = REQUEST) -> FinishedRun:
    with store.open(request) as run:
        go_on(run)
        run.finish([TABLE])
    return FinishedRun(run.folder)


def complete_as_before(store: Store, request: Request = REQUEST) -> FinishedRun:
    """As version 0.1 finished it: with its checkpoints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "steps_to_slim", lambda *_: [])
        return complete(store, request)


def told(store: Store) -> set[tuple[str, str]]:
    return {(finding.kind, Path(finding.path).name) for finding in verify(store.root)}


def size(folder: Path) -> int:
    return sum(len(data) for data in contents(folder).values())


def without_record(run: FinishedRun) -> dict[str, bytes]:
    return {name: data for name, data in contents(run.folder).items() if name != "record.json"}


# --- finishing -----------------------------------------------------------------------------------------------------


def test_a_finished_training_keeps_the_weights_of_each_step_and_nothing_to_resume_from(store: Store) -> None:
    with store.open(REQUEST) as run:
        go_on(run)
        assert set(run.checkpoints.load(4)) == {"model", "optimizer", "random", "early"}
        assert run.checkpoints.steps() == [0, 2, 4]
        run.finish([TABLE])
    finished = FinishedRun(run.folder)
    assert set(contents(run.folder)) == {"record.json", "metrics.jsonl", "result.json", *PAIRS}
    assert set(finished.record.files) == {"metrics.jsonl", "result.json", *PAIRS}
    assert steps_among(finished.record.files) == [0, 2, 4]
    for step in (0, 2, 4, None):
        kept = finished.checkpoint(step)
        assert list(kept) == ["model"]
        assert torch.equal(kept["model"]["w"], torch.arange(100.0) + (4 if step is None else step))
    assert verify(store.root) == []


@pytest.mark.parametrize("kept", [{"total": torch.ones(3), "random": [1]}, {"model": torch.ones(3), "rate": 0.5}])
def test_a_state_without_a_model_or_without_more_than_it_stays_whole_and_is_not_written_again(
    store: Store, kept: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.open(REQUEST) as run:
        run.save(3, kept)
        monkeypatch.setattr(weights, "write_atomically", lambda *_: pytest.fail("was written a second time"))
        run.finish([TABLE])
    assert set(FinishedRun(run.folder).checkpoint(3)) == set(kept)
    assert Checkpoints(run.folder).steps() == [3]
    assert verify(store.root) == []


def test_a_run_that_is_not_finished_keeps_everything(store: Store) -> None:
    with store.open(REQUEST) as run:
        go_on(run)
        run.fail(ZeroDivisionError())
    before = contents(run.folder)
    with pytest.raises(StoreError, match="is failed and keeps everything"):
        slim(run.folder)
    assert contents(run.folder) == before
    with store.open(REQUEST) as again:
        assert set((again.resume() or (0, {}))[1]) == {"model", "optimizer", "random", "early"}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(30, "Read-only file system")])
@pytest.mark.parametrize("after", range(6))
def test_a_run_whose_checkpoints_could_not_all_be_removed_is_finished_and_the_rest_is_a_leftover(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: BaseException, after: int
) -> None:
    """Interrupted there, it must not be called interrupted: it could not be resumed."""
    unlink, done = os.unlink, []

    def stopping(path: Any, **named: Any) -> None:
        if "checkpoint-" in str(path) and Record.read(store.folder(REQUEST)).status == "finished":
            if len(done) == after:
                raise error
            done.append(path)
        unlink(path, **named)

    monkeypatch.setattr(os, "unlink", stopping)
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            complete(store)
    else:
        complete(store)
    monkeypatch.undo()
    assert len(done) == after
    finished = FinishedRun(store.folder(REQUEST))
    assert list(finished.checkpoint()) == ["model"]
    findings = verify(store.root)
    assert {finding.kind for finding in findings} == {"leftover"}
    assert len(findings) == 6 - after
    assert len(repair(store.root, findings)) == 6 - after
    assert told(store) == set()
    assert set(contents(finished.folder)) == {"record.json", "metrics.jsonl", "result.json", *PAIRS}


def test_a_finished_training_that_is_opened_again_begins_again_to_the_same_bytes(store: Store) -> None:
    before = without_record(complete(store))
    with store.open(REQUEST) as run:
        assert steps_among(os.listdir(run.folder)) == []  # what no finished record names does not count
        assert run.resume() is None
        assert not any(finding.is_damage for finding in verify(store.root))
    assert without_record(complete(store)) == before


def test_a_leftover_that_a_run_has_taken_up_meanwhile_is_not_removed(store: Store) -> None:
    with store.open(REQUEST) as run:
        go_on(run)
    copy = shutil.copytree(run.folder, store.root / "aside")
    complete(store)
    for path in Checkpoints(copy).files():
        shutil.copy(path, run.folder)
    findings = verify(store.root)
    assert len([finding for finding in findings if finding.kind == "leftover"]) == 6
    with locked(run.folder):
        assert repair(store.root, findings) == []
    with store.open(REQUEST) as again:
        assert again.resume() is not None
    assert repair(store.root, findings) == []
    assert Checkpoints(run.folder).steps() == [0, 2, 4]


@pytest.mark.parametrize("name", PAIRS)
def test_weights_that_were_altered_or_are_gone_are_told_and_never_repaired_away(store: Store, name: str) -> None:
    run = complete(store)
    step = steps_among([name.replace("safetensors", "json")])[0]
    whole = (run.folder / name).read_bytes()
    for data in (whole[:-1] + bytes([whole[-1] ^ 1]), None):
        (run.folder / name).unlink()
        if data is not None:
            (run.folder / name).write_bytes(data)
        assert told(store) == {("damaged", name)}
        assert repair(store.root, verify(store.root)) == []
        with pytest.raises(StoreError, match=name):
            run.checkpoint(step)
    assert set(contents(run.folder)) == {"record.json", *run.record.files} - {name}


# --- slimming what exists ------------------------------------------------------------------------------------------


def test_a_slim_run_is_the_one_that_would_be_written_now(store: Store, tmp_path: Path) -> None:
    now, before = complete(Store(tmp_path / "now")), complete_as_before(store)
    assert Checkpoints(before.folder).steps() == [0, 2, 4]
    whole, untouched = size(before.folder), contents(before.folder)
    promised = slim(before.folder, dry_run=True)
    assert contents(before.folder) == untouched
    assert slim(before.folder) == promised > whole / 2
    record = (before.folder / "record.json").stat().st_size - len(untouched["record.json"])
    assert size(before.folder) == whole - promised + record
    slimmed = FinishedRun(before.folder)
    assert without_record(slimmed) == without_record(now)
    assert slimmed.record.files == now.record.files
    assert replace(slimmed.record, files={}) == replace(before.record, files={})
    assert verify(store.root) == []
    after = contents(before.folder)
    assert slim(before.folder) == 0
    assert contents(before.folder) == after


def test_slimming_that_is_killed_before_or_after_any_call_leaves_an_intact_run_and_goes_on(
    store: Store, tmp_path: Path
) -> None:
    folder = complete_as_before(store).folder
    whole = Path(shutil.copytree(store.root, tmp_path / "whole"))
    with Reaper(store.root).watching() as reaper:
        slim(folder)
    expected = contents(store.root)
    assert [call for call in reaper.calls if call.startswith("replace ")][-1] == "replace record.json"
    assert reaper.calls[-1] == "unlink checkpoint-00000000.safetensors"
    seen = set()
    for how in ("kill", "data lost", "all lost"):
        for at in range(len(reaper.calls)):
            if not matters(how, reaper.calls, at):
                continue
            shutil.rmtree(store.root)
            shutil.copytree(whole, store.root)
            assert killed(lambda how=how, at=at: kill_within(store, folder, how, at)) == -signal.SIGKILL
            findings = verify(store.root)
            assert {finding.kind for finding in findings} <= {"leftover"}, (how, reaper.calls[at])
            run = FinishedRun(folder)
            for step in (0, 2, 4):
                assert torch.equal(run.checkpoint(step)["model"]["w"], torch.arange(100.0) + step)
            seen.add("optimizer" in run.checkpoint())
            if at % 2:
                repair(store.root, findings)
            slim(folder)
            assert contents(store.root) == expected, (how, reaper.calls[at])
            assert verify(store.root) == []
    assert seen == {True, False}


def kill_within(store: Store, folder: Path, how: str, at: int) -> None:
    with Reaper(store.root, at, how).watching():
        slim(folder)


def killed(action: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_damaged_run_and_one_that_is_being_written_are_left_as_they_are(store: Store) -> None:
    run = complete_as_before(store)
    path = run.folder / "checkpoint-00000002.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    before = contents(run.folder)
    with pytest.raises(DamagedFileError, match=str(path)):
        slim(run.folder)
    assert contents(run.folder) == before
    path.write_bytes(data)
    with locked(run.folder), pytest.raises(RunLockedError):
        slim(run.folder)
    assert slim(run.folder) > 0


def test_a_slim_run_and_the_same_with_its_checkpoints_are_the_same_run_to_an_import(
    store: Store, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    here, there = complete(store), complete_as_before(other)
    name = f"runs/plane/{here.id}"
    assert transfer.plan(store, other).same == transfer.plan(other, store).same == [name]
    changed = state(2)
    changed["model"]["w"][0] = 7
    with other.open(REQUEST) as run:
        Checkpoints(run.folder).save(4, changed)
    with pytest.MonkeyPatch.context() as patch, other.open(REQUEST) as run:
        patch.setattr(run_module, "steps_to_slim", lambda *_: [])
        Checkpoints(run.folder).remove(2)
        Checkpoints(run.folder).remove(0)
        run.finish([TABLE])
    assert there.folder == run.folder
    assert "weights-00000004" in transfer.plan(store, other).conflicts[name]
    new = Store(tmp_path / "new")
    assert transfer.take(new, store, transfer.plan(new, store)) == 1
    assert contents(new.root) == contents(store.root)


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path: Path) -> Store:
    """Of version 0.1: seven finished runs, one interrupted, one failed."""
    with tarfile.open(Path(__file__).with_name("store-0.1.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return Store(tmp_path / "rote-store")


def command(store: Store, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = run_command(["runs", "slim", *words, "--store", str(store.root)])
    return code, *capsys.readouterr()


def test_a_store_of_version_0_1_is_slimmed_and_everything_in_it_is_read_as_before(
    old: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    def weights_of() -> dict[str, Any]:
        runs = [FinishedRun(old.root / row.folder) for row in old.runs() if row.status == "finished"]
        return {
            f"{run.id} {step} {name}": weight.tolist()
            for run in runs
            for step in steps_among(run.record.files)
            for name, weight in run.checkpoint(step)["model"].items()
        }

    before, kept, whole = contents(old.root), weights_of(), size(old.root)
    assert len(kept) > 10
    code, out, _ = command(old, capsys, "--dry-run", "--json")
    promised = json.loads(out)
    assert (code, contents(old.root)) == (0, before)
    code, out, err = command(old, capsys)
    assert (code, err) == (0, "")
    assert "2 runs are not finished and keep everything." in out.splitlines()[-1]
    assert [line.split()[0] for line in out.splitlines()[:-1]] == [run["id"] for run in promised["runs"]]
    assert len(promised["unfinished"]) == 2
    records = sum(
        len(data) - len(before[name]) for name, data in contents(old.root).items() if name.endswith("record.json")
    )
    assert whole - size(old.root) + records == promised["freed"] == sum(run["freed"] for run in promised["runs"])
    assert promised["freed"] > whole / 4
    assert weights_of() == kept
    assert told(old) == set()
    assert not list(old.root.glob("runs/plane/*/checkpoint-*"))
    unfinished = {name: data for name, data in contents(old.root).items() if "runs/chain" in name}
    assert unfinished == {name: data for name, data in before.items() if "runs/chain" in name}
    assert json.loads(command(old, capsys, "--json")[1])["runs"] == []


def test_named_runs_alone_are_slimmed_and_an_unfinished_one_is_refused(
    old: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row.status: row for row in old.runs()}
    code, out, err = command(old, capsys, rows["interrupted"].id)
    assert (code, out) == (1, "")
    assert f"A run that is not finished keeps everything, to be resumed from: {rows['interrupted'].id} is" in err
    chosen = next(row for row in old.runs() if row.study == "plane" and row.part != "summary")
    code, out, err = command(old, capsys, chosen.id)
    assert (code, err, out.count("\n")) == (0, "", 2)
    assert out.startswith(f"{chosen.id}  plane {chosen.part}, ")
    slimmed = {path.parent.name for path in old.root.glob("runs/*/*/weights-*")}
    assert slimmed == {chosen.id}
    assert command(old, capsys, "nothing-*")[0] == 2


def test_a_damaged_run_is_named_and_left_alone_and_the_others_are_slimmed(
    old: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = next(row for row in old.runs() if row.study == "plane" and row.part != "summary")
    path = next((old.root / chosen.folder).glob("checkpoint-*.safetensors"))
    path.write_bytes(path.read_bytes()[:-1])
    before = contents(old.root / chosen.folder)
    code, out, err = command(old, capsys)
    assert code == 1
    assert f"rote: Left out: {path}" in err
    assert chosen.id not in out
    assert len(list(old.root.glob("runs/plane/*/weights-*.json"))) > 0
    assert contents(old.root / chosen.folder) == before
