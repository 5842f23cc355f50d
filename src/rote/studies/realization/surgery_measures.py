"""Which parts are exchanged and which neurons cut, and the numbers on which the claims are judged. One per seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from rote.claims import Estimate, Tables, mean, paired_difference

COMPONENTS: dict[str, tuple[str, ...]] = {  # beginnings of the names of their parameters
    "none": (),
    "encoder": ("encoder",),
    "encoder embedding": ("encoder.embedding",),
    "encoder W_ih": ("encoder.cell.weight_ih",),
    "encoder W_hh": ("encoder.cell.weight_hh",),
    "decoder": ("decoder",),
    "decoder embedding": ("decoder.embedding",),
    "decoder W_ih": ("decoder.cell.weight_ih",),
    "decoder W_hh": ("decoder.cell.weight_hh",),
}
STRENGTHS = ("edges", "mean", "max")  # what strong may mean; the first is the one that decides
PRUNED = (*STRENGTHS, "random", "none")  # by what the kept neurons are chosen; none: nothing is cut
EXCHANGED = tuple(COMPONENTS)[1:]
SPLITS = ("new_compositions", "heldout_tables", "heldout_compositions", "heldout_inputs")
DECISIVE = SPLITS[0]  # the split that the source reports
Measure = Callable[[Tables], Estimate]
Trial = tuple[str, ...]  # components, whose mean is taken seed by seed; of "original" the accuracy before retraining


def exchanged(tables: Tables, kind: str, component: str, split: str = DECISIVE) -> list[float]:
    """Accuracy of the models of a kind with a component of the other kind, retrained; "original": as trained."""
    column, component = ("before", "none") if component == "original" else ("accuracy", component)
    rows = tables["substitution"].where(model=kind, component=component, split=split)
    return [float(value) for value in rows.column(column)]


def pruned(tables: Tables, by: str, column: str = "accuracy", split: str = DECISIVE) -> list[float]:
    """Accuracy of the pruned models; ``column``: "before" or, after retraining, "accuracy"."""
    return [float(value) for value in tables["pruning"].where(by=by, split=split).column(column)]


def guided_minus(first: Trial, second: Trial) -> Measure:
    """Paired difference between guided models with these components exchanged."""
    return lambda tables: paired_difference(_mean_of(tables, "guided", first), _mean_of(tables, "guided", second))


def relative_drop(component: str) -> Measure:
    """What share of the original's mean accuracy is lost, at most all of it."""

    def measured(tables: Tables) -> Estimate:
        original = exchanged(tables, "guided", "original")
        lost, whole = paired_difference(original, exchanged(tables, "guided", component)), fmean(original)
        if not whole:
            return Estimate(float("nan"), float("nan"), float("nan"), lost.n, lost.test)
        return Estimate(lost.value / whole, lost.low / whole, min(lost.high / whole, 1.0), lost.n, lost.test, lost.p)

    return measured


def baselines(components: Trial) -> Measure:
    """Baselines with guided components: their mean."""
    return lambda tables: mean(_mean_of(tables, "baseline", components), bounds=(0.0, 1.0))


def best_baseline(components: Trial) -> Measure:
    """For each seed the component that helps most."""

    def measured(tables: Tables) -> Estimate:
        by_component = [exchanged(tables, "baseline", component) for component in components]
        return mean([max(values) for values in zip(*by_component, strict=True)], bounds=(0.0, 1.0))

    return measured


def pruned_accuracy(by: str) -> Measure:
    """With only the chosen neurons, before any retraining."""
    return lambda tables: mean(pruned(tables, by, "before"), bounds=(0.0, 1.0))


def pruned_minus_full(by: str, column: str) -> Measure:
    """Against the whole network as it was trained."""
    return lambda tables: paired_difference(pruned(tables, by, column), pruned(tables, "none", "before"))


def retrained_minus_retrained(by: str, other: str) -> Measure:
    """Between two ways of choosing the neurons that stay, both retrained."""
    return lambda tables: paired_difference(pruned(tables, by), pruned(tables, other))


def _mean_of(tables: Tables, kind: str, components: Sequence[str]) -> list[float]:
    by_component = [exchanged(tables, kind, component) for component in components]
    return [fmean(values) for values in zip(*by_component, strict=True)]
