"""What one body of runs gives for the claims of a study: the values by seed, and at which scale.

A claim that cannot be judged from a run hinders no other: it is left out and named. A list ``left_out``, where one is
given, gets what it was and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rote.claims import Claim, Register, Scale, Values, measure
from rote.claims.register import BLOCK
from rote.errors import RoteError
from rote.laboratory.kept_results import Kept, used
from rote.laboratory.scale import scale_of
from rote.laboratory.study import Study
from rote.store import FinishedRun, Record

Where = Literal["kept", "here", "kept and here", ""]


@dataclass(frozen=True)
class Body:
    """What the networks of one scale, with old or with fresh seeds, gave for the claims of a study."""

    scale: Scale
    where: Where
    values: Mapping[str, Mapping[str, Values]]  # by claim and assertion
    runs: tuple[str, ...]
    fresh: bool = False
    criteria: Mapping[str, str] = field(default_factory=dict)  # registered before, where the seeds are fresh
    failed: Mapping[str, str] = field(default_factory=dict)  # claim -> why it cannot be judged from them

    @property
    def key(self) -> tuple[Scale, bool]:
        return self.scale, self.fresh

    def joined(self, other: Body) -> Body:
        """With the seeds of another body of the same kind; where both have one, that of the other counts. Of a claim
        that one of them confirms and the other only explores, the seeds that confirm are all that counts."""
        claims = dict.fromkeys([*self.values, *other.values])
        chosen = {claim: self._confirming(other, claim) for claim in claims}
        where: Where = self.where if self.where == other.where else "kept and here"
        return replace(
            self, where=where, runs=(*self.runs, *other.runs), failed={**self.failed, **other.failed},
            values={claim: _joined(*(body.values.get(claim, {}) for body in two)) for claim, two in chosen.items()},
            criteria={claim: two[-1].criteria[claim] for claim, two in chosen.items() if claim in two[-1].criteria},
        )  # fmt: skip

    def _confirming(self, other: Body, claim: str) -> tuple[Body, ...]:
        mine, theirs = self.criteria.get(claim), other.criteria.get(claim)
        if mine == theirs:
            return self, other
        return (self,) if theirs is None else (other,)


def body_of(study: Study[Any], run: FinishedRun | Kept, where: Where, left_out: list[str] | None = None) -> Body:
    """What a run of a study gives for its claims."""
    return body_of_claims(study.claims, run, study, where, left_out)


def body_of_claims(
    claims: Iterable[Claim],
    run: FinishedRun | Kept,
    study: Study[Any] | None,
    where: Where,
    left_out: list[str] | None = None,
) -> Body:
    """What a run gives for these claims; without a study, of which the settings are those of nobody else's."""
    record, tables = run.record, run.tables()
    values, failed = {}, {}
    for claim in claims:
        try:
            values[claim.id] = measure(claim, tables)
        except Exception as error:  # whatever an assertion makes of tables that it does not fit
            failed[claim.id] = f"It cannot be judged from the run {run.id}: {told(error)}"
            leave_out(left_out, f"the claim {claim.id} of {record.request.study}. {failed[claim.id]}")
    scale = Scale("own") if study is None else scale_of(study, record.request.config)
    criteria = confirmed_by(record, run.runs if isinstance(run, Kept) else _made_from(run))
    return Body(scale, where, values, (run.id, *record.uses), bool(criteria), criteria, failed)


def confirmed_by(record: Record, runs: Sequence[Record]) -> dict[str, str]:
    """The criteria, by claim, that a study's run can confirm or refute, from the records of all that it is made of: its
    seeds are kept for them, and its first training began after they were registered, with the program as committed."""
    if not is_fresh(record):
        return {}
    everything = (record, *runs)
    known = {run.request.id for run in runs}
    complete = all(used in known for run in everything for used in run.uses)
    clean = all(run.environment.get("commit") and not run.environment.get("dirty") for run in everything)
    if not complete or not clean:
        return {}
    register, begun = Register.read(), min(run.started for run in everything)
    return {claim: text for claim, text in record.criteria.items() if register.was_entered(claim, text, begun)}


def is_fresh(record: Record) -> bool:
    """Whether a study was run on seeds that are kept for registered criteria."""
    return bool(record.criteria) and bool(record.request.seeds) and min(record.request.seeds) >= BLOCK


def _made_from(run: FinishedRun) -> tuple[Record, ...]:
    """The records of a study's run in a store that is on fresh seeds; of others nobody asks."""
    if not is_fresh(run.record):
        return ()
    return tuple(used(run.record, {folder.name: folder for folder in run.folder.parents[1].glob("*/*")}))


def _joined(*bodies: Mapping[str, Values]) -> dict[str, Values]:
    labels = dict.fromkeys(label for body in bodies for label in body)
    return {label: {seed: value for body in bodies for seed, value in body.get(label, {}).items()} for label in labels}


def leave_out(left_out: list[str] | None, reason: str) -> None:
    if left_out is not None and reason not in left_out:
        left_out.append(reason)


def told(error: Exception) -> str:
    return str(error) if isinstance(error, RoteError) else f"{type(error).__name__}: {' '.join(str(error).split())}"
