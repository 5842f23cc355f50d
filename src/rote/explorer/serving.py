"""Starting and stopping the server: in the foreground for ``rote explore``, in a thread for ``rote.explore()``."""

from __future__ import annotations

import contextlib
import html
import logging
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from rote.errors import RoteError, UsageError
from rote.explorer.app import create_app
from rote.explorer.connections import TURN_SECONDS, Connection, most_connections
from rote.explorer.listening import address, bind
from rote.explorer.opening import in_browser
from rote.explorer.workbench import Workbench
from rote.models.pretrained import is_pretrained
from rote.models.subwords import is_tokenizer, subwords_of
from rote.store import Store

if TYPE_CHECKING:
    from rote.explorer.inline import Inline
    from rote.models import SequenceModel

START_SECONDS = 30.0


def new_token() -> str:
    """What who may use an explorer knows: 192 random bits."""
    return secrets.token_urlsafe(24)


class Server(uvicorn.Server):
    """Before it waits for the requests that it still has, these are told that it ends."""

    def __init__(self, bench: Workbench, token: str | None) -> None:
        self.bench = bench
        config = uvicorn.Config(
            create_app(bench, token), http=Connection, ws="none", log_level="warning", access_log=False,
            server_header=False, proxy_headers=False, timeout_keep_alive=TURN_SECONDS, timeout_graceful_shutdown=2,
            backlog=max(1, most_connections() // 8),  # so many are accepted before the first of them is counted
        )  # fmt: skip
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.bench.end()
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what nobody reads is cut off in silence
        await super().shutdown(sockets)


def serve(bench: Workbench, listening: socket.socket, token: str | None) -> None:
    """Answer until Ctrl-C or SIGTERM."""
    with contextlib.suppress(KeyboardInterrupt):  # the server ends itself, and then sends the signal on
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            Server(bench, token).run(sockets=[listening])
        finally:
            signal.signal(signal.SIGTERM, before)


class Explorer:
    """A running explorer: ``url`` to open, ``stop()`` when done (or ``with rote.explore(...) as explorer:``).

    Programs ask at ``address`` with the header ``Authorization: Bearer TOKEN``.
    """

    def __init__(self, bench: Workbench, port: int | None = None, *, token: bool = True) -> None:
        self.workbench = bench
        self.token = new_token() if token else None
        self._listening = bind(port)
        self.address, self.url = address(self._listening, None), address(self._listening, self.token)
        self._opened = contextlib.ExitStack()
        self._server = Server(bench, self.token)
        self._thread = threading.Thread(target=self._run, name="rote explorer", daemon=True)
        self._thread.start()
        self._wait(lambda: self._server.started)

    def stop(self) -> None:
        """End the server; what it computes is given up."""
        self._server.should_exit = True
        self._thread.join(START_SECONDS)
        self._listening.close()
        self._opened.close()

    def open(self) -> None:
        """Show the page in the browser."""
        self._opened.enter_context(in_browser(self.url))

    def __enter__(self) -> Explorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Explorer at {self.url}" if self._thread.is_alive() else "Explorer (stopped)"

    def inline(self, view: str = "connectivity", *, height: int = 760, **options: Any) -> Inline:
        """A view on a text that a notebook shows where it is, and keeps: it works without the server.

        - view: "connectivity", "autocomplete", "decomposition", "units", "lookup", "ledger" or "runs".
        - options: those of the view's address: text, models, at, norm, ... (models=["gru", "lstm@1200"]).

        >>> import rote
        >>> with rote.explore() as explorer:
        ...     shown = explorer.inline("connectivity", text="the united states", models=["gru"], at=13)
        >>> "<iframe" in shown._repr_html_()
        True
        """
        from rote.explorer.inline import asking, inline

        return inline(asking(self.address, self.token), view, options, height)

    def _repr_html_(self) -> str | None:
        """In a notebook: a link, and the first view; nothing more than its name once it is stopped."""
        if not self._thread.is_alive():
            return None
        link = (
            f'<p><a href="{html.escape(self.url)}" target="_blank" rel="noopener noreferrer">'
            f"Rote explorer at {html.escape(self.address)}</a></p>"
        )
        return link + self.inline()._repr_html_()

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START_SECONDS
        while not condition():
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RoteError(f"The explorer did not start at {self.address}.")
            time.sleep(0.01)


def explore(
    model: SequenceModel | Path | str | None = None,
    vocabulary: Any = None,
    *,
    outputs: Sequence[str] | None = None,
    title: str = "Your model",
    store: Store | Path | str | None = None,
    port: int | None = None,
    browser: bool = False,
    token: bool = True,
) -> Explorer:
    """Start the explorer in the background, with a model of your own in its catalog.

    - model: what ``rote.adapt`` gives, with embedding and readout; an autocomplete model; or the path of a
      saved one, or of a folder that Hugging Face's ``save_pretrained`` wrote.
    - vocabulary: the names of the symbols that the model reads, in the order of its embedding. Names of one character
      each make it a model of characters, others one of words. Or its tokenizer, of transformers or tokenizers.
    - outputs: the names of what it says, where these are other symbols.
    - browser: open the page at once.
    - token: only who has the address with its random token can use it; False: everybody on this machine can.

    >>> import torch, rote
    >>> lstm, table = torch.nn.LSTM(8, 16, batch_first=True), torch.nn.Embedding(27, 8)
    >>> model = rote.adapt(recurrent=lstm, embedding=table, readout=torch.nn.Linear(16, 27))
    >>> with rote.explore(model, " abcdefghijklmnopqrstuvwxyz") as explorer:
    ...     explorer.url.startswith("http://127.0.0.1:")
    True
    """
    bench = Workbench(store if isinstance(store, Store) else Store(store))
    if isinstance(model, str | Path):
        bench.catalog.add_pretrained(model) if is_pretrained(model) else bench.catalog.add_file(model)
    elif model is not None:
        if is_tokenizer(vocabulary):
            vocabulary = subwords_of(vocabulary)
        from rote.models import SequenceModel

        if not isinstance(model, SequenceModel):
            raise UsageError(f"'model' must be what rote.adapt(...) gives, or a path. Got {type(model).__name__}.")
        bench.catalog.add_model(model, vocabulary, outputs, title)
    started = Explorer(bench, port, token=token)
    if browser:
        started.open()
    return started
