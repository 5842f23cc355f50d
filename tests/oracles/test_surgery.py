"""Pruning and substitution: against smaller networks, loops over the weights, and bit for bit."""

import copy
import math
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from rote.analyses import prune, strong_neurons, substitute, trace
from rote.cells import Cell, LSTMCell, Recurrent, cells
from rote.cells.arithmetic import Arithmetic, V
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel, adapt

TOKENS = torch.tensor([[0, 3, 1, 5, 2], [4, 4, 2, 0, 1]])


def made(kind: str = "gru", seed: int = 0, size: int = 6, **options: object) -> SequenceModel:
    torch.manual_seed(seed)
    recurrent = Recurrent(kind, 3, size, **options)  # type: ignore[arg-type]
    readout = nn.Linear(recurrent.output_size, 6)
    return SequenceModel(recurrent, nn.Embedding(6, 3), readout).double()


class Own(nn.Module):
    """A user's module: an encoder, a decoder and a normalization with buffers, wired as they like."""

    def __init__(self, seed: int = 0, hidden: int = 4) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(6, 3)
        self.encoder = nn.LSTM(3, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.norm = nn.BatchNorm1d(2 * hidden)
        self.decoder = nn.GRUCell(2 * hidden, hidden)
        self.out = nn.Linear(hidden, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.encoder(self.embedding(tokens))
        out: Tensor = self.out(self.decoder(self.norm(states[:, -1])))
        return out


def contents(model: nn.Module) -> dict[str, object]:
    """Everything that surgery might leave on a model."""
    return {
        "values": {name: value.clone() for name, value in model.state_dict().items()},
        "gradients": {name: weight.grad for name, weight in model.named_parameters()},
        "wants": {name: weight.requires_grad for name, weight in model.named_parameters()},
        "training": [module.training for module in model.modules()],
        "hooks": [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()],
        "versions": [weight._version for weight in model.parameters()],
    }


def assert_untouched(model: nn.Module, before: dict[str, object]) -> None:
    after = contents(model)
    values, old = after.pop("values"), dict(before).pop("values")
    assert after == {key: value for key, value in before.items() if key != "values"}
    assert all(torch.equal(values[name], old[name]) for name in old)  # type: ignore[index,attr-defined]


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
    order = strong_neurons(model, keep=1.0, by=by, strongest=0.1)["recurrent.cells.0"]  # type: ignore[arg-type]
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
            columns = pruned.recurrent.cells[upper].weight_ih[:, 4 * lower : 4 * lower + 4]  # type: ignore[index]
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


@pytest.mark.parametrize("operation", ["prune", "substitute", "failed retraining"])
def test_the_given_models_are_untouched(operation: str) -> None:
    for one, other in ((made("lstm"), made("lstm", seed=1)), (Own(), Own(seed=1))):
        one.train()
        other.eval()
        one(TOKENS).sum().backward()
        next(other.parameters()).requires_grad_(False)
        before, source = contents(one), contents(other)
        if operation == "prune":
            prune(one, keep=0.5)
        elif operation == "substitute":
            substitute(one, "embedding", other, retrain=descend)
        else:
            with pytest.raises(ZeroDivisionError):
                substitute(one, "embedding", other, retrain=lambda model, names: 1 / 0)  # type: ignore[arg-type,return-value]
        assert_untouched(one, before)
        assert_untouched(other, source)


def descend(model: nn.Module, frozen: list[str]) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(TOKENS).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("part", "taken"),
    [
        ("embedding", {"embedding.weight"}),
        ("readout", {"readout.weight", "readout.bias"}),
        ("recurrent.1", {f"recurrent.cells.1.{name}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}),
        ("recurrent.cells.1.weight_hh", {"recurrent.cells.1.weight_hh"}),
        ("recurrent.0.weight_ih", {"recurrent.cells.0.weight_ih"}),
        (["readout.bias", "recurrent.0.weight_ih"], {"readout.bias", "recurrent.cells.0.weight_ih"}),
    ],
)
def test_only_the_named_part_is_taken_and_frozen(part: str | list[str], taken: set[str]) -> None:
    into, source = made("gru", layers=2), made("gru", seed=1, layers=2)
    result = substitute(into, part, source)
    mine, theirs = dict(into.named_parameters()), dict(source.named_parameters())
    for name, weight in result.named_parameters():
        assert weight.equal((theirs if name in taken else mine)[name]), name
        assert weight.requires_grad == (name not in taken)
        assert weight.data_ptr() not in (mine[name].data_ptr(), theirs[name].data_ptr())


def test_a_prefix_ends_at_a_dot() -> None:
    """'encoder.weight_ih_l1' must not take 'encoder.weight_ih_l10' or '..._l1_reverse' with it."""
    into, source = Own(), Own(seed=1)
    result = substitute(into, "encoder.weight_ih_l1", source)
    assert result.encoder.weight_ih_l1.equal(source.encoder.weight_ih_l1)
    assert result.encoder.weight_ih_l1_reverse.equal(into.encoder.weight_ih_l1_reverse)


def test_the_fused_module_computes_with_what_was_put_in() -> None:
    into, source = Own(), Own(seed=1)
    result = substitute(into, "encoder", source)
    inputs = torch.randn(2, 4, 3)
    assert result.encoder(inputs)[0].equal(source.encoder(inputs)[0])
    part = substitute(into, "encoder.weight_hh_l0", source)
    assert not part.encoder(inputs)[0].equal(into.encoder(inputs)[0])


def test_buffers_belong_to_a_part() -> None:
    into, source = Own(), Own(seed=1)
    source.norm.running_mean.fill_(3.0)  # type: ignore[union-attr]
    names: list[str] = []
    result = substitute(into, "norm", source, retrain=lambda model, frozen: names.extend(frozen))
    assert result.norm.running_mean.equal(source.norm.running_mean)  # type: ignore[union-attr,arg-type]
    assert names == ["norm.weight", "norm.bias"]  # what training could change


def test_retraining_moves_all_but_the_frozen_part() -> None:
    into, source = made("lstm"), made("lstm", seed=1)
    names: list[list[str]] = []

    def retrain(model: SequenceModel, frozen: list[str]) -> None:
        names.append(frozen)
        descend(model, frozen)

    result = substitute(into, "recurrent.0.weight_hh", source, retrain)
    assert names == [["recurrent.cells.0.weight_hh"]]
    assert result.recurrent.cell(0).weight_hh.equal(source.recurrent.cell(0).weight_hh)
    before = dict(into.named_parameters())
    unmoved = {name for name, weight in result.named_parameters() if weight.equal(before[name])}
    assert not unmoved


def test_what_is_tied_to_the_part_outside_it_stays_as_it_was() -> None:
    into, source = made("gru", size=3), made("gru", seed=1, size=3)
    for model in (into, source):
        assert model.readout is not None
        assert model.embedding is not None
        model.readout.weight = model.embedding.weight
    assert into.embedding is not None
    assert source.embedding is not None
    result = substitute(into, "embedding", source)
    assert result.embedding is not None
    assert result.readout is not None
    assert result.embedding.weight.equal(source.embedding.weight)
    assert result.readout.weight.equal(into.embedding.weight)
    both = substitute(into, ["embedding", "readout"], source)
    assert both.embedding is not None
    assert both.readout is not None
    assert both.readout.weight is both.embedding.weight


def test_a_source_of_another_dtype_is_taken_in_the_models_own() -> None:
    into, source = made("gru"), made("gru", seed=1).float()
    result = substitute(into, "readout", source, retrain=descend)
    assert result.readout is not None
    assert source.readout is not None
    assert result.readout.weight.equal(source.readout.weight.double())


def test_wrong_input_to_prune_names_the_argument() -> None:
    model = made("gru")
    for keep in (0, 1.01, -0.5, math.nan):
        with pytest.raises(UsageError, match=rf"'keep' must be a share above 0 and at most 1. Got {keep}"):
            prune(model, keep=keep)
    with pytest.raises(UsageError, match=r"'by' must be 'edges', 'mean' or 'max'. Got 'norm'"):
        prune(model, by="norm")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'strongest' must be a share above 0 and at most 1. Got 2"):
        prune(model, strongest=2)
    with pytest.raises(UsageError, match=r"Linear has no recurrent layer to prune"):
        prune(nn.Linear(2, 2))
    with pytest.raises(UsageError, match=r"rnn has proj_size=2 and cannot be pruned"):
        prune(nn.ModuleDict({"rnn": nn.LSTM(2, 4, proj_size=2)}))
    spoiled = copy.deepcopy(model)
    spoiled.recurrent.cell(0).weight_hh.data[0, 0] = math.nan
    with pytest.raises(UsageError, match=r"'weight_hh' of recurrent.cells.0 has NaN"):
        prune(spoiled)


def test_a_cell_of_ones_own_is_pruned_or_refused_by_the_shape_of_its_weights() -> None:
    class Peephole(Cell):
        """Registered nowhere: only its shapes are looked at."""

        row_groups = (1,)
        gate_names = ("candidate",)

        def shapes(self) -> dict[str, tuple[int, ...] | None]:
            return {**super().shapes(), "look": (self.hidden_size, self.hidden_size + 1)}

        def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
            return (a.tanh(projected),)

    assert "peephole" not in cells
    with pytest.raises(UsageError, match=r"What of cells.0.look \(4, 5\) belongs to which neuron cannot be told"):
        prune(Recurrent([Peephole(2, 4)]))


def test_wrong_input_to_substitute_names_the_part() -> None:
    into, source = made("lstm"), made("lstm", seed=1)
    with pytest.raises(UnknownNameError, match=r"Unknown part 'embeding' of 'into'. Did you mean 'embedding'\?"):
        substitute(into, "embeding", source)
    with pytest.raises(
        UnknownNameError, match=r"Unknown part 'recurrent.0.weigth_hh'.*Did you mean 'recurrent.0.weight_hh'"
    ):
        substitute(into, "recurrent.0.weigth_hh", source)
    with pytest.raises(UsageError, match=r"'part' names nothing"):
        substitute(into, [], source)
    with pytest.raises(
        UsageError, match=r"'readout' does not fit: 'readout.weight' is \(6, 6\) in 'into' and \(6, 5\) in 'source'"
    ):
        substitute(into, "readout", made("lstm", size=5))
    with pytest.raises(UsageError, match=r"differs between the models: 'source' has no 'recurrent.cells.0.bias_ih'"):
        substitute(into, "recurrent", made("lstm", biases="none"))
    with pytest.raises(UsageError, match=r"differs between the models: 'into' has no 'recurrent.cells.1.weight_ih'"):
        substitute(into, "recurrent", made("lstm", layers=2))
    with pytest.raises(UsageError, match=r"'source' must be an nn.Module. Got dict"):
        substitute(into, "readout", dict(source.state_dict()))  # type: ignore[arg-type]
    assert source.readout is not None
    source.readout.weight.data[0, 0] = math.inf
    with pytest.raises(UsageError, match=r"'readout.weight' of source has NaN or infinite values"):
        substitute(into, "readout", source)


def test_a_retraining_that_breaks_its_contract_is_found_out() -> None:
    into, source = made("lstm"), made("lstm", seed=1)

    def thaws(model: SequenceModel, frozen: list[str]) -> None:
        model.requires_grad_(True)
        descend(model, frozen)

    with pytest.raises(UsageError, match=r"'retrain' has changed 'embedding.weight', which was to stay"):
        substitute(into, "embedding", source, thaws)
    with pytest.raises(UsageError, match=r"'retrain' must train the model it is given and return None"):
        substitute(into, "embedding", source, lambda model, frozen: copy.deepcopy(model))  # type: ignore[arg-type,return-value]
