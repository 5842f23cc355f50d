"""Cells of today against their public implementations in float64, and the sLSTM against its equations in torch."""

from __future__ import annotations

import pytest
import torch
from public_recurrences import BATCH, HEADS, PUBLIC, TIME, UNITS, difference, given, spread, ssd
from torch import Tensor
from torch.nn import functional

from rote.cells import Recurrent, SLSTMCell, unroll


@pytest.mark.parametrize("name", PUBLIC)
def test_a_cell_is_what_its_public_implementation_computes(name: str) -> None:
    cell, expected = PUBLIC[name][1]()
    layer, inputs, tolerance = Recurrent([cell]), given(), 1e-5 if name == "lru" else 1e-10
    torch.testing.assert_close(layer(inputs)[0], expected, rtol=0, atol=tolerance)
    steps = unroll(cell, inputs, cell.zero_state(BATCH)).states["hidden"]
    torch.testing.assert_close(steps, expected, rtol=0, atol=tolerance)
    first, middle = layer(inputs[:, :20])  # goes on from its own states
    rest, _ = layer(inputs[:, 20:], initial=middle)
    torch.testing.assert_close(torch.cat([first, rest], 1), expected, rtol=0, atol=tolerance)


def test_heads_of_one_group_share_what_they_write_with() -> None:
    assert difference(ssd(groups=1)) < 1e-10


def slstm(cell: SLSTMCell, inputs: Tensor) -> Tensor:
    """As the package xlstm computes it without kernels; its first step takes the input gate as the highest value."""
    padded = functional.pad(inputs.mT, (cell.width - 1, 0))
    u = functional.silu(functional.conv1d(padded, cell.weight_conv[:, None], cell.bias_conv, groups=UNITS).mT)
    driven = torch.cat([u @ cell.weight_gates.T, inputs @ cell.weight_values.T], -1)
    size = UNITS // HEADS
    blocks = [torch.block_diag(*rows.split(size)) for rows in cell.weight_recurrent.split(UNITS)]
    y, c, n, m = (inputs.new_zeros(len(inputs), UNITS) for _ in range(4))
    outputs = []
    for t in range(inputs.shape[1]):
        i, f, z, o = (driven[:, t] + y @ torch.cat(blocks).T + cell.bias_units).chunk(4, -1)
        faded = m + functional.logsigmoid(f)
        m = i if t == 0 else torch.maximum(i, faded)
        c = (faded - m).exp().clamp(max=1) * c + (i - m).exp() * z.tanh()
        n = (faded - m).exp().clamp(max=1) * n + (i - m).exp()
        y = o.sigmoid() * c / n
        outputs.append(functional.layer_norm(y.view(-1, HEADS, size), (size,)).flatten(1) * cell.norm_weight)
    return torch.stack(outputs, 1)


def test_slstm_follows_the_equations_of_xlstm() -> None:
    cell = spread(SLSTMCell(UNITS, UNITS, heads=HEADS).double())
    torch.testing.assert_close(Recurrent([cell])(given())[0], slstm(cell, given()), rtol=0, atol=1e-12)
    assert given().shape == (BATCH, TIME, UNITS)
