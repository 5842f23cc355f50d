"""Profiles of known architectures that come with Rote, so that comparing with them costs no training; and those that a
store has, one for each name that was examined with it, the last.

The former are made by ``benchmarks/profiles.py`` at the standard budget. Only those of this battery are read.
"""

from __future__ import annotations

import re
from pathlib import Path

from rote.errors import RoteError
from rote.examination.profile import Profile

FOLDER = Path(__file__).parents[1] / "data" / "profiles"
AGAIN = FOLDER.parent / "again"  # some of them examined a second time, on other seeds


def kept_profile(name: str, folder: Path = FOLDER) -> Profile | None:
    """That of a registered architecture; None where there is none of this version of the battery."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    try:
        return Profile.load(path)
    except RoteError:  # of another battery, or damaged: it is examined instead
        return None


def kept_profiles(folder: Path = FOLDER) -> list[Profile]:
    """All of them, the highest index first."""
    found = [profile for path in sorted(folder.glob("*.json")) if (profile := kept_profile(path.stem, folder))]
    return sorted(found, key=lambda profile: -profile.score.value if profile.score else 1.0)


def keep_examined(profile: Profile, root: Path) -> Path:
    """Write it into the store, where the explorer finds it."""
    folder = root / "profiles"
    folder.mkdir(parents=True, exist_ok=True)
    return profile.save(folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', profile.name)[:100]}.json")


def examined_profiles(root: Path) -> list[Profile]:
    return kept_profiles(root / "profiles")
