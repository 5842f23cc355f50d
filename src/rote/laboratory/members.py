"""The workers that have joined a cluster: which can be given runs, and why not the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from rote.errors import UsageError
from rote.laboratory import remote

SILENT = 10.0  # seconds without a sign of life, of which dask's workers give several in this time
REMEDY = "Install the same versions on every machine."


class Members:
    """``able`` of the workers can be given runs. What is wrong with others is told once, with ``say``."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.fit: set[str] = set()  # of our versions
        self.unfit: dict[str, str] = {}  # why
        self.silent: set[str] = set()
        self._signs: dict[str, tuple[float, float]] = {}  # the last sign of life: by its clock, noticed by ours
        self._told: set[str] = set()

    @property
    def able(self) -> set[str]:
        return self.fit - self.silent

    @property
    def all_able(self) -> bool:
        return not self.unfit and not self.silent

    def forget(self) -> None:
        """The scheduler is another one, and so may its workers be."""
        self.fit, self.unfit, self.silent, self._signs = set(), {}, set(), {}

    def look(self, client: Any) -> bool:
        """Bring this up to date; returns whether others than before can be given runs."""
        before = self.able, self.all_able
        there = client.scheduler_info(n_workers=-1)["workers"]
        self._listen(there)
        self.fit &= there.keys()
        self.unfit = {address: why for address, why in self.unfit.items() if address in there}
        unknown = there.keys() - self.fit - self.unfit.keys() - self.silent
        for address, answer in call(client, remote.versions, unknown).items():
            self._take(address, answer)
        for why in self.unfit.values():
            self._tell(f"{why} It is not used. {REMEDY}")
        return before != (self.able, self.all_able)

    def refuse_if_none_fits(self) -> None:
        if self.unfit and not self.fit:
            raise UsageError(f"{next(iter(self.unfit.values()))} {REMEDY}")

    def _take(self, address: str, answer: Any) -> None:
        here = remote.versions()
        if isinstance(answer, TimeoutError):
            self._fall_silent(address)
        elif isinstance(answer, Exception):
            self.unfit[address] = f"The worker at {address} cannot run Rote: {type(answer).__name__}: {answer}."
        elif answer != here:
            self.unfit[address] = remote.mismatch(address, answer, here)
        else:
            self.fit.add(address)

    def _listen(self, there: dict[str, dict[str, Any]]) -> None:
        now = time.monotonic()
        self._signs = {address: sign for address, sign in self._signs.items() if address in there}
        self.silent &= there.keys()
        for address, facts in there.items():
            sign, noticed = self._signs.setdefault(address, (facts["last_seen"], now))
            if sign != facts["last_seen"]:
                self._signs[address] = (facts["last_seen"], now)
                if address in self.silent:
                    self.silent.discard(address)
                    self.say(f"The worker at {address} answers again.")
            elif now - noticed > SILENT + len(there) / 100 and address not in self.silent:  # many give fewer signs
                self._fall_silent(address)

    def _fall_silent(self, address: str) -> None:
        self.silent.add(address)
        self.say(
            f"The worker at {address} has not answered for {SILENT:.0f} s: it is frozen, or cut off. What it has begun "
            "goes to others when it is ended, or when the scheduler gives it up."
        )

    def _tell(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self.say(line)


def call(client: Any, function: Callable[..., Any], workers: Iterable[str], *args: Any) -> dict[str, Any]:
    """What the function returns on each of these workers, or the exception; a TimeoutError from one that is silent."""

    async def one(address: str) -> Any:
        try:
            answers = await asyncio.wait_for(
                client.run(function, *args, workers=[address], on_error="return"), timeout=SILENT
            )
        except (OSError, TimeoutError) as error:  # the first: it has just gone
            return error
        return answers.get(address, OSError("it has gone"))

    async def each() -> dict[str, Any]:
        asked = list(workers)
        return dict(zip(asked, await asyncio.gather(*map(one, asked)), strict=True))

    found: dict[str, Any] = client.sync(each)
    return found
