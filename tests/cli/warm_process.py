"""Commands in processes of their own that need not import what they use: forked from one that has, and waits.

To import torch takes longer than most of what these commands compute. What a command does on its way there (nothing of
the current folder is imported, no torch where it is not needed) is for tests that start the interpreter itself. A
second such process cannot import torch: commands that it forks show that they do without.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

TORCH = """
import torch, torch._dynamo, scipy.stats, sklearn.cluster, altair
import rote.analyses, rote.cli, rote.laboratory, rote.training
"""
NO_TORCH = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("torch is not needed here")

sys.meta_path.insert(0, Blocked())
import rote.cli, rote.commands.reporting, rote.laboratory
"""
SERVER = """
import json, os, sys, types

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
os.chdir(asked["folder"])
os.environ.clear()
os.environ.update(asked["environment"])
for number, name in enumerate((os.devnull, asked["out"], asked["err"])):
    os.dup2(os.open(name, os.O_RDWR), number)
sys.argv = asked["words"]
if asked["program"] is None:
    sys.path[0] = os.path.dirname(sys.argv[0])
    sys.exit(rote.cli.main())
sys.modules["__main__"] = types.ModuleType("__main__")
exec(compile(asked["program"], "<string>", "exec"), sys.modules["__main__"].__dict__)
"""


@functools.cache
def server(imports: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = subprocess.Popen([sys.executable, "-c", imports + SERVER], start_new_session=True, **pipes)  # type: ignore[call-overload]
    atexit.register(started.communicate)
    return started  # type: ignore[no-any-return]


def run_warm(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    seconds: float,
    program: str | None = None,
    imports: str = TORCH,
) -> tuple[int, str, str]:
    """Exit code, output and errors of the command, or of a Python program with these arguments."""
    with TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        for path in (out, err):
            path.touch()
        asked = {
            "words": [*words], "folder": str(folder), "environment": {**environment}, "program": program,
            "out": str(out), "err": str(err),
        }  # fmt: skip
        running = server(imports)
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(json.dumps(asked) + "\n")
        running.stdin.flush()
        if not select.select([running.stdout], [], [], seconds)[0]:
            os.killpg(running.pid, signal.SIGKILL)
            server.cache_clear()
            raise subprocess.TimeoutExpired([*words], seconds)
        code = int(running.stdout.readline())
        return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")
