"""Diagnostic classifiers and functional groups against scikit-learn used by hand and an exhaustive search."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from result_checks import assert_draws, assert_survives_saving
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from threadpoolctl import threadpool_limits

from rote.analyses import Diagnosis, diagnose
from rote.analyses.classifier import random_splits
from rote.analyses.logistic import GrowingClassifiers
from rote.errors import UsageError


def three_classes(samples: int = 240, units: int = 6, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Units 1 and 4 say which class it is, the others are noise. Centered, as ``diagnose`` does first: the solution
    does not depend on it (tested below), but how far a few iterations get does."""
    torch.manual_seed(seed)
    labels = torch.randint(3, (samples,))
    values = torch.randn(samples, units, dtype=torch.double)
    values[:, 1] += 2.0 * (labels == 0)
    values[:, 4] += 3.0 * (labels == 2)
    return values - values.mean(0), labels


def hidden_from_the_first_class() -> tuple[torch.Tensor, torch.Tensor]:
    """Unit 0 tells class 0 from the others; unit 3 tells class 1 from class 2 and says nothing about class 0.
    Units 1 and 2 are weak hints for class 0: the first class's own coefficients rank them before unit 3."""
    torch.manual_seed(0)
    labels = torch.arange(300) % 3
    values = 0.3 * torch.randn(300, 4, dtype=torch.double)
    values[:, 0] += 3.0 * (labels == 0)
    values[:, 1] += 0.4 * (labels == 0)
    values[:, 2] += 0.4 * (labels == 0)
    values[:, 3] += 2.0 * (labels == 1) - 2.0 * (labels == 2)
    return values, labels


def fitted_by_hand(values: np.ndarray, labels: np.ndarray, splits: int, seed: int) -> tuple[list[float], np.ndarray]:
    accuracies, coefficients = [], []
    for training, test in ShuffleSplit(splits, test_size=0.1, random_state=seed).split(values):
        with threadpool_limits(1):  # quicker, on a busy machine by far
            model = LogisticRegression(C=1.0, max_iter=1000).fit(values[training], labels[training])
        accuracies.append(float(np.mean(model.predict(values[test]) == labels[test])))
        coefficients.append(model.coef_)
    return accuracies, np.mean(coefficients, axis=0)


def test_accuracy_is_that_of_scikit_learn_on_samples_it_was_not_trained_on() -> None:
    values, labels = three_classes()
    probe = diagnose(values, labels, splits=4, seed=7)
    accuracies, coefficients = fitted_by_hand(values.numpy(), labels.numpy(), 4, 7)
    assert probe.accuracies.tolist() == pytest.approx(accuracies)
    np.testing.assert_allclose(probe.coefficients.numpy(), coefficients)
    assert probe.accuracy == pytest.approx(np.mean(accuracies))
    assert probe.spread == pytest.approx(np.std(accuracies, ddof=1))
    assert probe.majority == max(np.bincount(labels.numpy())) / len(labels)
    assert diagnose(values, labels, splits=1).spread == 0.0


@pytest.mark.parametrize("ranking", ["corrected", "as_published"])
@pytest.mark.parametrize("share", [0.8, 0.95])
def test_group_is_the_smallest_prefix_that_reaches_its_share(ranking: str, share: float) -> None:
    values, labels = three_classes(seed=3)
    probe = diagnose(values, labels, ranking=ranking, share=share, splits=3)
    full, coefficients = fitted_by_hand(values.numpy(), labels.numpy(), 3, 0)
    weight = np.abs(coefficients).sum(0) if ranking == "corrected" else np.abs(coefficients[0])
    order = sorted(range(6), key=lambda unit: (-weight[unit], unit))
    means = [np.mean(fitted_by_hand(values.numpy()[:, order[:size]], labels.numpy(), 3, 0)[0]) for size in range(1, 7)]
    size = next(size for size, mean in enumerate(means, start=1) if mean >= share * np.mean(full))
    assert probe.order.tolist() == order
    assert list(probe.group) == order[:size]
    assert probe.group_accuracy == pytest.approx(means[size - 1])
    assert probe.curve.mean(1).tolist() == pytest.approx(means[:size])


