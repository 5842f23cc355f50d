"""The register: what changes a criterion's hash, entries, and the seeds that are fresh to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rote.claims import Assertion, Claim, Register, above, any_of, below, column, criterion_hash, inside, measured
from rote.claims.register import BLOCK
from rote.errors import UsageError
from rote.laboratory import Laboratory, fresh, studies
from rote.laboratory.bodies import _made_from, confirmed_by
from rote.store import Store

PART = Assertion("Wrong", column("seeds", "wrong", setting="a"), above(0.0))
CLAIM = Claim("made-up", "resistance", "Section 1", "It is wrong.", "wrong", (PART,))

LIMIT = 0.5


def over_limit(tables):
    """What it is above the limit."""
    return {0: 1.0 - LIMIT}  # a comment


def test_what_decides_the_verdict_changes_the_hash_and_what_is_said_beside_it_does_not():
    changed = [
        replace(CLAIM, statement="It is very wrong."),
        replace(CLAIM, kind="implied"),
        replace(CLAIM, assertions=(replace(PART, holds=above(0.1)),)),
        replace(CLAIM, assertions=(replace(PART, holds=inside(0.0, 1.0)),)),
        replace(CLAIM, assertions=(replace(PART, seeds="nearly all"),)),
        replace(CLAIM, assertions=(replace(PART, of=column("seeds", "wrong", setting="b")),)),
        replace(CLAIM, assertions=(replace(PART, of=PART.of - PART.of),)),
        replace(CLAIM, assertions=(PART, replace(PART, label="Rival", role="rival"))),
        replace(CLAIM, assertions=(any_of(PART, replace(PART, label="Other", holds=below(0))),)),
    ]
    hashes = {criterion_hash(claim) for claim in changed}
    assert len(hashes) == len(changed)
    assert criterion_hash(CLAIM) not in hashes
    assert criterion_hash(replace(CLAIM, remark="Read it so.")) == criterion_hash(CLAIM)


def test_the_text_of_a_function_is_part_of_it_with_the_constants_that_it_uses_but_not_its_comments():
    text = measured(over_limit).text
    assert "1.0 - LIMIT" in text
    assert "LIMIT=0.5" in text
    assert "comment" not in text
    assert "above the limit" not in text


def test_an_entry_is_added_and_read_again_and_a_changed_criterion_is_not_registered(tmp_path: Path):
    path = tmp_path / "register.json"
    register = Register.read(path)
    assert not register.has(CLAIM)
    register.with_entries([CLAIM], "2026-01-02T03:04:05+00:00", "first").write(path)
    again = Register.read(path)
    assert again.has(CLAIM)
    other = replace(CLAIM, statement="Otherwise.")
    assert not again.has(other)
    twice = again.with_entries([other], "2026-01-03T03:04:05+00:00", "a mistake")
    assert [entry.reason for entry in twice.of(CLAIM)] == ["first", "a mistake"]
    assert twice.has(other)
    assert not twice.has(CLAIM)
    assert (again.fresh_seed([CLAIM]), twice.fresh_seed([CLAIM])) == (BLOCK, 2 * BLOCK)


def test_fresh_seeds_are_refused_unless_the_criteria_are_registered_and_the_program_is_as_committed(monkeypatch):
    plane = studies["plane"]()
    monkeypatch.setattr(fresh, "installed", lambda: {"commit": "1" * 40, "dirty": False})
    monkeypatch.setattr(fresh.Register, "read", classmethod(lambda cls: Register({})))
    with pytest.raises(UsageError, match=r"plane-seeds, .* not registered as it is now.*rote claims register"):
        fresh.fresh_overrides(plane)
    registered = Register({}).with_entries(plane.claims, "2026-01-02T03:04:05+00:00", "first")
    monkeypatch.setattr(fresh.Register, "read", classmethod(lambda cls: registered))
    first, criteria = fresh.fresh_overrides(plane)
    assert first == {"first_seed": BLOCK}
    assert set(criteria) == {claim.id for claim in plane.claims}
    for environment in ({"commit": None, "dirty": None}, {"commit": "1" * 40, "dirty": True}):
        monkeypatch.setattr(fresh, "installed", lambda environment=environment: environment)
        with pytest.raises(UsageError, match="commit first"):
            fresh.fresh_overrides(plane)


def test_a_run_on_fresh_seeds_notes_its_criteria_and_its_verdicts_confirm(tmp_path: Path, monkeypatch):
    plane = studies["plane"]
    registered = Register({}).with_entries(plane.claims, "2026-01-02T03:04:05+00:00", "first")
    monkeypatch.setattr(fresh.Register, "read", classmethod(lambda cls: registered))
    clean = {"python": "3", "platform": "here", "packages": {}, "commit": "1" * 40, "dirty": False}
    monkeypatch.setattr(fresh, "installed", lambda: clean)
    laboratory = Laboratory(Store(tmp_path), workers=1)
    before = laboratory.run("plane", "smoke", {"seeds": 2, "first_seed": 1000})  # which says not what it is to confirm
    assert before.run.record.criteria == {}
    result = laboratory.run("plane", "smoke", {"seeds": 2}, fresh=True)
    assert (result.run.id, result.computed) == (before.run.id, 0)
    record = result.run.record
    assert record.request.seeds == (BLOCK, BLOCK + 1)
    assert record.criteria == {claim.id: criterion_hash(claim) for claim in plane.claims}
    records = [replace(one, environment=clean) for one in (record, *_made_from(result.run))]
    assert len(records) == 9  # four trainings and four measurements
    assert confirmed_by(records[0], records[1:]) == record.criteria
    later = Register({}).with_entries(plane.claims, "9999-01-01T00:00:00+00:00", "after the runs")
    changed = {
        "another seed": (replace(records[0], request=replace(record.request, seeds=(0, 1))), records[1:]),
        "no criteria": (replace(records[0], criteria={}), records[1:]),
        "a changed program": (records[0], [replace(records[1], environment={**clean, "dirty": True}), *records[2:]]),
        "no commit": (records[0], [*records[1:-1], replace(records[-1], environment={**clean, "commit": None})]),
        "a training begun before": (
            records[0],
            [*records[1:-1], replace(records[-1], started="2026-01-01T00:00:00+00:00")],
        ),
        "a training that is gone": (records[0], records[1:-1]),
    }
    assert {name for name, (study, runs) in changed.items() if confirmed_by(study, runs)} == set()
    monkeypatch.setattr(fresh.Register, "read", classmethod(lambda cls: later))
    assert confirmed_by(records[0], records[1:]) == {}
