"""Training a learner on a task of the battery, and asking the trained one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, embedding
from torch.overrides import TorchFunctionMode

from rote.examination.learners import learner
from rote.examination.recipe import LEARNER, RATE, SEED, TASK
from rote.examination.task import NOTHING, BatteryTask, Drawn, Items, accuracy
from rote.recipes import Trained
from rote.store import Column, Table
from rote.training import Program, choose_device

ASKED = 256  # items of a kind, at most, that are asked on the way and taken apart
PIECE = 256  # items at once
SHOWN = 3  # new items that are shown with their answers


def made(name: str, symbols: int, seed: int) -> nn.Module:
    """The learner with the weights of a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return learner(name)(symbols)


def logits_of(model: nn.Module, tokens: Tensor) -> Tensor:
    """[batch, time, symbol]; of a tuple the first, as recurrent modules give it."""
    given = model(tokens)
    logits: Tensor = given[0] if isinstance(given, tuple) else getattr(given, "logits", given)
    return logits


class ExaminationProgram(Program):
    """``measure`` gives "loss", of the training items, and the accuracy on known and on new ones."""

    def __init__(self, name: str, task: BatteryTask, seed: int, device: str = "cpu") -> None:
        self.task, self.seed, self.drawn = task, seed, task.draw(seed)
        self.model = made(name, len(task.symbols), seed).to(choose_device(device))
        self.device = next(self.model.parameters()).device
        self.tokens, self.targets = _tensors(self.drawn.train, self.device)
        self.ends = torch.from_numpy(_ends(self.drawn.train))
        self.epoch, self.order = -1, np.zeros(0, dtype=np.int64)

    def losses(self, step: int) -> Tensor:
        rows = self._rows(step)
        end = int(self.ends[rows].max())
        return _loss(logits_of(self.model, self.tokens[rows, :end]), self.targets[rows, :end])[None]

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
        loss = float(_loss(logits_of(self.model, tokens), targets))
        asked = {
            name: accuracy(answers(self.model, items), items, exact=self.task.exact)
            for name, items in (("known", known), ("new", new))
        }
        return {"loss": [loss], **asked}


def _tensors(items: Items, device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(items.tokens).to(device), torch.from_numpy(items.targets).to(device)


def _ends(items: Items) -> np.ndarray:
    """How far each item has to be read."""
    asked = items.targets != NOTHING
    return np.asarray(asked.shape[1] - np.argmax(asked[:, ::-1], axis=1))


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=NOTHING)


@torch.no_grad()
def answers(model: nn.Module, items: Items) -> np.ndarray:
    """The most probable symbol at every place [item, time]."""
    device = next(model.parameters()).device
    model.eval()
    pieces = torch.from_numpy(items.tokens).to(device).split(PIECE)
    return torch.cat([logits_of(model, piece).argmax(-1) for piece in pieces]).cpu().numpy()


def measured(trained: Trained) -> list[Table]:
    """All that a profile is made of, of one trained learner."""
    from rote.examination.task import battery

    recipe, seed = trained.recipe, trained.seeds[0]
    task, model = battery[recipe.task](), trained.network(0).model
    drawn = task.draw(seed)
    labels = {"learner": recipe.learner, "task": recipe.task, "seed": seed, "rate": recipe.rate}
    names = (LEARNER, TASK, SEED, RATE)
    sets = {"known": drawn.known, "fresh": drawn.fresh, "new": drawn.new}
    row: dict[str, Any] = {
        **labels, "parameters": sum(weight.numel() for weight in model.parameters()), "steps": recipe.steps,
        "seconds": trained.run.record.seconds,
        **{
            name: None if items is None else accuracy(answers(model, items), items, exact=task.exact)
            for name, items in sets.items()
        },
        "exchange_known": _exchange(model, task, drawn.known, seed),
        "exchange_new": _exchange(model, task, drawn.new, seed),
        "cue_known": cue_share(model, drawn.known[:ASKED]), "cue_new": cue_share(model, drawn.new[:ASKED]),
        "bits": bits(model, drawn.train) if task.dimension == "memory" else None,
    }  # fmt: skip
    columns = (
        *names,
        Column("parameters"),
        Column("steps", "updates"),
        Column("seconds", "of training"),
        *(Column(name, "accuracy") for name in sets),
        Column("exchange_known", "share of answers that stay when a symbol is exchanged that the rule ignores"),
        Column("exchange_new", "the same on new items"),
        Column("cue_known", "share of the gradient's norm on the cue, against the mean of the other symbols"),
        Column("cue_new", "the same on new items"),
        Column("bits", "of memorized labels"),
    )
    others = [
        {**labels, "set": name, "accuracy": accuracy(answers(model, items), items, exact=task.exact)}
        for name, items in drawn.others.items()
    ]
    curve = [
        {**labels, "step": record["step"], "known": record["known"], "new": record["new"]}
        for record in trained.run.metrics()
    ]
    return [
        Table.make("trainings", "Every trained learner", columns, [row]),
        Table.make("others", "Further new items", (*names, Column("set", role="label"), Column("accuracy")), others),
        Table.make(
            "curves", "Known and new over training", (*names, Column("step"), Column("known"), Column("new")), curve
        ),
        Table.make(
            "examples", "New items and their answers", (*names, *EXAMPLE), _examples(model, task, drawn, labels)
        ),
    ]


