"""Linear classifiers on random splits of the samples, with a report of how well they have converged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from rote.analyses.logistic import GrowingClassifiers
from rote.errors import UsageError

Split = tuple[np.ndarray, np.ndarray]  # training and test samples


class Classifier:
    """The same classifier on the same splits, for any set of units; counts how many of its fits converged."""

    def __init__(
        self, target: np.ndarray, classes: int, halves: Sequence[Split], c: float, solver: str, limit: int, seed: int
    ) -> None:
        self.target, self.classes, self.halves = target, classes, halves
        self.options: dict[str, Any] = {"C": c, "solver": solver, "max_iter": limit, "random_state": seed}
        self.fits = self.unconverged = 0

    def fit(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accuracy [split], coefficients [split, class, unit] and the largest gradient entry [split]."""
        # Here, as below, because importing scikit-learn takes a second, which other analyses need not wait for.
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        accuracies, gradients = np.zeros(len(self.halves)), np.zeros(len(self.halves))
        coefficients = np.zeros((len(self.halves), self.classes, values.shape[1]))
        for index, (training, test) in enumerate(self.halves):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                model = LogisticRegression(**self.options).fit(values[training], self.target[training])
            self.fits += 1
            self.unconverged += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
            accuracies[index] = model.score(values[test], self.target[test])
            weights = model.coef_
            # Two classes have one row w in scikit-learn: the softmax of -w/2 and w/2 is the same classifier.
            coefficients[index, model.classes_] = (
                np.stack([-weights[0] / 2, weights[0] / 2]) if len(weights) == 1 else weights
            )
            gradients[index] = _largest_gradient(model, values[training], self.target[training], self.options["C"])
        return accuracies, coefficients, gradients

    def growing(self) -> GrowingClassifiers | None:
        """The same classifiers, all splits at once, for sets of units that grow by one; None where that engine does
        not fit: another solver, two classes (scikit-learn then has one row of weights), or a class that a split never
        trains on."""
        complete = all(len(np.unique(self.target[training])) == self.classes for training, _ in self.halves)
        if self.options["solver"] != "lbfgs" or self.classes == 2 or not complete:
            return None
        return GrowingClassifiers(self.target, self.classes, self.halves, self.options["C"], self.options["max_iter"])


def _largest_gradient(model: Any, values: np.ndarray, target: np.ndarray, c: float) -> float:
    """Of the mean cross-entropy plus |w|^2 / (2 C n), by weight and intercept: zero at the exact solution."""
    wrong = model.predict_proba(values) - (target[:, None] == model.classes_)
    wrong = wrong[:, 1:] if len(model.coef_) == 1 else wrong
    by_weight = (wrong.T @ values + model.coef_ / c) / len(values)
    return float(max(np.abs(by_weight).max(), np.abs(wrong.mean(0)).max()))


def random_splits(
    target: np.ndarray, groups: np.ndarray | None, count: int, test_share: float, seed: int
) -> list[Split]:
    """The test side gets ``test_share`` of the samples, or of the groups; samples of one group stay together."""
    from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

    members = len(target) if groups is None else len(np.unique(groups))
    if members < 2:
        what = "sample" if groups is None else "group"
        raise UsageError(f"A split needs a {what} on each side. Got {members} {what}{'s' if members != 1 else ''}.")
    kind = ShuffleSplit if groups is None else GroupShuffleSplit
    made = list(kind(count, test_size=test_share, random_state=seed).split(target, groups=groups))
    for training, _ in made:
        if len(np.unique(target[training])) < 2:
            raise UsageError(
                "A random split left one class only to train on. Give more samples of each class"
                + (" or finer groups." if groups is not None else " or a smaller test_share.")
            )
    return made
