"""The JSON of every kept profile is as its schema says, and the schema refuses another."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from rote.examination import kept_profiles
from rote.examination.controls import FOLDER
from rote.examination.schema import schema

CHECK = jsonschema.Draft202012Validator(schema())
KEPT = [*kept_profiles(), *kept_profiles(FOLDER)]


@pytest.mark.parametrize("profile", KEPT, ids=lambda profile: profile.name)
def test_kept_profiles_are_as_the_schema_says(profile: Any):
    CHECK.validate(json.loads(json.dumps(profile.to_plain())))


def test_the_schema_is_one_and_refuses_what_is_missing_wrong_or_unknown():
    jsonschema.Draft202012Validator.check_schema(schema())
    good = KEPT[0].to_plain()
    for bad in ({**good, "battery": 0}, {**good, "more": 1}, {key: good[key] for key in good if key != "tasks"}):
        assert not CHECK.is_valid(bad)
