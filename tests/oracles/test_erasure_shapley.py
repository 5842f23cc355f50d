"""Erasure and Shapley values against their definitions, written out for one sequence at a time."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

import rote
from rote.errors import UsageError
from rote.models.sequence import SequenceModel

TIME = 4


@pytest.fixture(scope="module")
def model() -> SequenceModel:
    torch.manual_seed(1)
    recurrent = nn.LSTM(3, 6, num_layers=2, batch_first=True)
    return rote.adapt(recurrent=recurrent, embedding=nn.Embedding(7, 3), readout=nn.Linear(6, 5)).double()


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    return torch.tensor([[1, 5, 2, 6], [3, 3, 0, 4]])


def worth(model: SequenceModel, tokens: Tensor, row: int, members: tuple[int, ...], target: int) -> float:
    """The output at the last step with all other positions zero, without any code of the analyses."""
    assert model.embedding is not None
    assert model.readout is not None
    vectors = model.embedding(tokens[row : row + 1])
    kept = torch.zeros(1, tokens.shape[1], 1, dtype=vectors.dtype)
    kept[0, list(members)] = 1
    with torch.no_grad():
        hidden, _ = model.recurrent(vectors * kept)
        return float(model.readout(hidden)[0, -1, target])


def by_orders(model: SequenceModel, tokens: Tensor, row: int, target: int) -> list[float]:
    gains = [0.0] * TIME
    orders = list(itertools.permutations(range(TIME)))
    for order in orders:
        for place, position in enumerate(order):
            gains[position] += worth(model, tokens, row, order[: place + 1], target)
            gains[position] -= worth(model, tokens, row, order[:place], target)
    return [gain / len(orders) for gain in gains]


def test_enumerated_values_are_the_mean_over_all_orders(model: SequenceModel, tokens: Tensor) -> None:
    found = rote.shapley(model, tokens, target=2, permutations=None, pairs=True)
    for row in range(2):
        assert found.values[row].tolist() == pytest.approx(by_orders(model, tokens, row, 2), abs=1e-12)
    assert found.sum_error.max() < 1e-12
    assert not found.standard_errors.any()


def test_pairs_are_the_interaction_index(model: SequenceModel, tokens: Tensor) -> None:
    """Two positions merged, and each without the other: I(ij) = phi(merged) - phi(i without j) - phi(j without i)."""
    found = rote.shapley(model, tokens, target=0, permutations=None, pairs=True)
    assert found.pairs is not None

    def phi(players: list[tuple[int, ...]], asked: tuple[int, ...]) -> float:
        orders = list(itertools.permutations(players))
        total = 0.0
        for order in orders:
            before = sum(order[: order.index(asked)], ())
            total += worth(model, tokens, 0, before + asked, 0) - worth(model, tokens, 0, before, 0)
        return total / len(orders)

    for i, j in ((0, 3), (1, 2)):
        rest = [(k,) for k in range(TIME) if k not in (i, j)]
        expected = phi([*rest, (i, j)], (i, j)) - phi([*rest, (i,)], (i,)) - phi([*rest, (j,)], (j,))
        assert float(found.pairs[0, i, j]) == pytest.approx(expected, abs=1e-12)
        assert found.pairs[0, i, j] == found.pairs[0, j, i]


def test_drawn_values_add_up_and_lie_within_their_errors(model: SequenceModel, tokens: Tensor) -> None:
    exact = rote.shapley(model, tokens, permutations=None, pairs=True)
    drawn = rote.shapley(model, tokens, permutations=300, pairs=True)
    assert drawn.sum_error.max() < 1e-12
    assert exact.pairs is not None
    assert drawn.pairs is not None
    assert drawn.pair_errors is not None
    assert ((exact.values - drawn.values).abs() <= 4.5 * drawn.standard_errors + 1e-12).all()
    assert ((exact.pairs - drawn.pairs).abs() <= 4.5 * drawn.pair_errors + 1e-12).all()
    assert (drawn.standard_errors < exact.values.abs().max() / 5).all()


def test_erasure_is_what_the_model_says_of_changed_inputs(model: SequenceModel, tokens: Tensor) -> None:
    found = rote.erase(model, tokens, spans=[(1, 2)], target=4)
    for row in range(2):
        whole, nothing = (worth(model, tokens, row, some, 4) for some in ((0, 1, 2, 3), ()))
        assert float(found.alone[row, 0]) == pytest.approx(worth(model, tokens, row, (1, 2), 4) - nothing, abs=1e-12)
        assert float(found.removed[row, 0]) == pytest.approx(whole - worth(model, tokens, row, (0, 3), 4), abs=1e-12)
    both = rote.erase(model, tokens, target=4, spans=torch.ones(2, 1, TIME, dtype=torch.bool))
    assert torch.allclose(both.two[:, 0], both.whole - both.empty)


def test_what_is_absent_is_what_was_asked_for(model: SequenceModel, tokens: Tensor) -> None:
    assert model.embedding is not None
    mean = model.embedding.weight.detach().mean(0)
    named, given = (rote.erase(model, tokens, absent=absent) for absent in ("mean", mean))
    assert torch.equal(named.removed, given.removed)
    assert not torch.allclose(named.removed, rote.erase(model, tokens).removed)
    drawn = rote.erase(model, tokens, absent="redrawn", draws=400)
    everything = [  # position 3 drawn anew, each symbol as likely: an exact mean
        sum(whole_of(model, [*tokens[row, :3].tolist(), symbol], int(drawn.targets[row])) for symbol in range(7)) / 7
        for row in range(2)
    ]
    for row in range(2):
        lost = float(drawn.whole[row]) - everything[row]
        assert abs(float(drawn.removed[row, 3]) - lost) < 4.5 * float(drawn.removed_error[row, 3])


def whole_of(model: SequenceModel, symbols: list[int], target: int) -> float:
    with torch.no_grad():
        return float(model(torch.tensor([symbols]))[0, -1, target])


def test_padding_is_no_player(model: SequenceModel, tokens: Tensor) -> None:
    padded = rote.shapley(model, tokens, lengths=[4, 2], permutations=None)
    short = rote.shapley(model, tokens[1:, :2], permutations=None)
    assert torch.allclose(padded.values[1, :2], short.values[0])
    assert not padded.values[1, 2:].any()
    assert not rote.erase(model, tokens, lengths=[4, 2]).removed[1, 2:].any()


class Bag(nn.Module):
    """A model that Rote cannot take apart, in which positions add up: their Shapley values are what each gives."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.classes = nn.Embedding(9, 4), nn.Linear(4, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.classes(self.table(tokens).sum(1))