EXAMPLE = (Column("item"), Column("read"), Column("cue"), Column("asked"), Column("answered"), Column("right"))


def _exchange(model: nn.Module, task: BatteryTask, items: Items, seed: int) -> float | None:
    """How many scored answers stay when a symbol is exchanged that the rule ignores."""
    other = task.exchanged(items, seed)
    if other is None:
        return None
    same = answers(model, items) == answers(model, other)
    return float(same[items.scored & other.scored].mean())


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


def cue_share(model: nn.Module, items: Items) -> float | None:
    """The mean norm of the gradient on symbols of the cue, over that plus the mean norm on the other symbols before
    the first scored answer; None where a module reads no embedding, or either kind of symbol is missing."""
    if not len(items):
        return None
    tokens, targets = _tensors(items, next(model.parameters()).device)
    scored = torch.from_numpy(items.scored).to(tokens.device)
    with torch.enable_grad(), _Embedded(tokens.shape) as embedded:
        logits = logits_of(model, tokens)
        chosen = logits.gather(2, targets.clamp(min=0)[..., None])[..., 0][scored].sum()
    if embedded.vectors is None:
        return None
    (gradient,) = torch.autograd.grad(chosen, [embedded.vectors])
    norms = gradient.norm(dim=-1).cpu().numpy()
    read = np.arange(items.tokens.shape[1]) < _ends(items)[:, None]
    rest = read & ~items.cue
    rest[:, 0] = False  # the start is no symbol of the item
    if not items.cue.any() or not rest.any():
        return None
    on_cue, on_rest = float(norms[items.cue].mean()), float(norms[rest].mean())
    return on_cue / (on_cue + on_rest) if on_cue + on_rest > 0 else None


@torch.no_grad()
def bits(model: nn.Module, items: Items) -> float:
    """What is known of random labels, more than chance tells: at most the logarithm of their number for each."""
    tokens, _ = _tensors(items, next(model.parameters()).device)
    labels = np.unique(items.targets[items.scored])
    place = torch.from_numpy(items.scored).to(tokens.device)
    chances = logits_of(model, tokens)[..., labels.tolist()].log_softmax(-1)[place]
    own = torch.from_numpy(np.searchsorted(labels, items.targets[items.scored])).to(tokens.device)
    gained = math.log2(len(labels)) + chances.gather(1, own[:, None])[:, 0] / math.log(2)
    return float(gained.clamp(min=0).sum())


def _examples(model: nn.Module, task: BatteryTask, drawn: Drawn, labels: dict[str, Any]) -> list[dict[str, Any]]:
    """A few new items in words: what is read, which of it decides, what is asked and answered."""
    items, names, rows = drawn.new[:SHOWN], task.symbols, []
    said = answers(model, items)
    for number, end in enumerate(_ends(items)):
        places = np.flatnonzero(items.scored[number])
        rows.append({
            **labels, "item": number,
            "read": " ".join(names[token] for token in items.tokens[number, 1:end]),
            "cue": " ".join(str(place - 1) for place in np.flatnonzero(items.cue[number]) if place),
            "asked": " ".join(str(place - 1) for place in places),
            "answered": " ".join(names[said[number, place]] for place in places),
            "right": " ".join(names[items.targets[number, place]] for place in places),
        })  # fmt: skip
    return rows
