"""The training loop, populations, and everything that makes a run repeatable."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.training.device import choose_device
    from rote.training.interrupt import stop_on_signal
    from rote.training.loop import train
    from rote.training.population import split_seeds, time_engines
    from rote.training.program import OnlineProgram, Program
    from rote.training.randomness import fix_seeds
    from rote.training.settings import TrainingConfig

__all__ = [
    "OnlineProgram",
    "Program",
    "TrainingConfig",
    "choose_device",
    "fix_seeds",
    "split_seeds",
    "stop_on_signal",
    "time_engines",
    "train",
]
__getattr__ = lazily(
    __name__,
    {
        "OnlineProgram": "program",
        "Program": "program",
        "TrainingConfig": "settings",
        "choose_device": "device",
        "fix_seeds": "randomness",
        "split_seeds": "population",
        "stop_on_signal": "interrupt",
        "time_engines": "population",
        "train": "loop",
    },
)
