"""Starting and stopping the server: in the foreground for ``rote explore``, in a thread for ``rote.explore()``."""

from __future__ import annotations

import contextlib
import html
import logging
import signal
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from rote.errors import RoteError, UsageError
from rote.explorer.app import create_app
from rote.explorer.workbench import Workbench
from rote.store import Store

if TYPE_CHECKING:
    from rote.explorer.inline import Inline
    from rote.models import SequenceModel

HOST, PORT, TRIED = "127.0.0.1", 8765, 20
START_SECONDS = 30.0


def bind(port: int | None = None) -> socket.socket:
    """A listening place on loopback: the port that was asked for, or else the first free one from 8765 on."""
    if port is not None and not 0 <= port < 65536:
        raise UsageError(f"'port' must lie in 0 to 65535. Got {port}.")
    for candidate in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, candidate))
            found.listen(512)
        except OSError as error:
            found.close()
            if port is not None:
                raise UsageError(f"Port {port} cannot be used: {error.strerror}. Choose another: --port N") from None
        else:
            return found
    raise UsageError("No free port on 127.0.0.1.")


def url_of(listening: socket.socket) -> str:
    return f"http://{HOST}:{listening.getsockname()[1]}/"


class Server(uvicorn.Server):
    """Before it waits for the requests that it still has, these are told that it ends."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        config = uvicorn.Config(
            create_app(bench), log_level="warning", access_log=False, limit_concurrency=1024, timeout_keep_alive=20,
            timeout_graceful_shutdown=2, ws="none", server_header=False,
        )  # fmt: skip
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.bench.end()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what nobody reads is cut off in silence
        await super().shutdown(sockets)


def serve(bench: Workbench, listening: socket.socket) -> None:
    """Answer until Ctrl-C or SIGTERM."""
    with contextlib.suppress(KeyboardInterrupt):  # the server ends itself, and then sends the signal on
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            Server(bench).run(sockets=[listening])
        finally:
            signal.signal(signal.SIGTERM, before)


class Explorer:
    """A running explorer: ``url`` to open, ``stop()`` when done (or ``with rote.explore(...) as explorer:``)."""

    def __init__(self, bench: Workbench, port: int | None = None) -> None:
        self.workbench = bench
        self._listening = bind(port)
        self.url = url_of(self._listening)
        self._server = Server(bench)
        self._thread = threading.Thread(target=self._run, name="rote explorer", daemon=True)
        self._thread.start()
        self._wait(lambda: self._server.started)

    def stop(self) -> None:
        """End the server; what it computes is given up."""
        self._server.should_exit = True
        self._thread.join(START_SECONDS)
        self._listening.close()

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}"

    def inline(self, view: str = "connectivity", *, height: int = 760, **options: Any) -> Inline:
        """A view on a text that a notebook shows where it is, and keeps: it works without the server.

        - view: "connectivity", "autocomplete" or "decomposition".
        - options: those of the view's address: text, models, at, norm, ... (models=["gru", "lstm@1200"]).

        >>> import rote
        >>> with rote.explore() as explorer:
        ...     shown = explorer.inline("connectivity", text="the united states", models=["gru"], at=13)
        >>> "<iframe" in shown._repr_html_()
        True
        """
        from rote.explorer.inline import asking, inline

        return inline(asking(self.url), view, options, height)

    def _repr_html_(self) -> str:
        """In a notebook: a link, and the first view."""
        url = html.escape(self.url)
        link = f'<p><a href="{url}" target="_blank" rel="noopener">Rote explorer at {url}</a></p>'
        return link + self.inline()._repr_html_()

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START_SECONDS
        while not condition():
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RoteError(f"The explorer did not start at {self.url}.")
            time.sleep(0.01)


def explore(
    model: SequenceModel | Path | str | None = None,
    vocabulary: Sequence[str] | None = None,
    *,
    outputs: Sequence[str] | None = None,
    title: str = "Your model",
    store: Store | Path | str | None = None,
    port: int | None = None,
    browser: bool = False,
) -> Explorer:
    """Start the explorer in the background, with a model of your own on its shelf.

    - model: what ``rote.adapt`` gives, with embedding and readout; an autocomplete model; or the path of a saved one.
    - vocabulary: the names of the symbols that the model reads, in the order of its embedding. Names of one character
      each make it a model of characters, others one of words.
    - outputs: the names of what it says, where these are other symbols.
    - browser: open the page at once.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(27, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 27))
    >>> with rote.explore(model, " abcdefghijklmnopqrstuvwxyz") as explorer:
    ...     explorer.url.startswith("http://127.0.0.1:")
    True
    """
    bench = Workbench(store if isinstance(store, Store) else Store(store))
    if isinstance(model, str | Path):
        bench.shelf.add_file(model)
    elif model is not None:
        from rote.models import SequenceModel

        if not isinstance(model, SequenceModel):
            raise UsageError(f"'model' must be what rote.adapt(...) gives, or a path. Got {type(model).__name__}.")
        bench.shelf.add_model(model, vocabulary, outputs, title)
    started = Explorer(bench, port)
    if browser:
        webbrowser.open(started.url)
    return started
