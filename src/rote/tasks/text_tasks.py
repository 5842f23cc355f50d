"""Classification, tagging and language modeling on text: from files, from real corpora, or from the stand-in.

A task is its settings; ``load()`` gives numbered sequences. Everything that is counted, words, labels and baselines,
is counted on the training part. Words that are rarer there than ``minimum`` are one unknown word; a label that training
does not have is an error, because nothing could predict it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from rote.config import at_least
from rote.errors import SettingError, UsageError
from rote.store.files import canonical, digest
from rote.tasks import text_data
from rote.tasks.datasets import DATASETS
from rote.tasks.task import tasks
from rote.tasks.text import UNKNOWN, Numbers, Ragged, Vocabulary
from rote.tasks.text_readers import Sentence, TagColumn, Units, read_bytes, read_conllu, read_labelled, read_plain
from rote.tasks.text_stand_in import NOTE, Review, make_reviews

SET_ASIDE = 10  # without a development file, every so many-th training example serves as one
Kind = Literal["classification", "tagging", "language-modeling"]
Parts = Sequence[tuple[str, list[Sentence]]]  # with the names of their files; the first is for training
STAND_IN = {"train": 2000, "dev": 500, "test": 500}
START, END = "<s>", "</s>"  # of a sentence, for language models


@dataclass(frozen=True)
class Part:
    """Numbered sequences with their targets: one for each sequence, or one for each word (``Ragged``)."""

    inputs: Ragged
    targets: Numbers | Ragged

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def outputs(self) -> Numbers:
        """All targets, one behind the other."""
        return self.targets.values if isinstance(self.targets, Ragged) else self.targets


@dataclass(frozen=True)
class Corpus:
    train: Part
    dev: Part
    test: Part | None
    vocabulary: Vocabulary
    labels: tuple[str, ...]  # by number
    note: str  # what every table made from it must say
    sha256: dict[str, str]  # by file, for the record of a run

    @property
    def parts(self) -> dict[str, Part]:
        return {"dev": self.dev} | ({} if self.test is None else {"test": self.test})


@dataclass(frozen=True)
class TextTask(ABC):
    train: str = ""  # files; without any: data
    dev: str = ""  # without it every tenth training example is set aside
    test: str = ""
    data: str = "auto"  # a corpus of $ROTE_DATA, stand-in, or auto: the first that is there
    examples: int | None = None  # of training, evenly from the whole file; None: all
    minimum: int = 2  # occurrences in training that a word of its own needs
    largest: int | None = None  # words of the vocabulary, the most frequent ones
    lowercase: bool = False
    encoding: str = "utf-8"
    checksum: str = ""  # of the files, filled in: other contents are other runs
    known: ClassVar[tuple[str, ...]] = ()  # corpora, the preferred one first
    labelled: ClassVar[bool] = True  # else the words themselves are to be predicted
    of_files: ClassVar[tuple[str, ...]] = ()  # settings that only files of one's own have a use for
    of_corpora: ClassVar[tuple[str, ...]] = ()  # settings that the stand-in has no use for

    def __post_init__(self) -> None:
        at_least(self, 1, "examples", "minimum", "largest")
        if self.data not in ("auto", "stand-in", *self.known):
            raise SettingError("data", f"must be auto, {', '.join(self.known)} or stand-in. Got {self.data!r}.")
        for name in ("dev", "test"):
            if getattr(self, name) and not self.train:
                raise SettingError(name, "goes with a file to train on: set task.train=FILE as well.")

    def unused(self) -> dict[str, str]:
        if self.train:
            return {"data": "the text comes from the file that 'train' names."}
        found = dict.fromkeys(("encoding", *self.of_files), "it is for files of your own: set 'train' as well.")
        made = dict.fromkeys(("lowercase", *self.of_corpora), "the stand-in, which is generated, has no other form.")
        return found | (made if self.data == "stand-in" else {})

    @abstractmethod
    def read(self, path: str, data: bytes) -> list[Sentence]:
        """The sentences of a file with their labels."""

    @abstractmethod
    def review(self, review: Review) -> Sentence:
        """A sentence of the stand-in."""

    @abstractmethod
    def number(self, sentences: list[Sentence], vocabulary: Vocabulary, labels: tuple[str, ...]) -> Part:
        """Inputs and targets of some sentences."""

    def resolved(self) -> Self:
        """With the corpus that ``auto`` stands for here and the checksum of the files; missing files are told now."""
        if self.train:
            content = [digest(read_bytes(path)) if path else "" for path in (self.train, self.dev, self.test)]
            return replace(self, data="auto", checksum=digest(canonical(content))[:16])
        if self.data == "auto":
            return replace(self, data=next((name for name in self.known if text_data.available(name)), "stand-in"))
        return self

    def check(self) -> None:
        """Whether the corpus is here, before any work."""
        if not self.train and self.data in self.known:
            text_data.check(self.data)

    def load(self) -> Corpus:
        """Numbered sequences. Read once: a task with a checksum is of one content."""
        return _load(self if self.checksum else self.resolved())

    def sentences(self) -> tuple[list[tuple[str, list[Sentence]]], str, dict[str, str]]:
        """File name and sentences of each part, a note, and checksums."""
        if self.train:
            if self.checksum and self.resolved().checksum != self.checksum:
                raise UsageError(
                    f"{self.train} or its dev or test file has changed since this run began. Start a new one."
                )
            paths = [path for path in (self.train, self.dev, self.test) if path]
            contents = [(path, read_bytes(path)) for path in paths]
            note = f"Text: {', '.join(paths)}."
        elif self.data == "stand-in":
            sizes = STAND_IN | {"train": max(STAND_IN["train"], self.examples or 0)}
            made = {name: make_reviews(count, seed) for seed, (name, count) in enumerate(sizes.items())}
            sentences = [(name, [self.review(review) for review in part]) for name, part in made.items()]
            return sentences, NOTE, {"stand-in": digest(repr(made).encode())}
        else:
            contents = [(str(path), content) for path, content in text_data.read_dataset(self.data)]
            note = f"Text: {DATASETS[self.data].title}."
        checksums = {path.rsplit("/", 1)[-1]: digest(content) for path, content in contents}
        return [(path, self.read(path, content)) for path, content in contents], note, checksums

    def has_dev(self, parts: int) -> bool:
        return bool(self.dev) if self.train else parts == 3


@functools.lru_cache(maxsize=2)
def _load(task: TextTask) -> Corpus:
    parts, note, sha256 = task.sentences()
    if not task.has_dev(len(parts)):
        (path, sentences), *rest = parts
        if len(sentences) < SET_ASIDE:
            raise UsageError(
                f"{path} has {len(sentences)} examples, too few to set some aside. Name another: task.dev=FILE."
            )
        kept = [sentence for place, sentence in enumerate(sentences) if place % SET_ASIDE]
        parts = [(path, kept), (path, sentences[::SET_ASIDE]), *rest]
        note += f" Without a development file, every {SET_ASIDE}th training example serves as one."
    if task.lowercase:
        parts = [(path, [_lowered(sentence) for sentence in sentences]) for path, sentences in parts]
    labels = _labels(parts) if task.labelled else ()  # of the whole file, also where only a part of it is used
    path, sentences = parts[0]
    if task.examples is not None and task.examples < len(sentences):
        chosen = np.linspace(0, len(sentences) - 1, task.examples).astype(int)
        parts[0] = (path, [sentences[place] for place in chosen])
    vocabulary = Vocabulary.of(
        (sentence.words for sentence in parts[0][1]), task.minimum, task.largest, () if task.labelled else (START, END)
    )
    labels = labels or vocabulary.words
    numbered = [task.number(sentences, vocabulary, labels) for _, sentences in parts]
    counts = ", ".join(f"{len(part)} {use}" for use, part in zip(("training", "dev", "test"), numbered, strict=False))
    unknown = float((numbered[1].inputs.values == UNKNOWN).mean())
    note += f" Sequences: {counts}; {len(vocabulary)} words; {unknown:.1%} of the words in dev are unknown."
    train, dev, *test = numbered
    return Corpus(train, dev, test[0] if test else None, vocabulary, labels, note, sha256)


def _lowered(sentence: Sentence) -> Sentence:
    return replace(sentence, words=tuple(word.lower() for word in sentence.words))


def _labels(parts: Parts) -> tuple[str, ...]:
    """Those of the training part, the most frequent first; a label that only another part has is refused."""
    found = Vocabulary.of(sentence.labels for sentence in parts[0][1]).words[2:]
    known = set(found)
    if len(known) < 2:
        raise UsageError(f"{parts[0][0]}: every example has the label {found[0]!r}. There is nothing to learn.")
    for path, sentences in parts[1:]:
        for sentence in sentences:
            for label in sentence.labels:
                if label not in known:
                    shown = ", ".join(sorted(known)[:20])
                    raise UsageError(
                        f"{path}, line {sentence.line}: the label {label!r} is not in the training data, so it can "
                        f"never be predicted. Known: {shown}."
                    )
    return found


@tasks.register("classification")
@dataclass(frozen=True)
class ClassificationTask(TextTask):
    """Which class does a text belong to? From lines with a label and a text, SST-2, TREC or generated reviews."""

    coarse: bool = False  # of labels such as DESC:manner only what stands before the colon
    known: ClassVar[tuple[str, ...]] = ("sst2", "trec")
    of_corpora: ClassVar[tuple[str, ...]] = ("coarse",)

    def read(self, path: str, data: bytes) -> list[Sentence]:
        real = not self.train and self.data in DATASETS
        found = read_labelled(path, data, DATASETS[self.data].encoding if real else self.encoding)
        if not self.coarse:
            return found
        return [replace(sentence, labels=(sentence.labels[0].split(":")[0],)) for sentence in found]

    def review(self, review: Review) -> Sentence:
        return Sentence(review.words, (review.label,), 0)

    def number(self, sentences: list[Sentence], vocabulary: Vocabulary, labels: tuple[str, ...]) -> Part:
        targets = _numbers(labels, (sentence.labels for sentence in sentences))
        return Part(_words(vocabulary, sentences), np.array(targets, dtype=np.int64)[:, 0])


@tasks.register("tagging")
@dataclass(frozen=True)
class TaggingTask(TextTask):
    """Which part of speech is each word? From CoNLL-U files, UD English EWT or generated reviews."""

    column: TagColumn = "upos"
    known: ClassVar[tuple[str, ...]] = ("ewt",)
    of_corpora: ClassVar[tuple[str, ...]] = ("column",)

    def read(self, path: str, data: bytes) -> list[Sentence]:
        return read_conllu(path, data, self.column, self.encoding)

    def review(self, review: Review) -> Sentence:
        return Sentence(review.words, review.tags, 0)

    def number(self, sentences: list[Sentence], vocabulary: Vocabulary, labels: tuple[str, ...]) -> Part:
        targets = _numbers(labels, (sentence.labels for sentence in sentences))
        return Part(_words(vocabulary, sentences), Ragged.of(targets))


@tasks.register("language-modeling")
@dataclass(frozen=True)
class LanguageTask(TextTask):
    """Which word comes next? From plain text, a sentence per line; the words of UD English EWT or generated reviews."""

    units: Units = "words"
    known: ClassVar[tuple[str, ...]] = ("ewt",)
    labelled: ClassVar[bool] = False
    of_files: ClassVar[tuple[str, ...]] = ("units",)

    def read(self, path: str, data: bytes) -> list[Sentence]:
        if self.train:
            return read_plain(path, data, self.units, self.encoding)
        return [replace(found, labels=()) for found in read_conllu(path, data)]

    def review(self, review: Review) -> Sentence:
        return Sentence(review.words, (), 0)

    def number(self, sentences: list[Sentence], vocabulary: Vocabulary, labels: tuple[str, ...]) -> Part:
        """A sentence is fed from its start on, and its end is to be predicted too."""
        start, end = vocabulary.encode((START, END))
        numbers = [vocabulary.encode(sentence.words) for sentence in sentences]
        fed, wanted = [[start, *row] for row in numbers], [[*row, end] for row in numbers]
        return Part(Ragged.of(fed), Ragged.of(wanted))


def _words(vocabulary: Vocabulary, sentences: Sequence[Sentence]) -> Ragged:
    return Ragged.of([vocabulary.encode(sentence.words) for sentence in sentences])


def _numbers(labels: Sequence[str], given: Iterable[Sequence[str]]) -> list[list[int]]:
    place = {label: number for number, label in enumerate(labels)}
    return [[place[label] for label in row] for row in given]
