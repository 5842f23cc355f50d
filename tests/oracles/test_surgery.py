"""Pruning: against smaller networks and loops over the weights."""

from collections.abc import Callable, Sequence

import pytest
import torch
from operated_models import TOKENS, Own, made
from torch import Tensor, nn

from rote.analyses import prune, strong_neurons, trace
from rote.cells import Cell, LSTMCell, Recurrent
from rote.models import SequenceModel, adapt


def links_by_loops(cell: Cell) -> list[tuple[float, int, int | None]]:
    """(absolute weight, receiving neuron, sending neuron or None) of every entry, matrix by matrix, row by row."""
    size, links = cell.hidden_size, []
    for name, shape in cell.shapes().items():
        if shape is not None and len(shape) == 2:
            weight = getattr(cell, name).detach()
            for row in range(shape[0]):
                for column in range(shape[1]):
                    sender = None if name == "weight_ih" else column
                    links.append((abs(float(weight[row, column])), row % size, sender))
    return links


def ranked_by_loops(cell: Cell, by: str, strongest: float) -> list[int]:
    links = links_by_loops(cell)
    attached: dict[int, list[float]] = {neuron: [] for neuron in range(cell.hidden_size)}
    for weight, receiver, sender in links:
        attached[receiver].append(weight)
        if sender is not None:
            attached[sender].append(weight)
    mean = {neuron: sum(weights) / len(weights) for neuron, weights in attached.items()}
    strong = sorted(range(len(links)), key=lambda index: (-links[index][0], index))[: round(strongest * len(links))]
    edges = dict.fromkeys(attached, 0)
    for index in strong:
        _, receiver, sender = links[index]
        edges[receiver] += 1
        if sender is not None:
            edges[sender] += 1
    keys: dict[str, Callable[[int], tuple[float, ...]]] = {
        "mean": lambda neuron: (-mean[neuron], neuron),
        "max": lambda neuron: (-max(attached[neuron]), neuron),
        "edges": lambda neuron: (-edges[neuron], -mean[neuron], neuron),
    }
    return sorted(attached, key=keys[by])


@pytest.mark.parametrize("by", ["edges", "mean", "max"])
@pytest.mark.parametrize(("kind", "options"), [("elman", {}), ("lstm", {}), ("gru", {}), ("nested_lstm", {"depth": 3})])
def test_strength_of_a_neuron_counts_all_gates_and_both_ends_of_its_weights(
    kind: str, options: dict[str, object], by: str
) -> None:
    model = made(kind, seed=2, **options)
    order = strong_neurons(model, keep=1.0, by=by, strongest=0.1)["recurrent.cells.0"]
    assert order.tolist() == ranked_by_loops(model.recurrent.cell(0), by, 0.1)


