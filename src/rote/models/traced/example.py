"""What a user's module is called with while it is looked at: inputs, and whatever else its forward takes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from rote.cells.recurrent import mask_of
from rote.errors import UsageError
from rote.models.inputs import WHOLE
from rote.models.padding import right_padded
from rote.models.readout import ROUNDING

BATCH, TIME = 3, 7  # of an example made here
FEWEST = 3  # steps of an example


@dataclass(frozen=True)
class Example:
    """What a module is called with."""

    inputs: Tensor  # tokens [batch, time] or vectors [batch, time, input]
    others: tuple[Any, ...] = ()
    names: tuple[str, ...] = ()  # of the others, where they are given by name
    mask: Tensor | None = None  # of tokens that a tokenizer has padded: which of them count

    @property
    def masked(self) -> Example:
        """With the mask among the other arguments, for a module that would see the padding otherwise."""
        if self.mask is None:
            return self
        return Example(self.inputs, (self.mask, *self.others), ("attention_mask", *self.names))

    @property
    def lengths(self) -> Tensor | None:
        """Those among the other arguments, if there are any."""
        return next((torch.as_tensor(one) for one in self.others if self._are_lengths(one)), None)

    def _are_lengths(self, one: Any) -> bool:
        try:
            given = torch.as_tensor(one)
        except (TypeError, ValueError, RuntimeError):
            return False
        batch, time = self.inputs.shape[:2]
        whole = given.dtype in WHOLE and given.shape == (batch,)
        return whole and bool((given >= 1).all()) and bool((given <= time).all())

    def of_lengths(self, lengths: Tensor) -> Example:
        """With other lengths in place of those that there are."""
        others = [
            one if not self._are_lengths(one) else lengths.to(one) if isinstance(one, Tensor) else lengths.tolist()
            for one in self.others
        ]
        return replace(self, others=tuple(others))

    def rows(self, order: Tensor, time: int, full: bool = True) -> Example:
        """Some sequences, cut to ``time`` steps; with ``full`` lengths none of them is padded."""
        inputs = self.inputs[order.to(self.inputs.device), :time]
        others = []
        for one in self.others:
            if self._are_lengths(one):
                given = torch.as_tensor(one)
                lengths = torch.full_like(given[order], time) if full else given[order].clamp(max=time)
                others.append(lengths if isinstance(one, Tensor) else lengths.tolist())
            else:
                rows = isinstance(one, Tensor) and one.dim() > 0 and len(one) == len(self.inputs)
                others.append(one[order] if rows else one)
        return Example(inputs, tuple(others), self.names)


def example_of(module: nn.Module, example: Any) -> Example:
    if example is None:
        tables = [part for part in module.modules() if isinstance(part, nn.Embedding)]
        if not tables:
            raise UsageError(
                "'example' must be given: tokens [batch, time] or vectors [batch, time, input], as rote.adapt(model, "
                "example=tokens). 'model' has no embedding from which one could be made."
            )
        count = min(len(table.weight) for table in tables[:1])
        tokens = torch.randint(1 if count > 1 else 0, count, (BATCH, TIME), generator=torch.Generator().manual_seed(0))
        return Example(tokens.to(tables[0].weight.device))
    if isinstance(example, Mapping):
        return _encoded(module, example)
    values = tuple(example) if isinstance(example, tuple | list) else (example,)
    if not values or not isinstance(values[0], Tensor):
        raise UsageError(
            f"'example' must be a tensor of inputs, or (inputs, lengths, ...): what your model is called with. "
            f"Got {type(example).__name__}."
        )
    return Example(_checked(values[0], len(values)), values[1:])


def _checked(inputs: Tensor, arguments: int) -> Tensor:
    inputs = inputs.detach()
    wanted = 3 if inputs.is_floating_point() else 2
    if inputs.dim() == wanted - 1 and arguments == 1:
        inputs = inputs[None]
    if inputs.dim() != wanted or inputs.dtype not in (*WHOLE, *ROUNDING) or not inputs.numel():
        raise UsageError(
            "'example' must be tokens [batch, time] of whole numbers, or vectors [batch, time, input]. Got "
            f"{inputs.dtype} {tuple(inputs.shape)}."
        )
    if inputs.shape[1] < FEWEST:
        raise UsageError(
            f"'example' must have at least {FEWEST} steps: on fewer nothing is seen of what is carried on. "
            f"Got {inputs.shape[1]}."
        )
    return inputs


def _encoded(module: nn.Module, example: Mapping[str, Any]) -> Example:
    """What a tokenizer gives, with its padding behind the tokens: what is causal does not see it there. Whatever else
    the module takes is given to it by name."""
    tokens, mask = example.get("input_ids"), example.get("attention_mask")
    if not isinstance(tokens, Tensor):
        raise UsageError(
            "'example' must have tokens as a tensor under 'input_ids', as tokenizer(texts, return_tensors=\"pt\") "
            f"gives them. Got {', '.join(map(str, example)) or 'nothing'}."
        )
    takes = inspect.signature(module.forward).parameters
    others = {
        name: one for name, one in example.items() if name in takes and name not in ("input_ids", "attention_mask")
    }
    if not isinstance(mask, Tensor) or bool(mask.all()):
        return Example(_checked(tokens, 2), tuple(others.values()), tuple(others))
    values = tuple(_moved(one, tokens, mask) for one in others.values())
    moved, lengths = right_padded(tokens, mask)
    counted = mask_of(lengths, tokens.shape[1]).to(mask)
    return Example(_checked(moved, 2), values, tuple(others), counted if "attention_mask" in takes else None)


def _moved(one: Any, tokens: Tensor, mask: Tensor) -> Any:
    return right_padded(one, mask)[0] if isinstance(one, Tensor) and one.shape[:2] == tokens.shape else one


def plain_rows(given: Example) -> Example:
    """Without padding, and with another number of sequences than of steps, so that no axis is taken for another."""
    batch, time = given.inputs.shape[:2]
    count = next(n for n in range(max(2, batch), batch + 5) if n != time)
    return given.rows(torch.arange(count) % batch, time)
