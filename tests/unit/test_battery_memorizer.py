"""The rote learner, against the same three ways written as loops over all training prefixes."""

from collections import Counter

import numpy as np
import pytest

from rote.examination.memorizer import Memorizer, memorizer_accuracy, zero
from rote.examination.task import NOTHING, Drawn, Items, battery


def asked_prefixes(items):
    for row, place in zip(*np.nonzero(items.targets != NOTHING), strict=True):
        yield tuple(items.tokens[row, : 1 + place]), int(items.targets[row, place])


def by_backoff(known, prefix):
    for length in range(len(prefix), -1, -1):
        votes = Counter(answer for one, answer in known if length == 0 or one[-length:] == prefix[-length:])
        if length <= len(prefix) and votes:
            return votes
    raise AssertionError


def by_overlap(known, prefix, overlap):
    best = max(overlap(one, prefix) for one, _ in known)
    return Counter(answer for one, answer in known if overlap(one, prefix) == best)


def recent(one, other):
    return sum(a == b for a, b in zip(reversed(one), reversed(other), strict=False))


def early(one, other):
    return (one[-1] == other[-1]) + sum(a == b for a, b in zip(one[:-1], other[:-1], strict=False))


def some(items, rows):
    return items[np.arange(rows) * (len(items) // rows)]


@pytest.mark.parametrize("name", ["recombine", "nested", "recall", "agreement"])
def test_the_three_ways_are_those_of_the_loops(name):
    drawn = battery[name]().draw(3)
    train = some(drawn.train, 60)
    known, memorizer = list(asked_prefixes(train)), Memorizer(train)
    ways = {
        "backoff": lambda prefix: by_backoff(known, prefix),
        "recent": lambda prefix: by_overlap(known, prefix, recent),
        "early": lambda prefix: by_overlap(known, prefix, early),
    }
    for items in (train[:10], some(drawn.new, 10)):
        found = memorizer.answers(items)
        for way, votes_of in ways.items():
            for row, place in zip(*np.nonzero(items.scored), strict=True):
                votes = votes_of(tuple(items.tokens[row, : 1 + place]))
                answer = int(found[way][row, place])
                assert votes[answer] == max(votes.values()), (way, row, place)
            assert (found[way][~items.scored] == NOTHING).all()


def small(tokens, targets):
    tokens, targets = np.array(tokens), np.array(targets)
    return Items(tokens, targets, targets != NOTHING, np.zeros(tokens.shape, bool))


def test_memory_is_that_of_the_best_way_and_zero_is_not_below_a_guess_or_a_constant_answer():
    task = battery["parity"]()  # chance .5
    train = small([[0, 1, 1], [0, 1, 2], [0, 2, 2]], [[-1, -1, 3], [-1, -1, 4], [-1, -1, 3]])
    other_way = small([[0, 2, 1], [0, 2, 1]], [[-1, -1, 4], [-1, -1, 4]])
    drawn = Drawn(train=train, known=train, fresh=None, new=other_way, others={"same": train[:1]})
    memory = memorizer_accuracy(task, drawn)
    assert memory == {"known": 1.0, "new": 0.0, "same": 1.0}
    assert zero(task, drawn) == 1.0, "always 4"
    mixed = small([[0, 2, 1], [0, 2, 1]], [[-1, -1, 4], [-1, -1, 3]])
    assert zero(task, Drawn(train, train, None, mixed, {})) == 0.5
    assert zero(task, Drawn(train, train, None, mixed, {}), memory=0.75) == 0.75


def test_an_exact_item_needs_all_its_answers():
    task = battery["count"]()
    train = small([[0, 1, 6]], [[-1, 6, 7]])
    new = small([[0, 2, 6], [0, 1, 6]], [[-1, 6, 6], [-1, 6, 7]])
    drawn = Drawn(train, train, None, new, {})
    assert memorizer_accuracy(task, drawn)["new"] == 0.5
    assert zero(task, drawn) == 0.5
