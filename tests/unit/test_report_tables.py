"""Tables as files, and numbers as text: what is written can be read again, and nothing in a cell becomes markup."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tables import columns, outcome_table

from rote.claims import Estimate
from rote.report import to_csv, to_latex, to_markdown
from rote.report.numbers import duration, exact, shown, typeset, unbroken, with_interval
from rote.store import Column, Table

NASTY = [
    r"a|b",
    "a\nb",
    r"50 % & \alpha_{1}^2 ~ #$",
    '"quoted", too',
    "<b>&amp;</b>",
    "*bold* _it_ [x](y) `c`",
    "",
    "–",
]
TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029\u0085"), max_size=12)


def table_of(texts: list[str]) -> Table:
    rows = [{"label": text, "value": 1 / 3} for text in texts]
    return Table.make("nasty", "A | title_with & signs", columns("label", "value", "paper"), rows, note="50 % of it")


def markdown_cells(text: str) -> list[list[str]]:
    """The rows of a pipe table, split and unescaped as GitHub does."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)(?:\\\\)*\|", row)[1:-1] for row in rows]
    # Splitting ate the escaped backslashes before a bar; there are none, since a bar itself is always escaped.
    return [[re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", cell.strip()) for cell in row] for row in cells]


def latex_text(text: str) -> str:
    """What LaTeX would print for our escapes."""
    names = {"textbackslash": "\\", "textasciicircum": "^", "textasciitilde": "~", "textless": "<", "textgreater": ">"}
    names |= {"textbar": "|"}
    text = re.sub(r"\\(text\w+)\{\}", lambda found: "\0" + str(ord(names[found[1]])) + "\0", text)
    text = re.sub(r"\\([{}$&#%_])", r"\1", text).replace("--", "–")
    return re.sub("\0(\\d+)\0", lambda found: chr(int(found[1])), text)


def unguarded(cell: str) -> str:
    """A cell of a CSV file as docs/store.md says to read it."""
    return cell[1:] if re.match("'+[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]", cell) else cell


class TestCsv:
    def test_round_trip_keeps_every_digit_and_every_sign(self) -> None:
        table = table_of(NASTY)
        header, *rows = csv.reader(io.StringIO(to_csv(table), newline=""))
        assert header == ["label", "value", "paper"]
        assert [row[0] for row in rows] == NASTY
        assert {float(row[1]) for row in rows} == {1 / 3}
        assert {row[2] for row in rows} == {""}

    @given(st.lists(TEXT, min_size=1, max_size=4))
    def test_any_text(self, texts: list[str]) -> None:
        rows = list(csv.reader(io.StringIO(to_csv(table_of(texts)), newline="")))
        assert [unguarded(row[0]) for row in rows[1:]] == texts

    @pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "'=", "\uff1d", "\uff20"])
    def test_a_text_that_a_spreadsheet_would_compute_is_guarded_and_can_be_had_back(self, start: str) -> None:
        """``=HYPERLINK(...)`` and ``@SUM(...)`` are computed when a file is opened; what begins with ' is text."""
        nasty = f"{start}1+cmd|' /C calc'!A0"
        table = Table.make(nasty, nasty, [Column(nasty), Column("value")], [{nasty: nasty, "value": -1.5}])
        (heading, _), (label, number) = csv.reader(io.StringIO(to_csv(table), newline=""))
        assert heading == label == f"'{nasty}"
        assert unguarded(label) == nasty
        assert number == "-1.5"

    def test_numbers_stay_numbers_also_where_they_are_texts_and_other_apostrophes_are_left_alone(self) -> None:
        cells = [-0.5, "-0.5", "+3", "-1e-05", "'s", "–", "a=b", None, [-1]]
        table = Table.make("a", "a", [Column("value")], [{"value": cell} for cell in cells])
        rows = list(csv.reader(io.StringIO(to_csv(table), newline="")))[1:]
        assert [row[0] for row in rows] == ["-0.5", "-0.5", "+3", "-1e-05", "'s", "–", "a=b", "", "[-1]"]


