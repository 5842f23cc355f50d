"""Options that several commands share, the store they name, and where their output goes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional, TypeVar

from tyro.conf import UseAppendAction, arg

from rote.errors import UsageError
from rote.printable import in_json, printable

if TYPE_CHECKING:
    from rich.console import Console

    from rote.store import Store

T = TypeVar("T")
# An option that may be left out. Of ``T | None`` tyro asks typeguard, whose import takes longer than a short command.
Maybe = Optional[T]  # noqa: UP045


def option(metavar: str | None, help: str) -> Any:
    """An argument whose help says itself what happens without it."""
    return arg(metavar=metavar, help=help, help_behavior_hint="")


Folder = Annotated[Maybe[str], option("DIR", "Folder of the runs. Default: $ROTE_HOME, else ./rote-store.")]
Workers = Annotated[Maybe[int], option("N", "Worker processes. Default: the cores of this machine.")]
Cluster = Annotated[
    Maybe[str],
    option("ADDRESS", "Run on the workers of a dask scheduler, as tcp://host:8786, or slurm. See: rote worker."),
]
Device = Annotated[str, arg(metavar="NAME", help="auto, cpu, cuda, cuda:0, mps.")]
Imports = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(
        name="import",
        metavar="FILE",
        help="Import a file (cells.py) or a module (acme.cells) of your own first: what it registers is known then.",
        help_behavior_hint="May be given several times.",
    ),
]
Json = Annotated[bool, option(None, "Print JSON for other programs.")]
PresetFilter = Annotated[Maybe[str], option("NAME", "Only results of this preset. Default: the most thorough.")]


def import_named(names: tuple[str, ...]) -> None:
    """What the user names with --import; nothing else from the current folder is ever imported."""
    from rote.plugins import load
    from rote.registry import all_outside
    from rote.sources import reached_from

    modules = load(names)
    used = {module for entry in all_outside() for one in entry.outside for module in reached_from(one)}
    for name, module in zip(names, modules, strict=True):
        if module not in used:
            raise UsageError(
                f"'--import {name}' registers nothing (as @cells.register and @studies.register do), and nothing that "
                "is registered imports it."
            )


def open_store(folder: str | None) -> Store:
    from rote.store import Store

    store = Store(folder)
    try:
        in_the_way = any(path.exists() and not path.is_dir() for path in (store.root, *store.root.parents))
    except OSError as error:  # such as too long a name
        raise UsageError(f"The store cannot be at {store.root}: {error.strerror}. Choose another --store.") from None
    if in_the_way:
        raise UsageError(
            f"The store {store.root} is a file, or lies below one. Set ROTE_HOME (or --store) to a folder."
        )
    return store


def say(text: str, *, end: str = "\n") -> None:
    """Print a text that may hold anything."""
    print(printable(text), end=end)


def confirm(question: str) -> bool:
    """Ask a person at the terminal."""
    try:
        return input(f"{printable(question)} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def tell_left_out(left_out: Sequence[str]) -> int:
    """Name what is damaged, each once; the command's exit code."""
    for reason in dict.fromkeys(left_out):
        print(f"rote: Left out: {printable(reason, lines=False)}", file=sys.stderr)
    return int(bool(left_out))


def print_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    from rote.commands.terminal import rows_as_table

    out_console().print(rows_as_table(rows), highlight=False)


def print_json(value: object) -> None:
    from rote.store.files import finite

    print(in_json(json.dumps(finite(value), indent=2, ensure_ascii=False, default=str)))


def out_console() -> Console:
    from rote.commands.terminal import console_for

    return console_for(sys.stdout)


def err_console() -> Console:
    from rote.commands.terminal import console_for

    return console_for(sys.stderr)
