"""Worker processes of one machine: one that dies, one that is asked to stop, two supervisors, and what they show."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path
from typing import Any

import deadly_study
import pytest
import tiny_study
from rich.console import Console

from rote.errors import InterruptedRunError, RunFailedError, UsageError
from rote.store import FinishedRun, Record, Request, Store
from rote.studies import Display, Laboratory
from rote.studies.orders import Order, Orders
from rote.studies.processes import nursery
from rote.studies.supervisor import Supervisor

QUICK: dict[str, object] = {"seeds": 3, "steps": 2}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def results(store: Store, study: str = "tiny") -> dict[int, bytes]:
    """Seed -> its result and metrics."""
    found = {}
    for path in store.root.glob(f"runs/{study}/*/record.json"):
        record = Record.read(path.parent)
        if record.request.part == "chain" and record.status == "finished":
            (seed,) = record.request.seeds
            found[seed] = b"".join((path.parent / name).read_bytes() for name in ("result.json", "metrics.jsonl"))
    return found


def records(store: Store, study: str) -> dict[int, Record]:
    read = [Record.read(path.parent) for path in store.root.glob(f"runs/{study}/*/record.json")]
    return {record.request.seeds[0]: record for record in read if record.request.part == "chain"}


def test_a_run_that_kills_its_worker_is_tried_three_times_then_marked_failed_and_the_others_go_on(
    store: Store, tmp_path: Path
) -> None:
    said = io.StringIO()
    laboratory = Laboratory(store, workers=2, display=Display(Console(file=said, width=200)))
    with pytest.raises(RunFailedError, match=r"1 of 5 runs failed\. Its worker died 3 times \(exit code -9\)\."):
        laboratory.run("deadly", overrides={"seeds": 5, "steps": 4})
    found = records(store, "deadly")
    bad = found.pop(deadly_study.ALWAYS)
    assert bad.status == "failed"
    assert bad.error is not None
    assert bad.error.endswith("Its worker died 3 times (exit code -9).")
    assert {record.status for record in found.values()} == {"finished"}
    assert {seed: record.resumed for seed, record in found.items()} == {0: 0, 2: 1, 3: 1, 4: 0}
    assert said.getvalue().count("its run is taken up again") == 4  # twice for seed 1, once for 2 and 3
    undisturbed = Store(tmp_path / "undisturbed")
    Laboratory(undisturbed, workers=1).run("tiny", overrides={"seeds": 5, "steps": 4})
    expected = results(undisturbed)
    del expected[deadly_study.ALWAYS]
    assert results(store, "deadly") == expected


def test_a_killed_nursery_is_replaced_and_its_workers_go_on(store: Store) -> None:
    laboratory = Laboratory(store, workers=2)
    laboratory.run("tiny", overrides=QUICK)
    process = nursery._forget.peek()[2][0]
    process.kill()
    process.wait()
    result = laboratory.run("tiny", overrides={**QUICK, "steps": 3})
    assert (result.computed, result.reused) == (3, 0)


def test_two_supervisors_share_the_work_and_no_run_is_computed_twice(store: Store) -> None:
    """As two commands do; each is told that everything is finished, and both find the same summary."""
    config = tiny_study.TinyConfig(steps=3, pause=0.01)
    requests = [tiny_study.Tiny().request("chain", config, (seed,)) for seed in range(12)]
    orders = [Order(request, {}, "tiny_study", "cpu") for request in requests]
    ends: list[dict[Request, str]] = []

    thread = threading.Thread(target=lambda: ends.append(Supervisor(store, 1, Display()).perform(orders[::-1])))
    thread.start()
    ends.append(Supervisor(store, 2, Display()).perform(orders))
    thread.join()
    assert ends == [{}, {}]
    found = records(store, "tiny")
    assert {(record.status, record.resumed) for record in found.values()} == {("finished", 0)}
    assert len(found) == 12


def test_a_run_that_another_process_has_finished_meanwhile_is_left_as_it_is(store: Store) -> None:
    from rote.errors import RunFinishedError
    from rote.studies.perform import perform

    request = tiny_study.Tiny().request("chain", tiny_study.TinyConfig(steps=1), (0,))
    perform(store, request, {}, "cpu", lambda done, total: None)
    before = times(store.folder(request))
    with pytest.raises(RunFinishedError):
        perform(store, request, {}, "cpu", lambda done, total: None)
    assert times(store.folder(request)) == before


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != "lock"}


def test_a_run_that_another_process_is_writing_is_waited_for(store: Store) -> None:
    request = tiny_study.Tiny().request("chain", tiny_study.TinyConfig(steps=1), (0,))
    order = Order(request, {}, "tiny_study", "cpu")
    held, release = store.open(request), threading.Event()
    held.__enter__()
    threading.Timer(0.7, release.set).start()

    def let_go() -> None:
        release.wait()
        held.__exit__(None, None, None)

    thread = threading.Thread(target=let_go)
    thread.start()
    began = time.monotonic()
    assert Supervisor(store, 1, Display()).perform([order]) == {}
    thread.join()
    assert time.monotonic() - began > 0.7
    assert FinishedRun(store.folder(request)).record.resumed == 1


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_before_anything_starts(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(file: Any, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match=r"has no locks.* Set ROTE_HOME \(or --store\) to another one"):
        Laboratory(store, workers=2).run("tiny", overrides=QUICK)
    assert list(store.root.rglob("*")) == [store.root / "runs"]


def test_a_run_may_ask_for_more_threads_and_then_fewer_are_performed_at_once(store: Store) -> None:
    result = Laboratory(store, workers=4).run("threaded", overrides=QUICK)
    for run in result.summary.record.uses:
        assert store.load(run).record.randomness == {"threads": 2}


def test_the_dashboard_has_a_line_for_each_worker_with_its_run_and_one_for_all(store: Store) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=120)
    with Display(console) as display:
        Laboratory(store, workers=2, display=display).run("tiny", overrides={"seeds": 4, "steps": 4, "pause": 0.2})
        assert display.bars is not None
        assert display.bars.tasks == []  # every line goes with its worker
    shown = terminal.getvalue()
    for words in ("worker 1: tiny chain, seed", "worker 2: tiny chain, seed", "/4", "runs"):
        assert words in shown


def test_a_run_that_is_durable_at_once_is_said_to_be_performed_before_it_is_said_to_be_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads say these; the other way round, the supervisor took the first for the end of the next run."""
    from rote.store.commit import Commits
    from rote.studies.worker import Worker

    add = Commits.add
    monkeypatch.setattr(Commits, "add", lambda self, run, held: (add(self, run, held), self.commit()))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for seed in range(2):
            request = tiny_study.Tiny().request("chain", tiny_study.TinyConfig(steps=1), (seed,))
            plain = {**Order(request, {}, "tiny_study", "cpu").to_plain(), "store": str(store.root)}
            ours.sendall(json.dumps(plain).encode() + b"\n")
        ours.shutdown(socket.SHUT_WR)
        earlier = signal.getsignal(signal.SIGTERM)
        Worker(theirs).serve()
        signal.signal(signal.SIGTERM, earlier)
        theirs.shutdown(socket.SHUT_WR)
        with ours.makefile() as lines:
            said = [json.loads(line) for line in lines]
    statuses = [(message["run"], message["status"]) for message in said if "status" in message]
    assert [status for _, status in statuses] == ["performed", "finished"] * 2
    assert statuses[0][0] == statuses[1][0]


