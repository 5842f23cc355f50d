"""The contract suites over everything that is registered, with shapes that hypothesis makes; and that they bite."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import rote
from rote.analyses import Result, analyses
from rote.cells import Arithmetic, Cell, LSTMCell, Recurrent, cells
from rote.cells.arithmetic import V
from rote.models.sequence import SequenceModel
from rote.store import Column, Table
from rote.testing import check_analysis, check_cell, check_model

VOCABULARY = 6
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "attention": [{"longest": 3}],
    "block": [{"mixer": "min_gru", "norm": "layer", "conv": 3, "gate": True, "mlp": 5, "size": 3}],
    "elman": [{}, {"nonlinearity": "relu"}],
    "gru": [{}, {"reset": "before"}],
    "lstm": [{}, {"proj_size": 1}],
    "min_gru": [{}, {"form": "plain"}],
    "min_lstm": [{}, {"form": "plain"}],
    "nested_lstm": [{}, {"depth": 1}, {"depth": 3}],
    "peephole_lstm": [{}, {"proj_size": 1}],
    "rg_lru": [{}, {"width": 2}],
    "s6": [{"state_size": 2}],
    "delta": [{"width": 2}],
    "gated_delta": [{"width": 2}],
    "slstm": [{"width": 2}],
    "ssd": [{"state_size": 2, "width": 2}],
}


@pytest.mark.parametrize("name", sorted(cells))
@given(data=st.data())
@settings(max_examples=2)
def test_every_registered_cell_keeps_the_contract(name: str, data: st.DataObject) -> None:
    torch.manual_seed(0)
    sizes = {"input_size": data.draw(st.integers(1, 4)), "hidden_size": data.draw(st.integers(2, 5))}
    biases = data.draw(st.sampled_from(["two", "one", "none"]))
    for options in OPTIONS.get(name, [{}]):
        check_cell(
            lambda i, h, o=options: cells[name](i, h, biases=biases, **o), **sizes, seed=data.draw(st.integers(0, 9))
        )


@st.composite
def models(draw: st.DrawFn, bare: bool = False) -> SequenceModel:
    name = draw(st.sampled_from(sorted(cells)))
    both, layers, inputs, hidden = draw(st.booleans()), draw(st.integers(1, 2)), draw(st.integers(1, 3)), 3
    torch.manual_seed(draw(st.integers(0, 1000)))
    options = {"proj_size": 2} if name == "lstm" and draw(st.booleans()) else {}
    recurrent = Recurrent(name, inputs, hidden, layers=layers, bidirectional=both, **options)
    embedding = None if bare and draw(st.booleans()) else nn.Embedding(VOCABULARY, inputs)
    linear = nn.Linear(recurrent.output_size, 4)
    readouts = [linear, nn.Sequential(nn.LayerNorm(recurrent.output_size), linear), *([None] if bare else [])]
    readout = draw(st.sampled_from(readouts))
    model = SequenceModel(recurrent, embedding, readout)
    return model.to(draw(st.sampled_from([torch.float32, torch.float64]))).train(draw(st.booleans()))


@given(models(bare=True))
@settings(max_examples=15)
def test_models_of_every_cell_keep_the_contract(model: SequenceModel) -> None:
    check_model(model)


def arguments(name: str, tokens: Tensor, draw: Any) -> tuple[list[Any], dict[str, Any]]:
    """What an analysis of (model, tokens, ...) needs beside them."""
    batch, time = tokens.shape
    lengths = draw(st.one_of(st.none(), st.lists(st.integers(1, time), min_size=batch, max_size=batch)))
    options = {"lengths": lengths}
    match name:
        case "decompose":
            empty = torch.zeros(batch, 1, time, dtype=torch.bool)
            return [draw(st.sampled_from([empty, [(0, time - 1)], [(time - 1, time - 1), (0, 0)]]))], options
        case "interdependence":
            first = torch.zeros(batch, 1, time, dtype=torch.bool)
            second = first.clone()
            first[..., 0], second[..., 1:] = True, True
            return [first, second], options
        case "gradient_flow":
            return [draw(st.integers(0, min(lengths or [time]) - 1))], options
    return [], options


def takes_a_model_and_tokens(name: str) -> bool:
    return list(inspect.signature(analyses[name]).parameters)[:2] == ["model", "tokens"]


@pytest.mark.parametrize("name", [name for name in analyses if takes_a_model_and_tokens(name)])
@given(data=st.data())
@settings(max_examples=3)
def test_every_registered_analysis_keeps_the_contract(name: str, data: st.DataObject) -> None:
    model = data.draw(models())
    tokens = torch.randint(0, VOCABULARY, (data.draw(st.integers(1, 2)), data.draw(st.integers(1, 4))))
    more, options = arguments(name, tokens, data.draw)
    check_analysis(analyses[name], model, tokens, *more, **options)


def test_the_analyses_that_are_checked_are_those_that_look_into_a_model_with_tokens() -> None:
    checked = {name for name in analyses if takes_a_model_and_tokens(name)}
    assert {"trace", "decompose", "decompose_all", "interdependence"} <= checked


# A suite that accepts everything would be worse than none: each of these breaks one promise and is told so.


class Broken(LSTMCell):
    """Like an LSTM, but for what the test changes."""


def broken_cell(**changes: Any) -> type[Cell]:
    return type("Broken", (Broken,), changes)


def mixing_rows(self: Any, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
    h, c = LSTMCell.step(self, a, projected, state)
    return (h + h.mean(0, keepdim=True) if isinstance(h, Tensor) else h), c


def random_step(self: Any, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
    h, c = LSTMCell.step(self, a, projected, state)
    return (h + 1e-3 * torch.randn(()) if isinstance(h, Tensor) else h), c


def cut_gradient(self: Any, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
    h, c = state
    return LSTMCell.step(self, a, projected, (h.detach() if isinstance(h, Tensor) else h, c))


def outside_the_arithmetic(self: Any, a: Any, projected: Any, state: Any) -> Any:
    h, c = LSTMCell.step(self, a, projected, state)
    if isinstance(h, Tensor):
        return 1.01 * h, c
    return h, c


def gate_out_of_range(self: Any, a: Any, projected: Any, state: Any) -> Any:
    h, c = LSTMCell.step(self, a, projected, state)
    a.gate("forget", c + c)
    return h, c


@pytest.mark.parametrize(("inputs", "hidden", "seed"), [(1, 4, 2), (2, 4, 0), (4, 2, 5), (4, 4, 7)])
def test_a_cell_whose_states_nothing_bounds_does_not_fail_by_rounding(inputs: int, hidden: int, seed: int) -> None:
    """With these weights as they are first drawn, its states are so large that sums missed by 1e-10."""
    torch.manual_seed(0)
    check_cell(partial(cells["s6"], state_size=2), input_size=inputs, hidden_size=hidden, seed=seed)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (broken_cell(gate_names=("input", "forget", "candidate", "output", "leak")), "declares the gates .*leak"),
        (broken_cell(gate_names=("input", "forget", "candidate")), "marks a gate 'output' that is not in"),
        (broken_cell(state_names=("cell", "hidden")), "first state of Broken must be 'hidden'"),
        (broken_cell(step=mixing_rows), "depends on the others in its batch"),
        (broken_cell(step=random_step), "differs between two runs"),
        (broken_cell(step=cut_gradient), "The gradient of .* by finite differences"),
        (broken_cell(step=outside_the_arithmetic), "disagree on the state"),
        (broken_cell(step=gate_out_of_range), "gate 'forget' of Broken leaves 0 to 1"),
        (nn.LSTMCell, r"must give a rote\.cells\.Cell. Got LSTMCell"),
        (lambda i, h: LSTMCell(i, h + 1), r"sizes it was asked for: \(3, 4\). Got \(3, 5\)"),
    ],
)  # fmt: skip
def test_check_cell_names_what_is_broken(cell: Any, message: str) -> None:
    torch.manual_seed(0)
    with pytest.raises(AssertionError, match=message):
        check_cell(cell)


def test_check_model_finds_a_model_that_changes_itself() -> None:
    class Forgetful(SequenceModel):
        def embed(self, inputs: Tensor) -> Tensor:
            self.seen = inputs
            return super().embed(inputs)

    torch.manual_seed(0)
    model = Forgetful(Recurrent("lstm", 2, 3), nn.Embedding(5, 2))
    with pytest.raises(AssertionError, match="left behind: the attributes of Forgetful"):
        check_model(model)
    with pytest.raises(AssertionError, match=r"Expected a Rote model.* Got LSTM"):
        check_model(nn.LSTM(2, 3))


@dataclass(frozen=True, repr=False)
class Mean(Result):
    """A small analysis that keeps the contract; the tests below break one promise each."""

    values: Tensor
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"values": ("batch", "unit")}

    def to_table(self) -> Table:
        columns = (Column("batch", role="label"), Column("unit", role="label"), Column("value"))
        rows = [
            {"batch": b, "unit": u, "value": float(v)}
            for b, row in enumerate(self.values)
            for u, v in enumerate(row)
        ]  # fmt: skip
        return Table.make("mean", "Mean state", columns, rows)

    def figure(self, vocabulary: Sequence[str] | None = None) -> Any:
        from altair import Chart, NamedData

        from rote.figures import Figure

        return Figure(Chart(NamedData("mean")).mark_point(), {"mean": self.to_table().records()})


class Loose(Mean):
    axes: ClassVar[dict[str, tuple[str, ...]]] = {"values": ("batch",)}


class Untidy(Mean):
    def to_table(self) -> Table:
        table = super().to_table()
        return Table(**{**table.__dict__, "rows": table.rows * 2})


class Long(Mean):
    def __repr__(self) -> str:
        return f"Long({self.values})"


class Nameless(Mean):
    def figure(self) -> Any:  # type: ignore[override]
        return super().figure()


class Losing(Mean):
    @classmethod
    def load(cls, path: Any) -> Any:
        return cls(super().load(path).values * 0)


@dataclass(repr=False, unsafe_hash=True)
class Thawed:
    values: Tensor


def analysis(kind: Any, spoil: Any = None) -> Any:
    def run(model: SequenceModel, tokens: Tensor) -> Any:
        if spoil is not None:
            spoil(model)
        return kind(rote.trace(model, tokens).logits.mean(1))

    return run


def left_hook(model: SequenceModel) -> None:
    model.register_forward_hook(lambda *_: None)


def in_another_mode_while_it_runs(model: SequenceModel) -> None:
    model.eval()
    torch.zeros(3).sum()
    model.train()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (analysis(Loose), r"axes of 'values' are \('batch',\), but it has the shape"),
        (analysis(Untidy), r"'mean' is not tidy: two rows are labelled \(0, 0\)"),
        (analysis(Long), "repr prints an array"),
        (analysis(Nameless), r"figure\(\) of Nameless must take the vocabulary"),
        (analysis(Losing), r"save\(\) and load\(\) change the result: values"),
        (analysis(Thawed), "must return a rote.analyses.Result. Got Thawed"),
        (analysis(lambda values: Mean(values + torch.rand(()))), "random state"),
        (analysis(Mean, left_hook), "left behind: _forward_hooks"),
        (analysis(Mean, lambda model: model.zero_grad() or model.recurrent.eval()), "the mode of"),
        (analysis(Mean, in_another_mode_while_it_runs), "the mode of"),
    ],
)  # fmt: skip
def test_check_analysis_names_what_is_broken(function: Any, message: str) -> None:
    torch.manual_seed(0)
    model = SequenceModel(Recurrent("lstm", 2, 3), nn.Embedding(VOCABULARY, 2)).train()
    with pytest.raises(AssertionError, match=message):
        check_analysis(function, model, torch.tensor([[1, 2, 3]]))


def test_check_analysis_accepts_one_that_keeps_its_promises_and_gives_its_result() -> None:
    torch.manual_seed(0)
    model = SequenceModel(Recurrent("lstm", 2, 3), nn.Embedding(VOCABULARY, 2)).train()
    assert isinstance(check_analysis(analysis(Mean), model, torch.tensor([[1, 2, 3]])), Mean)
