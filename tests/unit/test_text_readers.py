"""Files of a user's own: what is right is read as it stands, what is wrong is named by file, line and remedy."""

from __future__ import annotations

import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from rote.errors import DamagedFileError, UsageError
from rote.tasks import compressed, downloads
from rote.tasks.datasets import DATASETS
from rote.tasks.mnist import read_idx
from rote.tasks.text_files import load_text
from rote.tasks.text_readers import read_bytes, read_conllu, read_labelled, read_plain
from rote.tasks.text_tasks import ClassificationTask, LanguageTask, TaggingTask

WORD = "{number}\t{form}\t_\t{upos}\t{xpos}\t_\t0\troot\t_\t_"


def conllu(*sentences: list[tuple[str, str]]) -> str:
    made = []
    for sentence in sentences:
        lines = ["# text = ..."]
        for number, (form, tag) in enumerate(sentence, start=1):
            lines.append(WORD.format(number=number, form=form, upos=tag, xpos=tag.lower()))
        made.append("\n".join(lines) + "\n\n")
    return "".join(made)


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_labelled_lines_with_blank_or_tab_windows_ends_a_mark_at_the_beginning_and_no_last_newline(write):
    path = write("a.txt", "\ufeff1 good  film\r\n0\tbad film")
    assert [(s.labels, s.words, s.line) for s in read_labelled(path)] == [
        (("1",), ("good", "film"), 1),
        (("0",), ("bad", "film"), 2),
    ]


def test_a_compressed_file_is_read_as_it_is(write):
    path = write("a.txt.gz", gzip.compress(b"1 good\n0 bad\n"))
    assert [s.words for s in read_labelled(path)] == [("good",), ("bad",)]


def test_characters_that_split_lines_elsewhere_stay_inside_a_text(write):
    path = write("a.txt", "1 one\u2028line\x0bonly\n0 two\n")
    assert [s.line for s in read_labelled(path)] == [1, 2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 good\n\n0 bad\n", "line 2: empty"),
        ("1 good\n0\n", "line 2: the label '0' has no text"),
        ("1 good\n0 \t \n", "line 2: the label '0' has no text"),
        ("", "is empty"),
        (b"1 good\n0 caf\xe9\n", "line 2: not utf-8 .*task.encoding=latin-1"),
        (gzip.compress(b"1 good\n" * 100, mtime=0)[:20], "is truncated or damaged"),
    ],
)
def test_a_wrong_labelled_file_is_refused_with_its_line(text, told, write):
    with pytest.raises(UsageError, match=told):
        read_labelled(write("a.txt", text))


def test_a_missing_file_and_an_unknown_encoding_are_told(tmp_path, write):
    with pytest.raises(UsageError, match=r"Cannot read .*nothing\.txt: No such file"):
        read_labelled(tmp_path / "nothing.txt")
    with pytest.raises(UsageError, match=r"'encoding' must be .* Got 'klingon'"):
        read_labelled(write("a.txt", "1 good\n"), encoding="klingon")


def test_conllu_passes_over_comments_ranges_and_empty_nodes(write):
    text = conllu([("do", "AUX"), ("n't", "PART")], [("Go", "VERB")])
    text = text.replace("1\tdo\t", "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t")
    text = text.replace("1\tGo\t", "0.1\tyou\t_\tPRON\t_\t_\t_\t_\t_\t_\n1\tGo\t").rstrip("\n")
    found = read_conllu(write("a.conllu", text))
    assert [(s.words, s.labels) for s in found] == [(("do", "n't"), ("AUX", "PART")), (("Go",), ("VERB",))]
    assert [s.labels for s in read_conllu(write("b.conllu", text), column="xpos")] == [("aux", "part"), ("verb",)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (conllu([("a", "DET")]) + "1\tb\tDET\n\n", "line 4: 3 columns"),
        (conllu([("a", "_")]), r"line 2: a word without a form or without a tag \(upos\)"),
        ("# only a comment\n\n" + conllu([("a", "DET")]), "line 1: a sentence without words"),
        (
            conllu([("a", "DET")]).rstrip("\n") + "\n" + conllu([("b", "X")]),
            "line 4: .* number is '1', expected 2",
        ),
        ("\n\n\n", "is empty"),
    ],
)
def test_a_wrong_conllu_file_is_refused_with_its_line(text, told, write):
    with pytest.raises(UsageError, match=told):
        read_conllu(write("a.conllu", text))


def test_plain_text_as_words_and_as_characters_without_empty_lines(write):
    path = write("a.txt", "one two\n\n  three \n")
    assert [s.words for s in read_plain(path)] == [("one", "two"), ("three",)]
    assert [s.words for s in read_plain(path, units="characters")] == [tuple("one two"), tuple("three")]


def test_a_label_that_training_lacks_is_refused_where_it_stands(write):
    train, dev = write("train.txt", "a x\nb y\n"), write("dev.txt", "a x\nc y\n")
    with pytest.raises(UsageError, match=r"dev\.txt, line 2: the label 'c' is not in the training data.* Known: a, b"):
        ClassificationTask(train=train, dev=dev).load()
    tags = write("train.conllu", conllu([("a", "DET"), ("b", "X")])), write("dev.conllu", conllu([("a", "VERB")]))
    with pytest.raises(UsageError, match=r"dev\.conllu, line 1: the label 'VERB'"):
        TaggingTask(train=tags[0], dev=tags[1]).load()


