"""What every study promises of its settings: what is named twice, or changes nothing, is refused by its key."""

from __future__ import annotations

import json
from typing import Any, get_args, get_origin

import pytest

from rote.config import flatten, from_plain, keys, to_plain
from rote.errors import SettingError, UsageError
from rote.laboratory import Laboratory, Study, studies
from rote.store import Store
from rote.studies.resistance.scan_tables import per_seed

SEQUENCES = {"model.depths"}  # sizes of layers, in which equal ones may follow each other


def study_of(name: str) -> Study[Any]:
    return studies[name]()


def lists(study: Study[Any]) -> list[str]:
    return [key for key, kind in keys(study.default).items() if get_origin(kind) is tuple and key not in SEQUENCES]


@pytest.mark.parametrize("name", sorted(studies))
def test_no_list_of_things_to_compare_takes_one_of_them_twice(name: str) -> None:
    study = study_of(name)
    presets = [flatten(study.resolve(preset, {})) for preset in study.presets]
    for key in lists(study):
        first, *_ = next(preset[key] for preset in presets if preset[key])
        for twice in ((first, first), f"{first},{first}"):
            if "," in str(first) and isinstance(twice, str):
                continue
            with pytest.raises(SettingError, match=f"'{key}' of the study '{name}' must name each value once. Got"):
                study.resolve("smoke", {key: twice})


@pytest.mark.parametrize("name", sorted(studies))
def test_settings_that_come_back_from_a_record_ask_for_the_same_runs(name: str) -> None:
    """A default of 6 where a number with a point is meant would be another setting than the 6.0 that is read."""
    study = study_of(name)
    for preset in study.presets:
        config = study.resolve(preset, {})
        again = from_plain(study.default, json.loads(json.dumps(to_plain(config))))
        assert [job.request.id for job in study.jobs(again)] == [job.request.id for job in study.jobs(config)]


@pytest.mark.parametrize(
    ("name", "override"),
    [
        ("conduit-frequency", {"counts": "20,2e1"}),
        ("agreement", {"depths": "0,2,0"}),
        ("conduit-frequency", {"model.cell": "gru", "others": "elman,gru"}),
        ("conduit-predictability", {"others": "lstm"}),
    ],
)
def test_one_thing_in_two_spellings_or_two_keys_counts_once(name: str, override: dict[str, object]) -> None:
    with pytest.raises(SettingError, match=r"must name each value once|which is 'model.cell' already"):
        study_of(name).resolve("smoke", override)


def test_sizes_of_layers_may_repeat() -> None:
    assert study_of("digit-pairs").resolve("smoke", {"model.depths": "8,8"}).model.depths == (8, 8)


@pytest.mark.parametrize("name", ["conduit-frequency", "conduit-predictability"])
def test_a_cell_that_becomes_the_main_one_is_no_longer_trained_beside_itself(name: str) -> None:
    study = study_of(name)
    config = study.resolve("quick", {"model.cell": "gru"})
    assert "gru" not in config.others
    assert "elman" in config.others
    asked = [job.request.id for job in study.jobs(config)]
    assert len(set(asked)) == len(asked)


def test_a_record_that_names_something_twice_can_still_be_read() -> None:
    study = study_of("agreement")
    plain = json.loads(json.dumps(to_plain(study.resolve("smoke", {}))))
    plain["cells"] = ["lstm", "lstm"]
    plain["model"]["cell"] = "gru"
    assert from_plain(study.default, plain).cells == ("lstm", "lstm")


