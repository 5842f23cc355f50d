"""Rounds of flipped bits: in every kind of file that a store keeps, while its run is computed, after it was killed,
while it is taken up again, and when it is finished.

A flip is told, or it has no influence: after each attempt, whatever was flipped, a run that is finished and of which
verification tells nothing must have the content of an undisturbed one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from disturbed_processes import bury_all, children, kill, supervise, wait
from harness import Round, folder_of, records

from rote.errors import StoreError
from rote.store import Record, Store
from rote.store.verify import verify

STAGES = ("running", "killed", "resumed", "finished")
KINDS = (
    "record.json", "metrics.jsonl", "checkpoint-00000001.json", "checkpoint-00000001.safetensors",
    "checkpoint-00000002.json", "checkpoint-00000002.safetensors", "checkpoint-00000003.json",
    "checkpoint-00000003.safetensors", "checkpoint-00000004.json", "checkpoint-00000004.safetensors",
    "weights-00000001.json", "weights-00000001.safetensors", "weights-00000002.json", "weights-00000002.safetensors",
    "weights-00000004.json", "weights-00000004.safetensors", "result.json", "lock", "index.sqlite",
)  # fmt: skip
NAMED = re.compile(r"(runs/[\w-]+/[0-9a-f]{16})/")


class Flips(Round):
    def disturb(self) -> None:
        stage = STAGES[self.number % len(STAGES)]
        name = KINDS[self.number * 5 % len(KINDS)]  # in 76 rounds each with each stage
        while stage in ("killed", "resumed") and not any(path.is_file() for path in self.root.rglob("*.json")):
            self.attempt_and_kill()
        supervisor = supervise(self.root) if stage != "killed" else 0
        if stage == "finished":
            wait(supervisor)
            bury_all()
        living = stage in ("running", "resumed")
        flipped = self.flip(name, self.chance.random() * self.whole if living else 0.0)
        self.faults.append(f"{flipped} flipped, {stage}")
        if living and (problem := wait(supervisor)):
            self.follow(problem)
        self.check()

    def attempt_and_kill(self) -> None:
        supervisor = supervise(self.root)
        self.moment()
        servers = children(supervisor)
        kill(supervisor, *servers, *(child for server in servers for child in children(server)))
        wait(supervisor)
        bury_all()

    def flip(self, name: str, after: float) -> str:
        """Flip one bit where it lies, after some seconds: of a file of this name, or of any if there is none."""
        time.sleep(after)
        if name == "index.sqlite" and self.root.exists():
            Store(self.root).runs()  # which makes it
        while not (others := sorted(path for path in self.root.rglob("*.json*") if path.is_file())):
            time.sleep(0.001)  # it has hardly begun
        found = sorted(self.root.rglob(name)) or others
        for path in self.chance.sample(found, len(found)):
            with contextlib.suppress(FileNotFoundError), path.open("r+b", buffering=0) as file:  # it may go meanwhile
                if size := os.fstat(file.fileno()).st_size:
                    self.damaged.add("/".join(path.relative_to(self.root).parts[:3]))
                    at, bit = self.chance.randrange(size), self.chance.randrange(8)
                    os.pwrite(file.fileno(), bytes([os.pread(file.fileno(), 1, at)[0] ^ 1 << bit]), at)
                    return path.name
        return "nothing"

    def follow(self, problem: str) -> bool:
        """Remove what was flipped, if the message names it; other messages must not come."""
        named = NAMED.search(problem)
        if named and named[1] in self.damaged:
            shutil.rmtree(self.root / named[1], ignore_errors=True)
            return True
        self.wrong.append(f"told: {problem}")
        return False

    def mend(self) -> bool:
        for finding in verify(self.root):
            if finding.kind == "newer":  # a flipped version
                shutil.rmtree(self.root / folder_of(finding), ignore_errors=True)
                return True
        return super().mend()

    def check(self) -> None:
        super().check()
        Store(self.root).runs()
        for folder in approved(self.root):
            for name, data in self.expected.items():
                if name.startswith(f"{folder}/") and not same(self.root / name, data):
                    self.wrong.append(f"{name} is wrong, and verify approves of it")


def approved(root: Path) -> Iterator[str]:
    """The finished runs of which verification tells nothing."""
    told = {folder_of(finding) for finding in verify(root)}
    for path in records(root):
        folder = str(path.parent.relative_to(root))
        with contextlib.suppress(StoreError):
            if folder not in told and Record.read(path.parent).status == "finished":
                yield folder


def same(path: Path, expected: bytes) -> bool:
    """By bytes, or as JSON: digits beyond the precision of a number have no influence."""
    try:
        found = path.read_bytes()
        return found == expected or (path.suffix == ".json" and json.loads(found) == json.loads(expected))
    except (OSError, ValueError):
        return False
