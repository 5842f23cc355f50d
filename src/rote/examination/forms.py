"""Other models than those that read one sequence: what they are given, and how the items of a task look to them.

- ``tokens``: ``module(tokens)``, from [batch, time] to logits [batch, time, symbol]; it must not look ahead.
- ``seq2seq``, an encoder and a decoder: ``module(source, target)``. ``source`` [batch, time] is all that stands before
  the first answer, without the start; ``target`` [batch, answers] are the answers so far behind a 0. Logits [batch,
  answers, symbol].
- ``classifier``, which may look in both directions: ``module(tokens, lengths)``, from [batch, time] to logits [batch,
  symbol] of the one answer behind ``lengths`` tokens, the start among them.

0 fills everything up on the right. A task whose answers are a sequence (an ``exact`` one) goes to a seq2seq model as it
is, and has no form for classifiers. Of a task that asks at many places of an item the two others get one place of each
item, which the item's own symbols draw; the reference learners see the same items.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from rote.errors import UnknownNameError, UsageError
from rote.examination.task import NOTHING, START, BatteryTask, Bools, Drawn, Integers, Items, battery

Kind = Literal["tokens", "seq2seq", "classifier"]
Form = Literal["all", "last"]  # of the items: all answers, or one, the last that can be read
KINDS: tuple[Kind, ...] = get_args(Kind)


def kind_named(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise UnknownNameError("kind of model", kind, KINDS)


def kind_of_module(learner: str, kind: Kind) -> Kind:
    """How the module of a learner is called: those that come with Rote read one sequence, whatever its form."""
    return kind if ":" in learner else "tokens"


def has_form(kind: Kind, task: str) -> bool:
    return not (kind == "classifier" and battery[task].exact)


@functools.cache
def form_of(kind: Kind, task: str) -> Form:
    """The form in which models of a kind get the items of a task: where it asks once of each item there is only one."""
    if kind == "tokens" or battery[task].exact:
        return "all"
    asked = battery[task]().draw(0).train.targets != NOTHING
    return "all" if (asked.sum(1) == 1).all() else "last"


def check_form(kind: Kind, task: str) -> None:
    """Refuse a task that a kind of model cannot be asked."""
    if not has_form(kind, task):
        possible = [name for name in battery if has_form(kind, name) and not battery[name].option]
        raise UsageError(
            f"The answers of {task!r} are sequences, and a classifier gives one symbol. Leave it out; there are: "
            f"{', '.join(possible)}."
        )
    if kind == "seq2seq" and battery[task].exact:
        items = battery[task]().draw(0).new
        asked = items.targets != NOTHING
        follows = asked[:, :-1] & asked[:, 1:]
        broken = (np.diff(asked.astype(int), axis=1) > 0).sum(1) + asked[:, 0] > 1
        if asked[:, 0].any() or broken.any() or (items.tokens[:, 1:] != items.targets[:, :-1])[follows].any():
            raise UsageError(
                f"{task!r} cannot be asked of a seq2seq model: the answers of an item must follow each other, each "
                "read before the next one, behind at least one symbol. Examine a model of tokens on it."
            )


def drawn_as(task: BatteryTask, seed: int, form: Form) -> Drawn:
    """The items of a seed in a form. Fresh ones that became training items when they were cut off are left out."""
    drawn = task.draw(seed)
    if form == "all":
        return drawn
    train = _one_answer(drawn.train, _asked(drawn.train), seed)
    fresh = drawn.fresh and _one_answer(drawn.fresh, _asked(drawn.fresh), seed)
    if fresh is not None:
        known = set(_read(train))
        fresh = fresh[np.flatnonzero([read not in known for read in _read(fresh)])]
    return replace(
        drawn, train=train, known=_one_answer(drawn.known, _asked(drawn.known), seed),
        fresh=fresh if fresh is not None and len(fresh) else None,
        new=_one_answer(drawn.new, drawn.new.scored, seed),
        others={name: _one_answer(items, items.scored, seed) for name, items in drawn.others.items()},
    )  # fmt: skip


def _asked(items: Items) -> Bools:
    return np.not_equal(items.targets, NOTHING)


def _read(items: Items) -> list[bytes]:
    """Each item up to its end, to be compared with those of other sets."""
    return [tokens[: 1 + int(np.flatnonzero(tokens)[-1])].tobytes() for tokens in items.tokens]


def _one_answer(items: Items, places: Bools, seed: int) -> Items:
    """Cut off behind one of these ``places`` of each item. Equal items are cut at the same place in every set, so that
    known ones are training items."""
    ends = np.array([
        np.random.default_rng((seed, zlib.crc32(read))).choice(np.flatnonzero(row))
        for read, row in zip(_read(items), places, strict=True)
    ])  # fmt: skip
    time: Integers = np.arange(1 + ends.max())
    before, at = time <= ends[:, None], time == ends[:, None]
    width = len(time)
    return Items(
        np.where(before, items.tokens[:, :width], START), np.where(at, items.targets[:, :width], NOTHING), at,
        items.cue[:, :width] & before,
    )  # fmt: skip
