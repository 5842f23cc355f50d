"""Overrides are typed: what is accepted becomes exactly the value of the field, what is not says which key and why."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rote.config import UNSAID, at_least, flatten, from_plain, keys, parse_overrides, resolve, to_plain
from rote.errors import UnknownNameError, UsageError
from rote.models import MLPConfig
from rote.training import TrainingConfig


@dataclass(frozen=True)
class Inner:
    width: int = 4
    rate: float = 0.5
    kind: Literal["relu", "tanh"] = "relu"


@dataclass(frozen=True)
class Config:
    count: int = 1
    scale: float = 1.0
    switch: bool = False
    label: str = "a"
    level: Literal[1, 2] = 1
    sizes: tuple[int, ...] = (1, 2)
    names: tuple[str, ...] = ()
    limit: float | None = None
    most: int | None = 3
    nickname: str | None = None
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self) -> None:
        at_least(self, 0, "count", "sizes", "most")


@dataclass(frozen=True)
class Several:
    parts: tuple[Inner, ...] = (Inner(),)


def test_a_list_of_groups_survives_the_record() -> None:
    several = Several((Inner(width=7), Inner(kind="tanh")))
    plain = json.loads(json.dumps(to_plain(several)))
    assert plain == {"parts": [{"width": 7, "rate": 0.5, "kind": "relu"}, {"width": 4, "rate": 0.5, "kind": "tanh"}]}
    assert from_plain(Several(), plain) == several
    assert resolve(Several(), {"parts": several.parts}) == several
    with pytest.raises(UnknownNameError, match="Unknown key 'wide'"):
        from_plain(Several(), {"parts": [{"wide": 7}]})
    with pytest.raises(UsageError, match="The key 'parts' takes"):
        resolve(Several(), {"parts": "7"})


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        ("count", "16", 16),
        ("count", "1e3", 1000),
        ("count", 16.0, 16),
        ("count", "9007199254740993", 9007199254740993),  # 2**53 + 1: not a float
        ("count", 2**63 + 1, 2**63 + 1),
        ("scale", "0.25", 0.25),
        ("scale", "1e-3", 0.001),
        ("scale", "2", 2.0),
        ("scale", 2, 2.0),
        ("switch", "true", True),
        ("switch", "No", False),
        ("switch", "1", True),
        ("switch", "0", False),
        ("switch", True, True),
        ("label", "1", "1"),
        ("label", "", ""),
        ("label", "a=b", "a=b"),
        ("level", "2", 2),
        ("level", 2, 2),
        ("sizes", "3,4,5", (3, 4, 5)),
        ("sizes", "3", (3,)),
        ("sizes", "", ()),
        ("sizes", [3, 4], (3, 4)),
        ("sizes", (3,), (3,)),
        ("names", "x,y", ("x", "y")),
        ("limit", "0.5", 0.5),
        ("limit", "none", None),
        ("limit", "None", None),
        ("limit", None, None),
        ("most", "7", 7),
        ("inner.width", "8", 8),
        ("inner.kind", "tanh", "tanh"),
    ],
)
def test_an_accepted_value_has_the_type_of_its_field_and_changes_nothing_else(
    key: str, given: object, expected: object
) -> None:
    before, after = flatten(Config()), flatten(resolve(Config(), {key: given}))
    assert after[key] == expected
    assert type(after[key]) is type(expected)
    assert {name: value for name, value in after.items() if name != key} == {
        name: value for name, value in before.items() if name != key
    }


@pytest.mark.parametrize(
    ("key", "given", "words"),
    [
        ("count", "1.5", "a whole number"),
        ("count", "many", "a whole number"),
        ("count", "", "a whole number"),
        ("count", "true", "a whole number"),
        ("count", True, "a whole number"),
        ("count", None, "a whole number"),
        ("count", "none", "a whole number"),
        ("count", "nan", "a whole number"),
        ("count", "inf", "a whole number"),
        ("count", [1], "a whole number"),
        ("scale", "nan", "a number"),
        ("scale", "-inf", "a number"),
        ("scale", math.inf, "a number"),
        ("scale", "1e999", "a number"),
        pytest.param("scale", 10**400, "a number", id="scale-huge"),
        ("scale", "half", "a number"),
        ("scale", False, "a number"),
        ("switch", "maybe", "true or false"),
        ("switch", "", "true or false"),
        ("switch", 1, "true or false"),
        ("label", 5, "text"),
        ("label", None, "text"),
        ("sizes", "3,x", "a whole number"),
        ("sizes", "3,1.5", "a whole number"),
        ("sizes", "3,,4", "a whole number"),
        ("sizes", 3, "a comma-separated list, each a whole number"),
        ("limit", "small", "a number"),
        ("most", "1.5", "a whole number"),
        ("inner.rate", "fast", "a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_the_key_the_value_and_what_was_expected(
    key: str, given: object, words: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(Config(), {key: given})
    message = str(caught.value)
    assert repr(key) in message
    assert words in message
    assert "Got" in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("inner.kind", "tan", "Unknown value 'tan' of 'inner.kind'. Did you mean 'tanh'?"),
        ("inner.kind", None, "Unknown value 'None' of 'inner.kind'. Known: relu, tanh."),
        ("level", "3", "Unknown value '3' of 'level'. Known: 1, 2."),
        ("inner.widht", "3", "Unknown key 'inner.widht'. Did you mean 'inner.width'?"),
        ("inner", "3", "The key 'inner' is a group. Set one of its keys: inner.width, inner.rate, inner.kind."),
    ],
)
def test_a_misspelled_choice_or_key_gets_a_suggestion_and_a_group_its_keys(
    key: str, given: object, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(Config(), {key: given})
    assert str(caught.value) == message


def test_an_unknown_key_is_found_before_any_value_is_converted() -> None:
    with pytest.raises(UnknownNameError, match="Unknown key 'zzz'"):
        resolve(Config(), {"count": "x", "zzz": "1"})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["steps=1", "steps=2"], "The key 'steps' is set twice: to '1' and to '2'."),
        (["steps"], "Expected key=value, for example training.steps=100. Got 'steps'."),
        (["=3"], "Expected key=value, for example training.steps=100. Got '=3'."),
    ],
)
def test_a_word_that_is_no_override_or_a_second_one_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_overrides(words)
    assert str(caught.value) == message


def test_a_value_may_be_empty_and_hold_equals_signs() -> None:
    assert parse_overrides(["a=", "b=c=d"]) == {"a": "", "b": "c=d"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": "-5"}, "'steps' must be at least 1. Got -5."),
        ({"steps": "0"}, "'steps' must be at least 1. Got 0."),
        ({"record_every": "0"}, "'record_every' must be at least 1. Got 0."),
        ({"patience": "0"}, "'patience' must be at least 1. Got 0."),
        ({"weight_decay": "-1"}, "'weight_decay' must be at least 0. Got -1.0."),
        ({"learning_rate": "0"}, "'learning_rate' must be above 0. Got 0.0."),
        ({"clip": "-1"}, "'clip' must be above 0. Got -1.0."),
        ({"optimizer": "adam", "momentum": "0.9"}, "'momentum' belongs to the optimizer 'sgd'. Got 0.9 with 'adam'."),
    ],
)
def test_a_training_setting_out_of_range_is_refused_when_it_is_set(changes: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(TrainingConfig(), changes)
    assert str(caught.value) == words


def test_settings_that_are_only_valid_together_can_be_set_together() -> None:
    start = TrainingConfig(optimizer="sgd", momentum=0.9)
    assert resolve(start, {"optimizer": "adam", "momentum": "0"}).optimizer == "adam"


@pytest.mark.parametrize("item", [math.nan, -1, (1, -1)])
def test_at_least_refuses_nan_and_looks_into_tuples(item: Any) -> None:
    with pytest.raises(UsageError, match="must be at least 0"):
        at_least(replace_unchecked(Config(), most=item), 0, "most")


def replace_unchecked(config: Config, **values: Any) -> Config:
    for name, value in values.items():
        object.__setattr__(config, name, value)
    return config


def test_every_leaf_has_a_key_and_no_group_has() -> None:
    assert set(keys(Config())) == {f.name for f in fields(Config) if f.name != "inner"} | {
        "inner.width", "inner.rate", "inner.kind",
    }  # fmt: skip


finite = st.floats(allow_nan=False, allow_infinity=False)
inners = st.builds(Inner, st.integers(), finite, st.sampled_from(["relu", "tanh"]))
configs = st.builds(
    Config,
    count=st.integers(min_value=0),
    scale=finite,
    switch=st.booleans(),
    label=st.text(),
    level=st.sampled_from([1, 2]),
    sizes=st.lists(st.integers(min_value=0)).map(tuple),
    names=st.lists(st.text()).map(tuple),
    limit=st.none() | finite,
    most=st.none() | st.integers(min_value=0),
    nickname=st.none() | st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    inner=inners,
)


@given(configs)
@example(Config(label="none", names=("none", "", "a,b"), nickname="none"))  # words with a meaning on the command line
def test_a_configuration_comes_back_from_its_record_unchanged(config: Config) -> None:
    plain = json.loads(json.dumps(to_plain(config)))
    assert from_plain(Config(), plain) == config
    assert from_plain(config, plain) == config
    assert to_plain(from_plain(Config(), plain)) == to_plain(config)


@given(st.integers(1, 10**6), finite.filter(lambda x: x > 0), st.sampled_from(["relu", "tanh", "sigmoid", "linear"]))
def test_what_is_printed_for_a_key_sets_it_when_it_is_typed_back(hidden: int, rate: float, activation: str) -> None:
    model = resolve(MLPConfig(), {"hidden": str(hidden), "activation": activation})
    assert resolve(MLPConfig(), {key: str(value) for key, value in flatten(model).items()}) == model
    training = replace(TrainingConfig(), learning_rate=rate)
    assert resolve(TrainingConfig(), {key: str(value) for key, value in flatten(training).items()}) == training


def test_a_record_with_a_key_that_the_configuration_no_longer_has_is_refused_and_not_dropped() -> None:
    plain = to_plain(Config())
    plain["inner"]["depth"] = 3
    with pytest.raises(UnknownNameError, match=r"inner\.depth"):
        from_plain(Config(), plain)


@dataclass(frozen=True)
class Rates:
    rate: float = 1
    limit: float | None = 2
    rates: tuple[float, ...] = (1, 2.5)
    count: int = 3


def test_a_whole_number_in_a_field_of_floats_is_the_same_setting_as_its_float() -> None:
    """Else a configuration that was read from a record would ask for other runs than the one that was written."""
    plain = to_plain(Rates())
    assert [type(value) for value in (plain["rate"], plain["limit"], *plain["rates"], plain["count"])] == [
        float, float, float, float, int,
    ]  # fmt: skip
    assert to_plain(from_plain(Rates(), plain)) == plain == to_plain(Rates(1.0, 2.0, (1.0, 2.5)))


@dataclass(frozen=True)
class Grown:
    size: int = 3
    added: float = field(default=2.0, metadata=UNSAID)


def test_a_field_that_came_later_is_in_the_record_only_where_it_says_something() -> None:
    assert to_plain(Grown()) == {"size": 3}
    assert to_plain(Grown(added=1.0)) == {"size": 3, "added": 1.0}
    assert from_plain(Grown(), {"size": 4}) == Grown(4)
    assert from_plain(Grown(), to_plain(Grown(4, 1.0))) == Grown(4, 1.0)
    assert "added" in flatten(Grown())
