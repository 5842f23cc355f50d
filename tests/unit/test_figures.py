"""Figures are data: what is tested is what they show, not how they look."""

from __future__ import annotations

import base64
import json
import math
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from xml.etree import ElementTree

import altair as alt
import numpy as np
import pytest
from sample_tables import SETTINGS, boundaries_table, samples, seeds_table, training_table

import rote.figures
from rote.claims import mean
from rote.errors import RoteError, UnknownNameError, UsageError
from rote.figures import Figure, draw, export, figures, spec
from rote.figures.contour import contours
from rote.figures.export import to_json
from rote.figures.png import encode
from rote.figures.style import NEGATIVE, POSITIVE, shade

GRID = np.linspace(-1, 1, 21)
X, Y = np.meshgrid(GRID, GRID)


def decoded(png: bytes) -> tuple[np.ndarray, bytes, bytes]:
    """Indices, colors and alphas of a PNG with a palette, its checksums verified."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks[kind], at = content, at + 12 + length
    width, height, depth, kind_of_color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind_of_color) == (8, 3)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, width + 1)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:], chunks[b"PLTE"], chunks[b"tRNS"]


class TestContour:
    def test_a_linear_field_gives_its_line_exactly_and_whole(self) -> None:
        (line,) = contours(X + 0.3 * Y, GRID, GRID, level=0.0)
        x, y = np.array(line).T
        assert np.abs(x + 0.3 * y).max() < 1e-12
        assert {round(y[0], 9), round(y[-1], 9)} == {-1.0, 1.0}
        assert (np.diff(y) >= -1e-12).all() or (np.diff(y) <= 1e-12).all()  # in order, no jumps back and forth

    def test_a_circle_is_one_closed_line(self) -> None:
        (line,) = contours(X**2 + Y**2, GRID, GRID, level=0.49)
        points = np.array(line)
        assert line[0] == line[-1]
        assert np.abs(np.hypot(*points.T) - 0.7).max() < 0.01
        length = np.hypot(*np.diff(points, axis=0).T).sum()
        assert length == pytest.approx(2 * math.pi * 0.7, rel=0.02)

    def test_both_halves_of_a_saddle_are_drawn_and_do_not_cross(self) -> None:
        field = np.array([[1.0, 0.0], [0.0, 1.0]])
        high = contours(field + 0.2, np.arange(2.0), np.arange(2.0))
        low = contours(field - 0.2, np.arange(2.0), np.arange(2.0))
        assert len(high) == len(low) == 2
        assert sorted(map(sorted, high)) != sorted(map(sorted, low))

    @pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
    def test_a_constant_field_has_no_line(self, value: float) -> None:
        assert contours(np.full((5, 5), value), np.arange(5.0), np.arange(5.0)) == []

    def test_a_line_through_grid_points_is_found_once(self) -> None:
        (line,) = contours(np.where(X > 0, 1.0, np.where(X < 0, 0.0, 0.5)), GRID, GRID)
        assert np.abs(np.array(line)[:, 0]).max() < 1e-9


class TestPng:
    def test_decodes_to_the_same_pixels_and_colors(self) -> None:
        indices = np.arange(12).reshape(3, 4) % 5
        palette = [(10 * i, 20 * i, 30 * i, i / 4) for i in range(5)]
        found, colors, alphas = decoded(encode(indices, palette))
        assert (found == indices).all()
        assert list(colors) == [channel for color in palette for channel in color[:3]]
        assert list(alphas) == [0, 64, 128, 191, 255]

    def test_refuses_indices_outside_the_palette(self) -> None:
        with pytest.raises(ValueError, match=r"0\.\.1"):
            encode(np.array([[0, 2]]), [(0, 0, 0, 1.0)] * 2)


class TestEveryFigureOfThePlane:
    def test_has_a_sample_here(self) -> None:
        of_the_plane = {entry.name for entry in figures.entries() if entry.module.startswith("rote.figures.plane")}
        assert set(samples()) == of_the_plane

    def test_data_that_would_make_a_picture_larger_than_the_memory_are_told_and_do_not_end_python(self) -> None:
        table = samples()["plane-data"]
        far = replace(table, rows=((*table.rows[0][:1], 1e30, *table.rows[0][2:]), *table.rows[1:]))
        for kind in ("png", "svg", "pdf"):
            with pytest.raises(RoteError, match=r"cannot be drawn: its data make it \d+ wide and .*e\+\d+ high"):
                export(far, kind)

    @pytest.mark.parametrize("name", sorted(samples()))
    def test_exports_valid_files(self, name: str) -> None:
        drawn = draw(samples()[name])
        svg = ElementTree.fromstring(export(drawn, "svg"))
        assert svg.tag.endswith("svg")
        assert len(list(svg.iter())) > 20
        assert export(drawn, "png").startswith(b"\x89PNG\r\n\x1a\n")
        assert export(drawn, "pdf").startswith(b"%PDF-")
        assert json.loads(export(drawn, "json"))["datasets"]

    @pytest.mark.parametrize("name", sorted(samples()))
    def test_is_the_same_to_the_byte_whatever_was_drawn_before(self, name: str) -> None:
        first = to_json(spec(samples()[name]))
        for other in samples().values():
            draw(other)
        with alt.theme.enable("dark"):
            assert to_json(spec(samples()[name])) == first

    @pytest.mark.parametrize("name", sorted(samples()))
    def test_describes_itself_to_those_who_cannot_see_it(self, name: str) -> None:
        table = replace(samples()[name], title="The title", place="Figure 9", note="The note.")
        assert spec(table)["description"] == "The title (Figure 9). The note."

    @pytest.mark.parametrize("name", sorted(samples()))
    def test_names_the_columns_that_a_table_lacks(self, name: str) -> None:
        table = samples()[name]
        short = replace(table, columns=table.columns[1:], rows=tuple(row[1:] for row in table.rows))
        with pytest.raises(UsageError, match=f"lacks {table.columns[0].name}"):
            draw(short)

    @pytest.mark.parametrize("name", sorted(samples()))
    def test_says_that_there_is_nothing_to_draw(self, name: str) -> None:
        with pytest.raises(UsageError, match="no rows"):
            draw(replace(samples()[name], rows=()))

    def test_dark_paper_changes_only_the_theme(self) -> None:
        table = seeds_table()
        light, dark = spec(table), spec(table, "dark")
        assert light.pop("config") != dark.pop("config")
        assert light == dark


def panels(table_spec: dict, kind: str) -> list[dict]:
    return [row for row in table_spec["datasets"]["panels"] if row["kind"] == kind]


class TestBoundaries:
    # Steep: between two grid points the probability goes from 0 to 1, and only its log-odds give the line.
    @pytest.mark.parametrize("steep", [1.0, 8.0, 200.0])
    def test_the_line_is_where_the_probability_is_one_half(self, steep: float) -> None:
        lines = panels(spec(boundaries_table(points=21, steep=steep)), "line")
        assert len(lines) == 6
        for line in lines:
            assert np.abs(np.array(line["x1"]) + 0.3 * np.array(line["x2"])).max() < (1e-4 if steep < 100 else 5e-3)

    def test_points_keep_their_order_when_drawn(self) -> None:
        """Vega-Lite sorts a line by x unless told otherwise: a steep boundary becomes a scribble."""
        layers = spec(boundaries_table())["spec"]["layer"]
        (line,) = [layer for layer in layers if layer["mark"]["type"] == "line"]
        assert line["encoding"]["order"]["field"] == "place"

    def test_the_picture_has_the_upper_right_of_the_plane_at_its_upper_right(self) -> None:
        panel = panels(spec(boundaries_table()), "field")[0]
        indices, *_ = decoded(base64.b64decode(panel["url"].partition("base64,")[2]))
        assert indices.shape == (11, 11)
        assert indices[0, -1] == 50  # x1 = x2 = 1: sure of class 1
        assert indices[-1, 0] == 0
        assert indices[0, 5] > 25 > indices[-1, 5]  # x1 = 0: class 1 for positive x2
        assert (panel["left"], panel["top"]) == (-1.1, 1.1)  # half a pixel beyond the outer points

    def test_a_panel_of_the_papers_grid_costs_less_than_a_kilobyte(self) -> None:
        panel = panels(spec(boundaries_table(points=41)), "field")[0]
        assert len(panel["url"]) < 1000

    @pytest.mark.parametrize(("seeds", "steps", "along"), [(1, (0, 4), "step"), (3, (4,), "seed"), (1, (4,), "step")])
    def test_columns_are_what_varies(self, seeds: int, steps: tuple[int, ...], along: str) -> None:
        facet = spec(boundaries_table(seeds, steps))["facet"]
        assert facet["column"]["field"] == along
        assert facet["row"]["sort"] == list(SETTINGS[:2])

    def test_seeds_and_steps_at_once_are_refused(self) -> None:
        with pytest.raises(UsageError, match=r"2 seeds and 3 steps.*table\.where"):
            draw(boundaries_table(seeds=2))

    def test_a_grid_with_a_hole_is_refused(self) -> None:
        table = boundaries_table()
        with pytest.raises(UsageError, match="120 rows for a grid of 11 x 11"):
            draw(replace(table, rows=table.rows[1:]))

    def test_the_wrong_share_of_the_corner_counts_its_points(self) -> None:
        table = boundaries_table()
        assert panels(spec(table), "field")[0]["wrong"] == 0.0
        flipped = [(*row[:-1], 1 - row[-1]) for row in table.rows]
        assert panels(spec(replace(table, rows=tuple(flipped))), "field")[0]["wrong"] == 1.0


class TestPopulations:
    def test_the_mean_and_its_interval_are_those_of_the_claims(self) -> None:
        shown = {row["setting"]: row for row in spec(seeds_table())["datasets"]["summaries"]}
        values = [row["corner_wrong"] for row in seeds_table().records() if row["setting"] == "redundant"]
        expected = mean(values)
        found = shown["redundant"]
        assert (found["mean"], found["high"], found["n"]) == (
            pytest.approx(expected.value),
            pytest.approx(expected.high),
            6,
        )
        assert found["low"] == pytest.approx(max(0.0, expected.low))
        assert shown["playground"]["low"] == shown["playground"]["high"] == 0.3  # one seed: no interval

    def test_says_how_many_seeds_got_the_corner_right(self) -> None:
        notes = [row["note"] for row in spec(seeds_table())["datasets"]["summaries"]]
        assert notes == ["1 of 6 seeds at 1 % or less", "5 of 6 seeds at 1 % or less", "0 of 1 seeds at 1 % or less"]

    def test_every_seed_has_a_dot_at_its_own_value_and_no_two_share_a_place(self) -> None:
        dots = spec(seeds_table())["datasets"]["dots"]
        assert sorted((d["setting"], d["seed"], d["corner_wrong"]) for d in dots) == sorted(seeds_table().rows)
        assert len({(d["setting"], d["corner_wrong"], d["lane"]) for d in dots}) == len(dots)

    def test_one_seed_without_an_interval_still_draws(self) -> None:
        table = training_table()
        bare = replace(table, rows=tuple((*row[:4], None, None) for row in table.rows))
        assert b"<svg" in export(bare, "svg")

    def test_one_panel_per_measure_in_the_tables_order(self) -> None:
        titles = [panel["title"] for panel in spec(training_table())["hconcat"]]
        assert titles == ["loss", "training accuracy", "held-out accuracy"]


class TestErrors:
    def test_a_table_without_a_figure(self) -> None:
        with pytest.raises(UsageError, match="names no figure"):
            draw(replace(seeds_table(), figure=""))

    def test_an_unknown_figure_gets_a_suggestion(self) -> None:
        with pytest.raises(UnknownNameError, match="Did you mean 'plane-seeds'"):
            draw(replace(seeds_table(), figure="plane-seed"))

    def test_an_unknown_format(self) -> None:
        with pytest.raises(UsageError, match="json, svg, png, pdf"):
            export(seeds_table(), "gif")


def test_the_facade_is_what_it_says() -> None:
    assert all(hasattr(rote.figures, name) for name in rote.figures.__all__)
    assert {"draw", "export", "figures", "spec"} <= set(rote.figures.__all__)
    assert isinstance(draw(seeds_table()), Figure)


def test_figures_and_reports_need_no_torch() -> None:
    program = (
        "import rote.figures, rote.report, sys; rote.figures.figures['plane-seeds']; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_shades_go_from_one_class_color_over_nothing_to_the_other() -> None:
    def color(probability: float) -> str:
        return "#" + "".join(f"{channel:02x}" for channel in shade(probability)[:3])

    assert (color(0.0), color(0.499), color(0.501), color(1.0)) == (NEGATIVE, NEGATIVE, POSITIVE, POSITIVE)
    alphas = [shade(p)[3] for p in (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)]
    assert alphas[3] == 0
    assert alphas == pytest.approx(alphas[::-1])
    assert alphas[:4] == sorted(alphas[:4], reverse=True)
