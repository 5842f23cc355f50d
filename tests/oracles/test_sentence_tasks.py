"""Agreement and selection: every sentence is read back by a small parser; conditions are what they are called."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rote.errors import UsageError
from rote.tasks.agreement import INNER, NOUNS, PREPOSITIONS, VERBS, AgreementTask
from rote.tasks.selection import FILLERS, LONGEST, SelectionTask
from rote.tasks.selection import NOUNS as SUBJECTS
from rote.tasks.selection import OBJECTS as WANTED

NOUN = rf"(?:{'|'.join(NOUNS)})s?"
PHRASES = re.compile(rf"the ({NOUN})((?: (?:{'|'.join(PREPOSITIONS)}) the {NOUN})*) (\w+) \.")
SUBJECT = re.compile(rf"the ({NOUN}) that (\w+) the ({NOUN}) (\w+) \.")
OBJECT = re.compile(rf"the ({NOUN}) that the ({NOUN}) (\w+) (\w+) \.")


def plural(word: str) -> bool:
    """By the form alone: nouns end in s when there are many, verbs when there is one."""
    if word in NOUNS or word.removesuffix("s") in NOUNS:
        return word.endswith("s")
    assert word.removesuffix("s") in (*INNER, *VERBS)
    return not word.endswith("s")


def read(sentence: str) -> tuple[str, int, list[bool], bool]:
    """Structure, depth, numbers of the nouns, number of the verb; the inner verb is checked."""
    if found := OBJECT.fullmatch(sentence):
        subject, other, inner, verb = found.groups()
        assert plural(inner) == plural(other)
        return "object relative", 1, [plural(subject), plural(other)], plural(verb)
    if found := SUBJECT.fullmatch(sentence):
        subject, inner, other, verb = found.groups()
        assert plural(inner) == plural(subject)
        return "subject relative", 1, [plural(subject), plural(other)], plural(verb)
    found = PHRASES.fullmatch(sentence)
    assert found, sentence
    others = [word for word in found[2].split() if word != "the" and word not in PREPOSITIONS]
    return "phrases", len(others), [plural(word) for word in (found[1], *others)], plural(found[3])


def test_every_verb_of_the_training_agrees_with_its_subject_and_nothing_else_decides_it() -> None:
    task = AgreementTask()
    corpus = task.training(0, 4000)
    parsed = []
    for tokens, length in zip(corpus.tokens, corpus.lengths, strict=True):
        assert (tokens[length:] == -1).all()
        structure, depth, numbers, verb = read(" ".join(task.words[token] for token in tokens[:length]))
        assert verb == numbers[0]
        parsed.append((structure, depth, numbers))
    shares = {name: sum(row[0] == name for row in parsed) / 4000 for name in ("subject relative", "object relative")}
    assert all(abs(share - 0.2) < 0.03 for share in shares.values())
    depths = np.bincount([depth for structure, depth, _ in parsed if structure == "phrases"])
    assert len(depths) == 3
    assert np.ptp(depths) < 0.1 * depths.sum()
    same = [numbers[0] == numbers[-1] for _, depth, numbers in parsed if depth]
    assert abs(np.mean(same) - 0.5) < 0.04


@pytest.mark.parametrize("attractors", ["congruent", "opposite", "mixed"])
@pytest.mark.parametrize(
    ("structure", "depth"), [("phrases", 1), ("phrases", 5), ("subject relative", 1), ("object relative", 1)]
)
def test_items_have_the_structure_and_the_attractors_that_were_asked_for(structure, depth, attractors) -> None:
    task = AgreementTask(nouns=5, verbs=4)
    items = task.items(1, structure, depth, attractors, 60)
    for prefix, right, wrong in zip(items.prefix, items.right, items.wrong, strict=True):
        words = [task.words[token] for token in (*prefix, right)]
        found, deep, (subject, *others), verb = read(" ".join([*words, "."]))
        assert (found, deep, verb) == (structure, depth, subject)
        assert task.words[wrong].removesuffix("s") == task.words[right].removesuffix("s")
        assert plural(task.words[wrong]) != plural(task.words[right])
        if attractors != "mixed":
            assert {other == subject for other in others} == {attractors == "congruent"}
    again = task.items(1, structure, depth, attractors, 60)
    np.testing.assert_array_equal(items.prefix, again.prefix)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AgreementTask(nouns=0), "'nouns' must be at least 1. Got 0"),
        (lambda: AgreementTask(verbs=99), "'verbs' must be at most 10. Got 99"),
        (lambda: AgreementTask(depth=-1), "'depth' must be at least 0"),
        (lambda: AgreementTask(relatives=1.5), "'relatives' must be a share, 0 to 1. Got 1.5"),
        (lambda: AgreementTask().training(0, 0), "'sentences' must be at least 1. Got 0"),
        (lambda: AgreementTask().items(0, "phrases", 0, "opposite", 5), "At depth 0 there is no noun"),
        (lambda: AgreementTask().items(0, "phrases", 1000, "mixed", 5), "'depth' must be 0 to 50 phrases. Got 1000"),
        (lambda: AgreementTask().items(0, "object relative", 2, "mixed", 5), "depth 1. Got depth 2"),
        (lambda: SelectionTask(()), "'gaps' must name at least one. Got none"),
        (lambda: SelectionTask((13,)), "must be 1 to 12 words between noun and object. Got 13"),
        (lambda: SelectionTask().items(0, 0, 5), "must be 1 to 12 words between noun and object. Got 0"),
        (lambda: SelectionTask(variants=4), "'variants' must be at most 3. Got 4"),
    ],
)
def test_what_cannot_be_is_refused(call, message) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        call()


def test_the_object_goes_with_the_noun_and_with_nothing_between() -> None:
    task = SelectionTask((2, 9), variants=3)
    seen = {2: 0, 9: 0}
    kinds, fillers = [], []
    for row in task.training(0, 0, 2000):
        words = [task.words[token] for token in row if token >= 0]
        assert words[0] == "the"
        assert words[-1] == "."
        kind = next(number for number, group in enumerate(SUBJECTS) if words[1] in group)
        assert words[-2] in WANTED[kind]
        seen[len(words) - 4] += 1
        kinds.append(kind)
        fillers.append(words[-4])
    assert abs(seen[2] - 1000) < 100
    for filler in set(fillers):  # neither kind goes with any of them
        together = [kind for kind, word in zip(kinds, fillers, strict=True) if word == filler]
        assert abs(np.mean(together) - 0.5) < 0.08


@pytest.mark.parametrize("gap", [1, 4, 9, LONGEST])
def test_a_gap_has_its_words_in_the_order_of_the_sentence(gap: int) -> None:
    task = SelectionTask(variants=3)
    items = task.items(0, gap, 50)
    assert items.prefix.shape == (50, gap + 2)
    order = [words for needed, words in FILLERS if needed <= gap]
    for row, kind in zip(items.prefix, items.kind, strict=True):
        words = [task.words[token] for token in row]
        assert words[1] in SUBJECTS[kind]
        assert all(word in allowed for word, allowed in zip(words[2:], order, strict=True))


def test_blocks_differ_and_one_variant_is_the_lectures_sentence() -> None:
    task = SelectionTask(variants=1)
    assert not np.array_equal(task.training(0, 0, 20), task.training(0, 1, 20))
    np.testing.assert_array_equal(task.training(0, 1, 20), task.training(0, 1, 20))
    words = [task.words[token] for token in task.items(0, 9, 1).prefix[0]]
    assert " ".join(words[2:]) == "moved from this city because they wanted a larger"
