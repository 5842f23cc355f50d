"""Run the Python of a Markdown file from top to bottom, and compare what it prints with what the file says it prints.

A ``text`` block after a ``python`` block is its output; "..." in it stands for anything. Called with the file's path.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(path: Path) -> list[str]:
    """What is wrong, one message per block; a block that raises is the last."""
    text = path.read_text(encoding="utf-8")
    blocks = [(found[1], found[2], text.count("\n", 0, found.start()) + 2) for found in BLOCK.finditer(text)]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    wrong = []
    for place, (kind, code, line) in enumerate(blocks):
        if kind != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, str(path), "exec"), namespace)  # errors have the file's line numbers
        after = blocks[place + 1] if place + 1 < len(blocks) else ("", "", 0)
        said = after[1] if after[0] == "text" else None
        if said is not None and not same(said, printed.getvalue()):
            wrong.append(f"{path.name}:{after[2]} says\n{said}but the code prints\n{printed.getvalue()}")
    return wrong


def same(said: str, printed: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


if __name__ == "__main__":
    messages = run(Path(sys.argv[1]))
    print("\n".join(messages))
    sys.exit(bool(messages))
