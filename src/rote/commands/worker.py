"""The command that lends this machine to a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg

from rote.commands.options import Maybe, err_console, option
from rote.errors import UsageError


@dataclass(frozen=True)
class Worker:
    """Join a dask scheduler and perform runs for whoever gives them to it (``--cluster``), until Ctrl-C.

    Every machine needs the same versions of Rote, torch and Python. Where it does not see the store's folder, results
    are sent back. Dask trusts whoever reaches it: use a private network, or tls:// with certificates.

    Code of one's own is sent with the runs. A scheduler is started with ``dask scheduler --host 127.0.0.1
    --dashboard-address 127.0.0.1:8787``; then ``rote run plane --cluster`` with its address.

    Try:
      rote worker tcp://127.0.0.1:8786
      rote worker tcp://127.0.0.1:8786 --workers 4
    """

    address: Annotated[Positional[str], arg(metavar="ADDRESS", help="Of the scheduler, as it prints it.")]
    workers: Annotated[Maybe[int], option("N", "Runs at a time. Default: the cores of this machine.")] = None

    def __call__(self) -> int:
        from rote.laboratory.cluster import check_address
        from rote.laboratory.laboratory import cores
        from rote.laboratory.remote import join

        check_address(self.address)
        if self.address == "slurm":
            raise UsageError("With --cluster slurm the workers are Slurm jobs; 'rote worker' joins tcp://HOST:PORT.")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"'workers' must be at least 1. Got {self.workers}.")
        console = err_console()
        join(self.address, self.workers or cores(), lambda text: console.print(text, markup=False, highlight=False))
        return 0
