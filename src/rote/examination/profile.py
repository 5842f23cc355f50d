"""The profile: where a learner stands, task by task, between what needs no rule and the rule.

The score of a seed is (new - zero) / (rule - zero): 0 is what the best memorizer, a guess or the commonest answer gets
on the new items, 1 what the rule gets. Below 0 the learner is misled: it follows what it remembers against the rule. A
seed whose known items are not learned has no score, and a task that most seeds have not learned is "not learned",
never "by rote".

Outcomes are judged as the ledger judges claims, by counting seeds (``rote.claims.counting``): "rule" says that most
seeds score at least .8, "partly" at least .1, "misled" at most -.1, "by rote" at most .1. Too few seeds to decide it,
all of one kind: the word has a question mark.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rote.claims import Estimate, decide, mean
from rote.errors import UsageError
from rote.examination.forms import Kind, form_of
from rote.examination.task import BATTERY, Dimension, battery
from rote.store import Column, Table, read_document, write_document

if TYPE_CHECKING:
    from rote.figures import Figure

KIND, VERSION = "rote profile", 1
LEARNED = 0.9  # of the way from a guess to all known items right
WORDS = {  # the first that most seeds bear out
    "rule": lambda score: score >= 0.8, "partly": lambda score: score >= 0.1, "misled": lambda score: score <= -0.1,
    "by rote": lambda score: score <= 0.1,
}  # fmt: skip
DRAWS = 2000
INSIDE = ("exchange_known", "cue_known", "parts_known")  # what answers rest on, on known items
NOTE = (
    "0: what needs no rule (the best memorizer, a guess, the commonest answer). 1: the rule that made the items. A dot "
    "is a seed, of a reference its mean; the memorizer has a mark of its own."
)
Row = Mapping[str, Any]
Scores = dict[str, list[np.ndarray]]  # by dimension, of the seeds of each task


@dataclass(frozen=True)
class TaskProfile:
    """A learner on one task. ``runs`` has a row for each seed, with ``score`` and ``learned``."""

    name: str
    runs: tuple[Row, ...]
    failed: tuple[str, ...] = ()  # why trainings gave nothing

    @property
    def dimension(self) -> Dimension:
        return battery[self.name].dimension

    @property
    def scores(self) -> dict[int, float]:
        """By seed, of those that have learned the known items."""
        return {run["seed"]: run["score"] for run in self.runs if run["learned"] and run["score"] is not None}

    @property
    def learned(self) -> bool:
        return bool(2 * sum(run["learned"] for run in self.runs) > len(self.runs))

    @property
    def is_test(self) -> bool:
        """Whether there is a score at all: not of memory, nor where the rote learner does all that the rule does."""
        return self.dimension != "memory" and all(run["zero"] < 1 for run in self.runs)

    @property
    def outcome(self) -> str:
        if self.dimension == "memory":
            return "memory"
        if not self.runs:
            return "failed"
        if not self.is_test:
            return "no test"
        if not self.learned:
            return "not learned"
        scores = list(self.scores.values())
        for word, holds in WORDS.items():
            k = sum(map(holds, scores))
            if decide(k, len(scores)) == "supported":
                return word
            if k == len(scores):
                return f"{word}?"
        return "undecided"

    @property
    def score(self) -> Estimate | None:
        if not self.learned or not self.is_test:
            return None
        lowest = min(-run["zero"] / (1 - run["zero"]) for run in self.runs)
        return mean(list(self.scores.values()), (lowest, 1.0))

    def share(self, name: str) -> Estimate | None:
        """The mean of known, fresh, new, zero, memorizer, exchange_known, cue_known, ... over the seeds."""
        values = [run[name] for run in self.runs if run.get(name) is not None]
        return mean(values, (0.0, 1.0)) if values else None

    def to_plain(self) -> dict[str, Any]:
        shares = {name: _plain(self.share(name)) for name in ("known", "fresh", "new", "zero", "memorizer", *INSIDE)}
        return {
            "outcome": self.outcome, "dimension": self.dimension, "score": _plain(self.score), **shares,
            "chance": battery[self.name].chance, "failed": list(self.failed), "runs": [dict(run) for run in self.runs],
        }  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """What an examination found. ``tasks`` are in the order of the battery; ``plan`` says how it was done."""

    name: str
    parameters: int
    tasks: Mapping[str, TaskProfile]
    plan: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[Profile, ...] = ()

    @property
    def kind(self) -> Kind:
        """What was examined: a model of tokens, where nothing else is said."""
        kind: Kind = self.plan.get("kind", "tokens")
        return kind

    def shared(self, other: Profile) -> list[str]:
        """The tasks that another has in the same form, so that the items are the same."""
        return [
            name for name in self.tasks if name in other.tasks
            and (self.kind == other.kind or form_of(self.kind, name) == form_of(other.kind, name))
        ]  # fmt: skip

    @functools.cached_property
    def scored(self) -> list[TaskProfile]:
        """The tasks that were learned, of which the index is made."""
        return [task for task in self.tasks.values() if task.learned and task.is_test]

    @property
    def asked(self) -> int:
        return sum(task.dimension != "memory" for task in self.tasks.values())

    @functools.cached_property
    def dimensions(self) -> dict[str, Estimate]:
        """The mean over a dimension's learned tasks, scores cut off at 0 and 1; intervals resample the seeds."""
        values = self._values()
        drawn = _resampled(values)
        return {
            name: Estimate(_center(values[name]), *_ends(drawn[name]), self._seeds, "bootstrap of seeds")
            for name in values
        }

    @functools.cached_property
    def score(self) -> Estimate | None:
        """The composition index: the mean over dimensions. It hides opposite profiles: never to be told alone."""
        return self._index(self._values())

    @functools.cached_property
    def score_of_all(self) -> Estimate | None:
        """The index over all tasks that were asked: a seed that has not learned a task counts 0 there. It says how much
        is composed in all, where the index says how well, and does not move with what happens to be learned."""
        return self._index(self._values(everything=True))

    @functools.cached_property
    def score_of_other_tasks(self) -> Estimate | None:
        """The index with an interval in which dimensions are resampled too: what other tasks might have given."""
        return self._index(self._values(), other_tasks=True)

    def _index(self, values: Scores, *, other_tasks: bool = False) -> Estimate | None:
        if not values:
            return None
        drawn = np.stack(list(_resampled(values).values()))  # [dimension, draw]
        if other_tasks:
            chosen = np.random.default_rng(1).integers(0, len(drawn), drawn.T.shape)
            drawn = np.take_along_axis(drawn, chosen.T, 0)
        center = float(np.mean([_center(each) for each in values.values()]))
        told = "bootstrap of seeds and dimensions" if other_tasks else "bootstrap of seeds"
        return Estimate(center, *_ends(drawn.mean(0)), self._seeds, told)

    @property
    def _seeds(self) -> int:
        return max((len(task.runs) for task in self.tasks.values()), default=0)

    def _values(self, *, everything: bool = False) -> Scores:
        found: Scores = {}
        for task in self.tasks.values() if everything else self.scored:
            if task.is_test:
                found.setdefault(task.dimension, []).append(_clipped(task, everything=everything))
        return found

    @property
    def seconds(self) -> float:
        """What its trainings took, one after the other."""
        return float(sum(run.get("seconds", 0.0) for task in self.tasks.values() for run in task.runs))

    @property
    def bits(self) -> Estimate | None:
        """Memorized bits of random labels: the other pole."""
        values = [run["bits"] for task in self.tasks.values() for run in task.runs if run.get("bits") is not None]
        return mean(values, (0.0, math.inf)) if values else None

    def with_outcome(self, *words: str) -> list[str]:
        return [name for name, task in self.tasks.items() if task.outcome.rstrip("?") in words]

    def _marked(self, *words: str) -> list[str]:
        return [f"{name}?" if self.tasks[name].outcome[-1] == "?" else name for name in self.with_outcome(*words)]

    @property
    def sentence(self) -> str:
        """What it composes, what it does not, in one sentence each; what too few seeds say has a question mark."""
        told = {
            "Follows the rule": ("rule",), "Partly": ("partly",), "By rote": ("by rote",),
            "Misled by what it remembers": ("misled",), "Not learned": ("not learned",),
            "Failed": ("failed",), "Undecided": ("undecided",), "No test, since memory alone does it": ("no test",),
        }  # fmt: skip
        parts = [f"{word}: {', '.join(names)}." for word, words in told.items() if (names := self._marked(*words))]
        return " ".join(parts)

    def compare(self, other: Profile) -> Table:
        """Task by task, on the same items: in how many seeds it scores more than another, and what that decides."""
        rows = []
        for name in self.shared(other):
            mine, theirs = self.tasks[name].scores, other.tasks[name].scores
            seeds = sorted(mine.keys() & theirs.keys())
            if not seeds:
                continue
            differences = [mine[seed] - theirs[seed] for seed in seeds]
            estimate, k = mean(differences), sum(value > 0 for value in differences)
            more, less = decide(k, len(seeds)), decide(sum(value < 0 for value in differences), len(seeds))
            verdict = "more" if more == "supported" else "less" if less == "supported" else "open"
            rows.append({
                "task": name, "difference": estimate.value, "low": estimate.low, "high": estimate.high,
                "more": k, "seeds": len(seeds), "composes": verdict,
            })  # fmt: skip
        columns = (
            Column("task", role="label"),
            Column("difference", f"score of {self.name} minus that of {other.name}, mean over the seeds of both"),
            Column("low", "95 % interval"),
            Column("high", "95 % interval"),
            Column("more", "seeds in which it is larger"),
            Column("seeds", "that have learned the task with both"),
            Column("composes", "more or less than the other in most seeds, by the evidence that the ledger asks for"),
        )
        return Table.make("comparison", f"{self.name} against {other.name}", columns, rows)

    def to_table(self) -> Table:
        """A row for each task."""
        columns = (
            Column("dimension", role="label"),
            Column("task", role="label"),
            Column("score", "0: what needs no rule; 1: the rule; below 0: misled"),
            Column("low", "95 % interval over seeds"),
            Column("high", "95 % interval over seeds"),
            Column("known", "accuracy"),
            Column("fresh", "accuracy on other items of the same kind"),
            Column("new", "accuracy on items that need the rule"),
            Column("zero", "accuracy that needs no rule"),
            Column("seeds", "that learned, of those that were trained"),
            Column("outcome"),
        )
        rows = []
        for name, task in self.tasks.items():
            score = task.score
            shares = {key: _value(task.share(key)) for key in ("known", "fresh", "new", "zero")}
            rows.append({
                "dimension": task.dimension, "task": name, "score": _value(score),
                "low": score and score.low, "high": score and score.high, **shares,
                "seeds": f"{len(task.scores)}/{len(task.runs)}", "outcome": task.outcome,
            })  # fmt: skip
        dots = [
            {"task": name, "score": score, "of": of}
            for of, profile in (("seed", self), *((other.name, other) for other in self.references))
            for name in self.shared(profile) for score in _dots(profile.tasks[name], mean_only=of != "seed")
        ]  # fmt: skip
        memorizer = [
            {"task": name, "score": float(np.mean([_memorizer(run) for run in task.runs])), "of": "memorizer"}
            for name, task in self.tasks.items() if task.runs and task.is_test
        ]  # fmt: skip
        return Table.make(
            "profile", f"Does {self.name} compose?", columns, rows, figure="examination-profile",
            options={"dots": [*dots, *memorizer]}, note=NOTE,
        )  # fmt: skip

    def curves(self) -> Table:
        """Known and new items over training, every seed."""
        columns = (
            Column("task", role="label"),
            Column("seed", role="label"),
            Column("step", "updates"),
            Column("items", "known or new", "label"),
            Column("accuracy"),
        )
        rows = [
            {"task": name, "seed": run["seed"], "step": point["step"], "items": items, "accuracy": point[items]}
            for name, task in self.tasks.items() for run in task.runs for point in run["curve"]
            for items in ("known", "new")
        ]  # fmt: skip
        title = "Known and new items over training"
        return Table.make("curves", title, columns, rows, figure="examination-curves", details=True)

    def figure(self) -> Figure:
        """The profile drawn: a strip for each task, with rote, rule, memorizer, seeds and references."""
        from rote.figures import draw

        return draw(self.to_table())

    def to_plain(self) -> dict[str, Any]:
        return {
            "battery": BATTERY,
            "model": {"name": self.name, "parameters": self.parameters},
            "plan": dict(self.plan),
            "index": _plain(self.score),
            "index_other_tasks": _plain(self.score_of_other_tasks),
            "index_all_tasks": _plain(self.score_of_all),
            "dimensions": {name: _plain(estimate) for name, estimate in self.dimensions.items()},
            "tasks": {name: task.to_plain() for name, task in self.tasks.items()},
            "memory": {"bits": _plain(self.bits)},
        }

    def save(self, path: str | Path) -> Path:
        """As JSON with a checksum, which ``Profile.load`` reads."""
        path = Path(path)
        write_document(path, KIND, VERSION, self.to_plain(), indent=None)
        return path

    @classmethod
    def load(cls, path: str | Path) -> Profile:
        return cls.from_plain(read_document(Path(path), KIND, VERSION), str(path))

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any], path: str) -> Profile:
        if plain["battery"] != BATTERY:
            raise UsageError(
                f"{path} is a profile of version {plain['battery']} of the battery, and {BATTERY} is installed: they "
                "cannot be compared. Examine the model again."
            )
        tasks = {
            name: TaskProfile(name, tuple(task["runs"]), tuple(task["failed"])) for name, task in plain["tasks"].items()
        }
        return cls(plain["model"]["name"], plain["model"]["parameters"], tasks, plain["plan"])


