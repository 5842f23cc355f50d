"""The profiles that come with Rote: known architectures at the standard budget, five seeds.

    python benchmarks/profiles.py [NAME ...]

Writes src/rote/data/profiles/NAME.json for each and the README's picture, and prints a table of all. What was trained
before, in the store ``rote-profiles``, is not trained again.

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
from rote.examination.references import FOLDER, kept_profile, kept_profiles
from rote.figures.export import export
from rote.laboratory.progress import Display

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "profile.png"
NAMES = (
    "lstm", "gru", "elman", "nested_lstm", "transformer", "min_gru", "s6", "ssd", "mlstm", "gated_delta", "ngram",
    "rote",
)  # fmt: skip


def main(names: list[str]) -> None:
    console = Console(stderr=True)
    FOLDER.mkdir(exist_ok=True)
    for name in names or NAMES:
        with Display(console) as display:
            profile = rote.examine(name, minutes=600, seeds=5, against=(), store="rote-profiles", display=display)
        profile.save(FOLDER / f"{name}.json")
        show_profile(console, profile)
    write_picture()
    print(f"{'':14}{'index':>7}{'bits':>7}  rule; misled; not learned")
    for profile in kept_profiles():
        told = "; ".join(", ".join(profile.with_outcome(word)) or "-" for word in ("rule", "misled", "not learned"))
        index = "" if profile.score is None else f"{profile.score.value:.2f}"
        bits = "" if profile.bits is None else f"{profile.bits.value:,.0f}"
        print(f"{profile.name:14}{index:>7}{bits:>7}  {told}")


def write_picture() -> None:
    """An LSTM beside the references that come with Rote: docs/images/profile.png."""
    first, *others = (profile for name in ("lstm", "gru", "elman", "transformer") if (profile := kept_profile(name)))
    PICTURE.write_bytes(export(replace(first, references=tuple(others)).to_table(), "png"))


if __name__ == "__main__":
    main(sys.argv[1:])
