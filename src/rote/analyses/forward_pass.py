"""A user's model called as a whole: any module or function that gives outputs for tokens or for vectors.

Gradients are taken at input vectors. A model of vectors is given them. A model of tokens looks them up in an embedding:
while it is called, that embedding hands out a copy of what it found, and gradients are taken there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rote.analyses.inputs import shown
from rote.analyses.memory import held_for_gradients
from rote.errors import UsageError
from rote.models.calling import called_in_eval, tensor_of

Forward = Callable[[Tensor], Any]
REPEATED = 1e-3  # of the largest output: how far two calls may differ, which is more than rounding ever does


class ForwardPass:
    """Calls ``model`` with tokens [batch, time], where ``embedding`` is the one it has, or else with vectors.

    A module is called as it is in eval mode; for the modules that a function uses, see ``left_alone``."""

    def __init__(self, model: Any, embedding: nn.Module | None) -> None:
        self.module = module_of(model)
        twins: dict[int, nn.Module] = {}
        called = called_in_eval(model, twins)
        takes = inspect.signature(called.forward).parameters if isinstance(called, nn.Module) else {}
        # A cache that Hugging Face's modules would fill is of no use here, and some write into it in place.
        self._model: Any = functools.partial(called, use_cache=False) if "use_cache" in takes else called
        self._embedding = twins.get(id(embedding), embedding)
        self._time_first = False  # whether the embedding is given tokens [time, batch]

    @torch.inference_mode(False)
    @torch.enable_grad()
    def __call__(self, given: Tensor) -> tuple[Tensor, Tensor]:
        """The input vectors, for ``gradients``, and the outputs [batch, step, output] that depend on them."""
        if self._embedding is None:
            vectors = given.detach().clone().requires_grad_()
            return vectors, _outputs(self._answer(vectors), given)
        looked_up: list[Tensor] = []
        with _handing_out(self._embedding, given.T if self._time_first else given, looked_up):
            outputs = _outputs(self._answer(given), given)
        if not looked_up:
            raise UsageError(
                "'model' does not look its tokens up by calling 'embedding'. Give the module that it calls with them, "
                "or a function of vectors: rote.connectivity(lambda vectors: ..., embedding(tokens), ...)."
            )
        return looked_up[0], outputs

    def _answer(self, given: Tensor) -> Any:
        # cuDNN cannot go back through recurrent layers that are in eval mode; torch's own kernels can.
        with torch.backends.cudnn.flags(enabled=False):
            return self._model(given)

    def gradients(self, chosen: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """d chosen / d vectors, zero where there is no way from one to the other; and the vectors, both
        [batch, time, input]."""
        (found,) = torch.autograd.grad(chosen, vectors, allow_unused=True, materialize_grads=True)
        given = vectors.detach()
        return (found.transpose(0, 1), given.transpose(0, 1)) if self._time_first else (found, given)

    def check(self, given: Tensor) -> tuple[Tensor, Tensor, int]:
        """Whether numbers from this model can mean something, by one sequence [1, time, ...]; what it gives, and the
        bytes that are held for its gradients."""
        if self._embedding is not None:
            self._time_first = self._looks_up_columns(self._embedding, given)
        vectors, outputs = self(given)
        if bool(outputs.isnan().any()):
            raise UsageError("'model' gives NaN for the first of the longest sequences; nothing can be measured on it.")
        first, again = outputs.detach(), self(given)[1]
        held, held_again = held_for_gradients(outputs), held_for_gradients(again)
        again = again.detach()
        if again.shape != first.shape or bool((again - first).abs().max() > REPEATED * first.abs().max()):
            raise UsageError(
                "'model' gives other outputs when it is asked again, so that its gradients mean nothing. Is there "
                "dropout that acts in eval mode, or a state that is kept from call to call?"
            )
        if not outputs.requires_grad or torch.autograd.grad(outputs.sum(), vectors, allow_unused=True)[0] is None:
            raise UsageError(
                "The outputs of 'model' do not depend on its inputs by anything that torch could differentiate. "
                "Is there torch.no_grad(), .detach() or .argmax() in it?"
            )
        # What lies in one place for both calls are weights, which do not grow with the sequences.
        return vectors.detach(), first, sum(held[place] for place in held.keys() - held_again.keys())

    def _looks_up_columns(self, embedding: nn.Module, given: Tensor) -> bool:
        columns: list[Tensor] = []
        copies = given.expand(3 if given.shape[1] == 2 else 2, -1)  # not a square, which could be read either way
        with torch.no_grad(), _handing_out(embedding, copies.T, columns):
            self._answer(copies)
        return bool(columns)


def module_of(model: Any) -> nn.Module | None:
    """The module behind a callable: itself, or that of a bound method or a partial; None if it cannot be told."""
    if isinstance(model, functools.partial):
        return module_of(model.func)
    owner = getattr(model, "__self__", model)
    return owner if isinstance(owner, nn.Module) else None


def embedding_in(model: Any, given: Any) -> nn.Module:
    """The embedding that ``model`` looks its tokens up in: the one that is given, or the only one."""
    if isinstance(given, nn.Module):
        return given
    module: Any = module_of(model)
    found: list[nn.Module]
    if hasattr(module, "get_input_embeddings"):
        found = [module.get_input_embeddings()]
    else:
        found = [] if module is None else [part for part in module.modules() if isinstance(part, nn.Embedding)]
    if given is not None or len(found) != 1:
        seen = shown(given) if given is not None else f"none, and there are {len(found)} in 'model'"
        raise UsageError(
            f"'embedding' must be the module that 'model' looks its tokens up in, as embedding=model.embed. Got {seen}."
        )
    return found[0]


def _outputs(found: Any, given: Tensor) -> Tensor:
    """[batch, step, output], from whatever a model gives."""
    logits = tensor_of(found)
    batch, time = given.shape[:2]
    if logits is None or logits.dim() not in (2, 3) or len(logits) != batch or not logits.numel():
        raise UsageError(
            "'model' must give outputs [batch, step, output], or [batch, output] for whole sequences, as a tensor, the "
            f"first of several, or 'logits'. For inputs {tuple(given.shape)} it gives "
            f"{shown(found if logits is None else logits)}."
        )
    if logits.dim() == 2 and logits.shape[1] == time > 1:
        raise UsageError(
            f"'model' gives {tuple(logits.shape)} for sequences of {time} steps: one number for each step, or {time} "
            "for each sequence? Say lambda x: model(x)[:, :, None], or lambda x: model(x)[:, None]."
        )
    return logits[:, None] if logits.dim() == 2 else logits


@contextmanager
def _handing_out(embedding: nn.Module, tokens: Tensor, looked_up: list[Tensor]) -> Iterator[None]:
    """For these ``tokens`` the embedding gives one and the same copy, which is put into ``looked_up``."""

    def copied(_: nn.Module, arguments: tuple[Tensor, ...], options: dict[str, Tensor], output: Tensor) -> Tensor:
        asked = (*arguments, *options.values())[0]
        if asked.shape != tokens.shape or not torch.equal(asked, tokens):
            return output  # of something else, as the target side of a translator
        if not looked_up:
            looked_up.append(output.detach().clone().requires_grad_())
        return looked_up[0]

    hook = embedding.register_forward_hook(copied, with_kwargs=True)
    try:
        yield
    finally:
        hook.remove()