def smaller(model: SequenceModel, kept: Sequence[int]) -> SequenceModel:
    """A network that has never had any other neurons: each gate's rows and each column of those that are kept."""
    cell = model.recurrent.cell(0)
    assert model.readout is not None
    size = cell.hidden_size
    rows = [gate * size + neuron for gate in range(len(cell.weight_hh) // size) for neuron in kept]
    weights: dict[str, Tensor | None] = {}
    for name, shape in cell.shapes().items():
        if shape is not None:
            weight = getattr(cell, name)[rows]
            weights[name] = weight[:, kept] if len(shape) == 2 and name != "weight_ih" else weight
    options = {"depth": cell.depth} if hasattr(cell, "depth") else {}
    readout = nn.Linear(len(kept), 6).double()
    readout.weight, readout.bias = nn.Parameter(model.readout.weight[:, kept]), model.readout.bias
    fresh = type(cell)(3, len(kept), weights=weights, **options)
    return SequenceModel(Recurrent([fresh]), model.embedding, readout)


@pytest.mark.parametrize(("kind", "options"), [("elman", {}), ("lstm", {}), ("gru", {}), ("nested_lstm", {"depth": 2})])
def test_a_pruned_network_computes_what_one_of_the_kept_neurons_alone_does(
    kind: str, options: dict[str, object]
) -> None:
    model = made(kind, **options)
    pruned = prune(model, keep=0.5)
    kept = sorted(strong_neurons(model, keep=0.5)["recurrent.cells.0"].tolist())
    assert len(kept) == 3
    found = trace(pruned, TOKENS)
    torch.testing.assert_close(found.logits, trace(smaller(model, kept), TOKENS).logits)
    for states in found.states[0].values():
        assert sorted(states.abs().sum((0, 1)).nonzero().flatten().tolist()) == kept


def test_what_is_kept_keeps_its_weights_and_all_else_is_zero() -> None:
    model = made("lstm", seed=1)
    pruned = prune(model, keep=1 / 3, by="mean")
    kept = strong_neurons(model, keep=1 / 3, by="mean")["recurrent.cells.0"].tolist()
    model.requires_grad_(False)
    pruned.requires_grad_(False)
    before, after = model.recurrent.cell(0), pruned.recurrent.cell(0)
    for row in range(24):
        alive = row % 6 in kept
        assert after.weight_ih[row].equal(before.weight_ih[row] * alive)
        assert float(after.bias[row]) == float(before.bias[row]) * alive
        for column in range(6):
            assert float(after.weight_hh[row, column]) == float(before.weight_hh[row, column]) * (
                alive and column in kept
            )
    assert pruned.readout is not None
    assert model.readout is not None
    for column in range(6):
        assert pruned.readout.weight[:, column].equal(model.readout.weight[:, column] * (column in kept))
    assert pruned.readout.bias.equal(model.readout.bias)
    assert pruned.embedding is not None
    assert model.embedding is not None
    assert pruned.embedding.weight.equal(model.embedding.weight)


def test_upper_layers_no_longer_read_what_was_cut_below_in_the_right_direction() -> None:
    model = made("gru", layers=2, bidirectional=True, size=4)
    pruned = prune(model, keep=0.5)
    kept = strong_neurons(model, keep=0.5)
    for lower in (0, 1):  # forward, backward
        alive = set(kept[f"recurrent.cells.{lower}"].tolist())
        for upper in (2, 3):
            columns = pruned.recurrent.cells[upper].weight_ih[:, 4 * lower : 4 * lower + 4]
            assert set(columns.abs().sum(0).nonzero().flatten().tolist()) == alive
        assert pruned.readout is not None
        read = pruned.readout.weight[:, 4 * lower : 4 * lower + 4].abs().sum(0)
        assert set(read.nonzero().flatten().tolist()) == set(kept[f"recurrent.cells.{2 + lower}"].tolist())


@pytest.mark.parametrize("kind", ["elman", "lstm", "gru", "nested_lstm"])
def test_pruned_neurons_stay_dead_when_training_goes_on(kind: str) -> None:
    pruned = prune(made(kind, layers=2), keep=0.5)
    zero = {name: weight == 0 for name, weight in pruned.named_parameters()}
    optimizer = torch.optim.Adam(pruned.parameters(), lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        nn.functional.cross_entropy(pruned(TOKENS).flatten(0, 1), TOKENS.flatten()).backward()
        optimizer.step()
    for name, weight in pruned.named_parameters():
        assert bool((weight[zero[name]] == 0).all()), name
        if name.startswith("recurrent.cells.0.weight"):
            assert bool((weight[~zero[name]] != 0).all()), name


def test_five_percent_of_512_neurons_are_the_26_of_the_source() -> None:
    kept = strong_neurons(nn.GRU(2, 512), keep=0.05, by="mean")
    assert {name: len(neurons) for name, neurons in kept.items()} == {"l0": 26}
    assert len(strong_neurons(nn.GRU(2, 4), keep=0.001)["l0"]) == 1


def test_keeping_all_is_a_copy_that_shares_nothing() -> None:
    model = made("lstm")
    pruned = prune(model, keep=1.0)
    assert trace(pruned, TOKENS).logits.equal(trace(model, TOKENS).logits)
    shared = {weight.data_ptr() for weight in model.parameters()} & {
        weight.data_ptr() for weight in pruned.parameters()
    }
    assert not shared


def test_a_users_own_module_is_pruned_like_the_same_cells_in_rote() -> None:
    torch.manual_seed(0)
    own = Own()
    pruned = prune(own, keep=0.5)
    kept = strong_neurons(own, keep=0.5)
    assert set(kept) == {"encoder.l0", "encoder.l0_reverse", "encoder.l1", "encoder.l1_reverse", "decoder"}
    adapted = prune(adapt(recurrent=own.encoder, embedding=own.embedding), keep=0.5)
    torch.testing.assert_close(pruned.encoder(own.embedding(TOKENS))[0], adapted(TOKENS))
    decoder = LSTMCell(3, 2)  # a bare cell, and torch's own
    assert set(strong_neurons(nn.ModuleList([decoder, nn.RNNCell(2, 2)]), keep=0.5)) == {"0", "1"}
    alive = set(kept["decoder"].tolist())
    assert set(pruned.decoder.weight_hh.abs().sum(0).nonzero().flatten().tolist()) == alive


def test_a_readout_that_is_also_the_embedding_is_left_as_it_is() -> None:
    model = made("gru", size=3)
    assert model.readout is not None
    assert model.embedding is not None
    model.readout.weight = model.embedding.weight
    pruned = prune(model, keep=1 / 3)
    assert pruned.embedding is not None
    assert pruned.embedding.weight.equal(model.embedding.weight)
    assert pruned.readout is not None
    assert pruned.readout.weight is pruned.embedding.weight
