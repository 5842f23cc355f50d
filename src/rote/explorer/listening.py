"""Where the explorer listens: a port on loopback, or a Unix socket that only its owner can open."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from rote.errors import UsageError

HOST, PORT, TRIED = "127.0.0.1", 8765, 20


def bind(port: int | None = None) -> socket.socket:
    """A listening place on loopback: the port that was asked for, or else the first free one from 8765 on."""
    if port is not None and not 0 <= port < 65536:
        raise UsageError(f"'port' must lie in 0 to 65535. Got {port}.")
    for candidate in [port] if port is not None else [*range(PORT, PORT + TRIED), 0]:
        # With the protocol named, asyncio sends an answer's last bytes at once (TCP_NODELAY); else they wait for 40 ms.
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((HOST, candidate))
            found.listen()
        except OSError as error:
            found.close()
            if port is not None:
                raise UsageError(f"Port {port} cannot be used: {error.strerror}. Choose another: --port N") from None
        else:
            return found
    raise UsageError("No free port on 127.0.0.1.")


def bind_socket(path: Path) -> socket.socket:
    """A Unix socket of mode 0600. One that a killed explorer left behind is replaced, any other file is not."""
    if not hasattr(socket, "AF_UNIX"):
        raise UsageError("'--socket' needs Unix sockets, which this system does not have. Use --port N.")
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)  # a mode that is set afterwards would come too late
    try:
        _clear(path)
        found.bind(str(path))
        found.listen()
    except OSError as error:
        found.close()
        raise UsageError(f"The socket {path} cannot be used: {error.strerror or error}. Choose another path.") from None
    except UsageError:
        found.close()
        raise
    finally:
        os.umask(before)
    return found


def address(listening: socket.socket, token: str | None) -> str:
    """What to open in a browser."""
    return f"http://{HOST}:{listening.getsockname()[1]}/{query(token)}"


def query(token: str | None) -> str:
    return "" if token is None else f"?token={token}"


def _clear(path: Path) -> None:
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise UsageError(
                f"The socket {path} cannot be used: there is a file that is no socket. Choose another path."
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise UsageError(f"The socket {path} cannot be used: an explorer answers there already. Choose another path.")
