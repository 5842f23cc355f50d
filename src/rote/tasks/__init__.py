"""What is learned: one file per task. NumPy only; no torch."""

from rote.tasks.task import tasks

__all__ = ["tasks"]
