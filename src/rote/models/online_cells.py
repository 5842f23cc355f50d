"""Any cell under Elman's own learning procedure, many networks at once (Elman 1990, p. 182-184).

What ``simple_recurrent`` is for his network: logistic outputs, and after every symbol one step of back-propagation of
half the squared error, in which the state is an input like any other; nothing is unrolled. Weights start uniformly, as
his do, but for those that a cell begins in a way of its own. The state is carried from one piece to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rote.cells import Initialization, Recurrent, Stacked, State, cells, run_stacked, stack, stacked_linear, unstack
from rote.models.initialization import drawn_from
from rote.models.sequence import SequenceModel, linear_of

Values = NDArray[Any]  # [replica, time, bit]


class StackedOnline(nn.Module):
    """One network per seed, each started from its own seed alone."""

    def __init__(
        self, cell: str, inputs: int, hidden: int, outputs: int, seeds: Sequence[int], limit: float, dtype: torch.dtype
    ) -> None:
        super().__init__()
        made, readouts = [], []
        for seed in seeds:
            with drawn_from(seed):
                made.append(cells[cell](inputs, hidden, initialization=Initialization("uniform", limit=limit)))
                readouts.append(torch.empty(outputs, made[-1].output_size + 1).uniform_(-limit, limit))
        self.cell = stack(made).to(dtype)
        self.outer = nn.Parameter(torch.stack(readouts).to(dtype))  # the last column is the bias
        for name, value in zip(self.cell.state_names, self.cell.zero_state(len(seeds), 1), strict=True):
            self.register_buffer(f"carried_{name}", value)

    def learn(self, inputs: Values, targets: Values, rate: float) -> None:
        """Go through a piece of the streams once, changing the weights after every symbol."""
        given, wanted = (torch.from_numpy(part).to(self.outer.dtype).unbind(1) for part in (inputs, targets))
        state, weights = self._carried(), list(self.parameters())
        for now, target in zip(given, wanted, strict=True):
            with torch.enable_grad():
                a = Stacked()
                state = self.cell.step(a, self.cell.enter(a, now[:, None]), state)
                error = (self._outputs(state[0]) - target[:, None]).square().sum() / 2
                changes = torch.autograd.grad(error, weights, allow_unused=True)
            state = tuple(value.detach() for value in state)
            with torch.no_grad():
                for weight, change in zip(weights, changes, strict=True):
                    if change is not None:
                        weight.sub_(change, alpha=rate)
        for name, value in zip(self.cell.state_names, state, strict=True):
            self.get_buffer(f"carried_{name}").copy_(value)

    @torch.no_grad()
    def run(self, inputs: Values) -> tuple[Values, Values]:
        """Hidden units and outputs without learning, from the cell's own start."""
        hidden, _ = run_stacked(self.cell, torch.from_numpy(inputs).to(self.outer.dtype)[:, None])
        return hidden[:, 0].numpy(), self._outputs(hidden[:, 0]).numpy()

    def replica(self, index: int, codes: NDArray[Any]) -> SequenceModel:
        """One network as analyses take them; ``codes``: what it sees of each symbol, [symbol, bit]. With the bits of a
        code taken as independent, codes times the readout give a softmax over the symbols."""
        table, outer = torch.from_numpy(codes).to(self.outer.dtype), self.outer[index].detach()
        readout = linear_of(table @ outer[:, :-1], table @ outer[:, -1])
        recurrent = Recurrent([unstack(self.cell, index)])
        return SequenceModel(recurrent, nn.Embedding.from_pretrained(table), readout).eval()

    def _carried(self) -> State:
        return tuple(self.get_buffer(f"carried_{name}").clone() for name in self.cell.state_names)

    def _outputs(self, hidden: Tensor) -> Tensor:
        return torch.sigmoid(stacked_linear(hidden, self.outer[..., :-1], self.outer[..., -1]))
