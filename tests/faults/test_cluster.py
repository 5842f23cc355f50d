"""Runs on a real dask scheduler and real workers, on loopback: a killed worker, a restarted scheduler, bad input."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import deadly_study
import pytest
from rich.console import Console
from test_workers import records, results

from rote.errors import InterruptedRunError, RunFailedError, UsageError
from rote.store import Record, Store
from rote.studies import Display, Laboratory, cluster, remote

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}


class Machines:
    """A scheduler, and workers that join it; each a process of its own."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start_scheduler()

    def start_scheduler(self) -> None:
        words = ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self._start([sys.executable, "-m", "dask", *words])
        self._until(self._answers)

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self._start([sys.executable, "-m", "rote.cli", "worker", self.address, "--workers", "2"])

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def _until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.fixture(scope="module")
def machines() -> Iterator[Machines]:
    machines = Machines()
    machines.start_worker()
    yield machines
    machines.close()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[int, bytes]:
    store = Store(tmp_path_factory.mktemp("undisturbed"))
    Laboratory(store, workers=1).run("tiny", overrides={"seeds": 5})
    return results(store)


def started(store: Store) -> bool:
    return bool(list(store.root.glob("runs/tiny/*/checkpoint-00000001.json")))


def when(condition: Callable[[], bool], action: Callable[[], object]) -> threading.Thread:
    def wait() -> None:
        end = time.monotonic() + 60
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        action()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_a_study_on_a_cluster_gives_the_bytes_that_it_gives_here(
    store: Store, machines: Machines, undisturbed: dict[int, bytes]
) -> None:
    said = io.StringIO()
    laboratory = Laboratory(store, cluster=machines.address, display=Display(Console(file=said, width=200)))
    result = laboratory.run("tiny", overrides={"seeds": 5})
    assert (result.computed, results(store)) == (5, undisturbed)
    assert {record.resumed for record in records(store, "tiny").values()} == {0}
    assert not list(store.root.glob(".shared-*"))
    assert Laboratory(store, cluster=machines.address).run("tiny", overrides={"seeds": 5}).computed == 0


