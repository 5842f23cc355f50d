"""make finds a Python and takes the versions that the tests ran with; a wheel knows which commit it was built from."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LICENSES = {"LICENSE", "stored.LICENSE", "text8.LICENSE"}


def run(*words: object, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def git(*words: str) -> str:
    return run("git", *words)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, so there is no commit to note")
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", folder)
    return folder


def recorded(wheel: Path, folder: Path) -> dict[str, object]:
    """What the record of a run says where this wheel is installed; the folder lies in no repository."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    program = "import json; from rote.store import record; print(json.dumps([record.__file__, record.installed()]))"
    found: dict[str, object]
    module, found = json.loads(run(sys.executable, "-c", program, cwd=folder, PYTHONPATH=str(folder)))
    assert Path(module).is_relative_to(folder)
    return found


def test_runs_of_an_installed_wheel_record_the_commit_that_it_was_built_from(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    found = recorded(wheel, tmp_path)
    assert found["commit"] == git("rev-parse", "HEAD")
    assert found["dirty"] == bool(git("status", "--porcelain", "--", "src/rote"))
    assert {path.name for path in tmp_path.glob("rote-*.dist-info/licenses/**/*") if path.is_file()} == LICENSES
    assert (tmp_path / "rote" / "data" / "autocomplete" / "text8.LICENSE").exists()


def test_a_wheel_that_is_built_from_a_source_archive_records_the_same(built: Path, tmp_path: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "wheel", cwd=unpacked)
    (wheel,) = (tmp_path / "wheel").iterdir()
    assert recorded(wheel, tmp_path / "installed")["commit"] == git("rev-parse", "HEAD")


def test_a_package_without_a_note_says_that_its_commit_is_not_known(tmp_path: Path) -> None:
    from rote.store.record import _built_from

    assert _built_from(tmp_path / "none") == (None, None)
    for text in ("", "[]", "{}", "\xff"):
        (tmp_path / "note").write_text(text, encoding="latin-1")
        assert _built_from(tmp_path / "note") == (None, None)


# --- make ----------------------------------------------------------------------------------------------------------


def make(folder: Path, pythons: dict[str, int], *words: str) -> subprocess.CompletedProcess[str]:
    """In a folder without an environment, on a machine with these commands, each of which answers with this code."""
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "bin").mkdir()
    for tool in ("make", "sh"):
        (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))
    for name, code in pythons.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (folder / "bin" / name).chmod(0o755)
    return subprocess.run(
        ["make", ".venv/bin/python", *words],
        cwd=folder, env={"PATH": str(folder / "bin")}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3.11": 0, "python3.13": 0, "python3": 0}, "python3.11"),
        ({"python3.11": 127, "python3.13": 0, "python3": 0}, "python3.13"),  # as a shim of a version that is not active
        ({"python3": 0}, "python3"),
    ],
)
def test_make_takes_the_first_python_that_can_be_used(tmp_path: Path, pythons: dict[str, int], chosen: str) -> None:
    assert make(tmp_path, pythons).stdout == f"{chosen} -m venv .venv\n"


@pytest.mark.parametrize(
    ("words", "got"), [((), "none"), (("PYTHON=/no/python",), "/no/python"), (("PYTHON=python3.10",), "python3.10")]
)
def test_make_without_a_python_that_can_be_used_says_what_it_needs_in_one_line(
    tmp_path: Path, words: tuple[str, ...], got: str
) -> None:
    done = make(tmp_path, {"python3": 1, "python3.10": 1}, *words)
    assert done.returncode == 2
    told, _ = done.stderr.splitlines()
    assert told.startswith(f"Python 3.11 to 3.14 is needed, with venv; got {got}. Name it: make PYTHON=")


def needed() -> Iterator[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for text in (*project["dependencies"], *(text for name in extras if name != "bench" for text in extras[name])):
        if not text.startswith("rote["):
            yield Requirement(text)


def test_every_dependency_has_one_version_among_the_constraints_and_it_is_one_that_is_admitted() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pins = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}
    assert len(pins) == len(lines)
    assert not [version for version in pins.values() if not version or "+" in version]  # 2.13.0+cpu is not everywhere
    wrong = [str(one) for one in needed() if pins.get(canonicalize_name(one.name), "none") not in one.specifier]
    assert wrong == []
