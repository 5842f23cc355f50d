"""The matrix: questions whose answer the cue alone decides, in surroundings that training had or did not have."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rote.models import LanguageModelConfig, StackedLanguageModel
from rote.studies.matrix import matrix_training as looking
from rote.studies.matrix.cued_tasks import RULES, TASKS, CuedTask, Integers
from rote.studies.matrix.matrix import MEASURES, MatrixStudy
from rote.tasks.agreement import AgreementTask
from rote.tasks.lookup import LookupTask


def taught(sentences: Integers) -> set[tuple[int, ...]]:
    return {tuple(row[row >= 0].tolist()) for row in sentences}


@pytest.mark.parametrize("task", TASKS)
def test_every_symbol_is_one_that_the_network_has(task: str) -> None:
    cued = CuedTask(task)
    symbols, questions = len(cued.symbols()), cued.questions(1, 30)
    for name in ("known", "new"):
        asked = questions[name]
        assert asked.tokens.shape == asked.cue.shape
        assert len(asked.tokens) == len(asked.right) == len(asked.wrong) == 30
        assert (asked.tokens[:, 0] == 0).all()
        assert max(asked.tokens.max(), asked.right.max(), asked.wrong.max()) < symbols
        assert not (asked.wrong == asked.right[:, None]).any()
    assert cued.sentences(1).max() < symbols


def test_a_rule_is_closed_by_the_symbol_of_its_own_kind_and_new_conduits_are_not_in_training() -> None:
    task = CuedTask("rules")
    conduits = {row[3:-1] for row in taught(task.sentences(3))}
    for name, asked in task.questions(3, 50).items():
        opened = asked.tokens[asked.cue]
        assert {*opened.tolist()} == {RULES.open + 1, RULES.open + 3}
        np.testing.assert_array_equal(asked.right, opened + 1)
        assert {*asked.wrong[:, 0].tolist()} == {*asked.right.tolist()}
        assert {tuple(row[4:].tolist()) in conduits for row in asked.tokens} == {name == "known"}


def test_the_cue_of_a_lookup_table_decides_the_result_and_new_compositions_are_not_in_training() -> None:
    task, functions = CuedTask("lookup"), LookupTask().functions()
    splits = LookupTask().splits()
    names = sorted({s for rows in splits.values() for row in rows for s in (*row.inputs, *row.outputs)})
    trained = taught(task.sentences(0))
    for name, asked in task.questions(0, 64).items():
        for tokens, cue, right in zip(asked.tokens, asked.cue, asked.right, strict=True):
            table, before = (names[number - 1] for number in tokens[cue])
            assert functions[table][before] == names[right - 1]
            assert ((*tokens[1:].tolist(), right) in trained) == (name == "known")


def test_the_verb_agrees_with_the_cue_past_more_nouns_than_training_had() -> None:
    task, words = CuedTask("agreement"), AgreementTask().words
    questions = task.questions(2, 20)
    known, new = questions["known"], questions["new"]
    assert known.tokens.shape[1] <= task.sentences(2).shape[1] < new.tokens.shape[1]
    for subject, verb in zip(new.tokens[new.cue], new.right, strict=True):
        assert words[subject].endswith("s") != words[verb].endswith("s")  # keys fall, a key falls


def test_skill_is_what_goes_beyond_chance() -> None:
    asked = CuedTask("lookup").questions(0, 40)["new"]
    logits = torch.zeros(40, 50)
    logits[torch.arange(40), torch.from_numpy(asked.right)] = 1.0
    assert looking._skill(asked, logits) == 1
    logits[:30] = 0.0  # equal is not right
    assert looking._skill(asked, logits) == pytest.approx((0.25 - 1 / 8) / (7 / 8))


@pytest.mark.parametrize("cell", ["elman", "lstm", "gru", "nested_lstm"])
def test_every_analysis_answers_for_every_cell(cell: str) -> None:
    task = CuedTask("rules")
    config = LanguageModelConfig(cell=cell, embedding=6, hidden=5, cell_limit=0.9)
    model = StackedLanguageModel(len(task.symbols()), config, [0], torch.float64).replica(0)
    answers = looking.look(model, task.questions(0, 16), 2)
    assert set(answers) == set(MEASURES)
    missing = {name for name, value in answers.items() if value is None}
    assert missing == ({"gates"} if cell == "elman" else set())
    assert all(np.isfinite(value) for value in answers.values() if value is not None)
    for name in ("connectivity, cue", "connectivity, rest", "functional groups, read", "functional groups, units"):
        assert 0 < (answers[name] or 0) <= 1
    assert (answers["interdependence"] or 0) > 1e-6


@pytest.mark.parametrize("setting", ["jacobians", "questions"])
def test_how_networks_are_looked_at_is_no_part_of_their_training(setting: str) -> None:
    study = MatrixStudy()
    few, more = (study.jobs(study.resolve("smoke", {setting: number})) for number in (12, 13))
    assert [job.needs for job in few] == [job.needs for job in more]
    assert not {job.request.id for job in few} & {job.request.id for job in more}
