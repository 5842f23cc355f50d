"""Trained networks asked in every way: a number for each analysis, on known and on new questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from rote.analyses import connectivity, decompose, diagnose, gate_saturation, gradient_flow, interdependence, trace
from rote.models import SequenceModel
from rote.store import Table
from rote.studies.matrix.cued_tasks import Questions
from rote.studies.matrix.matrix import Values, networks_table

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.recipes.recipe import Progress
    from rote.studies.matrix.matrix import MatrixMeasurement, MatrixRecipe

TOLERANCE = 1e-5  # of a decomposition's parts, relative; the networks are in float32


def measured(asked: MatrixMeasurement, trained: Trained, progress: Progress) -> list[Table]:
    """Every network of a task and cell, in extended precision."""
    recipe: MatrixRecipe = trained.recipe
    answers = []
    for done, (seed, network) in enumerate(zip(trained.seeds, trained.networks(), strict=True)):
        progress(done, len(trained.seeds))
        model = cast(SequenceModel, network.model.double())
        answers.append(look(model, recipe.task.questions(seed, asked.questions), asked.jacobians))
    return [networks_table(recipe.task.name, recipe.cell, trained.seeds, answers)]


def look(model: SequenceModel, questions: Mapping[str, Questions], few: int) -> Values:
    """``few``: questions for the step Jacobians, which cost a pass for each unit."""
    known, new = questions["known"], questions["new"]
    skill = {name: _skill(asked, _logits(model, asked)) for name, asked in questions.items()}
    return {
        "behavior, new": skill["new"],
        "behavior, known minus new": skill["known"] - skill["new"],
        "decomposition, cue": _from_part(model, new, new.cue),
        "decomposition, rest": _from_part(model, known, ~known.cue),
        "connectivity, cue": _connected(model, new),
        "connectivity, rest": 1 - _connected(model, known),
        "interdependence": _interdependence(model, known),
        **_groups(model, known),
        "gates": _gates(model, known),
        "gradient flow": _flow(model, new, few),
    }


def _logits(model: SequenceModel, asked: Questions) -> Tensor:
    with torch.no_grad():
        logits: Tensor = model(torch.from_numpy(asked.tokens))[:, -1]
    return logits


def _skill(asked: Questions, logits: Tensor) -> float:
    """Share of answers that are right beyond chance: 0 for guessing, 1 for all."""
    right = logits.gather(1, torch.from_numpy(asked.right)[:, None])
    share = float((right > logits.gather(1, torch.from_numpy(asked.wrong))).all(1).double().mean())
    return (share - asked.chance) / (1 - asked.chance)


def _from_part(model: SequenceModel, asked: Questions, part: object) -> float | None:
    """Skill of what the state owes to some of the symbols alone, by contextual decomposition; None where the parts grow
    until they cancel."""
    positions = torch.as_tensor(part)[:, None]
    parts = decompose(model, torch.from_numpy(asked.tokens), positions, at=-1)
    assert parts.error.max() < TOLERANCE, "The decomposition is not exact."
    return None if parts.warning else _skill(asked, parts.logits()[:, 0, 0])


def _connected(model: SequenceModel, asked: Questions) -> float:
    """Share of the answer's connectivity that is with the cue."""
    tokens = torch.from_numpy(asked.tokens)
    targets = torch.from_numpy(asked.right)[:, None].expand_as(tokens)
    row = connectivity(model, tokens, targets).values[:, -1]
    return float(((row * torch.from_numpy(asked.cue)).sum(1) / row.sum(1)).mean())


def _interdependence(model: SequenceModel, asked: Questions) -> float | None:
    """Of the cue and what follows it. With everything before it too, the two would be the whole sentence, whose parts
    always sum to the whole. None where the parts grow until they cancel, and for units that are not taken apart by the
    published rule: with what they use whole, little is left that two parts could do together."""
    if model.recurrent.cell(0).taken_whole:
        return None
    cue = torch.from_numpy(asked.cue)[:, None]
    later = (cue.cumsum(-1) > 0) & ~cue
    together = interdependence(model, torch.from_numpy(asked.tokens), cue, later)
    return None if together.warning else float(together.values[:, 0, -1].mean())


def _groups(model: SequenceModel, asked: Questions) -> Values:
    """What a linear classifier reads from the last state of what the cue decides, and the share of units it needs."""
    state = trace(model, torch.from_numpy(asked.tokens)).hidden[0][:, -1]
    sentences = list(map(str, asked.tokens.tolist()))
    probe = diagnose(state, asked.decided.tolist(), groups=sentences, splits=2, test_share=0.25)
    units = len(probe.group) / state.shape[1]
    return {"functional groups, read": probe.group_accuracy, "functional groups, units": units}


def _gates(model: SequenceModel, asked: Questions) -> float | None:
    """Share of steps at which a gate is nearly shut or open, over all gates; None for a unit without any."""
    if not set(model.recurrent.cell(0).gate_names) - {"candidate"}:
        return None
    seen = gate_saturation(trace(model, torch.from_numpy(asked.tokens)))
    return float(torch.cat([left + seen.right[0][gate] for gate, left in seen.left[0].items()]).mean())


def _flow(model: SequenceModel, asked: Questions, few: int) -> float:
    """log10 of the product of step Jacobians from the first symbol of the cue to the answer."""
    place = int(asked.cue[0].nonzero()[0][0])
    tokens, targets = torch.from_numpy(asked.tokens[:few]), torch.from_numpy(asked.right[:few])
    flow = gradient_flow(model, tokens, -1, targets=targets)
    return float(flow.products[0][:, place].log10().mean())
