"""Where text comes from when no files are named: real corpora, else the stand-in.

None of them is part of Rote. What is not in ``$ROTE_DATA`` or in the cache (as it is or with gzip) is downloaded where
a corpus is asked for by its name.

ewt     ud_english_ewt/        UD English EWT, CoNLL-U
sst2    text_classification/   Stanford Sentiment Treebank, two classes, "label text" per line
trec    text_classification/   TREC questions (Li and Roth 2002), the official label files; ISO-8859-1
"""

from __future__ import annotations

from pathlib import Path

from rote.errors import DamagedFileError
from rote.store.files import digest
from rote.tasks.datasets import DATASETS
from rote.tasks.downloads import found
from rote.tasks.text_readers import read_bytes


def available(name: str) -> bool:
    """Whether its files are on this machine; their contents are checked when they are read."""
    return not DATASETS[name].missing()


def check(name: str) -> None:
    """Its files on this machine, downloaded if need be; or a UsageError of one line, before any work."""
    if not available(name):
        DATASETS[name].fetch(
            ", name files of your own (task.train=FILE), or use the generated text (task.data=stand-in)"
        )


def read_dataset(name: str) -> list[tuple[Path, bytes]]:
    """Path and content of every file; a content that is not the known one is refused."""
    check(name)
    data, contents = DATASETS[name], []
    for file in data.files:
        path = found(file)
        assert path is not None
        content = read_bytes(path)
        if digest(content) != file.sha256:
            raise DamagedFileError(
                f"{path} is not the release of {data.title} that Rote knows: sha256 {digest(content)[:12]}..., "
                f"expected {file.sha256[:12]}... Name files of your own with task.train=FILE, or put the right one "
                "there."
            )
        contents.append((path, content))
    return contents
