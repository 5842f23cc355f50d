"""The explorer's server: from the command to the page, and 50 clients at once without an error.

    python benchmarks/explorer.py                 # 50 clients for 60 seconds
    python benchmarks/explorer.py --seconds 5

The command in a process of its own on a free port, an empty store, the bundled models. Targets: the page in under 2
seconds, beside the time that importing the web framework alone takes; no error. What a key, the pointer or a text of
200 characters takes is in explorer_texts.py.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

CLIENTS = 50
TEXT = "context the formal study of grammar is an important part of education from a young age through advanced " * 2
TEXT = TEXT[:199]


class Client:
    """One connection that is kept."""

    def __init__(self, url: str) -> None:
        where, _, token = url.partition("/?token=")
        self.connection = http.client.HTTPConnection(where.removeprefix("http://"), timeout=120)
        self.headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}

    def ask(self, path: str, body: Any = None) -> tuple[int, bytes]:
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        self.connection.request(method, path, content, self.headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def timed(action: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def start(store: str) -> tuple[subprocess.Popen[str], str, float]:
    """The command, its address, and the seconds until the page has answered."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "rote.cli", "explore", "--no-open", "--port", "0", "--store", store]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    url = process.stdout.readline().split()[2]
    status, page = Client(url).ask("/")
    assert status == 200
    assert b"Rote explorer" in page
    return process, url, time.perf_counter() - begun


def processor(process: subprocess.Popen[str]) -> str:
    """What the process has used, where the system tells: on a busy machine the wall time says little."""
    try:
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            used = [int(value) for value in file.read().rsplit(")", 1)[1].split()[11:13]]
    except OSError:
        return ""
    return f", {sum(used) / os.sysconf('SC_CLK_TCK'):.2f} s of processor time"


def load(url: str, seconds: float) -> None:
    """Clients that type, look and read, all at once; each asks again as soon as it has its answer."""
    until, counts, failures, waits = time.monotonic() + seconds, [0] * CLIENTS, list[str](), list[float]()

    def work(number: int) -> None:
        client, cell = Client(url), ("gru", "lstm", "nested_lstm")[number % 3]
        turns = [
            ("/api/autocomplete", {"model": cell, "text": TEXT[: 1 + number]}),
            ("/", None),
            ("/api/runs", None),
            ("/api/connectivity", {"model": cell, "text": TEXT[: 10 + number]}),
            ("/static/shell.js", None),
            ("/api/decomposition/phrase", {"model": cell, "text": TEXT[:40], "start": 3, "end": 6}),
            ("/api/models", None),
        ]
        while time.monotonic() < until:
            path, body = turns[counts[number] % len(turns)]
            begun = time.perf_counter()
            try:
                status, said = client.ask(path, body)
            except OSError as error:
                failures.append(f"{path}: {error}")
                client = Client(url)
                continue
            waits.append(time.perf_counter() - begun)
            counts[number] += 1
            if status != 200:
                failures.append(f"{path}: {status} {said[:200]!r}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    waits.sort()
    print(
        f"{CLIENTS} clients for {seconds:g} seconds: {sum(counts)} requests, {len(failures)} errors, "
        f"median wait {1000 * statistics.median(waits):.0f} ms, longest {waits[-1]:.1f} s"
    )
    for failure in failures[:5]:
        print("  ", failure)


def main() -> None:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--seconds", type=float, default=60.0, help="of the parallel clients")
    asked = reader.parse_args()
    python = min(
        timed(lambda: subprocess.run([sys.executable, "-c", "import fastapi, uvicorn"], check=True)) for _ in range(2)
    )
    with tempfile.TemporaryDirectory() as store:
        process, url, seconds = start(store)
        try:
            print(
                f"command to page {seconds:.2f} s{processor(process)}; "
                f"{seconds / python:.1f} x importing the web framework alone (wanted: below 2 s)"
            )
            first = timed(lambda: Client(url).ask("/api/autocomplete", {"model": "gru", "text": "t"}))
            print(f"first use, with torch and the model {first:.2f} s")
            load(url, asked.seconds)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    print(f"ended by Ctrl-C with exit code {process.returncode}")


if __name__ == "__main__":
    main()
