"""A module that cannot be taken apart, as what can be looked at through its own forward pass.

Its outputs are its own. Its states are those of the recurrent layers that it runs over its inputs, or, where there are
none, the outputs of the modules in its lists (the blocks of a transformer).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from rote.cells.recurrent import unroll
from rote.errors import UsageError
from rote.models.architecture import Capability
from rote.models.calling import tensor_of
from rote.models.traced.meaning import At, Series
from rote.models.traced.recorder import Followed, Ran, follow

if TYPE_CHECKING:
    from rote.models.traced.example import Example


class OwnForward(nn.Module):
    """A user's module behind one form: outputs for tokens, or for vectors. Its ``reason`` says what cannot be taken
    apart; analyses that need no more than outputs, or states, take it.

    - side: of a model of several inputs, such as a translator, the one that is looked at; the others stay as they are.
    """

    def __init__(
        self, module: nn.Module, call: Callable[..., Any], example: Example, followed: Followed, reason: str
    ) -> None:
        super().__init__()
        self.module, self.call, self.reason = module, call, reason
        self.example = example
        self._like = followed.scene.like
        self._embedding = _looked_up(module, followed)
        self._tables = list(dict.fromkeys(followed.scene.tables))
        self._has_states = bool(_states(followed, *example.inputs.shape[:2]))
        plain = [v for v in followed.visits if v.name and not isinstance(v.module, nn.Dropout | nn.Identity)]
        self.found = {visit.name: type(visit.module).__name__ for visit in plain if not list(visit.module.children())}

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        return ("logits", "states") if self._has_states else ("logits",)

    @property
    def instead(self) -> str:
        return (
            f"It was not taken apart because of {self.reason}. rote.connectivity works through its own forward; or "
            "give the part that you want to look into: rote.adapt(recurrent=..., like=...)."
        )

    def forward(self, inputs: Tensor) -> Tensor:
        found = tensor_of(self.call(self.module, inputs, *self._others(inputs)))
        if found is None:
            raise UsageError("'model' must give a tensor, or an object with 'logits'.")
        return found

    def layer_states(self, inputs: Tensor) -> Mapping[int, Mapping[str, Tensor]]:
        """By layer, counted from 0, and by name: what the layers had at every step."""
        others = self._others(inputs)
        followed = follow(self.module, inputs, lambda twin, given: self.call(twin, given, *others), self._like)
        return dict(enumerate(_states(followed, *inputs.shape[:2])))

    def side(self, number: int, *arguments: Any) -> OwnForward:
        """Another input of the module as the one that is looked at: of a translator, ``side(0, source, target)`` and
        ``side(1, source, target)``. The model that it gives takes these inputs, whole or some of them."""
        values = arguments or (self.example.inputs, *self.example.others)
        if not 0 <= number < len(values) or not isinstance(values[number], Tensor) or values[number].dim() < 2:
            raise UsageError(
                f"'number' must be that of one of the {len(values)} arguments which is tokens [batch, time], or "
                f"vectors. Got {number}."
            )
        from rote.models.traced.example import Example

        others = (*values[:number], *values[number + 1 :])
        call = functools.partial(_moved, self.call, number)
        followed = follow(self.module, values[number], lambda twin, given: call(twin, given, *others), self._like)
        return OwnForward(self.module, call, Example(values[number], others), followed, self.reason)

    def get_input_embeddings(self) -> nn.Module:
        """The module that looks up the tokens, for analyses that take gradients there."""
        if len(self._tables) > 1:
            raise UsageError(
                f"'model' looks its tokens up in {' and '.join(map(repr, self._tables))}: through one only a part "
                f"of what they do is seen. Choose one, embedding=model.module.{self._tables[0]}, or look at vectors."
            )
        if self._embedding is None:
            raise UsageError("'model' does not look its tokens up in an nn.Embedding. Give embedding=..., or vectors.")
        return self._embedding

    def _others(self, inputs: Tensor) -> tuple[Any, ...]:
        """The other arguments, for the rows of the example that these inputs are (or begin)."""
        known, others = self.example.inputs, self.example.others
        if not others:
            return ()
        same = (inputs[:, None] == known[None, :, : inputs.shape[1]]).flatten(2).all(-1)
        if inputs.shape[1] > known.shape[1] or not bool(same.any(1).all()):
            raise UsageError(
                "'model' was given other arguments for these inputs. Say which go with them: "
                "model.side(0, inputs, ...) with all that it takes."
            )
        rows = same.int().argmax(1)
        picked = tuple(_rows(one, rows, len(known)) for one in others)
        if bool((same.sum(1) > 1).any()):
            last = known.shape[0] - 1 - same.flip(1).int().argmax(1)
            if not all(_equal(one, _rows(two, last, len(known))) for one, two in zip(picked, others, strict=True)):
                raise UsageError(
                    "Two sequences are the same with other arguments that differ. Give them one at a time."
                )
        return picked

    def __repr__(self) -> str:
        lines = [f"{name}: {kind}" for name, kind in self.found.items()]
        lines += [f"not taken apart: {self.reason}"]
        return "\n  ".join([f"OwnForward of {type(self.module).__name__}(", *lines]) + "\n)"


def _moved(call: Callable[..., Any], number: int, module: nn.Module, given: Tensor, *others: Any) -> Any:
    return call(module, *others[:number], given, *others[number:])


def _rows(one: Any, rows: Tensor, count: int) -> Any:
    return one[rows] if isinstance(one, Tensor) and one.dim() and len(one) == count else one


def _equal(one: Any, two: Any) -> bool:
    return torch.equal(one, two) if isinstance(one, Tensor) else one is two


def _looked_up(module: nn.Module, followed: Followed) -> nn.Module | None:
    """The module that looked the tokens up: of several with the same table, the one that was called."""
    scene = followed.scene
    for visit in followed.visits:
        if isinstance(visit.meaning, Series | At) and visit.meaning.node is scene.leaf and scene.embedding is not None:
            return module.get_submodule(visit.name)
    return None


@torch.no_grad()
def _states(followed: Followed, batch: int, time: int) -> list[dict[str, Tensor]]:
    """Of the layers that ran over as many steps as there are inputs."""
    found: list[dict[str, Tensor]] = []
    for ran in followed.ran:
        found += _of_layers(ran, batch, time)
    if not found:
        lists = [visit for visit in followed.visits if visit.name.rpartition(".")[2].isdigit()]
        found = [{"hidden": visit.output} for visit in lists if _over_steps(visit.output, batch, time)]
    return found


def _over_steps(output: Tensor, batch: int, time: int) -> bool:
    return output.dim() == 3 and output.shape[:2] == (batch, time) and output.is_floating_point()


def _of_layers(ran: Ran, batch: int, time: int) -> list[dict[str, Tensor]]:
    vectors = ran.inputs
    if vectors.shape[:2] != (batch, time):
        return []
    made: list[dict[str, Tensor]] = []
    for first in range(0, len(ran.cells), ran.directions):
        runs = [
            unroll(ran.cells[first + way], vectors, tuple(value[first + way] for value in ran.start), None, way == 1)
            for way in range(ran.directions)
        ]
        vectors = torch.cat([run.states["hidden"] for run in runs], -1)
        made.append({name: torch.cat([run.states[name] for run in runs], -1) for name in runs[0].states})
    return made
