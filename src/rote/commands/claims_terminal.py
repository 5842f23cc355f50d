"""How the ledger and single verdicts look in a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from rote.claims import Finding, Verdict
from rote.commands.terminal import interval, number, rows_as_table
from rote.laboratory import Entry
from rote.laboratory.tally import counts, multiplicity, summary, tallied

LINE = 110  # columns of a claim
STYLES = {"supported": "green", "holds": "green", "contradicted": "red", "does not hold": "red", "open": "magenta"}
ALSO = {  # kinds that are told apart from the tally
    "ours": "Ours, said by no source",
    "audit": "Audits: a text against its own data or program",
    "identity": "Identities, which only a mistake can break",
}


def show_ledger(console: Console, entries: Sequence[Entry]) -> None:
    """A line for each claim, those of the sources first, and how many came out how, source by source."""
    if not entries:
        console.print("No claim is like that.")
        return
    widest = max(len(entry.claim.id) for entry in entries)
    groups = {"": tallied(entries)}
    groups |= {told: [entry for entry in entries if entry.claim.kind == kind] for kind, told in ALSO.items()}
    for told, group in groups.items():
        if told and group:
            console.print(f"\n{told}", style="bold", highlight=False)
        for entry in group:
            console.print(_line(entry, widest, min(LINE, console.width)), highlight=False)
    if groups[""]:
        console.print()
        console.print(_tally(groups[""]), highlight=False)
        for sentence in (summary(groups[""]), multiplicity(groups[""])):
            console.print(sentence, highlight=False, soft_wrap=True)
    console.print("rote claims --full tells what each says and what came out at every scale.", style="dim")


def _line(entry: Entry, widest: int, width: int) -> Text:
    verdict = entry.verdict
    line = Text(f"{verdict.outcome.upper():<13}", style=STYLES.get(verdict.outcome, "dim"))
    line.append(f" {verdict.count:<7} {entry.claim.id:<{widest}}  {_at(entry)}", style="not bold default")
    line.truncate(width, overflow="ellipsis")
    return line


def _at(entry: Entry) -> str:
    """Where the verdict is from, and what the others say; of what was not run, how to run it."""
    verdict = entry.verdict
    if verdict.outcome == "not run":
        return f"rote run {entry.study}"
    if verdict.outcome == "tested":
        return entry.claim.test
    words = [f"{verdict.scale} {verdict.where}", *(["confirmed"] if verdict.status == "confirmatory" else [])]
    words += [f"{other.scale} {other.outcome} {other.count}" for other in entry.verdicts[1:]]
    return "; ".join([*words, *(["but " + verdict.caveats[0]] if verdict.caveats else [])])


def _tally(entries: Sequence[Entry]) -> Any:
    sources = list(dict.fromkeys(entry.claim.source for entry in entries))
    rows: list[dict[str, Any]] = [
        {"source": source, **counts(entry for entry in entries if entry.claim.source == source)} for source in sources
    ]
    if len(sources) > 1:
        rows.append({"source": "all", **counts(entries)})
    return rows_as_table(rows)


def show_entries(console: Console, entries: Iterable[Entry], settling: Callable[[Entry], str]) -> None:
    """The ledger for people: what was claimed, what came out at each scale, and what would settle what is open."""
    for entry in entries:
        claim = entry.claim
        console.print(Text(f"{claim.id}  ({claim.source}, {claim.place}; {claim.kind})", style="bold"))
        lines = [claim.statement, f"published: {claim.published}", *([claim.remark] if claim.remark else [])]
        for line in lines:
            _indented(console, line)
        for verdict in entry.verdicts:
            show_verdict(console, verdict, indent=4)
        if told := settling(entry):
            _indented(console, f"what would settle it: {told}")


def show_verdicts(console: Console, verdicts: Iterable[Verdict]) -> None:
    """The verdicts of one run, each with its claim."""
    for verdict in verdicts:
        claim = verdict.claim
        console.print(Text(f"{claim.id}  ({claim.source}, {claim.place}; {claim.kind})", style="bold"))
        _indented(console, claim.statement)
        _indented(console, f"published: {claim.published}")
        show_verdict(console, verdict, indent=4)
        if verdict.settle:
            _indented(console, f"what would settle it: {verdict.settle}")


def show_verdict(console: Console, verdict: Verdict, indent: int) -> None:
    """The outcome, where it is from, and the count behind every assertion."""
    heading = Text(verdict.outcome.upper(), style=STYLES.get(verdict.outcome, "dim"))
    facts = [str(verdict.scale or ""), verdict.where, verdict.status]
    told = f"  {', '.join(filter(None, facts))}" + (f"; but {'; '.join(verdict.caveats)}" if verdict.caveats else "")
    heading.append(told, style="not bold default")
    console.print(Padding(heading, (0, 0, 0, indent), expand=False), highlight=False)
    lines = [_measured(finding) for finding in verdict.findings] + [str(number) for number in verdict.numbers]
    if verdict.outcome in ("not run", "void", "tested"):
        lines.append(verdict.reason)
    for line in lines:
        _indented(console, line, indent + 4)


def _measured(finding: Finding) -> str:
    role = "" if finding.role == "part" else f" ({finding.role})"
    if not finding.n:
        return f"{finding.label}: not measured{role}"
    estimate = finding.estimate
    value = interval(estimate) if math.isfinite(estimate.high - estimate.low) else number(estimate.value)
    return (
        f"{finding.label}: {finding.k}/{finding.n} {finding.outcome}; mean {value}, expected {finding.expected}{role}"
    )


def _indented(console: Console, line: str, by: int = 4) -> None:
    console.print(Padding(Text(line), (0, 0, 0, by), expand=False), highlight=False)
