"""Autocomplete observations against a written-out example and a slow packing by hand; text8's counts where it is."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.errors import DamagedFileError, UsageError
from rote.store.files import digest, digest_file
from rote.tasks import downloads, text_files
from rote.tasks.alphabet import CHARACTERS, clean, decode, encode
from rote.tasks.autocomplete import SOURCE_SEED, UNKNOWN, AutocompleteTask, prepare
from rote.tasks.text_files import Text, load_text
from rote.tasks.word_counts import index_words

MIRROR = Path(os.environ.get("ROTE_DATA", ""), "text8", "text8.first74000000.xz")


def cleaned(text: str) -> str:
    return b"".join(clean([text.encode()])).decode()


def test_cleaning_follows_the_rules_of_text8() -> None:
    assert cleaned("  The 2nd\n\nCAT's -- 10 lives.") == "the two nd cat s one zero lives"


@given(st.lists(st.text("aB 7\n.é", max_size=6)))
def test_cleaning_does_not_depend_on_where_the_pieces_are_cut(pieces: list[str]) -> None:
    whole = cleaned("".join(pieces))
    assert b"".join(clean(piece.encode() for piece in pieces)).decode() == whole
    assert "  " not in whole
    assert whole == whole.strip()
    assert cleaned(whole) == whole


def packed_by_hand(text: str, length: int) -> list[list[str]]:
    """The source's loop: a new observation where the next word does not fit."""
    observations: list[list[str]] = [[]]
    used = 0
    for word in text.split(" "):
        if used + len(word) + 1 > length:
            observations.append([])
            used = 0
        observations[-1].append(word)
        used += len(word) + 1
    return observations


def random_text(seed: int, words: int) -> str:
    random = np.random.default_rng(seed)
    vocabulary = ["".join(random.choice(list("abc"), random.integers(1, 16))) for _ in range(60)]
    return " ".join(vocabulary[int(60 * random.random() ** 2)] for _ in range(words))


def test_a_written_out_example() -> None:
    text = " ".join(["to be or not"] * 12)
    made = prepare(Text(text.encode(), "", ""), 9, 2)
    assert made.vocabulary[:2] == ("<eos>", "<unknown>")
    be, not_ = made.vocabulary.index("be"), made.vocabulary.index("not")  # all are as frequent: by the alphabet
    batch = made.batch(np.array([0, 1]))
    assert [decode(row) for row in batch.tokens] == [" to be or", " not to"]
    assert batch.targets.tolist() == [
        [UNKNOWN] * 3 + [be] * 3 + [UNKNOWN] * 3,
        [not_] * 4 + [UNKNOWN] * 3 + [0, 0],
    ]  # fmt: skip
    assert batch.lengths.tolist() == [9, 7]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_packing_targets_vocabulary_and_split_as_a_slow_loop_makes_them(seed: int) -> None:
    text, length, words = random_text(seed, 900), 40, 20
    made = prepare(Text(text.encode(), "", ""), length, words)
    by_hand = packed_by_hand(text, length)
    counts = Counter(text.split(" "))
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:words]
    assert len(made) == len(by_hand)
    assert made.distinct == len(counts)
    assert sorted(made.vocabulary[2:]) == sorted(frequent)
    assert [made.vocabulary[2 + i] for i in range(words)] == [
        frequent[rank] for rank in np.random.RandomState(SOURCE_SEED).permutation(words)
    ]
    batch = made.batch(np.arange(len(made)))
    for row, observation in enumerate(by_hand):
        assert decode(batch.tokens[row]) == "".join(f" {word}" for word in observation)
        expected = [
            made.vocabulary.index(word) if word in frequent else UNKNOWN for word in observation for _ in f" {word}"
        ]
        assert batch.targets[row, : batch.lengths[row]].tolist() == expected
        assert not batch.targets[row, batch.lengths[row] :].any()
    order = np.random.RandomState(SOURCE_SEED).permutation(len(by_hand))
    first, second = int(len(by_hand) * 0.9), int(len(by_hand) * 0.05)
    assert made.splits["training"].tolist() == order[:first].tolist()
    assert made.splits["validation"].tolist() == order[first : first + second].tolist()
    assert made.splits["test"].tolist() == order[first + second :].tolist()
    assert [made.frequencies[made.vocabulary.index(word)] for word in frequent] == [counts[w] for w in frequent]


