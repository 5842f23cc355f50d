"""Information that input components give about a prediction, against closed forms and brute force, in float64."""

from __future__ import annotations

import contextlib
import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from result_checks import assert_draws, assert_survives_saving
from torch import Tensor, nn

import rote
from rote.analyses import Information, information
from rote.analyses.dependence import crossed
from rote.errors import UsageError
from rote.models import CNNConfig
from rote.recipes import Trained
from rote.store import FinishedRun, Store
from rote.studies.resistance import digits_training
from rote.studies.resistance.digits import DigitsMeasurement, DigitsRecipe, training
from rote.studies.resistance.digits_training import DigitsProgram
from rote.studies.resistance.information import InformationRecipe
from rote.studies.resistance.information_training import InformedProgram
from rote.tasks.plane import PlaneTask
from rote.testing import check_analysis
from rote.training import TrainingConfig

F64 = torch.float64


def entropy(p: np.ndarray) -> float:
    return float(-sum(value * math.log2(value) for value in p.ravel() if value > 0))


def by_counting(p: np.ndarray) -> dict[str, Any]:
    """From the joint distribution of (x1, x2, y), x1 and x2 uniform: sums of p log p over its marginals."""
    joint = p / (p.shape[0] * p.shape[1])
    h = {"": entropy(joint), "1y": entropy(joint.sum(1)), "2y": entropy(joint.sum(0)), "y": entropy(joint.sum((0, 1)))}
    n1, n2 = math.log2(p.shape[0]), math.log2(p.shape[1])
    return {
        "alone": [n1 + h["y"] - h["1y"], n2 + h["y"] - h["2y"]],
        "given": [h["2y"] + n1 - h[""], h["1y"] + n2 - h[""]],
        "total": n1 + n2 + h["y"] - h[""],
    }


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(2, 6), st.integers(2, 4))
@settings(max_examples=30)
def test_crossed_is_the_definition_by_joint_entropies(seed: int, n1: int, n2: int, classes: int) -> None:
    p = np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), (n1, n2))
    found, expected = crossed(torch.from_numpy(p)), by_counting(p)
    assert found.alone.tolist() == pytest.approx(expected["alone"], abs=1e-9)
    assert found.given.tolist() == pytest.approx(expected["given"], abs=1e-9)
    assert float(found.total) == pytest.approx(expected["total"], abs=1e-9)
    chain = found.alone + found.given.flip(0)
    assert chain.tolist() == pytest.approx([float(found.total)] * 2, abs=1e-12)


def test_crossed_takes_many_models_at_once_and_any_number_of_components() -> None:
    p = torch.rand(3, 4, 5, 6, 2, dtype=F64).softmax(-1)
    for components in (1, 2, 3):
        together = crossed(p, components)
        lead = p.shape[: 4 - components]
        assert together.alone.shape == (*lead, components)
        for index in np.ndindex(*lead):
            alone = crossed(p[index], components)
            for name in ("alone", "given", "alone_bias", "given_bias", "total"):
                torch.testing.assert_close(getattr(together, name)[index], getattr(alone, name))
    one = crossed(p[0, 0, 0], 1)
    torch.testing.assert_close(one.alone, one.given)


def logits_of(weight: list[list[float]]) -> Any:
    matrix = torch.tensor(weight, dtype=F64)
    return lambda x1, x2: torch.cat([x1, x2], -1) @ matrix


def test_known_cases_of_hard_labels() -> None:
    bit = torch.tensor([[-1.0], [1.0]], dtype=F64)
    copy = information((bit, bit), lambda x1, x2: torch.cat([-x1, x1], -1), hard=True)
    assert copy.alone.tolist() == [1.0, 0.0]
    assert copy.given.tolist() == [1.0, 0.0]
    xor = information((bit, bit), lambda x1, x2: torch.cat([x1 * x2, -x1 * x2], -1), hard=True)
    assert xor.alone.tolist() == [0.0, 0.0]
    assert xor.given.tolist() == [1.0, 1.0]
    both = information((bit, bit), lambda x1, x2: (x1 > 0)[:, 0].long() + 2 * (x2 > 0)[:, 0].long())
    assert both.alone.tolist() == [1.0, 1.0]
    assert both.total == 2.0
    assert both.gradient.isnan().all()


