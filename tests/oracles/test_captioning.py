"""Pictures, their captions, the networks that say them and what they are compared with, each against another way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from rote.claims import judge
from rote.errors import SettingError
from rote.laboratory import Laboratory, studies
from rote.models.captioner import StackedCaptioner
from rote.models.settings import CaptionerConfig
from rote.store import Store
from rote.studies.foundations.captioning import SHAPES, CaptioningBaselines, CaptioningRecipe
from rote.studies.foundations.captioning_training import EVERY, CaptioningProgram, ended, nearest, say, scores
from rote.studies.foundations.captioning_training import _numbers as numbers
from rote.tasks.captions import DIGITS, PAD, WORDS, Captioned, CaptionsTask, captions, spoken
from rote.tasks.mnist import load_digits

DATA = load_digits("stand-in")


def test_captions_say_what_is_on_the_picture() -> None:
    said = captions(np.array([3, 3, 0]), np.array([7, 7, 1]), np.array([1, 2, 0]))
    assert [spoken(one) for one in said] == ["three left of seven", "three above seven", "zero"]
    assert [WORDS[word] for word in said[0]] == ["three", "left", "of", "seven", "."]


@pytest.mark.parametrize("part", ["training", "seen", "held-out"])
def test_every_digit_stands_where_its_caption_says(part: str) -> None:
    """Read from the picture again: which places have ink, and which image of which class stands there."""
    task = CaptionsTask(3)
    source = DATA.training if part == "training" else DATA.test
    drawn = task.training(source, 1, 4, 60) if part == "training" else task.test(source, 1, part, 60)  # type: ignore[arg-type]
    labels = {image.tobytes(): label for image, label in zip(source.images, source.labels, strict=True)}
    for picture, caption in zip(drawn.images, drawn.captions, strict=True):
        there = {}
        for place in ((0, 0), (0, 1), (1, 0), (1, 1)):
            row, column = (8 * number for number in place)
            image = np.ascontiguousarray(picture[row : row + 8, column : column + 8])
            if image.any():
                there[place] = labels[image.tobytes()]
        places = sorted(there)
        first = DIGITS[there[places[0]]]
        if len(places) == 1:
            assert spoken(caption) == first
            continue
        between = " left of " if places[0][0] == places[1][0] else " above "
        assert spoken(caption) == first + between + DIGITS[there[places[1]]]


def test_pairs_that_are_held_out_are_never_shown_and_every_digit_is_shown_in_every_place() -> None:
    task, differences = CaptionsTask(8), CaptionsTask(8).held_out(5)
    shown = task.training(DATA.training, 5, 0, 4000)
    two = shown.captions[shown.relation > 0]
    second = np.where(two[:, 2] == WORDS.index("of"), two[:, 3], two[:, 2])
    assert len(set(differences)) == 8
    assert not np.isin((second - two[:, 0]) % 10, differences).any()
    for relation in (1, 2):
        rows = shown.captions[shown.relation == relation]
        assert set(rows[:, 0]) == set(rows[:, 3 if relation == 1 else 2]) == set(range(1, 11))
    new = task.test(DATA.test, 5, "held-out", 500).captions
    assert not {tuple(row) for row in new} & {tuple(row) for row in shown.captions}
    assert set(CaptionsTask(2).held_out(5)) < set(differences)
    with pytest.raises(SettingError, match="'held' must leave one of the 10 differences"):
        CaptionsTask(10)


@pytest.mark.parametrize("cell", ["elman", "lstm"])
def test_a_caption_is_said_word_by_word_each_time_the_most_probable_one(cell: str) -> None:
    """Against the whole forward pass, fed with what was said."""
    model = StackedCaptioner(12, 6, CaptionerConfig(cell, 5, 4, 7), (0, 1), torch.float64)
    images = torch.rand(2, 9, 12, dtype=torch.float64)
    said = model.say(images, 4)
    fed = torch.cat([torch.zeros_like(said[..., :1]), said[..., :-1]], -1)
    logits = model(images, fed)
    assert torch.equal(logits.argmax(-1), said)
    assert not torch.equal(logits[:, 0], logits[:, 1]), "other pictures, other words"


def test_captions_are_numbered_without_gaps_and_padding_stands_behind_the_end() -> None:
    assert len({tuple(row) for row in EVERY}) == len(EVERY) == 210
    np.testing.assert_array_equal(numbers(EVERY), np.arange(210))
    np.testing.assert_array_equal(ended(np.array([[3, 0, 4, 0], [1, 2, 3, 4]])), [[3, 0, PAD, PAD], [1, 2, 3, 4]])


def test_scores_tell_digits_relation_and_pairs_of_training_apart() -> None:
    task = CaptionsTask(2)
    held, (other, *_) = task.held_out(0), sorted(set(range(10)) - set(task.held_out(0).tolist()))
    first, second = np.array([3, 3, 3]), np.full(3, (3 + held[0]) % 10)
    shown = Captioned(
        np.zeros((3, 1, 1), np.float32), captions(first, second, np.array([1, 1, 2])), np.array([1, 1, 2])
    )
    said = shown.captions.copy()
    said[1] = captions(first[:1], np.array([(3 + other) % 10]), np.array([2]))[0]  # another relation, a trained pair
    found = scores(task, 0, shown, said)
    assert found == {
        "right": pytest.approx(2 / 3), "first": 1.0, "relation": pytest.approx(2 / 3), "second": pytest.approx(2 / 3),
        "trained_pair": pytest.approx(1 / 3),
    }  # fmt: skip


def test_the_nearest_picture_is_the_nearest_of_all() -> None:
    asked = CaptioningBaselines(held=(2,), pictures=12, known=40)
    (table,) = nearest(asked, [3])
    task = CaptionsTask(2)
    known, shown = task.training(DATA.training, 3, 0, 40), task.test(DATA.test, 3, "seen", 12)
    best = [min(range(40), key=lambda one: float(((known.images[one] - image) ** 2).sum())) for image in shown.images]
    right = (known.captions[best] == shown.captions).all(1).mean()
    assert table.where(model="nearest picture", part="seen").column("right") == [pytest.approx(right)]
    assert table.where(model="nearest picture", part="held-out").column("right") == [0.0], "it knows no such caption"


@pytest.mark.parametrize("head", ["recurrent", "places", "whole"])
def test_losses_are_those_of_the_words_that_should_be_said(head: str) -> None:
    """With logits that make what should be said certain, the loss is zero and it is said."""
    recipe = CaptioningRecipe(CaptionerConfig("gru", 6, 4, 6), held=(2,), head=head)  # type: ignore[arg-type]
    recipe = replace(recipe, training=replace(recipe.training, batch=4))
    program = CaptioningProgram(recipe, DATA, (0, 1), "cpu")
    optimizer = torch.optim.Adam(program.model.parameters(), 0.05)
    for _ in range(150):  # one batch by heart
        optimizer.zero_grad()
        losses = program.losses(0)
        losses.sum().backward()
        optimizer.step()
    assert losses.shape == (2,)
    assert float(losses.detach().max()) < 0.05
    drawn = [task.training(program.images, seed, 0, 4) for task, seed in program.tasks]
    images = torch.from_numpy(np.stack([one.images.reshape(4, -1) for one in drawn]))
    np.testing.assert_array_equal(say(recipe, program.model, images), np.stack([one.captions for one in drawn]))


def test_a_network_that_says_only_what_it_learned_by_heart_does_not_compose() -> None:
    (claim,) = (one for one in studies["captioning"].claims if one.id == "captioning-composes")
    for new, outcome in ((0.2, "contradicted"), (0.88, "supported")):
        values = {item.label: 0.9 if "seen together" in item.label else new - 0.9 for item in claim.all()}
        values |= {item.label: new - 0.9 for item in claim.all() if item.role == "part"}
        found = judge(claim, {label: dict.fromkeys(range(6), value) for label, value in values.items()})
        assert found.outcome == outcome


def test_the_five_shapes_of_the_slide_have_each_a_study() -> None:
    assert len(SHAPES) == 5
    assert all(name in studies for _, _, names, _ in SHAPES for name in names)
    assert {example for _, example, _, _ in SHAPES} == {
        "MLP", "image captioning", "text classification", "seq2seq", "POS tagging"
    }  # fmt: skip


def test_the_tables_have_every_network_and_baseline_beside_each_other(tmp_path: Path) -> None:
    result = Laboratory(Store(tmp_path), workers=1).run("captioning", "smoke", {"cells": "gru", "seeds": 1})
    tables = result.run.tables()
    models = ["gru", "a word for each place", "one of all captions", "nearest picture", "most frequent caption"]
    assert [row["model"] for row in tables["outcome"].records()] == models * 2
    assert tables["outcome"].where(model="one of all captions").column("new") == [0.0, 0.0]
    assert len(tables["examples"].rows) == 3 * 2 * 2 * 3
