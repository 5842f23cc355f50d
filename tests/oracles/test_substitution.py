"""Substitution of parts: what is taken, frozen and left, bit for bit; what both kinds of surgery refuse."""

import copy
import math

import pytest
import torch
from operated_models import TOKENS, Own, made
from torch import nn

from rote.analyses import prune, substitute
from rote.cells import Cell, Recurrent, cells
from rote.cells.arithmetic import Arithmetic, V
from rote.errors import UnknownNameError, UsageError
from rote.models.sequence import SequenceModel


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
    assert all(torch.equal(values[name], old[name]) for name in old)


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
                substitute(one, "embedding", other, retrain=lambda model, names: 1 / 0)
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
    source.norm.running_mean.fill_(3.0)
    names: list[str] = []
    result = substitute(into, "norm", source, retrain=lambda model, frozen: names.extend(frozen))
    assert result.norm.running_mean.equal(source.norm.running_mean)
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
        prune(model, by="norm")
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
        substitute(into, "readout", dict(source.state_dict()))
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
        substitute(into, "embedding", source, lambda model, frozen: copy.deepcopy(model))
