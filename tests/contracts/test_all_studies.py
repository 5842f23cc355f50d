"""Over all studies: the same settings give the same bytes, and every setting that can be changed is used.

Every study is run twice, as small as it can be, in processes and stores of their own, with other hashes.
``benchmarks/same_bytes.py`` does so at the preset smoke, with other numbers of threads and workers too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from all_studies import settings_of
from watched_settings import named

from rote.config import dotted, flatten, keys
from rote.errors import UsageError
from rote.laboratory import Study, studies
from rote.laboratory.perform import performer
from rote.recipes import measurements, recipes
from rote.store import Request, Store
from rote.store.transfer import plan

TIMES = ("started", "seconds")  # of a record: all that may differ between two undisturbed runs


@dataclass(frozen=True)
class Runs:
    stores: tuple[Path, Path]
    planned: dict[str, list[str]]  # by study: the keys that were read before and after its runs
    performed: dict[str, list[str]]  # by run: class and name of the settings that it read


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("all studies")
    command = [sys.executable, str(Path(__file__).with_name("all_studies.py"))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    both = [
        subprocess.Popen([*command, *words], cwd=folder, env={**environment, "PYTHONHASHSEED": seed})
        for seed, words in (("0", ["first", "read.json"]), ("5", ["second"]))
    ]
    assert [process.wait() for process in both] == [0, 0]
    read = json.loads((folder / "read.json").read_text())
    return Runs((folder / "first", folder / "second"), read["planned"], read["performed"])


def contents(root: Path) -> dict[str, Any]:
    """By path: the bytes of every file but locks and the index; records without their times and checksum."""
    found: dict[str, Any] = {}
    for path in sorted((root / "runs").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.name == "record.json":
            body = json.loads(path.read_text())["body"]
            found[name] = {key: value for key, value in body.items() if key not in TIMES}
        elif path.is_file() and path.name != "lock":
            found[name] = path.read_bytes()
    return found


def test_two_undisturbed_stores_have_the_same_bytes_but_for_the_times_in_their_records(
    runs: Runs,
) -> None:
    here, there = (contents(root) for root in runs.stores)
    elsewhere = {"examination", "examination-reference", "examination-fitted"}  # which no study asks for
    assert {name.split("/")[1] for name in here} == {*studies, *recipes, *measurements} - elsewhere
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_two_undisturbed_stores_can_be_put_together(runs: Runs) -> None:
    found = plan(*(Store(root) for root in runs.stores))
    assert (found.take, found.conflicts, found.damaged) == ({}, {}, {})
    assert len(found.same) == len(Store(runs.stores[0]).runs())


def others(kind: Any, value: Any) -> list[Any]:
    """Other values that a setting of this kind might have."""
    if get_origin(kind) is Literal:
        return [choice for choice in get_args(kind) if choice != value]
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(choice for choice in get_args(kind) if choice is not type(None))
    if kind is bool:
        return [not value]
    if kind in (int, float):
        near = [value + 1, value // 2, value * 2, value / 2] if value else [1, 0.5]
        return [kind(number) for number in near if kind(number) != value]
    if get_origin(kind) is tuple:
        return [value[:-1], value[1:]]
    return [cell for cell in ("elman", "gru", "lstm") if cell != value]


def asked(study: Study[Any], config: Any) -> list[Request]:
    return [one.request for job in study.jobs(config) for one in job.all()]


def kinds(requests: list[Request]) -> list[tuple[str, str, tuple[int, ...]]]:
    return sorted((one.study, one.part, one.seeds) for one in requests)


def differing(one: Request, other: Request) -> set[str]:
    """Class and name of the settings in which two runs of a recipe or measurement differ."""
    values, others = dotted(one.config), dotted(other.config)
    return {
        named(kind, key.rpartition(".")[2])
        for key in values.keys() | others.keys()
        if values.get(key) != others.get(key)
        for kind in owner(performer(one), key).__mro__
    }


def owner(config: Any, key: str) -> type:
    *above, _ = key.split(".")
    for name in above:
        config = getattr(config, name)
    return type(config)


def is_used(runs: Runs, study: Study[Any], key: str, kind: Any) -> bool:
    """Whether another value, where one is accepted, asks for other runs, or is handed to one that reads it."""
    settings = settings_of(study.name)
    before = study.resolve("smoke", settings)
    if key in runs.planned[study.name]:
        return True
    for value in others(kind, flatten(before)[key]):
        try:
            after = study.resolve("smoke", {**settings, key: value})
        except UsageError:
            continue
        asked_before, asked_after = asked(study, before), asked(study, after)
        gone, new = set(asked_before) - set(asked_after), set(asked_after) - set(asked_before)
        return kinds(asked_before) != kinds(asked_after) or any(
            differing(one, other) & set(runs.performed[one.id])
            for one in gone
            for other in new
            if (one.study, one.part, one.seeds) == (other.study, other.part, other.seeds)
        )
    return True  # no other value is accepted


@pytest.mark.parametrize("name", sorted(studies))
def test_a_setting_that_is_accepted_is_read_by_the_tables_or_by_a_run_whose_id_it_changes(
    runs: Runs, name: str
) -> None:
    study = studies[name]()
    settings = settings_of(name)
    unused = study.unused(study.resolve("smoke", settings))
    wrong = [
        key for key, kind in keys(study.default).items() if key not in unused and not is_used(runs, study, key, kind)
    ]
    assert wrong == []
