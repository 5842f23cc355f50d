"""Rounds of both kinds in one process, which forks, and waits for all its children.

python rounds.py KILLS FLIPS SEED FOLDER        prints one JSON document
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import harness
from flips import Flips

if __name__ == "__main__":
    kills, flips, seed = map(int, sys.argv[1:4])
    folder = Path(sys.argv[4])
    print(
        json.dumps(
            {
                "kills": harness.play(kills, seed, folder),
                "flips": harness.play(flips, seed, folder, kind=Flips),
            }
        )
    )
