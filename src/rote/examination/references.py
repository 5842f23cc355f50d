"""Profiles of known architectures that come with Rote, so that comparing with them costs no training.

They are made by ``benchmarks/profiles.py`` at the standard budget, and are read only if they are of this battery.
"""

from __future__ import annotations

from pathlib import Path

from rote.errors import RoteError
from rote.examination.profile import Profile

FOLDER = Path(__file__).parents[1] / "data" / "profiles"


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
