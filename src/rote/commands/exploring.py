"""The command that starts the explorer."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional

from rote.commands.options import Folder, Imports, Maybe, open_store, option
from rote.errors import UsageError


@dataclass(frozen=True)
class Explore:
    """Start the live explorer on this machine and open it in the browser; Ctrl-C ends it.

    It answers on loopback only, and only who has the token of the printed address, so that other users of this
    machine see nothing. It reads the store and changes no run in it.

    Try:
      rote explore
      rote explore --port 9000 --no-open
      rote explore my-models/gru
      rote explore --model my-mamba
      rote explore --socket ~/rote.sock
    """

    models: Annotated[
        Positional[tuple[str, ...]],
        option(
            "[MODEL ...]", "Autocomplete models that were saved as files: their paths (./gru is a file, gru bundled)."
        ),
    ] = ()
    model: Annotated[
        tuple[str, ...], option("FOLDER", "Hugging Face models in local folders, with their tokenizers (extra 'hub').")
    ] = ()
    port: Annotated[Maybe[int], option("N", "Port on 127.0.0.1. Default: the first free one from 8765 on.")] = None
    no_open: Annotated[bool, option(None, "Only print the address.")] = False
    no_token: Annotated[bool, option(None, "Without a token: everybody on this machine can use it.")] = False
    socket: Annotated[
        Maybe[Path], option("PATH", "Listen on a Unix socket, which only you can open, instead of a port.")
    ] = None
    store: Folder = None
    imports: Imports = ()

    def __call__(self) -> int:
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # two requests are computed at a time, each by one thread
        from rote.explorer.listening import PORT, address, bind, bind_socket, query
        from rote.explorer.opening import in_browser
        from rote.explorer.serving import new_token, serve
        from rote.explorer.workbench import Workbench

        if self.socket is not None and self.port is not None:
            raise UsageError("Give '--port' or '--socket', not both.")
        token = None if self.no_token else new_token()
        bench = Workbench(open_store(self.store), patience=0.0)
        for saved in self.models:
            bench.catalog.add_file(saved)
        for folder in self.model:
            bench.catalog.add_pretrained(folder)
        with contextlib.ExitStack() as ended:
            if self.socket is None:
                listening = ended.enter_context(bind(self.port))
                url = address(listening, token)
                print(f"Rote explorer: {url}  (Ctrl-C ends it)", flush=True)
                if not self.no_open:
                    ended.enter_context(in_browser(url))
            else:
                path = self.socket.expanduser().absolute()
                listening = ended.enter_context(bind_socket(path))
                ended.callback(path.unlink, missing_ok=True)
                print(f"Rote explorer: {path}  (Ctrl-C ends it)")
                print(f"From your machine: ssh -L {PORT}:{shlex.quote(str(path))} {platform.node()}", end=", ")
                print(f"then open http://127.0.0.1:{PORT}/{query(token)}", flush=True)
            serve(bench, listening, token)
        print("Explorer ended.", file=sys.stderr, flush=True)
        os._exit(0)  # Python would wait for what is being computed; the store is only read, so that nothing is lost
