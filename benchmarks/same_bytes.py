"""Do two stores of one machine have the same bytes? Every study at smoke, with other workers, threads and hashes.

    python benchmarks/same_bytes.py                      # all studies: a few minutes
    python benchmarks/same_bytes.py plane autocomplete

Results, metrics and weights are compared byte by byte, records without when they were begun and how long they took.
``tests/contracts/test_all_studies.py`` does so with smaller settings. Last seen, with torch 2.13 on two cores: 152 runs
of 23 studies, no difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rote.laboratory.study import ordered_names

TIMES = ("started", "seconds")
WAYS = {  # workers, environment
    "one worker, one thread": ("1", {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}),
    "two workers, threads as they are": ("2", {"PYTHONHASHSEED": "7"}),
    "one worker, four threads": ("1", {"OMP_NUM_THREADS": "4", "PYTHONHASHSEED": "8"}),
}


def contents(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.glob("runs/*/*/*")):
        if path.name == "record.json":
            body = json.loads(path.read_text())["body"]
            found[str(path.relative_to(root))] = {key: body[key] for key in body if key not in TIMES}
        elif path.name != "lock":
            found[str(path.relative_to(root))] = path.read_bytes()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=ordered_names())
    names = parser.parse_args().studies
    with tempfile.TemporaryDirectory() as folder:
        stores = {}
        for number, (way, (workers, environment)) in enumerate(WAYS.items()):
            root = Path(folder) / str(number)
            for name in names:
                words = ["run", name, "--preset", "smoke", "--workers", workers, "--store", str(root), "--json"]
                command = [sys.executable, "-m", "rote.cli", *words]
                subprocess.run(command, env={**os.environ, **environment}, cwd=folder, check=True, capture_output=True)
            stores[way] = contents(root)
        (first, expected), *others = stores.items()
        print(f"{first}: {len(expected)} files of {len(names)} studies")
        different = 0
        for way, found in others:
            names_of = sorted(name for name in {*expected, *found} if expected.get(name) != found.get(name))
            different += len(names_of)
            print(f"{way}: {len(names_of)} differ {' '.join(names_of[:9])}")
    sys.exit(int(different > 0))


if __name__ == "__main__":
    main()
