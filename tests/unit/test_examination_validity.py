"""Reliability over seeds and agreement of inside and outside, against published and planted numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from rote.errors import UsageError
from rote.examination import battery, kept_profile, kept_profiles
from rote.examination.controls import COMPARED, EXAMINED, FOLDER, READERS, Attentive, controls
from rote.examination.memorizer import Memorizer, zero
from rote.examination.plan import standard
from rote.examination.profile import Profile, task_profile
from rote.examination.references import AGAIN
from rote.examination.task import Items, accuracy
from rote.examination.training import ExaminationProgram, answers, made_network
from rote.examination.validity import inside_agreement, intraclass_correlation, of_seeds, reliability


def test_the_intraclass_correlation_is_that_of_shrout_and_fleiss():
    """Their Table 2: six targets, four judges, ICC(2,1) = .29."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert intraclass_correlation(ratings) == pytest.approx(0.2898, abs=1e-4)
    assert intraclass_correlation([[0.1, 0.1], [0.5, 0.5], [0.9, 0.9]]) == pytest.approx(1.0)
    shifted = [[value, value + 0.3] for value in (0.1, 0.3, 0.5)]  # the order alone is no agreement
    assert intraclass_correlation(shifted) < 0.6
    assert math.isnan(intraclass_correlation(np.zeros((3, 2))))
    with pytest.raises(UsageError, match="at least two of each"):
        intraclass_correlation([[1.0, 2.0]])


def kept(name: str) -> Profile:
    profile = kept_profile(name)
    assert profile is not None
    return profile


def test_a_profile_of_some_seeds_has_their_runs_alone():
    part = of_seeds(kept("lstm"), {1, 3})
    assert {run["seed"] for task in part.tasks.values() for run in task.runs} == {1, 3}
    assert part.plan["seeds"] == [1, 3]
    assert of_seeds(kept("lstm"), range(5)).score == kept("lstm").score


def test_every_division_of_the_seeds_is_told_and_all_of_them_agree_for_one_that_has_no_spread():
    rows = reliability([kept("lstm"), kept("elman"), kept("rote")]).records()
    assert len(rows) == math.comb(5, 2)
    assert all(not set(row["first"].split()) & set(row["second"].split()) for row in rows)
    assert all(row["profiles"] == 3 for row in rows)
    (row, *_) = rows
    halves = [[of_seeds(kept("lstm"), seeds).score for seeds in ((0, 1), (2, 3, 4))]]
    (one, other) = halves[0]
    assert one is not None
    assert other is not None
    assert row["largest"] >= abs(one.value - other.value)


def test_second_examinations_are_of_other_seeds_and_the_same_tasks():
    """Else the guide would say how well an examination agrees with itself."""
    again = kept_profiles(AGAIN)
    assert len(again) > 5
    for second in again:
        first = kept(second.name)
        assert list(second.tasks) == list(first.tasks)
        for name, task in second.tasks.items():
            seeds = [{run["seed"] for run in some.tasks[name].runs} for some in (first, second)]
            assert len(seeds[0]) == len(seeds[1]) == 5
            assert not seeds[0] & seeds[1]
            assert all(run["curve"] == run["examples"] == [] for run in task.runs if "curve" in run)


def test_a_planted_measure_agrees_and_another_does_not():
    profile = kept("transformer")
    task = profile.tasks["synonyms"]
    runs = [{**task.runs[0], "seed": seed, "learned": True, "score": seed / 10} for seed in range(10)]
    planted = [
        {**run, "exchange_known": run["score"] ** 2, "cue_known": 1 - run["score"], "parts_known": None} for run in runs
    ]
    of = replace(profile, tasks={"synonyms": replace(task, runs=tuple(planted))})
    rows = {row["measure"]: row for row in inside_agreement([of]).records()}
    assert rows["exchange_known"]["correlation"] == pytest.approx(1.0)
    assert rows["cue_known"]["correlation"] == pytest.approx(-1.0)
    assert "parts_known" not in rows  # nothing was taken apart


def test_exchange_goes_with_behavior_and_the_gradient_hardly():
    rows = inside_agreement(kept_profiles()).records()
    found = {
        measure: float(np.median([row["correlation"] for row in rows if row["measure"] == measure]))
        for measure in ("exchange_known", "cue_known")
    }
    assert found["exchange_known"] > found["cue_known"]


COMPOSED = [name for name in standard() if battery[name].dimension != "memory"]


def scored(name: str, known: float, new: float, level: float) -> Profile:
    """Of a learner with these accuracies in five seeds, where ``level`` needs no rule."""
    trainings = [{"seed": seed, "known": known, "new": new, "curve": [], "examples": []} for seed in range(5)]
    references = {seed: {"new": level, "zero": level, "rule": 1.0} for seed in range(5)}
    return Profile("x", 1, {name: task_profile(name, trainings, references, [])})


