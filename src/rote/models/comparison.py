"""Whether an adapted model computes what the user's does: both on one example, in eval mode, nothing left on either."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rote.cells.adapt import unwrapped
from rote.errors import UsageError
from rote.models.calling import called_in_eval, left_alone, tensor_of
from rote.models.in_eval import in_eval
from rote.models.inputs import as_batch
from rote.models.readout import ROUNDING
from rote.models.sequence import SequenceModel

BATCH, TIME = 3, 12  # of an example made here; different, so that the two axes cannot be confused
FORMS = ("[batch, time]", "[time, batch]")
CAUSES = (
    "Usual causes: a norm, an activation or another layer before the readout (make it part of 'readout', such as "
    "nn.Sequential(norm, linear)); a scaled embedding (nn.Embedding.from_pretrained(factor * embedding.weight)); "
    "something between embedding and recurrent (leave 'embedding' out and give its vectors); a learned initial state "
    "(leave 'like' out and give initial=... to each analysis); a softmax at the end; dropout that acts in eval mode."
)

Like = nn.Module | Callable[..., Any]


@dataclass(frozen=True)
class Comparison:
    """The largest difference between the outputs of a model and those of the user's own, and where it is."""

    name: str  # of the user's class or function
    difference: float
    largest: float  # output of the user's
    place: tuple[int, int, int]  # sequence, step, output
    first: int  # step at which they differ
    allowed: float
    telling: bool  # whether the user's outputs depend on the inputs at all

    @property
    def agrees(self) -> bool:
        return self.difference <= self.allowed

    def __str__(self) -> str:
        doubt = "" if self.telling else ", but its outputs are the same for all inputs, which tells nothing"
        return f"compared with {self.name}: largest difference {self.difference:.1g}{doubt}"

    def explained(self) -> str:
        """In a sentence, for a model that does not agree."""
        row, step, output = self.place
        return (
            f"The adapted model does not compute what 'like' ({self.name}) does: they differ by up to "
            f"{self.difference:.2g} where outputs reach {self.largest:.2g}, most at step {step}, output {output} of "
            f"sequence {row}, from step {self.first} on. {CAUSES}"
        )


def compare(model: SequenceModel, like: Like, example: Tensor | None = None) -> Comparison:
    """A model and what it should compute: a module or any function from tokens [batch, time], or vectors, to logits
    [batch, time, output], or [batch, output] at the last step. Time first, and (logits, state), are understood."""
    like = unwrapped(like)
    if not callable(like):
        raise UsageError(
            f"'like' must be your module, or a function from inputs to outputs. Got {type(like).__name__}."
        )
    model.check_weights()
    inputs = example_for(model) if example is None else _checked(example, model)
    named = like.func if isinstance(like, functools.partial) else like
    name = getattr(named, "__name__", type(named).__name__)
    with torch.inference_mode(False), torch.no_grad(), left_alone(like, inputs.device):
        ours = in_eval(model)(inputs)
        found: list[Comparison] = []
        problems: list[UsageError] = []
        for form in FORMS:
            try:
                theirs = _outputs(like, inputs, form, ours, name)
            except UsageError as error:
                problems.append(error)
            else:
                found.append(_compared(ours, theirs, name))
                if found[-1].agrees:
                    return found[-1]
                _refuse_random(_compared(theirs, _outputs(like, inputs, form, ours, name), name))
    if not found:
        raise problems[0]
    return min(found, key=lambda comparison: comparison.difference)


def example_for(model: SequenceModel, batch: int = BATCH, time: int = TIME) -> Tensor:
    """Tokens (no padding), or vectors: always the same for a model."""
    generator, device = torch.Generator().manual_seed(0), model.zeros.device
    if model.embedding is None:
        size = model.recurrent.cell(0).input_size
        return torch.randn(batch, time, size, generator=generator).to(model.zeros)
    count, padding = model.embedding.num_embeddings, model.embedding.padding_idx
    symbols = torch.tensor([number for number in range(count) if number != padding] or [0])
    return symbols[torch.randint(0, len(symbols), (batch, time), generator=generator)].to(device)


def _checked(example: Any, model: SequenceModel) -> Tensor:
    if not isinstance(example, Tensor):
        raise UsageError(f"'example' must be a tensor of inputs. Got {type(example).__name__}.")
    inputs = as_batch(example, model, "example")
    if inputs.shape[1] < 2:
        raise UsageError("'example' must have at least 2 steps: on one alone nothing is seen of what is carried on.")
    return inputs


def _outputs(like: Like, inputs: Tensor, form: str, ours: Tensor, name: str) -> Tensor:
    """The user's outputs [batch, time, output], or [batch, 1, output] if it gives those of the last step only."""
    turned = form == FORMS[1]
    given = inputs.transpose(0, 1) if turned else inputs
    try:
        answer = called_in_eval(like)(given.clone(memory_format=torch.contiguous_format))
    except Exception as error:
        said = str(error).splitlines()
        raise UsageError(
            f"'like' ({name}) failed on inputs {tuple(given.shape)}, {form}: {type(error).__name__}: "
            f"{said[0] if said else ''} Give a function that takes them, like=lambda tokens: model(tokens, ...)."
        ) from error
    outputs = tensor_of(answer)
    wanted, last = ours.transpose(0, 1).shape if turned else ours.shape, ours[:, -1].shape
    if outputs is None or outputs.shape not in (wanted, last):
        got = type(answer).__name__ if outputs is None else f"the shape {tuple(outputs.shape)}"
        raise UsageError(
            f"'like' ({name}) must give the outputs of every step, {tuple(wanted)}, or of the last, {tuple(last)}, for "
            f"inputs {tuple(given.shape)}. Got {got}. Give a function that does: like=lambda tokens: ..."
        )
    if not bool(torch.isfinite(outputs).all()):
        raise UsageError(f"'like' ({name}) gives NaN or infinite outputs: nothing can be compared with them.")
    if outputs.shape == last:
        return outputs[:, None].to(ours)
    return (outputs.transpose(0, 1) if turned else outputs).to(ours)


def _compared(ours: Tensor, theirs: Tensor, name: str) -> Comparison:
    left_out = ours.shape[1] - theirs.shape[1]
    difference = (ours[:, left_out:] - theirs).abs().nan_to_num(nan=torch.inf)
    at = np.unravel_index(int(difference.argmax()), difference.shape)
    largest = float(theirs.abs().max())
    allowed = ROUNDING[ours.dtype] * largest
    beyond = (difference > allowed).any(-1).any(0).nonzero()
    first = left_out + int(beyond[0]) if len(beyond) else 0
    telling = bool(((theirs - theirs[:1, :1]).abs() > allowed).any())
    place = (int(at[0]), left_out + int(at[1]), int(at[2]))
    name += " at the last step" * bool(left_out)
    return Comparison(name, float(difference.max()), largest, place, first, allowed, telling)


def _refuse_random(again: Comparison) -> None:
    if not again.agrees:
        raise UsageError(
            f"'like' ({again.name}) gives other outputs when it is called again with the same inputs, by up to "
            f"{again.difference:.2g}: dropout or noise acts, or it keeps a state. Call .eval() on what it uses."
        )