def test_one_label_is_nothing_to_learn(write):
    path = write("train.txt", "a x\na y\n")
    with pytest.raises(UsageError, match="every example has the label 'a'"):
        ClassificationTask(train=path, dev=path).load()


def test_unknown_words_of_dev_have_one_number_and_are_counted_in_the_note(write):
    train, dev = write("train.txt", "a x x\nb y y\n"), write("dev.txt", "a x z\nb q y\n")
    corpus = ClassificationTask(train=train, dev=dev).load()
    assert corpus.vocabulary.words == ("<pad>", "<unk>", "x", "y")
    assert corpus.dev.inputs.values.tolist() == [2, 1, 1, 3]
    assert "2 training, 2 dev; 4 words; 50.0% of the words in dev are unknown" in corpus.note


def test_without_a_dev_file_every_tenth_example_is_set_aside_and_said(write):
    path = write("train.txt", "".join(f"{number % 2} w{number}\n" for number in range(30)))
    corpus = ClassificationTask(train=path, minimum=1).load()
    assert (len(corpus.train), len(corpus.dev), corpus.test) == (27, 3, None)
    assert "every 10th training example" in corpus.note
    with pytest.raises(UsageError, match="too few to set some aside"):
        ClassificationTask(train=write("few.txt", "a x\nb y\n")).load()


def test_a_language_model_is_fed_from_the_start_and_predicts_the_end(write):
    path = write("train.txt", "one two\n")
    corpus = LanguageTask(train=path, dev=path, minimum=1).load()
    words = corpus.vocabulary
    assert words.decode(corpus.train.inputs.values) == ["<s>", "one", "two"]
    assert words.decode(corpus.train.outputs) == ["one", "two", "</s>"]


def test_the_text_decides_the_checksum_so_that_changed_files_are_other_runs(write):
    path = write("train.txt", "a x\nb y\n")
    task = ClassificationTask(train=path, dev=path).resolved()
    write("train.txt", "a x\nb z\n")
    assert ClassificationTask(train=path, dev=path).resolved().checksum != task.checksum
    with pytest.raises(UsageError, match="has changed"):
        task.load()


def test_a_file_that_changes_is_read_again_in_the_same_process(write):
    path = write("train.txt", "a x\nb y\n")
    first = ClassificationTask(train=path, dev=path, minimum=1).load()
    write("train.txt", "a x\nb z\n")
    again = ClassificationTask(train=path, dev=path, minimum=1).load()
    assert (first.vocabulary.words[-1], again.vocabulary.words[-1]) == ("y", "z")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"data": "ewt"}, "'data' must be auto, sst2, trec or stand-in. Got 'ewt'"),
        ({"dev": "dev.txt"}, "set task.train=FILE"),
        ({"minimum": 0}, "'minimum' must be at least 1"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong, told):
    with pytest.raises(UsageError, match=told):
        ClassificationTask(**wrong)


def no_network(*_: object, **__: object) -> object:
    raise requests.ConnectionError("no network")


def test_data_that_are_not_here_or_not_the_known_release_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ROTE_DATA", str(tmp_path))
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(requests.Session, "request", no_network)
    assert ClassificationTask().resolved().data == "stand-in"
    assert "Not real text" in ClassificationTask(examples=20).load().note
    with pytest.raises(UsageError, match=r"SST-2 is not on this machine: sst2\.train\.txt.*task\.data=stand-in"):
        ClassificationTask(data="sst2").check()
    folder = tmp_path / "text_classification"
    folder.mkdir()
    for file in DATASETS["sst2"].files:
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(b"1 good\n0 bad\n"))
    assert ClassificationTask().resolved().data == "sst2"
    with pytest.raises(DamagedFileError, match="not the release of SST-2"):
        ClassificationTask(data="sst2").load()


# --- compressed files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_compressed_file_that_would_fill_the_memory_is_refused_on_the_way(
    tmp_path: Path, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "ALWAYS", 2**16)
    bomb = tmp_path / "bomb"
    bomb.write_bytes(pack(bytes(2**24)))
    limit = max(2**16, 100 * bomb.stat().st_size)
    assert limit < 2**22
    for read in (read_bytes, compressed.content, read_idx, lambda path: load_text(str(path))):
        with pytest.raises(
            (DamagedFileError, UsageError), match=f"expands to more than {limit} bytes, 100 times its size"
        ):
            read(bomb)


def test_an_honest_file_may_expand_to_a_hundred_times_its_size_or_64_mb(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    text = b"to be or not to be\n" * 100_000  # 500 times smaller, and short
    path.write_bytes(gzip.compress(text))
    assert read_bytes(path) == text
    with compressed.opened(path) as file:
        assert b"".join(iter(lambda: file.read(1000), b"")) == text


@pytest.mark.parametrize(
    "data",
    [gzip.compress(b"some text")[:-3], lzma.compress(b"some text")[:-3]],
    ids=["gzip", "xz"],  # gzip writes the time, and a test's name must not hold it
)
def test_a_truncated_compressed_file_is_named(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "half").write_bytes(data)
    with pytest.raises(UsageError, match=r"half is truncated or damaged: .* Get it again\."):
        read_bytes(tmp_path / "half")


def test_a_pipe_is_no_text_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="is not a plain file"):
        read_bytes(tmp_path / "pipe")
    with pytest.raises(UsageError, match="There is no file"):
        load_text(str(tmp_path / "pipe"))
