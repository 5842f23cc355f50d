"""What every claim must be: faithful in form, registered as it is, and found again in another process."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rote.claims import KINDS, Claim, Register, criterion_hash
from rote.laboratory import studies

TESTS = Path(__file__).parents[1]
CLAIMS = {claim.id: claim for name in studies for claim in studies[name].claims}


def test_no_two_studies_have_a_claim_of_one_name():
    assert len(CLAIMS) == sum(len(studies[name].claims) for name in studies)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_says_where_it_stands_what_was_published_and_what_kind_it_is(claim: Claim):
    assert claim.kind in KINDS
    assert claim.statement.endswith(".")
    assert claim.place
    assert claim.published
    assert claim.source in {studies[name].source.name for name in studies}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_its_criterion_is_the_last_that_was_registered(claim: Claim):
    assert Register.read().has(claim), f'Changed: enter it with  rote claims register --reason "..."  ({claim.id})'


def test_the_register_has_no_entry_without_a_reason_and_its_dates_run_forward():
    for entries in Register.read().entries.values():
        dates = [entry.date for entry in entries]
        assert all(entry.reason.strip() for entry in entries)
        assert dates == sorted(dates)
        for first, second in itertools.pairwise(entries):  # one that is entered again as it is says why other seeds
            assert first.hash != second.hash or "are fresh" in second.reason


IDENTITIES = {claim.id: claim.test for claim in CLAIMS.values() if claim.kind == "identity"}


@pytest.mark.parametrize("test", IDENTITIES.values(), ids=IDENTITIES)
def test_the_test_that_an_identity_names_is_there(test: str):
    file, name = test.split("::")
    text = (TESTS.parent / file).read_text()
    assert re.search(rf"^def {re.escape(name)}\(", text, re.MULTILINE)


def test_a_criterion_has_the_same_hash_in_every_process():
    code = (
        "import json; from rote.claims import criterion_hash; from rote.laboratory import studies; "
        "print(json.dumps({c.id: criterion_hash(c) for n in studies for c in studies[n].claims}))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7"}
    )
    assert json.loads(other.stdout) == {name: criterion_hash(claim) for name, claim in CLAIMS.items()}
