"""Everything that Rote raises on purpose.

RoteError                   what a user can act on; the message names the value and the remedy
├── UsageError              wrong before anything started: a name, a key, a value (exit code 2)
│   ├── UnknownNameError    no such study, preset, key, ...; suggests the nearest one
│   └── SettingError        a setting that cannot be; names its key and, where one is meant, the study
├── StoreError              the run store could not be read or written (exit code 1)
│   ├── DamagedFileError    truncated, altered or foreign file
│   ├── NewerVersionError   written by a later version of Rote
│   ├── RunLockedError      another process is writing this run
│   └── RunFinishedError    another process has finished it meanwhile
├── RunFailedError          a study failed while it ran (exit code 1)
└── InterruptedRunError     stopped by Ctrl-C after the current step; can go on (exit code 130)
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class RoteError(Exception):
    exit_code = 1


class UsageError(RoteError):
    exit_code = 2


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question for the end of a message, or nothing if no known name is near."""
    nearest = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"Did you mean {nearest[0]!r}?" if nearest else ""


NAMED = 40  # names that an error lists


class UnknownNameError(UsageError):
    """``UnknownNameError("study", "plan", ["plane"])`` reads: Unknown study 'plan'. Did you mean 'plane'?"""

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        more = f" and {len(self.known) - NAMED} more" if len(self.known) > NAMED else ""
        hint = did_you_mean(name, self.known) or f"Known: {', '.join(self.known[:NAMED]) or 'none yet'}{more}."
        super().__init__(f"Unknown {kind} {name!r}{where}. {hint}")


class SettingError(UsageError):
    """``SettingError("seeds", "must be at least 1. Got 0.")`` reads: 'seeds' must be at least 1. Got 0."""

    def __init__(self, name: str, wrong: str, where: str = "") -> None:
        self.name, self.wrong, self.where = name, wrong, where
        super().__init__(f"{name!r}{where} {wrong}")

    def in_group(self, prefix: str) -> SettingError:
        """The same, named as one has to type it."""
        return SettingError(prefix + self.name, self.wrong, self.where)

    def in_study(self, study: str) -> SettingError:
        return SettingError(self.name, self.wrong, f" of the study {study!r}")


class StoreError(RoteError):
    pass


class DamagedFileError(StoreError):
    pass


class NewerVersionError(StoreError):
    pass


class RunLockedError(StoreError):
    pass


class RunFinishedError(StoreError):
    pass


class RunFailedError(RoteError):
    pass


class InterruptedRunError(RoteError):
    exit_code = 130

    def __init__(self, told: str, *, nothing_kept: bool = False) -> None:
        super().__init__(told)
        self.nothing_kept = nothing_kept  # so that the same command begins anew
