"""Gradient flow against torch's fused modules, the textbook formula of BPTT, and finite differences, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from rote.analyses import GradientFlow, gradient_flow, jacobians
from rote.cells import Cell, Plain, Recurrent
from rote.cells.arithmetic import Arithmetic, V
from rote.errors import UsageError
from rote.figures import export
from rote.models import SequenceModel, adapt

OPTIONS = [
    {"cell": "elman"},
    {"cell": "elman", "nonlinearity": "relu"},
    {"cell": "lstm"},
    {"cell": "gru"},
    {"cell": "gru", "reset": "before", "biases": "one"},
    {"cell": "nested_lstm", "depth": 3},
    {"cell": "lstm", "layers": 2, "biases": "none"},
    {"cell": "gru", "layers": 2, "bidirectional": True},
]


def model_of(**options: object) -> SequenceModel:
    torch.manual_seed(1)
    recurrent = Recurrent(input_size=3, hidden_size=4, **options)
    return SequenceModel(recurrent, nn.Embedding(7, 3), nn.Linear(recurrent.output_size, 7)).double()


def tokens_of(batch: int = 2, time: int = 6) -> Tensor:
    return torch.randint(0, 7, (batch, time), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_terms_sum_to_the_gradient_of_the_whole_model(options: dict[str, object]) -> None:
    model, tokens, targets = model_of(**options), tokens_of(), torch.tensor([3, 5])
    flow = gradient_flow(model, tokens, at=4, targets=targets, terms=True)
    loss = cross_entropy(model(tokens)[:, 4], targets, reduction="sum")  # torch's fused kernels where there are any
    loss.backward()
    assert torch.allclose(flow.loss.sum(), loss, atol=1e-13)
    assert flow.terms is not None
    for index, terms in enumerate(flow.terms.values()):
        cell = model.recurrent.cell(*divmod(index, model.recurrent.directions))
        for name, parameter in cell.named_parameters():
            assert (terms[name].sum(0) - parameter.grad).abs().max() < 1e-12, name
            assert torch.allclose(terms[name].flatten(1).norm(dim=1), list(flow.weights.values())[index][name])
    assert flow.error < 1e-12


@pytest.mark.parametrize("module", [nn.RNN, nn.LSTM, nn.GRU], ids=lambda module: module.__name__)
def test_a_users_module_gets_the_gradient_of_its_own_forward_pass(module: type[nn.RNN]) -> None:
    torch.manual_seed(0)
    recurrent, table, readout = module(3, 4, num_layers=2, batch_first=True), nn.Embedding(7, 3), nn.Linear(4, 7)
    for part in (recurrent, table, readout):
        part.double()
    tokens, targets = tokens_of(), torch.tensor([1, 6])
    flow = gradient_flow(
        adapt(recurrent=recurrent, embedding=table, readout=readout), tokens, at=-1, targets=targets, terms=True
    )
    cross_entropy(readout(recurrent(table(tokens))[0])[:, -1], targets, reduction="sum").backward()
    assert flow.at == 5
    assert flow.terms is not None
    assert (flow.terms[1]["weight_hh"].sum(0) - recurrent.weight_hh_l1.grad).abs().max() < 1e-12
    assert (flow.terms[0]["bias_ih"].sum(0) - recurrent.bias_ih_l0.grad).abs().max() < 1e-12


def test_each_term_of_an_elman_network_is_the_textbook_outer_product() -> None:
    """dL/dU = sum over s of delta_s h_(s-1)': a term credited to the wrong step still sums to the gradient."""
    model, tokens, targets = model_of(cell="elman"), tokens_of(batch=1), torch.tensor([2])
    flow = gradient_flow(model, tokens, at=4, targets=targets, terms=True)
    cell, readout = model.recurrent.cell(0), model.readout
    assert readout is not None
    x, h, hidden = model.embed(tokens)[0].detach(), torch.zeros(4, dtype=torch.float64), []
    for vector in x:
        h = torch.tanh(cell.weight_ih @ vector + cell.weight_hh @ h + cell.bias).detach()
        hidden.append(h)
    error = (readout.weight @ hidden[4] + readout.bias).softmax(0).detach()
    error[2] -= 1
    back = readout.weight.detach().T @ error  # d loss / d h_s, from s = 4 backward
    assert flow.terms is not None
    for s in reversed(range(5)):
        assert torch.allclose(flow.states[0]["hidden"][0, s], back.norm(), atol=1e-13)
        delta = back * (1 - hidden[s] ** 2)
        before = hidden[s - 1] if s else torch.zeros(4, dtype=torch.float64)
        assert torch.allclose(flow.terms[0]["weight_hh"][s], torch.outer(delta, before), atol=1e-13)
        assert torch.allclose(flow.terms[0]["weight_ih"][s], torch.outer(delta, x[s]), atol=1e-13)
        assert torch.allclose(flow.terms[0]["bias_ih"][s], delta, atol=1e-13)
        back = cell.weight_hh.detach().T @ delta
    assert flow.terms[0]["weight_hh"][5].abs().max() == 0  # after the loss


