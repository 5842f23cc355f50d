"""The ledger's route says what the store supports."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_client import TestClient
from sample_store import make_store

from rote.explorer.ledger import judged
from rote.laboratory import ledger
from rote.report.pictures import WIDTH
from rote.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("ledger") / "store")


def test_an_empty_store_has_every_claim_with_what_comes_with_rote(client: TestClient) -> None:
    answer = client.get("/api/ledger").json()
    assert answer["empty"]
    assert len(answer["claims"]) > 100
    assert {verdict["where"] for claim in answer["claims"] for verdict in claim["verdicts"]} == {"kept", ""}
    told = [claim for claim in answer["claims"] if claim["verdict"] == "supported"]
    assert len(told) > 10
    assert "supported" in answer["summary"]
    assert "false discovery rate" in answer["multiplicity"]


def test_the_verdicts_are_those_of_the_ledger(store: Store) -> None:
    answer, entries = judged(store), ledger(store)
    assert not answer["empty"]
    assert [
        (claim["claim"], claim["kind"], [(one["outcome"], one["where"], one["count"]) for one in claim["verdicts"]])
        for claim in answer["claims"]
    ] == [
        (entry.claim.id, entry.claim.kind, [(one.outcome, one.where, one.count) for one in entry.verdicts])
        for entry in entries
    ]
    (corner,) = [claim for claim in answer["claims"] if claim["claim"] == "plane-corner"]
    assert {verdict["where"] for verdict in corner["verdicts"]} == {"kept", "here"}  # at two scales


def test_every_seed_is_a_dot_in_its_strip(store: Store) -> None:
    strips = [cell for claim in judged(store)["claims"] for row in claim["rows"] for cell in row["cells"] if cell["n"]]
    assert len(strips) > 100
    for cell in strips:
        if cell["picture"] is not None:
            dots = [s["attributes"] for s in cell["picture"]["shapes"] if s["attributes"]["class"].startswith("dot")]
            assert len(dots) <= cell["n"]
            assert sum("against" not in dot["class"] for dot in dots) == cell["k"]
            assert all(0 <= dot["cx"] <= WIDTH for dot in dots)


def test_a_removed_run_takes_its_verdicts_with_it(tmp_path: Path, store: Store) -> None:
    """The cache must notice that the store changed."""
    import shutil

    copy = Store(shutil.copytree(store.root, tmp_path / "copy"))
    assert not judged(copy)["empty"]
    copy.remove(next(row.id for row in copy.runs() if row.part == "study"))
    assert judged(copy)["empty"]
