"""Options that several commands share, the store they name, and where their output goes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from rote.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from rote.store import Store


def option(metavar: str | None, help: str) -> Any:
    """An argument whose help says itself what happens without it."""
    return arg(metavar=metavar, help=help, help_behavior_hint="")


Folder = Annotated[str | None, option("DIR", "Folder of the runs. Default: $ROTE_HOME, else ./rote-store.")]
Workers = Annotated[int | None, option("N", "Worker processes. Default: the cores of this machine.")]
Cluster = Annotated[
    str | None,
    option("ADDRESS", "Run on the workers of a dask scheduler, as tcp://host:8786, or slurm. See: rote worker."),
]
Device = Annotated[str, arg(metavar="NAME", help="auto, cpu, cuda, cuda:0, mps.")]
Json = Annotated[bool, option(None, "Print JSON for other programs.")]
PresetFilter = Annotated[str | None, option("NAME", "Only results of this preset. Default: the most thorough.")]


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


def confirm(question: str) -> bool:
    """Ask a person at the terminal."""
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def print_rows(rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    from rote.commands.terminal import rows_as_table

    out_console().print(rows_as_table(rows), highlight=False)


def print_json(value: object) -> None:
    from rote.store.files import finite

    print(json.dumps(finite(value), indent=2, ensure_ascii=False, default=str))


def out_console() -> Console:
    from rote.commands.terminal import console_for

    return console_for(sys.stdout)


def err_console() -> Console:
    from rote.commands.terminal import console_for

    return console_for(sys.stderr)
