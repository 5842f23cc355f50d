"""Diagnostic classification: what can be read linearly from activations, and by how few units.

Source 002, section 4.1 (after Hupkes et al. 2018, Dalvi et al. 2019): a linear classifier is trained on all units;
then units join in the order of their weight in it until a classifier on them alone reaches 95 % of its accuracy. They
are the functional group. The source's public code ranks by the first class's coefficients only (it flattens
[class, unit] and keeps the first row): ranking="as_published". The corrected ranking sums over the classes. In both
the coefficients are first averaged over the splits. The source's text says "no regularization", its code has L2 with
C=1, which is the default here; its solver, saga with 100 iterations, mostly stops before it has converged. Without a
penalty (regularization=inf) the weights of a classifier that makes no error would grow forever: it stops where no entry
of the gradient is above 1e-4.

ranking="shapley" is the source's footnote 5: by Shapley values (Lundberg and Lee 2017) of the units in a class's logit.
The classifier is linear, so these are known exactly where units count as independent, weight times distance from the
unit's mean: units are ranked by their mean size over samples, summed over the classes.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from rote.analyses.classifier import Classifier, random_splits
from rote.analyses.labels import Labels, Name, Samples, flat_labels, labelled_samples, numbered
from rote.analyses.result import Result, analyses, needs
from rote.config import one_of
from rote.errors import UsageError
from rote.models.capabilities import require
from rote.store import Column, Table

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Ranking = Literal["corrected", "as_published", "shapley"]
RANKINGS: tuple[Ranking, ...] = get_args(Ranking)
Solver = Literal["lbfgs", "saga"]


@dataclass(frozen=True)
class Fitting:
    """How the classifiers are fitted and tested, and when a group of units suffices; see ``diagnose``."""

    share: float = 0.95
    splits: int = 5
    test_share: float = 0.1
    regularization: float = 1.0
    solver: Solver = "lbfgs"
    iterations: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        one_of("solver", self.solver, ("lbfgs", "saga"))
        if not 0 < self.share <= 1:
            raise UsageError(f"'share' must be above 0 and at most 1. Got {self.share}.")
        if not 0 < self.test_share < 1:
            raise UsageError(f"'test_share' must lie between 0 and 1. Got {self.test_share}.")
        if self.splits < 1 or self.iterations < 1 or not self.regularization > 0:
            raise UsageError(
                "'splits' and 'iterations' must be at least 1 and 'regularization' above 0. "
                f"Got {self.splits}, {self.iterations} and {self.regularization}."
            )


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """How well a linear classifier reads the labels from all units and from the functional group."""

    accuracies: Float[Tensor, " split"]  # on the test samples, with all units
    curve: Float[Tensor, "size split"]  # the same with the first 1, 2, ... units of ``order``, up to the group's size
    coefficients: Float[Tensor, "class unit"]  # mean over the splits; of two classes the two are opposite
    distances: Float[Tensor, " unit"]  # of a unit's values from their mean, mean over the samples
    order: Int[Tensor, " unit"]  # all units, most important first
    classes: tuple[Name, ...]
    majority: float  # share of the most frequent class among all samples
    samples: int
    ranking: str
    share: float  # of the full accuracy that the group reaches
    gradients: Float[Tensor, " split"]  # largest entry of the loss gradient where the full classifier stopped
    fits: int
    unconverged: int  # how many of the fits stopped at the iteration limit
    seed: int

    @property
    def accuracy(self) -> float:
        """Mean over the splits, with all units."""
        return _accuracy(self.accuracies)["accuracy"]

    @property
    def spread(self) -> float:
        """Standard deviation of the accuracy over the splits; 0 for one split."""
        return _accuracy(self.accuracies)["spread"]

    @property
    def group(self) -> tuple[int, ...]:
        """The functional group: units, most important first."""
        return tuple(self.order[: len(self.curve)].tolist())

    @property
    def group_accuracy(self) -> float:
        return float(self.curve[-1].mean())

    @property
    def importance(self) -> Float[Tensor, " unit"]:
        """What the units are ranked by."""
        return _importance(self.coefficients, self.distances, self.ranking)

    @property
    def error(self) -> float:
        """The classifier's own: the largest gradient entry at which a full fit stopped; 0 is the exact optimum."""
        return float(self.gradients.max())

    def to_table(self) -> Table:
        """One row per size of the group, and one for all units."""
        rows: list[dict[str, Any]] = []
        importance = self.importance.tolist()
        for size, accuracies in enumerate(self.curve, start=1):
            unit = int(self.order[size - 1])
            rows.append({"units": size, "added": unit, "importance": importance[unit], **_accuracy(accuracies)})
        rows.append({"units": len(self.order), "added": None, "importance": None, **_accuracy(self.accuracies)})
        columns = (
            Column("units", "how many units the classifier sees", role="label"),
            Column("added", "the unit that joined last", role="label"),
            Column("importance", "of that unit in the classifier on all units: its absolute weight or Shapley value"),
            Column("accuracy", "on held-out samples, mean over the splits"),
            Column("spread", "standard deviation over the splits"),
        )
        options = {"majority": self.majority, "target": self.share * self.accuracy, "all": self.accuracy}
        return Table.make(
            "diagnosis", "Accuracy of linear classifiers on the most important units", columns, rows,
            figure="diagnosis", details=True, options=options,
            note=f"Ranking {self.ranking.replace('_', ' ')}; group at {100 * self.share:g} % of the full accuracy.",
        )  # fmt: skip

    def __repr__(self) -> str:
        first = ", ".join(map(str, self.group[:6])) + (", ..." if len(self.group) > 6 else "")
        return (
            f"Diagnosis(accuracy {self.accuracy:.3f} ± {self.spread:.3f} on {len(self.accuracies)} splits of "
            f"{self.samples} samples, majority {self.majority:.3f}; {len(self.group)} of {len(self.order)} units "
            f"[{first}] reach {self.group_accuracy:.3f}; ranking={self.ranking!r}, "
            f"{self.unconverged} of {self.fits} fits not converged)"
        )


