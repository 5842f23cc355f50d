"""The two trained lookup models that come with the package, a baseline and a guided one: how they are made and opened.

    python -m rote.studies.realization.starter               # both, into src/rote/data/lookup
    python -m rote.studies.realization.starter guided --out DIR

The published recipe with fewer units, one seed, one thread: batches of one, the model with the lowest validation loss.
Runs are kept in the store ($ROTE_HOME): one that was stopped goes on, a finished one is not trained again. Weights are
rounded to 16 bits before they are evaluated; both models start and see their data alike.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.config import from_plain, parse_overrides, resolve, to_plain
from rote.errors import UnknownNameError
from rote.laboratory.bundled_models import arguments, facts_of, trained_once
from rote.store import Store, load_tree, save_tree
from rote.store.tree import tree_facts
from rote.studies.realization.models import KINDS, LookupRecipe
from rote.tasks.lookup import LookupTask

if TYPE_CHECKING:
    from rote.models import EncoderDecoder

KIND, VERSION = "rote lookup model", 1
FOLDER = Path(__file__).parents[2] / "data" / "lookup"
SEED = 0
LICENSE = "Learned from the lookup tables of the task alone; the weights come under the license of the package."


def starter_recipe() -> LookupRecipe:
    """That of the guided one."""
    return resolve(LookupRecipe(), {"model.hidden": 176, "training.steps": 18_560, "training.record_every": 232})


def make(recipe: LookupRecipe, out: Path, store: Store) -> dict[str, Any]:
    """Train one, round it, evaluate it on all splits, and save it with its record; what is recorded."""
    import torch

    from rote.studies.realization.training import make_program

    trained = trained_once(recipe, SEED, store)
    weights = {name: weight.half() for name, weight in trained.weights().items()}
    program = make_program(recipe, trained.seeds, "cpu", replace(recipe.task, longer=LookupTask().longer))
    program.model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    facts = {
        **facts_of(trained.run),
        "accuracy": {split: program.accuracy(split)[0] for split in program.data.names()},
        "threads": torch.get_num_threads(),
        "license": LICENSE,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_tree(out / recipe.kind, KIND, VERSION, {"config": to_plain(recipe), "weights": weights}, **facts)
    return facts


def load_starter(kind: str, folder: Path = FOLDER) -> tuple[EncoderDecoder, LookupRecipe]:
    """The bundled model ("baseline" or "guided"), a population of one, and how it was trained."""
    from rote.models.fitting import fitted
    from rote.studies.realization.training import make_models

    if kind not in KINDS:
        raise UnknownNameError("lookup model", kind, KINDS)
    tree = load_tree(folder / kind, KIND, VERSION)
    recipe = _recipe(kind, tree["config"])
    model = fitted(
        lambda: make_models(recipe, (SEED,)), tree["weights"], folder / kind, recipe.model.hidden**2,
        recipe.model.hidden * recipe.model.embedding,
    )  # fmt: skip
    return model.eval(), recipe


def saved_config(kind: str = "guided", folder: Path = FOLDER) -> LookupRecipe:
    """How a bundled model was trained, without reading its weights."""
    return _recipe(kind, starter_record(kind, folder)["request"]["config"])


def _recipe(kind: str, plain: dict[str, Any]) -> LookupRecipe:
    """Files of version 0.1 have the same settings in both, and tell them apart by their names."""
    return replace(from_plain(LookupRecipe(), plain), guided=kind == "guided")


def starter_record(kind: str, folder: Path = FOLDER) -> dict[str, Any]:
    """How a bundled model was made, and how accurate it is on each split."""
    return tree_facts(folder / kind, KIND, VERSION)


def main() -> None:
    import torch

    asked = arguments("two lookup", KINDS, FOLDER)
    torch.set_num_threads(1)
    recipe = resolve(starter_recipe(), parse_overrides(asked.set))
    for kind in asked.names:
        facts = make(recipe if kind == "guided" else recipe.baseline(), asked.out, Store())
        print(f"{kind}: {facts['seconds']:.0f} s, accuracy {facts['accuracy']}")


if __name__ == "__main__":
    main()
