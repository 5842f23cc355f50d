"""The command that writes a view of the explorer as one file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from tyro.conf import Positional

from rote.commands.options import Folder, Imports, open_store, option, say
from rote.errors import UsageError


@dataclass(frozen=True)
class Share:
    """Write a view of the explorer with its state as one HTML file that opens without a server or a network.

    A view is named, with its settings as key=value, or given by the link that Export, Copy link gives.

    Try:
      rote share connectivity text="the united states" models=gru,lstm --out page.html
      rote share decomposition text="not good" model=gru phrase=0-2 --out page.html
      rote share "http://127.0.0.1:8765/#/ledger?outcome=contradicted" --out ledger.html
    """

    view: Annotated[Positional[str], option("VIEW", "connectivity, autocomplete, ledger, ... or a copied link.")]
    settings: Annotated[Positional[tuple[str, ...]], option("[key=value ...]", "As the view's link has them.")] = ()
    out: Annotated[Path, option("FILE", "The file to write; one that is there is replaced.")] = Path("page.html")
    store: Folder = None
    imports: Imports = ()

    def __call__(self) -> int:
        name, values = state_of(self.view)
        for setting in self.settings:
            key, equals, value = setting.partition("=")
            if not equals or not key:
                raise UsageError(f"A setting of a view is key=value, as text=hello. Got {setting!r}.")
            values[key] = value
        if self.out.is_dir():
            raise UsageError(f"'--out' must be a file, and {self.out} is a folder. Name one: {self.out}/page.html")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        from rote.explorer.inline import asking, check_view, inline
        from rote.explorer.serving import Explorer
        from rote.explorer.workbench import Workbench

        check_view(name, values)  # before anything is started
        with Explorer(Workbench(open_store(self.store)), 0) as explorer:
            page = inline(asking(explorer.address, explorer.token), name, values)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        page.save(self.out)
        say(f"{self.out} ({len(page.html.encode()) / 1e6:.1f} MB)")
        return 0


def state_of(view: str) -> tuple[str, dict[str, str]]:
    """The view's name and settings, from its name, ``#/ledger?q=gru``, or the address of one."""
    if "#" not in view:
        return view, {}
    path, _, query = urlsplit(view).fragment.lstrip("/").partition("?")
    return path, dict(parse_qsl(query))
