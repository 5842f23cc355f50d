"""The two trained lookup models that come with the package, a baseline and a guided one: how they are made and opened.

    python -m rote.studies.realization.starter               # both, into src/rote/data/lookup
    python -m rote.studies.realization.starter guided --out DIR

The published recipe with fewer units, one seed, one thread: batches of one, the model with the lowest validation loss.
Runs are kept in the store ($ROTE_HOME): one that was stopped goes on, a finished one is not trained again. Weights are
rounded to 16 bits before they are evaluated; both models start and see their data alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.config import from_plain, parse_overrides, resolve, to_plain
from rote.errors import UnknownNameError
from rote.store import Request, Store, load_tree, save_tree
from rote.store.tree import tree_facts
from rote.studies.realization.settings import KINDS, LookupModelConfig
from rote.studies.starters import arguments, facts_of, train_once

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

    request = Request("lookup-starter", VERSION, kind, to_plain(config), (SEED,))
    program = make_program(config, kind == "guided", request.seeds, "cpu")
    finished = train_once(program, config.training, request, store, lambda run: None)
    weights = {name: weight.half() for name, weight in finished.checkpoint()["model"].items()}
    program.model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    facts = {
        **facts_of(finished),
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

    given = arguments("two lookup", KINDS, FOLDER)
    torch.set_num_threads(1)
    config = resolve(starter_config(), parse_overrides(given.set))
    for kind in given.names:
        facts = make(kind, config, given.out, Store())
        print(f"{kind}: {facts['seconds']:.0f} s, accuracy {facts['accuracy']}")


if __name__ == "__main__":
    main()
