"""Training a learner on a task of the battery, and asking the trained one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding
from torch.overrides import TorchFunctionMode

from rote.examination.asking import ends, tables_of
from rote.examination.calling import asked_logits, pairs
from rote.examination.fitted import Fitted
from rote.examination.forms import Form, Kind, drawn_as
from rote.examination.learners import learner
from rote.examination.task import NOTHING, START, BatteryTask, Items, accuracy
from rote.recipes import Trained
from rote.store import Table
from rote.training import Program, choose_device

ASKED = 256  # items of a kind, at most, that are asked on the way and taken apart
PIECE = 256  # items at once


def made(name: str, symbols: int, seed: int, kind: Kind = "tokens") -> nn.Module | Fitted:
    """The learner, with the weights of a seed if it is a network. An encoder and a decoder have a vocabulary each,
    which here are the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return learner(name)(*([symbols, symbols] if kind == "seq2seq" else [symbols]))


def made_network(name: str, symbols: int, seed: int, kind: Kind = "tokens") -> nn.Module:
    """The learner with the weights of a seed; that it is a network was checked before."""
    model = made(name, symbols, seed, kind)
    assert isinstance(model, nn.Module)
    return model


class ExaminationProgram(Program):
    """``measure`` gives "loss", of the training items, and the accuracy on known and on new ones.

    A module that has a method ``extra_loss()`` is asked for it behind every training pass, and what it gives is learned
    as well: guidance of an attention, a balance of experts.
    """

    def __init__(
        self, name: str, task: BatteryTask, seed: int, device: str = "cpu", kind: Kind = "tokens", form: Form = "all"
    ) -> None:
        self.task, self.seed, self.kind, self.drawn = task, seed, kind, drawn_as(task, seed, form)
        self.model = made_network(name, len(task.symbols), seed, kind).to(choose_device(device))
        self.device = next(self.model.parameters()).device
        self.tokens, self.targets = _tensors(self.drawn.train, self.device)
        self.ends = torch.from_numpy(ends(self.drawn.train))
        self.epoch, self.order = -1, np.zeros(0, dtype=np.int64)

    def losses(self, step: int) -> Tensor:
        rows = self._rows(step)
        end = int(self.ends[rows].max())
        tokens, targets = self.tokens[rows, :end], self.targets[rows, :end]
        loss = _loss(asked_logits(self.kind, self.model, tokens, targets), targets)
        extra = getattr(self.model, "extra_loss", None)
        return (loss if extra is None else loss + extra())[None]

    def _rows(self, step: int) -> Tensor:
        """Every item once in an epoch, in an order of its own."""
        from rote.examination.recipe import BATCH

        per_epoch = max(1, len(self.tokens) // BATCH)
        epoch, place = divmod(step, per_epoch)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, np.random.default_rng((self.seed, 99, epoch)).permutation(len(self.tokens))
        return torch.from_numpy(self.order[place * BATCH : (place + 1) * BATCH])

    def measure(self) -> dict[str, Any]:
        known, new = self.drawn.known[:ASKED], self.drawn.new[:ASKED]
        tokens, targets = _tensors(known, self.device)
        loss = float(_loss(asked_logits(self.kind, self.model, tokens, targets), targets))
        asked = {
            name: accuracy(answers(self.model, items, self.kind), items, exact=self.task.exact)
            for name, items in (("known", known), ("new", new))
        }
        return {"loss": [loss], **asked}


def _tensors(items: Items, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(items.tokens).to(device), torch.from_numpy(items.targets).to(device)


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOTHING)


@torch.no_grad()
def answers(model: nn.Module, items: Items, kind: Kind = "tokens") -> np.ndarray:
    """The most probable symbol at every place [item, time] where something is asked."""
    model.eval()
    pieces = zip(*(part.split(PIECE) for part in _tensors(items, next(model.parameters()).device)), strict=True)
    return torch.cat([asked_logits(kind, model, *piece).argmax(-1) for piece in pieces]).cpu().numpy()


def measured(trained: Trained) -> list[Table]:
    """All that a profile is made of, of one trained learner."""
    from rote.examination.inside import parts_share
    from rote.examination.task import battery

    recipe, seed = trained.recipe, trained.seeds[0]
    task, kind, model = battery[recipe.task](), recipe.kind, trained.network(0).model
    drawn = drawn_as(task, seed, recipe.form)
    known, new = drawn.known[:ASKED], drawn.new[:ASKED]
    alone = kind == "tokens"  # what reads pairs, or lengths as well, is not taken apart
    told = {
        "parameters": sum(weight.numel() for weight in model.parameters()), "steps": recipe.steps,
        "seconds": trained.run.record.seconds,
        "cue_known": cue_share(model, known, kind), "cue_new": cue_share(model, new, kind),
        "parts_known": parts_share(model, known) if alone else None,
        "parts_new": parts_share(model, new) if alone else None,
        "bits": bits(model, drawn.train, kind) if task.dimension == "memory" else None,
    }  # fmt: skip
    labels = {"learner": recipe.learner, "task": recipe.task, "seed": seed, "rate": recipe.rate}
    return tables_of(labels, task, drawn, lambda items: answers(model, items, kind), told, trained.run.metrics())


class _Embedded(TorchFunctionMode):
    """Catches the vectors of the tokens, whichever module looks them up."""

    def __init__(self, shape: torch.Size) -> None:
        super().__init__()
        self.shape = shape
        self.vectors: Tensor | None = None

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = function(*args, **(kwargs or {}))
        if self.vectors is None and function is embedding and given.shape[:2] == self.shape and given.requires_grad:
            self.vectors = given
        return given


def cue_share(model: nn.Module, items: Items, kind: Kind = "tokens") -> float | None:
    """The mean norm of the gradient on symbols of the cue, over that plus the mean norm on the other symbols before
    the first scored answer; None where a module reads no embedding, or either kind of symbol is missing."""
    if not len(items):
        return None
    tokens, targets = _tensors(items, next(model.parameters()).device)
    scored = torch.from_numpy(items.scored).to(tokens.device)
    source = pairs(tokens, targets)[0] if kind == "seq2seq" else tokens
    with torch.enable_grad(), _Embedded(source.shape) as embedded:
        logits = asked_logits(kind, model, tokens, targets)
        chosen = logits.gather(2, targets.clamp(min=0)[..., None])[..., 0][scored].sum()
    if embedded.vectors is None:
        return None
    (gradient,) = torch.autograd.grad(chosen, [embedded.vectors])
    norms, cue = gradient.norm(dim=-1).cpu().numpy(), items.cue
    rest = (np.arange(items.tokens.shape[1]) < ends(items)[:, None]) & ~cue
    rest[:, 0] = False  # the start is no symbol of the item
    if kind == "seq2seq":
        within = source.cpu().numpy() != START
        cue, rest = (part[:, 1 : 1 + within.shape[1]] & within for part in (cue, rest))
    if not cue.any() or not rest.any():
        return None
    on_cue, on_rest = float(norms[cue].mean()), float(norms[rest].mean())
    return on_cue / (on_cue + on_rest) if on_cue + on_rest > 0 else None


@torch.no_grad()
def bits(model: nn.Module, items: Items, kind: Kind = "tokens") -> float:
    """What is known of random labels, more than chance tells: at most the logarithm of their number for each."""
    tokens, targets = _tensors(items, next(model.parameters()).device)
    labels = np.unique(items.targets[items.scored])
    place = torch.from_numpy(items.scored).to(tokens.device)
    chances = asked_logits(kind, model, tokens, targets)[..., labels.tolist()].log_softmax(-1)[place]
    own = torch.from_numpy(np.searchsorted(labels, items.targets[items.scored])).to(tokens.device)
    gained = math.log2(len(labels)) + chances.gather(1, own[:, None])[:, 0] / math.log(2)
    return float(gained.clamp(min=0).sum())
