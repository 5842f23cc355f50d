"""minLSTM (Feng et al. 2024, "Were RNNs All We Needed?"): an LSTM whose gates see the input alone. Rows n, f, i.

h' = f / (f + i) * h + i / (f + i) * g(n),  f = sigmoid(W_f x + b_f),  i = sigmoid(W_i x + b_i),  n = W_n x + b_n

The two shares are computed as sigmoid(s) and sigmoid(-s) with s = log f - log i, which cannot divide zero by zero.
g and ``form`` are those of minGRU.
"""

from __future__ import annotations

from rote.cells.arithmetic import Arithmetic, V
from rote.cells.cell import Cell, cells
from rote.cells.min_gru import Form, candidate
from rote.config import one_of


@cells.register("min_lstm")
class MinLSTMCell(Cell):
    """minLSTM: what is kept and what is written are shares of one; both see the input alone; no recurrent matrix."""

    row_groups = (1, 1, 1)
    gate_names = ("forget", "input", "candidate")
    forget_rows = 1
    recurrent_matrix = False

    def configure(self, form: Form = "log") -> None:
        self.form: Form = one_of("form", form, ("log", "plain"))

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        (h,) = state
        n, f, i = a.pieces(projected + a.constant(self.bias), [self.hidden_size] * 3)
        odds = a.log_sigmoid(f) - a.log_sigmoid(i)
        kept, written = a.gate("forget", a.sigmoid(odds)), a.gate("input", a.sigmoid(-odds))
        return (a.settle(a.product(kept, h) + a.product(written, candidate(a, n, self.form))),)
