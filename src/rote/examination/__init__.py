"""The battery: does an architecture compose, or does it learn by rote? Tasks, reference learners and the profile."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.examination.examination import examine
    from rote.examination.learners import from_file, known_learners
    from rote.examination.profile import Profile, TaskProfile
    from rote.examination.task import BATTERY, BatteryTask, Drawn, Items, battery

__all__ = [
    "BATTERY",
    "BatteryTask",
    "Drawn",
    "Items",
    "Profile",
    "TaskProfile",
    "battery",
    "examine",
    "from_file",
    "known_learners",
]
__getattr__ = lazily(
    __name__,
    {
        "BATTERY": "task",
        "BatteryTask": "task",
        "Drawn": "task",
        "Items": "task",
        "Profile": "profile",
        "TaskProfile": "profile",
        "battery": "task",
        "examine": "examination",
        "from_file": "learners",
        "known_learners": "learners",
    },
)
