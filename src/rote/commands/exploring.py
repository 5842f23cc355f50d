"""The command that starts the explorer."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional

from rote.commands.options import Folder, open_store, option


@dataclass(frozen=True)
class Explore:
    """Start the live explorer on this machine and open it in the browser; Ctrl-C ends it.

    It answers on loopback only, reads the store and changes no run in it.

    Try:
      rote explore
      rote explore --port 9000 --no-open
      rote explore my-models/gru
    """

    models: Annotated[
        Positional[tuple[str, ...]],
        option("[MODEL ...]", "Autocomplete models that were saved as files: the path without its ending."),
    ] = ()
    port: Annotated[int | None, option("N", "Port on 127.0.0.1. Default: the first free one from 8765 on.")] = None
    no_open: Annotated[bool, option(None, "Only print the address.")] = False
    store: Folder = None

    def __call__(self) -> int:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # two requests are computed at a time, each by one thread
        from rote.explorer.serving import bind, serve, url_of
        from rote.explorer.workbench import Workbench

        bench = Workbench(open_store(self.store), patience=0.0)
        for model in self.models:
            bench.shelf.add_file(model)
        with bind(self.port) as listening:
            url = url_of(listening)
            print(f"Rote explorer: {url}  (Ctrl-C ends it)", flush=True)
            if not self.no_open:
                _open(url)
            serve(bench, listening)
        print("Explorer ended.", file=sys.stderr, flush=True)
        os._exit(0)  # Python would wait for what is being computed; the store is only read, so that nothing is lost


def _open(url: str) -> None:
    """The connection waits until the server answers, since the port is listening already."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