def test_a_component_that_the_model_ignores_gives_exactly_nothing() -> None:
    """A floor above zero would be read as a dependence."""
    x = torch.randn(20, 1, dtype=F64)
    info = information((x, torch.randn(30, 4, dtype=F64)), lambda x1, x2: torch.cat([x1, x1**2], -1))
    assert info.given[1] == pytest.approx(0.0, abs=1e-14)
    assert info.alone[1] == pytest.approx(0.0, abs=1e-14)
    assert info.gradient[1] == 0.0
    assert info.given_error[1] == pytest.approx(0.0, abs=1e-14)


def test_soft_predictions_of_a_threshold_have_the_information_of_the_channel() -> None:
    """Class 1 with probability 0.9 where x1 > 0, else 0.1: a binary symmetric channel, 1 - H(0.1) bits."""
    x = torch.linspace(-1, 1, 40, dtype=F64)[:, None]
    odds = math.log(9.0) / 2
    info = information((x, x), lambda x1, x2: torch.cat([-odds * x1.sign(), odds * x1.sign()], -1))
    assert float(info.alone[0]) == pytest.approx(1 - entropy(np.array([0.1, 0.9])))


def population(kind: str) -> tuple[Tensor, Tensor]:
    """Many values of each component, and the class probabilities of every pair: what a small sample stands for."""
    random = torch.Generator().manual_seed(0)
    x1, x2 = (torch.randn(400, generator=random, dtype=F64) for _ in range(2))
    score = 1.5 * x1[:, None] + 0.8 * x2[None] + 0.7 * x1[:, None] * x2[None]
    p = torch.stack([score, -score, 0.5 * score**2 - 1], -1)
    return p.softmax(-1), torch.nn.functional.one_hot(p.argmax(-1), 3).double()


@pytest.mark.parametrize("kind", ["soft", "hard"])
@pytest.mark.parametrize("size", [8, 16])
def test_the_stated_bias_of_a_small_crossed_sample_is_its_bias(kind: str, size: int) -> None:
    """Simulated: what samples of a few values give on average, less what all values give."""
    p = population(kind)[kind == "hard"]
    truth = crossed(p)
    random = np.random.default_rng(1)
    estimates, stated = [], []
    for _ in range(600):
        rows, columns = (torch.from_numpy(random.choice(400, size, replace=False)) for _ in range(2))
        found = crossed(p[rows][:, columns])
        estimates.append(torch.cat([found.alone, found.given]))
        stated.append(torch.cat([found.alone_bias, found.given_bias]))
    bias = torch.stack(estimates).mean(0) - torch.cat([truth.alone, truth.given])
    said = torch.stack(stated).mean(0)
    noise = torch.stack(estimates).std(0) / 600**0.5
    given = slice(2, 4)
    assert (bias[given] < -4 * noise[given]).all()  # there is a bias to state
    # First order: what is left is at most a third of the largest bias at 8 values, a quarter at 16.
    allowed = said.abs().max() * (1 / 3 if size == 8 else 1 / 4) + 4 * noise
    assert ((bias - said).abs() < allowed).all(), (bias, said, noise)


def test_gradients_are_those_of_finite_differences() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
    x1, x2 = torch.randn(4, 2, dtype=F64), torch.randn(3, 3, dtype=F64)

    def ask(a: Tensor, b: Tensor) -> Tensor:
        return model(torch.cat([a, b], -1))

    info = information((x1, x2), ask, gradients=1000)
    norms = torch.zeros(2)
    step = 1e-6
    with torch.no_grad():
        for a in x1:
            for b in x2:
                for component, size in ((0, 2), (1, 3)):
                    square = 0.0
                    for entry in range(size):
                        moved = [a.clone(), b.clone()]
                        moved[component][entry] += step
                        change = ask(moved[0][None], moved[1][None]) - ask(a[None], b[None])
                        square += float((change / step).square().sum())
                    norms[component] += square**0.5 / 12
    assert info.gradient.tolist() == pytest.approx(norms.tolist(), rel=1e-4)
    few = information((x1, x2), ask, gradients=5)
    assert few.gradient.tolist() != info.gradient.tolist()
    assert information((x1, x2), ask, gradients=0).gradient.isnan().all()
    with torch.no_grad():
        assert information((x1, x2), ask, gradients=5).gradient.tolist() == few.gradient.tolist()


