"""How much of an answer comes from the symbols that decide it, and how much from the others, by contextual
decomposition of the trained module: a model may be right for the wrong reason."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from rote.analyses import decompose
from rote.examination.asking import ends
from rote.examination.task import Items
from rote.models import SequenceModel, adapt
from rote.models.traced.own_forward import OwnForward

TAKEN_APART = 32  # items


def parts_share(model: nn.Module, items: Items) -> float | None:
    """What the cue adds to the logit of the right answer, over that and what the other symbols before it add, both
    without their signs; a logit is told from the mean over all symbols, since only differences decide.

    The start and the biases belong to neither. None where the module cannot be taken apart, or an item has only symbols
    of one kind.
    """
    items = items[:TAKEN_APART]
    spans = _spans(items)
    if not len(items) or not spans.any((0, 2)).all():
        return None
    tokens = torch.from_numpy(items.tokens)
    taken = _taken_apart(model, tokens)
    if taken is None:
        return None
    with torch.no_grad():
        logits = decompose(taken, tokens, torch.from_numpy(spans)).logits()  # [item, span, time, symbol]
    added = _of_answers(logits - logits.mean(-1, keepdim=True), items)
    cue, rest = added.abs().sum(1).tolist()
    return cue / (cue + rest) if cue + rest > 0 else None


def _spans(items: Items) -> np.ndarray:
    """[item, cue or rest, time]."""
    read = np.arange(items.tokens.shape[1]) < ends(items)[:, None]
    read[:, 0] = False
    return np.stack([read & items.cue, read & ~items.cue], 1)


def _taken_apart(model: nn.Module, tokens: Tensor) -> SequenceModel | None:
    own = copy.deepcopy(model).double().cpu().eval()
    try:
        taken = adapt(own, example=tokens)
    except Exception:  # whatever a user's module does with other numbers than those that it was made for
        return None
    return None if isinstance(taken, OwnForward) else taken


def _of_answers(logits: Tensor, items: Items) -> Tensor:
    """[span, answer]: those of the right answers where they are scored."""
    rows, places = np.nonzero(items.scored)
    return logits[rows, :, places, items.targets[rows, places]].T
