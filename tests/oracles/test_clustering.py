"""Cluster trees against hand-made examples, loops over the definitions, and scipy."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from result_checks import assert_draws, assert_survives_saving
from scipy.cluster import hierarchy
from torch import nn

from rote.analyses import ClusterTree, Trace, cluster, trace
from rote.errors import UnknownNameError, UsageError
from rote.models import adapt


def traced(lengths: list[int] | None = None, **options: object) -> tuple[Trace, torch.Tensor]:
    torch.manual_seed(0)
    module = nn.LSTM(4, 5, batch_first=True, **options).double()
    tokens = torch.randint(6, (5, 7))
    return trace(adapt(recurrent=module, embedding=nn.Embedding(6, 4).double()), tokens, lengths=lengths), tokens


def joined_by_loops(points: list[list[float]]) -> list[tuple[frozenset[int], float]]:
    """Average linkage from its definition: join the two groups whose members' mean distance is smallest."""
    groups = [frozenset([index]) for index in range(len(points))]
    merges = []
    while len(groups) > 1:

        def apart(pair: tuple[frozenset[int], frozenset[int]]) -> float:
            distances = [math.dist(points[a], points[b]) for a in pair[0] for b in pair[1]]
            return sum(distances) / len(distances)

        nearest = min(itertools.combinations(groups, 2), key=apart)
        merges.append((nearest[0] | nearest[1], apart(nearest)))
        groups = [group for group in groups if group not in nearest] + [nearest[0] | nearest[1]]
    return merges


def line(*places: float) -> torch.Tensor:
    return torch.tensor([[place] for place in places], dtype=torch.double)


def test_means_leave_out_padding_which_would_pull_the_padding_token_to_zero() -> None:
    lengths = [7, 2, 5, 1, 4]
    found, tokens = traced(lengths)
    tree = cluster(found, tokens)
    for index, name in enumerate(tree.names):
        members = [
            found.hidden[0][b, t] for b in range(5) for t in range(7) if t < lengths[b] and int(tokens[b, t]) == name
        ]
        assert int(tree.counts[index]) == len(members)
        torch.testing.assert_close(tree.means[index], torch.stack(members).mean(0))
    assert int(tree.counts.sum()) == sum(lengths)


def test_names_may_be_ragged_lists_and_none_leaves_a_position_out() -> None:
    lengths = [7, 2, 5, 1, 4]
    found, tokens = traced(lengths)
    words = [[f"w{int(token)}" for token in row[:length]] for row, length in zip(tokens, lengths, strict=True)]
    ragged = cluster(found, words)
    assert ragged.names == tuple(f"w{name}" for name in cluster(found, tokens).names)
    assert ragged.means.equal(cluster(found, tokens).means)
    padded = [[*row, *["pad"] * (7 - len(row))] for row in words]
    assert cluster(found, padded).names == ragged.names
    without = [[None if word == "w3" else word for word in row] for row in words]
    assert cluster(found, without).names == tuple(name for name in ragged.names if name != "w3")


def test_layer_and_state_that_are_asked_for_are_the_ones_that_are_averaged() -> None:
    found, tokens = traced(num_layers=2)
    at = tokens == 2
    place = cluster(found, tokens).names.index(2)
    for layer, state, values in (
        (-1, "hidden", found.hidden[1]),
        (0, "hidden", found.hidden[0]),
        (1, "cell", found.cell[1]),
    ):
        means = cluster(found, tokens, layer=layer, state=state).means
        torch.testing.assert_close(means[place], values[at].mean(0))
    both, tokens = traced(bidirectional=True)
    means = cluster(both, tokens).means
    assert means.shape[1] == 10
    torch.testing.assert_close(cluster(both, tokens, layer=(0, 1)).means, means[:, 5:])


def test_cophenetic_correlation_of_a_small_tree_by_hand() -> None:
    tree = cluster(line(0, 1, 3), ["a", "b", "c"])
    # a and b meet at 1; c joins them at (3 + 2) / 2. In the tree 1, 2.5, 2.5; in truth 1, 3, 2.
    assert tree.merges[:, 2].tolist() == [1, 2.5]
    assert tree.cophenetic == pytest.approx(1.5 / math.sqrt(1.5 * 2))


def test_a_tree_that_shows_all_distances_has_correlation_one_also_where_pearson_is_undefined() -> None:
    assert cluster(line(0, 2), ["a", "b"]).cophenetic == 1.0
    triangle = torch.eye(3, dtype=torch.double)
    assert cluster(triangle, ["a", "b", "c"]).cophenetic == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_average_linkage_by_loops(seed: int) -> None:
    torch.manual_seed(seed)
    points = torch.randn(7, 3, dtype=torch.double)
    tree = cluster(points, list(range(7)))
    wanted = joined_by_loops(points.tolist())
    for group, height, (members, distance) in zip(tree.groups[7:], tree.merges[:, 2].tolist(), wanted, strict=True):
        assert group == members
        assert height == pytest.approx(distance)


@pytest.mark.parametrize("method", ["ward", "centroid", "median", "single", "complete", "weighted"])
def test_other_linkages_are_scipys_on_the_means_themselves(method: str) -> None:
    torch.manual_seed(2)
    points = torch.randn(6, 3, dtype=torch.double)
    merges = cluster(points, list("abcdef"), method=method).merges
    np.testing.assert_allclose(merges.numpy(), hierarchy.linkage(points.numpy(), method))


def test_metric_is_the_one_that_is_asked_for() -> None:
    points = torch.tensor([[1.0, 0.0], [9.0, 1.0], [0.0, 2.0]])
    assert cluster(points, ["a", "b", "c"]).contains_group(["a", "c"])
    assert cluster(points, ["a", "b", "c"], metric="cosine").contains_group(["a", "b"])


