"""The report: one folder with a page, its data and its pictures, that opens anywhere without a network."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from rote.claims import Verdict
from rote.figures import Theme, theme
from rote.figures.export import vega_bundle
from rote.report import numbers
from rote.report.exhibits import Shelf
from rote.report.folder import check_replaceable, replacing
from rote.report.intervals import HEIGHT, WIDTH
from rote.report.ledger import OUTCOMES, counts, ledger_table, summary
from rote.report.section import Section
from rote.report.tables import numeric_columns
from rote.report.views import by_source, ledger_rows

_HERE = Path(__file__).parent
ROWS_SHOWN = 300  # of a table on the page; its files have all
# Only files of the folder itself may be loaded, whatever a text in it contains. Opened as file:, Chromium takes 'self'
# for them, other browsers the scheme.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)


def build(
    sections: Sequence[Section],
    ledger: Sequence[Verdict],
    out: Path | str,
    *,
    formats: Collection[str] = (),
    command: str = "rote report",
) -> Path:
    """Write the report into the folder ``out`` and return the path of its page.

    The folder is replaced as a whole, when the new report is complete. A folder that is not a report of Rote is never
    touched (UsageError). ``formats`` ("png", "svg", "pdf") asks for figures as files, beside their Vega-Lite JSON.
    ``command`` is what the page says to rebuild it with.
    """
    out = Path(out).expanduser().resolve()
    check_replaceable(out)
    with replacing(out) as folder:
        shelf = Shelf(folder, formats)
        sources = by_source(sections, ledger, shelf)
        page = (
            _templates()
            .get_template("index.html")
            .render(
                sections=sections,
                counts=counts(ledger),
                order={outcome: number for number, outcome in enumerate(OUTCOMES)},
                summary=summary(ledger),
                ledger=ledger_rows(ledger, sources),
                ledger_files=shelf.put(ledger_table(ledger), "").downloads,
                sources=sources,
                command=command,
                built=_now(),
                themes={name: _on_screen(name) for name in ("light", "dark")},
                policy=POLICY,
                rows_shown=ROWS_SHOWN,
                plot_width=WIDTH,
                plot_height=HEIGHT,
            )
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
        _put_assets(folder / "assets")
    return out / "index.html"


def embedded(value: object) -> Markup:
    """JSON for a ``<script type="application/json">``: no text in it can end the script or start a tag."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def with_code(text: str) -> Markup:
    """Text in which commands and options, as ``rote run plane`` and ``--seeds 20``, are set as code."""
    pattern = r"(?<![\w-])(--[a-z-]+(?: \d+)?|rote (?:run|report|show) [\w-]+)"
    return Markup(re.sub(pattern, r"<code>\1</code>", str(escape(text))))  # escaped before the tags are added


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=_shown,
        exact=numbers.exact,
        interval=lambda estimate: numbers.typeset(numbers.with_interval(estimate)),
        exact_interval=numbers.exact_interval,
        duration=numbers.duration,
        unbroken=numbers.unbroken,
        embedded=embedded,
        with_code=with_code,
        numeric_columns=numeric_columns,
    )
    environment.tests["a_number"] = numbers.is_number
    return environment


def _shown(value: object) -> str:
    text = numbers.shown(value)
    return numbers.typeset(text) if numbers.is_number(value) else text


def _on_screen(name: Theme) -> dict[str, object]:
    """The theme without its paper: the page has its own."""
    return {**theme(name), "background": "transparent"}


def _put_assets(folder: Path) -> None:
    shutil.copytree(_HERE / "assets", folder)
    (folder / "vega.js").write_text(vega_bundle(), encoding="utf-8")


def _now() -> datetime:
    """Now, or what SOURCE_DATE_EPOCH says, so that a report can be built again to the byte."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