def test_whole_number_components_have_no_gradient_but_the_others_do() -> None:
    embedding = nn.Embedding(3, 2)
    info = information((torch.arange(3), torch.randn(4, 2)), lambda word, x: embedding(word) * x)
    assert info.gradient[0].isnan()
    assert info.gradient[1] > 0


# --- from samples alone ------------------------------------------------------------------------------------------


def gaussian(seed: int, samples: int = 1000) -> tuple[Tensor, Tensor, Tensor]:
    random = np.random.default_rng(seed)
    x, z, e = (torch.from_numpy(values) for values in random.standard_normal((3, samples, 1)))
    return x, z, x + 0.5 * z + e


def averaged(make: Any, repeats: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    found = [information(*make(seed)) for seed in range(1000, 1000 + repeats)]
    bits = torch.stack([torch.cat([info.alone, info.given]) for info in found])
    errors = torch.stack([torch.cat([info.alone_error, info.given_error]) for info in found])
    return bits.mean(0), bits.std(0), errors.mean(0)


def test_nearest_neighbors_on_gaussian_variables() -> None:
    """Counting a point as its own neighbor takes 0.3 bits off; inclusive counts add 0.04 to 0.07."""

    def make(seed: int) -> Any:
        x, z, y = gaussian(seed)
        return (x, z), y

    bits, spread, error = averaged(make)
    exact = [0.5 * math.log2(1 + 1 / 1.25), 0.5 * math.log2(1 + 0.25 / 2), 0.5, 0.5 * math.log2(1.25)]
    assert bits.tolist() == pytest.approx(exact, abs=0.035)
    assert (spread < 2.5 * error).all()
    assert (spread > error / 2.5).all()


def test_nearest_neighbors_of_independent_variables_give_nothing() -> None:
    def make(seed: int) -> Any:
        x, z, _ = gaussian(seed)
        return (x, z), torch.from_numpy(np.random.default_rng(100 + seed).standard_normal((1000, 1)))

    bits, _, _ = averaged(make)
    assert bits.tolist() == pytest.approx([0.0] * 4, abs=0.02)


def test_nearest_neighbors_with_labels() -> None:
    """The class is the sign of the first component. What is missing of the full bit is the stated low bias."""

    def make(seed: int) -> Any:
        x, z, _ = gaussian(seed)
        return (x, z), (x[:, 0] > 0).long()

    bits, _, _ = averaged(make)
    assert bits[[1, 3]].tolist() == pytest.approx([0.0, 0.0], abs=0.02)
    assert 0.99 < bits[0] <= 1.001
    assert 0.93 < bits[2] <= 1.001


def test_nearest_neighbors_of_labels_alone_are_counts() -> None:
    random = np.random.default_rng(0)
    x, z = (torch.from_numpy(random.integers(0, 3, 4000)) for _ in range(2))
    noise = torch.from_numpy(random.integers(0, 2, 4000))
    y = (x + noise) % 3
    info = information((x, z), y)
    table = np.zeros((3, 3))
    np.add.at(table, (x.numpy(), y.numpy()), 1 / 4000)
    counted = entropy(table.sum(0)) + entropy(table.sum(1)) - entropy(table)
    assert info.alone[0] == pytest.approx(counted, abs=0.005)
    assert info.given[0] == pytest.approx(math.log2(3) - 1, abs=0.01)
    assert info.given[1] == pytest.approx(0.0, abs=0.01)


def test_both_estimators_agree_where_both_can_be_used() -> None:
    """Independent uniform components, soft labels drawn from the model's probabilities."""
    random = np.random.default_rng(0)
    x1, x2 = torch.from_numpy(random.uniform(-1, 1, (2, 3000, 1)))
    ask = logits_of([[3.0, -3.0], [1.0, -1.0]])
    drawn = torch.from_numpy(random.random(3000)) < ask(x1, x2).softmax(-1)[:, 1]
    seen, free = information((x1, x2), drawn.long()), information((x1[:60], x2[:60]), ask)
    assert seen.estimator == "knn"
    assert free.estimator == "crossed"
    assert seen.alone.tolist() == pytest.approx(free.alone.tolist(), abs=0.03)
    assert seen.given.tolist() == pytest.approx(free.given.tolist(), abs=0.04)


# --- in the studies ----------------------------------------------------------------------------------------------


def informed(setting: str, outputs: int, seeds: range = range(2)) -> InformedProgram:
    settings = TrainingConfig(batch=10, learning_rate=0.1, dtype="float64")
    program = InformationRecipe(PlaneTask(setting), training=settings, outputs=outputs).program(seeds, "cpu")
    optimizer = settings.make_optimizer(program.model.parameters())
    for step in range(60):
        optimizer.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
    return program


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_planes_numbers_are_those_of_the_analysis_network_by_network(outputs: int) -> None:
    """An axis or an output taken for another in the stacked computation would show here."""
    program = informed("redundant", outputs)
    with torch.no_grad():
        row = program.information(12)
    axis = (torch.arange(12, dtype=F64)[:, None] + 0.5) / 6 - 1
    for replica in range(2):

        def ask(x1: Tensor, x2: Tensor, output: int, which: int = replica) -> Tensor:
            points = torch.cat([x1, x2], -1).expand(2, -1, -1)
            return program.model(points)[which, :, 2 * output : 2 * output + 2]

        found = [
            information((axis, axis), functools.partial(ask, output=output), gradients=0) for output in range(outputs)
        ]
        own = np.mean([float(info.given[output]) for output, info in enumerate(found)])
        other = np.mean([float(info.given[1 - output]) for output, info in enumerate(found)])
        assert row["own_given"][replica] == pytest.approx(own, abs=1e-12)
        assert row["other_given"][replica] == pytest.approx(other, abs=1e-12)
        for output, name in enumerate(("first_given", "second_given")[:outputs]):
            assert row[name][replica] == pytest.approx(float(found[output].given[1 - output]), abs=1e-12)


@pytest.mark.parametrize("factor", [0.0, 0.01, 1.0])
def test_information_about_an_input_is_there_where_the_derivative_is(factor: float) -> None:
    """Proposition 1 of source 001, on networks whose weights from X2 are made smaller or zero: the information from
    joint entropies, the derivative from finite differences."""
    program = informed("redundant", 1)
    axis = (torch.arange(12, dtype=F64) + 0.5) / 6 - 1
    points, step = torch.cartesian_prod(axis, axis), torch.tensor([0.0, 1e-7], dtype=F64)
    with torch.no_grad():
        program.model.weights[0][:, 1] *= factor
        row = program.information(12)
        logits, moved = (program.model(where.expand(2, -1, -1)) for where in (points, points + step))
    derivative = ((moved - logits).diff(dim=-1).abs() / 1e-7).mean((1, 2))
    for replica in range(2):
        p = logits[replica].softmax(-1).reshape(12, 12, 2).numpy()
        assert row["other_given"][replica] == pytest.approx(by_counting(p)["given"][1], abs=1e-12)
        assert row["other_gradient"][replica] == pytest.approx(float(derivative[replica]), rel=1e-3, abs=1e-12)
        assert row["own_given"][replica] > 0.01
        assert (row["other_given"][replica] > 1e-10) == (row["other_gradient"][replica] > 1e-10) == (factor > 0)


def test_information_about_the_class_is_counted_from_the_joint_distribution() -> None:
    program = informed("redundant", 1)
    with torch.no_grad():
        row, p = program.information(12), program.model(program.seen[0]).softmax(-1).numpy()
    label = program.seen[1][0].numpy()
    for replica in range(2):
        joint = np.array([p[replica][label == y].sum(0) for y in (0, 1)]) / len(label)
        classes = entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint)
        inputs = entropy(joint.sum(0)) - np.mean([entropy(point) for point in p[replica]])
        assert row["class"][replica] == pytest.approx(classes, abs=1e-12)
        assert row["input"][replica] == pytest.approx(inputs, abs=1e-12)
        assert row["input"][replica] >= row["class"][replica]


