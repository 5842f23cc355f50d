"""The real data through the command: what is needed, where it was looked for, what is missing, and how it is had."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from rote.laboratory import studies
from rote.store.files import digest
from rote.tasks import downloads
from rote.tasks.compressed import content
from rote.tasks.datasets import DATASETS, Dataset
from rote.tasks.downloads import Remote, found

TEXT = {"train": b"NUM:dist How far ?\nHUM:ind Who ?\n" * 20, "test": b"HUM:ind Who was it ?\n"}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Not on the terminal of the tests."""


@pytest.fixture
def nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no other place; returns the cache."""
    monkeypatch.delenv("ROTE_DATA", raising=False)
    monkeypatch.delenv("ROTE_MIRROR", raising=False)
    monkeypatch.setattr(downloads, "cache", lambda: folder / "cache")
    return folder / "cache"


@pytest.fixture
def offline(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def no_network(*_: Any, **__: Any) -> Any:
        raise requests.ConnectionError("no network")

    monkeypatch.setattr(requests.Session, "request", no_network)
    return nothing


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """An address on this machine, and the folder that it serves."""
    served = tmp_path / "served"
    served.mkdir()
    handler = functools.partial(QuietHandler, directory=str(served))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/", served
        running.shutdown()


def questions(*homes: str) -> Dataset:
    """TREC with other contents, of which we know the checksums."""
    files = tuple(
        Remote(
            "text_classification", f"trec.{part}.label", homes, hashlib.sha256(data).hexdigest(), f"{part}.5500", True
        )
        for part, data in TEXT.items()
    )
    return Dataset("TREC questions", "none stated", files, "latin-1")


def put(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)


def test_what_every_study_says_it_needs_is_known_and_every_set_but_scan_is_needed():
    needed = {name for study in studies for name in studies[study].data}
    assert needed == DATASETS.keys() - {"scan"}


@pytest.mark.parametrize("name", DATASETS)
def test_every_file_has_a_checksum_and_several_addresses(name: str):
    for file in DATASETS[name].files:
        assert len(file.sha256) == 64
        assert len({address.split("/")[2] for address in file.addresses()}) > 1


def test_the_list_says_what_is_missing_where_it_was_looked_for_and_the_licence(offline: Path, call):
    answer = call("data", "tagging")
    assert answer.code == 0
    head, row, told = answer.out.splitlines()
    assert head.split()[:2] == ["data", "title"]
    for word in ("ewt", "language-modeling, tagging", "missing", "0 of 3", "CC BY-SA 4.0"):
        assert word in row
    assert (
        f"missing en_ewt-ud-train.conllu, en_ewt-ud-dev.conllu, en_ewt-ud-test.conllu, looked for in {offline}" in told
    )
    facts = json.loads(call("data", "--json").out)
    assert [row["data"] for row in facts] == list(DATASETS)
    assert facts[0]["looked in"] == [str(offline / "ud_english_ewt")]
    assert "Unknown study or data 'twt'. Did you mean 'ewt'?" in call("data", "twt").err


@pytest.mark.parametrize("study", ["classification", "tagging", "padding", "language-modeling"])
def test_without_data_the_preset_paper_says_so_in_one_line_before_anything_starts(study, offline: Path, call, folder):
    answer = call("run", study, "--preset", "paper", "--store", "store")
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert f"is not on this machine: {DATASETS[studies[study].data[0]].files[0].name}" in line
    assert f"Looked in {offline}" in line
    assert line.count("ConnectionError") == 2, "a host that does not answer is asked once"
    assert "Set ROTE_DATA" in line
    assert "task.data=stand-in" in line
    assert not list(folder.glob("store/runs/*/*"))


def test_missing_data_come_from_the_first_address_with_the_right_bytes(nothing, call, server, monkeypatch):
    address, served = server
    put(served / "changed", {f"{part}.5500": data + b"another line\n" for part, data in TEXT.items()})
    put(served / "right", {f"{part}.5500": data for part, data in TEXT.items()})
    homes = tuple(f"{address}{name}/" for name in ("gone", "changed", "right"))
    monkeypatch.setitem(DATASETS, "trec", questions(*homes[:2]))
    refused = call("data", "trec", "--fetch")
    assert refused.code == 2
    assert "gone/train.5500: HTTPError; " in refused.err
    assert "changed/train.5500: another checksum)" in refused.err
    assert not list(nothing.rglob("trec*"))
    monkeypatch.setitem(DATASETS, "trec", questions(*homes))
    fetched = call("data", "trec", "--fetch")
    assert (fetched.code, "2 of 2" in fetched.out) == (0, True), fetched.err
    assert (nothing / "text_classification" / "trec.train.label").read_bytes() == TEXT["train"]


def test_a_study_gets_its_data_by_itself_and_learns_from_them(nothing, call, server, monkeypatch):
    address, served = server
    put(served / "text_classification", {f"trec.{part}.label": data for part, data in TEXT.items()})
    monkeypatch.setitem(DATASETS, "trec", questions())
    monkeypatch.setenv("ROTE_MIRROR", address)
    words = ("task.data=trec", "variants=average", "--preset", "smoke", "--seeds", "1", "--workers", "1")
    answer = call("run", "classification", *words)
    assert answer.code == 0, answer.err
    assert "Text: TREC questions." in answer.out


def test_the_users_folder_goes_before_the_network_packed_or_not(nothing, call, tmp_path, monkeypatch):
    packed = {f"trec.{part}.label.gz": gzip.compress(data) for part, data in TEXT.items()}
    put(tmp_path / "mine" / "text_classification", packed)
    monkeypatch.setenv("ROTE_DATA", str(tmp_path / "mine"))
    monkeypatch.setitem(DATASETS, "trec", questions())
    assert call("data", "trec", "--fetch").code == 0
    (tmp_path / "mine" / "text_classification" / "trec.test.label.gz").write_bytes(gzip.compress(b"HUM:ind Who ?\n"))
    answer = call("data", "trec", "--fetch")
    assert answer.code == 1
    assert "trec.test.label.gz is truncated or altered" in answer.err


@pytest.mark.skipif("ROTE_DATA" not in os.environ, reason="ROTE_DATA names no folder with the real files")
@pytest.mark.parametrize("name", DATASETS)
def test_the_known_checksums_are_those_of_the_real_files(name: str):
    data = DATASETS[name]
    if not any(map(found, data.files)):
        pytest.skip(f"no file of {name} is there")
    for file in data.files:
        path = found(file)
        assert path is not None
        assert file.checksum(path) == file.sha256
        if file.unpacked:
            assert digest(content(path)) == file.sha256
