"""Runs that are killed at chosen moments, and what became of them. Started by test_resume.py as a process of its own:

    python killed_runs.py CASE FOLDER        prints one JSON document

It imports torch once and forks a child for each killing, so that hundreds of moments take seconds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.errors import InterruptedRunError
from rote.store import Column, FinishedRun, Request, Run, Store, Table, commit
from rote.store.checkpoint import Checkpoints
from rote.training import Program, TrainingConfig, train


class Fragile(Program):
    """Small, but every kind of state matters: dropout, batch statistics, and all three generators of random numbers."""

    def __init__(self, seed: int) -> None:
        own = torch.Generator().manual_seed(seed)
        self.model = nn.Sequential(
            nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Tanh(), nn.Linear(6, 1)
        )  # fmt: skip
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.copy_(torch.rand(parameter.shape, generator=own) - 0.5)
        self.fixed = torch.randn(16, 4, generator=own)

    def losses(self, step: int) -> Tensor:
        shift = random.gauss(0.0, 1.0) + float(np.random.normal())  # both keep half of each pair of numbers for later
        inputs = torch.randn(8, 4) + 0.1 * shift
        return self._loss(inputs)

    def measure(self) -> dict[str, Any]:
        return {"loss": (self._loss(self.fixed) + 0.3 * np.random.normal()).tolist(), "luck": random.random()}

    def _loss(self, inputs: Tensor) -> Tensor:
        return (self.model(inputs) - inputs.prod(1, keepdim=True)).square().mean().reshape(1)


@dataclasses.dataclass(frozen=True)
class Case:
    """One way of training, as short as it can be with everything happening in it."""

    name: str
    training: TrainingConfig
    seeds: tuple[int, ...]
    snapshots: tuple[int, ...] = ()

    @property
    def request(self) -> Request:
        return Request("killed", 1, self.name, {"steps": self.training.steps}, self.seeds)

    def program(self) -> Program:
        if self.name.startswith("fragile"):
            return Fragile(self.seeds[0])
        from rote.studies.resistance.plane import PlaneConfig
        from rote.studies.resistance.plane_training import PlaneProgram
        from rote.tasks.plane import PlaneTask

        return PlaneProgram(PlaneTask(), PlaneConfig(training=self.training), self.seeds, "cpu")

    def perform(self, store: Store, progress: Callable[[int, int], None] | None = None) -> Path:
        with store.open(self.request) as run:
            program = self.program()
            train(program, self.training, run, progress=progress, snapshots=self.snapshots)
            run.finish([table_of(program, run)])
        return store.folder(self.request)


def table_of(program: Program, run: Run) -> Table:
    rows = [{"name": name, "value": value.double().sum().item()} for name, value in program.model.state_dict().items()]
    rows += [{"name": f"step {row['step']}", "value": row["loss"][0]} for row in run.metrics.rows()]
    return Table.make("weights", "Weights", [Column("name", role="label"), Column("value")], rows)


# Stops early, after its best weights: the last step saves other weights than those of that step.
EARLY = Case(
    "fragile early",
    TrainingConfig(
        steps=30, optimizer="adam", learning_rate=0.05, schedule="exponential", decay=0.5, decay_every=4, clip=0.5,
        record_every=1, patience=2,
    ),
    seeds=(4,),
)  # fmt: skip
# Goes to the end, several networks in one program, some checkpoints to be kept.
STACKED = Case(
    "stacked",
    TrainingConfig(
        steps=4, batch=4, momentum=0.9, weight_decay=0.01, schedule="staircase", decay_every=2, clip=0.1, record_every=2
    ),
    seeds=(3, 5),
    snapshots=(0, 2),
)
LONG = dataclasses.replace(STACKED, training=dataclasses.replace(STACKED.training, steps=40), snapshots=(0, 8, 16))
CASES = {"early": EARLY, "stacked": STACKED, "long": LONG}


class Reaper:
    """Counts the calls that touch the disk below ``root`` and kills this process before call number ``at``.

    how: "kill" (SIGKILL); "half" (a write is killed when half of it is on disk); "data lost" (a power failure: what was
    written and not synced is gone); "all lost" (the same, and names that were changed and not synced are as before).
    """

    def __init__(self, root: Path, at: int = -1, how: str = "kill") -> None:
        self.root, self.at, self.how = root, at, how
        self.calls: list[str] = []
        self.synced = {path.stat().st_ino: path.stat().st_size for path in root.rglob("*") if path.is_file()}
        self.undo: list[Callable[[], object]] = []
        self.real = {name: getattr(os, name) for name in ("open", "replace", "fsync", "unlink", "mkdir")}
        self.real_open, self.real_sync = io.open, commit.sync_file_system

    @contextlib.contextmanager
    def watching(self) -> Iterator[Reaper]:
        for name in self.real:
            setattr(os, name, getattr(self, name))
        io.open, commit.sync_file_system = self.file, self.sync_all
        try:
            yield self
        finally:
            self.restore()

    def restore(self) -> None:
        for name, function in self.real.items():
            setattr(os, name, function)
        io.open, commit.sync_file_system = self.real_open, self.real_sync

    def tick(self, call: str, path: Any) -> None:
        if self.below(path):
            if len(self.calls) == self.at and self.how != "half":
                self.die()
            self.calls.append(f"{call} {Path(path).name}")

    def below(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and Path(os.fspath(path)).is_relative_to(self.root)

    def die(self) -> None:
        self.restore()
        if self.how == "all lost":
            for step in reversed(self.undo):
                step()
        if self.how in ("data lost", "all lost"):
            for path in self.root.rglob("*"):
                if path.is_file() and path.stat().st_size > self.synced.get(path.stat().st_ino, 0):
                    os.truncate(path, self.synced.get(path.stat().st_ino, 0))
        os.kill(os.getpid(), signal.SIGKILL)

    # The calls themselves. ``undo`` is what the last sync of the folder does not cover.

    def open(self, path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if not flags & os.O_CREAT:
            return int(self.real["open"](path, flags, *rest, **named))
        self.tick("create", path)
        self.created(path)
        new = self.below(path) and not os.path.exists(path)
        descriptor = int(self.real["open"](path, flags, *rest, **named))
        if new:  # perhaps with the number of a file that is gone, and was synced
            self.synced[os.fstat(descriptor).st_ino] = 0
        return descriptor

    def created(self, path: Any) -> None:
        if self.below(path) and not os.path.exists(path):
            self.undo.append(lambda: Path(path).exists() and self.real["unlink"](path))

    def replace(self, source: Any, target: Any) -> None:
        self.tick("replace", target)
        before = Path(target).read_bytes() if os.path.exists(target) else None

        def undo() -> None:
            os.rename(target, source)
            if before is not None:
                Path(target).write_bytes(before)
                self.synced[Path(target).stat().st_ino] = len(before)

        self.undo.append(undo)
        self.real["replace"](source, target)

    def unlink(self, path: Any, **named: Any) -> None:
        self.tick("unlink", path)
        if self.below(path) and os.path.exists(path):
            data = Path(path).read_bytes()

            def undo() -> None:
                Path(path).write_bytes(data)
                self.synced[Path(path).stat().st_ino] = len(data)

            self.undo.append(undo)
        self.real["unlink"](path, **named)

    def mkdir(self, path: Any, *rest: Any, **named: Any) -> None:
        self.tick("mkdir", path)
        self.real["mkdir"](path, *rest, **named)

    def fsync(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.tick("fsync", path)
        self.real["fsync"](descriptor)
        if os.path.isdir(path):
            self.undo.clear()
        else:
            self.synced[os.fstat(descriptor).st_ino] = os.fstat(descriptor).st_size

    def sync_all(self, folder: Path) -> None:
        self.tick("fsync", folder)
        self.undo.clear()
        self.synced = {path.stat().st_ino: path.stat().st_size for path in self.root.rglob("*") if path.is_file()}

    def file(self, path: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        if not any(letter in mode for letter in "wax+"):
            return self.real_open(path, mode, *rest, **named)
        name = os.readlink(f"/proc/self/fd/{path}") if isinstance(path, int) else path
        if not isinstance(path, int):
            self.tick("open", path)
            self.created(path)
        return Watched(self.real_open(path, mode, *rest, **named), self, name)


class Watched:
    """A file whose writes and cuts are counted."""

    def __init__(self, file: Any, reaper: Reaper, path: Any) -> None:
        self._file, self._reaper, self._path = file, reaper, path

    def write(self, data: bytes) -> int:
        reaper = self._reaper
        if len(reaper.calls) == reaper.at and reaper.how == "half":
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            reaper.die()
        reaper.tick("write", self._path)
        return int(self._file.write(data))

    def truncate(self, size: int) -> int:
        self._reaper.tick("truncate", self._path)
        done = int(self._file.truncate(size))
        number = os.fstat(self._file.fileno()).st_ino
        self._reaper.synced[number] = min(self._reaper.synced.get(number, 0), size)
        return done

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def forked(action: Callable[[], object]) -> int:
    """What ``action`` ended with in a process of its own: its exit code, or minus the signal that killed it."""
    child = start(action)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def start(action: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            action()
            os._exit(0)
        except InterruptedRunError:
            os._exit(130)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child


def essentials(folder: Path) -> dict[str, bytes]:
    """Every file of a run but the record, which has times in it, and the lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in ("record.json", "lock")}