@pytest.mark.parametrize("options", [{"cell": "lstm"}, {"cell": "gru"}, {"cell": "nested_lstm"}], ids=str)
def test_state_gradients_equal_finite_differences_of_the_rest_of_the_sequence(options: dict[str, object]) -> None:
    model, tokens, targets, s, at = model_of(**options), tokens_of(batch=1), torch.tensor([4]), 2, 5
    flow = gradient_flow(model, tokens, at=at, targets=targets)
    cell, x = model.recurrent.cell(0), model.embed(tokens).detach()
    state = model.recurrent.zero_states(1)[0]

    def loss_from(state: tuple[Tensor, ...], first: int) -> float:
        for t in range(first, at + 1):
            state = cell.step(Plain(), cell.project(x[:, t]), state)
        assert model.readout is not None
        return float(cross_entropy(model.readout(state[0]), targets))

    with torch.no_grad():
        for t in range(s + 1):
            state = cell.step(Plain(), cell.project(x[:, t]), state)
        for index, name in enumerate(cell.state_names):
            gradient = []
            for unit in range(4):
                sides = []
                for sign in (1, -1):
                    moved = [value.clone() for value in state]
                    moved[index][0, unit] += sign * 1e-5
                    sides.append(loss_from(tuple(moved), s + 1))
                gradient.append((sides[0] - sides[1]) / 2e-5)
            assert torch.tensor(gradient, dtype=torch.float64).norm() == pytest.approx(
                float(flow.states[0][name][0, s]), rel=1e-7, abs=1e-11
            )