@analyses.register("diagnose")
@needs("states")
def diagnose(
    activations: Tensor | np.ndarray,
    labels: Labels,
    *,
    ranking: Ranking = "corrected",
    groups: Labels | None = None,
    mask: Tensor | None = None,
    share: float = 0.95,
    splits: int = 5,
    test_share: float = 0.1,
    regularization: float = 1.0,
    solver: Solver = "lbfgs",
    iterations: int = 1000,
    seed: int = 0,
) -> Diagnosis:
    """What a linear classifier reads from activations, and the few units that suffice for it.

    - activations: [sample, unit] or [batch, time, unit].
    - labels, and groups if given: one per sample or position (names or whole numbers; None leaves a position out, as
      does ``mask``).
    - groups: samples of one group are never on both sides of a split. A recurrent state is the same wherever the same
      prefix has been read, so give each prefix a group of its own.
    - share: of the accuracy with all units that the functional group has to reach.
    - ranking: "corrected" by the weights of a unit over all classes, "as_published" by those of the first, "shapley" by
      its Shapley values.
    - regularization: scikit-learn's C; inf for no penalty.

    The published settings: ranking="as_published", solver="saga", iterations=100.

    >>> import torch, rote
    >>> states = torch.randn(200, 6, generator=torch.Generator().manual_seed(0))
    >>> labels = ["positive" if value > 0 else "negative" for value in states[:, 4]]  # unit 4 alone decides
    >>> found = rote.diagnose(states, labels)
    >>> found.group, found.accuracy > 0.9
    ((4,), True)
    """
    if callable(activations):
        require("diagnose", activations, "states")
    fitting = Fitting(share, splits, test_share, regularization, solver, iterations, seed)
    return diagnose_by((ranking,), activations, labels, fitting, groups=groups, mask=mask)[ranking]


