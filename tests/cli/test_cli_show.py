"""What ``rote show`` tells of every study: the deviations from its source are declared, and printed."""

from __future__ import annotations

import json

import pytest

from rote.laboratory import studies


@pytest.mark.parametrize("name", sorted(studies))
def test_every_study_declares_its_deviations_and_show_prints_them(name: str, call):
    declared = studies[name].deviations
    assert declared, "a study that deviates in nothing from its source is not known to us"
    assert all(text.endswith((".", ")")) and len(text) > 20 for text in declared)
    answer = call("show", name)
    assert answer.code == 0, answer.err
    shown = answer.out.split("Deviations and choices\n")[1].split("\n\n")[0].splitlines()
    assert shown == [f"  - {text}" for text in declared]


def test_other_programs_are_told_them_too(call):
    assert json.loads(call("show", "plane", "--json").out)["deviations"] == list(studies["plane"].deviations)


def test_one_preset_alone_can_be_asked_for(call):
    facts = json.loads(call("show", "plane", "--preset", "paper", "--json").out)
    assert list(facts["presets"]) == list(facts["estimates"]) == ["paper"]
    assert facts["presets"]["paper"] == json.loads(call("show", "plane", "--json").out)["presets"]["paper"]
    answer = call("show", "plane", "--preset", "papr")
    assert answer.code == 2
    assert "Did you mean 'paper'?" in answer.err
