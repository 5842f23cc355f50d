"""The campaign: the sources' own scale, or the largest within reach, in the order of what an hour of computing tells.

A part is a few studies with one preset on fresh seeds, in stages of more and more seeds. Each stage that is finished is
kept as ``<out>/<folder>/<study>.json``. What is measured on the way lies beside it until the part is complete, a file
for each measurement, so that another machine goes on where this one was stopped, without weights and without a store.
"""

from __future__ import annotations

import base64
import binascii
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rote.errors import DamagedFileError, RunFailedError
from rote.laboratory.fresh import fresh_overrides
from rote.laboratory.kept_results import Kept, keep
from rote.laboratory.laboratory import Laboratory, StudyResult
from rote.laboratory.ledger import COUNTED
from rote.laboratory.study import studies
from rote.recipes import Job
from rote.store import Record, Store, read_document, write_document
from rote.store.files import writing
from rote.store.parcel import Files, pack, unpack
from rote.store.typed import from_json

KIND, VERSION = "rote carried run", 1
CARRIED = "measured"  # the folder of what was measured for a part that is not complete
SUFFIX = ".run"
LARGEST = 256_000_000  # bytes of a carried file, unpacked


@dataclass(frozen=True)
class Part:
    """Studies to be run at a larger scale, on the same trainings as far as they share them: with as many seeds as each
    stage says, ``hours`` of one core for all."""

    name: str
    studies: tuple[str, ...]
    preset: str
    stages: tuple[int, ...]
    hours: float  # expected, from trainings of this kind that were timed; what it took is read from what is kept
    folder: str  # below that of all kept results
    overrides: Mapping[str, object] = field(default_factory=dict)

    def path(self, study: str, out: Path) -> Path:
        """Of the kept result."""
        return out / self.folder / f"{study}.json"

    def carried(self, out: Path) -> Path:
        """The folder of what was measured while the part is not complete."""
        return out / self.folder / CARRIED / self.name


CLEAN = {"settings": "unpredictable,predictable"}  # without the defect of the published generator
# In the order of what they settle for an hour: source 003 has no verdict at its scale, source 000 one network.
PARTS = (
    Part("memorization", ("autocomplete",), "scaled", (1, 3, 5), 7.5, "memorization/scaled"),
    Part("text", ("tagging", "classification", "language-modeling"), "paper", (6,), 2.0, "foundations/paper-fresh"),
    Part("padding", ("padding",), "paper", (6,), 0.6, "foundations"),
    Part("table-6", ("lookup-accuracy",), "scaled", (6,), 0.3, "realization/scaled"),
    Part(
        "figure-3", ("conduit-predictability", "conduit-long-run"), "paper", (3, 5), 15.0, "conduits/paper-fresh", CLEAN
    ),
    Part(
        "lookup", ("lookup-accuracy", "lookup-inside", "lookup-readings"), "paper", (6,), 6.0, "realization/paper-fresh"
    ),
    Part("decoder", ("lookup-parts",), "paper", (6,), 3.5, "realization/paper-fresh"),
    Part(
        "figures-1-2", ("conduit-frequency",), "paper", (1, 2), 12.0, "conduits/paper-fresh",
        {"counts": "100,1000,10000", "lengths": "2,4,8"},
    ),
    Part("architecture", ("architecture",), "quick", (20,), 2.0, "resistance/more-fresh"),
    Part("surgery", ("lookup-surgery",), "paper", (6,), 9.0, "realization/paper-fresh"),
)  # fmt: skip


@dataclass(frozen=True)
class Standing:
    """How far a part is: seeds that are kept of all its studies, and the hours of one core that these took."""

    part: Part
    seeds: int
    hours: float
    carried: int  # measurements of the stage that is being computed

    @property
    def stages(self) -> tuple[int, ...]:
        """Those that are still to be computed."""
        return tuple(stage for stage in self.part.stages if stage > self.seeds)

    @property
    def hours_left(self) -> float:
        """Expected for what is not kept; what is carried makes it less, by an amount that only running it tells."""
        all_seeds = self.part.stages[-1]
        each = self.hours / self.seeds if self.seeds else self.part.hours / all_seeds
        return each * max(0, all_seeds - self.seeds)


def standing(part: Part, out: Path) -> Standing:
    """Read from the files of ``out``; a damaged one raises."""
    carried = len(list(part.carried(out).glob(f"*{SUFFIX}")))
    kept = [_kept(part, study, out) for study in part.studies]
    seeds = min(map(_seeds, kept))
    records = {run.request.id: run for one in kept if one is not None for run in (one.record, *one.runs)}
    return Standing(part, seeds, sum(run.seconds for run in records.values()) / 3600, carried)