def test_digit_pairs_taken_up_after_a_failure_end_with_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout draws from torch's random state; the information is measured on weights that must have been kept."""
    monkeypatch.setenv("ROTE_CHECKPOINT_SECONDS", "0")
    recipe = DigitsRecipe(
        model=CNNConfig(dropout=0.5), training=replace(training(), steps=6, record_every=1), evaluated=40
    )
    (job,) = recipe.jobs((3,))

    class Fails(DigitsProgram):
        def losses(self, step: int) -> Tensor:
            if step == 4:
                raise RuntimeError("killed")
            return super().losses(step)

    found = {}
    for name, programs in {"whole": [DigitsProgram], "resumed": [Fails, DigitsProgram]}.items():
        store = Store(tmp_path / name)
        for program in programs:
            monkeypatch.setattr(digits_training, "DigitsProgram", program)
            with contextlib.suppress(RuntimeError), store.open(job.request) as run:
                recipe.fit((), run, lambda done, total: None, "cpu")
                run.finish([])
        trained = Trained(FinishedRun(store.folder(job.request)))
        found[name] = digits_training.measured(DigitsMeasurement(1, 8), trained, lambda done, total: None, "cpu")
    assert len(found["whole"].rows) == 7
    assert found["whole"].records()[-1]["right_given"] is not None
    assert found["resumed"] == found["whole"]


