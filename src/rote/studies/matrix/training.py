"""Training of the matrix's networks: those of one task and cell as one program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from rote.store import Run, Table
from rote.studies.foundations.sentence_models import SentenceProgram, shuffled
from rote.studies.matrix.lessons import lesson
from rote.studies.matrix.looking import look
from rote.studies.matrix.tables import run_table
from rote.training import train

if TYPE_CHECKING:
    from rote.studies.matrix.matrix import MatrixConfig
    from rote.studies.study import Progress


def train_and_look(config: MatrixConfig, run: Run, progress: Progress, device: str) -> list[Table]:
    (task,), (cell,), seeds = config.tasks, config.cells, run.request.seeds
    lessons = [lesson(task, seed, config.questions) for seed in seeds]
    shortest = min(len(each.sentences) for each in lessons)  # a rule too near the beginning has no context
    sentences = np.stack([each.sentences[:shortest] for each in lessons])
    program = SentenceProgram(
        lessons[0].symbols, config.model, config.training, seeds, shuffled(sentences, seeds, config.training.batch),
        lambda program: {"loss": program.losses(0).tolist()}, device,
    )  # fmt: skip
    train(program, config.training, run, progress=progress)
    found = [
        look(program.model.replica(index, torch.float64).cpu(), each.questions, config.jacobians)
        for index, each in enumerate(lessons)
    ]
    return [run_table(task, cell, seeds, found)]