def diagnose_by(
    rankings: Sequence[Ranking],
    activations: Tensor | np.ndarray,
    labels: Labels,
    fitting: Fitting,
    *,
    groups: Labels | None = None,
    mask: Tensor | None = None,
) -> dict[Ranking, Diagnosis]:
    """``diagnose`` with several rankings: the classifiers on all units are the same and trained once."""
    for ranking in rankings:
        one_of("ranking", ranking, RANKINGS)
    samples = labelled_samples(activations, labels, mask)
    classes, target = numbered(samples.labels, "classes to tell apart")
    kept_groups = None if groups is None else _groups(groups, samples)
    halves = random_splits(target, kept_groups, fitting.splits, fitting.test_share, fitting.seed)
    majority = float(np.bincount(target).max() / len(target))
    found: dict[Ranking, Diagnosis] = {}
    with threadpool_limits(1):  # the products are small: a second thread makes them four times slower
        values = samples.values - samples.values.mean(0)  # the intercept takes it up; far fewer steps are needed
        full = Classifier(
            target, len(classes), halves, fitting.regularization, fitting.solver, fitting.iterations, fitting.seed
        )
        accuracies, coefficients, gradients = full.fit(values)
        mean, distances = torch.from_numpy(coefficients.mean(0)), torch.from_numpy(np.abs(values).mean(0))
        for ranking in rankings:
            classifier = copy.copy(full)
            order = _importance(mean, distances, ranking).argsort(descending=True, stable=True)
            curve = _grow(classifier, values, order.numpy(), fitting.share * accuracies.mean(), accuracies)
            found[ranking] = Diagnosis(
                torch.from_numpy(accuracies), torch.from_numpy(curve), mean, distances, order, tuple(classes),
                majority, len(target), ranking, float(fitting.share), torch.from_numpy(gradients), classifier.fits,
                classifier.unconverged, fitting.seed,
            )  # fmt: skip
    return found


def _grow(classifier: Classifier, values: np.ndarray, order: np.ndarray, target: float, full: np.ndarray) -> np.ndarray:
    """Accuracies [size, split] of the first units, one more at a time, until their mean reaches the target."""
    curve: list[np.ndarray] = []
    growing = classifier.growing()
    for size in range(1, len(order) + 1):
        if size == len(order):
            # All units are the classifier that set the target; fitted again in another order it may round otherwise.
            curve.append(full)
        elif growing is not None:
            curve.append(growing.add(values[:, order[size - 1]]))
        else:
            curve.append(classifier.fit(values[:, order[:size]])[0])
        if curve[-1].mean() >= target:
            break
    if growing is not None:
        classifier.fits += len(curve[: len(order) - 1]) * len(classifier.halves)
        classifier.unconverged += growing.unconverged
    return np.stack(curve)


def _importance(coefficients: Tensor, distances: Tensor, ranking: str) -> Tensor:
    if ranking == "as_published":
        return coefficients[0].abs()
    weights = coefficients.abs().sum(0)
    return weights * distances if ranking == "shapley" else weights


def _groups(groups: Labels, samples: Samples) -> np.ndarray:
    named = flat_labels(groups, "groups", samples.kept)
    kept = [named[place] for place in samples.positions]
    if any(name is None for name in kept):
        raise UsageError("Each sample needs one of 'groups'. Got None at a position that has a label.")
    number = {name: index for index, name in enumerate(dict.fromkeys(kept))}
    return np.array([number[name] for name in kept])


def _accuracy(accuracies: Tensor) -> dict[str, float]:
    """Mean and standard deviation over the splits; the latter is 0 for one split."""
    spread = float(accuracies.std(correction=1)) if len(accuracies) > 1 else 0.0
    return {"accuracy": float(accuracies.mean()), "spread": spread}
