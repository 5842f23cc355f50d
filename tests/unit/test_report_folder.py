"""The report's folder: its files in every format, and whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from report_pages import files, small, whole
from sample_tables import entries, outcome_table, samples, section, seeds_table

import rote.report
from rote.errors import StoreError, UsageError
from rote.figures import draw, export
from rote.report import build

pytestmark = pytest.mark.usefixtures("without_vega")


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
        build([section(seeds_table(), outcome_table())], entries(), out)
        assert {path.name for path in out.glob("tables/plane-*")} == {
            "plane-seeds.csv", "plane-outcome.csv", "plane-outcome.md", "plane-outcome.tex"
        }  # fmt: skip

    def test_very_long_data_are_compressed(self, out: Path) -> None:
        long = replace(seeds_table(), rows=seeds_table().rows * 2000, figure="")
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
        page = build([section(seeds_table())], entries(), out)
        made = page.stat().st_mtime_ns
        build([section(seeds_table())], entries(), out)
        assert page.stat().st_mtime_ns == made
        (out / "tables/plane-seeds.csv").unlink()
        build([section(seeds_table())], entries(), out)
        assert (out / "tables/plane-seeds.csv").exists()
        made = page.stat().st_mtime_ns
        build([section(seeds_table())], entries()[:1], out)
        assert page.stat().st_mtime_ns != made

    def test_the_same_input_gives_the_same_bytes(self, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        build([section(*samples().values())], entries(), out)
        first = files(out)
        build([section(*samples().values())], entries(), out)
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

    @pytest.mark.parametrize("renames", [1, 2])
    def test_ctrl_c_between_two_renames_leaves_one_whole_report_and_nothing_else(
        self, out: Path, monkeypatch: pytest.MonkeyPatch, renames: int
    ) -> None:
        build([small()], (), out)
        before, rename, done = files(out), os.rename, []

        def interrupted(source: Path, target: Path) -> None:
            rename(source, target)
            done.append(target)
            if len(done) == renames:
                raise KeyboardInterrupt

        monkeypatch.setattr(os, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            build([section(seeds_table())], (), out)
        assert (files(out) == before) is (renames == 1)
        assert (out / "index.html").exists()
        assert list(out.parent.iterdir()) == [out]

    def test_ctrl_c_again_while_it_tidies_up_leaves_nothing_either(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rmtree, pressed = shutil.rmtree, iter([True, True, False])

        def impatient(folder: Path, **how: bool) -> None:
            if next(pressed):
                raise KeyboardInterrupt
            rmtree(folder, **how)

        def crash(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(shutil, "rmtree", impatient)
        monkeypatch.setattr("rote.report.report._put_assets", crash)
        with pytest.raises(KeyboardInterrupt):
            build([small()], (), out)
        assert list(out.parent.iterdir()) == []

    def test_a_report_of_a_later_version_is_called_so_and_left_alone(self, out: Path) -> None:
        build([small()], (), out)
        marker = out / "rote-report.json"
        marker.write_text(marker.read_text().replace('"version": 1', '"version": 2'))
        before = files(out)
        with pytest.raises(
            UsageError, match=r"later version of Rote.* Install a newer Rote\. Until then: Name another"
        ):
            build([section(seeds_table())], (), out)
        assert files(out) == before