def _kept(part: Part, study: str, out: Path) -> Kept | None:
    """What is kept of a study, if it has this part's settings."""
    path = part.path(study, out)
    kept = Kept.read(path) if path.exists() else None
    if kept is None or kept.record.request.preset != part.preset:
        return None
    altered = {name: value for name, value in kept.record.passed.items() if name not in COUNTED}
    return kept if altered == dict(part.overrides) else None


def _seeds(kept: Kept | None) -> int:
    return 0 if kept is None else len(set(kept.record.request.seeds))


def run_stage(
    lab: Laboratory, part: Part, seeds: int, out: Path, told: Callable[[str], None] = lambda text: None
) -> list[StudyResult]:
    """Compute what is not kept of a stage of a part, on from what is carried, and keep it. Stopped anywhere, it goes
    on."""
    overrides = {**part.overrides, "seeds": seeds}
    folder = part.carried(out)
    names = [name for name in part.studies if _seeds(_kept(part, name, out)) < seeds]
    jobs = list(dict.fromkeys(job for name in names for job in _jobs(name, part.preset, overrides)))
    if taken := sum(_take(lab.store, job, folder) for job in jobs):
        told(f"{part.name}: {taken} measurements were carried here.")
    for done, some in _missing(lab, jobs):
        told(f"{part.name}, seeds {seeds}: {done} of {len(jobs)} measurements done.")
        finished = lab.perform(some)
        if failures := [reason for reason in finished.values() if isinstance(reason, str)]:
            raise RunFailedError(f"{len(failures)} runs of the part {part.name!r} failed. {failures[0]}")
        for job in some:
            _carry(lab.store, job, folder)
    results = [lab.run(name, part.preset, overrides, fresh=True) for name in names]
    trainings = _trainings(folder)
    for result in results:
        keep(lab.store, result.run.id, out / part.folder, trainings)
    if seeds == part.stages[-1]:
        _forget(folder)
    return results


def _jobs(name: str, preset: str, overrides: Mapping[str, object]) -> Sequence[Job]:
    """The measurements of a study on fresh seeds."""
    study = studies[name]()
    first, _ = fresh_overrides(study)
    config = study.resolve(preset, {**overrides, **first})
    study.prepare(config)
    return study.jobs(config)


def _missing(lab: Laboratory, jobs: Sequence[Job]) -> Iterator[tuple[int, list[Job]]]:
    """The measurements that are not finished, as many at a time as there are workers, and how many are."""
    missing = [job for job in jobs if lab.store.finished(job.request) is None]
    for start in range(0, len(missing), lab.workers):
        yield len(jobs) - len(missing) + start, missing[start : start + lab.workers]


def _carry(store: Store, job: Job, folder: Path) -> None:
    """Write a finished measurement, and the records of the trainings that it was made of, into one file."""
    path = folder / f"{job.request.id}{SUFFIX}"
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
    trainings = [Record.read(store.folder(one.request)).to_plain() for one in job.all() if one != job]
    body = {"trainings": trainings, "files": _packed(pack(store.folder(job.request)))}
    write_document(path, KIND, VERSION, body, indent=None)


def _trainings(folder: Path) -> list[Record]:
    """The records of the trainings behind everything that is carried."""
    return [record for path in sorted(folder.glob(f"*{SUFFIX}")) for record in _read(path).trainings]


def _read(path: Path) -> _Carried:
    carried: _Carried = from_json(_Carried, read_document(path, KIND, VERSION), path)
    return carried


def _take(store: Store, job: Job, folder: Path) -> bool:
    """Put a measurement that was carried here into the store, unless it is finished there."""
    path = folder / f"{job.request.id}{SUFFIX}"
    if not path.exists() or store.finished(job.request) is not None:
        return False
    unpack(store, job.request, _unpacked(_read(path).files, path))
    return True


@dataclass(frozen=True)
class _Carried:
    """What the file of a measurement holds."""

    trainings: tuple[Record, ...]
    files: dict[str, str]  # of the measurement's run: name -> contents, compressed


def _packed(files: Files) -> dict[str, str]:
    return {name: base64.b64encode(lzma.compress(data, preset=9)).decode() for name, data in files.items()}


def _unpacked(files: Mapping[str, str], path: Path) -> Files:
    unpacked: Files = {}
    for name, text in files.items():
        try:
            reader = lzma.LZMADecompressor()
            unpacked[name] = reader.decompress(base64.b64decode(text, validate=True), LARGEST)
        except (lzma.LZMAError, binascii.Error, ValueError) as error:
            raise DamagedFileError(f"{path} cannot be unpacked: {error}. Remove it to measure again.") from None
        if not reader.eof:
            raise DamagedFileError(f"{path} is cut off, or holds more than {LARGEST} bytes. Remove it.")
    return unpacked


def _forget(folder: Path) -> None:
    """Remove what was carried for a part that is complete."""
    for path in folder.glob(f"*{SUFFIX}"):
        path.unlink()
    for empty in (folder, folder.parent):
        try:
            empty.rmdir()
        except OSError:  # of other parts, or never made
            return
