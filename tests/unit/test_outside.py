"""Code of users: it is part of what identifies a run, and reaches the processes that compute it."""

from __future__ import annotations

import importlib
import json
import linecache
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rote import sources
from rote.errors import RunFailedError, StoreError, UsageError
from rote.laboratory import Laboratory, latest_runs, processes, studies
from rote.laboratory.orders import Order, Orders
from rote.laboratory.perform import code_for
from rote.laboratory.sent import sent
from rote.laboratory.worker import Worker
from rote.outside import Code, Origin, code_of
from rote.plugins import load
from rote.recipes import Job, measurements, recipes
from rote.store import FinishedRun, Request, Store

STUDY = '''
from dataclasses import dataclass
from rote.claims import Source
from rote.recipes import Measurement, Recipe, measurements, recipes
from rote.store import Column, Table
from rote.laboratory import Study, StudyConfig, studies

@recipes.register("own")
@dataclass(frozen=True)
class OwnRecipe(Recipe):
    name = "own"

    def fit(self, trained, run, progress, device):
        run.save(1, {"model": {"value": value_of(run.request.seeds[0])}})

@measurements.register("own")
@dataclass(frozen=True)
class OwnMeasurement(Measurement):
    name = "own"

    def measure(self, trained, run, progress, device):
        return [Table.make("values", "Values", (Column("value"),), [trained[0].weights()])]

@studies.register("own")
class Own(Study[StudyConfig]):
    """Of a user."""

    name, source = "own", Source("900", "own", "A source", "@misc{own}")
    place = title = about = "nowhere"
    claims, presets, default = (), {"smoke": {}, "quick": {}, "paper": {}}, StudyConfig(2)

    def jobs(self, config):
        return [OwnMeasurement().of(job) for job in OwnRecipe().jobs(range(config.seeds))]

    def tables(self, config, measured):
        return [measured["values"]]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user's modules are; what they register is forgotten afterwards."""
    from rote import registry

    monkeypatch.syspath_prepend(tmp_path)
    before, known = set(sys.modules), dict(sources._known)
    yield tmp_path
    for one in registry._registries:
        for name in [name for name in one._registered if name.startswith("own")]:
            del one._registered[name], one._loaded[name]
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    sources._known.clear()
    sources._known.update(known)
    sent.sources.clear()


def write(folder: Path, **texts: str) -> None:
    """Files by name, "package__module" for one in a package; imported anew from now on."""
    for name, text in texts.items():
        path = folder / (name.replace("__", "/", 1) + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        module = name.replace("__", ".", 1)
        for loaded in [one for one in sys.modules if one == module or one.startswith(f"{module}.")]:
            del sys.modules[loaded]
    importlib.invalidate_caches()


def code_of_module(name: str) -> Code:
    module = importlib.import_module(name)
    return code_of([Origin("thing", module.thing, name)])


# --- identity ------------------------------------------------------------------------------------------------------


def own_job() -> Job:
    """The measurement of the first seed, which needs its training."""
    return studies["own"]().jobs(studies["own"].default)[0]


def own_id() -> str:
    return own_job().request.id


def own_code() -> Code:
    return code_for(own_job())


def test_editing_a_study_or_what_it_imports_gives_its_runs_another_identity_and_other_files_do_not(
    folder: Path,
) -> None:
    texts = {"own_study": STUDY + "from own_values import value_of\n", "own_values": "def value_of(n):\n    return n\n"}
    write(folder, **texts, own_notes="n = 1\n")
    load(["own_study"])
    first = own_id()
    write(folder, **texts, own_notes="n = 2\n")
    load(["own_study"])
    assert own_id() == first
    write(folder, own_study=texts["own_study"], own_values="def value_of(n):\n    return n + 1\n")
    load(["own_study"])
    assert own_id() != first
    changed = texts["own_study"].replace("import value_of", "import value_of as v; value_of = lambda n: n")
    write(folder, own_study=changed, own_values=texts["own_values"])
    load(["own_study"])
    assert own_id() != first
    write(folder, own_study=texts["own_study"] + "\n# a remark\n", own_values=texts["own_values"])
    load(["own_study"])
    assert own_id() == first


def test_an_edited_study_does_not_get_the_results_of_the_earlier_one(folder: Path, tmp_path: Path) -> None:
    store, found = Store(tmp_path / "store"), []
    for added in (0, 10, 0):
        write(folder, own_study=f"{STUDY}\ndef value_of(n):\n    return n + {added}\n")
        load(["own_study"])
        result = Laboratory(store, workers=1).run("own")
        found.append((result.computed, result.run.tables()["values"].column("value")))
    assert found == [(4, [0, 1]), (4, [10, 11]), (0, [0, 1])]


def test_the_run_of_a_study_whose_measurement_was_edited_does_not_count(folder: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for text in ("return n", "return n + 1", "return n"):
        write(folder, own_study=f"{STUDY}\ndef value_of(n):\n    {text}\n")
        load(["own_study"])
        if text == "return n":
            result = Laboratory(store, workers=1).run("own")
            (latest,) = latest_runs(store, studies["own"]())
            assert latest.id == result.run.id
        else:
            assert latest_runs(store, studies["own"]()) == []


def test_a_setting_that_names_a_user_s_cell_brings_its_code_and_no_other_setting_does(folder: Path) -> None:
    from rote.recipes.trained import recipe_of

    recipe = recipes["agreement"]()

    def request(cell: str) -> Request:
        return replace(recipe, model=replace(recipe.model, cell=cell)).jobs((0,))[0].request

    write(
        folder,
        own_cells="from rote.cells import LSTMCell, cells\n@cells.register('own_cell')\nclass C(LSTMCell): ...\n",
    )
    before = request("lstm").id
    importlib.import_module("own_cells")
    assert request("lstm").id == before
    named = request("own_cell")
    assert list(named.code) == ["own_cells"]
    assert recipe_of(named).cell == "own_cell"
    write(folder, own_cells=(folder / "own_cells.py").read_text().replace("...", "x = 1"))
    importlib.import_module("own_cells")
    assert request("own_cell").id != named.id
    with pytest.raises(StoreError, match=r"computed with other code of yours \(own_cells\)"):
        recipe_of(named)


@pytest.mark.parametrize(
    ("statement", "reached"),
    [
        ("import own_b", {"own_b"}),
        ("from own_b import x", {"own_b"}),
        ("def later():\n    import own_b", {"own_b"}),  # not imported yet
        ("import own_pack.c", {"own_pack", "own_pack.c"}),
        ("from own_pack import c", {"own_pack", "own_pack.c"}),
        ("from own_pack import n", {"own_pack"}),
        ("import importlib\nm = importlib.import_module('own_b')", {"own_b"}),
        ("import json, numpy, torch.nn, rote.cells, pytest", set()),
    ],
)
def test_what_a_module_imports_is_followed_as_far_as_it_is_the_user_s(
    folder: Path, statement: str, reached: set[str]
) -> None:
    write(folder, own_a=f"{statement}\ndef thing(): ...\n", own_b="import own_a\nx = 1\n", own_pack____init__="n = 1\n")
    write(folder, own_pack__c="from . import n\n")
    assert set(code_of_module("own_a").hashes) == {"own_a"} | reached


def test_a_file_that_is_edited_after_it_was_imported_counts_as_it_was_until_it_is_imported_again(folder: Path) -> None:
    """What is in memory is the old code: under the hash of the new one its results would be taken for the new one's."""
    write(folder, own_study=f"{STUDY}\ndef value_of(n):\n    return n\n")
    load(["own_study"])
    first = own_id()
    (folder / "own_study.py").write_text(f"{STUDY}\ndef value_of(n):\n    return 10 + n\n")
    assert own_id() == first
    assert "10 + n" not in own_code().sources[0].text
    importlib.reload(sys.modules["own_study"])
    assert own_id() != first


# --- a notebook ----------------------------------------------------------------------------------------------------


@dataclass
class Notebook:
    """Inputs that are executed one after another, as IPython does it: each is a file that only linecache knows."""

    names: dict[str, Any]

    def run(self, text: str, known: bool = True) -> Notebook:
        file = f"<input {hash(text)}>"
        if known:
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        else:
            linecache.cache.pop(file, None)
        exec(compile(text, file, "exec"), self.names)
        return self

    def code(self) -> Code:
        return code_of([Origin("thing", self.names["Thing"], "__main__", "<input>")])

    def id(self) -> list[str]:
        return sorted(self.code().hashes.values())


CLASS = "class Thing:\n    size = SIZE\n    def step(self, x):\n        return helper(x) + OTHER['n']\n"
BEFORE = "import torch\nSIZE, OTHER = 3, {'n': 1}\ndef helper(x):\n    return x + SCALE\nSCALE = 1.0\n"


@pytest.fixture
def notebook() -> Callable[..., Notebook]:
    def start(*texts: str) -> Notebook:
        made = Notebook({"__name__": "__main__"})
        for text in texts:
            made.run(text)
        return made

    return start


@pytest.mark.parametrize(
    "change",
    [
        "def helper(x):\n    return x - SCALE",
        "SCALE = 2.0",
        "OTHER['n'] = 2",
        "SIZE = 4\n" + CLASS,
        CLASS.replace("+", "-"),
        "Thing.size = 5",
        "Thing.step = lambda self, x: x",
        "def helper(x, y=[1]):\n    return x + SCALE",
    ],
)
def test_whatever_a_class_of_a_notebook_uses_is_part_of_its_identity(
    notebook: Callable[..., Notebook], change: str
) -> None:
    before = notebook(BEFORE, CLASS)
    assert before.id() == notebook(BEFORE, CLASS).run("unrelated = torch.ones(3)").id()
    assert before.id() != notebook(BEFORE, CLASS).run(change).id()


def test_a_decorator_a_closure_and_a_base_class_of_a_notebook_count_too(notebook: Callable[..., Notebook]) -> None:
    text = (
        "import functools\n"
        "def twice(f):\n    @functools.wraps(f)\n    def g(*a):\n        return f(*a) * 2\n    return g\n"
        "class Base:\n    def other(self):\n        return 1\n"
    )
    inner = "    class Thing(Base):\n        @twice\n        def step(self):\n            return n\n"
    made = f"def make(n):\n{inner}    return Thing\n"
    first = notebook(text, made, "Thing = make(1)")
    assert first.id() == notebook(text, made, "Thing = make(1)").id()
    for other in (
        notebook(text, made, "Thing = make(2)"),
        notebook(text.replace("* 2", "* 3"), made, "Thing = make(1)"),
        notebook(text.replace("return 1", "return 2"), made, "Thing = make(1)"),
    ):
        assert other.id() != first.id()


def test_values_of_a_notebook_are_not_mixed_up_with_others_of_the_same_name_or_with_each_other(
    notebook: Callable[..., Notebook],
) -> None:
    made = "import functools\ndef make(n):\n    return lambda x: x * n\n"
    two = "class Thing:\n    f, g = make({}), make(2)\n"
    assert notebook(made, two.format(1)).id() != notebook(made, two.format(3)).id()
    shared = "A, B = [1], [2]\nC = {}\nclass Thing:\n    def step(self):\n        return A, B, C\n"
    assert notebook("C = None", shared.format("A")).id() != notebook("C = None", shared.format("A"), "C = B").id()
    for text in ("Thing = functools.partial(make, {})", "Thing = [{}].index"):
        assert notebook(made, text.format(1)).id() != notebook(made, text.format(2)).id()


def test_a_study_typed_into_a_notebook_has_an_identity_and_stays_in_its_process(
    notebook: Callable[..., Notebook], folder: Path, tmp_path: Path
) -> None:
    text, edited = (f"{STUDY}\ndef value_of(n):\n    return n + {added}\n" for added in (0, 10))
    notebook(text)
    first = own_id()
    assert "not in a file that another process could load" in own_code().stays
    with pytest.warns(
        UserWarning, match="One run after another, in this process, without workers: 'own' is not in a file"
    ):
        result = Laboratory(Store(tmp_path / "store"), workers=2).run("own")
    assert (result.computed, result.run.tables()["values"].column("value")) == (4, [0, 1])
    notebook(text)
    assert own_id() == first
    notebook(edited)
    assert own_id() != first


def test_what_has_no_source_or_no_plain_value_is_refused_with_what_to_do(notebook: Callable[..., Notebook]) -> None:
    with pytest.raises(UsageError, match=r"source of 'Thing' is not known.*Put it into a file"):
        notebook(BEFORE).run(CLASS, known=False).code()
    with pytest.raises(UsageError, match=r"'SCALE' is a Tensor of this session.*Put it into a file"):
        notebook(BEFORE, CLASS, "SCALE = torch.ones(3)").code()


# --- other processes -----------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(folder: Path) -> Callable[..., None]:
    """A process that has neither imported the user's modules nor has their files."""

    def arrive(code: Code, load: bool = True) -> None:
        for source in code.sources:
            sys.modules.pop(source.module, None)
            (folder / source.file).unlink(missing_ok=True)
        sources._known.clear()
        for registry in (studies, recipes, measurements):
            registry._registered.pop("own", None)
            registry._loaded.pop("own", None)
        if load:
            sent.load(Code.from_plain(json.loads(json.dumps(code.to_plain()))))

    return arrive


def test_a_module_arrives_with_those_that_it_imports_and_has_the_same_identity_there(
    folder: Path, elsewhere: Callable[..., None]
) -> None:
    write(folder, own_space__values="def value_of(n):\n    return 7\n")  # a folder without __init__.py
    write(folder, own_study=STUDY + "from own_space.values import value_of\n")
    load(["own_study"])
    first, code = own_id(), own_code()
    assert set(code.hashes) == {"own_study", "own_space.values"}
    elsewhere(code)
    assert not (folder / "own_study.py").exists()
    assert studies["own"].__module__ == "own_study"
    assert own_id() == first


def test_a_measurement_brings_the_code_of_the_trainings_that_it_reads(
    folder: Path, elsewhere: Callable[..., None]
) -> None:
    """Its identity has theirs by their ids; the worker that measures may have trained nothing."""
    shared = "from dataclasses import dataclass\nfrom rote.recipes import Measurement, Recipe, measurements, recipes\n"
    kind = "@{0}s.register('own')\n@dataclass(frozen=True)\nclass Own{1}({1}):\n    name = 'own'\n"
    kind += "    def {2}(self, *given): ...\n"
    write(folder, own_recipe=shared + kind.format("recipe", "Recipe", "fit"))
    write(folder, own_measure=shared + kind.format("measurement", "Measurement", "measure"))
    load(["own_recipe", "own_measure"])
    job = measurements["own"]().of(*recipes["own"]().jobs((0,)))
    assert set(job.request.code) == {"own_measure"}
    code = code_for(job)
    assert set(code.imports) == {"own_recipe", "own_measure"}
    elsewhere(code)
    assert "own" in recipes
    assert "own" in measurements


def test_a_script_arrives_without_what_stands_below_its_main_guard(
    folder: Path, elsewhere: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "script"  # as one that is executable by itself
    path.write_text(STUDY + "def value_of(n):\n    return 1\nif __name__ == '__main__':\n    ran = True\n")
    as_script(path, monkeypatch)
    code = own_code()
    assert (list(code.hashes), code.imports, code.stays) == (["script"], (sources.ALIAS,), "")
    first = own_id()
    elsewhere(code)
    assert not hasattr(sys.modules[sources.ALIAS], "ran")
    assert own_id() == first
    del sys.modules[sources.ALIAS]


def test_a_script_without_a_main_guard_stays_and_says_why(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "script.py"
    path.write_text(STUDY + "def value_of(n):\n    return 1\n")
    as_script(path, monkeypatch)
    code = own_code()
    assert list(code.hashes) == ["script.py"]
    assert code.stays.startswith(f"{path} would run as a whole in every process that loads it.")
    with pytest.raises(UsageError, match=r"No other machine can compute own measurement, seed 0: .*script.py would"):
        Laboratory(Store(folder / "store"), cluster="tcp://127.0.0.1:1").cluster.perform(  # type: ignore[union-attr]
            Orders([Order(own_job().request, {}, "cpu", code)])
        )


def as_script(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    main.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", main)
    sources.forget("__main__")  # what other tests asked about the script that runs them
    exec(compile(path.read_text(), str(path), "exec"), main.__dict__)


def test_a_module_that_runs_a_study_when_it_is_imported_fails_in_the_worker_and_starts_nothing(
    folder: Path, elsewhere: Callable[..., None]
) -> None:
    runs = "if {}:\n    Laboratory(Store('x')).run('plane', 'smoke')\n"
    text = f"from rote import Laboratory, Store\n{runs}def thing(): ...\n"
    write(folder, own_a=text.format("False"))
    code = code_of_module("own_a")
    (source,) = code.sources
    with pytest.raises(RunFailedError, match=r"own_a.py cannot be imported by a worker: UsageError: .*Put that below"):
        elsewhere(replace(code, sources=(replace(source, text=text.format("True")),)))


def test_a_worker_performs_what_it_was_sent(folder: Path, elsewhere: Callable[..., None], tmp_path: Path) -> None:
    write(folder, own_study=f"{STUDY}\ndef value_of(n):\n    return 7\n")
    load(["own_study"])
    orders = [
        Order(job.request, {}, "cpu", code_for(job), tuple(need.request for need in job.needs))
        for job in own_job().all()
    ]
    earlier = signal.getsignal(signal.SIGTERM)
    for order in orders:  # the second by a worker that has not performed the first
        elsewhere(order.code, load=False)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(json.dumps({**order.to_plain(), "store": str(tmp_path / "store")}).encode() + b"\n")
            ours.shutdown(socket.SHUT_WR)
            Worker(theirs).serve()
    signal.signal(signal.SIGTERM, earlier)
    training, measurement = (FinishedRun(Store(tmp_path / "store").folder(order.request)) for order in orders)
    assert measurement.tables()["values"].column("value") == [7]
    assert training.record.request.code == orders[0].request.code != {}
    assert measurement.record.uses == (training.id,)


def test_workers_look_for_modules_where_we_do_but_not_in_the_current_folder_unless_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = ["/some/folder", *sys.path]
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *elsewhere])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    found = processes._environment()["PYTHONPATH"].split(":")
    assert found[0] == "/some/folder"
    assert not {"", str(tmp_path)} & set(found)
    monkeypatch.setenv("PYTHONPATH", ".")
    assert processes._environment()["PYTHONPATH"].split(":")[:2] == [str(tmp_path), "/some/folder"]
