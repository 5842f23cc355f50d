"""Every contiguous span of a sequence in one pass.

Spans with the same start have the same relevant part until the first of them ends. So step t needs one state for each
start up to t (the open spans) and one for each span that has ended before t: (t + 1)(t + 2) / 2 states in all, where
separate passes would need T (T + 1) / 2 at every step.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rote.analyses.inputs import Inputs
from rote.analyses.splitting import Relevant, Rules, Split
from rote.cells import Recurrent


@torch.no_grad()
def every_span(recurrent: Recurrent, inputs: Inputs, rules: Rules, *, bias_in_span: bool) -> tuple[Tensor, Tensor]:
    """True states [batch, time, unit] and relevant parts [batch, span, time, unit] of the top layer; one direction.

    The spans are ordered by start, then end.
    """
    batch, time = inputs.batch, inputs.time
    cells = [recurrent.cell(layer) for layer in range(recurrent.layers)]
    projected = cells[0].project(inputs.vectors)
    start, end = torch.meshgrid(*[torch.arange(time, device=projected.device)] * 2, indexing="ij")
    number = start * time - start * (start - 1) // 2 + end - start  # of the span (start, end) in the result
    ended_spans = number[:0, 0]
    hidden = projected.new_zeros(batch, time, recurrent.hidden_size)
    relevant = projected.new_zeros(batch, time * (time + 1) // 2, time, recurrent.hidden_size)
    whole = [[value[:, None] for value in state] for state in recurrent.zero_states(batch)]
    parts = [[value.new_zeros(batch, 0, value.shape[-1]) for value in state] for state in whole]  # ended, then open
    a, ended = Relevant(rules), 0
    for t in range(time):
        rows = ended + t + 1
        is_open = torch.zeros(1, rows, 1, dtype=projected.dtype, device=projected.device)
        is_open[:, ended:] = 1
        a.bias_counts = is_open if bias_in_span else None
        below = Split(projected[:, t, None], is_open * projected[:, t, None])
        for layer, cell in enumerate(cells):
            begun = [torch.cat([part, part.new_zeros(batch, 1, part.shape[-1])], dim=1) for part in parts[layer]]
            new = cell.step(a, below, tuple(map(Split, whole[layer], begun)))
            whole[layer] = [value.total for value in new]
            kept = [
                value.relevant if isinstance(value.relevant, Tensor) else torch.zeros_like(begun[0]) for value in new
            ]
            # The open spans that end here stay as ended ones; the open ones go on behind them.
            parts[layer] = [torch.cat([part, part[:, ended:]], dim=1) for part in kept]
            if layer + 1 < len(cells):
                above = cells[layer + 1]
                below = Split(above.project(whole[layer][0]), above.project(kept[0]))
        hidden[:, t] = whole[-1][0][:, 0]
        relevant[:, ended_spans, t] = kept[0][:, :ended]
        # The state of an open span is that of every span with its start that ends here or later.
        relevant[:, number[: t + 1, t:].flatten(), t] = kept[0][:, ended:].repeat_interleave(time - t, dim=1)
        ended_spans = torch.cat([ended_spans, number[: t + 1, t]])
        ended = rows
    if inputs.lengths is not None:
        hidden *= inputs.mask[..., None]
        relevant *= inputs.mask[:, None, :, None]
    return hidden, relevant
