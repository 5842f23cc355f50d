"""The five tasks of ``rote lesson``: what is asked, the file to be filled in, and the check of what was written.

A check computes what is right by itself, on numbers that the file does not show, and says of a wrong answer what came
and what should have come.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Given = Mapping[str, Any]  # what the file defines


class NotYetError(Exception):
    """A task that is not solved; the text says why."""


@dataclass(frozen=True)
class Task:
    number: int
    name: str
    asks: str  # in one line
    text: str  # of the file
    check: Callable[[Given], None]

    @property
    def file(self) -> str:
        return f"{self.number}_{self.name}.py"


def outcome(task: Task, folder: Path) -> str:
    """Why it is not solved yet, in one line; empty if it is."""
    try:
        task.check(runpy.run_path(str(folder / task.file)))
    except NotYetError as wrong:
        return str(wrong)
    except NotImplementedError:
        return f"nothing is written yet: open {task.file}"
    except (Exception, SystemExit) as raised:  # of the learner's own code
        return " ".join(f"{type(raised).__name__}: {raised}".split())[:200]
    return ""


def wanted(given: Given, name: str) -> Any:
    if not callable(given.get(name)):
        raise NotYetError(f"the file must define {name}()")
    return given[name]


def expect_close(what: str, came: Any, right: Any) -> None:
    came, right = np.asarray(came, dtype=float), np.asarray(right, dtype=float)
    if came.shape != right.shape:
        raise NotYetError(f"{what} must have the shape {right.shape}, and has {came.shape}")
    if not np.allclose(came, right, rtol=1e-6, atol=1e-9):
        raise NotYetError(f"{what} must be {_shown(right)}, and is {_shown(came)}")


def _shown(values: np.ndarray) -> str:
    text = np.array2string(values, precision=4, threshold=6).replace("\n", " ")
    return text if len(text) < 80 else f"{text[:77]}..."


def check_operation(given: Given) -> None:
    from rote.chalk import Tensor, ops

    softplus = wanted(given, "softplus")
    at = np.array([-3.0, 0.0, 2.5])
    x = Tensor(at)
    result = softplus(x)
    expect_close("softplus([-3, 0, 2.5])", result.value, np.log1p(np.exp(at)))
    weights = np.array([1.0, 2.0, -1.0])
    ops.reduce_sum(result * Tensor(weights)).backward()
    expect_close("the gradient of x when that of the result is [1, 2, -1]", x.grad, weights / (1 + np.exp(-at)))


def check_cell(given: Given) -> None:
    step, random = wanted(given, "step"), np.random.default_rng(1)
    x, h, w, u, b = (random.normal(size=size) for size in (3, 4, (4, 3), (4, 4), 4))
    expect_close("step(x, h, W, U, b) of random numbers", step(x, h, w, u, b), np.tanh(w @ x + u @ h + b))


def check_vanishing(given: Given) -> None:
    reach = wanted(given, "reach")
    for slope, share, right in ((0.5, 0.01, 7), (0.9, 0.01, 44), (0.99, 0.5, 69), (1.0, 0.1, None), (1.2, 0.1, None)):
        came = reach(slope, share)
        if came != right:
            raise NotYetError(f"reach({slope}, {share}) must be {right}, and is {came}")


def check_pairs(given: Given) -> None:
    from rote.errors import UsageError
    from rote.explorer.sequence_tasks import own_pairs

    try:
        _, _, known, new = own_pairs(str(given.get("PAIRS", "")))
    except UsageError as error:
        raise NotYetError(str(error)) from None
    if len(known) < 6 or len(new) < 3:
        raise NotYetError(f"at least 6 known pairs and 3 new ones are asked for; there are {len(known)} and {len(new)}")
    for symbols, asked in (*known, *new):
        item, first = "".join(symbols), symbols[0]
        if asked[-1] != first:
            raise NotYetError(f"the answer to {item!r} must be {first!r}, its first symbol; it is {asked[-1]!r}")
    longest = max(len(symbols) for symbols, _ in known)
    for symbols, _ in new:
        if len(symbols) <= longest:
            item = "".join(symbols)
            raise NotYetError(f"the new item {item!r} must be longer than the known ones ({longest} symbols)")
    if len({symbols[0] for symbols, _ in known}) < 2:
        raise NotYetError("with one first symbol there is nothing to remember: use two at least")


def check_gate(given: Given) -> None:
    keeping, random = wanted(given, "keeping"), np.random.default_rng(2)
    forget, write = random.uniform(0.3, 1, size=(6, 8)), random.uniform(0, 0.7, size=(6, 8))
    forget[:, [2, 5]], write[1:, [2, 5]], write[0, 2] = 0.95, 0.02, 0.9
    forget[3, 5] = 0.8  # open enough on average, but not at every step
    right = [unit for unit in range(8) if (forget[1:, unit] > 0.9).all() and (write[1:, unit] < 0.1).all()]
    came = [int(unit) for unit in keeping(forget, write)]
    if came != right:
        raise NotYetError(f"units that keep what the first step wrote: {right}; keeping() says {came}")


OPERATION = '''"""Task 1: an operation with its derivative.

softplus(a) = log(1 + exp(a)). Its derivative is the logistic function, 1 / (1 + exp(-a)). Write both directions: what
backward needs is put into ctx by forward. Look at the example first: rote explore, view Chalk.
"""

import numpy as np

from rote.chalk import Operation, tensor_op


@tensor_op
class softplus(Operation):
    @staticmethod
    def forward(ctx, a):
        raise NotImplementedError

    @staticmethod
    def backward(ctx, grad_output):
        raise NotImplementedError
'''
CELL = '''"""Task 2: one step of an Elman network, in NumPy.

h' = tanh(W x + U h + b). x: [input], h: [unit], W: [unit, input], U: [unit, unit], b: [unit].
"""

import numpy as np


def step(x, h, W, U, b):
    raise NotImplementedError
'''
VANISHING = '''"""Task 3: how far back does a gradient reach?

A unit passes its gradient back through time multiplied by the same slope at every step. After how many steps is less
than `share` of it left? None if that never happens. reach(0.5, 0.01) is 7, because 0.5 ** 7 = 0.0078.
"""


def reach(slope, share):
    raise NotImplementedError
'''
PAIRS = '''"""Task 4: a task of your own that asks for memory.

Lines "input = answer", one character for each symbol; new items behind a line of dashes. The answer is always the first
symbol. Write at least 6 known pairs with two different first symbols, and 3 new ones that are longer than all known
ones. Then paste them into the recurrent playground (rote explore, task "Own pairs"): does a network that knows the
known ones answer the new ones? Does an LSTM reach further than an Elman network?
"""

PAIRS = """
ax = a
---
"""
'''
GATE = '''"""Task 5: read a gate.

`forget` and `write` are the forget and input gates of an LSTM on one item, arrays [step, unit]. A unit keeps what the
first step wrote if at every later step its forget gate is above 0.9 and its input gate below 0.1. Return the numbers of
these units, in order. Then look for one in the recurrent playground: LSTM, task "Delayed copy".
"""

import numpy as np


def keeping(forget, write):
    raise NotImplementedError
'''

TASKS = (
    Task(1, "operation", "write an operation and its derivative", OPERATION, check_operation),
    Task(2, "cell", "write one step of an Elman network", CELL, check_cell),
    Task(3, "vanishing", "say how far back a gradient reaches", VANISHING, check_vanishing),
    Task(4, "pairs", "make a task that asks for memory", PAIRS, check_pairs),
    Task(5, "gate", "find the units that remember, by their gates", GATE, check_gate),
)
