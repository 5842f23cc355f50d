"""What Rote 0.1 wrote is read, taken up and judged; what a later one wrote is called so, never damaged.

``store-0.1.tar.xz`` was made with the commit 9252e9f: the studies plane and elman-xor, a run that was interrupted after
two of four steps, one that failed, engines.json, machine.json and index.sqlite; a kept result and a model.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample_runs import TABLE, contents

from rote.cli import run_command
from rote.errors import NewerVersionError
from rote.laboratory import latest_runs, studies
from rote.laboratory.bodies import body_of
from rote.laboratory.kept_results import Kept, keep
from rote.laboratory.laboratory import Laboratory
from rote.laboratory.ledger import judged
from rote.models.saved_autocomplete import autocomplete_record, describe_autocomplete, load_autocomplete
from rote.store import FinishedRun, Record, Request, Store, migration, record
from rote.store.files import digest_file
from rote.store.index import LAYOUT
from rote.store.verify import repair, verify

HALF = Request("chain", 1, "half", {"steps": 4}, (0,))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("version-0.1")
    with tarfile.open(Path(__file__).with_name("store-0.1.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def old(unpacked: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    import shutil

    return Path(shutil.copytree(unpacked, tmp_path / "old"))


def test_a_store_of_version_0_1_is_listed_verified_and_read_in_every_file(unpacked: Path) -> None:
    store = Store(unpacked / "rote-store")
    before = contents(store.root)
    rows = store.runs()
    assert Counter(row.status for row in rows) == {"finished": 7, "interrupted": 1, "failed": 1}
    assert [finding for finding in verify(store.root) if finding.kind != "interrupted"] == []
    for row in rows:
        if row.status == "finished":
            run = FinishedRun(store.root / row.folder)
            assert run.id == row.id  # ids are computed as they were
            assert run.tables()
            run.metrics()
            if row.part != "summary":
                assert run.checkpoint()["model"]
    assert contents(store.root) == before


@pytest.mark.parametrize("name", ["plane", "elman-xor"])
def test_a_study_of_version_0_1_is_judged_from_its_tables_and_stays_beside_what_is_computed_now(
    old: Path, name: str
) -> None:
    store = Store(old / "rote-store")
    (row,) = [row for row in store.runs() if row.study == name and row.part == "summary"]
    kept = FinishedRun(store.root / row.folder)
    study = studies[name]()
    verdicts = judged(study, body_of(study, kept, "here"))
    assert [verdict.claim.id for verdict in verdicts] == [claim.id for claim in study.claims]
    assert keep(store, kept.id, old / "kept-now").tables() == kept.tables()
    # It says nothing of trainings and measurements, so that it is read but not used.
    assert latest_runs(store, study) == []
    before = contents(kept.folder)
    result = Laboratory(store, workers=1).run(name, "smoke", {"seeds": 1})
    (found,) = latest_runs(store, study)
    assert found.id == result.run.id != kept.id
    assert contents(kept.folder) == before


def test_a_run_that_version_0_1_left_unfinished_is_taken_up_with_its_kept_checkpoint(old: Path) -> None:
    import torch

    store = Store(old / "rote-store")
    with store.open(HALF) as run:
        assert run.resume() == (2, {"total": torch.tensor([2.0]), "step": 2})
        assert run.metrics.rows() == [{"step": 1, "loss": [1.0]}, {"step": 2, "loss": [0.5]}]
        for step in (3, 4):
            run.metrics.append({"step": step, "loss": [1 / step]})
            run.save(step, {"total": torch.tensor([float(step)]), "step": step}, keep={1})
        run.finish([TABLE])
    finished = FinishedRun(run.folder)
    assert [row["step"] for row in finished.metrics()] == [1, 2, 3, 4]
    assert [finished.checkpoint(step)["step"] for step in (1, 4)] == [1, 4]
    assert not [finding for finding in verify(store.root) if finding.is_damage]


def test_a_kept_result_and_a_model_file_of_version_0_1_are_read(unpacked: Path) -> None:
    kept = Kept.read(unpacked / "kept" / "elman-xor.json")
    assert (kept.record.request.study, len(kept.runs), bool(kept.tables())) == ("elman-xor", 1, True)
    assert autocomplete_record(unpacked / "model") == {"text": "none"}
    config, vocabulary = describe_autocomplete(unpacked / "model")
    assert (config.units, vocabulary) == (2, ("a", "the", "sea"))
    assert load_autocomplete(unpacked / "model").vocabulary == ("a", "the", "sea")


def test_a_format_that_has_changed_since_is_read_through_its_steps_and_the_files_stay_as_they_are(
    unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def renamed(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "device": f"once {body['device']}"}

    def shortened(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "device": body["device"].removesuffix("cpu") + "processor"}

    (folder,) = (unpacked / "rote-store").glob("runs/elman-xor/7285cc3796cfe27a")
    before = contents(folder)
    monkeypatch.setattr(record, "VERSION", 3)
    monkeypatch.setitem(migration.STEPS, ("rote run record", 1), renamed)
    monkeypatch.setitem(migration.STEPS, ("rote run record", 2), shortened)
    assert FinishedRun(folder).record.device == "once processor"
    assert contents(folder) == before


def test_a_version_that_was_raised_without_a_step_is_noticed(unpacked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "VERSION", 2)
    with pytest.raises(KeyError, match="rote run record"):
        FinishedRun(unpacked / "rote-store" / "runs" / "elman-xor" / "7285cc3796cfe27a")


# --- what a later version wrote ------------------------------------------------------------------------------------


def from_later(path: Path) -> None:
    """As a later version may write it: another number, and a form that only the number explains."""
    envelope = json.loads(path.read_text())
    path.write_text(json.dumps({"kind": envelope["kind"], "version": 2, "content": "in another form"}))


@pytest.mark.parametrize("name", ["record.json", "result.json", "checkpoint-00000002.json"])
def test_a_run_from_a_later_version_is_called_so_by_every_command_and_never_damaged(
    old: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(old / "rote-store")
    folder = store.root / "runs" / "elman-xor" / "7285cc3796cfe27a"
    from_later(folder / name)
    if name != "record.json":  # a later version has recorded what it wrote
        kept = Record.read(folder)
        replace(kept, files={**kept.files, name: digest_file(folder / name)}).write(folder)
    before = contents(store.root)

    def told(*words: str) -> tuple[int, str]:
        code = run_command(["runs", *words, "--store", str(store.root)])
        return code, " ".join("".join(capsys.readouterr()).split())

    code, said = told("verify")
    assert code == 1
    assert f"newer runs/elman-xor/{folder.name}/{name}: {name} was written by a later version of Rote" in said
    assert "damaged" not in said
    assert {row.id: row.status for row in store.runs()}[folder.name] == (
        "newer" if name == "record.json" else "finished"
    )
    assert folder.name not in told("list", "--status", "damaged")[1]
    (old / "other").mkdir()
    code = run_command(["runs", "import", str(store.root), "--store", str(old / "other")])
    said = " ".join("".join(capsys.readouterr()).split())
    assert code == 1
    assert "1 runs of" in said
    assert "were written by a later version of Rote and were left there. Install a newer Rote." in said
    assert "damaged" not in said
    assert Counter(path.parent.name for path in (old / "other").glob("runs/*/*")) == {
        "plane": 5, "elman-xor": 1, "chain": 2
    }  # fmt: skip
    with pytest.raises(NewerVersionError, match=r"Install a newer Rote\."):
        read_all_of(FinishedRun(folder))
    assert contents(store.root) == before


def read_all_of(run: FinishedRun) -> None:
    run.tables()
    run.checkpoint()


def test_an_index_of_a_later_version_is_left_to_it_and_runs_are_listed_without(old: Path) -> None:
    store = Store(old / "rote-store")
    expected = store.runs()
    with contextlib.closing(sqlite3.connect(store.root / "index.sqlite")) as connection, connection:
        connection.execute("DROP TABLE runs")
        connection.execute("CREATE TABLE all_runs (everything)")
        connection.execute(f"PRAGMA user_version = {LAYOUT + 1}")
    before = (store.root / "index.sqlite").read_bytes()
    assert store.runs() == expected
    assert [(finding.kind, finding.path) for finding in verify(store.root) if finding.kind != "interrupted"] == [
        ("newer", "index.sqlite")
    ]
    repair(store.root, verify(store.root))
    assert (store.root / "index.sqlite").read_bytes() == before


def test_a_kept_result_a_model_and_an_unfinished_run_from_a_later_version_are_called_so(old: Path) -> None:
    paths = (
        old / "kept" / "elman-xor.json",
        old / "model.json",
        Store(old / "rote-store").folder(HALF) / "record.json",
    )
    for path in paths:
        from_later(path)

    def go_on() -> None:
        with Store(old / "rote-store").open(HALF):
            pytest.fail("a later version's run is not ours to write")

    ways = (lambda: Kept.read(paths[0]), lambda: load_autocomplete(old / "model"), go_on)
    for path, use in zip(paths, ways, strict=True):
        before = path.read_bytes()
        with pytest.raises(NewerVersionError, match=rf"{path} was written by a later version of Rote"):
            use()
        assert path.read_bytes() == before
