"""Rounds of misfortune: a small study is disturbed at random, and must end with the bytes of an undisturbed one.

A round is one to three disturbed attempts, then attempts until one is told to have succeeded. After each attempt, when
every process is dead, the store is verified: what is wrong must be what this harness damaged, and what killed processes
leave behind. Torch is imported once: supervisors, servers and workers are forked from here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from disturbed_processes import bury_all, children, kill, supervise, wait

from rote.store import Record
from rote.store.verify import Finding, repair, verify

ATTEMPTS = 12  # undisturbed ones, until which a round must be done
PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Round:
    number: int
    chance: random.Random
    root: Path
    whole: float  # seconds that an undisturbed attempt takes
    expected: dict[str, bytes]  # what an undisturbed attempt writes
    faults: list[str] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)  # run folders that were damaged on purpose
    removed: set[str] = field(default_factory=set)  # ids of runs that were removed as a message advised
    wrong: list[str] = field(default_factory=list)

    def play(self) -> None:
        self.disturb()
        for _ in range(ATTEMPTS):
            problem = wait(supervise(self.root))
            self.check()
            if problem and not self.follow(problem):
                return
            if not problem and not self.mend():
                break
        else:
            self.wrong.append("was not done in the end")
        difference = compare(contents(self.root), self.expected)
        if difference:
            self.wrong.append(difference)

    def disturb(self) -> None:
        for _ in range(self.chance.randint(1, 3)):
            fault = self.chance.choice(list(FAULTS))
            self.faults.append(fault)
            FAULTS[fault](self)
            self.check()

    def check(self) -> None:
        """Only what was damaged on purpose may be damaged."""
        bury_all()
        for finding in verify(self.root) if self.root.exists() else ():
            if finding.kind == "missing" and any(name in finding.told for name in self.removed):
                continue  # what was made from it, until it is computed again
            if finding.kind == "foreign" or (finding.is_damage and folder_of(finding) not in self.damaged):
                self.wrong.append(f"{finding.kind} {finding.path}: {finding.told}")

    def follow(self, problem: str) -> bool:
        """Do what the message advises, as a user would; other messages must not come."""
        advised = re.search(r"Remove the run folder (\S+) to compute it again", problem)
        if advised and str(Path(advised[1]).relative_to(self.root)) in self.damaged:
            shutil.rmtree(advised[1], ignore_errors=True)  # two commands may have told the same
            self.removed.add(Path(advised[1]).name)
            return True
        self.wrong.append(f"told: {problem}")
        return False

    def mend(self) -> bool:
        """Remove what verification finds damaged, with what was made from it; whether there was any."""
        found = [finding for finding in verify(self.root) if finding.is_damage]
        repair(self.root, verify(self.root))
        if found:
            for folder in {self.root / folder_of(finding) for finding in found}:
                shutil.rmtree(folder)
            for path in records(self.root):
                if Record.read(path.parent).request.part != "training":
                    shutil.rmtree(path.parent)
        return bool(found)

    def moment(self) -> None:
        time.sleep(self.chance.random() * self.whole)


# The faults


def kill_worker(now: Round) -> None:
    supervisor = supervise(now.root)
    for _ in range(now.chance.randint(1, 3)):
        now.moment()
        workers = [child for server in children(supervisor) for child in children(server)]
        kill(now.chance.choice(workers) if workers else 0)
    end(now, supervisor, {""})


def kill_fork_server(now: Round) -> None:
    supervisor = supervise(now.root)
    now.moment()
    kill(*children(supervisor)[:1])
    end(now, supervisor, {""})


def kill_supervisor(now: Round) -> None:
    supervisor = supervise(now.root)
    now.moment()
    kill(supervisor)
    end(now, supervisor, {"", "killed"})


def kill_all(now: Round) -> None:
    supervisor = supervise(now.root)
    now.moment()
    servers = children(supervisor)
    kill(supervisor, *servers, *(child for server in servers for child in children(server)))
    end(now, supervisor, {"", "killed"})


def interrupt(now: Round) -> None:
    supervisor = supervise(now.root)
    now.moment()
    kill(supervisor, how=now.chance.choice([signal.SIGINT, signal.SIGTERM]))
    end(now, supervisor, {"", "killed", "interrupted"})


def two_supervisors(now: Round) -> None:
    both = [supervise(now.root), supervise(now.root)]
    if now.chance.random() < 0.5:
        now.moment()
        kill(both[0])
        end(now, both[0], {"", "killed"})
        end(now, both[1], {""})
        return
    for supervisor in both:
        end(now, supervisor, {""})


def full_disk(now: Round) -> None:
    """What was there is copied to a disk that is nearly full, and back when the attempt has failed."""
    disk = now.root.with_name("disk")
    with mounted(disk, f"size={4 * now.chance.randint(10, 60)}k") as real:
        if not real:
            now.faults[-1] = "no disk to fill"
            return
        kept = disk / "store"
        try:
            shutil.copytree(now.root, kept) if now.root.exists() else kept.mkdir()
        except shutil.Error:  # already too full to copy what is there
            return
        supervisor = supervise(kept)
        problem = wait(supervisor)
        bury_all()
        shutil.rmtree(now.root, ignore_errors=True)
        shutil.copytree(kept, now.root)
        if problem and "No space left on device" not in problem:
            now.follow(problem.replace(str(kept), str(now.root)))


def damage(now: Round, change: Callable[[Path, random.Random], None]) -> None:
    """In the middle of the work, between two attempts."""
    kill_all(now)
    bury_all()
    files = sorted(path for path in now.root.rglob("*") if path.is_file())
    if not files:
        return
    chosen = now.chance.choice(files)
    if chosen.parent.parent.parent.name == "runs" and chosen.name != "lock":
        now.damaged.add(str(chosen.parent.relative_to(now.root)))
    change(chosen, now.chance)


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(bytes(data))


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randint(0, path.stat().st_size))


def delete(path: Path, chance: random.Random) -> None:
    path.unlink()


def move_clock(now: Round) -> None:
    """Years forward or back, for the process and for the times of files that are there."""
    years = now.chance.choice([-30, -1, 1, 30])
    for path in now.root.rglob("*") if now.root.exists() else ():
        when = time.time() + now.chance.uniform(-1e9, 1e9)
        os.utime(path, (when, when))
    supervisor = supervise(now.root, years)
    now.moment()
    if now.chance.random() < 0.5:
        kill(supervisor)
    end(now, supervisor, {"", "killed"})


FAULTS: dict[str, Callable[[Round], None]] = {
    "worker killed": kill_worker, "supervisor killed": kill_supervisor, "all killed": kill_all,
    "interrupted": interrupt, "two supervisors": two_supervisors, "disk full": full_disk,
    "byte flipped": lambda now: damage(now, flip), "file truncated": lambda now: damage(now, truncate),
    "file deleted": lambda now: damage(now, delete), "clock moved": move_clock, "fork server killed": kill_fork_server,
}  # fmt: skip


def end(now: Round, supervisor: int, allowed: set[str]) -> None:
    problem = wait(supervisor)
    if problem not in allowed and not (now.damaged and now.follow(problem)):
        now.wrong.append(f"{now.faults[-1]}: told {problem!r}")


# Stores


def records(root: Path) -> list[Path]:
    return sorted(root.glob("runs/*/*/record.json"))


def contents(root: Path) -> dict[str, bytes]:
    """Every file of every run, but records, which have times in them, and locks."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.glob("runs/*/*/*"))
        if path.name not in ("record.json", "lock")
    }


