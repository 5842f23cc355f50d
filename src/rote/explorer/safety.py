"""Loopback only, and only who has the token: what stands between the network and the routes.

Other users of the machine can reach the port too. So every request needs the token of the printed address, except for
the files of the package, which hold nothing of the user. It comes in a header, which the page sets; a cookie would go
to every port of 127.0.0.1, those of the other users included.

Another page in the same browser can send requests here, and a name that resolves to 127.0.0.1 can stand in the address
bar (DNS rebinding). So the Host header must name this machine, an Origin must be this server, anything another site
asks for is refused unless it is a link that was followed, and a POST must be JSON, which no plain form can send.
Bodies are read whole, up to a limit in size and time, before a route sees them; an answer must begin in time.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rote.explorer.messages import error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 256 * 1024  # bytes
BODY_SECONDS = 10.0  # for a body to arrive
ANSWER_SECONDS = 90.0  # for an answer to begin
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-cache",
}


_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_HERE = re.compile(rf"({'|'.join(map(re.escape, _LOOPBACK))})(:\d{{1,5}})?")
_FREE = ("/static/", "/house/")  # the package's own files


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, token: str | None = None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_headers(message.get("headers", ()))}
            await send(message)

        refusal = _refused(scope, self.token)
        if refusal is None:
            body = await _body(scope, receive)
            if isinstance(body, bytes):
                await self._answered(scope, _replay(body, receive), guarded, lambda: begun)
                return
            refusal = body
        await error(*refusal)(scope, receive, guarded)

    async def _answered(self, scope: Scope, receive: Receive, send: Send, begun: Any) -> None:
        """Run the application; give up if its answer has not begun in time. What streams may go on."""
        task = asyncio.ensure_future(self.app(scope, receive, send))
        try:
            done, _ = await asyncio.wait({task}, timeout=ANSWER_SECONDS)
            if not done and not begun():
                task.cancel()
                await asyncio.wait({task})
                await error(503, f"No answer within {ANSWER_SECONDS:.0f} seconds. Ask for less.")(scope, receive, send)
                return
            await task
        finally:
            task.cancel()


def _refused(scope: Scope, token: str | None) -> tuple[int, str] | None:
    headers = _first(scope["headers"])
    host, origin = headers.get("host", ""), headers.get("origin")
    hosts = own_hosts(scope, host)
    if host.lower() not in hosts:
        return (
            421,
            f"The Host {host[:80]!r} is not this server. Open http://{min(hosts, default=_LOOPBACK[0])}/ instead.",
        )
    if origin is not None and origin.lower() not in {f"http://{name}" for name in hosts}:
        return 403, f"Requests from {origin[:80]!r} are not served."
    elsewhere = headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if elsewhere and not (followed and scope["method"] == "GET"):
        return 403, "Requests from other pages are not served."
    if token is not None and not (_is_free(scope) or _has(headers.get("authorization", ""), token)):
        return 403, "The token of this explorer is needed. Open the address that it printed when it was started last."
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    if scope["method"] not in ("GET", "HEAD") and kind != "application/json":
        return 415, f"Send JSON with the content type application/json. Got {kind[:80]!r}."
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        return 400, f"The content-length {length[:80]!r} is not a number."
    return (413, _too_large()) if len(length) > 12 or int(length) > BODY_LIMIT else None


def own_hosts(scope: Scope, host: str) -> set[str]:
    """The names under which a browser on this machine knows the port that we listen on. Behind a Unix socket stands
    any port that somebody forwards to it."""
    port = (scope.get("server") or ("", None))[1]
    if port is None:
        return {host.lower()} if _HERE.fullmatch(host.lower()) else set()
    return {f"{name}:{port}" for name in _LOOPBACK} | (set(_LOOPBACK) if port == 80 else set())


def _is_free(scope: Scope) -> bool:
    return scope["method"] in ("GET", "HEAD") and (scope["path"] == "/" or scope["path"].startswith(_FREE))


def _has(authorization: str, token: str) -> bool:
    """Takes the same time whichever character is wrong."""
    return hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode())


async def _body(scope: Scope, receive: Receive) -> bytes | tuple[int, str]:
    """The whole body, or why it is refused."""
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return 400, "The request ended before its body did."
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > BODY_LIMIT:
                    return 413, _too_large()
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return 408, f"The body did not arrive within {BODY_SECONDS:.0f} seconds."


def _replay(body: bytes, receive: Receive) -> Receive:
    """What was read already, and then what happens to the connection."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _first(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By name; a name that comes twice counts as both together, so that no check sees only the harmless one."""
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in headers if name.decode("latin-1").lower() not in HEADERS]
    return kept + [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def _too_large() -> str:
    return f"The request is larger than {BODY_LIMIT // 1024} KiB. Send a shorter text."
