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

import dask.config
import deadly_study
import distributed
import pytest
from rich.console import Console
from test_workers import FAILED, records, results

from rote import plugins
from rote.errors import InterruptedRunError, RunFailedError, UsageError
from rote.laboratory import Display, Laboratory, cluster, members, remote, studies
from rote.recipes import measurements
from rote.store import Record, Store

ENVIRONMENT = {
    **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "6s",  # instead of 30, for a worker that was killed
}  # fmt: skip


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

    def start_worker(self, first: str = "pass") -> subprocess.Popen[bytes]:
        """A machine with two places; ``first``: what is different there."""
        program = f"from rote.laboratory import remote; {first}; from rote.cli import main; main()"
        return self._start([sys.executable, "-c", program, "worker", self.address, "--workers", "2"])

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
        end = time.monotonic() + 300
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
        end = time.monotonic() + 300
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
    assert (result.computed, results(store)) == (10, undisturbed)
    assert {record.resumed for record in records(store, "tiny").values()} == {0}
    assert not list(store.root.glob(".shared-*"))
    assert Laboratory(store, cluster=machines.address).run("tiny", overrides={"seeds": 5}).computed == 0


def test_a_worker_that_does_not_see_the_store_sends_its_results_back(
    store: Store, machines: Machines, undisturbed: dict[int, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.Cluster, "_token", lambda self: contextlib.nullcontext("no-such-token"))
    assert Laboratory(store, cluster=machines.address).run("tiny", overrides={"seeds": 5}).computed == 10
    assert results(store) == undisturbed


def test_a_killed_worker_s_run_is_taken_up_from_its_checkpoint_by_another(store: Store, machines: Machines) -> None:
    killed: list[Path] = []

    def kill() -> None:
        """The worker whose run has a checkpoint. Its run loses the line to it, and stops after its step."""
        (checkpoint, *_) = store.root.glob("runs/tiny/*/checkpoint-00000001.json")
        killed.append(checkpoint.parent)
        run = int((checkpoint.parent / "lock").read_text().split()[1])
        os.kill(parent(parent(run)), signal.SIGKILL)  # the fork server's
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
    command.join(300)
    assert not command.is_alive()
    assert len(results(store)) == 4


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_a_run_that_kills_its_process_is_tried_three_times_and_marked_and_the_others_go_on(
    store: Store, machines: Machines
) -> None:
    with pytest.raises(RunFailedError, match=FAILED):
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
    assert result.computed == 8
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


OTHER = "there = dict(remote.versions(), torch='1.0'); remote.versions = lambda: there"


def test_a_worker_that_is_frozen_and_one_of_another_version_are_named_and_the_others_do_the_work(
    store: Store, machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins, is frozen, and when it answers again it is of another version."""
    monkeypatch.setattr(members, "SILENT", 1.0)
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.2)
    said = io.StringIO()
    display = Display(Console(file=said, width=400))
    with distributed.Client(machines.address, set_as_default=False) as client:
        before = len(client.scheduler_info()["workers"])
        other = machines.start_worker(OTHER)
        client.wait_for_workers(before + 1)
    other.send_signal(signal.SIGSTOP)
    frozen = re.compile(r"The worker at tcp://\S+ has not answered for 1 s: it is frozen")
    thread = when(lambda: bool(frozen.search(said.getvalue())), lambda: other.send_signal(signal.SIGCONT))
    overrides: dict[str, object] = {"seeds": 2, "steps": 60, "pause": 0.05}
    assert Laboratory(store, cluster=machines.address, display=display).run("tiny", overrides=overrides).computed == 4
    thread.join()
    assert frozen.search(said.getvalue())
    skipped = r"The worker on tcp://\S+ has torch 1.0; this command has torch .*It is not used"
    assert len(re.findall(skipped, said.getvalue())) == 1
    other.kill()
    other.wait()


def test_code_of_one_s_own_is_sent_and_an_edited_one_does_not_get_what_the_worker_has_imported_before(
    store: Store, machines: Machines, tmp_path: Path
) -> None:
    found = []
    for value in (1, 2):
        (tmp_path / "sent_study.py").write_text(SENT.format(value=value))
        sys.modules.pop("sent_study", None)
        (name,) = plugins.load([str(tmp_path / "sent_study.py")])
        result = Laboratory(store, cluster=machines.address).run("sent", overrides={"seeds": 2})
        found.append((result.computed, result.run.tables()["ends"].column("value")))
    for registry in (studies, measurements):
        del registry._registered["sent"], registry._loaded["sent"]
    del sys.modules[name]
    assert found == [(4, [1, 1]), (2, [2, 2])]  # the edited one has the trainings


SENT = """
from dataclasses import dataclass
from tiny_study import Tiny, TinyMeasurement
from rote.recipes import measurements
from rote.store import Column, Table
from rote.laboratory import studies

@measurements.register("sent")
@dataclass(frozen=True)
class SentMeasurement(TinyMeasurement):
    name = "sent"

    def measure(self, trained, run, progress, device):
        row = {{"value": {value}, "measured": [], "kept": []}}
        return [Table.make("chain", "The end", tuple(map(Column, row)), [row])]

@studies.register("sent")
class Sent(Tiny):
    name = "sent"

    def jobs(self, config):
        return [SentMeasurement().of(job) for job in self.recipe(config).jobs(range(config.seeds))]
"""


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
        return getattr, (sys.modules["rote.laboratory.remote"], "versions")


def test_tls_without_certificates_is_told_in_one_line_by_command_and_worker(store: Store, tmp_path: Path) -> None:
    words = r"tls://127.0.0.1:1 needs certificates, and none are configured\. .*__CA_FILE, .*__{}__CERT"
    with pytest.raises(UsageError, match=words.format("CLIENT")):
        Laboratory(store, cluster="tls://127.0.0.1:1").run("tiny")
    with pytest.raises(UsageError, match=words.format("WORKER")):
        remote.join("tls://127.0.0.1:1", 1, print)
    with (
        dask.config.set({"distributed.comm.tls.ca-file": "gone", "distributed.comm.tls.client.cert": "gone"}),
        pytest.raises(UsageError, match=r"those that are configured cannot be read \(.*No such file"),
    ):
        Laboratory(store, cluster="tls://127.0.0.1:1").run("tiny")
    assert not store.root.exists()


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

        def __init__(self, python: str, scheduler_options: dict[str, str]) -> None:
            assert python.endswith(" -P")  # the jobs' folder is that of the command
            assert scheduler_options["dashboard_address"].startswith("127.0.0.1:")

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
