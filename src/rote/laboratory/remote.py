"""What a worker of a cluster does: the functions that dask calls there, and ``rote worker``, which joins.

A run is not computed in the process that dask knows but in a worker process of its own, as on one machine: dask's
connections stay alive while it computes, Ctrl-C can reach it, and what kills it does not kill its neighbors.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import platform
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from rote.errors import UsageError
from rote.laboratory.orders import Order
from rote.laboratory.processes import WorkerProcess, starter
from rote.store import Request, Store
from rote.store.parcel import Files, pack, unpack
from rote.store.record import installed

Sent = list[tuple[dict[str, Any], Files]]  # requests and their runs' files

SCHEDULER = "dask scheduler --host ADDRESS --dashboard-address 127.0.0.1:8787"  # its default is open to everybody

_idle: list[WorkerProcess] = []
_busy: dict[WorkerProcess, str] = {}  # -> the client whose run it performs
_stopped: set[str] = set()  # clients that were interrupted
_change = threading.Lock()
_private = threading.Lock()
_folder: tempfile.TemporaryDirectory[str] | None = None


def versions() -> dict[str, str]:
    """What must be the same where a run is asked for and where it is computed."""
    packages = installed()["packages"]
    minor = ".".join(platform.python_version_tuple()[:2])
    return {"rote": packages["rote"], "torch": packages["torch"], "Python": minor}


def sees(root: str, token: str) -> bool:
    """Whether this machine has the client's store, locks included: the client holds one on the token."""
    try:
        with (Path(root) / token).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def perform_order(
    client: str, root: str, token: str, asked: dict[str, str], plain: dict[str, Any], sent: Sent | None
) -> dict[str, Any]:
    """Perform one order here; returns how it ended, with its files where the client's store is not seen."""
    if versions() != asked:
        return {"status": "refused", "error": mismatch(socket.gethostname(), versions(), asked)}
    order = Order.from_plain(plain)
    if sees(root, token):
        return _perform(client, order, Store(root))
    if sent is None:
        return {"status": "unseen"}
    store = _own_store()
    for request, files in sent:
        if files:
            unpack(store, Request.from_plain(request), files)
    ended = _perform(client, order, store)
    return {**ended, "files": pack(store.folder(order.request))}


def _own_store() -> Store:
    global _folder
    with _private:
        _folder = _folder or tempfile.TemporaryDirectory(prefix="rote-")
    return Store(_folder.name)


def _perform(client: str, order: Order, store: Store) -> dict[str, Any]:
    with _change:
        if client in _stopped:
            return {"status": "interrupted"}
        process = _process_for(order)
        _busy[process] = client
    tell = _teller(client, order)
    process.give(order, store)
    while (message := process.read()) is not None:
        if "total" in message:
            tell(message["done"], message["total"])
        elif message["status"] != "performed":  # its end: durable, failed, interrupted or locked
            with _change:
                del _busy[process]
                _idle.append(process)
            return message
    with _change:
        del _busy[process]
    process.close()
    return {"status": "died", "exit": process.exit}


def _process_for(order: Order) -> WorkerProcess:
    """An idle one; one that has imported another version of the order's code gives its place to a new one."""
    suited = [process for process in _idle if process.suits(order)]
    if _idle:
        process = (suited or _idle)[-1]
        _idle.remove(process)
        if suited:
            return process
        process.close()
    return starter.worker()


def _teller(client: str, order: Order) -> Callable[[int, int], None]:
    from distributed import get_worker

    worker, run, host = get_worker(), order.request.id, socket.gethostname()

    def tell(done: int, total: int) -> None:
        worker.log_event(f"rote-{client}", {"run": run, "host": host, "done": done, "total": total})

    tell(0, 0)
    return tell


def stop(client: str | None = None) -> None:
    """Stop the runs of this client, or all, after their current steps."""
    with _change:
        if client is not None:
            _stopped.add(client)
        for process, whose in _busy.items():
            if client in (None, whose):
                process.stop()


def mismatch(host: str, there: dict[str, str], here: dict[str, str]) -> str:
    different = [f"{name} {there.get(name)}" for name in here if there.get(name) != here[name]]
    wanted = [f"{name} {here[name]}" for name in here if there.get(name) != here[name]]
    return f"The worker on {host} has {', '.join(different)}; this command has {', '.join(wanted)}."


def installed_dask() -> Any:
    try:
        import distributed
    except ImportError:
        raise UsageError("A cluster needs dask. Install it with: pip install 'rote[cluster]'") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters of it is told by us
    return distributed


def check_certificates(address: str, role: Literal["client", "worker"]) -> None:
    """For tls:// dask must have been told where its certificates are."""
    if not address.startswith("tls://"):
        return
    problem = "none are configured"
    try:
        if installed_dask().Security().get_connection_args(role)["ssl_context"] is not None:
            return
    except (OSError, ValueError) as error:  # no such file, or none of that kind
        problem = f"those that are configured cannot be read ({error})"
    variable = "DASK_DISTRIBUTED__COMM__TLS__"
    raise UsageError(
        f"{address} needs certificates, and {problem}. Tell dask where they are: {variable}CA_FILE, "
        f"{variable}{role.upper()}__CERT and {variable}{role.upper()}__KEY."
    )


def join(address: str, workers: int, say: Callable[[str], None]) -> None:
    """Be a worker of the scheduler at ``address`` until Ctrl-C; when the scheduler is restarted, join again."""
    told = False
    check_certificates(address, "worker")
    while True:
        try:
            ours = _seen_from(address)
            if asyncio.run(_serve(address, ours, workers, say)):
                return
            say(f"Lost the scheduler at {address}; joining again when it is back.")
            told = True
        except (OSError, RuntimeError) as error:  # the second: it was there, but not for long
            if not told:
                raise UsageError(f"No scheduler answers at {address} ({error}). Start one: {SCHEDULER}") from None
        time.sleep(1.0)


def _seen_from(address: str) -> str:
    """Our own address on the scheduler's network: nothing listens on others. OSError where no scheduler answers."""
    dask = installed_dask()
    host, port = dask.comm.get_address_host_port(address)
    with socket.create_connection((host, port), timeout=5):
        return str(dask.utils.get_ip(host, port))


async def _serve(address: str, ours: str, workers: int, say: Callable[[str], None]) -> bool:
    """Until the scheduler is gone, or, with True, until Ctrl-C."""
    dask = installed_dask()
    starter.warm_up()
    # A worker that has lost its scheduler gives its runs back, rather than compute what is computed elsewhere.
    returns_runs = type("ReturnsRuns", (dask.WorkerPlugin,), {"teardown": lambda self, worker: stop()})
    worker = dask.Worker(
        address, nthreads=workers, host=ours, dashboard_address="127.0.0.1:0", memory_limit=0,
        local_directory=tempfile.gettempdir(), silence_logs=logging.CRITICAL, plugins=(returns_runs(),),
    )  # fmt: skip
    async with worker:
        say(f"Joined {address}: {workers} runs at a time. Ctrl-C leaves.")
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, _leave, worker)
        await worker.finished()
    return bool(worker.name == LEFT)


LEFT = "left"


def _leave(worker: Any) -> None:
    worker.name = LEFT
    asyncio.get_running_loop().create_task(worker.close(reason="Ctrl-C"))
