"""How the module of each kind of model is called: its logits for the answers that are asked for, in their places."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rote.examination.forms import Kind
from rote.examination.task import NOTHING, START


def logits_of(model: nn.Module, *read: Tensor) -> Tensor:
    """What a module gives; of a tuple the first, as recurrent modules give it."""
    given = model(*read)
    logits: Tensor = given[0] if isinstance(given, tuple) else getattr(given, "logits", given)
    return logits


def asked_logits(kind: Kind, model: nn.Module, tokens: Tensor, targets: Tensor) -> Tensor:
    """[batch, time, symbol]. A model of tokens answers everywhere, others where ``targets`` ask for something: the
    answers before it are given, as in training, which changes nothing where a whole item must be right."""
    if kind == "tokens":
        return logits_of(model, tokens)
    asked = targets != NOTHING
    rows, places = asked.nonzero(as_tuple=True)
    if kind == "classifier":
        answered = logits_of(model, tokens, lengths(targets))[rows]
    else:
        answered = logits_of(model, *pairs(tokens, targets))[rows, (asked.cumsum(1) - 1)[rows, places]]
    found = answered.new_zeros(*tokens.shape, answered.shape[-1])
    found[rows, places] = answered
    return found


def lengths(targets: Tensor) -> Tensor:
    """How many tokens are read before the last answer."""
    asked = (targets != NOTHING).int()
    return asked.shape[1] - asked.flip(1).argmax(1)


def pairs(tokens: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Source and target of an encoder and a decoder, from items whose answers follow each other."""
    asked = targets != NOTHING
    first, count = asked.int().argmax(1), asked.sum(1)
    time = torch.arange(tokens.shape[1], device=tokens.device)
    source = torch.where(time <= first[:, None], tokens, START)[:, 1 : 1 + int(first.max())]
    said = torch.arange(int(count.max()) - 1, device=tokens.device)  # the last answer is fed to nothing
    places = (first[:, None] + said).clamp(max=tokens.shape[1] - 1)
    answers = torch.where(said < count[:, None] - 1, targets.gather(1, places), START)
    return source, torch.cat([torch.full_like(first, START)[:, None], answers], 1)
