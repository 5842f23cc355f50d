"""Opening the page in the browser without showing its token to the other users of the machine."""

from __future__ import annotations

import contextlib
import html
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path

KEPT_SECONDS = 30.0  # for a browser to start


@contextlib.contextmanager
def in_browser(url: str) -> Iterator[None]:
    """The browser opens the address while the block goes on.

    A browser gets what it is to open as an argument, and arguments can be read by everybody on Linux and its relatives
    (``ps``). There it gets a file, which only the user can read, that leads to the address. The file lies in the home
    folder, because a browser from a snap reads neither hidden folders nor the temporary one.
    """
    if "?token=" not in url or sys.platform in ("darwin", "win32"):
        _open(url)
        yield
        return
    page = _page(url)
    removed = threading.Timer(KEPT_SECONDS, page.unlink, kwargs={"missing_ok": True})
    removed.daemon = True
    removed.start()
    try:
        _open(page.as_uri())
        yield
    finally:
        removed.cancel()
        page.unlink(missing_ok=True)


def _open(address: str) -> None:
    """The connection waits until the server answers, since the port is listening already."""
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _page(url: str) -> Path:
    home = os.path.expanduser("~")
    folder = home if os.access(home, os.W_OK) else None
    descriptor, name = tempfile.mkstemp(".html", "rote-explorer-", folder)  # of mode 0600
    shown = html.escape(url)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={shown}"><title>Rote explorer</title>'
            f'<p><a href="{shown}">Open the explorer</a></p>\n'
        )
    return Path(name)
