"""SCAN against the official files and an interpreter of another kind; its splits, settings and refusals."""

import gzip
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rote.errors import UnknownNameError, UsageError
from rote.tasks import tasks
from rote.tasks.scan import ACTION_WORDS, commands, interpret, split
from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS, END, JUMP, ScanTask, encoded, templates

LINES = {
    "simple": (16_728, 4_182),
    "length": (16_990, 3_920),
    "addprim_jump": (14_670, 7_706),
    "addprim_turn_left": (21_890, 1_208),
    "template_around_right": (15_225, 4_476),
    "template_opposite_right": (15_225, 4_476),
    "template_right": (15_225, 4_476),
    "template_jump_around_right": (18_528, 1_173),
}
OFFICIAL_BYTES = {  # of the official files
    ("template_right", 0): 3_173_282,
    ("template_right", 1): 729_823,
    ("template_opposite_right", 0): 2_990_057,
    ("template_opposite_right", 1): 871_363,
}
NAMES = [command for command, _ in commands()]


def by_substitution(command: str) -> str:
    """Another way to the actions: ``after`` and ``and`` first, then repetition, then the phrase."""
    for word, order in (("after", -1), ("and", 1)):
        if f" {word} " in command:
            return " ".join([by_substitution(part) for part in command.split(f" {word} ")][::order])
    for word, times in (("twice", 2), ("thrice", 3)):
        if command.endswith(word):
            return " ".join([by_substitution(command.removesuffix(f" {word}"))] * times)
    verb, *manner = command.split()
    act = "" if verb == "turn" else f" I_{verb.upper()}"
    turn = f" I_TURN_{manner[-1].upper()}" if manner else ""
    said = {"opposite": turn + turn + act, "around": (turn + act) * 4}.get(manner[0] if manner else "", turn + act)
    return said.strip()


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("jump", "I_JUMP"),
        ("turn left", "I_TURN_LEFT"),
        ("jump left", "I_TURN_LEFT I_JUMP"),
        ("jump around right", "I_TURN_RIGHT I_JUMP " * 4),
        ("turn around left", "I_TURN_LEFT " * 4),
        ("turn left twice", "I_TURN_LEFT I_TURN_LEFT"),
        ("jump opposite left and walk thrice", "I_TURN_LEFT I_TURN_LEFT I_JUMP I_WALK I_WALK I_WALK"),
        (
            "jump opposite left after walk around left",
            "I_TURN_LEFT I_WALK " * 4 + "I_TURN_LEFT I_TURN_LEFT I_JUMP",
        ),
        ("  look   right ", "I_TURN_RIGHT I_LOOK"),
    ],
)
def test_commands_of_the_official_documentation(command, actions):
    assert interpret(command) == actions.strip()


def test_all_commands_by_another_interpreter():
    assert len(set(NAMES)) == 20_910
    assert all(actions == by_substitution(command) == interpret(command) for command, actions in commands())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("", "The command '' ends before its word 1. Expected: walk, look, run, jump, turn."),
        ("fly left", "'fly', word 1 of the command 'fly left'"),
        ("turn", "ends before its word 2. Expected: opposite, around, left, right."),
        ("jump around twice", "'twice', word 3 of .* Expected: left, right."),
        (
            "jump jump",
            "'jump', word 2 of .* Expected: opposite, around, left, right, twice, thrice, and, after, the end.",
        ),
        ("jump twice thrice", "'thrice', word 3 of .* Expected: and, after, the end."),
        ("walk and", "ends before its word 3"),
        ("walk and run after look", "'after', word 4 of"),
        ("walk and after run", "'after', word 3 of"),
        ("Jump", "'Jump', word 1"),
        ("jump left right", "'right', word 3"),
        ("twice", "'twice', word 1"),
    ],
)
def test_a_command_outside_the_grammar_is_refused_with_its_word_and_place(command, told):
    with pytest.raises(UsageError, match=told):
        interpret(command)


@pytest.mark.parametrize("name", LINES)
def test_splits_have_the_official_numbers_and_right_actions(name):
    train, test = split(name)
    assert (len(train), len(test)) == LINES[name]
    assert not set(train) & set(test)
    assert set(train) | set(test) <= set(commands())
    for (which, part), size in OFFICIAL_BYTES.items():
        if which == name:
            lines = (f"IN: {command} OUT: {actions}\n" for command, actions in split(name)[part])
            assert sum(map(len, lines)) == size


def test_rules_of_the_splits():
    train, test = split("length")
    assert max(len(actions.split()) for _, actions in train) == 22
    assert min(len(actions.split()) for _, actions in test) == 24
    for phrase, copies in (("jump", 1_467), ("turn left", 2_189)):
        train, test = split(f"addprim_{phrase.replace(' ', '_')}")
        counts = Counter(command for command, _ in train)
        assert counts.pop(phrase) == copies
        assert not any(phrase in command for command in counts)
        assert all(phrase in command for command, _ in test)
    assert any("turn opposite left" in command for command, _ in split("addprim_turn_left")[0])
    for manner in ("right", "opposite right", "around right"):
        train, test = split(f"template_{manner.replace(' ', '_')}")
        verbs = [f"{word} {manner}" for word in ACTION_WORDS]
        assert all(any(phrase in command for phrase in verbs) for command, _ in test)
        assert not any(phrase in command for command, _ in train for phrase in verbs)
        assert not any(f"turn {manner}" in command for command, _ in (*train, *test))
    train, test = split("template_jump_around_right")
    assert all("jump around right" in command for command, _ in test)
    assert any("walk around right" in command for command, _ in train)


