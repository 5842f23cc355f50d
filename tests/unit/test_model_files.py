"""Files of models, which anybody may have written: what is wrong with one is told in a line, before it is built."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from rote.errors import DamagedFileError, RoteError
from rote.models import AutocompleteConfig, AutocompleteModel, load_autocomplete, save_autocomplete
from rote.models.fitting import fitted
from rote.models.saved_autocomplete import KIND, describe_autocomplete
from rote.store import digest, load_tree, save_tree, write_document
from rote.store.tree import tree_facts

WORDS = ("<eos>", "<unknown>", "states", "united")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("sound") / "model"
    save_autocomplete(path, AutocompleteModel(AutocompleteConfig("gru", 3, 1), WORDS), torch.float16)
    assert load_autocomplete(path).config.units == 3
    tree: dict[str, Any] = load_tree(path, KIND, 1)
    return tree


Change = Callable[[dict[str, Any]], Any]
WRONG: dict[str, tuple[Change, str]] = {
    "a million layers": (lambda tree: tree["config"].update(layers=10**6), "by its settings one part has 9000000"),
    "a million units": (lambda tree: tree["config"].update(units=10**6), "by its settings one part has 1000000000000"),
    "a million words": (lambda tree: tree.update(vocabulary="a " * 10**6), "by its settings one part has 3000003"),
    "a layer too many": (lambda tree: tree["config"].update(layers=2), "is missing there and"),
    "another cell": (lambda tree: tree["config"].update(cell="lstm"), r"is \(\d+, 3\) there and"),
    "a cell that there is not": (lambda tree: tree["config"].update(cell="grue"), "Unknown cell 'grue'"),
    "a setting that there is not": (lambda tree: tree["config"].update(width=3), "Unknown key 'width'"),
    "a size that is text": (lambda tree: tree["config"].update(units="x"), "takes a whole number"),
    "no settings": (lambda tree: tree.pop("config"), "does not describe an autocomplete model"),
    "settings that are a list": (lambda tree: tree.update(config=[1]), "does not describe an autocomplete model"),
    "words that are a number": (lambda tree: tree.update(vocabulary=7), "does not describe an autocomplete model"),
    "no words": (lambda tree: tree.update(vocabulary="a"), "of which no model can be made"),
    "no weights": (lambda tree: tree.pop("weights"), "holds no weights of a model"),
    "weights that are a list": (lambda tree: tree.update(weights=[1]), "holds no weights of a model"),
    "weights that are numbers": (lambda tree: tree["weights"].update(x=1), "holds no weights of a model"),
    "complex weights": (
        lambda tree: tree["weights"].update(x=torch.zeros(1, dtype=torch.complex64)), "holds no weights of a model",
    ),
    "a weight too many": (lambda tree: tree["weights"].update(x=torch.zeros(2)), r"'x' is \(2,\) there and not a part"),
    "a weight of a billion rows without columns": (
        lambda tree: tree["weights"].update({"readout.weight": torch.zeros(10**9, 0)}), r"is \(1000000000, 0\) there",
    ),
}  # fmt: skip


def copied(tree: Any) -> Any:
    return {key: copied(value) for key, value in tree.items()} if isinstance(tree, dict) else tree


@pytest.mark.parametrize(("change", "told"), WRONG.values(), ids=WRONG)
def test_a_model_file_with_wrong_settings_or_weights_is_refused_at_once(
    sound: dict[str, Any], tmp_path: Path, change: Change, told: str
) -> None:
    tree = copied(sound)
    change(tree)
    save_tree(tmp_path / "model", KIND, 1, tree)
    began = time.process_time()
    with pytest.raises(DamagedFileError, match=told) as caught:
        load_autocomplete(tmp_path / "model")
    assert time.process_time() - began < 5
    assert str(tmp_path / "model") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        [], {}, {"facts": {}, "sha256": "", "tree": {}}, {"facts": [], "sha256": "0" * 64, "tree": {}},
        *({"facts": {}, "sha256": None, "tree": tree} for tree in (
            {}, {"dict": 3}, {"dict": [3]}, {"dict": [[[[1]], {"value": 1}]]}, {"list": {}}, {"tensor": "gone"},
            {"tensor": 3}, {"dict": [["config", {"value": 1, "list": 3}]]}, {"list": [{"tuple": [{"unknown": 1}]}]},
        )),
    ],
)  # fmt: skip
def test_a_file_that_describes_no_tree_of_tensors_is_told_in_one_line(tmp_path: Path, body: Any) -> None:
    path = tmp_path / "model"
    data = b"\2\0\0\0\0\0\0\0{}"
    path.with_suffix(".safetensors").write_bytes(data)
    if isinstance(body, dict) and body.get("sha256", "") is None:
        body = {**body, "sha256": digest(data)}
    write_document(path.with_suffix(".json"), KIND, 1, body)
    for read in (load_autocomplete, describe_autocomplete):
        with pytest.raises(DamagedFileError) as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_bytes_that_are_no_tensors_are_told_in_one_line(sound: dict[str, Any], tmp_path: Path) -> None:
    save_tree(tmp_path / "model", KIND, 1, sound)
    body = {"facts": tree_facts(tmp_path / "model", KIND, 1), "sha256": "", "tree": {"value": 1}}
    for data in (b"", b"PK\3\4", b"\xff" * 64, b"\7\0\0\0\0\0\0\0[1,2,3]"):
        (tmp_path / "model.safetensors").write_bytes(data)
        write_document(tmp_path / "model.json", KIND, 1, {**body, "sha256": digest(data)})
        with pytest.raises(DamagedFileError, match="holds no tensors that can be read"):
            load_autocomplete(tmp_path / "model")


def test_nothing_is_made_where_the_settings_need_more_than_the_file_has() -> None:
    def make() -> torch.nn.Module:
        raise AssertionError("it was built")

    with pytest.raises(RoteError, match="has 6 weights, and by its settings one part has 7"):
        fitted(make, {"weight": torch.zeros(2, 3)}, Path("file"), 1, 7)