def compare(got: dict[str, bytes], expected: dict[str, bytes]) -> str:
    names = sorted(set(got) ^ set(expected)) or [name for name in expected if got[name] != expected[name]]
    return f"differs in {', '.join(names)}" if names else ""


def folder_of(finding: Finding) -> str:
    return "/".join(Path(finding.path).parts[:3])


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[bool]:
    folder.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", options, "rote-faults", str(folder)]
    done = shutil.which("mount") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def play(
    rounds: int, seed: int, folder: Path, told: Callable[[Round], None] = lambda now: None, kind: type[Round] = Round
) -> dict[str, Any]:
    """``kind``: what a round is."""
    torch.set_num_threads(1)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become ours, so that we can wait for them
    reference = folder / f"reference for {kind.__name__}"
    began = time.monotonic()
    assert wait(supervise(reference)) == ""
    whole = time.monotonic() - began
    expected = contents(reference)
    faults: Counter[str] = Counter()
    wrong = []
    for number in range(rounds):
        now = kind(number, random.Random(f"{seed} {number}"), folder / f"{kind.__name__}-{number}", whole, expected)
        now.play()
        faults.update(now.faults)
        wrong += [f"round {number} ({', '.join(now.faults)}): {problem}" for problem in now.wrong]
        told(now)
        if not now.wrong:
            shutil.rmtree(now.root)
    return {"rounds": rounds, "seed": seed, "faults": dict(faults), "files": sorted(expected), "wrong": wrong}
