"""The run store with many runs: listing, filtering, rebuilding the index, verifying, in seconds.

Targets for 10,000 runs: listing and filtering below 1 second, rebuilding the index below 10.

    python benchmarks/store.py [--runs 10000]

Beside each: the time to read every record once, without an index, as the baseline.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from rote.cli import run_command
from rote.store import Column, Record, Request, Store, Table

STUDIES = ("plane", "tagging", "agreement", "matrix", "padding")
TABLE = Table.make("networks", "Networks", (Column("seed", role="label"), Column("dev")), [{"seed": 0, "dev": 0.5}])


def make(store: Store, count: int) -> None:
    """``count`` finished and failed runs of a few small files each, written without waiting for the disk."""
    with mock.patch("os.fsync"):
        with store.open(Request("plane", 1, "model", {}, ())) as run:
            run.metrics.append({"step": 0, "loss": [0.5]})
            run.finish([TABLE])
        files = {name: (run.folder / name).read_bytes() for name in run.record.files}
        for number in range(count - 1):
            config = {"model": {"hidden": number, "cell": "lstm"}, "training": {"steps": 100, "batch": 32}, "seeds": 1}
            request = Request(STUDIES[number % len(STUDIES)], 1, "networks", config, (0,), "quick")
            folder = store.folder(request)
            folder.mkdir(parents=True)
            failed = {"status": "failed", "error": "ZeroDivisionError: division by zero", "files": {}}
            changes: dict[str, Any] = failed if number % 50 == 0 else {}
            replace(run.record, request=request, **changes).write(folder)
            for name, data in files.items():
                (folder / name).write_bytes(data)


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock and of this process, the least of three: a busy machine makes work look slower, never faster."""
    spent = []
    for _ in range(3):
        began, used = time.perf_counter(), time.process_time()
        work()
        spent.append((time.perf_counter() - began, time.process_time() - used))
    return min(spent)


def command(*words: str) -> int:
    """Number of lines that the command prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run_command(list(words)) in (0, 1)
    return out.getvalue().count("\n")


def rebuild(store: Store) -> None:
    (store.root / "index.sqlite").unlink(missing_ok=True)
    store.runs()


def records(store: Store) -> Iterator[Record]:
    return (Record.read(folder) for study in (store.root / "runs").iterdir() for folder in study.iterdir())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10_000)
    count = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        make(store, count)
        plain = seconds(lambda: sum(1 for _ in records(store)))
        where = ("--store", folder)
        measured = {
            "rebuild the index": seconds(lambda: rebuild(store)),
            "list": seconds(store.runs),
            "rote runs list": seconds(lambda: command("runs", "list", *where)),
            "rote runs list --study tagging --status failed": seconds(
                lambda: command("runs", "list", "--study", "tagging", "--status", "failed", *where)
            ),
            "rote runs verify": seconds(lambda: command("runs", "verify", *where)),
        }
        for name, (clock, own) in {"read every record": plain, **measured}.items():
            print(f"{name:<50} {clock:6.2f} s, {own:6.2f} s of CPU, {own / plain[1]:5.2f} x reading every record")


if __name__ == "__main__":
    main()
