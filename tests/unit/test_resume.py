"""A run that is stopped or fails goes on to the bytes that it would have written uninterrupted."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fragile_runs import CASES, EARLY, STACKED, Case, Fragile, essentials, finished
from torch import Tensor, nn

from rote.errors import InterruptedRunError, RunFailedError, UsageError
from rote.store import FinishedRun, Store
from rote.store.checkpoint import Checkpoints
from rote.store.metrics import Metrics
from rote.store.record import Record
from rote.store.weights import Weights
from rote.training import Program, TrainingConfig, early_stopping, loop, stop_on_signal, train

# --- would the tests of killed runs notice? Each piece of state left out on resume must change the result -----------


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As studies do it: torch's sums, and so the bits of a result, depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def checkpoint_at_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")


@pytest.fixture(scope="module")
def uninterrupted(one_thread: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    store = Store(tmp_path_factory.mktemp("uninterrupted"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
        return {name: finished(case, store) for name, case in CASES.items()}


def interrupt(case: Case, store: Store, at: int, how: Callable[[], object]) -> None:
    """Train ``case`` and call ``how`` within update number ``at``, after its random numbers are drawn."""

    class Interrupting(Case):
        def program(self) -> Program:
            program = super().program()
            losses = program.losses

            def interrupting(step: int) -> Tensor:
                value = losses(step)
                if step == at:
                    how()
                return value

            program.losses = interrupting
            return program

    Interrupting(**vars(case)).perform(store)


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def test_an_interrupted_run_is_taken_up_to_identical_bytes(
    tmp_path: Path, uninterrupted: dict[str, dict[str, bytes]]
) -> None:
    """Without killing: the quick form of this proof, and what the tests below change one thing in."""
    for name, at in (("early", 2), ("stacked", 2), ("long", 33)):
        store = Store(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            interrupt(CASES[name], store, at, raise_interrupt)
        assert finished(CASES[name], store) == uninterrupted[name]


def forget_random(kind: str) -> Callable[[pytest.MonkeyPatch], None]:
    def forget(patch: pytest.MonkeyPatch) -> None:
        restore = loop.restore_random_state

        def partly(state: dict[str, Any]) -> None:
            kept = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
            restore(state)
            {"python": random.setstate, "numpy": np.random.set_state, "torch": torch.set_rng_state}[kind](kept[kind])

        patch.setattr(loop, "restore_random_state", partly)

    return forget


def do_nothing(*_: object, **__: object) -> None:
    return None


@pytest.mark.parametrize(
    ("name", "forget"),
    [
        ("early", forget_random("python")),
        ("early", forget_random("numpy")),
        ("early", forget_random("torch")),
        ("early", lambda patch: patch.setattr(torch.optim.Adam, "load_state_dict", do_nothing)),
        ("stacked", lambda patch: patch.setattr(torch.optim.SGD, "load_state_dict", do_nothing)),
        ("early", lambda patch: patch.setattr(early_stopping.EarlyStopping, "load", do_nothing)),
        ("early", lambda patch: patch.setattr(nn.BatchNorm1d, "_load_from_state_dict", do_nothing)),
        ("stacked", lambda patch: patch.setattr(nn.ParameterList, "_load_from_state_dict", do_nothing)),
        ("early", lambda patch: patch.setattr(Metrics, "cut", do_nothing)),
    ],
    ids=["python", "numpy", "torch", "adam", "momentum", "early stopping", "buffers", "weights", "metrics"],
)
def test_the_proof_would_notice_if_one_piece_of_state_were_not_restored(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: dict[str, dict[str, bytes]],
    name: str,
    forget: Callable[[pytest.MonkeyPatch], None],
) -> None:
    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        interrupt(CASES[name], store, 2, raise_interrupt)
    if name == "early":  # rows of steps that are done again
        Metrics(store.folder(EARLY.request)).append({"step": 3, "loss": [1.0], "luck": 0.5})
    with monkeypatch.context() as patch:
        forget(patch)
        assert finished(CASES[name], store) != uninterrupted[name]


# --- Ctrl-C and SIGTERM ------------------------------------------------------------------------------------------


@pytest.fixture
def guarded() -> Iterator[Callable[..., None]]:
    """Handlers that make a signal that the loop did not take a failure, and not the end of the test run."""

    def unexpected(number: int, frame: object) -> None:
        raise AssertionError(f"the loop did not take signal {number}")

    earlier = {number: signal.signal(number, unexpected) for number in (signal.SIGINT, signal.SIGTERM)}
    yield unexpected
    for number, handler in earlier.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_after_its_step_and_the_run_goes_on_to_identical_bytes(
    tmp_path: Path, guarded: Callable[..., None], uninterrupted: dict[str, dict[str, bytes]], number: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "1000")  # so that only the signal can be the reason of a checkpoint
    store, case = Store(tmp_path), CASES["long"]
    with pytest.raises(InterruptedRunError, match="Stopped after step 12 of 40; it is kept"):
        interrupt(case, store, 11, lambda: os.kill(os.getpid(), number))
    assert signal.getsignal(number) is guarded
    (row,) = store.runs()
    assert row.status == "interrupted"
    assert Checkpoints(store.folder(case.request)).steps() == [0, 8, 12]  # two snapshots, and the step of the signal
    with store.open(case.request) as run:
        assert run.resume() is not None
    assert finished(case, store) == uninterrupted["long"]


def test_a_second_signal_ends_a_run_at_once(tmp_path: Path, guarded: Callable[..., None]) -> None:
    store, case = Store(tmp_path), CASES["long"]

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        interrupt(case, store, 7, twice)
    assert Checkpoints(store.folder(case.request)).steps()[-1] == 7  # update 7 was not finished
    assert [row.status for row in store.runs()] == ["interrupted"]
    assert signal.getsignal(signal.SIGINT) is guarded


def test_a_signal_during_the_last_step_does_not_throw_the_finished_run_away(
    tmp_path: Path, guarded: Callable[..., None], uninterrupted: dict[str, dict[str, bytes]]
) -> None:
    for name, at in (("stacked", 3), ("early", 2)):
        store = Store(tmp_path)
        interrupt(CASES[name], store, at, lambda: os.kill(os.getpid(), signal.SIGINT))
        assert essentials(store.folder(CASES[name].request)) == uninterrupted[name]


def test_signals_are_left_alone_outside_the_main_thread() -> None:
    seen: list[Any] = []

    def use() -> None:
        with stop_on_signal() as stop:
            seen.append((stop.requested, signal.getsignal(signal.SIGTERM)))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [(False, signal.getsignal(signal.SIGTERM))]


# --- failing, and being run again --------------------------------------------------------------------------------


def test_a_program_that_fails_is_recorded_with_its_traceback_and_can_be_run_again_from_its_checkpoint(
    tmp_path: Path, uninterrupted: dict[str, dict[str, bytes]]
) -> None:
    store, case = Store(tmp_path), CASES["long"]

    def fail() -> None:
        raise ZeroDivisionError("in the program")

    with pytest.raises(ZeroDivisionError):
        interrupt(case, store, 20, fail)
    record = Record.read(store.folder(case.request))
    assert record.status == "failed"
    assert record.error is not None
    assert "interrupting" in record.error  # the frame where it happened
    assert record.error.endswith("ZeroDivisionError: in the program")
    done: list[int] = []
    case.perform(store, lambda step, total: done.append(step))
    assert done[0] == 20
    assert essentials(store.folder(case.request)) == uninterrupted["long"]
    assert FinishedRun(store.folder(case.request)).record.error is None


def test_a_run_whose_every_replica_diverged_fails_with_advice_and_one_with_some_left_goes_on(tmp_path: Path) -> None:
    class Diverging(Fragile):
        replicas = 2

        def __init__(self, values: list[float]) -> None:
            super().__init__(0)
            self.values = values

        def measure(self) -> dict[str, Any]:
            return {"loss": self.values}

    store, config = Store(tmp_path), TrainingConfig(steps=2)
    with store.open(EARLY.request) as run:
        train(Diverging([float("nan"), 0.5]), config, run)
        assert [row["loss"] for row in run.metrics.rows()] == [[None, 0.5]] * 3
    with (
        pytest.raises(RunFailedError, match=r"At step 0 'loss' is not finite\. Try a lower"),
        store.open(STACKED.request) as run,
    ):
        train(Diverging([float("nan"), float("inf")]), config, run)
    assert sorted(row.status for row in store.runs()) == ["failed", "interrupted"]


def test_a_finished_run_that_is_opened_again_keeps_its_bytes(
    tmp_path: Path, uninterrupted: dict[str, dict[str, bytes]]
) -> None:
    store = Store(tmp_path)
    for name in ("early", "stacked"):
        for _ in range(3):
            assert finished(CASES[name], store) == uninterrupted[name]


# --- what the loop does between the checkpoints ------------------------------------------------------------------


def test_the_number_of_checkpoints_does_not_change_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: dict[str, dict[str, bytes]]
) -> None:
    """Saving must not draw random numbers or touch the model."""
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "1000")
    for name, case in CASES.items():
        assert finished(case, Store(tmp_path)) == uninterrupted[name]


def test_a_frozen_part_of_a_model_stays_in_evaluation_mode_through_measurements_and_resumption(tmp_path: Path) -> None:
    class PartlyFrozen(Fragile):
        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            self.model[1].eval()  # batch statistics fixed
            self.seen: list[list[bool]] = []

        def losses(self, step: int) -> Tensor:
            self.seen.append([module.training for module in self.model])
            if step == 3 and len(self.seen) == 4:
                raise KeyboardInterrupt
            return super().losses(step)

        def measure(self) -> dict[str, Any]:
            assert not any(module.training for module in self.model)
            return super().measure()

    store, config = Store(tmp_path), TrainingConfig(steps=6)
    for expected in (4, 3):
        program = PartlyFrozen(1)
        try:
            with store.open(EARLY.request) as run:
                train(program, config, run)
        except KeyboardInterrupt:
            pass
        assert program.seen == [[True, False, True, True, True]] * expected


@pytest.mark.parametrize(
    ("interval", "cost", "since", "due"),
    [
        ("0", 100.0, 0.0, True),  # each step, whatever it costs
        ("30", 0.0, 29.0, False),
        ("30", 0.0, 31.0, True),
        ("30", 2.0, 99.0, False),  # 2 s each: at most 2 % of the time, so every 100 s
        ("30", 2.0, 101.0, True),
    ],
)
def test_checkpoints_are_due_by_the_clock_but_never_take_more_than_their_share(
    monkeypatch: pytest.MonkeyPatch, interval: str, cost: float, since: float, due: bool
) -> None:
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", interval)
    timer = loop._CheckpointTimer()
    timer.cost = cost
    timer.last -= since
    assert timer.due() is due


def test_a_checkpoint_interval_that_is_no_number_is_refused_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "often")
    with pytest.raises(
        UsageError, match=r"ROTE_CHECKPOINT_SECONDS must be a number of seconds, at least 0\. Got 'often'"
    ):
        EARLY.perform(Store(tmp_path))


def test_snapshots_and_the_last_step_keep_their_weights_and_no_other_does(tmp_path: Path) -> None:
    case = CASES["long"]
    finished(case, Store(tmp_path))
    run = FinishedRun(Store(tmp_path).folder(case.request))
    assert Weights(run.folder).steps() == [0, 8, 16, 40]
    assert Checkpoints(run.folder).steps() == []
    weights = [run.checkpoint(step)["model"]["weights.0"] for step in (0, 8, 16, 40)]
    assert len({weight.sum().item() for weight in weights}) == 4
    assert torch.equal(weights[0], case.program().model.state_dict()["weights.0"])
