"""The tables of lookup-surgery, and the numbers on which its claims are judged: one value per seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rote.claims import Estimate, Tables, mean, paired_difference
from rote.laboratory.aggregate import interval_columns, interval_values
from rote.store import Column, Table
from rote.studies.realization import published

SPLITS = ("new_compositions", "heldout_tables", "heldout_compositions", "heldout_inputs")
DECISIVE = SPLITS[0]  # the split that the source reports
Measure = Callable[[Tables], Estimate]
Trial = tuple[str, ...]  # components, whose mean is taken seed by seed; of "original" the accuracy before retraining

MEASURED = (
    Column("seed", "of initial weights and order of the examples; an exchanged part is of the same seed", "label"),
    Column("split", "which examples", "label"),
    Column("before", "share of sequences right in every position, before retraining"),
    Column("accuracy", "the same after retraining, model with the lowest validation loss"),
    Column("epoch", "of retraining, at which the validation loss was lowest"),
)
EXCHANGED = (
    Column("model", "baseline, or guided by attention targets; it is retrained as it was trained", "label"),
    Column("component", "taken from a model of the other kind and frozen; none: retrained as it is", "label"),
    *MEASURED,
)
PRUNED = (
    Column("by", "how the neurons that stay are chosen; none: nothing is cut", "label"),
    *MEASURED,
)
SD = 2  # published standard deviations within which our mean counts as the same


def trial_table(trial: str, what: str, rows: Iterable[Mapping[str, Any]]) -> Table:
    """What was measured of one retraining: with a part exchanged in models of the kind ``trial``, or pruned."""
    if trial == "pruned":
        return Table.make("pruning", "Every pruned model", PRUNED, [{"by": what, **row} for row in rows], details=True)
    labeled = [{"model": trial, "component": what, **row} for row in rows]
    return Table.make("substitution", "Every model with an exchanged part", EXCHANGED, labeled, details=True)


def all_tables(every: Mapping[str, Table]) -> list[Table]:
    """The study's tables, from the collected ones of its runs."""
    return [_table_4(every), _pruning(every), every["substitution"], every["pruning"]]


def _table_4(every: Mapping[str, Table]) -> Table:
    trials = dict.fromkeys((row["model"], row["component"]) for row in every["substitution"].records())
    kinds = list(dict.fromkeys(kind for kind, _ in trials))
    rows = []
    for kind in kinds:
        for component in ("original", *(component for other, component in trials if other == kind)):
            estimate = mean(exchanged(every, kind, component), bounds=(0.0, 1.0))
            # The source's models without an exchanged part are those of the main training.
            said, sd = published.SUBSTITUTION.get(
                (kind, {"original": "none", "none": ""}.get(component, component)), (None, None)
            )
            before = every["substitution"].where(model=kind, component=component, split=DECISIVE).column("before")
            rows.append(
                {
                    "model": kind, "component": component, "seeds": estimate.n, "published": said, "published_sd": sd,
                    "accuracy": estimate.value, **interval_values(estimate),
                    "same": None if said is None or sd is None else abs(estimate.value - said) <= SD * sd,
                    "before": fmean(before) if before else None,
                    **{split: fmean(exchanged(every, kind, component, split)) for split in SPLITS[1:]},
                }
            )  # fmt: skip
    columns = (
        Column("model", "which is retrained, as it was trained", "label"),
        Column("component", "frozen, of the other kind; original: as trained; none: only retrained", "label"),
        Column("seeds", "models", "label"),
        Column("published", "accuracy on new compositions, mean over three models", "published"),
        Column("published_sd", "its standard deviation", "published"),
        Column("accuracy", "share of new compositions right in every position after retraining, mean over seeds"),
        *interval_columns(),
        Column("same", f"whether it is within {SD} published standard deviations"),
        Column("before", "the same right after the exchange, before retraining"),
        *(Column(split, f"accuracy after retraining, {split.replace('_', ' ')}") for split in SPLITS[1:]),
    )
    return Table.make(
        "table-4", "New compositions with a frozen part of the other kind", columns, rows,
        place="Table 4", figure="lookup-substitution",
        note="Original: as the main training left it, without retraining; that is what the source has. None: retrained "
        "like the others, with nothing exchanged. The source leaves out six of the components in baselines, which "
        "changed nothing.",
    )  # fmt: skip


def _pruning(every: Mapping[str, Table]) -> Table:
    rows = []
    said = {  # the source knows one choice, of strong neurons; and the network as trained
        ("before", "none"): published.UNPRUNED,
        **{("before", by): published.PRUNED for by in ("edges", "mean", "max")},
        **{("accuracy", by): published.RETRAINED for by in ("edges", "mean", "max")},
    }
    for by in dict.fromkeys(every["pruning"].column("by")):
        for column, when in (("before", "before retraining"), ("accuracy", "after retraining")):
            estimate = mean(pruned(every, by, column), bounds=(0.0, 1.0))
            rows.append(
                {
                    "by": by, "when": when, "seeds": estimate.n, "published": said.get((column, by)),
                    "accuracy": estimate.value, **interval_values(estimate),
                    **{split: fmean(pruned(every, by, column, split)) for split in SPLITS[1:]},
                }
            )  # fmt: skip
    columns = (
        Column("by", "how the neurons that stay are chosen; none: nothing is cut", "label"),
        Column("when", "before retraining or after", "label"),
        Column("seeds", "models", "label"),
        Column("published", "accuracy on new compositions", "published"),
        Column("accuracy", "share of new compositions right in every position, mean over seeds"),
        *interval_columns(),
        *(Column(split, f"accuracy, {split.replace('_', ' ')}") for split in SPLITS[1:]),
    )
    return Table.make(
        "pruned", "New compositions with few of the neurons", columns, rows,
        place="Section 5.2", figure="lookup-pruning",
        note="Guided models. The source does not say what strong connection is: edges counts a neuron's weights among "
        "the strongest of its layer, mean and max take the absolute weights that it receives or sends. Random neurons "
        "and retraining of the whole network (none) are our controls.",
    )  # fmt: skip


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