def test_any_forward_pass_can_be_asked() -> None:
    torch.manual_seed(0)
    bag, tokens = Bag().double(), torch.tensor([[1, 2, 8, 4, 4]])
    each = (bag.table(tokens)[0] @ bag.classes.weight[1]).tolist()
    hooks = len(bag.table._forward_hooks)
    for found in (
        rote.shapley(bag, tokens, target=1).values, rote.shapley(bag, tokens, target=1, permutations=None).values,
        rote.erase(bag, tokens, target=1).alone, rote.erase(bag, tokens, target=1).removed,
        rote.erase(lambda vectors: bag.classes(vectors.sum(1)), bag.table(tokens).detach(), target=1).two,
    ):  # fmt: skip
        assert found[0].tolist() == pytest.approx(each, abs=1e-12)
    assert len(bag.table._forward_hooks) == hooks


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"absent": "none"}, "'absent' must be 'zero', 'mean', 'redrawn' or a vector. Got 'none'."),
        ({"absent": torch.zeros(2)}, r"'absent' as a vector must be \[3\], as the inputs. Got \(2,\)."),
        ({"at": 4}, "'at' must be a step of every sequence, the shortest has 4. Got 4."),
        ({"target": 5}, "'targets' must lie in 0 to 4, the outputs of the model. Got 5."),
        ({"target": [0]}, "'target' must be one output, or one for each of 2 sequences."),
        ({"permutations": 1}, "'permutations' must be at least 2"),
    ],
)
def test_wrong_input_is_one_line(model: SequenceModel, tokens: Tensor, options: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told) as error:
        rote.shapley(model, tokens, **options)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_too_long_a_sequence_is_not_enumerated(model: SequenceModel) -> None:
    with pytest.raises(UsageError, match=r"at most 12 positions. The sequences have 13"):
        rote.shapley(model, torch.zeros(1, 13, dtype=torch.long), permutations=None)
