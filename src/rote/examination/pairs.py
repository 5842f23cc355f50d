"""A language model that is trained already: which of two sentences does it find more probable?

    table = rote.examination.minimal_pairs(score)                  # pairs that are generated
    table = rote.examination.minimal_pairs(score, "pairs.jsonl")   # one's own, in the form of BLiMP

``score`` takes sentences and gives the logarithm of each one's probability. Of such a model nobody knows what it was
trained on, so that there is no rote learner and no index: a share of pairs in which it prefers the right sentence,
between a guess (one half) and the rule (all).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rote.claims import proportion
from rote.errors import UsageError
from rote.examination.task import Integers
from rote.store import Column, Table
from rote.tasks.agreement import NOUNS, VERBS, AgreementTask
from rote.tasks.selection import SelectionTask

Score = Callable[[Sequence[str]], Sequence[float]]
PAIRS = 200  # of a kind
DEPTHS = (0, 1, 2, 4)  # nouns of the other number between subject and verb
GAPS = (3, 6, 9)  # words between a noun and what it selects
FIELDS = ("sentence_good", "sentence_bad")  # as BLiMP calls them; UID or phenomenon: the kind


@dataclass(frozen=True)
class Pair:
    kind: str
    good: str
    bad: str


def generated(seed: int = 0, count: int = PAIRS) -> list[Pair]:
    """Agreement past nouns of the other number, and selection over a gap."""
    task = AgreementTask(nouns=len(NOUNS), verbs=len(VERBS))
    pairs = []
    for depth in DEPTHS:
        items = task.items(seed, "phrases", depth, "opposite" if depth else "congruent", count)
        kind = f"agreement, {depth} nouns between"
        pairs += _pairs(kind, task.words, items.prefix, items.right, items.wrong)
    selection = SelectionTask(variants=3)
    for gap in GAPS:
        asked, which = selection.items(seed, gap, count), np.arange(count) % selection.objects.shape[1]
        right, wrong = (selection.objects[kinds, which] for kinds in (asked.kind, 1 - asked.kind))
        pairs += _pairs(f"selection, {gap} words between", selection.words, asked.prefix, right, wrong)
    return pairs


def _pairs(kind: str, words: Sequence[str], prefix: Integers, right: Integers, wrong: Integers) -> list[Pair]:
    return [
        Pair(kind, _sentence(words, [*begun, good]), _sentence(words, [*begun, bad]))
        for begun, good, bad in zip(prefix, right, wrong, strict=True)
    ]


def _sentence(words: Sequence[str], numbers: Sequence[int]) -> str:
    text = " ".join(words[number] for number in numbers)
    return f"{text[0].upper()}{text[1:]}."


def read_pairs(path: str | Path) -> list[Pair]:
    """From a file: in each line a JSON object, or good, a tab, bad, and where there are several kinds a tab and its."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The pairs in {path} cannot be read: {error}.") from None
    pairs = [_pair(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not pairs:
        raise UsageError(f"{path} has no pairs. Each line is one: good, a tab, bad.")
    return pairs


def _pair(path: Path, number: int, line: str) -> Pair:
    if line.lstrip().startswith("{"):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"Line {number} of {path} is no JSON: {error}.") from None
        if any(not isinstance(row.get(field), str) for field in FIELDS):
            raise UsageError(f"Line {number} of {path} needs the texts {' and '.join(FIELDS)}.")
        kind = row.get("UID") or row.get("phenomenon") or path.stem
        return Pair(str(kind), row[FIELDS[0]], row[FIELDS[1]])
    parts = line.split("\t")
    if len(parts) not in (2, 3):
        raise UsageError(
            f"Line {number} of {path} must be good, a tab, bad (and a tab, a kind). Got {len(parts)} parts."
        )
    return Pair(parts[2] if len(parts) == 3 else path.stem, parts[0], parts[1])


def minimal_pairs(score: Score, pairs: Sequence[Pair] | str | Path | None = None) -> Table:
    """How often the right sentence is the more probable one, by kind; a tie counts against."""
    asked = generated() if pairs is None else read_pairs(pairs) if isinstance(pairs, str | Path) else list(pairs)
    scores = [_scores(score, [getattr(pair, side) for pair in asked]) for side in ("good", "bad")]
    right = scores[0] > scores[1]
    rows = []
    for kind in dict.fromkeys(pair.kind for pair in asked):
        mine = [bool(one) for pair, one in zip(asked, right, strict=True) if pair.kind == kind]
        share = proportion(sum(mine), len(mine))
        rows.append({
            "kind": kind, "right": share.value, "low": share.low, "high": share.high, "pairs": len(mine),
            "outcome": "rule" if share.low > 0.9 else "above a guess" if share.low > 0.5 else
            "misled" if share.high < 0.5 else "a guess",
        })  # fmt: skip
    columns = (
        Column("kind", role="label"),
        Column("right", "share of pairs whose right sentence is the more probable one"),
        Column("low", "95 % interval over pairs"),
        Column("high", "95 % interval over pairs"),
        Column("pairs"),
        Column("outcome", "above .9, above one half, below it, or neither"),
    )
    note = "Of a trained model nobody knows the training items, so there is no rote learner and no index."
    return Table.make("minimal-pairs", "Minimal pairs", columns, rows, note=note)


def _scores(score: Score, sentences: Sequence[str]) -> np.ndarray:
    try:
        given = np.asarray(score(sentences), dtype=float)
    except (Exception, SystemExit) as error:
        told = " ".join(str(error).split())
        raise UsageError(f"'score' fails on a list of sentences: {type(error).__name__}: {told}") from error
    if given.shape != (len(sentences),):
        raise UsageError(
            f"'score' must give one number for each of the {len(sentences)} sentences. Got the shape {given.shape}."
        )
    if not np.isfinite(given).all():
        bad = sentences[int(np.flatnonzero(~np.isfinite(given))[0])]
        raise UsageError(f"'score' gives no finite number for {bad!r}.")
    return given
