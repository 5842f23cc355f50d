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
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import deadly_study
import pytest
import tiny_study
from rich.console import Console

from rote.errors import InterruptedRunError, RunFailedError, UsageError
from rote.laboratory import Display, Laboratory
from rote.laboratory.orders import Order, Orders
from rote.laboratory.perform import code_for
from rote.laboratory.processes import starter
from rote.laboratory.supervisor import Supervisor
from rote.store import FinishedRun, Record, Request, Store

QUICK: dict[str, object] = {"seeds": 3, "steps": 2}
# A training and the measurement that needs it.
FAILED = r"2 of 10 runs failed\. Its worker died 3 times \(exit code -9\)\. \(2 runs, first"

ONE_STEP = tiny_study.TinyRecipe(steps=1)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def orders_of(recipe: tiny_study.TinyRecipe, seeds: Iterable[int]) -> list[Order]:
    """Of the trainings alone."""
    return [Order(job.request, {}, "cpu", code_for(job)) for seed in seeds for job in recipe.jobs((seed,))]


def performed(
    store: Store, workers: int, orders: Iterable[Order], display: Display | None = None
) -> dict[Request, str]:
    """Why those failed that did."""
    given = Orders(orders)
    Supervisor(store, workers, display or Display()).perform(given)
    return given.failures


def results(store: Store, recipe: str = "tiny") -> dict[int, bytes]:
    """Seed -> what its training wrote."""
    found = {}
    for path in store.root.glob(f"runs/{recipe}/*/record.json"):
        record = Record.read(path.parent)
        if record.request.part == "training" and record.status == "finished":
            (seed,) = record.request.seeds
            found[seed] = b"".join((path.parent / name).read_bytes() for name in sorted(record.files))
    return found


def records(store: Store, recipe: str) -> dict[int, Record]:
    """Seed -> the record of its training."""
    read = [Record.read(path.parent) for path in store.root.glob(f"runs/{recipe}/*/record.json")]
    return {record.request.seeds[0]: record for record in read if record.request.part == "training"}


def test_a_run_that_kills_its_worker_is_tried_three_times_then_marked_failed_and_the_others_go_on(
    store: Store, tmp_path: Path
) -> None:
    said = io.StringIO()
    laboratory = Laboratory(store, workers=2, display=Display(Console(file=said, width=200)))
    with pytest.raises(RunFailedError, match=FAILED):
        laboratory.run("deadly", overrides={"seeds": 5, "steps": 4})
    found = records(store, "deadly")
    bad = found.pop(deadly_study.ALWAYS)
    assert bad.status == "failed"
    assert bad.error is not None
    assert bad.error.endswith("Its worker died 3 times (exit code -9).")
    assert {record.status for record in found.values()} == {"finished"}
    measured = [row for row in store.runs() if row.part == "measurement"]
    assert [row.status for row in measured] == ["finished"] * 4
    assert min(found[2].resumed, found[3].resumed) >= 1
    # Any may also have been performed and not be durable yet when a run killed the worker, which happens four times.
    assert max(record.resumed for record in found.values()) <= 4 + 1
    assert said.getvalue().count("its run is taken up again") == 4  # twice for seed 1, once for 2 and 3
    undisturbed = Store(tmp_path / "undisturbed")
    Laboratory(undisturbed, workers=1).run("tiny", overrides={"seeds": 5, "steps": 4})
    expected = results(undisturbed)
    del expected[deadly_study.ALWAYS]
    assert results(store, "deadly") == expected


def test_a_run_that_was_not_durable_when_the_next_killed_its_worker_is_performed_again_and_not_blamed(
    store: Store, tmp_path: Path
) -> None:
    said = io.StringIO()
    seeds = (0, deadly_study.ONCE)
    orders = orders_of(deadly_study.LastingRecipe(), seeds)
    assert performed(store, 1, orders, Display(Console(file=said, width=200))) == {}
    found = records(store, "lasting")
    assert found.keys() == set(seeds)
    assert {(record.status, record.resumed) for record in found.values()} == {("finished", 1)}
    assert said.getvalue().count("its run is taken up again") == 1  # that of the run that killed it
    undisturbed = Store(tmp_path / "undisturbed")
    Laboratory(undisturbed, workers=1).run("tiny", overrides={"seeds": 3})
    expected = results(undisturbed)
    assert results(store, "lasting") == {seed: expected[seed] for seed in seeds}


def test_a_killed_fork_server_is_replaced_and_its_workers_go_on(store: Store) -> None:
    laboratory = Laboratory(store, workers=2)
    laboratory.run("tiny", overrides=QUICK)
    process = starter._forget.peek()[2][0]
    process.kill()
    process.wait()
    result = laboratory.run("tiny", overrides={**QUICK, "steps": 3})
    assert (result.computed, result.reused) == (6, 0)


