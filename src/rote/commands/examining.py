"""The command that asks whether an architecture composes: examine."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from rote.commands.options import (
    Cluster,
    Device,
    Folder,
    Imports,
    Json,
    Maybe,
    Workers,
    err_console,
    open_store,
    option,
    out_console,
    print_json,
)
from rote.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from rote.examination import Profile, TaskProfile

LEFT, RIGHT, CELLS = -0.5, 1.1, 33  # ends of the axis, and its width in letters
STYLES = {"rule": "green", "partly": "cyan", "misled": "red", "by rote": "magenta"}


@dataclass(frozen=True)
class Examine:
    """Does an architecture compose, or does it learn by rote? It is trained on the battery and placed, task by task,
    between the best memorizer of the same items (0) and the rule that made them (1).

    Give the name of a cell (rote list cells) or transformer, or a function of your own that makes, from the size of a
    vocabulary, a module from tokens [batch, time] to logits [batch, time, vocabulary]. What is trained is kept: stopped
    at any moment, the same command goes on.

    Try:
      rote examine lstm
      rote examine gru --minutes 3 --tasks lookup,parity --against ""
      rote examine my_model.py:make --against lstm,transformer --out profile.html
      rote examine package.module:make --json > profile.json
      rote examine my_model.py:make --badge composes.svg
      rote examine my_encoder.py:make --kind classifier
      rote examine my_lm.py:score --language-model --pairs blimp.jsonl
    """

    model: Annotated[
        Positional[str], arg(metavar="MODEL", help="A cell's name, or FILE.py:make, or package.module:make.")
    ]
    minutes: Annotated[float, option("N", "How long it may take, for each model. Default: 15.")] = 15.0
    seeds: Annotated[int, option("N", "Random seeds: items and weights. Default: 5, fewer decide nothing.")] = 5
    tasks: Annotated[Maybe[str], option("NAME,...", "Only these tasks. Default: all that fit into the time.")] = None
    against: Annotated[str, option("NAME,...", "Models to compare with. Default: lstm,gru.")] = "lstm,gru"
    kind: Annotated[
        Literal["tokens", "seq2seq", "classifier"],
        option("NAME", "tokens, seq2seq (source, target) or classifier (tokens, lengths). Default: tokens."),
    ] = "tokens"
    language_model: Annotated[
        bool, option(None, "MODEL scores sentences: it is trained already, and asked about minimal pairs.")
    ] = False
    pairs: Annotated[
        Maybe[Path], option("FILE", "With --language-model: pairs of your own. Default: generated ones.")
    ] = None
    out: Annotated[
        Maybe[Path], option("FILE", "Write a page (.html), a figure (.svg, .pdf, .png) or the profile (.json).")
    ] = None
    badge: Annotated[Maybe[Path], option("FILE", "Write a badge for a README (.svg).")] = None
    first_seed: Annotated[int, option("N", "The first seed. Default: 0.")] = 0
    workers: Workers = None
    cluster: Cluster = None
    device: Device = "auto"
    store: Folder = None
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.report.badge import check_badge, write_badge

        if self.pairs is not None and not self.language_model:
            raise UsageError("'--pairs' goes with --language-model.")
        if self.language_model:
            return self._pairs()
        if self.out is not None:
            from rote.report.profile_page import check_out

            check_out(self.out)
        if self.badge is not None:
            check_badge(self.badge)
        with contextlib.redirect_stdout(sys.stderr):  # what a module prints is not the answer
            profile = self._examined()
        console = err_console() if self.json else out_console()  # data stand alone
        if self.out is not None:
            from rote.report.profile_page import write_profile

            console.print(f"Written: {write_profile(profile, self.out)}", highlight=False, markup=False)
        if self.badge is not None:
            console.print(f"Written: {write_badge(profile, self.badge)}", highlight=False, markup=False)
        if self.json:
            print_json(profile.to_plain())
        else:
            show_profile(out_console(), profile)
        return 0

    def _examined(self) -> Profile:
        from rote.examination import examine, from_file
        from rote.laboratory import Display

        name = from_file(self.model) if ":" in self.model else self.model
        against = [from_file(one) if ":" in one else one for one in self.against.split(",") if one.strip()]
        with Display(err_console()) as display:
            return examine(
                name, minutes=self.minutes, seeds=self.seeds, against=against, first_seed=self.first_seed,
                tasks=None if self.tasks is None else self.tasks.split(","), kind=self.kind,
                store=open_store(self.store), workers=self.workers, cluster=self.cluster, device=self.device,
                display=display,
            )  # fmt: skip

    def _pairs(self) -> int:
        """A trained language model: only the tests that need no training."""
        from rote.commands.terminal import show_tables
        from rote.examination import from_file, minimal_pairs
        from rote.examination.learners import learners

        used = ("model", "language_model", "pairs", "json", "imports")
        others = [one for one in fields(self) if one.name not in used]
        if unused := [one.name for one in others if getattr(self, one.name) != one.default]:
            option = unused[0].replace("_", "-")
            raise UsageError(f"'--{option}' does nothing with --language-model. Leave it out.")
        if ":" not in self.model:
            raise UsageError(
                f"'--language-model' takes a function that scores sentences: my_lm.py:score. Got {self.model!r}."
            )
        with contextlib.redirect_stdout(sys.stderr):
            score: Any = learners[from_file(self.model)]
            table = minimal_pairs(score, self.pairs)
        if self.json:
            print_json(table.records())
        else:
            show_tables(out_console(), [table])
        return 0


def show_profile(console: Console, profile: Profile) -> None:
    """The profile: a line for each task, the index, what is composed and what is not, the references."""
    plan = profile.plan
    seeds = len(plan.get("seeds", ()))
    tasks = "1 task" if len(profile.tasks) == 1 else f"{len(profile.tasks)} tasks"
    console.print(
        f"{profile.name}   {profile.parameters:,} parameters   {tasks}, {seeds} seeds   "
        f"{profile.seconds / 60:.1f} minutes of training", style="bold", highlight=False, markup=False,
    )  # fmt: skip
    axis = _marks({-0.5: "misled", 0.0: "rote", 1.0: "rule"})
    console.print(f"{'task':<13}{'score':>6}  {axis}  {'known':>5}  outcome", highlight=False, style="dim")
    dimension = ""
    for name, task in profile.tasks.items():
        if task.dimension not in (dimension, "memory"):
            dimension = task.dimension
            told = profile.dimensions.get(dimension)
            number = "" if told is None else f"{told.value:>6.2f}"
            console.print(f"{dimension:<13}{number}", highlight=False, style="bold")
        if task.dimension != "memory":
            console.print(_line(name, task), highlight=False)
    _say_index(console, profile)
    for other in profile.references:
        _say_reference(console, profile, other)
    if plan.get("left_out"):
        console.print(f"Left out for lack of time: {', '.join(plan['left_out'])}. Give it more --minutes.", style="dim")
    if plan.get("formless"):
        console.print(
            f"Not for a {profile.kind}, whose answer is one symbol: {', '.join(plan['formless'])}.", style="dim"
        )
    if seeds < 5:
        console.print(f"Rough: {seeds} seeds decide nothing by themselves; with --seeds 5 they can.", style="dim")


def _line(name: str, task: TaskProfile) -> Text:
    from rich.text import Text

    known, score = task.share("known"), task.score
    told = f"  {name:<11}{'-' if score is None else f'{score.value:.2f}':>6}  "
    line = Text(told).append(_strip(task))
    line.append(f"  {'' if known is None else f'{known.value:.2f}':>5}  ")
    line.append(task.outcome, style=STYLES.get(task.outcome.rstrip("?"), "dim"))
    if task.failed:
        line.append(f" (a training failed: {task.failed[0]})", style="dim")
    return line


def _strip(task: TaskProfile) -> str:
    """Every seed a dot between rote and rule, and m where the memorizer is."""
    cells = [" "] * CELLS
    cells[_cell(0.0)], cells[_cell(1.0)] = "|", "|"
    for run in task.runs if task.is_test else ():
        zero = run["zero"]
        cells[_cell((run["memorizer"] - zero) / (1 - zero))] = "m"
    for score in task.scores.values() if task.is_test else ():
        cells[_cell(score)] = "o"
    return "".join(cells)


def _cell(value: float) -> int:
    return round((min(max(value, LEFT), RIGHT) - LEFT) / (RIGHT - LEFT) * (CELLS - 1))


def _marks(words: dict[float, str]) -> str:
    line = " " * CELLS
    for value, word in words.items():
        at = min(_cell(value), CELLS - len(word))
        line = line[:at] + word + line[at + len(word) :]
    return line


def _say_index(console: Console, profile: Profile) -> None:
    index, other, total = profile.score, profile.score_of_other_tasks, profile.score_of_all
    if index is None or other is None or total is None:
        console.print("No task was learned: nothing can be said about rules.", highlight=False)
    else:
        console.print(
            f"composition index {index.value:.2f} ({index.low:.2f} to {index.high:.2f}; other tasks {other.low:.2f} to "
            f"{other.high:.2f}), over {len(profile.scored)} of {profile.asked} tasks; {total.value:.2f} over all, "
            "where what was not learned counts 0", highlight=False, soft_wrap=True,
        )  # fmt: skip
    if profile.bits is not None:
        console.print(f"memory: {profile.bits.value:,.0f} bits of random labels", highlight=False)
    console.print(profile.sentence, highlight=False, soft_wrap=True)


def _say_reference(console: Console, profile: Profile, other: Profile) -> None:
    rows = profile.compare(other).records()
    told = {
        word: [row["task"] for row in rows if row["composes"] == verdict]
        for word, verdict in (("more", "more"), ("less", "less"))
    }
    index = "nothing learned" if other.score is None else f"index {other.score.value:.2f}"
    if profile.kind != other.kind:
        index += f", asked as {other.kind}; tasks with the same items: {len(profile.shared(other))}"
    parts = [f"composes {word} in {', '.join(names)}" for word, names in told.items() if names]
    console.print(
        f"against {other.name} ({index}): {'; '.join(parts) or 'no task decides'}", highlight=False, soft_wrap=True
    )
