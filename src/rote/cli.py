"""The command line: ``rote --help``. Each command is a dataclass; what it needs is imported when it runs."""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from rote import __version__
from rote.commands import (
    Campaign,
    Cite,
    Claims,
    Connectivity,
    Court,
    Data,
    Examine,
    Explore,
    Lesson,
    List,
    Report,
    Reproduce,
    Run,
    Runs,
    Share,
    Show,
    Sweep,
    Worker,
)
from rote.commands.arguments import parse
from rote.commands.options import import_named
from rote.errors import InterruptedRunError, RoteError
from rote.printable import printable


@dataclass(frozen=True)
class Completion:
    """Print a completion script for the shell.

    Try:
      source <(rote completion bash)
      rote completion fish > ~/.config/fish/completions/rote.fish
    """

    shell: Annotated[Positional[str], arg(metavar="[SHELL]", help="bash, zsh or fish.")] = "bash"

    def __call__(self) -> int:
        from rote.commands.completion import script

        print(script(self.shell), end="")
        return 0


COMMANDS = {
    "examine": Examine, "reproduce": Reproduce, "run": Run, "sweep": Sweep, "list": List, "show": Show, "data": Data,
    "runs": Runs, "claims": Claims, "report": Report, "connectivity": Connectivity, "court": Court, "explore": Explore,
    "share": Share, "lesson": Lesson, "campaign": Campaign, "cite": Cite, "worker": Worker, "completion": Completion,
}  # fmt: skip


def main(words: list[str] | None = None) -> None:
    """Run a command; exit codes: 0 done, 1 a study failed, 2 wrong usage, 130 interrupted."""
    words = sys.argv[1:] if words is None else words
    _complete_streams()
    gc.set_threshold(50_000, 20, 20)  # reading a hundred thousand rows is no reason to look for cycles as often
    if words[:1] == ["__complete"]:  # called by the completion script, with the words typed so far
        from rote.commands.completion import complete

        print("\n".join(complete(words[1:], COMMANDS)))
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # it is Ctrl-C: what was begun is tidied up
    try:
        sys.exit(run_command(words))
    finally:
        signal.signal(signal.SIGTERM, before)


def run_command(words: list[str]) -> int:
    try:
        if words == ["--version"]:
            print(f"rote {__version__}")
            return 0
        command = parse(words, COMMANDS)
        if names := getattr(command, "imports", ()):
            import_named(names)
        code = int(command())
        sys.stdout.flush()
        return code
    except InterruptedRunError as error:
        _tell(f"{error} Give the same command again to {'begin again' if error.nothing_kept else 'go on'}.")
        return InterruptedRunError.exit_code
    except KeyboardInterrupt:
        _tell("Interrupted. Finished runs are kept; give the same command again to go on.")
        return InterruptedRunError.exit_code
    except RoteError as error:
        _tell(str(error))
        return error.exit_code
    except BrokenPipeError:  # rote claims | head
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO) or error.filename is not None:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in its buffer
        _tell(f"The output cannot be written: {error.strerror}.")
        return 1


def _tell(text: str) -> None:
    print(f"rote: {printable(text, lines=False)}", file=sys.stderr)


def _complete_streams() -> None:
    """A command may be started without any of its streams, or with one that cannot write every letter."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It takes the stream's own number, so that no file that is opened later gets it.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    main()