@pytest.mark.parametrize("options", [{"cell": "elman"}, {"cell": "lstm"}, {"cell": "gru", "reset": "before"}], ids=str)
def test_jacobians_and_their_products_equal_those_of_autograd(options: dict[str, object]) -> None:
    model, tokens = model_of(**options), tokens_of(batch=1)
    flow = gradient_flow(model, tokens, at=4)
    cell, x = model.recurrent.cell(0), model.embed(tokens).detach()
    sizes = [4] * len(cell.state_names)

    def run(state: Tensor, first: int, last: int) -> Tensor:
        parts = tuple(state[None].split(sizes, dim=-1))
        for t in range(first, last + 1):
            parts = cell.step(Plain(), cell.project(x[:, t]), parts)
        return torch.cat(parts, dim=-1)[0]

    state = torch.zeros(sum(sizes), dtype=torch.float64)
    for s in range(5):
        jacobian = torch.autograd.functional.jacobian(lambda value, s=s: run(value, s, s), state)
        assert torch.allclose(flow.jacobians[0]["spectral"][0, s], torch.linalg.matrix_norm(jacobian, 2), rtol=1e-12)
        assert torch.allclose(flow.jacobians[0]["frobenius"][0, s], jacobian.norm(), rtol=1e-12)
        state = run(state, s, s).detach()
        product = torch.autograd.functional.jacobian(lambda value, s=s: run(value, s + 1, 4), state)
        assert torch.allclose(flow.products[0][0, s], torch.linalg.matrix_norm(product, 2), rtol=1e-11)
    assert flow.products[0][0, 4] == pytest.approx(1)
    assert flow.products[0][0, 5] == 0


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_padded_batch_gives_what_its_sequences_give_alone(options: dict[str, object]) -> None:
    model, tokens, lengths = model_of(**options), tokens_of(batch=3), [6, 3, 5]
    together = gradient_flow(model, tokens, at=2, lengths=lengths, terms=True)
    alone = [gradient_flow(model, tokens[b : b + 1, :n], at=2, terms=True) for b, n in enumerate(lengths)]
    for key, names in together.states.items():
        for name, norms in names.items():
            for b, n in enumerate(lengths):
                assert torch.allclose(norms[b, :n], alone[b].states[key][name][0], atol=1e-14)
                assert norms[b, n:].abs().sum() == 0
        for b, n in enumerate(lengths):
            assert torch.allclose(together.products[key][b, :n], alone[b].products[key][0], atol=1e-13)
        assert together.terms is not None
        for name, terms in together.terms[key].items():
            apart = torch.zeros_like(terms)
            for b, n in enumerate(lengths):
                assert alone[b].terms is not None
                apart[:n] += alone[b].terms[key][name]
            assert (terms - apart).abs().max() < 1e-13


