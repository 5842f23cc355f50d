"""The report's folder and page: whole or not at all, and no text in it can become markup."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sample_tables import SOURCE, claim, columns, measured, outcome_table, samples, section, seeds_table, verdicts

import rote.report
from rote.claims import Estimate, Verdict, above, below, judge, not_run
from rote.errors import StoreError, UsageError
from rote.figures import draw, export
from rote.report import Section, build
from rote.report.intervals import WIDTH, interval_plot
from rote.report.ledger import counts, ledger_table, summary
from rote.report.report import embedded
from rote.store import Table

HOSTILE = "<script>alert(1)</script></script><img src=x onerror=alert(2)>\"'&--><!--{{ 7*7 }}\u2028"
# Vega-Lite itself cannot have a line separator in the name of a series.
LABEL = HOSTILE.replace("\u2028", "")


class Page(HTMLParser):
    """What a browser would make of pages: tags, attributes, scripts and text."""

    def __init__(self, *paths: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data_scripts: dict[str, str] = {}
        self.text = ""
        self._inside: str | None = None
        for path in paths:
            self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag == "script" and attributes.get("type") == "application/json":
            self._inside = attributes["id"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside is None:
            self.text += data
        else:
            self.data_scripts[self._inside] = self.data_scripts.get(self._inside, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def whole(first: Path) -> Page:
    """The first page of a report and those of its sources."""
    return Page(*sorted(first.parent.glob("*.html")))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "report"


@pytest.fixture(autouse=True)
def bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vega itself is for the browser tests; here it only costs a second each."""
    monkeypatch.setattr("rote.report.report.vega_bundle", lambda: "/* Vega */\n")


def small(**changes: object) -> Section:
    return section(outcome_table(), **changes)


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
        assert "49" not in page.text  # nothing is rendered twice
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


