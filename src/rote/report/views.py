"""What the templates show, worked out: each claim's place on the page, studies by source, flat lists of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rote.claims import Evidence, Source, Verdict
from rote.report.exhibits import Exhibit, Exhibits
from rote.report.intervals import IntervalPlot, interval_plot
from rote.report.ledger import deciding
from rote.report.names import Names
from rote.report.section import Section


@dataclass(frozen=True)
class EvidenceView:
    item: Evidence
    plot: IntervalPlot | None


@dataclass(frozen=True)
class VerdictView:
    """A verdict and where its card is."""

    page: str
    anchor: str
    verdict: Verdict
    evidence: tuple[EvidenceView, ...]

    @property
    def link(self) -> str:
        return f"{self.page}#{self.anchor}"

    @property
    def measured(self) -> list[Evidence]:
        """The numbers that decided, each once, though it may have to lie between two bounds."""
        return list({(item.label, item.estimate): item for item in deciding(self.verdict)}.values())


@dataclass(frozen=True)
class StudyView:
    anchor: str
    section: Section
    verdicts: tuple[VerdictView, ...]
    exhibits: tuple[Exhibit, ...]
    environment: tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class SourceView:
    """A source with its page, its studies, and its claims that no study of this report has judged."""

    page: str
    anchor: str
    name: str
    source: Source | None  # known when one of its studies is in the report
    studies: tuple[StudyView, ...]
    others: tuple[VerdictView, ...]

    @property
    def title(self) -> str:
        return self.source.title if self.source else self.name.capitalize()

    @property
    def cards(self) -> tuple[VerdictView, ...]:
        return (*(card for study in self.studies for card in study.verdicts), *self.others)


def by_source(
    sections: Sequence[Section], ledger: Sequence[Verdict], known: Iterable[Source], exhibits: Exhibits
) -> tuple[SourceView, ...]:
    """A page for each source, in the order of their numbers; sources that only the ledger knows come last."""
    # The same claim may be judged by two studies.
    anchors, pages = Names("page"), Names("page", "index")
    shown = {verdict.claim.id for section in sections for verdict in section.verdicts}
    claimed = {verdict.claim.source for verdict in ledger}
    found = [section.source for section in sections] + [source for source in known if source.name in claimed]
    sources = {source.name: source for source in sorted(found, key=lambda source: source.id)}
    names = dict.fromkeys((*sources, *sorted(claimed)))
    views = []
    for name in names:
        mine = [section for section in sections if section.source.name == name]
        others = [verdict for verdict in ledger if verdict.claim.source == name and verdict.claim.id not in shown]
        page = f"{pages.new(name)}.html"
        views.append(
            SourceView(
                page,
                anchors.new(f"source-{name}"),
                name,
                sources.get(name),
                tuple(_study(section, page, exhibits, anchors) for section in mine),
                tuple(_verdict(verdict, page, anchors) for verdict in others),
            )
        )
    return tuple(views)


def ledger_rows(ledger: Sequence[Verdict], sources: Iterable[SourceView]) -> list[VerdictView]:
    """The ledger in its own order, each row with the card of that very verdict, or else of its claim."""
    cards = [card for source in sources for card in source.cards]
    rows = []
    for verdict in ledger:
        same = [card for card in cards if card.verdict == verdict]
        of_claim = [card for card in cards if card.verdict.claim.id == verdict.claim.id]
        rows.append(replace((same or of_claim)[0], verdict=verdict))
    return rows


def flat(environment: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    """A run's environment as pairs: the packages' versions one by one, the commit with a word on local changes."""
    pairs: list[tuple[str, object]] = []
    for key, value in environment.items():
        if key == "packages" and isinstance(value, Mapping):
            pairs += [(str(name), version) for name, version in value.items()]
        elif key == "commit":
            changed = " with uncommitted changes" if environment.get("dirty") else ""
            pairs.append(("commit", f"{value}{changed}" if value else "unknown (not run from a checkout)"))
        elif key != "dirty":
            pairs.append((key, value))
    return tuple(pairs)


def _study(section: Section, page: str, exhibits: Exhibits, anchors: Names) -> StudyView:
    return StudyView(
        anchors.new(f"study-{section.study}"),
        section,
        tuple(_verdict(verdict, page, anchors) for verdict in section.verdicts),
        tuple(exhibits.put(table, section.study) for table in section.tables),
        flat(section.environment),
    )


def _verdict(verdict: Verdict, page: str, anchors: Names) -> VerdictView:
    expected = {assertion.label: assertion.expected for assertion in verdict.claim.assertions}
    evidence = tuple(
        EvidenceView(item, interval_plot(item.estimate, expected[item.label]) if item.label in expected else None)
        for item in verdict.evidence
    )
    return VerdictView(page, anchors.new(f"claim-{verdict.claim.id}"), verdict, evidence)
