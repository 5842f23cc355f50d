"""The training loop, populations, and everything that makes a run repeatable."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.training.device import choose_device
    from rote.training.interrupt import stop_on_signal
    from rote.training.loop import train
    from rote.training.program import OnlineProgram, Program
    from rote.training.randomness import fix_seeds
    from rote.training.settings import EpochTraining, TrainingConfig

__all__ = [
    "EpochTraining",
    "OnlineProgram",
    "Program",
    "TrainingConfig",
    "choose_device",
    "fix_seeds",
    "stop_on_signal",
    "train",
]
__getattr__ = lazily(
    __name__,
    {
        "EpochTraining": "settings",
        "OnlineProgram": "program",
        "Program": "program",
        "TrainingConfig": "settings",
        "choose_device": "device",
        "fix_seeds": "randomness",
        "stop_on_signal": "interrupt",
        "train": "loop",
    },
)
