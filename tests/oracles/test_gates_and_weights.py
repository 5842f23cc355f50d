"""Gate saturation, activation distributions, weight maps and neuron graphs against loops over their definitions."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from result_checks import assert_draws, assert_survives_saving
from torch import Tensor, nn

from rote.analyses import Trace, activation_distribution, decompose, gate_saturation, neuron_graph, trace, weight_map
from rote.analyses.weights import gini
from rote.cells import NestedLSTMCell, Recurrent
from rote.errors import UsageError
from rote.models import SequenceModel, adapt


def traced(kind: type[nn.RNNBase] = nn.GRU, seed: int = 0, scale: float = 6.0, **options: object) -> Trace:
    """A ragged batch through a network whose large weights saturate its gates."""
    torch.manual_seed(seed)
    module = kind(4, 5, batch_first=True, **options).double()
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(scale)
    model = adapt(recurrent=module, embedding=nn.Embedding(7, 4).double())
    return trace(model, torch.randint(7, (4, 6)), lengths=[6, 1, 3, 5])


def by_hand(values: list[list[float]], mask: list[list[bool]], gate: str = "update") -> Trace:
    """One layer with one unit and one gate [batch, time]."""
    series = torch.tensor(values, dtype=torch.double)[..., None]
    return Trace({0: {"hidden": series}}, {0: {gate: series}}, series, torch.tensor(mask))


def seen(found: Trace, series: Tensor, unit: int) -> list[float]:
    """The values of a unit at the steps that have an input, one by one."""
    batch, time = found.mask.shape
    return [float(series[b, t, unit]) for b in range(batch) for t in range(time) if found.mask[b, t]]


@pytest.mark.parametrize(("kind", "options"), [(nn.GRU, {"num_layers": 2}), (nn.LSTM, {"bidirectional": True})])
def test_saturation_counts_steps_one_by_one(kind: type[nn.RNNBase], options: dict[str, object]) -> None:
    found = traced(kind, **options)
    result = gate_saturation(found, low=0.2, high=0.7)
    assert result.steps == 15
    assert list(result.left) == list(found.gates)
    for key, gates in found.gates.items():
        assert set(result.left[key]) == set(gates) - {"candidate"}
        for name in result.left[key]:
            for unit in range(5):
                values = seen(found, gates[name], unit)
                left = sum(value < 0.2 for value in values) / len(values)
                right = sum(value > 0.7 for value in values) / len(values)
                assert result.left[key][name][unit] == pytest.approx(left)
                assert result.right[key][name][unit] == pytest.approx(right)
    assert 0 < float(result.left[next(iter(result.left))][name].mean()) < 1


def test_saturation_does_not_count_the_zeros_of_padding_as_shut() -> None:
    found = by_hand([[0.5, 0.5, 0.5], [0.95, 0.0, 0.0]], [[True] * 3, [True, False, False]])
    result = gate_saturation(found)
    assert result.left[0]["update"].tolist() == [0.0]
    assert result.right[0]["update"].tolist() == [0.25]


def test_saturation_is_strictly_beyond_the_thresholds() -> None:
    found = by_hand([[0.1, 0.9, 0.0999, 0.9001]], [[True] * 4], gate="input")
    result = gate_saturation(found, low=0.1, high=0.9)
    assert result.left[0]["input"].tolist() == [0.25]
    assert result.right[0]["input"].tolist() == [0.25]


def test_update_gate_in_both_conventions_with_thresholds_that_are_not_symmetric() -> None:
    found = by_hand([[0.05, 0.25, 0.6, 0.97]], [[True] * 4])
    z = gate_saturation(found, low=0.3, high=0.9)
    flipped = gate_saturation(found, low=0.3, high=0.9, update="1-z")
    both = gate_saturation(found, low=0.3, high=0.9, update="both")
    assert (z.left[0]["update"].item(), z.right[0]["update"].item()) == (0.5, 0.25)
    # 1 - z is 0.95, 0.75, 0.4, 0.03: not the same shares the other way round
    assert (flipped.left[0]["1 - update"].item(), flipped.right[0]["1 - update"].item()) == (0.25, 0.25)
    assert list(both.left[0]) == ["update", "1 - update"]
    assert both.left[0]["1 - update"].equal(flipped.left[0]["1 - update"])


def test_only_the_update_gate_is_turned_round() -> None:
    found = traced()
    assert gate_saturation(found, update="1-z").left[0]["reset"].equal(gate_saturation(found).left[0]["reset"])


def test_candidates_are_no_gates_even_where_they_happen_to_lie_between_0_and_1() -> None:
    cell = NestedLSTMCell(3, 4, depth=2)
    found = trace(SequenceModel(Recurrent([cell])), torch.rand(2, 3, 3))
    names = {"input", "forget", "output"}
    assert set(gate_saturation(found).left[0]) == names | {f"{name}_1" for name in names}
    with pytest.raises(UsageError, match=r"no gates with values between 0 and 1.*activation_distribution"):
        gate_saturation(traced(nn.RNN, nonlinearity="relu", scale=0.1))


def test_off_axes_counts_units_that_are_often_shut_and_often_open() -> None:
    result = gate_saturation(traced(seed=3))
    for name, share in result.off_axes(0.05)[0].items():
        pairs = zip(result.left[0][name].tolist(), result.right[0][name].tolist(), strict=True)
        assert share == pytest.approx(sum(left > 0.05 and right > 0.05 for left, right in pairs) / 5)


def test_distribution_is_that_of_the_sorted_values() -> None:
    found = traced(nn.LSTM, seed=1)
    result = activation_distribution(found, levels=(0.1,), bins=7)
    assert result.levels == (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
    for kind, series in (("state", found.states), ("gate", found.gates)):
        for name, values in series[0].items():
            assert result.kinds[0][name] == kind
            for unit in range(5):
                ordered = sorted(seen(found, values, unit))
                for index, level in enumerate(result.levels):
                    place = level * (len(ordered) - 1)
                    low = ordered[math.floor(place)]
                    wanted = low + (place % 1) * (ordered[math.ceil(place)] - low)
                    assert float(result.quantiles[0][name][unit, index]) == pytest.approx(wanted)
                assert float(result.range[0][name][unit]) == pytest.approx(ordered[-1] - ordered[0])
                upper, lower = (result.quantile(level)[0][name][unit] for level in (0.75, 0.25))
                assert float(result.iqr[0][name][unit]) == pytest.approx(float(upper - lower))


def test_every_step_falls_into_one_bin_also_at_the_outer_edges() -> None:
    found = by_hand([[0.0, 0.25, 0.3, 1.0, 0.9]], [[True, True, True, True, False]], gate="reset")
    result = activation_distribution(found, bins=4)
    assert result.edges[0]["reset"].tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert result.counts[0]["reset"].tolist() == [[1, 2, 0, 1]]  # a value on an edge belongs to the bin above
    assert result.edges[0]["hidden"].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert result.counts[0]["hidden"].tolist() == [[0, 0, 3, 1]]


def test_bins_reach_as_far_as_a_memory_cell_does() -> None:
    found = by_hand([[3.0, -5.0]], [[True, True]], gate="reset")
    result = activation_distribution(found, bins=2)
    assert result.edges[0]["hidden"].tolist() == [-5, -1, 3]
    assert result.counts[0]["hidden"].tolist() == [[1, 1]]


def test_narrow_is_the_share_of_units_with_a_small_range() -> None:
    result = activation_distribution(traced(scale=1.0))
    widths = result.range[0]["hidden"].tolist()
    assert result.narrow(0.4)[0]["hidden"] == sum(width < 0.4 for width in widths) / 5


def test_a_gate_named_like_a_state_is_not_lost() -> None:
    found = by_hand([[0.2, 0.4]], [[True, True]], gate="hidden")
    assert list(activation_distribution(found).quantiles[0]) == ["hidden", "hidden gate"]


def test_wrong_input_to_saturation_and_distribution_names_the_argument() -> None:
    found = traced()
    with pytest.raises(UsageError, match=r"0 <= low < high <= 1. Got low=0.9, high=0.1"):
        gate_saturation(found, low=0.9, high=0.1)
    with pytest.raises(UsageError, match=r"'update' must be 'z', '1-z' or 'both'. Got 'both ways'"):
        gate_saturation(found, update="both ways")
    with pytest.raises(UsageError, match=r"'trace' must be what rote.trace\(\) returns. Got Tensor"):
        gate_saturation(found.logits)
    with pytest.raises(UsageError, match=r"'levels' must lie between 0 and 1. Got \[5\]"):
        activation_distribution(found, levels=[5])
    with pytest.raises(UsageError, match=r"'bins' must be at least 1. Got 0"):
        activation_distribution(found, bins=0)
    with pytest.raises(UsageError, match=r"'level' must be one of \(0.0, .* Got 0.3"):
        activation_distribution(found).quantile(0.3)
    with pytest.raises(UsageError, match=r"state 'hidden' of layer 0 in 'trace' has NaN"):
        activation_distribution(by_hand([[math.nan]], [[True]]))


def test_weight_map_keeps_rows_and_columns_apart() -> None:
    weight = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -4.0]])
    result = weight_map(weight, rows=["a", "b"], columns=["x", "y", "z"])
    assert result.to_table().rows[1] == ("a", "y", -2.0)
    assert result.to_table().rows[3] == ("b", "x", 0.0)
    assert result.row_strength.tolist() == pytest.approx([3.5 / 3, 7 / 3])
    assert result.column_strength.tolist() == [0.5, 2.5, 2.25]
    weight[0, 0] = 9  # training goes on
    assert result.weight[0, 0] == 1


def test_a_large_weight_map_is_one_image_and_a_small_one_can_be_read_number_by_number() -> None:
    small, large = weight_map(torch.randn(40, 40)).figure(), weight_map(torch.randn(41, 40)).figure()
    assert len(small.data["weights"]) == 40 * 40
    assert len(large.data["weights"]) == 1
    assert large.data["weights"][0]["url"].startswith("data:image/png;base64,")


@pytest.mark.parametrize("shape", [(6, 6), (3, 8), (8, 3), (1, 4)])
def test_graph_degrees_and_polarity_by_loops(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    weight = torch.randn(shape, dtype=torch.double)
    graph = neuron_graph(weight, strongest=0.25)
    entries = sorted(((abs(float(weight[i, j])), i, j) for i in range(shape[0]) for j in range(shape[1])), reverse=True)
    strong = entries[: round(0.25 * len(entries))]
    assert graph.edges.tolist() == [[i, j] for _, i, j in strong]
    assert graph.weights.tolist() == [float(weight[i, j]) for _, i, j in strong]
    assert graph.threshold == strong[-1][0]
    for i in range(shape[0]):
        row = weight[i].tolist()
        assert graph.in_degree[i] == sum(receiver == i for _, receiver, _ in strong)
        signed = sum(row) / sum(map(abs, row))
        assert float(graph.signed_polarity_in[i]) == pytest.approx(signed)
        assert float(graph.polarity_in[i]) == pytest.approx(abs(signed))
    for j in range(shape[1]):
        column = weight[:, j].tolist()
        assert graph.out_degree[j] == sum(sender == j for _, _, sender in strong)
        assert float(graph.signed_polarity_out[j]) == pytest.approx(sum(column) / sum(map(abs, column)))
        assert float(graph.polarity_out[j]) == pytest.approx(abs(float(graph.signed_polarity_out[j])))


def test_graph_row_receives_and_column_sends() -> None:
    weight = torch.zeros(3, 3)
    weight[1] = torch.tensor([2.0, -3.0, 4.0])  # neuron 1 receives from all
    graph = neuron_graph(weight, strongest=1 / 3)
    assert graph.in_degree.tolist() == [0, 3, 0]
    assert graph.out_degree.tolist() == [1, 1, 1]
    assert graph.gini_in == pytest.approx(2 / 3)
    assert graph.gini_out == pytest.approx(0)
    assert math.isnan(float(graph.polarity_in[0]))  # no weights: no polarity
    assert graph.neurons().rows[0][-1] is None


def test_equal_weights_are_taken_from_the_top_left_on_and_zeros_never() -> None:
    graph = neuron_graph(torch.ones(4, 4), strongest=0.3)
    assert graph.edges.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]
    sparse = torch.zeros(4, 4)
    sparse[2, 1] = -1
    assert neuron_graph(sparse, strongest=0.5).edges.tolist() == [[2, 1]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=12).filter(any))
def test_gini_is_the_mean_difference_over_twice_the_mean(amounts: list[int]) -> None:
    n = len(amounts)
    difference = sum(abs(a - b) for a in amounts for b in amounts) / n**2
    assert gini(torch.tensor(amounts)) == pytest.approx(difference / (2 * sum(amounts) / n), abs=1e-12)


def test_wrong_weights_name_the_argument() -> None:
    with pytest.raises(UsageError, match=r"'weight' must be a matrix \[receiver, sender\] of numbers. Got \(4,\)"):
        neuron_graph(torch.ones(4))
    with pytest.raises(UsageError, match=r"'weight' has NaN or infinite values"):
        weight_map(torch.tensor([[1.0, math.nan]]))
    with pytest.raises(UsageError, match=r"All of 'weight' is zero"):
        neuron_graph(torch.zeros(3, 3))
    for share in (0, 1.5, math.nan):
        with pytest.raises(UsageError, match=rf"'strongest' must be a share above 0 and at most 1. Got {share}"):
            neuron_graph(torch.ones(3, 3), strongest=share)
    with pytest.raises(UsageError, match=r"'rows' must be 2 different names. Got 2, 1 different"):
        weight_map(torch.ones(2, 3), rows=["a", "a"])
    with pytest.raises(UsageError, match=r"'senders' must be 3 different names. Got 2"):
        neuron_graph(torch.ones(2, 3), senders=["a", "b"])


def test_results_are_saved_drawn_and_shown(tmp_path: object) -> None:
    found = traced(nn.GRU, bidirectional=True)
    parameter = nn.Parameter(torch.randn(5, 3))  # a weight that wants gradients
    results = [
        gate_saturation(found, update="both"),
        activation_distribution(found),
        weight_map(parameter, rows=list("abcde")),
        neuron_graph(parameter, strongest=0.3, senders=["x", "y", "z"]),
    ]
    for number, result in enumerate(results):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert_survives_saving(result, folder)
        assert_draws(result)
    assert "0.1, above 0.9, 15 steps" in repr(results[0])
    assert "range" in repr(results[1])
    assert repr(results[2]) == "WeightMap(weight[row=5, column=3])"
    assert "4 edges" in repr(results[3])


def test_the_trace_itself_is_drawn_with_the_steps_after_a_row_s_end_left_blank() -> None:
    found = traced(nn.LSTM)
    figure = found.figure()
    drawn = list(figure.data.values())
    assert len(drawn) == 2 * (2 + 4)  # two sequences, two states and four gates
    assert sum(len(rows) for rows in drawn) == 6 * 5 * (6 + 1)
    assert "The first 2 of 4 sequences" in figure.description
    assert_draws(found)


def test_a_decomposition_is_drawn_by_span_with_the_span_s_own_steps_dotted() -> None:
    torch.manual_seed(0)
    model = adapt(recurrent=nn.GRU(3, 4, batch_first=True))
    inside = torch.zeros(2, 2, 5, dtype=torch.bool)
    inside[0, 0, 1:4] = inside[0, 1, [0, 4]] = inside[1, :, 2] = True
    parts = decompose(model, torch.randn(2, 5, 3), inside)
    figure = parts.figure()
    assert [(dot["top"], dot["left"]) for dot in figure.data["spans-0-dots"]] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 0),
        (1, 4),
    ]
    assert {row["row"] for row in figure.data["spans-0"]} == {"1–3", "0, 4"}
    norm = float(parts.relevant[1, 0, 3].norm())
    shown = [row["value"] for row in figure.data["spans-1"] if (row["top"], row["left"]) == (-0.5, 2.5)]
    assert shown == [pytest.approx(norm, rel=1e-4)]
    assert "sequence 1" in assert_draws(parts)
