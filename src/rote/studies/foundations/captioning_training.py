"""Networks that describe pictures of digits, all of a recipe as one program; what they say; and the nearest picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.models.captioner import StackedCaptioner, fixed_output
from rote.models.fitting import fitted
from rote.recipes import Described
from rote.store import Table
from rote.studies.foundations.captioning import ANSWERS, EXAMPLES, NEAREST, SAID
from rote.tasks.captions import END, LONGEST, PAD, WORDS, Captioned, CaptionsTask, Which, captions, spoken
from rote.tasks.digits import CLASSES, DigitImages
from rote.tasks.mnist import Digits, load_digits
from rote.training import Program, choose_device

if TYPE_CHECKING:
    from rote.recipes import Trained
    from rote.studies.foundations.captioning import CaptioningBaselines, CaptioningMeasurement, CaptioningRecipe

Row = dict[str, Any]
IGNORED = -100  # a target that cross_entropy leaves out
PARTS: tuple[Which, ...] = ("seen", "held-out")
IN_WORDS = {"seen": "digits that training shows together", "held-out": "digits that it never shows together"}
SHOWN = 3  # examples of each network of the first seed
DESCRIBED = 8  # pictures of each part in the explorer
EVERY = captions(  # all captions, with two digits before those with one
    np.repeat(np.arange(CLASSES), 2 * CLASSES + 1),
    np.tile(np.r_[np.arange(CLASSES), np.arange(CLASSES), 0], CLASSES),
    np.tile(np.r_[np.full(CLASSES, 1), np.full(CLASSES, 2), 0], CLASSES),
)


class CaptioningProgram(Program):
    """A network for each number of held-out differences and seed."""

    stacked = True

    def __init__(self, recipe: CaptioningRecipe, digits: Digits, seeds: Sequence[int], device: str) -> None:
        self.recipe, self.device = recipe, choose_device(device)
        self.images, self.tasks = digits.training.shrunk(recipe.side), recipe.tasks(seeds)
        self.replicas = len(self.tasks)
        self.model = make_model(recipe, self.images, [seed for _, seed in self.tasks]).to(self.device)

    def losses(self, step: int) -> Tensor:
        """Mean cross entropy over the words of a replica's captions, or over captions where these are classes."""
        batch = self.recipe.training.batch
        drawn = [task.training(self.images, seed, step, batch) for task, seed in self.tasks]
        words = np.stack([one.captions for one in drawn])
        logits, targets = self._answers(pixels(drawn).to(self.device), words)
        each = cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORED, reduction="none")
        return each.view(self.replicas, -1).sum(1) / (targets != IGNORED).flatten(1).sum(1)

    def measure(self) -> dict[str, Any]:
        """The loss of the first batch."""
        return {"loss": self.losses(0).tolist()}

    def _answers(self, images: Tensor, words: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        if self.recipe.head == "whole":
            return self.model(images), torch.from_numpy(_numbers(words)).to(self.device)
        if self.recipe.head == "places":  # behind the end it has to say the end
            targets = torch.from_numpy(np.where(words == PAD, END, words)).to(self.device)
            return self.model(images).unflatten(-1, (LONGEST, len(WORDS))), targets
        fed = np.concatenate([np.full_like(words[..., :1], END), np.maximum(words[..., :-1], 0)], -1)
        targets = torch.from_numpy(np.where(words == PAD, IGNORED, words)).to(self.device)
        return self.model(images, torch.from_numpy(fed).to(self.device)), targets


def make_model(recipe: CaptioningRecipe, digits: DigitImages, seeds: Sequence[int]) -> nn.Module:
    """The networks that the recipe names, one for each seed given."""
    size, dtype = 4 * digits.images[0].size, recipe.training.torch_dtype()
    if recipe.head == "recurrent":
        return StackedCaptioner(size, len(WORDS), recipe.model, seeds, dtype)
    outputs = len(EVERY) if recipe.head == "whole" else LONGEST * len(WORDS)
    return fixed_output(size, outputs, recipe.model, seeds, dtype)


def reopened(recipe: CaptioningRecipe, trained: Trained, weights: Mapping[str, Any]) -> nn.Module:
    """All networks of a finished training."""
    digits, replicas = load_digits(recipe.data).training.shrunk(recipe.side), len(recipe.members(trained.seeds))
    sizes = (replicas * recipe.model.encoder * size for size in (recipe.model.hidden, 4 * digits.images[0].size))
    return fitted(lambda: make_model(recipe, digits, [0] * replicas), weights, trained.run.folder, *sizes).eval()


def pixels(drawn: Sequence[Captioned]) -> Tensor:
    """[replica, picture, pixel]"""
    return torch.from_numpy(np.stack([one.images.reshape(len(one.images), -1) for one in drawn]))


def measured(asked: CaptioningMeasurement, trained: Trained, device: str) -> list[Table]:
    """What the networks say of new pictures with pairs that they have seen together, and with those that they have
    not."""
    recipe: CaptioningRecipe = trained.recipe
    model = reopened(recipe, trained, trained.weights()).to(choose_device(device))
    digits = load_digits(recipe.data)
    images, tasks = digits.test.shrunk(recipe.side), recipe.tasks(trained.seeds)
    rows: list[Row] = []
    examples: list[Row] = []
    for part in PARTS:
        drawn = [task.test(images, seed, part, asked.pictures) for task, seed in tasks]
        said = say(recipe, model, pixels(drawn).to(choose_device(device)))
        for (task, seed), one, own in zip(tasks, drawn, said, strict=True):
            labels = {"model": recipe.label, "held": task.held, "seed": seed, "part": part}
            rows.append({**labels, **scores(task, seed, one, own)})
            if seed == trained.seeds[0]:
                examples += [{**labels, **row} for row in _examples(one, own)]
    return [_answers_table(rows, digits.note), Table.make("examples", "What was said", EXAMPLES, examples)]


def described(recipe: CaptioningRecipe, trained: Trained, index: int) -> list[Described]:
    """The first test pictures of one network, of pairs that it has seen together and of others."""
    model, tasks = reopened(recipe, trained, trained.weights()), recipe.tasks(trained.seeds)
    images = load_digits(recipe.data).test.shrunk(recipe.side)
    found = []
    for part in PARTS:
        drawn = [task.test(images, seed, part, DESCRIBED) for task, seed in tasks]
        own = say(recipe, model, pixels(drawn))[index]
        rows = zip(drawn[index].images, drawn[index].captions, own, strict=True)
        found += [Described(image, spoken(right), spoken(words), IN_WORDS[part]) for image, right, words in rows]
    return found


@torch.no_grad()
def say(recipe: CaptioningRecipe, model: Any, images: Tensor) -> NDArray[np.int64]:
    """Captions [replica, picture, word], as each network says them; behind the end stands padding."""
    if recipe.head == "whole":
        return np.asarray(EVERY[model(images).argmax(-1).cpu().numpy()])
    if recipe.head == "places":
        words = model(images).unflatten(-1, (LONGEST, len(WORDS))).argmax(-1)
    else:
        words = model.say(images, LONGEST)
    return ended(words.cpu().numpy())


def ended(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """With padding behind the first end."""
    behind = (words == END).cumsum(-1) - (words == END) > 0
    return np.where(behind, PAD, words)


def scores(task: CaptionsTask, seed: int, shown: Captioned, said: NDArray[np.int64]) -> dict[str, float]:
    """Of captions of two digits: the share that is right in every word, in each digit, in the relation; and the share
    that says two digits, but a pair that training has."""
    last = np.where(shown.relation == 1, 3, 2)  # where the second digit stands
    rows = np.arange(len(said))
    right = (said == shown.captions).all(1)
    relation = said[:, 1] == shown.captions[:, 1]
    second = said[rows, np.where(said[:, 1] == shown.captions[:, 1], last, 5 - last)]
    pair = (said[:, :1] >= 1) & (said[:, :1] <= CLASSES)
    difference = (second - said[:, 0]) % CLASSES
    trained = pair[:, 0] & (second >= 1) & (second <= CLASSES) & ~np.isin(difference, task.held_out(seed))
    return {
        "right": float(right.mean()),
        "first": float((said[:, 0] == shown.captions[:, 0]).mean()),
        "relation": float(relation.mean()),
        "second": float((second == shown.captions[rows, last]).mean()),
        "trained_pair": float((trained & ~right).mean()),
    }


def nearest(asked: CaptioningBaselines, seeds: Sequence[int]) -> list[Table]:
    """The caption of the training picture that is nearest by its pixels, and the most frequent caption of training."""
    digits, rows = load_digits(asked.data), []
    training, test = digits.training.shrunk(asked.side), digits.test.shrunk(asked.side)
    for held in asked.held:
        task = CaptionsTask(held)
        for seed in seeds:
            known = task.training(training, seed, 0, asked.known)
            kinds, counts = np.unique(known.captions, axis=0, return_counts=True)
            for part in PARTS:
                shown = task.test(test, seed, part, asked.pictures)
                answers = {NEAREST: known.captions[_nearest(known.images, shown.images)],
                           SAID: np.repeat(kinds[[counts.argmax()]], len(shown.images), 0)}  # fmt: skip
                rows += [
                    {"model": name, "held": held, "seed": seed, "part": part, **scores(task, seed, shown, said)}
                    for name, said in answers.items()
                ]
    return [_answers_table(rows, digits.note)]


def _nearest(known: NDArray[np.float32], shown: NDArray[np.float32]) -> NDArray[np.int64]:
    here, there = (images.reshape(len(images), -1).astype(np.float64) for images in (shown, known))
    distance = (there**2).sum(1) - 2 * here @ there.T
    return np.asarray(distance.argmin(1))


def _numbers(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of each caption in EVERY."""
    first, word = words[..., 0] - 1, words[..., 1]
    second = np.where(word == EVERY[0, 1], words[..., 3], words[..., 2]) - 1
    place = np.where(word == END, 2 * CLASSES, np.where(word == EVERY[0, 1], second, CLASSES + second))
    return np.asarray(first * (2 * CLASSES + 1) + place)


def _examples(shown: Captioned, said: NDArray[np.int64]) -> list[Row]:
    pairs = enumerate(zip(shown.captions[:SHOWN], said[:SHOWN], strict=True))
    return [{"number": number, "picture": spoken(right), "said": spoken(own)} for number, (right, own) in pairs]


def _answers_table(rows: list[Row], note: str) -> Table:
    return Table.make("answers", "Every network", ANSWERS, rows, details=True, note=note)
