"""The report: a folder of pages with their data and pictures that opens anywhere without a network.

The first page has the ledger: what was claimed, what was found, at which scale. Each source has a page with its
studies, and a card for each claim.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from rote.claims import OUTCOMES, Register, Source
from rote.figures import Theme, theme
from rote.figures.export import DRAWN_BY, vega_bundle
from rote.laboratory import Entry
from rote.laboratory.tally import TALLIED_OUTCOMES, counts, multiplicity, summary, tallied
from rote.report import numbers
from rote.report.cards import numbers_said, scale_label
from rote.report.exhibits import Exhibits
from rote.report.folder import check_replaceable, is_current, made_alike, replacing
from rote.report.laid_over import laid_over
from rote.report.ledger import NEAREST, WHERE, ledger_table, tallies
from rote.report.pictures import WIDTH
from rote.report.section import Section
from rote.report.story import findings
from rote.report.tables import numeric_columns
from rote.report.views import by_source, in_order
from rote.store import digest

_HERE = Path(__file__).parent
_CODE = {".py", ".html", ".css", ".js", ".svg"}
OTHER_KINDS = ("ours", "audit", "identity")  # beside those of the tally
ROWS_SHOWN = 300  # of a table on the page; its files have all
# Only files of the folder itself may be loaded, whatever a text in it contains. Opened as file:, Chromium takes 'self'
# for them, other browsers the scheme.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; "
    "base-uri 'none'; form-action 'none'"
)


def build(
    sections: Sequence[Section],
    entries: Sequence[Entry],
    out: Path | str,
    *,
    sources: Iterable[Source] = (),
    command: str = "rote report",
    settling: Mapping[str, str] | None = None,
    changed: Sequence[str] | None = None,
) -> Path:
    """Write the report into the folder ``out`` and return the path of its first page.

    The folder is replaced as a whole, when the new report is complete. A folder that is not a report of Rote is never
    touched (UsageError). Pictures of figures that have not changed are taken from the report that was there, and a
    report of the very same content, made by the same program, is left as it is.
    ``sources`` are those that claims may come from, also where no section does; ``command`` is what the pages say to
    rebuild them with. ``settling`` tells for claims by their id what would settle them, where more is known than their
    verdicts say. ``changed``: a line for each claim that came out otherwise than the last time; None where nothing was
    compared.
    """
    out = Path(out).expanduser().resolve()
    check_replaceable(out)
    sections = laid_over(sections)
    register = Register.read()
    made_from = _fingerprint((sections, entries, register, settling, sources := tuple(sources), command, changed))
    if is_current(out, made_from):
        return out / "index.html"
    with replacing(out, DRAWN_BY, made_from) as folder:
        exhibits = Exhibits(folder, earlier=made_alike(out, DRAWN_BY))
        pages = by_source(sections, entries, sources, exhibits, register, settling or {})
        views = in_order(entries, pages)
        linked = {id(view.entry): view for view in views}
        template = _templates(
            sources=pages,
            summary=summary(entries),
            command=command,
            built=_now(),
            themes={name: _on_screen(name) for name in ("light", "dark")},
            policy=POLICY,
            rows_shown=ROWS_SHOWN,
            plot_width=WIDTH,
        ).get_template("page.html")
        first = template.render(
            source=None,
            title="claims and verdicts",
            counts=counts(tallied(entries)),
            outcomes=TALLIED_OUTCOMES,
            nearest=NEAREST,
            multiplicity=multiplicity(entries),
            findings=[(told, linked[id(told.entry)]) for told in findings(entries)],
            changed=changed,
            where=WHERE,
            tallies=tallies(entries),
            order={outcome: number for number, outcome in enumerate(OUTCOMES)},
            claims=[view for view in views if view.entry.claim.tallied],
            others={kind: [view for view in views if view.entry.claim.kind == kind] for kind in OTHER_KINDS},
            ledger_files=exhibits.put(ledger_table(entries), "").downloads,
        )
        (folder / "index.html").write_text(first, encoding="utf-8")
        for source in pages:
            page = template.render(source=source, title=source.title)
            (folder / source.page).write_text(page, encoding="utf-8")
        _put_assets(folder / "assets", exhibits.earlier)
    return out / "index.html"


def embedded(value: object) -> Markup:
    """JSON for a ``<script type="application/json">``: no text in it can end the script or start a tag."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def with_code(text: str) -> Markup:
    """Text in which commands and options, as ``rote run plane`` and ``--seeds 20``, are set as code."""
    pattern = r"(?<![\w-])(--[a-z-]+(?: \d+)?|rote (?:run|report|show|claims) [\w-]+)"
    return Markup(re.sub(pattern, r"<code>\1</code>", str(escape(text))))  # escaped before the tags are added


def _templates(**everywhere: object) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(everywhere)
    environment.filters.update(
        shown=_shown,
        exact=numbers.exact,
        numbers_said=numbers_said,
        scale_label=scale_label,
        interval=lambda estimate: numbers.typeset(numbers.with_interval(estimate)),
        exact_interval=numbers.exact_interval,
        duration=numbers.duration,
        unbroken=numbers.unbroken,
        typeset=numbers.typeset,
        embedded=embedded,
        with_code=with_code,
        numeric_columns=numeric_columns,
    )
    environment.tests["a_number"] = numbers.is_number
    return environment


def _shown(value: object) -> str:
    text = numbers.shown(value)
    return numbers.typeset(text) if numbers.is_number(value) else text


def _fingerprint(content: object) -> str:
    """Of what a report is made from: its content, and the program that turns it into pages and pictures."""
    files = sorted(path for folder in (_HERE, _HERE.parent / "figures") for path in folder.rglob("*"))
    program = b"".join(path.read_bytes() for path in files if path.suffix in _CODE)
    plain = json.dumps([DRAWN_BY, os.environ.get("SOURCE_DATE_EPOCH"), content], default=_plain)
    return digest(plain.encode() + program)


def _plain(value: object) -> object:
    """For a fingerprint: a dataclass as its fields, anything else, such as a claim's function, by its name."""
    if is_dataclass(value):  # without what its properties remember
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return getattr(value, "__qualname__", type(value).__qualname__)


def _on_screen(name: Theme) -> dict[str, object]:
    """The theme without its paper: the page has its own."""
    return {**theme(name), "background": "transparent"}


def _put_assets(folder: Path, earlier: Path | None) -> None:
    shutil.copytree(_HERE / "assets", folder)
    bundle = earlier / "assets" / "vega.js" if earlier else None
    if bundle and bundle.exists():
        shutil.copyfile(bundle, folder / "vega.js")
    else:
        (folder / "vega.js").write_text(vega_bundle(), encoding="utf-8")


def _now() -> datetime:
    """Now, or what SOURCE_DATE_EPOCH says, so that a report can be built again to the byte."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
