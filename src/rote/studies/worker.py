"""A process that performs runs: one JSON line in for each, JSON lines out with its progress and how it ended.

    in:  {"request": {...}, "passed": {...}, "module": "...", "device": "cpu"}
    out: {"done": 10, "total": 100} ... {"status": "finished"}

Started by the supervisor, on one thread. What a run produces goes into the store, never through the pipe, and what a
study prints goes to the terminal: the pipe is for these lines alone.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from typing import Any

from rote.errors import InterruptedRunError, RoteError
from rote.store import Request, Store
from rote.studies.perform import perform


def serve(store: Store) -> None:
    for line in sys.stdin:
        order = json.loads(line)
        try:
            importlib.import_module(order["module"])
            perform(store, Request.from_plain(order["request"]), order["passed"], order["device"], _report)
            answer: dict[str, Any] = {"status": "finished"}
        except (InterruptedRunError, KeyboardInterrupt) as error:
            answer = {"status": "interrupted", "error": str(error)}
        except RoteError as error:
            answer = {"status": "failed", "error": str(error)}
        except Exception as error:  # a bug in a study must not take the other runs down; the record has the traceback
            answer = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        _say(answer)


_answers = 1
_last_report = 0.0


def _report(done: int, total: int) -> None:
    global _last_report
    if time.monotonic() - _last_report > 0.2 or done == total:
        _last_report = time.monotonic()
        _say({"done": done, "total": total})


def _say(message: dict[str, Any]) -> None:
    try:
        os.write(_answers, json.dumps(message).encode() + b"\n")
    except BrokenPipeError:  # the supervisor is gone: stop after this step, as if it had asked
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    _answers = os.dup(1)
    os.dup2(2, 1)
    serve(Store(sys.argv[1]))