def task_profile(
    name: str, trainings: Sequence[Row], references: Mapping[int, Row], failed: Sequence[str]
) -> TaskProfile:
    """From the tables of the trainings that count, one for each seed, and of the rote learner on the same items."""
    task, runs = battery[name], []
    for training in sorted(trainings, key=lambda row: row["seed"]):
        reference = references[training["seed"]]
        zero, rule = reference["zero"], reference["rule"]
        known = (training["known"] - task.chance) / (1 - task.chance)
        score = (training["new"] - zero) / (rule - zero) if rule > zero else None  # of memory, or no test
        kept = {key: value for key, value in training.items() if key not in ("learner", "task")}
        runs.append({
            **kept, "zero": zero, "memorizer": reference["new"], "learned": known >= LEARNED, "score": score
        })  # fmt: skip
    return TaskProfile(name, tuple(runs), tuple(dict.fromkeys(failed)))


def _dots(task: TaskProfile, *, mean_only: bool) -> list[float]:
    if not task.learned or not task.is_test:
        return []
    scores = list(task.scores.values())
    return [float(np.mean(scores))] if mean_only else scores


def _memorizer(run: Row) -> float:
    """Where the memorizer stands on the axis of scores."""
    return float((run["memorizer"] - run["zero"]) / (1 - run["zero"]))


def _clipped(task: TaskProfile, *, everything: bool) -> np.ndarray:
    """Scores cut off at 0 and 1, of the seeds that learned; or of all, the others with 0."""
    if not everything:
        return np.clip(list(task.scores.values()), 0.0, 1.0)
    return np.clip([run["score"] if run["learned"] else 0.0 for run in task.runs] or [0.0], 0.0, 1.0)


def _center(scores: Sequence[np.ndarray]) -> float:
    return float(np.mean([each.mean() for each in scores]))


def _resampled(values: Scores) -> dict[str, np.ndarray]:
    """Means of each dimension over seeds that are drawn again, the same numbers always."""
    random = np.random.default_rng(0)
    return {
        name: np.mean([random.choice(each, (DRAWS, len(each))).mean(1) for each in scores], axis=0)
        for name, scores in values.items()
    }


def _ends(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def _value(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.value


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    finite = {key: getattr(estimate, key) for key in ("value", "low", "high")}
    return {
        **{key: value if math.isfinite(value) else None for key, value in finite.items()},
        "n": estimate.n, "test": estimate.method,
    }  # fmt: skip
