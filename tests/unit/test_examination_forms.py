"""Encoder-decoders and classifiers in the battery: how items look to them, how they are called, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from rote.config import to_plain
from rote.errors import RoteError, UsageError
from rote.examination import Items, battery, kept_profile
from rote.examination.calling import asked_logits, lengths, pairs
from rote.examination.checks import check_learner
from rote.examination.forms import check_form, drawn_as, form_of, has_form, kind_named
from rote.examination.learners import enter
from rote.examination.memorizer import memorizer_accuracy, zero
from rote.examination.recipe import ExaminationRecipe, ReferenceMeasurement
from rote.examination.task import NOTHING, START, accuracy
from rote.examination.training import ExaminationProgram, answers, bits, cue_share

DENSE = ("lookup", "nested", "recall", "parity", "s3", "scope")


def test_only_tasks_that_ask_often_have_another_form():
    standard = [name for name in battery if not battery[name].option]
    assert {name for name in standard if form_of("seq2seq", name) == "last"} == set(DENSE)
    assert {name for name in standard if not has_form("classifier", name)} == {"recombine", "synonyms", "count"}
    assert all(form_of("tokens", name) == "all" for name in standard)
    for name in battery:
        check_form("seq2seq", name)


def _rows(items: Items) -> set[tuple[Any, ...]]:
    """What is read and answered, without what fills it up."""
    return {
        (*tokens[:end].tolist(), int(target[end - 1]))
        for tokens, target, end in zip(
            items.tokens, items.targets, lengths(torch.from_numpy(items.targets)).tolist(), strict=True
        )
    }


@pytest.mark.parametrize("name", DENSE)
def test_one_answer_of_each_item_without_leaks_and_with_the_same_references(name: str):
    task = battery[name]()
    drawn, whole = drawn_as(task, 1, "last"), task.draw(1)
    sets = {"train": drawn.train, "known": drawn.known, "new": drawn.new, **drawn.others}
    if drawn.fresh is not None:
        sets["fresh"] = drawn.fresh
        assert not _rows(drawn.fresh) & _rows(drawn.train)
    for kind, items in sets.items():
        asked = items.targets != NOTHING
        assert (asked.sum(1) == 1).all(), kind
        assert (asked == items.scored).all(), kind
        assert accuracy(task.answers(items, 1), items, exact=False) == 1, kind
        behind = np.cumsum(asked, 1) - asked > 0
        assert (items.tokens[behind] == START).all()
        assert not items.cue[behind].any()
    assert _rows(drawn.known) <= _rows(drawn.train)
    assert not _rows(drawn.new) & _rows(drawn.train)
    assert len(drawn.train) == len(whole.train)
    ends = lengths(torch.from_numpy(drawn.train.targets))
    assert len(ends.unique()) > 1  # not always the last place
    memory = memorizer_accuracy(task, drawn)
    assert memory["known"] == 1
    assert zero(task, drawn, memory["new"]) < 0.75


ITEMS = Items(
    tokens=np.array([[0, 5, 6, 7, 8, 0], [0, 5, 9, 1, 2, 3], [0, 4, 0, 0, 0, 0]]),
    targets=np.array([[-1, -1, -1, 8, 9, -1], [-1, -1, 1, 2, 3, 4], [-1, 7, -1, -1, -1, -1]]),
    scored=np.array([[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 0]], bool),
    cue=np.zeros((3, 6), bool),
)


def test_source_and_target_are_what_stands_before_the_answers_and_the_answers_so_far():
    source, target = pairs(torch.from_numpy(ITEMS.tokens), torch.from_numpy(ITEMS.targets))
    assert source.tolist() == [[5, 6, 7], [5, 9, 0], [4, 0, 0]]
    assert target.tolist() == [[0, 8, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0]]
    assert lengths(torch.from_numpy(ITEMS.targets)).tolist() == [5, 6, 2]


class Pair(nn.Module):
    """An encoder and a decoder with attention."""

    def __init__(self, source: int, target: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(source, 16), nn.Embedding(target, 16)
        self.encoder, self.decoder = nn.GRU(16, 16, batch_first=True), nn.GRU(16, 16, batch_first=True)
        self.readout = nn.Linear(32, target)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = source != 0
        packed = pack_padded_sequence(self.source(source), mask.sum(1), batch_first=True, enforce_sorted=False)
        read, state = self.encoder(packed)
        encoded, _ = pad_packed_sequence(read, batch_first=True, total_length=source.shape[1])
        said, _ = self.decoder(self.target(target), state)
        weights = (said @ encoded.mT).masked_fill(~mask[:, None], -1e9).softmax(-1)
        logits: Tensor = self.readout(torch.cat([said, weights @ encoded], -1))
        return logits


class Both(nn.Module):
    """Reads in both directions and gives one answer."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, 24)
        self.encoder = nn.GRU(24, 24, batch_first=True, bidirectional=True)
        self.readout = nn.Linear(48, symbols)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        _, state = self.encoder(packed)
        logits: Tensor = self.readout(torch.cat([state[0], state[1]], -1))
        return logits


