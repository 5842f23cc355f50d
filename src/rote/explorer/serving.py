"""Starting and stopping the server: in the foreground for ``rote explore``, in a thread for ``rote.explore()``."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from rote.errors import RoteError, UsageError
from rote.explorer.app import create_app
from rote.explorer.workbench import Workbench

if TYPE_CHECKING:
    pass

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


def server(bench: Workbench) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(bench), log_level="warning", access_log=False, limit_concurrency=1024, timeout_keep_alive=20,
        timeout_graceful_shutdown=2, ws="none", server_header=False,
    )  # fmt: skip
    return uvicorn.Server(config)


class Explorer:
    """A running explorer: ``url`` to open, ``stop()`` when done (or ``with rote.explore(...) as explorer:``)."""

    def __init__(self, bench: Workbench, port: int | None = None) -> None:
        self.workbench = bench
        self._listening = bind(port)
        self.url = url_of(self._listening)
        self._server = server(bench)
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

    def _run(self) -> None:
        self._server.run(sockets=[self._listening])

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START_SECONDS
        while not condition():
            if not self._thread.is_alive() or time.monotonic() > until:
                raise RoteError(f"The explorer did not start at {self.url}.")
            time.sleep(0.01)


def explore(*paths: str | Path, port: int | None = None) -> Explorer:
    """Start the explorer in the background."""
    return Explorer(Workbench(), port)
