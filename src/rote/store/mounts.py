"""How a folder is mounted, for a message that tells what to do about it."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")  # of Linux: device, folder, type, options
ABOUT_LOCKS = re.compile(r"nolock|local_lock=(all|flock)|nobrl|localflock|noflock")


def mounted_as(folder: Path) -> str:
    """`` (nfs at /home, mounted with nolock)``; nothing where that is not known."""
    found: tuple[int, str] = (0, "")
    with contextlib.suppress(OSError, ValueError):
        for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
            _, at, kind, options, *_ = (_unescaped(word) for word in line.split(" "))
            if folder.resolve().is_relative_to(at) and len(at) >= found[0]:
                flags = [option for option in options.split(",") if ABOUT_LOCKS.fullmatch(option)]
                mounted = f", mounted with {' and '.join(flags)}" if flags else ""
                found = len(at), f" ({kind} at {at}{mounted})"
    return found[1]


def _unescaped(word: str) -> str:
    """A space in a name is written as \\040."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), word)