def test_what_the_values_are_counted_from_does_not_matter() -> None:
    values, labels = three_classes()
    at_zero, elsewhere = diagnose(values, labels), diagnose(values + 5.0, labels)
    torch.testing.assert_close(at_zero.coefficients, elsewhere.coefficients, rtol=1e-8, atol=1e-8)
    assert at_zero.group == elsewhere.group


def test_growing_classifiers_are_those_of_scikit_learn() -> None:
    """Size after size, each from the solution before: the optimum of each, by its loss and its predictions."""
    values, labels = three_classes(samples=400)
    halves = random_splits(labels.numpy(), None, 4, 0.25, 0)
    growing = GrowingClassifiers(labels.numpy(), 3, halves, 0.5, 1000)
    for size in range(1, values.shape[1] + 1):
        accuracies = growing.add(values[:, size - 1].numpy())
        for split, (training, test) in enumerate(halves):
            model = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(values[training, :size], labels[training])
            assert accuracies[split] == pytest.approx(model.score(values[test, :size], labels[test]), abs=0.011)
            found = growing.coefficients[:, split, 1:]
            np.testing.assert_allclose(found, model.coef_, atol=0.01)
    assert growing.unconverged == 0


def test_growing_classifiers_say_when_they_have_not_converged() -> None:
    values, labels = three_classes()
    growing = GrowingClassifiers(labels.numpy(), 3, random_splits(labels.numpy(), None, 4, 0.25, 0), 1.0, limit=1)
    growing.add(values[:, 1].numpy())
    assert growing.unconverged == 4


def test_as_published_ranks_by_the_first_class_only_and_so_needs_more_units() -> None:
    values, labels = hidden_from_the_first_class()
    corrected = diagnose(values, labels)
    published = diagnose(values, labels, ranking="as_published")
    # What the public code does: [class, unit] flattened, then zipped with the unit numbers, which drops the rest.
    flattened = np.abs(corrected.coefficients.numpy().reshape(-1))
    pairs = sorted(zip(np.arange(0, 4), flattened, strict=False), key=lambda pair: pair[1], reverse=True)
    assert published.order.tolist() == [int(unit) for unit, _ in pairs]
    assert published.order.tolist() == [0, *sorted((1, 2), key=lambda unit: -flattened[unit]), 3]
    assert set(corrected.group) == {0, 3}
    assert len(published.group) == 4
    assert published.accuracy == corrected.accuracy == 1.0