# --- what every analysis keeps -----------------------------------------------------------------------------------


def test_the_model_is_left_as_it_was_and_the_result_is_labelled(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).train()
    x = (torch.randn(5, 1), torch.randn(6, 2))

    def run(network: nn.Module) -> Information:
        return rote.information(x, lambda a, b: network(torch.cat([a, b], -1)), names=("word", "place"))

    result = check_analysis(run, model)
    assert_survives_saving(result, tmp_path)
    drawn = assert_draws(result)
    assert "word" in drawn
    assert [row["component"] for row in result.to_table().records()] == ["word", "place"]
    assert "5 x 6 combinations" in result.to_table().note
    x1, z, y = gaussian(0, samples=50)
    observed = information((x1, z), y)
    assert_survives_saving(observed, tmp_path)
    assert_draws(observed)
    assert observed.error == pytest.approx(float(torch.cat([observed.alone_error, observed.given_error]).max()))


X = torch.randn(5, 1)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (((), lambda: X), {}, "as many as 'inputs'"),
        (((X, X), X), {"names": ("a",)}, "as many as 'inputs', all different"),
        (((X, X), X), {"names": ("a", "a")}, "all different"),
        (((X, X[:1]), X), {}, r"'X2' of 'inputs' must have at least two values. Got \(1, 1\)"),
        (((X, X / 0), X), {}, "'X2' of 'inputs' has NaN or infinite values"),
        (((X, X), X[:4]), {}, "a row for each of the 4 'outputs'.* Got 5, 5. .*give the model"),
        (((X, X), X), {"neighbors": 4}, "more than 5"),
        (((X, X), X), {"neighbors": 0}, "'neighbors' at least 1. Got 256 and 0"),
        (((X, X), lambda a, b: a[:, 0]), {}, r"must give logits \[row, class\] or whole numbers \[row\] for 25 rows"),
        (((X, X), lambda a, b: torch.cat([a, b])), {}, r"for 25 rows. Got torch.float32 \(50, 1\)"),
        (((X, X), lambda a, b: torch.cat([a, b / 0], -1)), {}, "What 'outputs' gave has NaN or infinite values"),
    ],
)
def test_wrong_input_is_refused_by_name(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        information(*arguments, **options)
