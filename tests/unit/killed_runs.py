"""Runs that are killed at chosen moments, and what became of them. Started by test_killed_runs.py as its own process:

    python killed_runs.py FOLDER [CASE ...]        prints one JSON document: what was found, by case

It imports torch once and forks a child for each killing, so that hundreds of moments take seconds. Of the moments of
the case "stacked" a quarter is drawn, unless ``--every`` is given, as ``benchmarks/faults.py moments`` does.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from fragile_runs import CASES, EARLY, LONG, Case, essentials, finished
from reaper import Reaper

from rote.errors import InterruptedRunError
from rote.store import Column, Request, Store, Table, commit
from rote.store.checkpoint import Checkpoints
from rote.store.verify import repair, verify


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


def killed(action: Callable[[], object], store: Store, how: str, at: int) -> int:
    """What ``action`` ended with in a process that dies at its call number ``at``: minus the signal, or a code."""

    def doomed() -> None:
        with Reaper(store.root, at, how).watching():
            action()

    return os.waitstatus_to_exitcode(os.waitpid(start(doomed), 0)[1])


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


def sweep(case: Case, folder: Path, hows: tuple[str, ...], share: int = 1) -> dict[str, Any]:
    """Kill before every call that touches the disk, or before one of ``share`` calls; take each run up again."""
    expected, calls = reference(case, folder)
    wrong, moments, chance = [], dict.fromkeys(hows, 0), random.Random(3)
    for how in hows:
        for at, call in enumerate(calls):
            if matters(how, calls, at) and not chance.randrange(share):
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
    code = killed(lambda: case.perform(store), store, how, at)
    if code != -signal.SIGKILL:
        return f"was not killed but ended with {code}"
    try:
        rows = [row.status for row in store.runs()]
        if rows not in ([], ["interrupted"], ["damaged"], ["finished"]):
            return f"is listed as {rows}"
        told = problems(store)
        if done := store.finished(case.request):
            lost = compare({name: (done.folder / name).read_bytes() for name in done.record.files}, expected)
        else:
            lost = work_lost(Checkpoints(store.folder(case.request)), calls[:at])
        repair(store.root, verify(store.root))  # of what is to be resumed from, nothing may go
        return told or lost or compare(finished(case, store), expected) or problems(store, ())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def problems(store: Store, allowed: tuple[str, ...] = ("interrupted", "leftover")) -> str:
    """What verification tells beyond what a killed process may leave."""
    return "; ".join(f"{finding.kind} {finding.path}" for finding in verify(store.root) if finding.kind not in allowed)


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
    most = 60 if case is EARLY else 120  # calls; to finish with several snapshots takes more than 60
    chance, wrong, killings = random.Random(1), [], []
    for number in range(count):
        store, attempts = Store(folder / f"storm-{number}"), 0
        store.root.mkdir()
        how = chance.choice(["kill", "kill", "half", "data lost", "all lost"])
        while attempts < 500:
            code = killed(functools.partial(case.perform, store), store, how, chance.randrange(5, most))
            if code != -signal.SIGKILL:
                break
            attempts += 1
            if store.finished(case.request):  # killed while its checkpoints were removed
                repair(store.root, verify(store.root))
                code = 0
                break
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
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL:
            killed += 1
        else:
            whole /= 2  # it was done already: the machine was busier when the time was taken
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


# Those without a training first: what training imports makes every fork take longer.
ALL = ("together", "together trained", "early", "stacked", "long")
TOGETHER = [Request("killed", 1, "together", {}, (seed,)) for seed in range(2)]


def perform_together(store: Store, *, trained: bool = False) -> None:
    """Short runs as a worker has them: one sync for all that have ended, and one for their records."""
    commits = store.commits = commit.Commits(store.root, lambda run, error: None)
    for number, request in enumerate(TOGETHER):
        if store.finished(request) is None:
            with store.open(request, again=False) as run:
                if run.resume() is None:
                    run.metrics.append({"step": number})
                    if trained:
                        run.save(number, {"model": torch.ones(3) * number, "optimizer": torch.ones(9)})
                run.finish([Table.make("seed", "Seed", [Column("seed")], [{"seed": number}])])
    commits.commit()
    commits.commit()


def together(folder: Path, hows: tuple[str, ...], *, trained: bool = False) -> dict[str, Any]:
    """Whatever moment it is, a run that says it is finished can be read, and the rest is computed again."""
    wrong, moments = [], dict.fromkeys(hows, 0)
    store = Store(folder / "reference")
    store.root.mkdir()
    with Reaper(store.root).watching() as reaper:
        perform_together(store, trained=trained)
    expected = [essentials(store.folder(request)) for request in TOGETHER]
    for how in hows:
        for at in range(len(reaper.calls)):
            if matters(how, reaper.calls, at):
                moments[how] += 1
                problem = killed_together(Store(folder / f"{how} {at}"), how, at, reaper.calls, expected)
                if problem:
                    wrong.append(f"{how} before call {at} ({reaper.calls[at]}): {problem}")
    return {"moments": moments, "calls": reaper.calls, "wrong": wrong}


def killed_together(store: Store, how: str, at: int, calls: list[str], expected: list[dict[str, bytes]]) -> str:
    store.root.mkdir()
    trained = any("checkpoint-" in call for call in calls)
    code = killed(lambda: perform_together(store, trained=trained), store, how, at)
    if code != -signal.SIGKILL:
        return f"was not killed but ended with {code}"
    try:
        for number, request in enumerate(TOGETHER):
            saved = (
                f"replace checkpoint-{number:08d}.json" in calls[: max(at - 1, 0)]
            )  # and synced, which is the next call
            if done := Store(store.root).finished(request):
                done.tables(), done.metrics(), done.checkpoint() if trained else None
            elif saved and Checkpoints(store.folder(request)).steps() != [number]:
                return f"the checkpoint of step {number} is lost"
        if told := problems(store):
            return told
        with Reaper(store.root).watching():  # whose sync of the file system does not wait for the disk
            perform_together(Store(store.root), trained=trained)
        repair(store.root, verify(store.root))
        same = [essentials(store.folder(request)) for request in TOGETHER] == expected
        return problems(store, ()) if same else "differs"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def look(case: str, folder: Path, every: bool) -> dict[str, Any]:
    """What happens in this case."""
    if case.startswith("together"):
        return together(folder, ("kill", "data lost", "all lost"), trained=case.endswith("trained"))
    if case == "long":
        return {"times": at_random_times(LONG, folder, 8), "signals": signalled(LONG, folder)}
    hows, share = (("kill", "half", "data lost", "all lost"), 1) if case == "early" else (("kill", "half"), 4)
    return {"sweep": sweep(CASES[case], folder, hows, 1 if every else share), "storm": storm(CASES[case], folder, 6)}


def main() -> None:
    torch.set_num_threads(1)
    every, (place, *cases) = "--every" in sys.argv, [word for word in sys.argv[1:] if word != "--every"]
    found = {}
    for case in cases or ALL:
        folder = Path(place, case)
        folder.mkdir()
        if case.startswith("together"):
            os.environ.pop("ROTE_CHECKPOINT_SECONDS", None)
        else:
            os.environ["ROTE_CHECKPOINT_SECONDS"] = "0"
        found[case] = look(case, folder, every)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