def test_orders_are_taken_once_settled_once_and_come_back_after_their_delay() -> None:
    first, second = (Order(Request("tiny", 1, "chain", {}, (seed,)), {}, "", "") for seed in range(2))
    orders = Orders([first, second])
    assert orders.take(wait=False) == first
    orders.put_back(first, 0.05)
    assert orders.take(wait=False) == second
    assert orders.take(wait=False) is None
    assert orders.take(wait=True) == first  # after its delay
    orders.settle(first)
    threading.Timer(0.05, orders.settle, (second,)).start()
    assert orders.take(wait=True) is None
    orders.stop()
    orders.put_back(second)
    assert orders.take(wait=True) is None


def test_ctrl_c_before_every_worker_has_its_thread_stops_those_that_have(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [tiny_study.Tiny().request("chain", tiny_study.TinyConfig(steps=1), (seed,)) for seed in range(2)]
    start, started = threading.Thread.start, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(InterruptedRunError, match="keeps its last step"):
        Supervisor(store, 2, Display()).perform([Order(request, {}, "tiny_study", "cpu") for request in requests])
    assert not started[0].is_alive()


def test_ctrl_c_while_torch_is_being_imported_ends_the_command_and_leaves_no_process(store: Store) -> None:
    import subprocess
    import sys

    program = "import tiny_study; from rote.cli import main; main()"
    words = ["run", "tiny", "seeds=2", "pause=1000", "--workers", "2", "--store", str(store.root)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not (children := Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert "ive the same command again to go on" in process.communicate(timeout=30)[1]
    assert process.returncode == 130
    end = time.monotonic() + 30
    while any(Path(f"/proc/{child}").exists() for child in children):  # one whose import goes on ends after it
        assert time.monotonic() < end
        time.sleep(0.05)
