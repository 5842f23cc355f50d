"""The ledger: bodies of runs joined by seed, scales in order, what changed since the last time."""

from __future__ import annotations

from pathlib import Path

import pytest

from rote.claims import Assertion, Claim, Scale, above, column, criterion_hash
from rote.config import to_plain
from rote.laboratory import Entry, studies
from rote.laboratory.bodies import Body
from rote.laboratory.changes import changes
from rote.laboratory.ledger import entries_of_claims
from rote.laboratory.scale import scale_of
from rote.laboratory.tally import counts, discoveries, multiplicity, summary
from rote.store import Store

CLAIM = Claim(
    "made-up",
    "resistance",
    "Section 1",
    "It is larger.",
    "larger",
    (Assertion("Larger", column("t", "v"), above(0.0)),),
)
PUBLISHED, QUICK = Scale("published"), Scale("quick")


def body(values: dict[int, float], scale: Scale = QUICK, where="here", **rest) -> Body:
    return Body(scale, where, {"made-up": {"Larger": values}}, ("run",), **rest)


def entry(*bodies: Body) -> Entry:
    (found,) = entries_of_claims("plane", [CLAIM], bodies)
    return found


def test_seeds_of_one_scale_are_joined_by_number_and_say_where_they_are_from():
    kept = body(dict.fromkeys(range(4), 1.0), where="kept")
    here = body(dict.fromkeys(range(3, 6), 1.0), where="here")
    (verdict,) = entry(kept, here).verdicts
    assert (verdict.count, verdict.outcome, verdict.where) == ("6/6", "supported", "kept and here")


def test_the_scale_nearest_to_the_source_stands_first_and_disagreement_is_flagged():
    small, large = body(dict.fromkeys(range(6), -1.0)), body(dict.fromkeys(range(6), 1.0), PUBLISHED, "kept")
    found = entry(small, large)
    assert [(str(one.scale), one.outcome) for one in found.verdicts] == [
        ("published", "supported"), ("quick", "contradicted"),
    ]  # fmt: skip
    assert found.differs_by_scale
    assert not entry(large, body({0: -1.0})).differs_by_scale  # what is open disagrees with nothing
    altered = [Scale("altered", ("a", "b")), Scale("altered", ("a",)), Scale("own"), PUBLISHED, Scale("smoke"), QUICK]
    ranked = entry(*(body({0: 1.0}, scale) for scale in altered)).verdicts
    assert [str(one.scale) for one in ranked] == ["published", "altered 1", "altered 2", "own", "quick", "smoke"]


def test_a_fresh_block_is_judged_alone_and_confirms_only_the_criterion_that_was_registered():
    old = body(dict.fromkeys(range(6), 1.0))
    fresh = body(dict.fromkeys(range(1000, 1006), -1.0), fresh=True, criteria={"made-up": criterion_hash(CLAIM)})
    first, second = entry(old, fresh).verdicts
    assert (first.status, first.outcome, first.count) == ("confirmatory", "contradicted", "0/6")
    assert (second.status, second.outcome, second.count) == ("exploratory", "supported", "6/6")
    stale = body({1000: 1.0}, fresh=True, criteria={"made-up": "0" * 64})
    assert entry(stale).verdict.status == "exploratory"


def test_seeds_that_only_explore_a_claim_do_not_stand_among_those_that_confirm_it():
    now = criterion_hash(CLAIM)
    other = body(dict.fromkeys(range(1000, 1006), -1.0), fresh=True, criteria={"another": "0" * 64})
    confirming = body(dict.fromkeys(range(2000, 2006), 1.0), fresh=True, criteria={"made-up": now})
    for bodies in ((other, confirming), (confirming, other)):
        (verdict,) = entry(*bodies).verdicts
        assert (verdict.status, verdict.outcome, verdict.count) == ("confirmatory", "supported", "6/6")
    more = body(dict.fromkeys(range(3000, 3003), -1.0), fresh=True, criteria={"made-up": now})
    assert entry(confirming, more).verdict.count == "6/9"


def test_what_no_run_has_is_not_run_and_says_how_to_run_it():
    assert entry().outcome == "not run"
    assert entry().verdict.reason.endswith("rote run plane")
    assert entry(body({})).outcome == "not run"


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_a_label_comes_from_the_settings_whatever_the_preset_was_called(preset: str):
    plane = studies["plane"]()
    config = to_plain(plane.resolve(preset, {"seeds": 3}))
    assert str(scale_of(plane, config)) == {"paper": "published"}.get(preset, preset)
    config["training"]["learning_rate"] = 0.5
    altered = scale_of(plane, config)
    assert altered.name == "altered"
    assert "training.learning_rate" in altered.altered


def test_what_came_out_otherwise_than_the_last_time_is_told_once(tmp_path: Path):
    store = Store(tmp_path)
    tmp_path.mkdir(exist_ok=True)
    supported, contradicted = entry(body(dict.fromkeys(range(6), 1.0))), entry(body(dict.fromkeys(range(6), -1.0)))
    assert changes(store, [supported]) is None  # nothing was judged before
    assert changes(store, [contradicted], note=False) == changes(store, [contradicted], note=False) != []
    assert changes(store, [contradicted]) == ["made-up: supported 6/6 (quick) before, now contradicted 0/6 (quick)"]
    assert changes(store, [contradicted]) == []


def test_the_tally_counts_what_sources_say_and_tells_what_chance_gives():
    found = [entry(body(dict.fromkeys(range(6), 1.0))), entry(body({0: 1.0})), entry()]
    assert counts(found) == {"supported": 1, "contradicted": 0, "open": 1, "void": 0, "not run": 1}
    assert summary(found) == "Of 3 claims, 1 is supported, 1 is open and 1 was not run."
    assert "2 claims judged: if none were true, at most 0.1 would be called supported" in multiplicity(found)
    assert discoveries(found[:1]) == {"made-up"}