def test_the_hidden_block_of_a_jacobian_is_that_of_hidden_to_hidden_with_the_cell_held_fixed() -> None:
    model, tokens = model_of(cell="lstm"), tokens_of(batch=1)
    flow, cell, x = gradient_flow(model, tokens, at=5), model.recurrent.cell(0), model.embed(tokens).detach()
    h, c = model.recurrent.zero_states(1)[0]
    for t in range(6):

        def hidden(value: Tensor, c: Tensor = c, t: int = t) -> Tensor:
            return cell.step(Plain(), cell.project(x[:, t]), (value, c))[0][0]

        block = torch.autograd.functional.jacobian(hidden, h)[:, 0]
        assert torch.allclose(
            flow.jacobians[0]["hidden spectral"][0, t], torch.linalg.matrix_norm(block, 2), rtol=1e-12
        )
        assert torch.allclose(flow.jacobians[0]["hidden frobenius"][0, t], block.norm(), rtol=1e-12)
        h, c = (value.detach() for value in cell.step(Plain(), cell.project(x[:, t]), (h, c)))
    assert set(gradient_flow(model_of(cell="gru"), tokens, at=1).jacobians[0]) == {"spectral", "frobenius"}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_sequences_in_small_chunks_have_the_same_jacobians(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tokens = model_of(**options), tokens_of(batch=3)
    whole = gradient_flow(model, tokens, at=3, lengths=[6, 5, 4])
    monkeypatch.setattr(jacobians, "NUMBERS", 1)
    apart = gradient_flow(model, tokens, at=3, lengths=[6, 5, 4])
    for key, product in whole.products.items():
        assert torch.allclose(apart.products[key], product, rtol=1e-12)
        for kind, norms in whole.jacobians[key].items():
            assert torch.allclose(apart.jacobians[key][kind], norms, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_large_jacobians_get_their_largest_singular_value_also_where_squares_would_underflow(
    dtype: torch.dtype,
) -> None:
    torch.manual_seed(0)
    size = jacobians.EXACT + 30
    spread = torch.randn(size, size, dtype=dtype)
    low_rank = torch.randn(size, 2, dtype=dtype) @ torch.randn(2, size, dtype=dtype)
    twice = torch.eye(size, dtype=dtype)  # every singular value is the largest
    zero = torch.zeros(size, size, dtype=dtype)
    matrices = torch.stack([spread, low_rank, twice, zero, spread * 1e-30, spread.triu()])
    spectral, frobenius = jacobians.norms_of(matrices)
    exact = torch.linalg.matrix_norm(matrices.double(), 2)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert torch.allclose(spectral.double(), exact, rtol=tolerance, atol=0)
    assert torch.allclose(frobenius.double(), matrices.double().norm(dim=(1, 2)), rtol=tolerance, atol=0)


def test_nothing_is_left_on_the_users_modules_even_under_no_grad_and_frozen() -> None:
    lstm, table, readout = nn.LSTM(3, 4, batch_first=True), nn.Embedding(7, 3), nn.Linear(4, 7)
    lstm.eval().requires_grad_(False)
    model, random = adapt(recurrent=lstm, embedding=table, readout=readout), torch.get_rng_state()
    with torch.no_grad():
        flow = gradient_flow(model, tokens_of(), at=3)
    assert flow.states[0]["hidden"].abs().sum() > 0
    assert not flow.loss.requires_grad
    assert torch.equal(random, torch.get_rng_state())
    assert not lstm.training
    assert not any(parameter.requires_grad for parameter in lstm.parameters())
    assert all(parameter.grad is None for part in (lstm, table, readout) for parameter in part.parameters())


def test_terms_of_a_user_written_cell_and_weights_with_nan() -> None:
    """A state that depends on nothing and a weight that is not used have a gradient of zero, not an error."""

    class Still(Cell):
        row_groups = (1,)
        gate_names = ()
        state_names = ("hidden", "still")

        def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
            return a.tanh(projected + state[0] + a.constant(self.bias)), state[1]

    torch.manual_seed(0)
    recurrent = Recurrent([Still(3, 4)])
    model = SequenceModel(recurrent, nn.Embedding(7, 3), nn.Linear(4, 7)).double()
    flow = gradient_flow(model, tokens_of(), at=4, terms=True)
    assert flow.error < 1e-12
    assert flow.terms is not None
    assert flow.terms[0]["weight_hh"].abs().max() == 0
    assert flow.terms[0]["weight_ih"].abs().max() > 0
    assert flow.states[0]["still"].abs().max() == 0
    with torch.no_grad():
        recurrent.cell(0).weight_ih[0, 0] = float("nan")
    with pytest.raises(UsageError, match=r"The weight 'recurrent\.cells\.0\.weight_ih' of the model has NaN"):
        gradient_flow(model, tokens_of(), at=4)


def test_the_result_survives_its_files_and_draws(tmp_path: object) -> None:
    flow = gradient_flow(model_of(cell="gru", bidirectional=True), tokens_of(), at=2)
    flow.save(f"{tmp_path}/flow")
    back = GradientFlow.load(f"{tmp_path}/flow")
    assert torch.equal(back.products[0, 1], flow.products[0, 1])
    assert back.to_table() == flow.to_table()
    assert b"<svg" in export(flow.to_table(), "svg")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"at": 6}, "'at' must lie inside the sequence of 6 steps. Got 6."),
        ({"at": 4, "lengths": [6, 3]}, "the shortest has 3 steps. Got 4."),
        ({"targets": torch.tensor([1, 7])}, "'targets' must lie in 0 to 6, the outputs of the model. Got 7."),
        ({"targets": torch.tensor([1])}, "'targets' must be 2 whole numbers (torch.long), one per sequence."),
        ({"targets": [1, 2]}, "Got list."),
        ({"at": -7}, "'at' must lie inside the sequence of 6 steps. Got -7."),
        ({"at": 2.0}, "'at' must be a step, a whole number. Got 2.0."),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_by_name(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        gradient_flow(model_of(cell="elman"), tokens_of(), **{"at": 2, **changes})
    assert said in str(caught.value)
