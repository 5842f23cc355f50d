"""What the first view asks beside the others' questions."""

from __future__ import annotations

from collections import Counter

from api_client import TestClient


def test_the_claims_come_out_as_the_ledger_says(client: TestClient) -> None:
    told = client.get("/api/home/claims").json()
    ledger = client.get("/api/ledger").json()
    assert told["summary"] == ledger["summary"]
    expected = Counter((claim["source"], claim["verdict"]) for claim in ledger["claims"])
    assert Counter((source, one) for source, all_ in told["outcomes"].items() for one in all_) == expected
