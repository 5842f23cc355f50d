"""The claims of source 001 on made-up networks: what bears each out, and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rote.claims import Claim, Verdict, criterion_hash, judge, measure
from rote.laboratory import studies
from rote.laboratory.scale import scale_of
from rote.store import Column, Table

NAMES = ("plane", "plane-information", "digit-pairs", "scan-jump")
CLAIMS = {claim.id: claim for name in NAMES for claim in studies[name].claims}
STUDY = {claim.id: name for name in NAMES for claim in studies[name].claims}
SEEDS = range(1000, 1040)
Rows = Mapping[tuple[str, int], Mapping[str, Any]]  # by setting and outputs

PLANE = {
    "corner_wrong": 0.1, "seen_wrong": 0.01, "loss_0": 0.7, "loss_1": 0.1, "loss_end": 0.05, "moved_since_step_1": 0.1,
}  # fmt: skip
RIGHT = {**PLANE, "corner_wrong": 0.0}
LEARNED = {
    f"{name}_{time}": value
    for name in ("own_given", "own_gradient", "other_given", "first_given", "second_given")
    for time, value in (("0", 0.1), ("early", 0.4), ("end", 0.4))
} | {"other_slope_early": -1.0, "corner_end": 0.1, "rises": 0.9}
UNMOVED = dict.fromkeys(LEARNED, 0.1) | {"other_slope_early": 0.0, "corner_end": 0.9}
DIGITS = {
    "early_train": 0.7, "train_0": 0.1, "gap": 0.2, "train": 0.95, "early_given": 0.9, "given": 0.8, "given_0": 0.7,
    "ratio": 0.6,
}  # fmt: skip
EASY = {**DIGITS, "early_train": 0.5, "gap": 0.0, "early_given": 0.2, "given": 0.1, "ratio": 0.2}
SCAN = {
    "train_25": 0.1, "combined_25": 0.02, "train_early": 0.1, "combined_middle": 0.3, "gap": 0.9, "train": 0.9,
    "syntax_word_early": 0.9, "syntax_word": 0.8, "syntax_word_others": 0.1, "syntax_word_0": 0.7, "ratio": 2.0,
}  # fmt: skip
MIXED = {**dict.fromkeys(SCAN, 0.01), "gap": 0.0, "train": 0.9}

MADE: dict[str, Rows] = {
    "plane": {("redundant", 1): PLANE, ("epochs", 1): PLANE, ("random", 1): RIGHT, ("narrow", 1): RIGHT},
    "plane-information": {
        (setting, outputs): LEARNED if setting == "redundant" else UNMOVED
        for setting in ("redundant", "random", "narrow")
        for outputs in (1, 2)
    },
    "digit-pairs": {("redundant", 1): DIGITS, ("random", 1): EASY},
    "scan-jump": {("original", 1): SCAN, ("random", 1): MIXED, ("replaced", 1): MIXED},
}


def verdict(claim: Claim, rows: Rows) -> Verdict:
    made = [
        {"setting": setting, "outputs": outputs, "seed": seed, **row}
        for (setting, outputs), row in rows.items()
        for seed in SEEDS
    ]
    names = dict.fromkeys(name for row in made for name in row)
    return judge(claim, measure(claim, {"seeds": Table.make("seeds", "", [Column(name) for name in names], made)}))


def changed(rows: Rows, **values: float) -> Rows:
    """With these values in every network, whatever its setting: then no setting differs from another."""
    return {key: {**row, **values} for key, row in rows.items()}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_networks_as_the_source_describes_them_support_every_claim(claim: Claim) -> None:
    assert verdict(claim, MADE[STUDY[claim.id]]).said == ("tested" if claim.kind == "identity" else "supported")
    assert len(criterion_hash(claim)) == len(criterion_hash(CLAIMS["plane-corner"]))
    assert " at 0x" not in "".join(item.of.text for item in claim.all())


CONTRADICTING: dict[str, dict[str, float]] = {
    "plane-seeds": {"corner_wrong": 0.005},
    "plane-corner": {"corner_wrong": 0.01},
    "plane-redundant-input": {"corner_wrong": 0.1},
    "plane-first-step": {"loss_1": 0.6},
    "plane-loss-information": {"rises": 0.5},
    "plane-needed-input": {"own_gradient_early": 0.1},
    "plane-redundant-information": {"other_given_early": 0.4},
    "plane-entangled-outputs": {"second_given_early": 0.4},
    "digits-faster": {"early_train": 0.5},
    "digits-gap": {"gap": 0.01},
    "digits-redundant-input": {"ratio": 0.5},
    "scan-faster": {"train_25": 0.1},
    "scan-gap": {"gap": 0.05},
    "scan-redundant-word": {"syntax_word": 0.8},
}


@pytest.mark.parametrize("name", [name for name in CLAIMS if CLAIMS[name].kind != "identity"])
def test_one_measure_that_is_not_as_described_contradicts_it(name: str) -> None:
    assert verdict(CLAIMS[name], changed(MADE[STUDY[name]], **CONTRADICTING[name])).outcome == "contradicted"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("plane-corner", {"seen_wrong": 0.06}),
        ("digits-gap", {"train": 0.4}),
        ("scan-gap", {"train": 0.4}),
    ],
)
def test_networks_that_have_not_learned_are_no_test(name: str, values: dict[str, float]) -> None:
    assert verdict(CLAIMS[name], changed(MADE[STUDY[name]], **values)).outcome == "void"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("digits-redundant-input", {"given_0": 0.9}),
        ("scan-faster", {"combined_25": 0.0}),
        ("scan-redundant-word", {"syntax_word_others": 0.0}),
        ("plane-redundant-information", {"other_slope_early": 0.1}),
    ],
)
def test_another_explanation_that_is_left_is_told(name: str, values: dict[str, float]) -> None:
    found = verdict(CLAIMS[name], changed(MADE[STUDY[name]], **values))
    assert found.said.startswith("supported, but ")


def test_a_first_step_that_is_right_in_one_reading_only_is_enough() -> None:
    slow = {**PLANE, "loss_1": 0.6}
    for setting in ("redundant", "epochs"):
        assert verdict(CLAIMS["plane-first-step"], {**MADE["plane"], (setting, 1): slow}).outcome == "supported"


def test_a_network_whose_loss_never_falls_early_says_nothing_of_falling_losses() -> None:
    rows = changed(MADE["plane-information"])
    found = verdict(CLAIMS["plane-loss-information"], {**rows, ("redundant", 1): {**LEARNED, "rises": None}})
    assert found.outcome == "not run"


@pytest.mark.parametrize(("data", "stand_in"), [("mnist", False), ("stand-in", True), ("auto", True)])
def test_digits_that_are_not_mnist_are_named_beside_the_scale(data: str, stand_in: bool) -> None:
    from rote.config import to_plain

    study = studies["digit-pairs"]()
    config = {**to_plain(study.resolve("quick", {})), "data": data, "remedies": False}
    scale = scale_of(study, config)
    assert (scale.name, scale.stand_in) == ("quick", stand_in)