def test_a_worker_that_does_not_see_the_store_sends_its_results_back(
    store: Store, machines: Machines, undisturbed: dict[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.Cluster, "_token", lambda self: contextlib.nullcontext("no-such-token"))
    assert Laboratory(store, cluster=machines.address).run("tiny", overrides={"seeds": 5}).computed == 5
    assert results(store) == undisturbed


def test_a_killed_worker_s_run_is_taken_up_from_its_checkpoint_by_another(store: Store, machines: Machines) -> None:
    killed: list[Path] = []

    def kill() -> None:
        """The worker whose run has a checkpoint. Its run loses the line to it, and stops after its step."""
        (checkpoint, *_) = store.root.glob("runs/tiny/*/checkpoint-00000001.json")
        killed.append(checkpoint.parent)
        run = int((checkpoint.parent / "lock").read_text().split()[1])
        os.kill(parent(parent(run)), signal.SIGKILL)  # the nursery's
        machines.start_worker()

    thread = when(lambda: started(store), kill)
    overrides: dict[str, object] = {"seeds": 4, "steps": 30, "pause": 0.05}
    Laboratory(store, cluster=machines.address).run("tiny", overrides=overrides)
    thread.join()
    assert Record.read(killed[0]).resumed > 0
    assert len(results(store)) == 4


def test_what_only_a_killed_worker_had_is_sent_to_another(
    store: Store, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.Cluster, "_token", lambda self: contextlib.nullcontext("no-such-token"))
    begun, told = threading.Event(), cluster.Cluster._told

    def heard(self: cluster.Cluster, event: tuple[float, dict[str, object]]) -> None:
        if self.blind:
            begun.set()
        told(self, event)

    def kill() -> None:
        for process in machines.processes:
            if process is not machines.scheduler:
                process.kill()
        machines.start_worker()

    monkeypatch.setattr(cluster.Cluster, "_told", heard)
    overrides: dict[str, object] = {"seeds": 4, "steps": 30, "pause": 0.05}
    laboratory = Laboratory(store, cluster=machines.address)
    # In a thread, because what is not sent again is waited for, for ever.
    command = threading.Thread(target=laboratory.run, args=("tiny",), kwargs={"overrides": overrides}, daemon=True)
    command.start()
    when(begun.is_set, kill).join()
    command.join(60)
    assert not command.is_alive()
    assert len(results(store)) == 4


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_a_run_that_kills_its_process_is_tried_three_times_and_marked_and_the_others_go_on(
    store: Store, machines: Machines
) -> None:
    with pytest.raises(RunFailedError, match=r"1 of 5 runs failed\. Its worker died 3 times \(exit code -9\)\."):
        Laboratory(store, cluster=machines.address).run("deadly", overrides={"seeds": 5, "steps": 4})
    found = records(store, "deadly")
    assert found[deadly_study.ALWAYS].status == "failed"
    assert found.pop(deadly_study.ALWAYS).error is not None
    assert {record.status for record in found.values()} == {"finished"}


def test_a_scheduler_that_is_restarted_gets_what_is_unfinished_again(store: Store, machines: Machines) -> None:
    said = io.StringIO()

    def restart() -> None:
        machines.scheduler.kill()
        machines.scheduler.wait()
        machines.start_scheduler()

    thread = when(lambda: started(store), restart)
    laboratory = Laboratory(store, cluster=machines.address, display=Display(Console(file=said, width=200)))
    result = laboratory.run("tiny", overrides={"seeds": 4, "steps": 30, "pause": 0.05})
    thread.join()
    assert "going on when it is back" in said.getvalue()
    assert result.computed == 4
    assert {record.status for record in records(store, "tiny").values()} == {"finished"}


def test_ctrl_c_stops_every_run_after_its_step_and_the_same_command_goes_on_without_the_cluster(
    store: Store, machines: Machines
) -> None:
    overrides: dict[str, object] = {"seeds": 3, "steps": 40, "pause": 0.05}
    thread = when(lambda: started(store), lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(InterruptedRunError, match="every run keeps its last step"):
        Laboratory(store, cluster=machines.address).run("tiny", overrides=overrides)
    thread.join()
    assert "interrupted" in {record.status for record in records(store, "tiny").values()}
    assert "started" not in {record.status for record in records(store, "tiny").values()}
    Laboratory(store, workers=1).run("tiny", overrides=overrides)
    assert len(results(store)) == 3


# --- bad input -----------------------------------------------------------------------------------------------------


def test_a_scheduler_that_does_not_answer_is_told_in_seconds_and_nothing_is_started(store: Store) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(UsageError, match=rf"No scheduler answers at {address} .*Start one with: dask scheduler"):
        Laboratory(store, cluster=address).run("tiny")
    assert not store.root.exists()


@pytest.mark.parametrize("address", ["8786", "tcp://", "tcp://host", "host:8786", "http://host:80", "slrum"])
def test_an_address_that_is_none_is_refused(store: Store, address: str) -> None:
    with pytest.raises(UsageError, match=r"Expected a scheduler as tcp://HOST:PORT .*Got"):
        Laboratory(store, cluster=address)


def test_workers_of_another_version_are_refused_before_anything_starts(
    store: Store, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = remote.versions()
    monkeypatch.setattr(remote, "versions", Versions({**here, "torch": "1.0", "Python": "3.99"}))
    words = rf"has torch {re.escape(here['torch'])}, Python 3.11; this command has torch 1.0, Python 3.99. Install the"
    with pytest.raises(UsageError, match=words):
        Laboratory(store, cluster=machines.address).run("tiny")
    assert not list(store.root.glob("runs/*/*"))  # the workers may have come after the store was looked at


class Versions:
    """Ours are faked; what is sent to the workers is the real function."""

    def __init__(self, ours: dict[str, str]) -> None:
        self.ours = ours

    def __call__(self) -> dict[str, str]:
        return self.ours

    def __reduce__(self) -> Any:
        return getattr, (sys.modules["rote.studies.remote"], "versions")


def test_slurm_without_dask_jobqueue_says_what_to_install(store: Store) -> None:
    with pytest.raises(UsageError, match="pip install dask-jobqueue"):
        Laboratory(store, cluster="slurm").run("tiny")
    assert not store.root.exists()


def test_slurm_starts_as_many_jobs_as_workers_and_uses_their_scheduler(
    store: Store, machines: Machines, undisturbed: dict[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled: list[int] = []

    class SLURMCluster:
        scheduler_address = machines.address

        def __enter__(self) -> SLURMCluster:
            return self

        def __exit__(self, *_: object) -> None:
            scaled.append(-1)

        def scale(self, jobs: int) -> None:
            scaled.append(jobs)

    fake = ModuleType("dask_jobqueue")
    fake.SLURMCluster = SLURMCluster
    monkeypatch.setitem(sys.modules, "dask_jobqueue", fake)
    Laboratory(store, cluster="slurm", workers=3).run("tiny", overrides={"seeds": 5})
    assert (results(store), scaled) == (undisturbed, [3, -1])
