"""Does every setting do something? Each study is run again with each of its keys changed, and the results compared.

    python benchmarks/settings.py                        # all studies: half an hour
    python benchmarks/settings.py plane matrix

A key is told where no accepted value changes a byte of any result, metric or weight. Some of them are told because the
runs are so small: a network that stops improving after hundreds of updates, a norm that no gradient reaches, more seeds
to show than there are. What can be decided without running is in tests/contracts/test_all_studies.py, whose small
settings are used here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import torch

from rote import Laboratory, Store
from rote.config import flatten, keys
from rote.errors import RoteError, UsageError
from rote.laboratory import studies
from rote.laboratory.study import ordered_names

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "contracts"))
from all_studies import settings_of

STRONG = {  # values with an effect that small runs show
    "clip": 1e-4, "momentum": 0.9, "weight_decay": 0.5, "dropout": 0.5, "patience": 1, "record_every": 1,
    "measure_every": 0.1,
}  # fmt: skip


def values_for(key: str, kind: Any, value: Any) -> list[Any]:
    name = key.rpartition(".")[2]
    if name in STRONG:
        return [STRONG[name]]
    if get_origin(kind) is Literal:
        return [choice for choice in get_args(kind) if choice != value]
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(choice for choice in get_args(kind) if choice is not type(None))
    if kind is bool:
        return [not value]
    if kind in (int, float):
        return (
            [kind(number) for number in (value * 2, value / 2, value + 1) if number != value]
            if value
            else [kind(1), 0.5]
        )
    if get_origin(kind) is tuple:
        return [value[:-1], value[1:]]
    return [cell for cell in ("elman", "gru", "lstm") if cell != value] if "cell" in key else []


def results(root: Path) -> dict[tuple[str, str, str], list[bytes]]:
    """By study, part and seeds: what came out, without the settings and checksums around it."""
    found = {}
    for path in root.glob("runs/*/*/record.json"):
        request = json.loads(path.read_text())["body"]["request"]
        result = json.loads((path.parent / "result.json").read_text())["body"]
        files = [path.parent / "metrics.jsonl", *sorted(path.parent.glob("*.safetensors"))]
        contents = [file.read_bytes() for file in files if file.exists()]
        key = request["study"], request["part"], str(request["seeds"])
        found[key] = [json.dumps(result).encode(), *contents]
    return found


def does_something(name: str, key: str, value: Any, base: Path, folder: Path) -> bool | None:
    """None where the value is refused or fails."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        Laboratory(Store(folder), workers=1).run(name, "smoke", {**settings_of(name), key: value})
    except UsageError:
        return None
    except RoteError as error:
        print(f"  {key}={value} fails: {str(error)[:120]}")
        return None
    return results(folder) != results(base)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=ordered_names())
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for name in parser.parse_args().studies:
        study, total = studies[name](), 0
        with tempfile.TemporaryDirectory() as place:
            base, folder = Path(place) / "base", Path(place) / "other"
            Laboratory(Store(base), workers=1).run(name, "smoke", settings_of(name))
            print(name, flush=True)
            before = flatten(study.resolve("smoke", settings_of(name)))
            for key, kind in keys(study.default).items():
                tried = [does_something(name, key, value, base, folder) for value in values_for(key, kind, before[key])]
                total += any(found is not None for found in tried)
                if False in tried and True not in tried:
                    print(f"  {key} did nothing", flush=True)
        print(f"  {total} keys were changed")


if __name__ == "__main__":
    main()
