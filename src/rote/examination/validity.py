"""Whether the profiles can be trusted: do disjoint seeds agree, and does what answers rest on agree with behavior?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from rote.claims import Estimate
from rote.errors import UsageError
from rote.examination.profile import INSIDE, Profile
from rote.store import Column, Table

FEWEST = 8  # networks of which a correlation is told


def intraclass_correlation(values: ArrayLike) -> float:
    """ICC(2,1) of Shrout and Fleiss (1979): agreement of single ratings, [rated, rater], raters drawn at random."""
    table = np.asarray(values, float)
    if table.ndim != 2 or min(table.shape) < 2:
        raise UsageError(f"An intraclass correlation takes [rated, rater], at least two of each. Got {table.shape}.")
    rated, raters = table.shape
    mean = table.mean()
    between = raters * ((table.mean(1) - mean) ** 2).sum() / (rated - 1)
    across = rated * ((table.mean(0) - mean) ** 2).sum() / (raters - 1)
    rest = ((table - table.mean(1, keepdims=True) - table.mean(0) + mean) ** 2).sum() / ((rated - 1) * (raters - 1))
    below = between + (raters - 1) * rest + raters * (across - rest) / rated
    return float((between - rest) / below) if below > 0 else float("nan")


def of_seeds(profile: Profile, seeds: Collection[int]) -> Profile:
    """The profile that these seeds alone would have given; the learning rates stay those of the whole."""
    tasks = {
        name: replace(task, runs=tuple(run for run in task.runs if run["seed"] in seeds))
        for name, task in profile.tasks.items()
    }
    return Profile(profile.name, profile.parameters, tasks, {**profile.plan, "seeds": sorted(seeds)})


def reliability(
    profiles: Sequence[Profile], number: Callable[[Profile], Estimate | None] = lambda profile: profile.score
) -> Table:
    """A number of each profile, by default the index, from two disjoint sets of seeds, and how well they agree over
    architectures: a row for each way of dividing the seeds that all profiles have, into a half and the rest."""
    seeds = sorted(set.intersection(*(set(profile.plan["seeds"]) for profile in profiles)))
    rows = []
    for first in itertools.combinations(seeds, len(seeds) // 2):
        second = [seed for seed in seeds if seed not in first]
        pairs = [[number(of_seeds(profile, half)) for half in (first, second)] for profile in profiles]
        told = [(one.value, other.value) for one, other in pairs if one is not None and other is not None]
        if len(told) < 2:
            continue
        rows.append({
            "first": " ".join(map(str, first)), "second": " ".join(map(str, second)), "profiles": len(told),
            "icc": intraclass_correlation(told), "largest": max(abs(one - other) for one, other in told),
        })  # fmt: skip
    columns = (
        Column("first", "seeds of the first set", "label"),
        Column("second", "seeds of the second set", "label"),
        Column("profiles", "that have the number in both"),
        Column("icc", "intraclass correlation of the number, ICC(2,1)"),
        Column("largest", "largest difference between the sets"),
    )
    return Table.make("reliability", "Two disjoint sets of seeds", columns, rows)


def inside_agreement(profiles: Sequence[Profile]) -> Table:
    """How what an answer rests on, on known items, goes with the score on new ones, over the networks that learned."""
    rows = []
    for task in dict.fromkeys(name for profile in profiles for name in profile.tasks):
        runs = [run for profile in profiles if task in profile.tasks for run in profile.tasks[task].runs]
        for measure in INSIDE:
            told = [
                (run[measure], run["score"]) for run in runs
                if run["learned"] and run["score"] is not None and run.get(measure) is not None
            ]  # fmt: skip
            if len(told) >= FEWEST and all(len(set(values)) > 1 for values in zip(*told, strict=True)):
                found = float(spearmanr(*zip(*told, strict=True)).statistic)
                rows.append({"measure": measure, "task": task, "networks": len(told), "correlation": found})
    columns = (
        Column("measure", "on known items", "label"),
        Column("task", role="label"),
        Column("networks", "architectures and seeds that learned the task"),
        Column("correlation", "Spearman's, with the score"),
    )
    return Table.make("inside agreement", "What answers rest on, and what is answered", columns, rows)
