"""The sentences that a report begins with, against the verdicts that they are made from."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from sample_tables import entries

from rote.claims import Published, Scale, column
from rote.laboratory import Entry
from rote.report import build
from rote.report.ledger import tallies
from rote.report.pictures import Axis, beside, beside_axis
from rote.report.story import Told, evidence, findings, place_order, three_sentences


def at(entry: Entry, scale: str, source: str = "resistance", name: str = "") -> Entry:
    claim = replace(entry.claim, source=source, id=name or entry.claim.id)
    return Entry(claim, entry.study, (replace(entry.verdict, claim=claim, scale=Scale(scale)),))


def contradicted() -> Entry:
    return next(entry for entry in entries() if entry.outcome == "contradicted")


def test_findings_are_contradicted_claims_and_nothing_else() -> None:
    told = findings(entries())
    assert {one.entry.outcome for one in told} == {"contradicted"}
    decided = contradicted().verdict.deciding
    assert decided is not None
    assert f"in {decided.k} of {decided.n} seeds" in told[0].text
    assert told[0].text.startswith(told[0].entry.claim.statement)
    assert findings([entry for entry in entries() if entry.outcome != "contradicted"]) == []


def test_a_finding_of_the_published_scale_comes_first_and_each_source_has_a_turn() -> None:
    one = contradicted()
    among = [at(one, "published", "a", "a1"), at(one, "published", "a", "a2"), at(one, "published", "a", "a3"),
             at(one, "quick", "b", "b1")]  # fmt: skip
    assert [told.entry.claim.id for told in findings(among)] == ["a1", "b1", "a2"]


def test_three_sentences_say_what_stands_and_what_does_not() -> None:
    told = three_sentences(entries())
    assert len(told) == 3
    assert str(told[0]).startswith("Of ")
    assert [one.entry.outcome for one in told[1:] if not isinstance(one, str)] == ["supported", "contradicted"]


def test_sentences_about_nothing_that_ran_invent_nothing() -> None:
    waiting = [entry for entry in entries() if entry.outcome == "not run"]
    assert len(three_sentences(waiting)) == 1
    assert evidence(waiting[0].verdict) == "Not run."


def test_where_little_is_decided_what_the_text_says_otherwise_than_its_data_is_told() -> None:
    audit = next(entry for entry in entries() if entry.claim.kind == "audit")
    wrong = Entry(audit.claim, audit.study, (replace(audit.verdict, outcome="does not hold"),))
    told = three_sentences([wrong])
    assert told[1] == Told(wrong, f"Not so in the source's own data: {wrong.claim.statement.rstrip('.')}.")


def test_the_scale_is_said_in_words() -> None:
    entry = next(entry for entry in entries() if entry.outcome == "supported")
    verdict = replace(entry.verdict, scale=Scale("altered", ("a", "b")), status="confirmatory", where="kept")
    assert evidence(verdict).endswith("(2 settings altered, fresh seeds, kept).")
    assert evidence(replace(verdict, scale=Scale("quick"), status="")).endswith("(quick scale, kept).")


def test_figures_stand_in_the_sources_order_before_what_it_does_not_have() -> None:
    places = ["Not in the source", "Section 2", "Figure 10", "Table 1", "Figure 2 (left)", ""]
    assert sorted(places, key=place_order)[:4] == ["Figure 2 (left)", "Figure 10", "Table 1", "Section 2"]


def test_the_first_page_says_what_changed_and_where_verdicts_are_from(tmp_path: Path) -> None:
    told = {}
    for name, changed in (("never", None), ("same", []), ("other", ["holds: open 4/6 before, now supported 6/6"])):
        told[name] = build([], entries(), tmp_path / name, changed=changed).read_text(encoding="utf-8")
    assert "Since the last time" not in told["never"]
    assert "Every claim came out as it did" in told["same"]
    assert "holds: open 4/6 before, now supported 6/6" in told["other"]
    tally = tallies(entries())[0]
    nearest = [entry.verdict.where for entry in entries() if entry.claim.tallied]
    assert tally.where["nearest"] == {place: nearest.count(place) for place in ("kept", "here", "kept and here")}
    assert sum(tally.where["nearest"].values()) > 0


def test_published_and_ours_share_one_axis() -> None:
    """A share stands on the axis from 0 to 1, whatever the values; another unit on one around both."""
    share = Published("accuracy", column("t", "v"), mean=0.9, sd=0.05, m=3)
    loss = Published("loss", column("t", "v"), runs=(2.117,))
    assert beside_axis([(share, {0: 0.4})]) == Axis(0.0, 1.0)
    axis = beside_axis([(loss, {0: 2.06, 1: 2.2})])
    assert axis is not None
    assert axis.low < 2.06 < 2.2 < axis.high
    picture = beside(loss, {0: 2.06, 1: 2.2}, axis)
    assert picture is not None
    places = {shape.title: shape.attributes["cx"] for shape in picture.shapes if shape.title}
    assert places["seed 0: 2.06"] < places["published: 2.117"] < places["seed 1: 2.2"]
    assert beside(loss, {0: math.nan}, axis) is None
