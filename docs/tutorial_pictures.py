"""Draws the pictures of the tutorials again: runs each, and keeps what it writes of the pictures that it shows.

python docs/tutorial_pictures.py [01 02 ...]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rote.store import write_atomically

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
RUNNER = ROOT / "tests" / "cli" / "run_markdown.py"


def shown_by(tutorial: Path) -> list[str]:
    """The names of the pictures; the tutorial writes a file of the same name."""
    return re.findall(r"\]\(\.\./docs/images/([^)]+)\)", tutorial.read_text(encoding="utf-8"))


def draw(tutorial: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, RUNNER, tutorial], cwd=folder, env=environment, check=True)
        for name in shown_by(tutorial):
            write_atomically(IMAGES / name, Path(folder, name).read_bytes())
            print(IMAGES / name)


if __name__ == "__main__":
    for path in sorted((ROOT / "tutorials").glob("[0-9][0-9]_*.md")):
        if len(sys.argv) == 1 or path.name[:2] in sys.argv[1:]:
            draw(path)