class TestMarkdown:
    @given(st.lists(TEXT, min_size=1, max_size=4))
    def test_any_text_stays_in_its_cell(self, texts: list[str]) -> None:
        head, rule, *rows = markdown_cells(to_markdown(table_of(texts)))
        assert head == ["label", "value", "paper (published)"]
        assert rule == ["---", "---:", "---"]
        assert [row[0] for row in rows] == [" ".join(text.split()) for text in texts]

    def test_signs_that_start_markup_are_escaped(self) -> None:
        (row,) = [
            line for line in to_markdown(table_of(["<b>*x*</b> [y](z)"])).splitlines() if "x" in line and "b" in line
        ]
        assert row.startswith(r"| \<b\>\*x\*\</b\> \[y\](z) | 0.333 | – |")


class TestLatex:
    @given(st.lists(TEXT, min_size=1, max_size=4))
    def test_any_text_prints_as_itself(self, texts: list[str]) -> None:
        written = to_latex(table_of(texts))
        body = written.partition("\\midrule\n")[2].partition("    \\bottomrule")[0]
        cells = [re.split(r"(?<!\\) ?& ", line.strip().removesuffix(r" \\"))[0] for line in body.splitlines()]
        plain = [" ".join(text.split()).replace("∞", r"$\infty$").replace("--", "–") for text in texts]
        assert [latex_text(cell).replace(r"$\infty$", "∞") for cell in cells] == [
            text.replace(r"$\infty$", "∞") for text in plain
        ]

    def test_no_sign_with_a_meaning_is_left_bare(self) -> None:
        written = to_latex(table_of(NASTY))
        caption = re.search(r"\\caption\{(.*)\}$", written, re.MULTILINE)
        assert caption is not None
        assert caption[1] == r"A \textbar{} title\_with \& signs. 50 \% of it"
        for line in written.partition("\\midrule\n")[2].partition("    \\bottomrule")[0].splitlines():
            assert not re.search(r"(?<!\\)[#$%_^~]", line.strip())

    def test_columns_numbers_and_what_was_published(self) -> None:
        written = to_latex(outcome_table())
        assert r"\begin{tabular}{lrrr}" in written
        assert r"setting & seeds & accuracy & reported (published) \\" in written
        assert r"control & 10 & 0.980 & -- \\" in written
        assert r"playground & 6 & $-0.0500$ & 0.875 \\" in written
        assert written.count("{") == written.count("}")

    def test_a_hostile_name_cannot_leave_its_label(self) -> None:
        assert r"\label{tab:a-b-input-x-}" in to_latex(replace(outcome_table(), name=r"a}b\input{x}"))


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.885123, "0.885"), (0.9996, "1.00"), (0.0012345, "0.00123"), (12.345, "12.3"), (123.456, "123"),
            (1234.5, "1234"), (99999.6, "100000"), (1.234e-7, "1.23e-7"), (1.5e9, "1.50e9"), (-0.05, "-0.0500"),
            (0.0, "0"), (1024, "1024"), (None, "–"), (float("nan"), "–"), (float("inf"), "∞"), (True, "yes"),
            ("text", "text"), (["a", 1], '["a", 1]'),
        ],
    )  # fmt: skip
    def test_three_significant_digits(self, value: object, text: str) -> None:
        assert shown(value) == text

    @given(st.floats(-1e300, 1e300))
    def test_what_is_shown_is_close_and_what_is_exact_is_exact(self, value: float) -> None:
        assert float(shown(value)) == pytest.approx(value, rel=0.00501)
        assert float(exact(value)) == value

    def test_intervals(self) -> None:
        assert with_interval(Estimate(0.115, 0.108, 0.1219, 9, "t")) == "0.115 [0.108, 0.122]"
        assert with_interval(Estimate(0.5, float("-inf"), float("inf"), 1, "t")) == "0.500"

    def test_minus_signs_but_not_hyphens(self) -> None:
        assert typeset("-0.05 [-1.2e-7, 3] held-out 2-3") == "−0.05 [−1.2e−7, 3] held-out 2-3"

    @pytest.mark.parametrize(
        ("seconds", "text"), [(0.6361, "0.636 s"), (41.7, "41.7 s"), (192.4, "3 min 12 s"), (7265, "2 h 1 min")]
    )
    def test_durations(self, seconds: float, text: str) -> None:
        assert duration(seconds) == text

    def test_a_number_stays_on_the_line_of_its_figure(self) -> None:
        assert unbroken("Section 6, Figures 4 to 6") == "Section\u00a06, Figures\u00a04 to 6"