def test_words_of_any_length_are_told_apart() -> None:
    words = ["a", "aa", "a" * 12, "a" * 13, "a" * 12 + "b", "b" + "a" * 12, "z" * 30]
    text = " ".join(word for times, word in enumerate(words, 1) for _ in range(times))
    numbers = np.concatenate([encode(text)])
    found = index_words(numbers.astype(np.uint8), 99)
    assert found.words == tuple(reversed(words))
    assert [found.words[rank] for rank in found.ranks] == text.split(" ")


def test_an_epoch_shows_every_observation_once_and_any_batch_can_be_made_alone() -> None:
    made = prepare(Text(random_text(0, 900).encode(), "", ""), 40, 20)
    size = 8
    steps = made.steps_per_epoch(size)
    seen = [decode(row) for step in range(steps) for row in made.training(5, step, size).tokens]
    texts = {decode(row) for row in made.batch(made.splits["training"]).tokens}
    assert len(seen) == steps * size
    assert set(seen) <= texts
    assert max(Counter(seen).values()) <= max(
        Counter(decode(r) for r in made.batch(made.splits["training"]).tokens).values()
    )
    again = made.training(5, steps + 1, size)
    assert not np.array_equal(again.tokens, made.training(5, 1, size).tokens)
    assert np.array_equal(again.tokens, made.training(5, steps + 1, size).tokens)


def test_more_than_one_batch_in_order() -> None:
    made = prepare(Text(random_text(1, 900).encode(), "", ""), 40, 20)
    batches = list(made.batches("training", 32, most=70))
    assert [len(batch.lengths) for batch in batches] == [32, 32, 6]
    assert decode(batches[2].tokens[0]) == decode(made.batch(made.splits["training"][64:65]).tokens[0])


def test_a_users_file_plain_or_compressed_is_cleaned(tmp_path: Path) -> None:
    plain, packed = tmp_path / "own.txt", tmp_path / "own.gz"
    plain.write_text("Hello, 2 World!\n")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert load_text(str(plain)).content == load_text(str(packed)).content == b"hello two world"
    assert load_text(str(plain), 7).content == b"hello t"


def test_bad_texts_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_DATA", str(tmp_path))
    own = tmp_path / "own.txt"
    with pytest.raises(UsageError, match=r"must be 'text8', 'bundled' or a text file\. There is no file .*own.txt"):
        AutocompleteTask(str(own)).observations()
    own.write_text("?! \n")
    with pytest.raises(UsageError, match="has no letters"):
        AutocompleteTask(str(own)).observations()
    own.write_text("one two " * 300)
    with pytest.raises(UsageError, match=r"has 2 different words; a vocabulary of 16384 .* words=2 or fewer"):
        AutocompleteTask(str(own)).observations()
    with pytest.raises(UsageError, match=r"has 12 observations of 200 characters: too few"):
        AutocompleteTask(str(own), words=2).observations()
    with pytest.raises(UsageError, match=r"has 2399 characters after cleaning\. Got characters=5000"):
        AutocompleteTask(str(own), characters=5000).observations()
    own.write_text("a " * 400 + "b" * 300)
    with pytest.raises(UsageError, match=r"The word 'b{20}\.\.\.' has 300 letters"):
        AutocompleteTask(str(own), words=2, length=30).observations()
    own.write_text("naïve text")
    with pytest.raises(UsageError, match=r"not ASCII, such as 'ï'.*outside=warn"):
        load_text(str(own), outside="refuse")
    with pytest.warns(UserWarning, match="each is read as a space"):
        assert load_text(str(own)).content == b"na ve text"
    own.write_bytes(gzip.compress(b"text " * 999)[:-9])
    with pytest.raises(DamagedFileError, match="truncated or damaged"):
        load_text(str(own))
    with pytest.raises(UsageError, match="'words' must be at least 1"):
        AutocompleteTask(words=0)
    with pytest.raises(UsageError, match="text8 has 100000000 characters"):
        AutocompleteTask(characters=10**9).observations()
    with pytest.raises(UsageError, match=r"The bundled text has \d+ characters\. Got characters=10000000"):
        AutocompleteTask("bundled", characters=10**7).observations()


