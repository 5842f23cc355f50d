"""Seeds that are new to the criteria of a study's claims: what is found on them confirms or refutes."""

from __future__ import annotations

from typing import Any

from rote.claims import Claim, Register, criterion_hash
from rote.errors import UsageError
from rote.laboratory.study import Study
from rote.store.record import installed


def to_confirm(study: Study[Any]) -> list[Claim]:
    """The claims of a study that are judged by seeds."""
    return [claim for claim in study.claims if claim.kind not in ("identity", "audit") and study.default.seeds]


def fresh_overrides(study: Study[Any]) -> tuple[dict[str, object], dict[str, str]]:
    """The override that gives a study fresh seeds, and the criteria that they are to confirm. Refused unless these are
    registered, and the program is as it was committed: else nobody could tell which came first."""
    register, judged = Register.read(), to_confirm(study)
    if not judged:
        raise UsageError(f"Nothing in {study.name!r} is judged by seeds: leave out --fresh.")
    if changed := [claim.id for claim in judged if not register.has(claim)]:
        raise UsageError(
            f"The criterion of {', '.join(changed)} is not registered as it is now, so no run can confirm it. Enter it "
            'with: rote claims register --reason "..."; then commit that.'
        )
    environment = installed()
    if not environment.get("commit") or environment.get("dirty"):
        raise UsageError(
            "Fresh seeds confirm what was committed before, and this program differs from its commit, or has none: "
            "commit first, or leave out --fresh."
        )
    return {"first_seed": register.fresh_seed(judged)}, {claim.id: criterion_hash(claim) for claim in judged}
