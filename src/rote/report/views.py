"""What the templates show, worked out: each claim's place on the page, studies by source, flat lists of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rote.claims import Register, Source
from rote.laboratory import Entry
from rote.report.cards import Card, Number, card
from rote.report.exhibits import Exhibit, Exhibits
from rote.report.names import Names
from rote.report.section import Section
from rote.report.story import Told, place_order, three_sentences


@dataclass(frozen=True)
class ClaimView:
    """A claim's card and where it is."""

    page: str
    anchor: str
    card: Card
    command: str  # what runs its study again

    @property
    def link(self) -> str:
        return f"{self.page}#{self.anchor}"

    @property
    def entry(self) -> Entry:
        return self.card.entry


@dataclass(frozen=True)
class StudyView:
    anchor: str
    section: Section
    claims: tuple[ClaimView, ...]
    exhibits: tuple[Exhibit, ...]
    environment: tuple[tuple[str, object], ...]

    @property
    def figures(self) -> list[Exhibit]:
        """In the source's order, then those that it does not have."""
        shown = [one for one in self.exhibits if one.drawing or one.problem]
        return sorted(shown, key=lambda one: place_order(one.table.place))

    @property
    def tables(self) -> list[Exhibit]:
        return [one for one in self.exhibits if not (one.drawing or one.problem)]


@dataclass(frozen=True)
class SourceView:
    """A source with its page, its studies, and its claims of which no study is in this report."""

    page: str
    anchor: str
    name: str
    source: Source | None  # known when one of its studies is in the report
    studies: tuple[StudyView, ...]
    others: tuple[ClaimView, ...]

    @property
    def title(self) -> str:
        return self.source.title if self.source else self.name.capitalize()

    @property
    def claims(self) -> tuple[ClaimView, ...]:
        return (*(claim for study in self.studies for claim in study.claims), *self.others)

    @property
    def told(self) -> list[Told | str]:
        """What was found, in three sentences."""
        return three_sentences([view.entry for view in self.claims])

    @property
    def hero(self) -> Exhibit | None:
        """The figure that stands first: the one that the source names, else the first of the source's own."""
        drawn = [one for study in self.studies for one in study.figures if one.drawing]
        named = [one for one in drawn if self.source and one.anchor == self.source.hero]
        return min(named or drawn, key=lambda one: place_order(one.table.place), default=None)

    @property
    def hero_study(self) -> StudyView | None:
        return next((study for study in self.studies if self.hero in study.exhibits), None)

    @property
    def numbers(self) -> list[tuple[ClaimView, list[Number]]]:
        """Claims with published numbers, and ours beside them at the scale nearest to the source's."""
        found = [(view, [one for one in view.card.numbers if one.nearest]) for view in self.claims]
        return [(view, numbers) for view, numbers in found if numbers]

    def link_of(self, told: Told) -> str:
        return next(view.anchor for view in self.claims if view.entry is told.entry)

    @property
    def forest(self) -> list[ClaimView]:
        """The claims that seeds were counted for, those of the tally first."""
        counted = [view for view in self.claims if view.card.forest and view.entry.claim.kind != "audit"]
        return sorted(counted, key=lambda view: not view.entry.claim.tallied)


def by_source(
    sections: Sequence[Section],
    entries: Sequence[Entry],
    known: Iterable[Source],
    exhibits: Exhibits,
    register: Register,
    settling: Mapping[str, str],
) -> tuple[SourceView, ...]:
    """A page for each source, in the order of their numbers; sources that only the ledger knows come last. A claim's
    card stands with the first section of its study. ``settling``: what would settle a claim, by its id."""
    anchors, pages = Names("page"), Names("page", "index")
    claimed = {entry.claim.source for entry in entries}
    found = [section.source for section in sections] + [source for source in known if source.name in claimed]
    sources = {source.name: source for source in sorted(found, key=lambda source: source.id)}
    views = []

    def view(entry: Entry, page: str, command: str) -> ClaimView:
        made = card(entry, register, settling.get(entry.claim.id))
        return ClaimView(page, anchors.new(f"claim-{entry.claim.id}"), made, command)

    for name in dict.fromkeys((*sources, *sorted(claimed))):
        page = f"{pages.new(name)}.html"
        anchor, waiting = anchors.new(f"source-{name}"), [entry for entry in entries if entry.claim.source == name]
        studies = []
        for section in sections:
            if section.source.name == name:
                own = [entry for entry in waiting if entry.study == section.study]
                waiting = [entry for entry in waiting if entry.study != section.study]
                claims = [view(entry, page, section.command) for entry in own]
                studies.append(_study(section, tuple(claims), exhibits, anchors))
        others = tuple(view(entry, page, f"rote run {entry.study}") for entry in waiting)
        views.append(SourceView(page, anchor, name, sources.get(name), tuple(studies), others))
    return tuple(views)


def in_order(entries: Sequence[Entry], sources: Iterable[SourceView]) -> list[ClaimView]:
    """The claims in the ledger's own order."""
    views = {id(view.entry): view for source in sources for view in source.claims}
    return [views[id(entry)] for entry in entries]


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


def _study(section: Section, claims: tuple[ClaimView, ...], exhibits: Exhibits, anchors: Names) -> StudyView:
    return StudyView(
        anchors.new(f"study-{section.study}"),
        section,
        claims,
        tuple(exhibits.put(table, section.study) for table in section.tables),
        flat(section.environment),
    )
