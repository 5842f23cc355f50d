"""Run the Python of a Markdown file from top to bottom, and compare what it prints with what the file says it prints.

A ``text`` block after a ``python`` block is its output; "..." in it stands for anything. Called with the file's path:

    python tests/cli/run_markdown.py docs/guide/examine.md             # what is wrong
    python tests/cli/run_markdown.py --write docs/guide/examine.md     # mend the text blocks that are
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
    return [
        f"{path.name}:{line} says\n{said[2]}but the code prints\n{printed}" for line, said, printed in differences(path)
    ]


def write(path: Path) -> int:
    """Put what the code prints into the text blocks that say something else; returns how many these were."""
    wrong, text = differences(path), path.read_text(encoding="utf-8")
    for _, said, printed in reversed(wrong):  # from the end: places before stay
        lines = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
        text = text[: said.start(2)] + lines + text[said.end(2) :]
    path.write_text(text, encoding="utf-8")
    return len(wrong)


def differences(path: Path) -> list[tuple[int, re.Match[str], str]]:
    """Text blocks that do not say what is printed: the line, the block, and what is printed."""
    text = path.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    lines = [text.count("\n", 0, found.start()) + 2 for found in blocks]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    wrong = []
    for place, found in enumerate(blocks):
        if found[1] != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):  # errors have the file's line numbers
            exec(compile("\n" * (lines[place] - 1) + found[2], str(path), "exec"), namespace)
        after = blocks[place + 1] if place + 1 < len(blocks) else None
        if after is not None and after[1] == "text" and not same(after[2], printed.getvalue()):
            wrong.append((lines[place + 1], after, printed.getvalue()))
    return wrong


def same(said: str, printed: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(said, printed, flags)


if __name__ == "__main__":
    *words, page = sys.argv[1:]
    if words == ["--write"]:
        print(f"{write(Path(page))} text blocks of {page} are written anew.")
        sys.exit()
    messages = run(Path(page))
    print("\n".join(messages))
    sys.exit(bool(messages))