def test_a_prefix_that_is_not_text8_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROTE_DATA", str(tmp_path))
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "none")
    (tmp_path / "text8").mkdir()
    (tmp_path / "text8" / "text8.first10000000.gz").write_bytes(gzip.compress(b"anarchism"))
    with pytest.raises(DamagedFileError, match="is not the beginning of text8"):
        load_text("text8", 1000)


def test_text8_is_read_from_its_archive_or_from_the_smallest_prefix_that_is_long_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b" anarchism originated as a term"
    folder = tmp_path / "text8"
    folder.mkdir()
    monkeypatch.setenv("ROTE_DATA", str(tmp_path))
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "none")
    archive = folder / "text8.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("text8", content)
    monkeypatch.setattr(text_files, "ZIP", replace(text_files.ZIP, sha256=digest_file(archive)))
    assert load_text("text8", 10).content == b"anarchism"
    assert load_text("text8", 10).origin == "text8.zip"
    assert text_files.available()
    prefix = text_files.Prefix("text8.first20.gz", 20, digest(content[:20]))
    monkeypatch.setattr(text_files, "PREFIXES", (prefix,))
    (folder / prefix.name).write_bytes(gzip.compress(content[:20]))
    assert load_text("text8", 10).origin.startswith("text8.first20.gz")
    assert load_text("text8", 21).origin == "text8.zip"


def test_without_all_of_text8_the_error_names_what_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_network(files: object) -> None:
        raise UsageError("Cannot download text8.zip.")

    folder = tmp_path / "text8"
    folder.mkdir()
    monkeypatch.setenv("ROTE_DATA", str(tmp_path))
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "none")
    monkeypatch.setattr(text_files, "fetch", no_network)
    (folder / "text8.first10000000.gz").write_bytes(b"")
    with pytest.raises(UsageError, match=r"Cannot download.* take the 10000000 characters .* characters=10000000"):
        load_text("text8")


def test_typed_text_keeps_its_positions() -> None:
    assert decode(encode("Le Arn")) == " le arn"
    assert encode(" a").tolist() == [1, 2]
    with pytest.raises(UsageError, match="The text is empty"):
        encode("")
    with pytest.raises(UsageError, match=r"character '3' at position 3 .* outside='warn'"):
        encode("ab3", "refuse")
    with pytest.warns(UserWarning, match="'é' at position 2 .* read as a space"):
        assert decode(encode("ré")) == " r "
    with pytest.raises(UsageError, match="has 6 characters with its leading space; at most 5"):
        encode("abcde", limit=5)
    assert len(CHARACTERS) == 28


def test_the_bundled_text_is_clean_and_long_enough_for_quick_runs() -> None:
    text = load_text("bundled").content
    assert b"".join(clean([text])) == text
    assert len(text) > 500_000
    assert AutocompleteTask("bundled", words=4096).observations().note.startswith("Text: ")


@pytest.mark.skipif(not MIRROR.is_file(), reason="ROTE_DATA names no folder with text8/text8.first74000000.xz")
def test_the_counts_of_text8_are_those_of_the_source() -> None:
    made = AutocompleteTask(characters=74_000_000).observations()
    assert (len(made), len(made.targets), made.distinct) == (375_731, 12_561_447, 213_158)
    assert len(made.vocabulary) == 16_386
