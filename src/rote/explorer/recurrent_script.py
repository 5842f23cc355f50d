"""A network of the recurrent playground as a PyTorch script that runs by itself: weights, items and the step.

Cells that torch has become its modules. The step of any other cell is written down operation by operation, as torch
carries it out (``make_fx``), so that the script needs neither this package nor a copy of the cell's source.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from rote.cells import Cell, Plain
from rote.cells.stacked import with_weights

if TYPE_CHECKING:
    from rote.explorer.recurrent_session import RecurrentSession

MODULES = {"elman": "RNN", "gru": "GRU", "lstm": "LSTM"}
HEAD = '''"""{title}: a {cell} network of {units} units after {step} updates (seed {seed}).

Written by the recurrent playground of the Rote explorer. Needs torch and nothing else: python {file}
"""

import base64
import json

import torch
from torch import Tensor, nn

SYMBOLS = {symbols!r}
ANSWERS = {answers!r}
# Known and new items: the symbols, and the answer asked for at each step (-1: none).
ITEMS = json.loads({items!r})
WEIGHTS = json.loads({weights!r})  # name -> shape, float32 in base64


def weight(name: str) -> Tensor:
    shape, text = WEIGHTS[name]
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.float32).view(shape).clone()

'''
MODULE = '''
class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.recurrent = nn.{module}(len(SYMBOLS), {units}, batch_first=True)
        self.readout = nn.Linear({units}, len(ANSWERS))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, time, answer] of symbols [batch, time]."""
        hidden, _ = self.recurrent(nn.functional.one_hot(tokens, len(SYMBOLS)).float())
        return self.readout(hidden)


def load() -> Network:
    network = Network()
    network.load_state_dict({{name: weight(name) for name in WEIGHTS}})
    return network.eval()
'''
TRACED = '''
{step}

class Network(nn.Module):
    """One step after the other; the step is what torch carries out for the cell {cell!r}."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterDict({{name.replace(".", "_"): nn.Parameter(weight(name)) for name in WEIGHTS}})

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, time, answer] of symbols [batch, time]."""
        own = [self.weights[name.replace(".", "_")] for name in WEIGHTS if not name.startswith("readout")]
        rows = []
        for row in nn.functional.one_hot(tokens, len(SYMBOLS)).float():
            state = [{start}]
            for vector in row:
                state = step(vector[None], *state, *own)
                rows.append(state[0][0])
        hidden = torch.stack(rows).view(*tokens.shape, -1)
        return hidden @ self.weights["readout_weight"].T + self.weights["readout_bias"]


def load() -> Network:
    return Network().eval()
'''
TAIL = '''

@torch.no_grad()
def right(network: nn.Module, items: list) -> float:
    """The share of right answers."""
    hits = asked = 0
    for tokens, targets in items:
        said = network(torch.tensor([tokens]))[0].argmax(-1).tolist()
        hits += sum(answer == target for answer, target in zip(said, targets) if target >= 0)
        asked += sum(target >= 0 for target in targets)
    return hits / asked


if __name__ == "__main__":
    network = load()
    for name, items in ITEMS.items():
        if items:
            print(f"{name}: {right(network, items):.5f} of the answers are right")
'''


def script_of(session: RecurrentSession, place: int) -> str:
    """The text of the script of one network."""
    settings, task = session.settings, session.task
    model = session.network(place)
    cell = model.recurrent.cell(0)
    module = MODULES.get(settings.cell)
    prefix, suffix = ("recurrent.", "_l0") if module else ("", "")
    weights = {f"{prefix}{name}{suffix}": weight for name, weight in cell.named_parameters()}
    assert model.linear_readout is not None
    weights |= {f"readout.{name}": weight for name, weight in model.linear_readout.named_parameters()}
    items = {
        name: [
            [tokens[:length].tolist(), targets[:length].tolist()]
            for tokens, targets, length in zip(rows.tokens, rows.targets, rows.lengths, strict=True)
        ]
        for name, rows in (("known", task.known), ("new", task.new))
    }
    head = HEAD.format(
        title=task.title, cell=settings.cell, units=settings.units, step=session.step, seed=settings.seed + place,
        symbols=list(task.symbols), answers=list(task.answers), items=json.dumps(items), file="rote_network.py",
        weights=json.dumps({name: [list(weight.shape), _packed(weight)] for name, weight in weights.items()}),
    )  # fmt: skip
    if module:
        return head + MODULE.format(module=module, units=settings.units) + TAIL
    start = ", ".join(
        f"torch.full((1, {size}), {cell.start_values.get(name, 0.0)!r})"
        for name, size in zip(cell.state_names, cell.state_sizes, strict=True)
    )
    return head + TRACED.format(step=_step_text(cell), cell=settings.cell, start=start) + TAIL


def _packed(weight: Tensor) -> str:
    return base64.b64encode(weight.detach().float().contiguous().numpy().tobytes()).decode()


def _step_text(cell: Cell) -> str:
    """``step(vector, *state, *weights)`` in torch's own operations, for one row."""
    names = [name for name, _ in cell.named_parameters()]
    count = len(cell.state_names)

    def step(vector: Tensor, *values: Tensor) -> list[Tensor]:
        weights = dict(zip(names, values[count:], strict=True))
        own = with_weights(cell, lambda name, _: weights[name])
        return list(own.step(Plain(), own.project(vector), values[:count]))

    example = (torch.zeros(1, cell.input_size), *cell.zero_state(1), *(weight.detach() for weight in cell.parameters()))
    traced = make_fx(step)(*example)
    head, *body = [line for line in traced.code.splitlines() if line.strip()]
    arguments = head[head.index("(self, ") + len("(self, ") : head.rindex(")")]
    states = [f"state_{name}" for name in cell.state_names]
    constants = [f"    {name} = torch.tensor({value.tolist()})" for name, value in traced.named_buffers()]
    kept = [line for line in body if " = self." not in line]
    lines = [f"def step({arguments}):", f"    # {', '.join(['vector', *states, *names])}", *constants, *kept]
    return "\n".join(lines).replace("device(type='cpu')", "torch.device('cpu')") + "\n"
