"""The command for learners: lesson."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from rote.commands.options import Json, option, print_json, say
from rote.errors import UsageError


@dataclass(frozen=True)
class Lesson:
    """Five tasks with automatic checks, from writing an operation to reading a gate.

    The first call writes the files into a folder; every further one checks what stands in them. Files that are there
    are never written over: delete one to begin it again. Exit code 0 once all five are solved, 1 before.

    Try:
      rote lesson
      rote lesson my-lesson
    """

    folder: Annotated[Positional[Path], option("[FOLDER]", "Where the files are. Default: rote-lesson.")] = Path(
        "rote-lesson"
    )
    json: Json = False

    def __call__(self) -> int:
        from rote.commands.lesson_tasks import TASKS, outcome
        from rote.store.files import write_atomically

        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"'FOLDER' must be a folder. {self.folder} is a file: name another one.")
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = [task for task in TASKS if not (self.folder / task.file).exists()]
        for task in fresh:
            write_atomically(self.folder / task.file, task.text.encode())
        outcomes = {task: outcome(task, self.folder) for task in TASKS}
        left = [task for task in TASKS if outcomes[task]]
        if self.json:
            print_json(
                [
                    {"task": task.name, "file": str(self.folder / task.file), "solved": not why, "why": why}
                    for task, why in outcomes.items()
                ]
            )
            return 1 if left else 0
        for task, why in outcomes.items():
            say(f"{'done' if not why else 'open'}  {task.number} {task.asks}{f': {why}' if why else ''}")
        if left:
            say(f"Next: edit {self.folder / left[0].file}, then give the command again.")
        else:
            say("All five are solved.")
        return 1 if left else 0