def test_a_study_that_asks_for_a_run_twice_is_stopped_before_it_counts_twice(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: Any = studies["elman-xor"]
    once = kind.jobs
    monkeypatch.setattr(kind, "jobs", lambda self, config: once(self, config) * 2)
    with pytest.raises(
        UsageError, match=r"asks for the measurement 'elman-xor' .* more than once .* would count twice"
    ):
        Laboratory(Store(tmp_path), workers=1).run("elman-xor", "smoke")


@pytest.mark.parametrize(
    ("name", "overrides", "told"),
    [
        ("matrix", {"model.cell": "gru"}, "'model.cell' of the study 'matrix' has no effect: 'cells' names the cells"),
        ("agreement", {"model.cell": "gru"}, "'model.cell' .* has no effect: 'cells' names"),
        ("selection", {"model.cell": "gru"}, "'model.cell' .* has no effect: 'cells' names"),
        ("bptt", {"model.cell": "gru"}, "'model.cell' .* has no effect: 'cells' names"),
        ("padding", {"model.cell": "gru"}, "'model.cell' .* has no effect: 'cells' names"),
        ("padding", {"training.l2": "0.1"}, "'training.l2' .* Set 'training.weight_decay' instead"),
        ("padding", {"model.layers": "2"}, "'model.layers' .* one layer, one direction"),
        ("autocomplete", {"model.cell": "lstm"}, "'model.cell' .* has no effect: 'cells' names"),
        ("autocomplete", {"softmax.samples": "9"}, "'softmax.samples' .* belongs to kind=sampled"),
        ("autocomplete", {"cells": "gru", "nested_layers": "2"}, "no nested_lstm among 'cells'"),
        ("autocomplete", {"cells": "nested_lstm", "model.layers": "2"}, "'model.layers' .* has no effect"),
        ("autocomplete", {"task.outside": "refuse"}, "'task.outside' .* a file of your own"),
        ("autocomplete", {"task.checksum": "abc"}, "'task.checksum' .* filled in"),
        ("language-modeling", {"model.cell": "gru"}, r"\(window, elman, lstm\) set it .* Add variants=own"),
        ("language-modeling", {"variants": "own", "network": "window", "model.layers": "2"}, "no use for it"),
        ("language-modeling", {"task.units": "characters"}, "'task.units' .* files of your own: set 'train'"),
        ("classification", {"network": "average"}, "'network' .* set it themselves"),
        ("classification", {"task.coarse": "true"}, "'task.coarse' .* the stand-in"),
        ("classification", {"window": "2"}, "'window' .* has no effect"),
        ("tagging", {"model.bidirectional": "false"}, "'model.bidirectional' .* set it themselves"),
        (
            "plane",
            {"training.decay": "0.5"},
            "'training.decay' .* belongs to schedule=exponential, staircase or cosine",
        ),
        ("plane", {"training.patience": "3", "training.select": "last"}, "with 'patience' the best"),
        ("plane-information", {"training.select": "best"}, "the tables show every recorded step"),
        ("digit-pairs", {"remedies": "false", "noise": "2"}, "'noise' .* belongs to remedies=true"),
        ("digit-pairs", {"training.patience": "2"}, "measured at planned steps, up to the last"),
        ("digit-pairs", {"side": "14"}, "'side' .* 8 x 8 pixels"),
        ("conduit-frequency", {"others": "", "other_seeds": "3"}, "'others' names no cell"),
        ("conduit-frequency", {"figure_2_length": "5"}, "it is none of 'lengths'"),
        ("conduit-predictability", {"settings": "unpredictable", "copies": "3"}, "not among 'settings'"),
        ("conduit-procedure", {"training.momentum": "0.5"}, "'momentum' is that of the procedures"),
        ("conduit-predictability", {"training.steps": "3"}, "'training.steps' .* 'training.epochs' says how long"),
        ("tagging", {"training.record_every": "3"}, "'training.record_every' .* 'training.measure_every' says when"),
        ("padding", {"training.steps": "3"}, "'training.steps' .* 'training.epochs' says how long"),
        ("classification", {"training.select": "last"}, "'training.select' .* the lowest loss on dev are kept"),
        ("conduit-frequency", {"training.patience": "2"}, "measured at planned epochs, up to the last"),
        ("lookup-accuracy", {"model.cell": "lstm", "lstm": "true"}, "'model.cell' is lstm already"),
        ("lookup-inside", {"task.longer": "3"}, "only lookup-accuracy measures longer"),
        ("lookup-surgery", {"retraining.dtype": "float64"}, "the numbers of 'training.dtype'"),
        ("elman-lexicon", {"modern": "false", "language_model.bptt": "5"}, "belongs to modern=true"),
        ("stored-connectivity", {"seeds": "5"}, "nothing is drawn"),
    ],
)
def test_a_setting_that_would_change_nothing_is_refused_with_the_reason(
    name: str, overrides: dict[str, object], told: str
) -> None:
    with pytest.raises(SettingError, match=told):
        study_of(name).resolve("smoke", overrides)


def test_what_is_refused_alone_is_taken_with_what_it_belongs_to() -> None:
    for name, overrides in (
        ("plane", {"training.schedule": "staircase", "training.decay": "0.5"}),
        ("autocomplete", {"softmax.kind": "sampled", "softmax.samples": "9"}),
        ("language-modeling", {"variants": "own,lstm", "model.cell": "gru"}),
        ("classification", {"variants": "own", "network": "average", "model.layers": "2"}),
    ):
        study_of(name).resolve("smoke", overrides)


def test_a_variant_is_the_network_that_its_name_says_whatever_own_is() -> None:
    study = study_of("classification")
    config = study.resolve("smoke", {"variants": "own,lstm", "network": "average"})
    networks = {job.request.label: job.needs[0].request.config["architecture"] for job in study.jobs(config)[1:]}
    assert networks == {"own": "average", "lstm": "recurrent"}


@pytest.mark.parametrize("name", sorted(studies))
def test_a_number_that_is_refused_is_named_as_one_types_it(name: str) -> None:
    study = study_of(name)
    unused = study.unused(study.resolve("smoke", {}))
    for key, kind in keys(study.default).items():
        numbers = {int, float} & {kind, *get_args(kind)}
        if numbers and key not in unused:
            with pytest.raises(UsageError, match=f"'{key}'"):
                study.resolve("smoke", {key: "-1e6" if float in numbers else "-1000000"})


@pytest.mark.parametrize("name", sorted(studies))
def test_no_preset_is_refused_and_no_key_is_listed_that_cannot_be_set(name: str) -> None:
    study = study_of(name)
    for preset in ("smoke", "quick"):
        shown = study.settings(study.resolve(preset, {}))
        assert not set(shown) & set(study.fixed)
        assert set(study.fixed) <= set(keys(study.default))


def test_weights_over_training_are_those_that_a_run_has_also_where_it_stopped_early() -> None:
    ((recipe, _), *_) = study_of("lookup-inside").resolve("smoke", {"training.patience": "1"}).pairs()
    whole = recipe.epochs(recipe.kept_steps())
    assert list(whole) == recipe.kept_steps()
    assert whole[recipe.training.steps] == 2  # 30 updates of 16 of 232 examples
    assert recipe.epochs([0, 7]) == {0: 0, 7: 0}


def test_the_end_of_a_network_that_stopped_early_is_its_own_end() -> None:
    curves = [
        {"setting": "original", "seed": 0, "step": step, "train": 0.1 * step, "combined": 0.0, "test": 0.0}
        for step in range(6)
    ]
    names = ("syntax_word", "syntax_word_others", "word_syntax", "gradient_word", "gradient_syntax")
    told = [{"setting": "original", "seed": 0, "step": step, **dict.fromkeys(names, step + 1)} for step in range(6)]
    whole = [{"setting": "original", "seed": 0, "train": 1.0, "test": 1.0}]
    (row,) = per_seed(curves, told, whole)
    assert row["train"] == pytest.approx(0.45)  # the median of the last fifth of five steps
    assert row["syntax_word"] == 5.5
