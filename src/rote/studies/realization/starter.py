"""The two trained lookup models that come with the package, a baseline and a guided one: how they are made and opened.

    python -m rote.studies.realization.starter               # both, into src/rote/data/lookup
    python -m rote.studies.realization.starter guided --out DIR

The published recipe with fewer units, one seed, one thread: batches of one, the model with the lowest validation loss.
Runs are kept in the store ($ROTE_HOME): one that was stopped goes on, a finished one is not trained again. Weights are
rounded to 16 bits before they are evaluated; both models start and see their data alike.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.config import from_plain, parse_overrides, resolve, to_plain
from rote.errors import UnknownNameError
from rote.store import FinishedRun, Request, Store, load_tree, save_tree
from rote.store.tree import tree_facts
from rote.studies.realization.settings import KINDS, LookupModelConfig

if TYPE_CHECKING:
    from rote.models import EncoderDecoder

KIND, VERSION = "rote lookup model", 1
FOLDER = Path(__file__).parents[2] / "data" / "lookup"
SEED = 0
LICENSE = "Learned from the lookup tables of the task alone; the weights come under the license of the package."


def starter_config() -> LookupModelConfig:
    return resolve(
        LookupModelConfig(), {"model.hidden": 176, "training.steps": 18_560, "training.record_every": 232}
    )  # fmt: skip


def make(kind: str, config: LookupModelConfig, out: Path, store: Store) -> dict[str, Any]:
    """Train one, round it, evaluate it on all splits, and save it with its record; what is recorded."""
    import torch

    from rote.studies.realization.training import make_program
    from rote.training import train

    request = Request("lookup-starter", VERSION, kind, to_plain(config), (SEED,))
    program = make_program(config, kind == "guided", request.seeds, "cpu")
    if store.finished(request) is None:
        with store.open(request) as run:
            train(program, config.training, run, progress=_say)
            run.finish([])
    finished = FinishedRun(store.folder(request))
    weights = {name: weight.half() for name, weight in finished.checkpoint()["model"].items()}
    program.model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    facts = {
        "request": request.to_plain(),
        "run": finished.id,
        "environment": finished.record.environment,
        "seconds": finished.record.seconds,
        "accuracy": {split: program.accuracy(split)[0] for split in program.data.names()},
        "threads": torch.get_num_threads(),
        "license": LICENSE,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_tree(out / kind, KIND, VERSION, {"config": to_plain(config), "weights": weights}, **facts)
    return facts


def load_starter(kind: str, folder: Path = FOLDER) -> tuple[EncoderDecoder, LookupModelConfig]:
    """The bundled model ("baseline" or "guided"), a population of one in float32, and how it was trained."""
    from rote.models import EncoderDecoder

    if kind not in KINDS:
        raise UnknownNameError("lookup model", kind, KINDS)
    tree = load_tree(folder / kind, KIND, VERSION)
    config = from_plain(LookupModelConfig(), tree["config"])
    inputs, outputs = config.task.vocabulary()
    model = EncoderDecoder(config.model, len(inputs), len(outputs), (SEED,))
    model.load({name: weight.float() for name, weight in tree["weights"].items()})
    return model.eval(), config


def saved_config(kind: str = "guided", folder: Path = FOLDER) -> LookupModelConfig:
    """How a bundled model was trained, without reading its weights."""
    return from_plain(LookupModelConfig(), starter_record(kind, folder)["request"]["config"])


def starter_record(kind: str, folder: Path = FOLDER) -> dict[str, Any]:
    """How a bundled model was made, and how accurate it is on each split."""
    return tree_facts(folder / kind, KIND, VERSION)


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description="Train the two lookup models that come with the package.")
    parser.add_argument("kinds", nargs="*", default=KINDS, help=f"any of {', '.join(KINDS)}; default both")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the models")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="other settings: training.steps=10")
    given = parser.parse_args()
    torch.set_num_threads(1)
    config = resolve(starter_config(), parse_overrides(given.set))
    for kind in given.kinds:
        facts = make(kind, config, given.out, Store())
        print(f"{kind}: {facts['seconds']:.0f} s, accuracy {facts['accuracy']}")


def _say(done: int, total: int) -> None:
    print(f"{done} of {total} steps", end="\r" if done < total else "\n", flush=True)


if __name__ == "__main__":
    main()
