"""The application: its routes, what guards them, and the page."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

import rote
from rote.chalk.stepping import PLAYER
from rote.errors import RoteError, UnknownNameError
from rote.explorer.messages import Answer, Key, RefusedError, error
from rote.explorer.safety import Guard
from rote.explorer.views import STATIC, VIEWS, routers
from rote.explorer.workbench import Workbench, workbench

HOUSE = Path(rote.__file__).parent / "report" / "assets"  # colors, type and tables are those of the report
WARM_UP = 1.0  # seconds after the start
THREADS = 128  # that wait for the pool; more requests wait for a thread

shell = APIRouter(prefix="/api", tags=["shell"])


@shell.get("/session")
def session(request: Request) -> dict[str, Any]:
    """What the page needs to start: its views, and where the runs are."""
    store = str(workbench(request).store.root)
    return {"version": rote.__version__, "store": store, "views": [asdict(view) for view in VIEWS]}


@shell.get("/models")
def models(request: Request) -> dict[str, Any]:
    """The catalog of models."""
    bench = workbench(request)
    return {"models": [listing.to_plain() for listing in bench.compute(bench.catalog.listing)]}


@shell.get("/models/{key}")
def model(request: Request, key: Key) -> dict[str, Any]:
    """One of them; every network of the store, not only those that the catalog lists."""
    bench = workbench(request)
    return bench.compute(bench.catalog.find, key).to_plain()


def create_app(bench: Workbench | None = None, token: str | None = None) -> FastAPI:
    """The explorer as an ASGI application. It answers only on loopback, whatever it is bound to, and with a ``token``
    only requests that have it."""
    bench = bench or Workbench()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        later = asyncio.get_running_loop().call_later(WARM_UP, bench.warm_up)  # the page first
        yield
        later.cancel()
        bench.close()

    app = FastAPI(
        title="Rote explorer", version=rote.__version__, openapi_url="/api/openapi.json", docs_url=None,
        redoc_url=None, default_response_class=Answer, lifespan=lifespan,
    )  # fmt: skip
    app.state.workbench = bench
    for router in (shell, *routers()):
        app.include_router(router)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html")

    @app.get("/static/lib/graph_player.js", include_in_schema=False)
    def graph_player() -> FileResponse:
        return FileResponse(PLAYER)  # chalk stands alone: what shows its graphs is its own

    app.mount("/static", StaticFiles(directory=STATIC))
    app.mount("/house", StaticFiles(directory=HOUSE))
    _tell_errors(app)
    app.add_middleware(Guard, token=token)
    return app


def _tell_errors(app: FastAPI) -> None:
    """Every error in one form, one line, no traceback."""

    @app.exception_handler(RoteError)
    def told(request: Request, raised: RoteError) -> Answer:
        if isinstance(raised, UnknownNameError):
            return error(404, str(raised))
        return error(raised.status if isinstance(raised, RefusedError) else 422, str(raised))

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, raised: RequestValidationError) -> Answer:
        return error(422, _first_problem(raised))

    @app.exception_handler(HTTPException)
    def refused(request: Request, raised: HTTPException) -> Answer:
        return error(raised.status_code, f"{request.method} {request.url.path[:200]}: {raised.detail}")

    @app.exception_handler(Exception)
    def unforeseen(request: Request, raised: Exception) -> Answer:
        traceback.print_exception(raised, file=sys.stderr)
        return error(500, f"The explorer failed: {type(raised).__name__}. The terminal that started it says where.")


def _first_problem(raised: RequestValidationError) -> str:
    problem = raised.errors()[0]
    place = ".".join(str(part) for part in problem["loc"][1:]) or "the request"
    return f"{place}: {problem['msg']}."