def test_the_simple_split_is_a_partition_drawn_by_its_seed():
    train, test = split("simple")
    assert Counter(train) + Counter(test) == Counter(commands())
    assert split("simple") == split("simple", seed=0) != split("simple", seed=1)
    assert split("length") == split("length", seed=1)


def test_an_unknown_split_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="addprim_jump"):
        split("addprim_jumps")


def official(name: str) -> Counter:
    mirror = os.environ.get("ROTE_DATA")
    if not mirror:
        pytest.skip("ROTE_DATA names no folder with the official files")
    path = Path(mirror) / "scan" / f"{name}.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt") as file:
        return Counter(line.strip() for line in file)


def lines(pairs) -> Counter:
    return Counter(f"IN: {command} OUT: {actions}" for command, actions in pairs)


def test_all_commands_are_those_of_the_official_file():
    assert lines(commands()) == official("tasks")


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("name", [name for name in LINES if name != "simple"])
def test_splits_by_rule_are_the_official_files(name, part):
    assert lines(split(name)[part == "test"]) == official(f"tasks_{part}_{name}")


def test_the_official_simple_split_divides_the_same_commands_alike():
    train, test = official("tasks_train_simple"), official("tasks_test_simple")
    assert train + test == lines(commands())
    assert (train.total(), test.total()) == LINES["simple"]


def test_numbers_and_back():
    known = encoded()
    for place in range(0, len(NAMES), 97):
        words = known.inputs[place, : known.input_lengths[place]]
        actions = known.outputs[place, : known.output_lengths[place]]
        assert actions[-1] == END
        said = " ".join(ACTIONS[number] for number in actions[:-1])
        assert (" ".join(COMMAND_WORDS[number] for number in words), said) == commands()[place]
    assert (known.inputs.shape[1], known.outputs.shape[1]) == (9, 49)


def test_templates_with_action_words_are_the_commands():
    known = templates()
    assert len(known.names) == 39 + 2 * 39**2
    for template in range(0, len(known.names), 53):
        for first, second in ((0, 3), (3, 0), (2, 2)):
            words = iter((ACTION_WORDS[first], ACTION_WORDS[second]))
            expected = " ".join(next(words) if word == "_" else word for word in known.names[template].split())
            assert NAMES[known.commands[template, first, second]] == expected


def shape(place: int) -> str:
    return templates().names[templates().template[place]]


def test_settings_share_lines_and_differ_in_action_words_only():
    original, random, replaced = (
        ScanTask(setting=setting).training(3, 1, 4, 512).ravel() for setting in ("original", "random", "replaced")
    )
    assert all(
        shape(one) == shape(two) == shape(three) for one, two, three in zip(original, random, replaced, strict=True)
    )
    alone = [NAMES[place] for place, line in zip(random, original, strict=True) if NAMES[line] == "jump"]
    counts = Counter(alone)
    assert set(counts) == set(ACTION_WORDS)  # the copies are drawn anew as well
    assert min(counts.values()) > len(alone) / 8
    assert not any("jump" in NAMES[place] for place in replaced)
    unchanged = [one == two for one, two in zip(original, replaced, strict=True) if NAMES[one] != "jump"]
    assert all(unchanged)
    both = [NAMES[place] for place in random if shape(place).count("_") == 2]
    pairs = Counter(tuple(word for word in name.split() if word in ACTION_WORDS) for name in both)
    assert len(pairs) == 16  # the two words of a command are independent


def test_training_lines_are_uniform_with_replacement():
    drawn = ScanTask().training(0, 0, 200, 256).ravel()
    share = np.mean([NAMES[place] == "jump" for place in drawn])
    assert abs(share - 1_467 / 14_670) < 0.01
    other = ScanTask().training(0, 1, 200, 256).ravel()
    assert not np.array_equal(drawn, other)
    assert np.array_equal(drawn, ScanTask().training(0, 0, 200, 256).ravel())


def test_the_training_sample_knows_its_copies():
    for setting in ("original", "random"):
        sample, copies = ScanTask(setting=setting).training_sample(0, 1_000)
        assert {shape(place) for place in sample[copies]} == {"_"}
        assert 60 < copies.sum() < 140
    assert all(NAMES[place] == "jump" for place in ScanTask().training_sample(0, 1_000)[0][copies])
    assert not any(NAMES[place] == "jump" for place in ScanTask().training_sample(0, 1_000)[0][~copies])


def test_test_commands():
    train, test = ScanTask().lines()
    assert np.array_equal(ScanTask(setting="random").test(0), test)
    assert len(set(ScanTask().test(1, 100)) & set(test)) == 100
    replaced = ScanTask(setting="replaced").test(0)
    assert [shape(place) for place in replaced] == [shape(place) for place in test]
    assert set(replaced) <= set(train)  # what makes the appendix's reading no test of new combinations
    assert not (templates().words[replaced] == JUMP).any()


def test_the_task_is_listed():
    assert tasks["scan"] is ScanTask
