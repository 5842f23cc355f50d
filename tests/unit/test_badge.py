"""The badge says what the profile says, whatever its name."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from rote.examination import Profile, kept_profiles
from rote.report.badge import TALL, badge

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("profile", kept_profiles(), ids=lambda profile: profile.name)
def test_a_badge_has_the_index_its_interval_and_a_bar_for_each_learned_dimension(profile: Profile):
    root = ET.fromstring(badge(profile))
    assert profile.score is not None
    index = profile.score
    assert [text.text for text in root.iter(f"{SVG}text")] == [
        "composes", f"{index.value:.2f} ({index.low:.2f} to {index.high:.2f})"
    ]  # fmt: skip
    heights = [float(box.attrib["height"]) / TALL for box in root.iter(f"{SVG}rect")][2:]
    bars = [height for height in heights if height != pytest.approx(1 / TALL)]  # without the ground
    assert bars == pytest.approx([estimate.value for estimate in profile.dimensions.values()], abs=1e-5)
    assert all(float(box.attrib["x"]) < float(root.attrib["width"]) for box in root.iter(f"{SVG}rect"))


def test_a_name_is_text_and_who_learned_nothing_says_so():
    profile = replace(kept_profiles()[0], name="<b>&mine", tasks={}, plan={})
    root = ET.fromstring(badge(profile))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text is not None
    assert title.text.startswith("<b>&mine between rote (0) and rule (1): nothing learned over 0 of 0 tasks")
