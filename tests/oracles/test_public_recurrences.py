"""Cells of today against their public implementations in float64; sLSTM and RWKV-7 against their equations in torch."""

from __future__ import annotations

import pytest
import torch
from public_recurrences import BATCH, HEADS, PUBLIC, TIME, UNITS, difference, given, spread, ssd
from torch import Tensor
from torch.nn import functional

from rote.cells import Recurrent, RWKV7Cell, SLSTMCell, unroll


@pytest.mark.parametrize("name", PUBLIC)
def test_a_cell_is_what_its_public_implementation_computes(name: str) -> None:
    if name == "rwkv7":
        pytest.importorskip("rwkv")
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


def rwkv7(cell: RWKV7Cell, inputs: Tensor) -> Tensor:
    """Equations of the paper one after the other: the state, value by key, times diag(w) - n^T (a * n)."""
    size = UNITS // HEADS
    last, outputs = torch.zeros_like(inputs[:, 0]), []
    memory = inputs.new_zeros(BATCH, HEADS, size, size)

    def by_head(value: Tensor) -> Tensor:
        return value.view(BATCH, HEADS, size)

    for x in inputs.unbind(1):

        def mixed(name: str, x: Tensor = x, last: Tensor = last) -> Tensor:
            return torch.lerp(x, last, cell.get_parameter(f"mix_{name}")) @ cell.get_parameter(f"weight_{name}").T

        r, k, v = mixed("receptance"), mixed("key"), mixed("value")
        fading = torch.sigmoid(cell.bias_decay + mixed("decay").tanh() @ cell.weight_decay_out.T)
        w = by_head(torch.exp(-torch.tensor(0.5).double().neg().exp() * fading))
        a = torch.sigmoid(cell.bias_rate + mixed("rate") @ cell.weight_rate_out.T)
        n = functional.normalize(by_head(k * cell.removal), dim=-1)
        k = k * (1 + (a - 1) * cell.replacement)
        change = torch.diag_embed(w) - n[..., :, None] * by_head(a)[..., None, :] * n[..., None, :]
        memory = memory @ change + by_head(v)[..., :, None] * by_head(k)[..., None, :]
        read = (memory @ by_head(r)[..., None]).reshape(BATCH, UNITS)
        y = functional.group_norm(read, HEADS, cell.norm_weight, cell.norm_bias, eps=64e-5)
        y = y + (by_head(r * k * cell.bonus).sum(-1, keepdim=True) * by_head(v)).reshape(BATCH, UNITS)
        outputs.append((y * (mixed("gate").sigmoid() @ cell.weight_gate_out.T)) @ cell.weight_out.T)
        last = x
    return torch.stack(outputs, 1)


def test_rwkv7_follows_the_equations_of_its_paper() -> None:
    cell = spread(RWKV7Cell(UNITS, UNITS, heads=HEADS, rank=3).double())
    expected = rwkv7(cell, given())
    torch.testing.assert_close(Recurrent([cell])(given())[0], expected, rtol=0, atol=1e-10)
    steps = unroll(cell, given(), cell.zero_state(BATCH)).states["hidden"]
    torch.testing.assert_close(steps, expected, rtol=0, atol=1e-10)


def test_a_row_that_fades_too_fast_for_chunks_goes_step_by_step() -> None:
    cell = spread(RWKV7Cell(UNITS, UNITS, heads=HEADS).double())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rote.cells.replaced_memory.FURTHEST", 0.1)
        by_step = Recurrent([cell])(given())[0]
    torch.testing.assert_close(by_step, Recurrent([cell])(given())[0], rtol=0, atol=1e-12)
