"""Lookup models with few units: which are trained, what is counted, and the claims."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rote.claims import judge
from rote.claims import measure as measured_in
from rote.errors import UsageError
from rote.laboratory.aggregate import joined
from rote.studies.realization.accuracy import LookupAccuracyStudy
from rote.studies.realization.sizes import SHOWN, LookupSizesStudy, all_tables, run_table
from rote.studies.realization.training import make_models


def parameters(hidden: int, embedding: int = 16, inputs: int = 19, outputs: int = 11) -> int:
    """By hand: embeddings, two GRUs with two biases each, attention, focus and readout."""
    encoder = inputs * embedding + 3 * hidden * (embedding + hidden + 2)
    decoder = outputs * hidden + 3 * hidden * (2 * hidden + 2) + outputs * (hidden + 1)
    attention = 2 * hidden * hidden + hidden + hidden + 1
    return encoder + decoder + attention + 2 * hidden * hidden + hidden


def test_the_largest_models_are_those_of_the_accuracy_study_and_all_others_differ_in_size_alone() -> None:
    study, accuracy = LookupSizesStudy(), LookupAccuracyStudy()
    config = study.resolve("paper", {})
    recipes = config.recipes()
    assert [(recipe.model.hidden, recipe.kind) for recipe in recipes] == [
        (size, kind) for size in (26, 64, 128, 256, 512) for kind in ("baseline", "guided")
    ]
    offered = {one.request.id for job in accuracy.jobs(accuracy.resolve("paper", {})) for one in job.needs}
    assert {job.request.id for recipe in recipes[-2:] for job in recipe.jobs(range(6))} <= offered
    assert len({(recipe.task, recipe.training, recipe.guided, recipe.guidance) for recipe in recipes}) == 2
    assert [len(recipe.jobs(range(12))) for recipe in recipes] == [1] * 8 + [2] * 2


def test_parameters_are_counted_as_by_hand_and_published() -> None:
    assert parameters(512) == 3_451_708  # what the authors' program counts
    for recipe in LookupSizesStudy().resolve("quick", {}).recipes()[:2]:
        model = make_models(recipe, [0])
        assert sum(one.numel() for one in model.parameters()) == parameters(recipe.model.hidden)


def outcomes(accuracy: Callable[[int, str, str], float]) -> dict[str, str]:
    tables = []
    for recipe in LookupSizesStudy().resolve("quick", {"sizes": (10, 48)}).recipes():
        by_split = {split: [accuracy(recipe.model.hidden, recipe.kind, split)] * 5 for split in SHOWN}
        tables.append(run_table(recipe, 7, range(5), by_split))
    made = {table.name: table for table in all_tables(joined(tables))}
    assert len(made["sizes-summary"].records()) == 3 * 2 * len(SHOWN)
    return {claim.id: judge(claim, measured_in(claim, made)).outcome for claim in LookupSizesStudy.claims}


def test_claims_come_out_either_way() -> None:
    grown = outcomes(lambda units, kind, split: units / 200 if kind == "guided" else 0.1)
    assert set(grown.values()) == {"supported"}
    assert set(outcomes(lambda *_: 0.9).values()) == {"contradicted"}
    assert outcomes(lambda *_: 0.2)["lookup-few-units"] == "void"
    tables = outcomes(lambda units, kind, split: 0.6 if (units, split) == (10, "heldout_tables") else units / 200)
    assert tables["lookup-few-units"] == "contradicted"


@pytest.mark.parametrize("sizes", [(), (192,), (0,)])
def test_sizes_that_are_none_or_not_smaller_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="sizes"):
        LookupSizesStudy().resolve("quick", {"sizes": sizes})
