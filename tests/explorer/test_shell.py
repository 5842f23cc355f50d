"""The page and what it starts from."""

from __future__ import annotations

import re

from api_client import TestClient

from rote.explorer.views import STATIC, VIEWS


def test_the_page_loads_only_from_its_own_server(client: TestClient) -> None:
    text = client.get("/").text
    linked = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert {"/static/shell.js", "/static/style.css", "/house/page.css"} <= set(linked)
    for address in linked:
        if not address.startswith("#"):
            assert client.get(address).status_code == 200, address


def test_only_views_that_exist_are_listed_in_order(client: TestClient) -> None:
    listed = [view["name"] for view in client.get("/api/session").json()["views"]]
    assert listed == [view.name for view in VIEWS]
    assert {path.name for path in (STATIC / "views").glob("*.*")} == {
        f"{name}.{kind}" for name in listed for kind in ("js", "css")
    }


def test_the_bundled_models_stand_on_the_shelf(client: TestClient) -> None:
    found = {model["key"]: model for model in client.get("/api/models").json()["models"]}
    assert {"gru", "lstm", "nested_lstm"} <= set(found)
    assert found["gru"]["cell"] == "gru"
    assert found["gru"]["vocabulary_size"] > 1000