def finished(case: Case, store: Store) -> dict[str, bytes]:
    """Take the run up in this process and go to its end."""
    FinishedRun(case.perform(store))
    return essentials(store.folder(case.request))


def compare(got: dict[str, bytes], expected: dict[str, bytes]) -> str:
    names = sorted(set(got) ^ set(expected)) or [name for name in expected if got[name] != expected[name]]
    return f"differs in {', '.join(names)}" if names else ""


def reference(case: Case, folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """An uninterrupted run, and the calls that it made."""
    store = Store(folder / "reference")
    store.root.mkdir()
    with Reaper(store.root).watching() as reaper:
        expected = finished(case, store)
    return expected, reaper.calls


def sweep(case: Case, folder: Path, hows: tuple[str, ...]) -> dict[str, Any]:
    """Kill before every call that touches the disk, one run for each; take each up again."""
    expected, calls = reference(case, folder)
    wrong, moments = [], dict.fromkeys(hows, 0)
    for how in hows:
        for at, call in enumerate(calls):
            if matters(how, calls, at):
                moments[how] += 1
                problem = one_killing(case, Store(folder / "killed"), how, at, calls, expected)
                if problem:
                    wrong.append(f"{how} before call {at} ({call}): {problem}")
    return {"moments": moments, "calls": calls, "wrong": wrong, "files": sorted(expected)}


def matters(how: str, calls: list[str], at: int) -> bool:
    """A sync changes no file: killing after it is killing before it. Power failures differ after unsynced changes."""
    if how == "half":
        return calls[at].startswith("write ")
    if how == "kill" or at == 0:
        return at == 0 or not calls[at - 1].startswith("fsync ")
    changes = ("write ",) if how == "data lost" else ("create ", "write ", "replace ", "unlink ", "open ")
    return calls[at - 1].startswith(changes)


def one_killing(
    case: Case, store: Store, how: str, at: int, calls: list[str], expected: dict[str, bytes]
) -> str:  # fmt: skip
    shutil.rmtree(store.root, ignore_errors=True)
    store.root.mkdir()

    def doomed() -> None:
        with Reaper(store.root, at, how).watching():
            case.perform(store)

    code = forked(doomed)
    if code != -signal.SIGKILL:
        return f"was not killed but ended with {code}"
    try:
        rows = [row.status for row in store.runs()]
        if rows not in ([], ["interrupted"], ["damaged"], ["finished"]):
            return f"is listed as {rows}"
        lost = work_lost(Checkpoints(store.folder(case.request)), calls[:at])
        return lost or compare(finished(case, store), expected)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def work_lost(checkpoints: Checkpoints, done: list[str]) -> str:
    """A killed run may lose the steps since its last checkpoint, but no checkpoint whose writing had returned."""
    written = [
        call.split("-")[1].split(".")[0] for call in done if call.startswith("replace checkpoint-") and "json" in call
    ]
    synced = done[::-1].index("replace " + f"checkpoint-{written[-1]}.json") if written else 0
    complete = written if synced else written[:-1]  # the replacement was followed by the sync of the folder
    latest = max(checkpoints.steps(), default=-1)
    return f"the checkpoint of step {complete[-1]} is lost" if complete and latest < int(complete[-1]) else ""


def storm(case: Case, folder: Path, count: int) -> dict[str, Any]:
    """Kill again and again, each time after a few more calls, until a run gets through."""
    expected = finished(case, Store(folder / "reference"))
    chance, wrong, killings = random.Random(1), [], []
    for number in range(count):
        store, attempts = Store(folder / f"storm-{number}"), 0
        store.root.mkdir()
        how = chance.choice(["kill", "kill", "half", "data lost", "all lost"])
        while attempts < 500:
            at = chance.randrange(5, 60)

            def doomed(at: int = at, how: str = how, store: Store = store) -> None:
                with Reaper(store.root, at, how).watching():
                    case.perform(store)

            code = forked(doomed)
            if code != -signal.SIGKILL:
                break
            attempts += 1
        killings.append(attempts)
        problem = f"ended with {code}" if code else compare(essentials(store.folder(case.request)), expected)
        if problem:
            wrong.append(f"storm {number} ({how}), after {attempts} killings: {problem}")
    return {"killings": killings, "wrong": wrong}


def at_random_times(case: Case, folder: Path, count: int) -> dict[str, Any]:
    """SIGKILL from outside, at times that have nothing to do with what the run is doing."""
    finished(case, Store(folder / "first"))  # whatever is done only once
    began = time.perf_counter()
    expected = finished(case, Store(folder / "second"))
    whole = time.perf_counter() - began
    chance, wrong, killed = random.Random(2), [], 0
    for number in range(count):
        store = Store(folder / f"time-{number}")
        child = start(lambda store=store: case.perform(store))
        time.sleep(chance.random() * whole)
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        problem = compare(finished(case, store), expected)
        if problem:
            wrong.append(f"killing {number}: {problem}")
    return {"killed": killed, "wrong": wrong}


def signalled(case: Case, folder: Path) -> dict[str, Any]:
    """SIGINT and SIGTERM from outside: the run stops after its step, says so, and goes on later."""
    expected = finished(case, Store(folder / "third"))
    ends = []
    for number in (signal.SIGINT, signal.SIGTERM):
        store, ready, go = Store(folder / number.name), os.pipe(), os.pipe()

        def doomed(store: Store = store, ready: tuple[int, int] = ready, go: tuple[int, int] = go) -> None:
            def told(done: int, total: int) -> None:
                if done == 0:
                    os.write(ready[1], b".")
                    os.read(go[0], 1)  # until the signal has been sent

            case.perform(store, told)

        child = start(doomed)
        os.read(ready[0], 1)
        os.kill(child, number)
        os.write(go[1], b".")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        (row,) = store.runs()
        steps = Checkpoints(store.folder(case.request)).steps()
        ends.append([code, row.status, steps[-1], compare(finished(case, store), expected)])
    return {"ends": ends}


TOGETHER = [Request("killed", 1, "together", {}, (seed,)) for seed in range(2)]


def perform_together(store: Store) -> None:
    """Short runs as a worker has them: one sync for all that have ended, and one for their records."""
    commits = store.commits = commit.Commits(store.root, lambda run, error: None)
    for number, request in enumerate(TOGETHER):
        if store.finished(request) is None:
            with store.open(request, again=False) as run:
                run.resume()
                run.metrics.append({"step": number})
                run.finish([Table.make("seed", "Seed", [Column("seed")], [{"seed": number}])])
    commits.commit()
    commits.commit()


def together(folder: Path, hows: tuple[str, ...]) -> dict[str, Any]:
    """Whatever moment it is, a run that says it is finished can be read, and the rest is computed again."""
    wrong, moments = [], dict.fromkeys(hows, 0)
    store = Store(folder / "reference")
    store.root.mkdir()
    with Reaper(store.root).watching() as reaper:
        perform_together(store)
    expected = [essentials(store.folder(request)) for request in TOGETHER]
    for how in hows:
        for at in range(len(reaper.calls)):
            if matters(how, reaper.calls, at):
                moments[how] += 1
                store = Store(folder / f"{how} {at}")
                store.root.mkdir()

                def doomed(store: Store = store, at: int = at, how: str = how) -> None:
                    with Reaper(store.root, at, how).watching():
                        perform_together(store)

                code = forked(doomed)
                try:
                    for request in TOGETHER:
                        if done := Store(store.root).finished(request):
                            done.tables(), done.metrics()
                    with Reaper(store.root).watching():  # whose sync of the file system does not wait for the disk
                        perform_together(Store(store.root))
                    got = [essentials(store.folder(request)) for request in TOGETHER]
                    problem = "" if got == expected else "differs"
                except Exception as error:
                    problem = f"{type(error).__name__}: {error}"
                if code != -signal.SIGKILL or problem:
                    wrong.append(f"{how} before call {at} ({reaper.calls[at]}), exit {code}: {problem}")
    return {"moments": moments, "calls": reaper.calls, "wrong": wrong}


def main() -> None:
    if sys.argv[1] == "together":
        print(json.dumps(together(Path(sys.argv[2]), ("kill", "data lost", "all lost"))))
        return
    torch.set_num_threads(1)
    os.environ["ROTE_CHECKPOINT_SECONDS"] = "0"
    case, folder = CASES[sys.argv[1]], Path(sys.argv[2])
    if case is LONG:
        result = {"times": at_random_times(case, folder, 8), "signals": signalled(case, folder)}
    else:
        hows = ("kill", "half", "data lost", "all lost") if case is EARLY else ("kill", "half")
        result = {"sweep": sweep(case, folder, hows), "storm": storm(case, folder, 6)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
