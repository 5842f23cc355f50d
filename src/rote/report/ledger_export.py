"""The ledger out of the house: every value by seed, every verdict, and an RO-Crate that describes them.

``measurements.csv`` has a row for each claim, assertion, scale and seed; ``verdicts.csv`` a row for each claim and
scale; ``ro-crate-metadata.json`` (RO-Crate 1.2) says what these are, and for each verdict which claim it reviews and
which runs it rests on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rote.claims import Register, Verdict, criterion_hash
from rote.errors import UsageError
from rote.laboratory import Entry
from rote.laboratory.tally import discoveries, tallied
from rote.store import write_atomically
from rote.store.files import writing
from rote.store.record import installed
from rote.store.table import csv_text

MEASUREMENTS = (
    "claim", "kind", "source", "part", "role", "region", "quantifier", "scale", "altered", "study", "run", "seed",
    "status", "value", "holds",
)  # fmt: skip
VERDICTS = (
    "claim", "kind", "source", "study", "scale", "altered", "where", "outcome", "caveats", "k", "n", "low", "high", "e",
    "fdr", "mean", "mean_low", "mean_high", "method", "numbers", "hash", "registered", "changed", "status", "runs",
)  # fmt: skip
PROFILE = "https://w3id.org/ro/crate/1.2"
FILES = (
    ("measurements.csv", "Values by seed", "A row for each claim, assertion, scale and random seed."),
    ("verdicts.csv", "Verdicts", "A row for each claim and scale, with the weakest of its parts."),
)
DESCRIPTOR = {
    "@id": "ro-crate-metadata.json", "@type": "CreativeWork", "about": {"@id": "./"}, "conformsTo": {"@id": PROFILE},
}  # fmt: skip
LICENSE = {
    "@id": "https://spdx.org/licenses/Apache-2.0.html", "@type": "CreativeWork", "name": "Apache License 2.0",
    "description": "A permissive license with a grant of patent rights.",
}  # fmt: skip
PUBLISHER = {"@id": "#publisher", "@type": "Organization", "name": "The users of Rote"}


def export_ledger(entries: Sequence[Entry], out: Path) -> Path:
    """Write the three files into the folder ``out`` and return it. Only files of these names are replaced."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"'--export {out}' is a file. Name a folder.")
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    files = {
        "measurements.csv": csv_text(MEASUREMENTS, _in_order(MEASUREMENTS, measurement_rows(entries))).encode(),
        "verdicts.csv": csv_text(VERDICTS, _in_order(VERDICTS, verdict_rows(entries))).encode(),
    }
    described = crate(entries, {name: len(data) for name, data in files.items()})
    files["ro-crate-metadata.json"] = (json.dumps(described, indent=1, ensure_ascii=False) + "\n").encode()
    for name, data in files.items():
        write_atomically(out / name, data)
    return out


def _in_order(names: Sequence[str], rows: Iterator[dict[str, Any]]) -> Iterator[list[Any]]:
    return ([row[name] for name in names] for row in rows)


def measurement_rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Every value of every assertion."""
    for entry in entries:
        for verdict in entry.verdicts:
            for finding in verdict.findings:
                for seed, value in sorted(finding.values.items()):
                    yield {
                        **_labels(entry, verdict), "part": finding.label, "role": finding.role,
                        "region": str(finding.assertion.holds), "quantifier": finding.assertion.seeds,
                        "run": verdict.runs[0] if verdict.runs else None, "seed": seed, "status": verdict.status,
                        "value": value, "holds": value in finding.assertion.holds,
                    }  # fmt: skip


def verdict_rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Every verdict at every scale, with the weakest of its parts."""
    register, kept = Register.read(), discoveries(tallied(entries))
    for entry in entries:
        registered = register.of(entry.claim)
        for number, verdict in enumerate(entry.verdicts):
            weakest = verdict.deciding
            mean, share = (weakest.estimate, weakest.share) if weakest else (None, (None, None))
            yield {
                **_labels(entry, verdict), "where": verdict.where, "outcome": verdict.outcome,
                "caveats": "; ".join(verdict.caveats), "k": weakest and weakest.k, "n": weakest and weakest.n,
                "low": share[0], "high": share[1], "e": math.exp(min(verdict.log_e, 700.0)) if weakest else None,
                "fdr": entry.claim.id in kept if number == 0 and entry.claim.tallied else None,
                "mean": mean and mean.value, "mean_low": mean and mean.low, "mean_high": mean and mean.high,
                "method": mean and mean.method, "numbers": "; ".join(str(one) for one in verdict.numbers),
                "hash": criterion_hash(entry.claim), "registered": registered[-1].date if registered else None,
                "changed": len(registered) > 1, "status": verdict.status, "runs": " ".join(verdict.runs),
            }  # fmt: skip