def shapley_by_coalitions(weights: np.ndarray, mean: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Of a class's logit, by the definition: what a unit adds to each set of others, which the rest are averaged out
    of; [unit]."""
    units = len(weights)
    found = np.zeros(units)
    for unit in range(units):
        others = [one for one in range(units) if one != unit]
        for size in range(units):
            share = math.factorial(size) * math.factorial(units - size - 1) / math.factorial(units)
            for known in itertools.combinations(others, size):
                without = mean.copy()
                without[list(known)] = sample[list(known)]
                found[unit] += share * weights @ (np.where(np.arange(units) == unit, sample, without) - without)
    return found


def test_shapley_ranks_by_the_mean_size_of_shapley_values_as_defined() -> None:
    values, labels = hidden_from_the_first_class()
    values[:, 2] *= 0.05  # whose weight is no smaller for being scaled down, as far as the penalty lets it
    probe = diagnose(values, labels, splits=2, ranking="shapley")
    by_hand = [
        np.abs([shapley_by_coalitions(weights, values.numpy().mean(0), sample) for sample in values.numpy()]).mean(0)
        for weights in probe.coefficients.numpy()
    ]
    np.testing.assert_allclose(probe.importance.numpy(), np.sum(by_hand, axis=0))
    assert probe.order.tolist() == np.argsort(-np.sum(by_hand, axis=0)).tolist()


def test_without_a_penalty_the_weights_are_those_that_explain_the_labels_best() -> None:
    values, labels = three_classes()
    assert diagnose(values, labels, splits=1).coefficients.abs().sum() < 20
    probe = diagnose(values, labels, splits=1, regularization=math.inf)
    training, _ = next(ShuffleSplit(1, test_size=0.1, random_state=0).split(values))
    logits = values[training].numpy() @ probe.coefficients.numpy().T
    x = torch.cat([values[training], torch.ones(len(training), 1, dtype=torch.double)], 1)
    weights = torch.zeros(3, 7, dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=500, tolerance_grad=1e-9, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(x @ weights.T, labels[training])
        value.backward()
        return value

    optimizer.step(loss)
    best = (x[:, :-1] @ weights[:, :-1].detach().T).numpy()
    np.testing.assert_allclose(logits - logits.mean(1, keepdims=True), best - best.mean(1, keepdims=True), atol=0.02)
    assert probe.unconverged == 0


def test_coefficients_are_averaged_over_the_splits_before_their_absolute_value_is_taken() -> None:
    torch.manual_seed(1)
    values, labels = torch.randn(40, 8, dtype=torch.double), torch.arange(40) % 3
    values -= values.mean(0)
    probe = diagnose(values, labels, splits=6)
    halves = list(ShuffleSplit(6, test_size=0.1, random_state=0).split(values))
    each = [LogisticRegression(C=1.0, max_iter=1000).fit(values[a], labels[a]).coef_ for a, _ in halves]
    np.testing.assert_allclose(probe.importance.numpy(), np.abs(np.mean(each, 0)).sum(0))
    assert not np.allclose(probe.importance.numpy(), np.abs(each).mean(0).sum(0))


def test_two_classes_get_opposite_coefficients_of_one_classifier() -> None:
    values, labels = three_classes()
    two = labels.clamp(max=1)
    probe = diagnose(values, two, splits=1, seed=2)
    training, test = random_splits(two.numpy(), None, 1, 0.1, 2)[0]
    model = LogisticRegression(C=1.0, max_iter=1000).fit(values[training], two[training])
    torch.testing.assert_close(probe.coefficients[0], -probe.coefficients[1])
    logits = values[test] @ probe.coefficients.T + torch.tensor([-model.intercept_[0] / 2, model.intercept_[0] / 2])
    np.testing.assert_allclose(logits.softmax(1).numpy(), model.predict_proba(values[test]))
    assert diagnose(values, two, ranking="as_published").group == diagnose(values, two).group


@pytest.mark.parametrize("classes", [2, 3])
def test_what_is_minimized_is_what_the_mathematics_say_for_two_classes_and_for_more(classes: int) -> None:
    values, labels = three_classes()
    values, labels = values[labels < classes], labels[labels < classes]
    c, double = 0.02, 2.0 if classes == 2 else 1.0
    found = diagnose(values, labels, splits=1, regularization=c, seed=3)
    training = next(ShuffleSplit(1, test_size=0.1, random_state=3).split(values))[0]
    weights = torch.zeros(classes, values.shape[1] + 1, dtype=torch.double, requires_grad=True)  # the last: intercepts
    steps = torch.optim.LBFGS([weights], max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def objective() -> torch.Tensor:
        steps.zero_grad()
        logits = values[training] @ weights[:, :-1].T + weights[:, -1]
        fit = torch.nn.functional.cross_entropy(logits, labels[training], reduction="sum")
        loss = double / 2 * weights[:, :-1].square().sum() + c * fit
        loss.backward()
        return loss

    steps.step(objective)
    torch.testing.assert_close(found.coefficients, weights.detach()[:, :-1], atol=1e-3, rtol=0)
    assert float(found.coefficients.abs().max()) > 0.1


def test_samples_of_a_group_are_never_on_both_sides() -> None:
    groups = np.repeat(np.arange(10), 4)
    target = np.tile([0, 1], 20)
    for training, test in random_splits(target, groups, 20, 0.3, 0):
        assert not set(groups[training]) & set(groups[test])
        assert len(set(groups[test])) == 3
        assert sorted([*training, *test]) == list(range(40))


def test_a_prefix_seen_in_training_is_not_counted_as_understood() -> None:
    """Each prefix has its own state and a label drawn at random: there is nothing to find, only copies to remember."""
    torch.manual_seed(0)
    prefix = torch.arange(240) % 60
    states, labels = torch.randn(60, 80)[prefix], torch.randint(2, (60,))[prefix]
    assert diagnose(states, labels).accuracy > 0.95
    assert diagnose(states, labels, groups=prefix, splits=8).accuracy < 0.7


def test_a_sequence_with_a_mask_is_the_same_as_its_steps_one_by_one() -> None:
    values, labels = three_classes(samples=60)
    mask = torch.rand(12, 5) < 0.7
    batched = diagnose(values.view(12, 5, 6), labels.view(12, 5), mask=mask)
    flat = diagnose(values[mask.flatten()], labels[mask.flatten()])
    assert batched.samples == int(mask.sum())
    assert batched.accuracies.equal(flat.accuracies)
    assert batched.coefficients.equal(flat.coefficients)
    names = [[f"t{int(label)}" for label in row] for row in labels.view(12, 5)]
    hidden = [
        [name if kept else None for name, kept in zip(*pair, strict=True)] for pair in zip(names, mask, strict=True)
    ]
    named = diagnose(values.view(12, 5, 6), hidden, groups=torch.arange(60).view(12, 5))
    assert named.classes == ("t0", "t1", "t2")
    assert named.samples == int(mask.sum())


def test_a_class_that_a_split_never_trains_on_has_no_coefficients_there() -> None:
    values, labels = three_classes(samples=30)
    labels = labels.clamp(max=1)
    _, held_out = random_splits(labels.numpy(), None, 4, 0.1, 0)[0]
    labels[held_out[0]] = -9  # the only one of its class, which is the first: the others must not move up
    probe = diagnose(values, labels, splits=4)
    assert probe.classes == (-9, 0, 1)
    without = diagnose(values, labels, splits=1)
    assert without.coefficients[0].tolist() == [0.0] * 6
    torch.testing.assert_close(without.coefficients[1], -without.coefficients[2])
    assert probe.coefficients[0].abs().sum() > 0  # the other splits have it


def test_error_is_the_gradient_of_the_loss_where_the_classifier_stopped() -> None:
    values, labels = three_classes(samples=50)
    probe = diagnose(values, labels, splits=1, iterations=3, regularization=0.2)
    training, _ = random_splits(labels.numpy(), None, 1, 0.1, 0)[0]
    with pytest.warns(match="lbfgs failed to converge"):
        model = LogisticRegression(C=0.2, max_iter=3).fit(values[training], labels[training])

    weights = torch.tensor(np.concatenate([model.coef_, model.intercept_[:, None]], 1), requires_grad=True)
    logits = values[training] @ weights[:, :-1].T + weights[:, -1]
    loss = torch.nn.functional.cross_entropy(logits, labels[training]) + (weights[:, :-1] ** 2).sum() / (
        2 * 0.2 * len(training)
    )
    loss.backward()
    assert weights.grad is not None
    assert probe.error == pytest.approx(float(weights.grad.abs().max()))
    assert probe.unconverged == probe.fits
    good = diagnose(values, labels, splits=1, regularization=0.2)
    assert good.error < 1e-4 < probe.error
    assert good.unconverged == 0
    assert good.fits == 1 + len(good.group)


def test_error_with_two_classes_is_that_of_the_binary_loss() -> None:
    values, labels = three_classes(samples=50)
    assert diagnose(values, labels.clamp(max=1)).error < 1e-4
    assert diagnose(values, labels.clamp(max=1), iterations=1).error > 1e-3


def test_published_solver_is_there_and_says_that_it_has_not_converged() -> None:
    values, labels = three_classes(samples=90)
    probe = diagnose(100 * values, labels, ranking="as_published", solver="saga", iterations=5, splits=2)
    assert probe.unconverged > 0
    again = diagnose(100 * values, labels, ranking="as_published", solver="saga", iterations=5, splits=2)
    assert probe.accuracies.equal(again.accuracies)


def test_group_of_all_units_is_the_classifier_that_set_the_target() -> None:
    torch.manual_seed(0)
    values = torch.rand(300, 3, dtype=torch.double) - 0.5
    probe = diagnose(values, (values.sum(1) > 0).long(), share=1.0, regularization=1000.0)
    assert len(probe.group) == 3  # the label is the sign of their sum: no two of them are as good
    assert probe.curve[-1].equal(probe.accuracies)
    assert probe.fits == 5 * 3  # not fitted again


def test_a_unit_that_just_reaches_the_target_is_enough() -> None:
    torch.manual_seed(0)
    labels = torch.arange(60) % 2
    values = torch.cat([4.0 * labels[:, None] - 2, 0.1 * torch.randn(60, 3)], dim=1)
    probe = diagnose(values, labels, share=1.0)
    assert probe.accuracy == probe.group_accuracy == 1.0
    assert probe.group == (0,)


def test_the_same_seed_gives_the_same_result_and_another_one_does_not() -> None:
    values, labels = three_classes()
    first, again, other = (diagnose(values, labels, seed=seed) for seed in (1, 1, 2))
    for name in ("accuracies", "curve", "coefficients", "order", "gradients"):
        assert getattr(first, name).equal(getattr(again, name))
    assert not first.coefficients.equal(other.coefficients)
    state = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    diagnose(values, labels)
    assert torch.random.get_rng_state().equal(state[0])
    assert (np.random.get_state()[1] == state[1]).all()


def test_wrong_input_names_the_argument() -> None:
    values, labels = three_classes(samples=20)
    with pytest.raises(
        UsageError, match=r"'labels' as a tensor must be whole numbers of shape \(20,\).*Got torch.int64 \(19,\)"
    ):
        diagnose(values, labels[:19])
    with pytest.raises(UsageError, match=r"'labels' must have one name per position: 20 in row 0. Got 19"):
        diagnose(values, labels[:19].tolist())
    with pytest.raises(UsageError, match=r"'labels' as a tensor must be whole numbers.*Got torch.float64"):
        diagnose(values, values[:, 0])
    with pytest.raises(UsageError, match=r"at least two classes to tell apart. Got only 5"):
        diagnose(values, torch.full((20,), 5))
    with pytest.raises(UsageError, match=r"'groups' as a tensor must be whole numbers of shape \(20,\)"):
        diagnose(values, labels, groups=labels[:3])
    with pytest.raises(UsageError, match=r"A split needs a group on each side. Got 1 group\."):
        diagnose(values, labels, groups=[1] * 20)
    with pytest.raises(UsageError, match=r"Each sample needs one of 'groups'. Got None"):
        diagnose(values, labels, groups=[None, *range(19)])
    with pytest.raises(UsageError, match=r"left one class only to train on.*finer groups"):
        diagnose(values, labels.clamp(max=1), groups=labels.clamp(max=1))
    spoiled = values.clone()
    spoiled[3, 2] = math.nan
    with pytest.raises(UsageError, match=r"'activations' has NaN or infinite values"):
        diagnose(spoiled, labels)
    with pytest.raises(UsageError, match=r"'activations' must be numbers \[sample, unit\].*Got \(20,\)"):
        diagnose(values[:, 0], labels)
    with pytest.raises(UsageError, match=r"'mask' must be bool of shape \(20,\). Got torch.bool \(19,\)"):
        diagnose(values, labels, mask=torch.ones(19, dtype=torch.bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranking": "correct"}, r"'ranking' must be 'corrected', 'as_published' or 'shapley'. Got 'correct'"),
        ({"solver": "sgd"}, r"'solver' must be 'lbfgs' or 'saga'. Got 'sgd'"),
        ({"share": 1.5}, r"'share' must be above 0 and at most 1. Got 1.5"),
        ({"test_share": 1.0}, r"'test_share' must lie between 0 and 1. Got 1.0"),
        ({"splits": 0}, r"'splits' and 'iterations' must be at least 1 and 'regularization' above 0. Got 0, 1000"),
        ({"regularization": math.nan}, r"'regularization' above 0. Got 5, 1000 and nan"),
    ],
)
def test_wrong_options_say_what_is_expected(options: dict[str, object], message: str) -> None:
    values, labels = three_classes(samples=20)
    with pytest.raises(UsageError, match=message):
        diagnose(values, labels, **options)


@pytest.mark.parametrize("named", [False, True])
def test_result_is_saved_drawn_and_shown(tmp_path: Path, named: bool) -> None:
    values, labels = three_classes(samples=80)
    probe = diagnose(values, [f"t{int(label)}" for label in labels] if named else labels)
    assert isinstance(probe, Diagnosis)
    assert_survives_saving(probe, tmp_path)
    drawn = assert_draws(probe)
    assert "majority" in drawn
    table = probe.to_table()
    assert table.column("added")[:-1] == list(probe.group)
    assert table.column("units")[-1] == 6
    assert table.column("accuracy")[-1] == probe.accuracy
    assert all(a >= b for a, b in itertools.pairwise(table.column("importance")[:-1]))
    assert f"accuracy {probe.accuracy:.3f}" in repr(probe)
