"""What counting alone gives: to be printed beside every trained network.

majority            the most frequent label of training, for everything
most frequent tag   of each word its most frequent tag in training; of an unknown word the most frequent of all
uniform, unigram    perplexity of guessing among all words alike, and by how often each occurs in training (one added
                    to every count, because the unknown word may not occur there)
"""

from __future__ import annotations

import numpy as np

from rote.tasks.text import PADDING, UNKNOWN
from rote.tasks.text_tasks import Corpus, Kind, Part

Scores = dict[str, float]  # by part: dev, test


def baselines(kind: Kind, corpus: Corpus) -> dict[str, Scores]:
    """Accuracy, or of language models perplexity, of each baseline on each part."""
    if kind == "classification":
        return {"majority": majority(corpus)}
    if kind == "tagging":
        return {"majority": majority(corpus), "most frequent tag": most_frequent_tag(corpus)}
    return {"uniform": uniform(corpus), "unigram": unigram(corpus)}


def majority(corpus: Corpus) -> Scores:
    (label,) = np.bincount(corpus.train.outputs).argsort(kind="stable")[-1:]
    return {name: float((part.outputs == label).mean()) for name, part in corpus.parts.items()}


def most_frequent_tag(corpus: Corpus) -> Scores:
    counts = np.zeros((len(corpus.vocabulary), len(corpus.labels)), dtype=np.int64)
    np.add.at(counts, (corpus.train.inputs.values, corpus.train.outputs), 1)
    tag = counts.argmax(1)
    tag[UNKNOWN] = tag[PADDING] = counts.sum(0).argmax()

    def score(part: Part) -> float:
        return float((tag[part.inputs.values] == part.outputs).mean())

    return {name: score(part) for name, part in corpus.parts.items()}


def uniform(corpus: Corpus) -> Scores:
    return dict.fromkeys(corpus.parts, float(_predictable(corpus).sum()))


def unigram(corpus: Corpus) -> Scores:
    counts = np.bincount(corpus.train.outputs, minlength=len(corpus.vocabulary)) + 1.0
    counts *= _predictable(corpus)
    with np.errstate(divide="ignore"):  # of what can never come
        bits = -np.log(counts / counts.sum())
    return {name: float(np.exp(bits[part.outputs].mean())) for name, part in corpus.parts.items()}


def _predictable(corpus: Corpus) -> np.ndarray:
    """Every word but padding and the start of a sentence, which never come next."""
    never = (corpus.vocabulary.words[PADDING], "<s>")
    return np.array([word not in never for word in corpus.vocabulary.words])
