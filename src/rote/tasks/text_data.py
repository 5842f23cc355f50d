"""Where text comes from when no files are named: real corpora in ``$ROTE_DATA`` or the cache, else the stand-in.

None of them is part of Rote or downloaded by it: put the files into these folders (as they are or with gzip).

ewt     ud_english_ewt/        UD English EWT, CoNLL-U, from github.com/UniversalDependencies/UD_English-EWT
sst2    text_classification/   Stanford Sentiment Treebank, two classes, "label text" per line
trec    text_classification/   TREC questions (Li and Roth 2002), the official label files; ISO-8859-1
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rote.errors import DamagedFileError, UsageError
from rote.store.files import digest
from rote.tasks.downloads import cache
from rote.tasks.text_readers import read_bytes


@dataclass(frozen=True)
class Dataset:
    title: str
    folder: str
    files: dict[str, str]  # name -> sha256 of the content; training, then development (or none), then test
    encoding: str = "utf-8"


DATASETS = {
    "ewt": Dataset(
        "UD English EWT",
        "ud_english_ewt",
        {
            "en_ewt-ud-train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
            "en_ewt-ud-dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
            "en_ewt-ud-test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
        },
    ),
    "sst2": Dataset(
        "SST-2",
        "text_classification",
        {
            "sst2.train.txt": "71c04bcc41291fa47454dd670df701b14ee9249156babeaac404cfe2c8d74338",
            "sst2.dev.txt": "02fedc82855dbdcabe82c65ed1af6c6570788eaac51073cdb35ee8c7784426d1",
            "sst2.test.txt": "6a80dc9b9a0db2d3b37f2f809304febad31c90ab67a5b4157b7d9f881c53ef5b",
        },
    ),
    "trec": Dataset(
        "TREC questions",
        "text_classification",
        {
            "trec.train.label": "9e4c8bdcaffb96ed61041bd64b564183d52793a8e91d84fc3a8646885f466ec3",
            "trec.test.label": "033f22c028c2bbba9ca682f68ffe204dc1aa6e1cf35dd6207f2d4ca67f0d0e8e",
        },
        "latin-1",
    ),
}


def available(name: str) -> bool:
    """Whether its files are on this machine; their contents are checked when they are read."""
    return all(_find(DATASETS[name].folder, file) for file in DATASETS[name].files)


def check(name: str) -> None:
    """A UsageError that says where its files belong, before any work."""
    data = DATASETS[name]
    missing = [file for file in data.files if not _find(data.folder, file)]
    if missing:
        raise UsageError(
            f"{data.title} is not on this machine: {', '.join(missing)} (or .gz). Set ROTE_DATA to a folder that has "
            f"them in {data.folder}/, name files of your own (task.train=FILE), or use the generated text "
            "(task.data=stand-in)."
        )


def read_dataset(name: str) -> list[tuple[Path, bytes]]:
    """Path and content of every file; a content that is not the known one is refused."""
    check(name)
    data, found = DATASETS[name], []
    for file, sha256 in data.files.items():
        path = _find(data.folder, file)
        assert path is not None
        content = read_bytes(path)
        if digest(content) != sha256:
            raise DamagedFileError(
                f"{path} is not the release of {data.title} that Rote knows: sha256 {digest(content)[:12]}..., "
                f"expected {sha256[:12]}... Name files of your own with task.train=FILE, or put the right one there."
            )
        found.append((path, content))
    return found


def _find(folder: str, name: str) -> Path | None:
    for root in filter(None, (os.environ.get("ROTE_DATA"), str(cache()))):
        for path in (Path(root).expanduser() / folder / name, Path(root).expanduser() / folder / f"{name}.gz"):
            if path.is_file():
                return path
    return None
