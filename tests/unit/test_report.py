"""The report's pages: what they tell, the ledger, and no text in them can become markup."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_pages import Page, files, small, whole
from sample_tables import (
    SOURCE,
    asserted,
    claim,
    columns,
    entries,
    holds,
    outcome_table,
    per_seed,
    section,
    seeds_table,
    verdict,
)

import rote.report
from rote.claims import Assertion, Published, Region, Register, Scale, Verdict, above, at_least, below, inside
from rote.claims.register import Entry as Registered
from rote.claims.verdict import finding
from rote.laboratory import Entry
from rote.report import Section, build
from rote.report.cards import card, numbers_said
from rote.report.ledger import NEAREST, ledger_table, tallies
from rote.report.pages import first_page, source_page, study_page
from rote.report.pictures import WIDTH, Picture, difference, forest, strip, strip_axis
from rote.report.report import embedded
from rote.store import Table

pytestmark = pytest.mark.usefixtures("without_vega")

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\"'&--><!--{{ 7*7*7*7*7*7*7 }}\u2028"
# Vega-Lite itself cannot have a line separator in the name of a series.
LABEL = HOSTILE.replace("\u2028", "")


class TestEscaping:
    def hostile_section(self) -> tuple[Section, list[Entry]]:
        tables = [
            replace(table, title=HOSTILE, note=HOSTILE, place=HOSTILE, name=f"{table.name}{HOSTILE}")
            for table in (seeds_table(), outcome_table())
        ]
        # As labels too: they go into the figure's data and into the cells.
        tables = [replace(t, rows=tuple((f"{LABEL} {row[0]}", *row[1:]) for row in t.rows)) for t in tables]
        words = {"statement": HOSTILE, "published": HOSTILE, "remark": HOSTILE}
        rival = asserted(f"rival {HOSTILE}", role="rival")
        number = Published(f"number {HOSTILE}", per_seed("n"), runs=(0.1, 0.2))
        claimed = claim(f"x{HOSTILE}", asserted(HOSTILE), rival, numbers=(number,), **words)
        values = {HOSTILE: [0.2] * 6, rival.label: [0.0] * 6, number.label: [0.1] * 6}
        scale = Scale("altered", (HOSTILE,))
        judged = replace(verdict(claimed, **values), scale=scale, runs=(HOSTILE,), where=HOSTILE)
        other = replace(claim(HOSTILE, asserted(HOSTILE)), source=HOSTILE)
        tested = claim("identity", kind="identity", test=HOSTILE)
        found = [
            Entry(claimed, "plane", (judged,)),
            Entry(other, HOSTILE, (Verdict(other, "not run", HOSTILE),)),
            Entry(tested, "plane", (Verdict(tested, "tested", HOSTILE),)),
        ]
        told = dict.fromkeys(("study", "title", "place", "about", "command"), HOSTILE)
        made = section(
            *tables,
            **told,
            scale=scale,
            source=replace(SOURCE, title=HOSTILE, bibtex=HOSTILE),
            config={HOSTILE: HOSTILE},
            environment={"packages": {HOSTILE: HOSTILE}, HOSTILE: HOSTILE},
            deviations=(HOSTILE,),
            runs=(HOSTILE,),
        )
        return made, found

    def test_no_text_becomes_a_tag_a_handler_or_the_end_of_a_script(self, out: Path) -> None:
        made, found = self.hostile_section()
        page = whole(build([made], found, out, command=HOSTILE))
        sources = {script.get("src") for script in page.all("script") if script.get("type") != "application/json"}
        assert sources == {f"assets/{name}.js" for name in ("start", "vega", "figures", "tables", "page")}
        assert {image["src"] for image in page.all("img")} == {
            f"figures/{path.name}" for path in out.glob("figures/*.svg")
        }
        assert not [
            name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"
        ]
        assert str(7**7) not in page.text  # nothing is rendered twice
        assert page.text.count("<script>alert(1)</script>") > 20  # it is all there, as text

    def test_embedded_data_is_the_same_data(self, out: Path) -> None:
        made, found = self.hostile_section()
        page = Page(build([made], found, out).with_name("resistance.html"))
        specs = [json.loads(text) for text in page.data_scripts.values()]
        assert any(HOSTILE in str(spec.get("description")) for spec in specs)
        (figure,) = [spec for spec in specs if "datasets" in spec]
        assert all(dot["setting"].startswith(LABEL) for dot in figure["datasets"]["dots"])

    def test_files_have_harmless_names(self, out: Path) -> None:
        made, found = self.hostile_section()
        build([made], found, out)
        assert all(re.fullmatch(r"[a-z0-9./-]+", name) for name in files(out))

    def test_json_cannot_end_its_script(self) -> None:
        text = str(embedded({"a": "</script><!-- & \u2028\u2029"}))
        assert not set("<>&\u2028\u2029") & set(text)
        assert json.loads(text) == {"a": "</script><!-- & \u2028\u2029"}

    def test_the_page_forbids_everything_that_is_not_in_its_folder(self, out: Path) -> None:
        page = whole(build([small()], entries(), out))
        (policy,) = {meta["content"] or "" for meta in page.all("meta") if meta.get("http-equiv")}
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in "".join(filter(None, (a.get("src") or a.get("href") for _, a in page.tags)))


def claim_links(page: Path) -> list[str]:
    return [a["href"] or "" for a in Page(page).all("a") if "#claim-" in (a.get("href") or "")]


class TestContent:
    def test_published_columns_are_marked_and_nothing_is_a_dash(self, out: Path) -> None:
        text = build([small()], entries(), out).with_name("resistance.html").read_text(encoding="utf-8")
        assert '<th scope="col" class="published number"><span class="name">reported</span>' in text
        assert '<td class="published number" data-value="">–</td>' in text
        assert '<td class="measured number" data-value="0.885123456" title="0.885123456">0.885</td>' in text
        assert ">−0.0500</td>" in text

    def test_every_claim_has_a_card_and_every_ledger_row_leads_to_its_own(self, out: Path) -> None:
        first = build([small()], entries(), out)
        links = claim_links(first)
        names = [entry.claim.id for entry in entries()]
        assert set(links) == {f"resistance.html#claim-{name}" for name in names}
        assert links[-len(names) :] == [f"resistance.html#claim-{name}" for name in names]  # after findings and marks
        ids = {attributes.get("id") for _, attributes in Page(first.with_name("resistance.html")).tags}
        assert {link.split("#")[1] for link in links} <= ids

    def test_ids_are_given_once_even_if_two_runs_of_a_study_are_shown(self, out: Path) -> None:
        first = build([small(), small(scale=Scale("published"))], entries(), out)
        for path in first.parent.glob("*.html"):
            ids = [attributes["id"] for _, attributes in Page(path).tags if attributes.get("id")]
            assert len(ids) == len(set(ids))
        assert len(list(out.glob("tables/plane-outcome*.csv"))) == 2

    def test_the_scale_is_told_with_what_was_altered(self, out: Path) -> None:
        text = whole(build([small(scale=Scale("altered", ("model.hidden", "task.rows")))], (), out)).text
        assert "altered 2, 6 seeds" in " ".join(text.split())
        assert "Settings that differ from the published ones: model.hidden, task.rows." in text

    def test_what_a_reader_needs_to_run_it_again(self, out: Path) -> None:
        text = whole(build([small()], entries(), out, command="rote report --out x")).text
        for needed in ("rote run plane --preset quick", "rote report --out x", "model.hidden", "aa11", "3 min 12 s",
                       "0123abc with uncommitted changes", "2.13.0", "The loss is ours."):  # fmt: skip
            assert needed in text

    def test_an_open_verdict_says_what_would_settle_it(self, out: Path) -> None:
        path = build([small()], entries(), out)
        settle = entries()[2].verdict.settle
        assert settle in whole(path).text
        (number,) = set(re.findall(r"--seeds (\d+)", settle))
        assert f"<code>--seeds {number}</code>" in path.with_name("resistance.html").read_text(encoding="utf-8")

    def test_a_figure_that_cannot_be_drawn_does_not_cost_the_report(self, out: Path) -> None:
        page = whole(build([section(replace(outcome_table(), figure="plane-seed"))], (), out))
        assert "could not be drawn. Unknown figure 'plane-seed'. Did you mean 'plane-seeds'?" in page.text
        assert "0.885" in page.text

    def test_a_table_without_rows_says_so(self, out: Path) -> None:
        page = whole(build([section(replace(seeds_table(), rows=(), details=False))], (), out))
        assert "No rows." in page.text

    def test_nothing_at_all_is_a_report_too(self, out: Path) -> None:
        assert "No claim of a source is among these." in Page(build([], (), out)).text

    def test_a_long_table_is_cut_on_the_page_but_not_in_its_files(self, out: Path) -> None:
        long = replace(outcome_table(), rows=outcome_table().rows * 200)
        assert "The first 300 of 600 rows" in whole(build([section(long)], (), out)).text
        assert (out / "tables/plane-outcome.csv").read_text().count("\n") == 601


class TestCards:
    def text(self, out: Path, name: str = "holds") -> str:
        page = build([small()], entries(), out).with_name("resistance.html").read_text(encoding="utf-8")
        card = page[page.index(f'id="claim-{name}"') :]
        return " ".join(re.sub(r"<[^>]+>", " ", card[: card.index("</section>")]).split())

    def test_a_card_tells_the_source_the_criterion_both_scales_and_the_rival(self, out: Path) -> None:
        text = self.text(out)
        for needed in (
            "The source 0.9", "With a control.", "wrong share above 0.1 in most seeds", "published, kept, exploratory",
            "quick, here, exploratory", "but without the corner: 0/6", "6/6", "0/6", "rote run plane --preset quick",
            "aa11 bb22", "Its criterion is not in the register",
        ):  # fmt: skip
            assert needed in text, needed
        assert text.index("The source") < text.index("What would support it") < text.index("exploratory")

    def test_numbers_are_compared_with_the_published_ones(self, out: Path) -> None:
        text = self.text(out)
        assert re.search(r"Table 1, wrong share published 0.203 ± 0.015 \(3 runs\) 0.203 n = 6", text)
        assert "shown a single number has no spread" in text
        assert numbers_said(holds().verdict) == "1 agrees, 1 shown"

    def test_alternatives_stand_under_their_headings(self) -> None:
        rows = card(entries()[2], Register({})).rows
        assert [(row.depth, row.heading or row.label) for row in rows] == [
            (0, "Any of these"), (1, "All of these together"), (2, "first"), (2, "second"), (1, "third"),
        ]  # fmt: skip

    def test_a_void_verdict_says_which_condition_failed(self, out: Path) -> None:
        assert "This is no test of it: has learned: 0/6" in self.text(out, "void")

    def test_the_register_is_quoted_and_a_changed_criterion_is_told(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, last = (Registered(digit * 64, f"2026-0{digit}-01T00:00:00", f"reason {digit}") for digit in "12")
        monkeypatch.setattr(Register, "read", classmethod(lambda cls: cls({"holds": (first, last), "fails": (last,)})))
        text = self.text(out)
        assert "Criterion 222222222222 , registered 2026-02-01: reason 2." in text
        assert "It has been changed since, and the change is not registered." in text
        assert "The criterion was changed after results : 2026-01-01 111111111111 , reason 1" in text
        assert "changed after results" not in self.text(out, "fails")


class TestLedger:
    def test_the_tally_counts_each_claim_once_and_again_at_every_scale(self) -> None:
        (tally,) = tallies(entries())
        assert tally.total == 5  # neither ours nor the audit nor the identity
        assert list(tally.scales[NEAREST].values()) == [1, 1, 1, 1, 1]
        assert list(tally.scales) == [NEAREST, "published", "quick"]
        assert tally.scales["published"] == {
            "supported": 1, "contradicted": 0, "open": 0, "void": 0, "not run": 0,
        }  # fmt: skip
        assert tally.scales["quick"]["contradicted"] == 2

    def test_several_sources_have_a_sum(self) -> None:
        other = holds()
        other = replace(other, claim=replace(other.claim, source="conduits"))
        assert [tally.source for tally in tallies([*entries(), other])] == ["resistance", "conduits", ""]
        assert tallies([*entries(), other])[-1].total == 6

    def test_the_first_page_has_the_sentence_on_multiplicity_and_the_flag(self, out: Path) -> None:
        page = build([small()], entries(), out).read_text(encoding="utf-8")
        text = " ".join(re.sub(r"<[^>]+>", " ", page).split())
        assert "4 claims judged: if none were true, at most 0.2 would be called supported" in text
        assert page.count('class="tag flag"') == 1
        assert "tests/oracles/test_gru.py::test_a_step" in text

    def test_a_row_of_the_table_for_each_scale_and_assertion(self) -> None:
        rows = list(ledger_table(entries()).records())
        assert [(row["scale"], row["assertion"], row["k"], row["n"]) for row in rows[:5]] == [
            ("published", "wrong share", 6, 6), ("published", "without the corner", 0, 6),
            ("published", "has learned", 6, 6), ("quick", "wrong share", 0, 6), ("quick", "has learned", 6, 6),
        ]  # fmt: skip
        (waits,) = [row for row in rows if row["claim"] == "waits"]
        assert (waits["k"], waits["n"], waits["scale"], waits["verdict"]) == (None, None, None, "not run")

    def test_it_is_downloadable(self, out: Path) -> None:
        build([small()], entries(), out)
        assert (out / "tables/ledger.csv").read_text().splitlines()[1].startswith("holds,asserted,resistance,")


def shapes(picture: Picture | None, kind: str) -> list[dict[str, Any]]:
    assert picture is not None
    return [shape.attributes for shape in picture.shapes if kind in str(shape.attributes["class"]).split()]


class TestPictures:
    def strip(self, region: Region, *values: float, published: Sequence[Published] = ()) -> Picture:
        found = finding(Assertion("x", per_seed("x"), region), dict(enumerate(values)))
        axis = strip_axis([found], published)
        assert axis is not None
        return strip(found, axis, published)

    def test_a_dot_for_each_seed_in_the_order_of_the_values(self) -> None:
        dots = shapes(self.strip(above(0), -0.2, 0.1, 0.5, 0.3), "dot")
        places = [dot["cx"] for dot in dots]
        assert 0 < places[0] < places[1] < places[3] < places[2] < WIDTH
        assert ["against" in dot["class"] for dot in dots] == [True, False, False, False]

    def test_the_region_is_shaded_to_its_ends(self) -> None:
        (region,) = shapes(self.strip(inside(-1, 1), -2, 2), "region")
        left, right = (limit["x1"] for limit in shapes(self.strip(inside(-1, 1), -2, 2), "limit"))
        assert (region["x"], region["x"] + region["width"]) == (left, pytest.approx(right))
        (region,) = shapes(self.strip(below(0), -2, 2), "region")
        assert region["x"] == 0

    def test_equal_dots_stand_beside_each_other(self) -> None:
        dots = shapes(self.strip(above(0), *[1.0] * 5), "dot")
        assert len({dot["cx"] for dot in dots}) == 1
        assert len({dot["cy"] for dot in dots}) == 5

    def test_infinite_values_are_at_the_edge_and_no_number_is_not_drawn(self) -> None:
        dots = shapes(self.strip(above(0), 1.0, 2.0, float("inf"), float("nan")), "dot")
        assert len(dots) == 3
        assert dots[2]["cx"] > dots[1]["cx"]
        assert strip_axis([finding(Assertion("x", per_seed("x"), above(0)), {0: float("nan")})]) is None

    def test_published_runs_are_open_dots_on_the_same_axis(self) -> None:
        number = Published("Table 1", per_seed("x"), runs=(0.1, 0.9))
        picture = self.strip(at_least(0), 0.1, 0.9, published=[number])
        assert [dot["cx"] for dot in shapes(picture, "open-dot")] == [dot["cx"] for dot in shapes(picture, "dot")]

    def test_the_forest_has_a_line_for_each_scale_at_its_share(self) -> None:
        picture = forest(holds().verdicts)
        (full, none), limits = shapes(picture, "value"), shapes(picture, "limit")
        assert full["cx"] == WIDTH - none["cx"]
        assert {limit["x1"] for limit in limits} == {WIDTH / 2}
        ranges = shapes(picture, "range")
        assert ranges[0]["x1"] > WIDTH / 2 > ranges[1]["x2"]  # both are decided
        assert forest(entries()[4].verdicts) is None

    def test_a_difference_lies_over_its_margin_and_a_single_number_has_no_picture(self) -> None:
        agrees, shown = holds().verdict.numbers
        (margin,), (line,) = shapes(difference(agrees), "region"), shapes(difference(agrees), "range")
        assert margin["x"] < line["x1"] < line["x2"] < margin["x"] + margin["width"]
        assert difference(shown) is None


class TestMarkdown:
    def test_the_study_page_names_the_scale_and_counts_seeds(self) -> None:
        page = study_page(
            small(scale=Scale("altered", ("model.hidden",), stand_in=True)), holds().verdicts[:1], ["raw"]
        )
        assert "With one of the published settings altered (`model.hidden`), on stand-in data, 6 seeds." in page
        assert (
            "| holds | supported, but without the corner: 0/6 | 0.9 | wrong share | above 0.1 in most seeds | 6/6 |"
            in page
        )
        assert "| holds | Table 1, wrong share | 0.203 ± 0.015 (3 runs) | 0.203 | 6 |" in page
        assert "Too long to keep: raw." in page

    def test_the_source_page_has_a_row_for_each_scale_and_the_kinds_apart(self) -> None:
        page = source_page(SOURCE, "Notes.", {"plane.md": small()}, entries())
        rows = [line for line in page.splitlines() if line.startswith("|")]
        assert any("published | supported, but" in row and "| 6/6 |" in row for row in rows)
        assert any("| quick | contradicted | 0/6 |" in row for row in rows)
        assert (
            page.index("What was claimed") < page.index("### Ours") < page.index("### Audits") < page.index("### Iden")
        )
        assert "at the published scale" not in page.lower()

    def test_the_first_page_tells_each_source_with_its_scales(self) -> None:
        page = first_page({"resistance/README.md": (SOURCE, [small()], entries())})
        assert page.startswith("# Kept results\n")
        assert "[Gradient descent resists compositionality](resistance/README.md) (scale: quick). Of 5 claims" in page


def test_the_facade_is_what_it_says() -> None:
    assert all(hasattr(rote.report, name) for name in rote.report.__all__)
    assert {"Section", "build"} <= set(rote.report.__all__)


def test_a_section_can_be_made_without_results() -> None:
    bare = Section("s", "t", SOURCE, "p", "a", Scale("quick"), 1, {}, "rote run s")
    assert bare.tables == bare.runs == bare.deviations == ()
    assert Table.make("x", "y", columns("a"), []).rows == ()
