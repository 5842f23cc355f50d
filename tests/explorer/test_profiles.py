"""The profiles' routes say what the profiles say."""

from __future__ import annotations

from pathlib import Path

from api_client import TestClient, client_of

from rote.examination import kept_profile, kept_profiles
from rote.examination.references import keep_examined
from rote.explorer import Workbench
from rote.store import Store


def test_every_kept_profile_is_listed_with_its_own_numbers(client: TestClient) -> None:
    answer = client.get("/api/profiles").json()
    kept = kept_profiles()
    assert [one["key"] for one in answer["profiles"]] == [f"kept/{profile.name}" for profile in kept]
    assert "memory" not in answer["dimensions"]
    for told, profile in zip(answer["profiles"], kept, strict=True):
        assert profile.score is not None
        assert told["index"]["value"] == profile.score.value
        assert profile.score_of_all is not None
        assert told["all"]["value"] == profile.score_of_all.value
        assert {name: one["value"] for name, one in told["dimensions"].items()} == {
            name: estimate.value for name, estimate in profile.dimensions.items()
        }
        assert [row["outcome"] for row in told["tasks"]] == [task.outcome for task in profile.tasks.values()]


def test_two_are_compared_as_profiles_are(client: TestClient) -> None:
    lstm, gru = kept_profile("lstm"), kept_profile("gru")
    assert lstm is not None
    assert gru is not None
    answer = client.post("/api/profiles/compare", json={"first": "kept/lstm", "second": "kept/gru"}).json()
    assert answer["rows"] == lstm.compare(gru).records()
    refused = client.post("/api/profiles/compare", json={"first": "kept/lstm", "second": "kept/lstmm"})
    assert refused.status_code == 404
    assert "Did you mean 'kept/lstm'?" in refused.json()["error"]


def test_what_was_examined_with_the_store_is_listed_and_a_damaged_profile_left_out(tmp_path: Path) -> None:
    gru = kept_profile("gru")
    assert gru is not None
    assert keep_examined(gru, tmp_path) == tmp_path / "profiles" / "gru.json"
    (tmp_path / "profiles" / "broken.json").write_text("{")
    with client_of(Workbench(Store(tmp_path))) as client:
        mine = [one for one in client.get("/api/profiles").json()["profiles"] if not one["kept"]]
        assert [one["key"] for one in mine] == ["store/gru"]