@pytest.mark.parametrize("name", COMPOSED)
def test_a_memorizer_scores_nothing_the_rule_everything_and_who_is_untrained_has_not_learned(name: str):
    task = battery[name]()
    drawn = task.draw(0)
    ways = Memorizer(drawn.train).answers(drawn.new).values()
    best = max(accuracy(way, drawn.new, exact=task.exact) for way in ways)
    level = zero(task, drawn, best)
    assert max(scored(name, 1.0, best, level).tasks[name].scores.values()) <= 0
    right = accuracy(task.answers(drawn.new, 0), drawn.new, exact=task.exact)
    assert scored(name, 1.0, right, level).tasks[name].outcome == "rule"
    assert scored(name, 1.0, right, level).tasks[name].scores == dict.fromkeys(range(5), 1.0)
    model = made_network("gru", len(task.symbols), 0)
    known, new = (accuracy(answers(model, items), items, exact=task.exact) for items in (drawn.known, drawn.new))
    assert scored(name, known, new, level).tasks[name].outcome == "not learned"


def test_with_answers_that_are_shuffled_in_training_new_items_are_at_chance():
    """A network learns them by heart, and there is nothing that it could carry over."""
    program = ExaminationProgram("gru", battery["lookup"](), 0)
    task, train = program.task, program.drawn.train
    targets = train.targets.copy()
    for place in (2, 3):
        np.random.default_rng(0).shuffle(targets[:, place])
    shuffled = Items(train.tokens, targets, train.scored, train.cue)
    program.targets = torch.from_numpy(targets)
    optimizer = torch.optim.Adam(program.model.parameters(), 0.01)
    for step in range(400):
        optimizer.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
    assert accuracy(answers(program.model, shuffled), shuffled, exact=False) > 3 * task.chance  # it learns these
    new = program.drawn.new
    found, spread = accuracy(answers(program.model, new), new, exact=False), math.sqrt(task.chance / len(new))
    assert abs(found - task.chance) < 4 * spread


def test_guidance_is_the_surprise_at_attending_to_the_right_place_and_can_be_learned():
    torch.manual_seed(0)
    model = Attentive(9, 9, 1.0)
    source, target = torch.randint(1, 9, (16, 4)), torch.cat([torch.zeros(16, 1), torch.ones(16, 2)], 1).long()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    surprises = []
    for _ in range(60):
        optimizer.zero_grad()
        model(source, target)
        loss = model.extra_loss()
        loss.backward()
        optimizer.step()
        surprises.append(loss.item())
    assert surprises[0] == pytest.approx(math.log(4), abs=0.1)  # it begins by attending everywhere alike
    assert surprises[-1] < 0.1
    assert model.attention is not None
    assert (model.attention.argmax(-1) == torch.arange(3)).all()
    model.guidance = 0.0
    model(source, target)
    assert model.extra_loss().item() == 0


def test_the_battery_sees_that_guidance_helps_and_redundancy_hinders():
    """Of the profiles that are kept: every comparison is there, holds in more seeds than not, and none is refuted; for
    guidance, and for a redundant input with recurrent units, it is decided."""
    table = controls().records()
    assert len(table) == len(COMPARED)
    decided = {row["higher"]: row["decision"] for row in table}
    for row in table:
        assert row["decision"] != "contradicted"
        assert 2 * row["holds"] > row["seeds"] >= 3
        assert row["difference"] == pytest.approx(row["score"] - row["other"])
    assert decided["guided, lookup-steps"] == "supported"
    assert decided["gru, irrelevant"] == decided["lstm, irrelevant"] == "supported"


def test_variants_of_architectures_do_what_is_published_of_them():
    profiles = {profile.name: profile for profile in kept_profiles(FOLDER)}

    def scores(name: str, task: str) -> list[float]:
        return list(profiles[name].tasks[task].scores.values())

    assert min(scores("s6_signed", "parity")) > 0.9  # Grazzi et al. 2025
    assert max(scores("s6_positive", "parity")) < 0.35
    for name in ("s6_signed", "s6_positive"):
        assert profiles[name].tasks["s3"].outcome == "not learned"
    for name in READERS:  # Lake and Baroni 2018: a verb that was seen alone is not carried over
        assert np.mean(scores(f"{name}_jump", "jump")) <= 0.05


def test_kept_controls_are_of_the_tasks_as_they_are_and_a_planted_one_is_counted():
    profiles = kept_profiles(FOLDER)
    assert {(profile.name, *profile.tasks) for profile in profiles} == {(one.name, *one.tasks) for one in EXAMINED}
    for profile in profiles:
        for name, task in profile.tasks.items():
            drawn = battery[name]().draw(0)
            (run,) = [run for run in task.runs if run["seed"] == 0]
            assert run["zero"] == pytest.approx(zero(battery[name](), drawn))
    upside_down = [
        replace(profile, tasks={
            name: replace(task, runs=tuple({**run, "learned": True, "score": -run["score"]} for run in task.runs))
            for name, task in profile.tasks.items()
        })
        for profile in profiles
    ]  # fmt: skip
    (guidance, *_) = controls(upside_down).records()
    assert guidance["decision"] == "contradicted"
    assert controls([]).records() == []
