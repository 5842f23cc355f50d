"""What a phrase contributes to each later prediction, against the rest of the text; and all spans at one output.

Contextual decomposition gives two parts of the top state; read out they sum, with what comes from no input, to the
logit. How exact they are, and how far they grow and cancel, is measured and told. The rules are those of
``rote.decompose``, its default first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rote.analyses import decompose
from rote.analyses.spans import contiguous_spans
from rote.errors import UsageError
from rote.explorer.reading import Reader, Reading

TREE = 60  # symbols up to the output whose spans are all looked at
WORDS = 32  # or words
NUMBERS = 40_000_000  # of the states of all spans at all steps, that are held at once
MEASURED = 12  # spans of a tree whose error is measured: it costs more than the scores


@dataclass(frozen=True)
class Contribution:
    """Of a phrase, at every output from its first symbol on."""

    reading: Reading
    span: tuple[int, int]
    steps: tuple[int, ...]
    outputs: tuple[str, ...]  # the word that is looked at, at each step
    phrase: Tensor  # logit from the phrase, [step]
    rest: Tensor  # logit from the rest
    bias: Tensor  # logit that comes from no input
    chance: Tensor  # the model's probability of the word, and what each part alone would give it
    chance_phrase: Tensor
    chance_rest: Tensor
    error: float  # of the parts, relative
    growth: float  # the largest part over the largest state
    warning: str  # what must be known before the parts are believed

    def answer(self) -> dict[str, Any]:
        numbers = {
            name: [round(value, 6) for value in getattr(self, name).tolist()]
            for name in ("phrase", "rest", "bias", "chance", "chance_phrase", "chance_rest")
        }
        return self.reading.facts() | {
            "span": self.span, "steps": self.steps, "outputs": self.outputs, **numbers, "error": self.error,
            "growth": self.growth, "warning": self.warning,
            "tree_limits": {"symbols": TREE, "words": WORDS},
        }  # fmt: skip


def contribution(
    reader: Reader,
    text: str,
    span: tuple[int, int],
    *,
    word: str | None = None,
    target: bool = False,
    rules: str = "shapley",
) -> Contribution:
    """``word``: the output that is looked at everywhere; else what the text has there (``target``), where it says so,
    or what the model predicts there."""
    reading = reader.read(text)
    parts = decompose(reader.model, reading.tokens, [span], rules=rules, at=slice(span[0], None))
    both, rest, offset = parts.logits()[0, 0], parts.logits(irrelevant=True)[0, 0], parts.baseline_logits()[0]
    whole = both + rest + offset
    looked_at = _looked_at(reader, reading, whole, span[0], word, target)

    def at_word(values: Tensor) -> Tensor:
        return values.gather(1, looked_at[:, None])[:, 0]

    def chance(logits: Tensor) -> Tensor:
        return at_word(logits.softmax(-1))

    names = tuple(reader.outputs[number] for number in looked_at.tolist())
    return Contribution(
        reading, span, tuple(range(span[0], reading.time)), names,
        at_word(both), at_word(rest), at_word(offset), chance(whole), chance(both), chance(rest),
        float(parts.error.max()), float(parts.growth.max()), parts.warning,
    )  # fmt: skip


@dataclass(frozen=True)
class Spans:
    """The score of every span for one output: the logit that it contributes there."""

    reading: Reading
    at: int
    output: str
    units: tuple[tuple[int, int], ...]  # the symbols of each unit: itself, or a word
    scores: Tensor  # [span], in the order (0, 0), (0, 1), ..., (1, 1), ... of units
    error: float  # the largest of some spans, spread over all of them
    measured: int  # how many these are
    growth: float  # the largest part of all spans over the largest state
    warning: str

    def answer(self) -> dict[str, Any]:
        return self.reading.facts() | {
            "at": self.at, "output": self.output, "units": self.units,
            "scores": [round(value, 6) for value in self.scores.tolist()], "error": self.error,
            "measured": self.measured, "growth": self.growth, "warning": self.warning,
        }  # fmt: skip


def all_spans(
    reader: Reader, text: str, at: int, *, word: str | None = None, whole_words: bool = False, rules: str = "shapley"
) -> Spans:
    """All spans that end at or before the output ``at``, of symbols or of whole words."""
    reading = reader.read(text)
    if not 0 <= at < reading.time:
        raise UsageError(f"'at' must lie in 0 to {reading.time - 1}, the steps of the text. Got {at}.")
    if reader.model.recurrent.directions == 2:
        raise UsageError(
            "The tree of spans needs a model that reads in one direction: an output here sees what follows."
        )
    tokens = reading.tokens[:, : at + 1]
    units = _word_units(reading.words[: at + 1]) if whole_words else [(step, step) for step in range(at + 1)]
    limit, kind = (WORDS, "words") if whole_words else (TREE, "symbols")
    if len(units) > limit:
        raise UsageError(
            f"The tree holds at most {limit} {kind} up to the chosen output. Got {len(units)}; choose an earlier one."
        )
    _check_size(reader, len(units), at + 1, kind)
    pairs = [(units[first][0], units[last][1]) for first, last in contiguous_spans(len(units))]
    parts = decompose(reader.model, tokens, pairs, rules=rules, at=-1)
    errors = parts.error_of(slice(None), slice(None, None, max(1, len(pairs) // MEASURED)))
    number = int(reader.model.read(parts.hidden)[0, -1].argmax()) if word is None else reader.output(word)
    scores = parts.logits()[0, :, -1, number]
    return Spans(
        reading, at, reader.outputs[number], tuple(units), scores, float(errors.max()), errors.numel(),
        float(parts.growth.max()), parts.warning,
    )  # fmt: skip


def _check_size(reader: Reader, units: int, steps: int, kind: str) -> None:
    """A wide model takes fewer spans."""
    spans = units * (units + 1) // 2
    if spans * steps * reader.model.recurrent.output_size > NUMBERS:
        raise UsageError(
            f"The {spans} spans of {units} {kind} are too many for a model of "
            f"{reader.model.recurrent.output_size} units. Choose an earlier output."
        )


def _looked_at(reader: Reader, reading: Reading, whole: Tensor, first: int, word: str | None, target: bool) -> Tensor:
    if word is not None:
        return torch.full((len(whole),), reader.output(word), device=whole.device)
    best = whole.argmax(-1)
    if not target:
        return best
    meant = reading.targets[first:]
    return torch.tensor(
        [int(own) if number is None else number for number, own in zip(meant, best.tolist(), strict=True)],
        device=whole.device,
    )


def _word_units(words: Sequence[int]) -> list[tuple[int, int]]:
    starts = [step for step, word in enumerate(words) if step == 0 or word != words[step - 1]]
    return [(start, end - 1) for start, end in zip(starts, [*starts[1:], len(words)], strict=True)]