def test_contains_group_is_true_for_exact_subtrees_only() -> None:
    names = list("abcde")
    tree = cluster(line(0, 1, 10, 12, 40), names)
    subtrees = {frozenset("ab"), frozenset("cd"), frozenset("abcd"), frozenset("abcde"), *map(frozenset, names)}
    for size in range(1, 6):
        for group in itertools.combinations(names, size):
            assert tree.contains_group(group) == (frozenset(group) in subtrees), group
    assert tree.nearest_group("ace") == (frozenset("abcde"), pytest.approx(3 / 5))
    assert tree.nearest_group("ab") == (frozenset("ab"), 1.0)


def test_subtrees_stand_beside_each_other_in_the_leaf_order() -> None:
    torch.manual_seed(4)
    tree = cluster(torch.randn(12, 4), [f"n{i}" for i in range(12)])
    assert sorted(tree.leaves) == sorted(tree.names)
    for group in tree.groups:
        places = sorted(tree.leaves.index(name) for name in group)
        assert places[-1] - places[0] == len(group) - 1


def test_table_holds_the_whole_tree() -> None:
    tree = cluster(line(0, 1, 10), ["a", "b", "c"])
    records = tree.to_table().records()
    assert [row["name"] for row in records] == ["a", "b", "c", None, None]
    assert (records[3]["left"], records[3]["right"], records[3]["size"]) == (0, 1, 2)
    places = {row["node"]: row["position"] for row in records}
    for row in records[3:]:
        assert row["position"] == (places[row["left"]] + places[row["right"]]) / 2


def test_vectors_in_place_of_a_trace_give_the_same_tree() -> None:
    found, tokens = traced([7, 2, 5, 1, 4])
    tree = cluster(found.hidden[0], tokens, mask=found.mask)
    assert tree.merges.equal(cluster(found, tokens).merges)
    only = cluster(found, tokens, mask=torch.arange(7).expand(5, 7) < 2)
    assert int(only.counts.sum()) == 9  # inside both masks


def test_wrong_input_names_the_argument() -> None:
    found, tokens = traced([7, 2, 5, 1, 4])
    with pytest.raises(
        UsageError, match=r"'labels' as a tensor must be whole numbers of shape \(5, 7\).*Got torch.int64 \(5, 6\)"
    ):
        cluster(found, tokens[:, :6])
    with pytest.raises(UsageError, match=r"'labels' must hold 5 sequences of names, one per row. Got 4"):
        cluster(found, [["a"] * 7] * 4)
    with pytest.raises(UsageError, match=r"one name per position: 7 \(or 2, without the padding\) in row 1. Got 3"):
        cluster(found, [["a"] * 7, ["a"] * 3, *[["a"] * 7] * 3])
    with pytest.raises(UsageError, match=r"at least two different names to join. Got only 4"):
        cluster(found, torch.full((5, 7), 4))
    with pytest.raises(UsageError, match=r"'labels' are texts or whole numbers \(None: left out\). Got 0.5"):
        cluster(line(0, 1), [0.5, 1])
    with pytest.raises(UsageError, match=r"No position has a label"):
        cluster(line(0, 1), [None, None])
    with pytest.raises(UsageError, match=r"'trace' has NaN or infinite values"):
        cluster(line(0, math.nan), ["a", "b"])
    with pytest.raises(UsageError, match=r"'trace' must be what rote.trace\(\) returns, or a tensor. Got list"):
        cluster([[0.0]], ["a"])
    with pytest.raises(UsageError, match=r"'layer' must be one of 0. Got 1"):
        cluster(found, tokens, layer=1)
    with pytest.raises(UnknownNameError, match=r"Unknown state 'cel' of layer 0. Did you mean 'cell'"):
        cluster(found, tokens, state="cel")
    with pytest.raises(UnknownNameError, match=r"Unknown method 'wards' of cluster\(\). Did you mean 'ward'"):
        cluster(found, tokens, method="wards")
    with pytest.raises(UnknownNameError, match=r"Unknown metric 'euclidian' of cluster\(\). Did you mean 'euclidean'"):
        cluster(found, tokens, metric="euclidian")
    with pytest.raises(UsageError, match=r"method 'ward' is defined for the metric 'euclidean' only. Got 'cosine'"):
        cluster(found, tokens, method="ward", metric="cosine")
    with pytest.raises(UsageError, match=r"metric 'cosine' is undefined for a mean state that is zero"):
        cluster(torch.zeros(2, 3), ["a", "b"], metric="cosine")
    with pytest.raises(UnknownNameError, match=r"Unknown label 'cat' in the tree. Did you mean 'cats'"):
        cluster(line(0, 1), ["cats", "dogs"]).contains_group(["cat"])
    with pytest.raises(UsageError, match=r"at least one of the tree's names"):
        cluster(line(0, 1), ["cats", "dogs"]).contains_group([])


@pytest.mark.parametrize("names", [["man", "cat", "rock", "eat"], [3, 1, 4, 2]])
def test_result_is_saved_drawn_and_the_same_each_time(tmp_path: Path, names: list[str] | list[int]) -> None:
    torch.manual_seed(5)
    points = torch.randn(4, 3)
    tree = cluster(points, names)
    assert isinstance(tree, ClusterTree)
    assert tree.merges.equal(cluster(points, names).merges)
    assert_survives_saving(tree, tmp_path)
    drawn = assert_draws(tree)
    assert all(f">{name}</text>" in drawn for name in names)
    assert "4 labels" in repr(tree)
