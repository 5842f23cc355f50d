"""The ledger's route says what the store supports."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_client import TestClient
from sample_store import make_store

from rote.claims import verdict_rows
from rote.explorer.ledger import judged
from rote.laboratory import ledger
from rote.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("ledger") / "store")


def test_an_empty_store_has_every_claim_and_no_verdict(client: TestClient) -> None:
    answer = client.get("/api/ledger").json()
    assert answer["empty"]
    assert {claim["verdict"] for claim in answer["claims"]} == {"not run"}
    assert answer["counts"]["not run"] == len(answer["claims"]) > 100
    assert all(claim["reason"].endswith(f"rote run {claim['study']}") for claim in answer["claims"])


def test_the_verdicts_are_those_of_the_ledger(store: Store) -> None:
    answer, rows = judged(store, ""), verdict_rows(ledger(store))
    assert not answer["empty"]
    assert [(claim["claim"], claim["verdict"], claim["runs"]) for claim in answer["claims"]] == [
        (row["claim"], row["verdict"], row["runs"]) for row in rows
    ]
    measured = [item for claim in answer["claims"] for item in claim["evidence"]]
    assert measured
    for item in measured:
        plot = item["plot"]
        if plot is not None:
            assert 0 <= plot["low"] <= plot["value"] <= plot["high"] <= plot["width"]


def test_a_preset_that_was_not_run_has_no_verdicts(store: Store) -> None:
    assert {claim["verdict"] for claim in judged(store, "paper")["claims"]} == {"not run"}


def test_a_removed_run_takes_its_verdicts_with_it(tmp_path: Path, store: Store) -> None:
    """The cache must notice that the store changed."""
    import shutil

    copy = Store(shutil.copytree(store.root, tmp_path / "copy"))
    assert not judged(copy, "")["empty"]
    copy.remove(next(row.id for row in copy.runs() if row.part == "study"))
    assert judged(copy, "")["empty"]


def test_an_unknown_preset_is_refused(client: TestClient) -> None:
    answer = client.get("/api/ledger?preset=huge")
    assert answer.status_code == 422
    assert "preset" in answer.json()["error"]