class TestFiles:
    def test_a_figure_in_every_format(self, out: Path) -> None:
        build([section(seeds_table())], (), out)
        assert {path.name for path in out.glob("figures/*")} == {
            "plane-seeds.pdf", "plane-seeds.png", "plane-seeds.svg", "plane-seeds.vl.json"
        }  # fmt: skip
        starts = {"pdf": b"%PDF-", "png": b"\x89PNG", "svg": b"<svg"}
        assert all(
            (out / f"figures/plane-seeds.{kind}").read_bytes().startswith(start) for kind, start in starts.items()
        )

    def test_only_a_figure_that_has_changed_is_drawn_again(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn = []
        render = rote.report.exhibits.render
        monkeypatch.setattr("rote.report.exhibits.render", lambda figure: drawn.append(figure) or render(figure))
        tables = [samples()["plane-seeds"], samples()["plane-data"]]
        build([section(*tables)], (), out)
        first = files(out / "figures")
        build([section(*tables)], (), out)
        assert len(drawn) == 2
        assert files(out / "figures") == first
        build([section(replace(tables[0], rows=tables[0].rows[1:]), tables[1])], (), out)
        assert len(drawn) == 3

    def test_pictures_of_another_program_or_lost_ones_are_drawn_again(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as earlier:
            earlier.setattr("rote.report.report.DRAWN_BY", "another program 1.0")
            build([section(seeds_table())], (), out)
        picture = out / "figures/plane-seeds.png"
        drawn = picture.read_bytes()
        picture.write_bytes(b"drawn otherwise")
        build([section(seeds_table())], (), out)
        assert picture.read_bytes() == drawn
        picture.unlink()
        build([section(seeds_table())], (), out)
        assert picture.read_bytes() == drawn

    def test_long_data_as_csv_only_and_tables_in_three_forms(self, out: Path) -> None:
        build([section(seeds_table(), outcome_table())], verdicts(), out)
        assert {path.name for path in out.glob("tables/plane-*")} == {
            "plane-seeds.csv", "plane-outcome.csv", "plane-outcome.md", "plane-outcome.tex"
        }  # fmt: skip

    def test_very_long_data_are_compressed(self, out: Path) -> None:
        long = replace(seeds_table(), rows=seeds_table().rows * 2000)
        page = whole(build([section(long)], (), out))
        with gzip.open(out / "tables/plane-seeds.csv.gz", "rt") as file:
            assert len(file.readlines()) == 1 + len(long.rows)
        assert "CSV, gzip" in page.text

    def test_a_picture_for_slides_has_few_colors_but_those_of_the_figure(self, out: Path) -> None:
        build([section(seeds_table())], (), out)
        small = Image.open(out / "figures/plane-seeds.png")
        full = Image.open(io.BytesIO(export(draw(seeds_table()), "png"))).convert("RGB")
        assert (small.mode, small.size) == ("P", full.size)
        apart = np.abs(np.asarray(small.convert("RGB"), int) - np.asarray(full, int))
        assert apart.mean() < 0.2
        assert apart.max() < 40

    def test_a_report_of_the_same_is_left_as_it_is(self, out: Path) -> None:
        page = build([section(seeds_table())], verdicts(), out)
        made = page.stat().st_mtime_ns
        build([section(seeds_table())], verdicts(), out)
        assert page.stat().st_mtime_ns == made
        (out / "tables/plane-seeds.csv").unlink()
        build([section(seeds_table())], verdicts(), out)
        assert (out / "tables/plane-seeds.csv").exists()
        made = page.stat().st_mtime_ns
        build([section(seeds_table())], verdicts()[:1], out)
        assert page.stat().st_mtime_ns != made

    def test_the_same_input_gives_the_same_bytes(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        build([section(*samples().values())], verdicts(), out)
        first = files(out)
        build([section(*samples().values())], verdicts(), out)
        assert files(out) == first


class TestFolder:
    def test_a_report_is_replaced_as_a_whole(self, out: Path) -> None:
        build([section(seeds_table())], (), out)
        path = build([small()], (), out)
        assert path == out / "index.html"
        assert not list(out.glob("tables/plane-seeds*"))
        assert list(out.parent.iterdir()) == [out]

    @pytest.mark.parametrize("name", ["notes.txt", "index.html", "rote-report.json"])
    def test_a_foreign_folder_is_left_alone(self, out: Path, name: str) -> None:
        out.mkdir()
        (out / name).write_text("mine")
        with pytest.raises(UsageError, match="not a report of Rote"):
            build([small()], (), out)
        assert files(out) == {name: b"mine"}
        assert list(out.parent.iterdir()) == [out]

    def test_a_file_is_left_alone(self, out: Path) -> None:
        out.write_text("mine")
        with pytest.raises(UsageError, match="is a file"):
            build([small()], (), out)
        assert out.read_text() == "mine"

    def test_files_added_to_a_report_are_not_lost(self, out: Path) -> None:
        build([small()], (), out)
        (out / "tables" / "my-notes.txt").write_text("mine")
        with pytest.raises(UsageError, match=r"tables/my-notes\.txt"):
            build([small()], (), out)
        assert (out / "tables" / "my-notes.txt").read_text() == "mine"

    def test_an_empty_folder_and_a_new_path_are_fine(self, out: Path) -> None:
        out.mkdir()
        assert build([small()], (), out).exists()
        assert build([small()], (), out / "below" / "it").exists()

    def test_a_link_leads_to_the_report_that_is_replaced(self, out: Path) -> None:
        build([small()], (), out)
        link = out.parent / "link"
        link.symlink_to(out)
        assert build([section(seeds_table())], (), link) == out / "index.html"
        assert link.is_symlink()
        assert (out / "tables/plane-seeds.csv").exists()

    def test_a_crash_while_writing_leaves_the_old_report_whole(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        build([small()], (), out)
        before = files(out)

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("rote.report.report._put_assets", crash)
        with pytest.raises(KeyboardInterrupt):
            build([section(seeds_table())], (), out)
        assert files(out) == before
        assert list(out.parent.iterdir()) == [out]

    def test_a_failed_swap_puts_the_old_report_back(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        build([small()], (), out)
        before, rename = files(out), os.rename

        def fails_for_the_new(source: Path, target: Path) -> None:
            if str(source).endswith(".tmp") and Path(target) == out:
                raise OSError(28, "No space left on device")
            rename(source, target)

        monkeypatch.setattr(os, "rename", fails_for_the_new)
        with pytest.raises(StoreError, match="No space left on device"):
            build([section(seeds_table())], (), out)
        assert files(out) == before
        assert list(out.parent.iterdir()) == [out]


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
