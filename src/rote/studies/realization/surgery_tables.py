"""The tables of lookup-surgery, and what its claims are about: one value per seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from rote.claims import PerSeed, Tables, Values, column, mean
from rote.laboratory.aggregate import Row, interval_columns, interval_values
from rote.store import Column, Table
from rote.studies.realization import published

SPLITS = ("new_compositions", "heldout_tables", "heldout_compositions", "heldout_inputs")
DECISIVE = SPLITS[0]  # the split that the source reports

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
    return [table_4(every), _pruning(every), every["substitution"], every["pruning"]]


def table_4(every: Mapping[str, Table]) -> Table:
    """Means over seeds of each kind of models with each component exchanged, beside the published."""
    trials = dict.fromkeys((row["model"], row["component"]) for row in every["substitution"].records())
    kinds = list(dict.fromkeys(kind for kind, _ in trials))
    rows = []
    for kind in kinds:
        for component in ("original", *(component for other, component in trials if other == kind)):
            # The source's models without an exchanged part are those of the main training.
            said, sd = published.SUBSTITUTION.get(
                (kind, {"original": "none", "none": ""}.get(component, component)), (None, None)
            )
            before = every["substitution"].where(model=kind, component=component, split=DECISIVE).column("before")
            ours = _averages(every, exchanged, kind, component)
            rows.append(
                {
                    "model": kind, "component": component, "published": said, "published_sd": sd, **ours,
                    "same": None if said is None or sd is None else abs(ours["accuracy"] - said) <= SD * sd,
                    "before": fmean(before) if before else None,
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
    said = {  # the source knows one choice, of strong neurons; and the network as trained
        ("before", "none"): published.UNPRUNED,
        **{("before", by): published.PRUNED for by in ("edges", "mean", "max")},
        **{("accuracy", by): published.RETRAINED for by in ("edges", "mean", "max")},
    }
    rows = [
        {"by": by, "when": when, "published": said.get((value, by)), **_averages(every, pruned, by, value)}
        for by in dict.fromkeys(every["pruning"].column("by"))
        for value, when in (("before", "before retraining"), ("accuracy", "after retraining"))
    ]
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


def _averages(every: Mapping[str, Table], of: Callable[[str, str, str], PerSeed], one: str, two: str) -> Row:
    """Means over the seeds of a trial that two labels tell: the decisive split with its interval, and the others."""
    values = {split: list(of(one, two, split)(every).values()) for split in SPLITS}
    found = mean(values.pop(DECISIVE), bounds=(0.0, 1.0))
    means = {split: fmean(others) for split, others in values.items()}
    return {"seeds": found.n, "accuracy": found.value, **interval_values(found), **means}


def exchanged(kind: str, component: str, split: str = DECISIVE) -> PerSeed:
    """Accuracy of the models of a kind with a component of the other kind, retrained; "original": as trained."""
    value, component = ("before", "none") if component == "original" else ("accuracy", component)
    return column("substitution", value, model=kind, component=component, split=split)


def pruned(by: str, value: str = "accuracy", split: str = DECISIVE) -> PerSeed:
    """Accuracy of the pruned models; ``value``: "before" or, after retraining, "accuracy"."""
    return column("pruning", value, by=by, split=split)


def lost_share(tables: Tables, component: str, whole: str) -> Values:
    """What share of a guided model's accuracy is lost with a component of a baseline; ``whole``: "original" or "none",
    which is retrained too."""
    before, after = (exchanged("guided", name)(tables) for name in (whole, component))
    return {seed: 1 - after[seed] / accuracy if accuracy else math.nan for seed, accuracy in before.items()}


def order_agreement(tables: Tables, said: Mapping[str, float]) -> Values:
    """Kendall's tau between the published and our accuracies of guided models, over the components that were
    exchanged and the original."""
    ours = [exchanged("guided", component)(tables) for component in said]
    return {seed: kendall_tau(list(said.values()), [one[seed] for one in ours]) for seed in ours[0]}


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Its form for ties, tau-b. SciPy has it in a package that takes longer to import than all verdicts to judge."""
    one, other = (np.sign(np.subtract.outer(values, values)) for values in (first, second))
    size = math.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / size) if size else math.nan
