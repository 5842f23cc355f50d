"""What a learner answers on the items of a task, as the tables of a run: the same for networks and fitted learners."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rote.examination.task import NOTHING, BatteryTask, Drawn, Integers, Items, accuracy
from rote.store import Column, Table

Answer = Callable[[Items], Integers]  # the most probable symbol at every place [item, time]
SHOWN = 3  # new items that are shown with their answers
SEED, RATE = Column("seed", role="label"), Column("rate", "learning rate", "label")
TASK, LEARNER = Column("task", role="label"), Column("learner", role="label")
LABELS = (LEARNER, TASK, SEED, RATE)
TRAININGS = (
    *LABELS,
    Column("parameters"),
    Column("steps", "updates"),
    Column("seconds", "of training"),
    *(Column(name, "accuracy") for name in ("known", "fresh", "new")),
    Column("exchange_known", "share of answers that stay when a symbol is exchanged that the rule ignores"),
    Column("exchange_new", "the same on new items"),
    Column("cue_known", "share of the gradient's norm on the cue, against the mean of the other symbols"),
    Column("cue_new", "the same on new items"),
    Column("parts_known", "share of the answer's logit that comes from the cue, by decomposition"),
    Column("parts_new", "the same on new items"),
    Column("bits", "of memorized labels"),
)
EXAMPLE = (Column("item"), Column("read"), Column("cue"), Column("asked"), Column("answered"), Column("right"))


def tables_of(
    labels: Mapping[str, Any],
    task: BatteryTask,
    drawn: Drawn,
    answer: Answer,
    told: Mapping[str, Any],
    curve: Sequence[Mapping[str, Any]] = (),
) -> list[Table]:
    """All that a profile is made of. ``told`` has the numbers that are no answers; what is missing there is None."""
    sets = {"known": drawn.known, "fresh": drawn.fresh, "new": drawn.new}

    def right(items: Items) -> float:
        return accuracy(answer(items), items, exact=task.exact)

    row = {
        **dict.fromkeys(column.name for column in TRAININGS), **labels,
        **{name: None if items is None else right(items) for name, items in sets.items()},
        "exchange_known": _exchange(answer, task, drawn.known, labels["seed"]),
        "exchange_new": _exchange(answer, task, drawn.new, labels["seed"]),
        **told,
    }  # fmt: skip
    others = [{**labels, "set": name, "accuracy": right(items)} for name, items in drawn.others.items()]
    points = [{**labels, "step": one["step"], "known": one["known"], "new": one["new"]} for one in curve]
    steps = (Column("step"), Column("known"), Column("new"))
    return [
        Table.make("trainings", "Every trained learner", TRAININGS, [row]),
        Table.make("others", "Further new items", (*LABELS, Column("set", role="label"), Column("accuracy")), others),
        Table.make("curves", "Known and new over training", (*LABELS, *steps), points),
        Table.make(
            "examples", "New items and their answers", (*LABELS, *EXAMPLE), _examples(answer, task, drawn, labels)
        ),
    ]


def ends(items: Items) -> np.ndarray:
    """How far each item has to be read."""
    asked = items.targets != NOTHING
    return np.asarray(asked.shape[1] - np.argmax(asked[:, ::-1], axis=1))


def _exchange(answer: Answer, task: BatteryTask, items: Items, seed: int) -> float | None:
    """How many scored answers stay when a symbol is exchanged that the rule ignores."""
    other = task.exchanged(items, seed)
    if other is None:
        return None
    same = answer(items) == answer(other)
    return float(same[items.scored & other.scored].mean())


def _examples(answer: Answer, task: BatteryTask, drawn: Drawn, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A few new items in words: what is read, which of it decides, what is asked and answered."""
    items, names, rows = drawn.new[:SHOWN], task.symbols, []
    said = answer(items)
    for number, end in enumerate(ends(items)):
        places = np.flatnonzero(items.scored[number])
        rows.append({
            **labels, "item": number,
            "read": " ".join(names[token] for token in items.tokens[number, 1:end]),
            "cue": " ".join(str(place - 1) for place in np.flatnonzero(items.cue[number]) if place),
            "asked": " ".join(str(place - 1) for place in places),
            "answered": " ".join(names[said[number, place]] for place in places),
            "right": " ".join(names[items.targets[number, place]] for place in places),
        })  # fmt: skip
    return rows
