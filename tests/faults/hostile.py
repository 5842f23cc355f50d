"""Stores that a stranger has made: records of wrong types with right checksums, names like paths, links, pipes, schemas
of the index, compressed bombs, malformed models. Commands look at each of them, in this process.

No command may end with a traceback, wait without end, write outside the folders that it was given, print what a
terminal would obey, or harm a run that nobody touched.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tiny_study
import torch

from rote.cli import run_command
from rote.errors import RoteError
from rote.laboratory import Laboratory
from rote.models import AutocompleteConfig, AutocompleteModel, load_autocomplete, save_autocomplete
from rote.models.saved_autocomplete import KIND as MODEL
from rote.store import Request, Store, digest, load_tree, save_tree, write_document

SECONDS = 60  # for one command
DEEP: Any = 0
for _ in range(200):
    DEEP = [DEEP]
NAMES = (
    "../../x", "/tmp/x", "..", ".", "", "a/b", ".hidden", "x" * 300, "ä" * 90, "a\nb", "\x1b]0;x\x07\x1b[2J", "\0",
    "\u009b31m", "\u202ex", "=1+1", "@x", "'; DROP TABLE runs; --", "<script>alert(1)</script>", "[/red]", "{x}", "%s",
    "study",
)  # fmt: skip
VALUES = (
    *NAMES, None, True, False, 0, -1, 1.5, -0.0, 1e308, 2**63, 10**30, 10**400, [], [1], ["a", None], {}, {"a": 1},
    DEEP, {"a": {"b": [None, {}]}}, "0" * 64, "0" * 16, "finished", "paper", "2026-01-01T00:00:00+00:00", "2026-01-01",
)  # fmt: skip
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass
class Case:
    number: int
    chance: random.Random
    folder: Path  # holds the store, the folder "out" for what is written, and what must stay as it is
    commands: Collection[str]  # that look at it
    victim: Path = field(init=False)  # folder of the run that the deed is about
    deed: str = ""
    wrong: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        return [self.deed]

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def precious(self) -> Path:
        return self.folder / "precious"

    def any_file(self) -> Path:
        return self.chance.choice(sorted(path for path in self.victim.iterdir() if path.is_file()))

    def play(self) -> None:
        self.victim = self.chance.choice(sorted(self.store.glob("runs/*/*")))
        others = [path for path in sorted(self.store.glob("runs/*/*")) if path != self.victim]
        before = {path: contents(path) for path in others}
        self.deed = self.chance.choice(list(DEEDS))
        DEEDS[self.deed](self)
        outside = contents(self.folder, without=("store", "out"))
        about = [name for name in ABOUT.get(self.deed, ()) if name in self.commands]
        for name in (*self.chance.sample(sorted({*self.commands} - {"remove"}), 5), *about, "remove"):
            self.command(name)
        if contents(self.folder, without=("store", "out")) != outside:
            self.wrong.append("something was written outside")
        for path, files in before.items():
            if contents(path) != files:
                self.wrong.append(f"{path.name} was harmed")

    def command(self, name: str) -> None:
        said = io.StringIO()
        try:
            with limited(SECONDS), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = COMMANDS[name](self)
        except RoteError as error:  # of a function that is no command
            code = error.exit_code
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            at = f"{Path(place.filename).name}:{place.lineno}"
            self.wrong.append(f"{name}: {type(error).__name__}: {str(error)[:200]} ({at})")
            return
        if code not in (0, 1, 2):
            self.wrong.append(f"{name}: exit code {code}")
        if found := OBEYED.search(said.getvalue()):
            self.wrong.append(f"{name}: printed {found[0]!r}")


# What a stranger may do


def changed(case: Case, plain: Any) -> Any:
    """The value with something else somewhere in it, or something missing or too many."""
    places = list(places_in(plain))
    place, key = case.chance.choice(places)
    what = case.chance.random()
    if what < 0.7:
        place[key] = case.chance.choice(VALUES)
    elif what < 0.85 and isinstance(place, dict):
        place[case.chance.choice(NAMES)] = case.chance.choice(VALUES)
    else:
        del place[key]
    return plain


def places_in(plain: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(plain.items()) if isinstance(plain, dict) else list(enumerate(plain)):
        yield plain, key
        if isinstance(value, dict | list):
            yield from places_in(value)


def body_of(path: Path) -> Any:
    return json.loads(path.read_bytes())["body"]


def write(path: Path, kind: str, body: Any) -> None:
    with contextlib.suppress(ValueError, OverflowError):  # half a character, and numbers that JSON cannot write
        write_document(path, kind, 1, body)


def record(case: Case) -> None:
    """Ill-typed, or well-typed and strange; then it may also lie in the right place."""
    body = changed(case, body_of(case.victim / "record.json"))
    if case.chance.random() < 0.5 and isinstance(body.get("request"), dict):
        body["request"] = changed(case, body["request"])
    write(case.victim / "record.json", "rote run record", body)
    with contextlib.suppress(Exception):
        request = Request.from_plain(dict(body["request"]))
        case.victim = case.victim.rename(case.victim.with_name(request.id))


def name(case: Case) -> None:
    """A study, a part, a preset or a file that is called like a path or a command of a terminal."""
    body, called = body_of(case.victim / "record.json"), case.chance.choice(NAMES)
    where = case.chance.choice(["study", "part", "preset", "files", "device", "error", "passed", "data"])
    if where in ("study", "part", "preset"):
        body["request"][where] = called
    elif where in ("files", "passed", "data"):
        body[where] = {**body[where], called: "0" * 64}
    else:
        body[where] = called
    write(case.victim / "record.json", "rote run record", body)


def result(case: Case) -> None:
    """A table of wrong types or of other columns, which its record knows."""
    path, kept = case.victim / "result.json", case.victim / "record.json"
    if path.exists():
        tables = body_of(path)
        for _ in range(case.chance.randint(1, 3)):
            tables = changed(case, tables) if tables else tables
        write(path, "rote result", tables)
        acknowledge(kept, path)


def acknowledge(kept: Path, path: Path) -> None:
    body = body_of(kept)
    body["files"] = {**body["files"], path.name: digest(path.read_bytes())}
    write(kept, "rote run record", body)


def checkpoint(case: Case) -> None:
    found = sorted([*case.victim.glob("checkpoint-*.json"), *case.victim.glob("weights-*.json")])
    if found:
        path = case.chance.choice(found)
        write(path, f"rote {path.name.split('-')[0]}", changed(case, body_of(path)))
        acknowledge(case.victim / "record.json", path)


def metrics(case: Case) -> None:
    path = case.victim / "metrics.jsonl"
    lines = [json.dumps(case.chance.choice([*VALUES, {"step": 1, "loss": VALUES[: case.chance.randint(0, 9)]}]))]
    path.write_bytes(path.read_bytes() + "".join(f"{line}\n" for line in lines).encode() if path.exists() else b"")
    acknowledge(case.victim / "record.json", path)


def in_place(case: Case, path: Path) -> None:
    """Something that is no plain file where one should be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    kind = case.chance.choice(["link", "link", "pipe", "folder", "device", "loop", "gone"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        (path / "inside").mkdir(parents=True)
    else:
        targets = {"link": case.precious / "thesis.txt", "device": "/dev/zero", "loop": path, "gone": "nowhere"}
        path.symlink_to(targets[kind])


def file(case: Case) -> None:
    in_place(case, case.any_file())


def shared_file(case: Case) -> None:
    names = ("engines.json", "machine.json", "index.sqlite", "index.sqlite-journal", "index.sqlite-wal", "lock")
    in_place(case, case.store / case.chance.choice(names))


def run_folder(case: Case) -> None:
    place = case.chance.choice([case.victim, case.victim, case.victim.with_name("0" * 16)])
    if place.exists():
        shutil.move(place, case.folder / "elsewhere")
    place.symlink_to(case.chance.choice([case.folder / "elsewhere", case.precious, Path("/dev"), place]))
    case.victim = place


def shared_document(case: Case) -> None:
    name, kind = case.chance.choice([("engines.json", "rote engines"), ("machine.json", "rote machines")])
    body: Any = {case.chance.choice(NAMES): case.chance.choice(VALUES) for _ in range(3)}
    write(case.store / name, kind, case.chance.choice([body, case.chance.choice(VALUES)]))


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
SCHEMAS = (
    f"DROP TABLE runs; CREATE VIEW runs AS {ENDLESS} SELECT x AS folder, x AS stamp, x AS status FROM n",
    f"CREATE TRIGGER t BEFORE DELETE ON runs BEGIN SELECT max(x) FROM ({ENDLESS} SELECT x FROM n); END",
    f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT max(x) FROM ({ENDLESS} SELECT x FROM n); END",
    "CREATE TABLE other (a); INSERT INTO other VALUES (zeroblob(100000))",
    "DROP TABLE runs; CREATE TABLE runs (folder, stamp, status)",
    "UPDATE runs SET seeds = zeroblob(9), started = 3, folder = x'00ff'",
    "UPDATE runs SET config = '[', started = 'never', study = '../../x', id = char(27) || '[2J'",
    "UPDATE runs SET folder = '../../precious/' || rowid, stamp = 'no record'",
    "PRAGMA user_version = 0", "PRAGMA user_version = 99", "PRAGMA journal_mode = WAL",
    "DROP TABLE runs; PRAGMA user_version = 1",
)  # fmt: skip


def schema(case: Case) -> None:
    with contextlib.closing(sqlite3.connect(case.store / "index.sqlite")) as connection:
        with contextlib.suppress(sqlite3.Error):
            connection.executescript(case.chance.choice(SCHEMAS))
        connection.commit()


def bytes_in_place(case: Case) -> None:
    """Something else than JSON: compressed zeros, a pickle, deep brackets, half a file."""
    path = case.any_file()
    data = path.read_bytes()
    bomb = (
        b"[" * 100_000,
        gzip.compress(bytes(10**6)),
        b"\x80\x04.",
        b"",
        b"\0" * 900,
        data[: len(data) // 2],
        b'"' + data,
    )
    path.write_bytes(case.chance.choice(bomb))


def kept(case: Case) -> None:
    """In a folder of kept results."""
    folder = case.folder / "kept" / "resistance"
    path = folder / "plane.json"
    what = case.chance.random()
    if what < 0.7:
        write(folder / "other.json", "rote kept result", changed(case, body_of(path)))
    elif what < 0.9:
        in_place(case, folder / "other.json")
    else:
        in_place(case, folder / "notes.md")


def model(case: Case) -> None:
    """A model as a file."""
    path = case.folder / "model"
    if case.chance.random() < 0.4:
        body = changed(case, body_of(path.with_suffix(".json")))
        write(path.with_suffix(".json"), MODEL, body)
        return
    tree = load_tree(path, MODEL, 1)
    part = case.chance.choice(["config", "vocabulary", "weights"])
    if part == "config":
        tree["config"][case.chance.choice(["units", "layers", "cell", "x"])] = case.chance.choice(
            [*VALUES, 10**6, 10**9]
        )
    elif part == "vocabulary":
        tree["vocabulary"] = case.chance.choice([*VALUES, "a " * 10**6])
    else:
        weight = case.chance.choice([*tree["weights"], "x"])
        shapes = ((0,), (10**9, 0), (3, 3), (2, 2, 2), ())
        tree["weights"][weight] = torch.zeros(case.chance.choice(shapes), dtype=case.chance.choice(DTYPES))
    with contextlib.suppress(TypeError, ValueError, OverflowError, RecursionError):
        save_tree(path, MODEL, 1, tree)


DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)


def bomb(case: Case) -> None:
    """A text that would fill the memory."""
    size = case.chance.choice([2**26, 2**27])
    (case.folder / "text").write_bytes(gzip.compress(bytes(size), 1) + case.chance.choice([b"", b"x"]))


DEEDS: dict[str, Callable[[Case], None]] = {
    "record of other types": record, "strange name": name, "result of other types": result, "no plain file": file,
    "no plain shared file": shared_file, "link to a folder": run_folder, "schema of the index": schema,
    "checkpoint of other types": checkpoint, "metrics of other types": metrics, "other bytes": bytes_in_place,
    "shared document of other types": shared_document, "kept result": kept, "malformed model": model,
    "compressed bomb": bomb,
}  # fmt: skip
ABOUT = {  # commands that must meet it
    "kept result": ("kept report",), "malformed model": ("connectivity",), "compressed bomb": ("text",),
    "schema of the index": ("list",), "result of other types": ("report",), "checkpoint of other types": ("explore",),
}  # fmt: skip


# What a user may do with it


def rote(*words: str) -> Callable[[Case], int]:
    """A command; VICTIM is the run in question, STUDY one of a study that nobody touched if there is one."""

    def command(case: Case) -> int:
        study = next((row.id for row in Store(case.store).runs() if row.part == "study"), "none")
        places = {
            "VICTIM": case.victim.name,
            "STUDY": study,
            "STORE": str(case.store),
            "OUT": str(case.folder / "out"),
        }
        spoken = [re.sub("[A-Z]{3,}", lambda found: places.get(found[0], found[0]), word) for word in words]
        return run_command(spoken)

    return command


def explored(case: Case) -> int:
    """What the explorer's pages ask for."""
    from rote.explorer import ledger, runs, trained_networks
    from rote.explorer.lookup_models import LookupModels
    from rote.explorer.messages import Answer

    store = Store(case.store)
    rows = store.runs()
    shown = [runs.compared(store, [row.id]) for row in rows], ledger.judged(store), LookupModels(store).listing()
    Answer(shown[:2])
    for listing, load in trained_networks.entries(store).values():
        with contextlib.suppress(RoteError):
            load(None)
        assert listing.key
    return 0


def text(case: Case) -> int:
    where = ["--store", f"{case.folder}/out/store", "--workers", "1"]
    return run_command(["run", "tagging", "--preset", "smoke", f"task.train={case.folder}/text", *where])


AT = ("--store", "STORE")
COMMANDS: dict[str, Callable[[Case], int]] = {
    "list": rote("runs", *AT),
    "list json": rote("runs", "list", "--json", "--older-than", "1s", *AT),
    "show": rote("runs", "show", "VICTIM", *AT),
    "show json": rote("runs", "show", "VICTIM", "STUDY", "--json", *AT),
    "verify": rote("runs", "verify", *AT),
    "repair": rote("runs", "verify", "--repair", *AT),
    "export": rote("runs", "export", "VICTIM", "--out", "OUT/run.csv", *AT),
    "export all": rote("runs", "export", "--study", "*", "--out", "OUT/all", *AT),
    "export table": rote("runs", "export", "--study", "*", "--table", "outcome", *AT),
    "export events": rote("runs", "export", "--study", "*", "--format", "tensorboard", "--out", "OUT/events", *AT),
    "export parquet": rote("runs", "export", "--study", "*", "--out", "OUT/all.parquet", *AT),
    "keep": rote("runs", "keep", "VICTIM", "--out", "OUT/kept", *AT),
    "keep study": rote("runs", "keep", "STUDY", "--out", "OUT/kept", *AT),
    "import": rote("runs", "import", "STORE", "--store", "OUT/imported"),
    "claims": rote("claims", *AT),
    "claims json": rote("claims", "--json", *AT),
    "report": rote("report", "--out", "OUT/report", *AT),
    "kept report": rote("report", "--kept", "../kept", "--out", "OUT/kept-report"),
    "cite": rote("cite", *AT),
    "cite run": rote("cite", "VICTIM", *AT),
    "estimate": rote("show", "plane", *AT),
    "run": rote("run", "plane", "--preset", "smoke", "--workers", "1", *AT),
    "run tiny": rote("run", "tiny", "--preset", "smoke", "--workers", "1", *AT),
    "explore": explored,
    "connectivity": rote("connectivity", "the united sta", "--model", "../model"),
    "text": text,
    "remove": rote("runs", "rm", "VICTIM", "--yes", *AT),
}


# Around it


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    def ring(number: int, frame: object) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    earlier = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, earlier)


def contents(folder: Path, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Every plain file below a folder but locks, whose owners change."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.relative_to(folder).parts[0] not in without and path.name != "lock"
        if path.is_file() and not path.is_symlink()
    }


def make(folder: Path) -> Path:
    """An honest store, what is kept of it, its report, a model, and files that nobody may touch."""
    store = Store(folder / "store")
    lab = Laboratory(store, workers=1)
    lab.run(tiny_study.Tiny.name, "smoke", {"seeds": 2, "steps": 2})
    study = lab.run("plane", "smoke").run
    with contextlib.suppress(ZeroDivisionError), store.open(Request("plane", 1, "broken", {}, (0,), "quick")) as run:
        run.metrics.append({"step": 0, "loss": [1.0]})
        run.save(1, {"weight": torch.zeros(2)})
        raise ZeroDivisionError
    for name in ("work", "precious", "kept/resistance", "out"):
        (folder / name).mkdir(parents=True)
    (folder / "precious" / "thesis.txt").write_text("mine")
    (folder / "text").write_text("no words")
    words = ["<eos>", "<unknown>", "united", "states"]
    save_autocomplete(folder / "model", AutocompleteModel(AutocompleteConfig("gru", 3, 1), words), torch.float32)
    keep = ["runs", "keep", study.id, "--out", f"{folder}/kept/resistance", "--store", f"{store.root}"]
    assert quietly(keep) == 0
    assert len(store.runs()) == 5 + 9 + 1
    assert load_autocomplete(folder / "model")
    return folder


def draw(folder: Path) -> None:
    """Both reports: what has not changed is not drawn again."""
    assert quietly(["report", "--out", f"{folder}/out/report", "--store", f"{folder}/store"]) == 0
    assert quietly(["report", "--kept", f"{folder}/kept", "--out", f"{folder}/out/kept-report"]) == 0


def quietly(words: list[str]) -> int:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run_command(words)


def play(
    count: int,
    seed: int,
    folder: Path,
    told: Callable[[Case], None] = lambda case: None,
    commands: Collection[str] = tuple(COMMANDS),
) -> dict[str, Any]:
    torch.set_num_threads(1)
    here = Path.cwd()
    honest = make(folder / "honest")
    if "report" in commands:
        draw(honest)
    deeds: Counter[str] = Counter()
    wrong: list[str] = []
    try:
        for number in range(count):
            place = shutil.copytree(honest, folder / f"case-{number}")
            case = Case(number, random.Random(f"{seed} {number}"), place, commands)
            os.chdir(place / "work")
            case.play()
            os.chdir(here)
            deeds[case.deed] += 1
            wrong += [f"{number} ({case.deed}): {problem}" for problem in case.wrong]
            told(case)
            shutil.rmtree(place, ignore_errors=True)
    finally:
        os.chdir(here)
    return {"rounds": count, "seed": seed, "faults": dict(deeds), "wrong": wrong}
