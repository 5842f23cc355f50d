"""The report's pages: what they tell, the ledger, and no text in them can become markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from report_pages import Page, files, small, whole
from sample_tables import SOURCE, claim, columns, measured, outcome_table, section, seeds_table, verdicts

import rote.report
from rote.claims import Estimate, Verdict, above, below, judge, not_run
from rote.report import Section, build
from rote.report.intervals import WIDTH, interval_plot
from rote.report.ledger import counts, ledger_table, summary
from rote.report.report import embedded
from rote.store import Table

pytestmark = pytest.mark.usefixtures("without_vega")

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\"'&--><!--{{ 7*7*7*7*7*7*7 }}\u2028"
# Vega-Lite itself cannot have a line separator in the name of a series.
LABEL = HOSTILE.replace("\u2028", "")


class TestEscaping:
    def hostile_section(self) -> tuple[Section, tuple[Verdict, ...]]:
        tables = [
            replace(table, title=HOSTILE, note=HOSTILE, place=HOSTILE, name=f"{table.name}{HOSTILE}")
            for table in (seeds_table(), outcome_table())
        ]
        # As labels too: they go into the figure's data and into the cells.
        tables = [replace(t, rows=tuple((f"{LABEL} {row[0]}", *row[1:]) for row in t.rows)) for t in tables]
        claimed = claim(
            f"x{HOSTILE}", measured([0.2] * 6, label=HOSTILE), statement=HOSTILE, published=HOSTILE, remark=HOSTILE
        )
        verdict = judge(claimed, {}, study="plane", preset=HOSTILE, runs=(HOSTILE,))
        other = not_run(replace(claim(HOSTILE, measured([0.0])), source=HOSTILE), HOSTILE)
        words = dict.fromkeys(("study", "title", "place", "about", "preset", "command"), HOSTILE)
        made = section(
            *tables,
            **words,
            source=replace(SOURCE, title=HOSTILE, bibtex=HOSTILE),
            verdicts=(verdict,),
            config={HOSTILE: HOSTILE},
            environment={"packages": {HOSTILE: HOSTILE}, HOSTILE: HOSTILE},
            deviations=(HOSTILE,),
            runs=(HOSTILE,),
        )
        return made, (verdict, other)

    def test_no_text_becomes_a_tag_a_handler_or_the_end_of_a_script(self, out: Path) -> None:
        made, ledger = self.hostile_section()
        page = whole(build([made], ledger, out, command=HOSTILE))
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
        made, ledger = self.hostile_section()
        page = Page(build([made], ledger, out).with_name("resistance.html"))
        specs = [json.loads(text) for text in page.data_scripts.values()]
        assert any(HOSTILE in str(spec.get("description")) for spec in specs)
        (figure,) = [spec for spec in specs if "datasets" in spec]
        assert all(dot["setting"].startswith(LABEL) for dot in figure["datasets"]["dots"])

    def test_files_have_harmless_names(self, out: Path) -> None:
        made, ledger = self.hostile_section()
        build([made], ledger, out)
        assert all(re.fullmatch(r"[a-z0-9./-]+", name) for name in files(out))

    def test_json_cannot_end_its_script(self) -> None:
        text = str(embedded({"a": "</script><!-- & \u2028\u2029"}))
        assert not set("<>&\u2028\u2029") & set(text)
        assert json.loads(text) == {"a": "</script><!-- & \u2028\u2029"}

    def test_the_page_forbids_everything_that_is_not_in_its_folder(self, out: Path) -> None:
        page = whole(build([small()], verdicts(), out))
        (policy,) = {meta["content"] or "" for meta in page.all("meta") if meta.get("http-equiv")}
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in "".join(filter(None, (a.get("src") or a.get("href") for _, a in page.tags)))


def claim_links(page: Path) -> list[str]:
    return [a["href"] or "" for a in Page(page).all("a") if "#claim-" in (a.get("href") or "")]


class TestContent:
    def test_published_columns_are_marked_and_nothing_is_a_dash(self, out: Path) -> None:
        text = build([small()], verdicts(), out).with_name("resistance.html").read_text(encoding="utf-8")
        assert '<th scope="col" class="published number"><span class="name">reported</span>' in text
        assert '<td class="published number" data-value="">–</td>' in text
        assert '<td class="measured number" data-value="0.885123456" title="0.885123456">0.885</td>' in text
        assert ">−0.0500</td>" in text

    def test_every_claim_has_a_card_and_every_ledger_row_leads_to_its_own(self, out: Path) -> None:
        first = build([small()], verdicts(), out)
        links = claim_links(first)
        assert links[4:] == [f"resistance.html#claim-{name}" for name in ("holds", "fails", "open", "waits")]
        assert links[:4] == links[4:]  # the marks of the source
        ids = {attributes.get("id") for _, attributes in Page(first.with_name("resistance.html")).tags}
        assert {link.split("#")[1] for link in links} <= ids

    def test_a_number_between_two_bounds_is_shown_once_and_judged_twice(self, out: Path) -> None:
        low = measured([0.2, 0.21, 0.19, 0.2, 0.2])
        verdict = judge(claim("between", low, replace(low, expected=below(0.3))), {}, study="plane", preset="quick")
        page = build([small(verdicts=(verdict,))], (verdict,), out).with_name("resistance.html").read_text("utf-8")
        assert page.count("<dt>Ours</dt>") == 1
        assert "above 0.1" in page
        assert "below 0.3" in page

    def test_ids_are_given_once_even_if_two_studies_judge_one_claim(self, out: Path) -> None:
        first = build([small(), small(preset="paper")], verdicts(), out)
        for path in first.parent.glob("*.html"):
            ids = [attributes["id"] for _, attributes in Page(path).tags if attributes.get("id")]
            assert len(ids) == len(set(ids))
        assert len(list(out.glob("tables/plane-outcome*.csv"))) == 2

    def test_two_verdicts_on_one_claim_lead_to_their_own_cards(self, out: Path) -> None:
        quick, paper = (replace(verdicts()[0], preset=preset) for preset in ("quick", "paper"))
        sections = [small(verdicts=(quick,)), small(verdicts=(paper,))]
        links = claim_links(build(sections, (paper, quick), out))
        assert links[2:] == ["resistance.html#claim-holds-2", "resistance.html#claim-holds"]

    def test_what_a_reader_needs_to_run_it_again(self, out: Path) -> None:
        text = whole(build([small()], verdicts(), out, command="rote report --out x")).text
        for needed in ("rote run plane --preset quick", "rote report --out x", "model.hidden", "aa11", "3 min 12 s",
                       "0123abc with uncommitted changes", "2.13.0", "The loss is ours."):  # fmt: skip
            assert needed in text

    def test_an_inconclusive_verdict_says_what_would_settle_it(self, out: Path) -> None:
        path = build([small()], verdicts(), out)
        assert verdicts()[2].settle in whole(path).text
        assert "<code>--seeds 5</code>" in path.with_name("resistance.html").read_text(encoding="utf-8")

    def test_a_figure_that_cannot_be_drawn_does_not_cost_the_report(self, out: Path) -> None:
        page = whole(build([section(replace(outcome_table(), figure="plane-seed"))], (), out))
        assert "could not be drawn. Unknown figure 'plane-seed'. Did you mean 'plane-seeds'?" in page.text
        assert "0.885" in page.text

    def test_a_table_without_rows_says_so(self, out: Path) -> None:
        page = whole(build([section(replace(seeds_table(), rows=(), details=False))], (), out))
        assert "No rows." in page.text

    def test_nothing_at_all_is_a_report_too(self, out: Path) -> None:
        assert "No claim has been judged yet." in Page(build([], (), out)).text

    def test_a_long_table_is_cut_on_the_page_but_not_in_its_files(self, out: Path) -> None:
        long = replace(outcome_table(), rows=outcome_table().rows * 200)
        assert "The first 300 of 600 rows" in whole(build([section(long)], (), out)).text
        assert (out / "tables/plane-outcome.csv").read_text().count("\n") == 601


class TestLedger:
    def test_counts_and_sentence_agree(self) -> None:
        assert list(counts(verdicts()).values()) == [1, 0, 1, 1, 1]
        assert summary(verdicts()) == (
            "Of 4 published claims, 1 is reproduced, 1 is not reproduced, 1 is inconclusive and 1 has not been run."
        )
        assert summary(verdicts()[:1]) == "Of the one published claim, 1 is reproduced."

    def test_a_claim_without_a_run_has_empty_numbers(self) -> None:
        *_, last = ledger_table(verdicts()).records()
        assert (last["claim"], last["ours"], last["n"], last["verdict"]) == ("waits", None, None, "not run")

    def test_it_is_downloadable(self, out: Path) -> None:
        build([small()], verdicts(), out)
        assert (out / "tables/ledger.csv").read_text().splitlines()[1].startswith("holds,resistance,")


class TestIntervalPlot:
    def test_values_keep_their_order_and_the_confirming_side_is_shaded(self) -> None:
        plot = interval_plot(Estimate(0.2, 0.15, 0.25, 8, "t"), above(0.1, 0.0))
        assert plot is not None
        assert 0 < plot.at_all < plot.size < plot.low < plot.value < plot.high < WIDTH
        assert plot.confirmed == (plot.size, pytest.approx(WIDTH - plot.size))

    def test_below_shades_the_left_and_a_missing_interval_runs_over_all(self) -> None:
        plot = interval_plot(Estimate(0.2, float("-inf"), float("inf"), 1, "t"), below(0.1))
        assert plot is not None
        assert plot.confirmed == (0.0, plot.size)
        assert (plot.low, plot.high) == (0.0, WIDTH)

    def test_no_value_no_picture(self) -> None:
        assert interval_plot(Estimate(float("nan"), 0.0, 1.0, 0, "t"), below(0.1)) is None


def test_the_facade_is_what_it_says() -> None:
    assert all(hasattr(rote.report, name) for name in rote.report.__all__)
    assert {"Section", "build"} <= set(rote.report.__all__)


def test_a_section_can_be_made_without_results() -> None:
    bare = Section("s", "t", SOURCE, "p", "a", "quick", 1, {}, "rote run s")
    assert bare.tables == bare.verdicts == bare.runs == bare.deviations == ()
    assert Table.make("x", "y", columns("a"), []).rows == ()
