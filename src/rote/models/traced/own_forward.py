"""A module that cannot be taken apart, as what can be looked at through its own forward pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from rote.errors import UsageError
from rote.models.architecture import Capability
from rote.models.calling import tensor_of

if TYPE_CHECKING:
    from rote.models.traced.recorder import Followed


class OwnForward(nn.Module):
    """A user's module behind one form: outputs for tokens, or for vectors. Its ``reason`` says what cannot be taken
    apart; analyses that need no more than outputs take it."""

    capabilities: tuple[Capability, ...] = ("logits",)

    def __init__(self, module: nn.Module, call: Any, example: Any, followed: Followed, reason: str) -> None:
        super().__init__()
        self.module, self.call, self.reason = module, call, reason
        self._others = example.others
        self._embedding = _looked_up(module, followed)
        self.found = [(visit.name, type(visit.module).__name__) for visit in followed.visits if visit.name]

    @property
    def instead(self) -> str:
        return (
            f"It was not taken apart because of {self.reason}. rote.connectivity works through its own forward; or give "
            "the part that you want to look into: rote.adapt(recurrent=..., like=...)."
        )

    def forward(self, inputs: Tensor) -> Tensor:
        found = tensor_of(self.call(self.module, inputs, *self._others))
        if found is None:
            raise UsageError("'model' must give a tensor, or an object with 'logits'.")
        return found

    def get_input_embeddings(self) -> nn.Module:
        """The module that looks up the tokens, for analyses that take gradients there."""
        if self._embedding is None:
            raise UsageError("'model' does not look its tokens up in an nn.Embedding. Give embedding=..., or vectors.")
        return self._embedding

    def __repr__(self) -> str:
        lines = [f"{name}: {kind}" for name, kind in dict(self.found).items()]
        lines += [f"not taken apart: {self.reason}"]
        return "\n  ".join([f"OwnForward of {type(self.module).__name__}(", *lines]) + "\n)"


def _looked_up(module: nn.Module, followed: Followed) -> nn.Module | None:
    """The module whose table the tokens were looked up in."""
    options = followed.scene.embedding
    if options is None:
        return None
    return next((part for part in module.modules() if getattr(part, "weight", None) is options["weight"]), None)
