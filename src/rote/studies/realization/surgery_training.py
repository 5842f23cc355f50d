"""Lookup models with exchanged or cut parts, retrained: the training behind the study of source 002, section 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.analyses.neurons import strong_neurons
from rote.analyses.surgery import substitute
from rote.models import EncoderDecoder
from rote.studies.realization.models import KINDS
from rote.studies.realization.surgery_tables import SPLITS
from rote.studies.realization.training import LookupData, LookupProgram

if TYPE_CHECKING:
    from jaxtyping import Float

    from rote.recipes import Trained
    from rote.studies.realization.retraining import RetrainedRecipe

ORDER_SEED = 1000  # added to a model's seed, so that retraining shuffles the examples in another order


class Retraining(LookupProgram):
    """Measures only what models are selected by; the splits are looked at before and after."""

    def measure(self) -> dict[str, Any]:
        batch = self.data.whole("validation", self.replicas)
        return {"validation_loss": self._selection_loss(self._forward(batch), batch).tolist()}


def make_retraining(recipe: RetrainedRecipe, model: EncoderDecoder, seeds: Sequence[int], device: str) -> Retraining:
    """The training of changed models, of the parts that may be trained."""
    task, guidance = recipe.models.task, 0.0 if recipe.trial[0] == "baseline" else recipe.models.guidance
    data, orders = LookupData(task.splits(), task.vocabulary(), device), [ORDER_SEED + seed for seed in seeds]
    return Retraining(model.to(device), data, recipe.training, orders, guidance, recipe.models.teacher_forcing)


def exchanged(models: Mapping[str, EncoderDecoder], kind: str, parts: Sequence[str]) -> EncoderDecoder:
    """Models of one kind with those parts of the other's that they have, seed by seed; these do not take part in
    training."""
    (other,) = set(KINDS) - {kind}
    names = [name for name, _ in models[kind].named_parameters()]
    known = [part for part in parts if any(name == part or name.startswith(f"{part}.") for name in names)]
    return substitute(models[kind], known, models[other]) if parts else models[kind]


def kept_neurons(
    model: EncoderDecoder, keep: float, by: str, strongest: float, seeds: Sequence[int]
) -> dict[str, Float[Tensor, "replica unit"]]:
    """1 for the neurons that stay, 0 for those that are cut, of encoder and decoder: the strongest, random ones,
    or (``by="none"``) all."""
    size = model.config.hidden
    masks = {part: torch.zeros(model.replicas, size) for part in ("encoder", "decoder")}
    for replica, seed in enumerate(seeds):
        both = nn.ModuleDict({"encoder": model.encoder_of(replica), "decoder": model.decoder_of(replica)})
        if by in ("none", "random"):
            random, number = np.random.default_rng(seed), size if by == "none" else max(1, round(keep * size))
            chosen = {part: torch.from_numpy(random.permutation(size)[:number]) for part in masks}
        else:
            strong = strong_neurons(both, keep, by=by, strongest=strongest)  # type: ignore[arg-type]
            chosen = {layer.split(".")[0]: neurons for layer, neurons in strong.items()}
        for part, neurons in chosen.items():
            masks[part][replica, neurons] = 1
    return masks


def cut(model: EncoderDecoder, kept: Mapping[str, Float[Tensor, "replica unit"]]) -> None:
    """Take neurons out of a population, for good: everything into and between the cut ones is zero, and so is its
    gradient. Their state is zero, so what reads them has no effect and gets no gradient either."""
    for part, mask in kept.items():
        for name, weight in model.get_submodule(f"{part}.cell").named_parameters():
            alive = mask.to(weight)
            rows = alive.repeat(1, weight.shape[1] // alive.shape[1]).view(*weight.shape[:2], *[1] * (weight.dim() - 2))
            with torch.no_grad():
                weight.mul_(rows)
                if weight.dim() == 3 and name != "weight_ih":
                    weight.mul_(alive[:, None])
            weight.register_hook(lambda gradient, rows=rows: gradient * rows)
    model.decoder.alive.copy_(kept["decoder"])


def measured_at_the_end(program: Retraining, step: int) -> dict[str, Any]:
    """The accuracies that ``before_and_after`` tells, as the last row of a run's metrics."""
    return {"step": step, **{split: program.accuracy(split) for split in SPLITS}}


def before_and_after(program: Retraining, retrained: Trained, splits: Sequence[str]) -> list[dict[str, Any]]:
    """For each seed and split the accuracy as the program begins, and with the weights that retraining ended with:
    earlier versions kept these and did not measure them."""
    before = {split: program.accuracy(split) for split in splits}
    *recorded, after = retrained.run.metrics()
    if not after.keys() >= set(splits):
        recorded.append(after)
        program.model.load_state_dict(retrained.weights())
        after = {split: program.accuracy(split) for split in splits}
    per_epoch = -(-program.data.size("train") // program.training.batch)
    epochs = _selected(recorded, program.replicas, per_epoch)
    return [
        {"seed": seed, "split": split, "before": before[split][index], "accuracy": after[split][index],
         "epoch": epochs[index]}
        for index, seed in enumerate(retrained.seeds) for split in splits
    ]  # fmt: skip


def _selected(rows: Sequence[Mapping[str, Any]], replicas: int, per_epoch: int) -> list[float]:
    """After how many epochs each replica was at its best, by the loss that it is selected by."""
    losses = np.array([row["validation_loss"] for row in rows], dtype=float).reshape(-1, replicas)
    best = np.where(np.isfinite(losses), losses, np.inf).argmin(0)
    return [round(rows[index]["step"] / per_epoch, 2) for index in best]
