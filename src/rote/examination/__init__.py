"""The battery: does an architecture compose, or does it learn by rote? Tasks, reference learners and the profile."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.examination.examination import examine
    from rote.examination.learners import from_file, known_learners
    from rote.examination.pairs import Pair, minimal_pairs
    from rote.examination.profile import Profile, TaskProfile
    from rote.examination.references import kept_profile, kept_profiles
    from rote.examination.task import BATTERY, BatteryTask, Drawn, Items, battery

__all__ = [
    "BATTERY",
    "BatteryTask",
    "Drawn",
    "Items",
    "Pair",
    "Profile",
    "TaskProfile",
    "battery",
    "examine",
    "from_file",
    "kept_profile",
    "kept_profiles",
    "known_learners",
    "minimal_pairs",
]
__getattr__ = lazily(
    __name__,
    {
        "BATTERY": "task",
        "BatteryTask": "task",
        "Drawn": "task",
        "Items": "task",
        "Pair": "pairs",
        "Profile": "profile",
        "TaskProfile": "profile",
        "battery": "task",
        "examine": "examination",
        "from_file": "learners",
        "kept_profile": "references",
        "kept_profiles": "references",
        "known_learners": "learners",
        "minimal_pairs": "pairs",
    },
)
