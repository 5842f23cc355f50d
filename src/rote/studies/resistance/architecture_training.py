"""What a network of any structure makes of what setting A shows and of what it never shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rote.store import Table
from rote.studies.resistance.architecture import STRUCTURES
from rote.studies.resistance.digits_training import note_of
from rote.studies.resistance.plane_training import CORNER_SIDE, PlaneProgram
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.scan_training import ScanProgram

if TYPE_CHECKING:
    from rote.recipes import Trained


def measured(trained: Trained, device: str) -> Table:
    """The networks at the end of their training."""
    recipe = trained.recipe
    program = recipe.program(trained.seeds, device)
    program.model.load_state_dict(trained.weights())
    program.model.eval()
    with torch.no_grad():
        told = _on_the_plane(program) if isinstance(program, PlaneProgram) else _elsewhere(program)
    task = "plane" if isinstance(program, PlaneProgram) else "scan" if isinstance(program, ScanProgram) else "digits"
    structure = f"{recipe.cell}, bilinear" if type(recipe) is ScanRecipe else recipe.label
    numbers = sum(parameter.numel() for parameter in program.model.parameters()) // program.replicas
    rows = [
        {"task": task, "structure": structure, "seed": seed, "parameters": numbers}
        | {name: values[index] for name, values in told.items()}
        for index, seed in enumerate(trained.seeds)
    ]
    return Table.make("structures", "Every network", STRUCTURES, rows, details=True, note=note_of(recipe))


def _on_the_plane(program: PlaneProgram) -> dict[str, list[float]]:
    """The gap is taken within the half of class 1: the quadrant that was seen, and the corner above it."""
    found = program.accuracy()
    corner = program.task.corner(CORNER_SIDE).inputs
    below = _right(program, corner - np.array([0.0, 1.0]))
    above = _right(program, corner)
    return {"loss": found["loss"], "train": found["seen"], "test": found["corner"], "gap": (below - above).tolist()}


def _right(program: PlaneProgram, points: Any) -> torch.Tensor:
    """The share of these points that is given to class 1, for each replica."""
    return (program.probabilities(torch.from_numpy(points).to(program.device, program.dtype)) > 0.5).double().mean(1)


def _elsewhere(program: Any) -> dict[str, list[float]]:
    found = program.measure()
    gap = [train - test for train, test in zip(found["train"], found["test"], strict=True)]
    return {name: found[name] for name in ("loss", "train", "test")} | {"gap": gap}