def test_answers_stand_in_their_places_and_a_batch_is_its_rows():
    torch.manual_seed(0)
    tokens, targets = torch.from_numpy(ITEMS.tokens), torch.from_numpy(ITEMS.targets)
    model = Pair(10, 10).eval()
    found = asked_logits("seq2seq", model, tokens, targets)
    torch.testing.assert_close(
        found[0, 3:5], model(torch.tensor([[5, 6, 7]]), torch.tensor([[0, 8]]))[0], atol=1e-5, rtol=0
    )
    torch.testing.assert_close(found[2, 1], model(torch.tensor([[4]]), torch.tensor([[0]]))[0, 0], atol=1e-5, rtol=0)
    assert not found[torch.from_numpy(ITEMS.targets) == NOTHING].any()
    both = Both(10).eval()
    found = asked_logits("classifier", both, tokens[2:], targets[2:])
    torch.testing.assert_close(found[0, 1], both(torch.tensor([[0, 4]]), torch.tensor([2]))[0])


def trained(make: Any, task: str, kind: Any, steps: int) -> ExaminationProgram:
    name = f"forms:{make.__name__}"
    enter(name, make)
    program = ExaminationProgram(name, battery[task](), 0, kind=kind, form=form_of(kind, task))
    optimizer = torch.optim.Adam(program.model.parameters(), 0.01)
    for step in range(steps):
        optimizer.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
    return program


def test_a_classifier_learns_and_a_bidirectional_one_is_no_cheat_there():
    program = trained(Both, "conduit", "classifier", 150)
    known = program.drawn.known
    assert accuracy(answers(program.model, known, "classifier"), known, exact=False) > 0.9
    share = cue_share(program.model, known, "classifier")
    assert share is not None
    assert 0 < share < 1


def test_an_encoder_decoder_learns_sequences():
    program = trained(Pair, "count", "seq2seq", 250)
    known = program.drawn.known
    right = answers(program.model, known, "seq2seq") == known.targets
    assert right[known.scored].mean() > 0.9
    with torch.no_grad():
        assert program.measure()["known"] > 0.3
    share = cue_share(program.model, known, "seq2seq")  # letters against dots
    assert share is not None
    assert share > 0.4


def test_bits_of_labels_are_counted_for_every_kind():
    task = battery["memory"]()
    items = task.draw(0).train[:64]
    torch.manual_seed(0)
    assert bits(Both(len(task.symbols)), items, "classifier") < 0.1 * 4 * len(items)
    assert bits(Pair(len(task.symbols), len(task.symbols)), items, "seq2seq") < 0.1 * 4 * len(items)


def test_both_kinds_are_taken():
    for make, kind in ((Pair, "seq2seq"), (Both, "classifier")):
        enter(f"forms:{make.__name__}", make)
        assert check_learner(f"forms:{make.__name__}", kind) > 0  # type: ignore[arg-type]


class Ahead(Pair):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source, target.flip(1))


class Unmasked(Pair):
    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return super().forward(source + (source == 0), target)


class Lengthless(Both):
    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        return super().forward(tokens, torch.full_like(lengths, tokens.shape[1]))


class Everywhere(Both):
    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        return super().forward(tokens, lengths)[:, None].expand(-1, tokens.shape[1], -1)


class Noisy(Both):
    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        return super().forward(tokens, lengths) + torch.rand(())


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (Ahead, "seq2seq", "looks ahead: later targets change earlier logits"),
        (Unmasked, "seq2seq", "Mask where the source is 0"),
        (Lengthless, "classifier", "Mask what stands behind the lengths"),
        (Everywhere, "classifier", r"must give logits \[4, 33\] for tokens \[4, 64\].*Got \(4, 64, 33\)"),
        (Noisy, "classifier", "answers otherwise when it is asked again"),
        (Both, "tokens", r"'classifier' \(tokens, lengths\)"),
        (Pair, "tokens", r"of the kind 'seq2seq' \(source, target\)"),
        (Both, "seq2seq", "called with the sizes of both vocabularies"),
    ],
)
def test_what_is_of_another_kind_or_cheats_is_refused_in_one_line(make: Any, kind: Any, told: str):
    name = f"forms:{make.__name__}"
    enter(name, make)
    with pytest.raises(UsageError, match=told) as caught:
        check_learner(name, kind)
    assert "\n" not in str(caught.value)


def test_a_kind_that_there_is_not_and_a_task_that_has_no_form_are_told():
    with pytest.raises(RoteError, match="seq2sec"):
        kind_named("seq2sec")
    with pytest.raises(UsageError, match="'count' are sequences, and a classifier gives one symbol"):
        check_form("classifier", "count")


def test_trainings_of_tokens_keep_their_identity_and_others_have_their_own():
    before = {"learner": "lstm", "task": "lookup", "rate": 0.004, "steps": 1500, "battery": 1}
    recipe = ExaminationRecipe("lstm", "lookup", 0.004, 1500)
    assert to_plain(recipe) == before
    assert to_plain(ReferenceMeasurement("lookup")) == {"task": "lookup", "battery": 1}
    ids = {
        one.jobs([0])[0].request.id
        for one in (recipe, replace(recipe, form="last"), replace(recipe, kind="classifier"))
    }
    assert len(ids) == 3


def test_profiles_of_two_kinds_are_compared_where_their_items_are_the_same():
    lstm = kept_profile("lstm")
    assert lstm is not None
    other = replace(lstm, plan={**lstm.plan, "kind": "seq2seq"})
    assert set(lstm.shared(other)) == set(lstm.tasks) - set(DENSE)
    assert {row["task"] for row in other.compare(lstm).records()} <= set(lstm.shared(other))
    assert set(other.shared(other)) == set(lstm.tasks)
