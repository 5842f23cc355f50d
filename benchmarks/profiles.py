"""The profiles that come with Rote: known architectures at the standard budget, five seeds.

    python benchmarks/profiles.py [NAME ...]
    python benchmarks/profiles.py --again [NAME ...]

Writes src/rote/data/profiles/NAME.json for each and the README's picture, and prints a table of all. What was trained
before, in the store ``rote-profiles``, is not trained again. With --again the ones that are quickest to train, or the
named ones, are examined on five other seeds, for src/rote/data/again: do two examinations agree?

The numbers of the guide are those of all profiles; afterwards they are written anew by

    python tests/cli/run_markdown.py --write docs/guide/examine.md
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console

import rote
from rote.commands.examining import show_profile
from rote.examination.profile import Profile
from rote.examination.references import AGAIN, FOLDER, kept_profile, kept_profiles
from rote.figures.export import export
from rote.laboratory.progress import Display

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "profile.png"
NAMES = (
    "lstm", "gru", "elman", "nested_lstm", "transformer", "min_gru", "s6", "ssd", "mlstm", "gated_delta", "ngram",
    "rote",
)  # fmt: skip
QUICKEST = ("elman", "min_gru", "lstm", "gru", "transformer", "ngram", "rote")
SEEDS = 5
LONG = ("curve", "examples")  # what a profile shows of a training, beside its numbers


def main(words: list[str]) -> None:
    names, again = [word for word in words if word != "--again"], "--again" in words
    console, folder = Console(stderr=True), AGAIN if again else FOLDER
    folder.mkdir(exist_ok=True)
    for name in names or (QUICKEST if again else NAMES):
        with Display(console) as display:
            profile = rote.examine(
                name, minutes=600, seeds=SEEDS, first_seed=SEEDS if again else 0, against=(), store="rote-profiles",
                display=display,
            )  # fmt: skip
        (numbers_of(profile) if again else profile).save(folder / f"{name}.json")
        show_profile(console, profile)
    if again:
        return
    write_picture()
    print(f"{'':14}{'index':>7}{'bits':>7}  rule; misled; not learned")
    for profile in kept_profiles():
        told = "; ".join(", ".join(profile.with_outcome(word)) or "-" for word in ("rule", "misled", "not learned"))
        index = "" if profile.score is None else f"{profile.score.value:.2f}"
        bits = "" if profile.bits is None else f"{profile.bits.value:,.0f}"
        print(f"{profile.name:14}{index:>7}{bits:>7}  {told}")


def numbers_of(profile: Profile) -> Profile:
    """Without its curves and examples."""
    tasks = {
        name: replace(task, runs=tuple({**run, **{key: [] for key in LONG if key in run}} for run in task.runs))
        for name, task in profile.tasks.items()
    }
    return replace(profile, tasks=tasks)


def write_picture() -> None:
    """An LSTM beside the references that come with Rote: docs/images/profile.png."""
    first, *others = (profile for name in ("lstm", "gru", "elman", "transformer") if (profile := kept_profile(name)))
    PICTURE.write_bytes(export(replace(first, references=tuple(others)).to_table(), "png"))


if __name__ == "__main__":
    main(sys.argv[1:])
