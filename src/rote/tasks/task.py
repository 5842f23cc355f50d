"""What a task is to the rest of Rote: it makes labelled examples from random seeds and knows nothing of models."""

from __future__ import annotations

from typing import Any

from rote.registry import Registry

tasks: Registry[type[Any]] = Registry("task", "rote.tasks")
