"""Names are found in sources without importing them; two things never share one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rote.errors import UnknownNameError
from rote.registry import Entry, Registry

WALKER = '''
from {package}.kind import walkers


@walkers.register("{name}")
class {classname}:
    """{line}

    More that a listing does not show.
    """
'''


def make_package(root: Path, monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, str]) -> str:
    folder = root / name
    kind = f'from rote.registry import Registry\nwalkers = Registry("walker", "{name}", "walkers")\n'
    for path, text in {"__init__.py": "", "kind.py": kind, **files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    monkeypatch.syspath_prepend(root)
    return name


def walker(package: str, name: str, classname: str = "Walker", line: str = "Walks.") -> str:
    return WALKER.format(package=package, name=name, classname=classname, line=line)


@pytest.mark.parametrize(
    ("package", "registry", "name", "module"),
    [
        ("rote.tasks", "tasks", "plane", "rote.tasks.plane"),
        ("rote.laboratory", "studies", "plane", "rote.studies.resistance.plane"),
        ("rote.recipes", "recipes", "plane", "rote.studies.resistance.plane"),
        ("rote.recipes", "measurements", "plane", "rote.studies.resistance.plane"),
    ],
)
def test_listing_imports_neither_torch_nor_the_listed_module(
    package: str, registry: str, name: str, module: str
) -> None:
    script = f"""
import json, sys
from {package} import {registry}
entries = {{entry.name: [entry.module, entry.description] for entry in {registry}.entries()}}
seen = [{name!r} in {registry}, len({registry}), list({registry})]
print(json.dumps([entries, seen, [name for name in ("torch", "scipy", {module!r}) if name in sys.modules]]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    entries, seen, imported = json.loads(done.stdout)
    assert imported == []
    assert entries[name][0] == module
    assert entries[name][1].endswith((".", "?"))
    assert seen == [True, len(entries), sorted(entries)]


def test_an_entry_is_imported_alone_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = make_package(
        tmp_path, monkeypatch, "asked_for",
        {"slow.py": walker("asked_for", "slow"), "deep/broken.py": walker("asked_for", "broken") + "raise OSError\n"},
    )  # fmt: skip
    registry = __import__(f"{package}.kind", fromlist=["walkers"]).walkers
    assert registry.entries() == [
        Entry("broken", "Walks.", "asked_for.deep.broken"),
        Entry("slow", "Walks.", "asked_for.slow"),
    ]
    assert "asked_for.slow" not in sys.modules
    assert registry["slow"].__name__ == "Walker"
    assert "asked_for.deep.broken" not in sys.modules


def test_an_entry_of_a_packages_init_is_named_by_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_package(tmp_path, monkeypatch, "in_init", {"sub/__init__.py": walker("in_init", "here")})
    registry = Registry[type]("walker", "in_init", "walkers")
    assert [entry.module for entry in registry.entries()] == ["in_init.sub"]


def test_two_files_of_a_package_that_take_one_name_are_refused_and_both_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_package(tmp_path, monkeypatch, "twins", {"a.py": walker("twins", "same"), "b.py": walker("twins", "same")})
    with pytest.raises(ValueError, match=r"walker 'same' is registered by both twins\.a and twins\.b"):
        Registry[type]("walker", "twins", "walkers").entries()


def test_two_classes_of_one_file_that_take_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice = walker("doubled", "same", "First") + walker("doubled", "same", "Second")
    make_package(tmp_path, monkeypatch, "doubled", {"a.py": twice})
    with pytest.raises(ValueError, match=r"'same' is registered by both doubled\.a and doubled\.a"):
        list(Registry[type]("walker", "doubled", "walkers"))


def test_a_name_taken_at_run_time_is_refused_to_another_module_even_before_the_first_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_package(tmp_path, monkeypatch, "taken", {"a.py": walker("taken", "old")})
    registry = Registry[type]("walker", "taken", "walkers")

    def decorated(name: str, module: str) -> None:
        registry.register(name)(type("Mine", (), {"__module__": module}))

    with pytest.raises(ValueError, match=r"walker 'old' of mine is already registered by taken\.a"):
        decorated("old", "mine")
    decorated("new", "mine")
    with pytest.raises(ValueError, match=r"walker 'new' of theirs is already registered by mine"):
        decorated("new", "theirs")


def test_a_notebook_cell_that_is_run_again_replaces_its_own_entry() -> None:
    registry = Registry[type]("walker", "json", "walkers")
    first, second = (type("Mine", (), {"__module__": "__main__", "__doc__": line}) for line in ("One.", "Two."))
    registry.register("mine")(first)
    registry.register("mine")(second)
    assert registry["mine"] is second
    assert registry.entries() == [Entry("mine", "Two.", "__main__")]


def test_an_entry_from_outside_the_package_is_listed_with_the_packages_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_package(tmp_path, monkeypatch, "mixed", {"a.py": walker("mixed", "own")})
    registry = Registry[type]("walker", "mixed", "walkers")

    @registry.register("guest")
    class Guest:
        """A guest."""

    assert list(registry) == ["guest", "own"]
    assert registry["guest"] is Guest
    assert "guest" in registry
    assert "nobody" not in registry


def test_an_unknown_name_gets_did_you_mean_and_not_a_key_error() -> None:
    from rote.tasks import tasks

    with pytest.raises(UnknownNameError, match=r"Unknown task 'plan'\. Did you mean 'plane'\?"):
        tasks["plan"]


def test_a_decorator_of_another_registry_in_the_same_package_is_not_taken_for_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import functools\n@functools.singledispatch\ndef f(x): ...\n@f.register(int)\ndef g(x): ...\n"
    make_package(tmp_path, monkeypatch, "dispatch", {"a.py": text})
    assert list(Registry[type]("walker", "dispatch", "walkers")) == []