def _labels(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    scale = verdict.scale
    return {
        "claim": entry.claim.id, "kind": entry.claim.kind, "source": entry.claim.source, "study": entry.study,
        "scale": scale.name if scale else None, "altered": " ".join(scale.altered) if scale else None,
    }  # fmt: skip


def crate(entries: Sequence[Entry], sizes: Mapping[str, int]) -> dict[str, Any]:
    """The files, the claims, a review of each at each scale, and the runs that these rest on."""
    files = [
        {
            "@id": name, "@type": "File", "name": title, "description": about, "encodingFormat": "text/csv",
            "contentSize": str(sizes[name]),
        }
        for name, title, about in FILES
    ]  # fmt: skip
    claims = [_claim(entry) for entry in entries]
    reviews = [_review(entry, verdict) for entry in entries for verdict in entry.verdicts if verdict.findings]
    runs = {run: entry.study for entry in entries for verdict in entry.verdicts for run in verdict.runs[:1]}
    others = [*claims, *reviews, *(_action(study, run) for run, study in runs.items())]
    root = {
        "@id": "./", "@type": "Dataset", "name": "Claims about compositionality and their verdicts",
        "description": "Published claims about sequence models, judged by counting seeds with anytime-valid evidence.",
        "datePublished": datetime.now(UTC).date().isoformat(), "license": {"@id": LICENSE["@id"]},
        "publisher": {"@id": PUBLISHER["@id"]}, "hasPart": [{"@id": file["@id"]} for file in files],
        "mentions": [{"@id": one["@id"]} for one in others],
    }  # fmt: skip
    software = {
        "@id": "#rote", "@type": "CreativeWork", "name": "Rote", "version": installed()["packages"]["rote"],
        "softwareVersion": str(installed()["commit"] or "unknown"),
    }  # fmt: skip
    return {
        "@context": f"{PROFILE}/context",
        "@graph": [DESCRIPTOR, root, LICENSE, PUBLISHER, software, *files, *others],
    }


def _claim(entry: Entry) -> dict[str, Any]:
    claim = entry.claim
    return {
        "@id": f"#claim-{claim.id}", "@type": "Claim", "name": claim.id, "text": claim.statement,
        "description": f"{claim.kind}; {claim.source}, {claim.place}: {claim.published}",
        "identifier": criterion_hash(claim),
    }  # fmt: skip


def _review(entry: Entry, verdict: Verdict) -> dict[str, Any]:
    return {
        "@id": f"#review-{entry.claim.id}-{str(verdict.scale).replace(' ', '-').replace(',', '')}-{verdict.status}",
        "@type": "ClaimReview", "name": f"{entry.claim.id} at {verdict.scale}", "claimReviewed": entry.claim.statement,
        "itemReviewed": {"@id": f"#claim-{entry.claim.id}"}, "reviewBody": verdict.reason,
        "reviewRating": verdict.said, **({"isBasedOn": {"@id": f"#run-{verdict.runs[0]}"}} if verdict.runs else {}),
    }  # fmt: skip


def _action(study: str, run: str) -> dict[str, Any]:
    return {
        "@id": f"#run-{run}", "@type": "CreateAction", "name": f"Run {run} of {study}",
        "instrument": {"@id": "#rote"}, "result": {"@id": "measurements.csv"}, "identifier": run,
    }  # fmt: skip