def test_two_supervisors_share_the_work_and_no_run_is_computed_twice(store: Store) -> None:
    """As two commands do; each is told that everything is finished."""
    orders = orders_of(tiny_study.TinyRecipe(steps=3, pause=0.01), range(12))
    ends: list[dict[Request, str]] = []

    thread = threading.Thread(target=lambda: ends.append(performed(store, 1, orders[::-1])))
    thread.start()
    ends.append(performed(store, 2, orders))
    thread.join()
    assert ends == [{}, {}]
    found = records(store, "tiny")
    assert {(record.status, record.resumed) for record in found.values()} == {("finished", 0)}
    assert len(found) == 12


def test_a_run_that_another_process_has_finished_meanwhile_is_left_as_it_is(store: Store) -> None:
    from rote.errors import RunFinishedError
    from rote.laboratory.perform import perform

    (order,) = orders_of(ONE_STEP, [0])
    perform(store, order, "cpu", lambda done, total: None)
    before = times(store.folder(order.request))
    with pytest.raises(RunFinishedError):
        perform(store, order, "cpu", lambda done, total: None)
    assert times(store.folder(order.request)) == before


def test_code_that_ends_the_program_fails_its_run_and_no_worker() -> None:
    from rote.laboratory.perform import told_as_failures

    with pytest.raises(RunFailedError, match="SystemExit: no GPU"), told_as_failures():
        raise SystemExit("no GPU")


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != "lock"}


def test_a_run_that_another_process_is_writing_is_waited_for(store: Store) -> None:
    (order,) = orders_of(ONE_STEP, [0])
    held, release = store.open(order.request), threading.Event()
    held.__enter__()
    began = time.monotonic()
    threading.Timer(0.7, release.set).start()

    def let_go() -> None:
        release.wait()
        held.__exit__(None, None, None)

    thread = threading.Thread(target=let_go)
    thread.start()
    assert performed(store, 1, [order]) == {}
    thread.join()
    assert time.monotonic() - began > 0.7
    assert FinishedRun(store.folder(order.request)).record.resumed == 1


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_told_before_anything_starts(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(file: Any, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match=r"does not keep locks.* set ROTE_HOME \(or --store\) to a folder"):
        Laboratory(store, workers=2).run("tiny", overrides=QUICK)
    assert list(store.root.rglob("*")) == [store.root / "runs"]


def test_a_run_may_ask_for_more_threads_and_then_fewer_are_performed_at_once(store: Store) -> None:
    result = Laboratory(store, workers=4).run("threaded", overrides=QUICK)
    trained = [need for run in result.run.record.uses for need in store.load(run).record.uses]
    assert len(trained) == 3
    for run in trained:
        assert store.load(run).record.randomness == {"threads": 2}


def test_the_dashboard_has_a_line_for_each_worker_with_its_run_and_one_for_all(store: Store) -> None:
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=120)
    with Display(console) as display:
        Laboratory(store, workers=2, display=display).run("tiny", overrides={"seeds": 4, "steps": 4, "pause": 0.2})
        assert display.bars is not None
        assert display.bars.tasks == []  # every line goes with its worker
    shown = terminal.getvalue()
    for words in ("worker 1: tiny training, seed", "worker 2: tiny training, seed", "/8", "runs"):
        assert words in shown


def test_a_run_that_is_durable_at_once_is_said_to_be_performed_before_it_is_said_to_be_finished(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads say these; the other way round, the supervisor took the first for the end of the next run."""
    from rote.laboratory.worker import Worker
    from rote.store.commit import Commits

    add = Commits.add
    monkeypatch.setattr(Commits, "add", lambda self, run, held: (add(self, run, held), self.commit()))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for order in orders_of(ONE_STEP, range(2)):
            plain = {**order.to_plain(), "store": str(store.root)}
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
    first, second = (Order(Request("tiny", 1, "training", {}, (seed,)), {}, "") for seed in range(2))
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
    start, started = threading.Thread.start, list[threading.Thread]()

    def interrupted(thread: threading.Thread) -> None:
        if started:
            raise KeyboardInterrupt
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(InterruptedRunError, match="keeps its last step"):
        performed(store, 2, orders_of(ONE_STEP, range(2)))
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
    assert "ive the same command again to go on" in process.communicate(timeout=300)[1]
    assert process.returncode == 130
    end = time.monotonic() + 300
    while any(Path(f"/proc/{child}").exists() for child in children):  # one whose import goes on ends after it
        assert time.monotonic() < end
        time.sleep(0.05)
