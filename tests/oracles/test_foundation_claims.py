"""The claims of source 004 on made-up tables: each can be supported and contradicted, by what it says it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rote.claims import Claim, Verdict, judge, measure
from rote.claims.register import criterion, criterion_hash
from rote.laboratory import studies
from rote.laboratory.scale import scale_of
from rote.laboratory.study import ordered_names
from rote.store import Column, Table

ROOT = Path(__file__).parents[2]
STUDIES = [name for name in ordered_names() if studies[name].source.name == "foundations"]
CLAIMS: dict[str, Claim] = {claim.id: claim for name in STUDIES for claim in studies[name].claims}
Rows = list[dict[str, Any]]
Made = dict[str, Rows]


def simulation(drawn: float, **others: float) -> Made:
    """Of an Elman network, and of one before training whose errors are all alike."""
    flat = dict.fromkeys(("drawn", "determined"), 0.5)
    return {"seeds": [{"network": "trained", "drawn": drawn, **others}, {"network": "untrained", **flat}]}


def lexicon(exact: float, group: str = "animals", **tables: Rows) -> Made:
    labels = {"network": "trained", "linkage": "average", "exact": exact}
    names = ("nouns", "verbs", "animate", "inanimate", "human", *(f"other {number}" for number in range(6)))
    return {"groups": [{**labels, "group": name} for name in (group, *names)], **tables}


def cosine(trained: float) -> Made:
    values = {"trained": trained, "counts of 2": 0.8}
    return {"prediction": [{"network": name, "cosine": value} for name, value in values.items()]}


def agreement(trained: float, untrained: float = 0.5) -> Made:
    labels = {"structure": "phrases", "attractors": "opposite"}
    models = {"elman": trained, "untrained elman": untrained}
    return {
        "accuracy": [
            {"model": model, "depth": depth, "accuracy": value, **labels}
            for depth in (1, 2, 3, 5)
            for model, value in models.items()
        ]
    }


def n_grams(counted: float, neural: float = 0.4, near: float = 1.0) -> Made:
    """Past two opposite nouns, and next to the subject."""
    values = {f"{order}-gram": counted for order in range(2, 6)}
    values |= {f"neural {order}-gram": neural for order in range(2, 6)}
    return {
        "accuracy": [
            {"model": model, "structure": "phrases", "depth": depth, "attractors": nouns, "accuracy": accuracy}
            for model, far in values.items()
            for depth, nouns, accuracy in ((0, "congruent", near), (2, "opposite", far))
        ]
    }


def gap_n_grams(counted: float, neural: float = 0.5, near: float = 1.0) -> Made:
    return {
        "networks": [
            {"model": f"{kind}{order}-gram", "trained": trained, "gap_9": value, "gap_2": near}
            for kind, value in (("", counted), ("neural ", neural))
            for order in range(2, 6)
            for trained in ("gap 9", "gap 2")
        ]
    }


def captioned(seen: float, new: float) -> Made:
    """Of a network, and of the nearest picture."""
    values = {"elman": (seen, new), "nearest picture": (0.6, 0.0)}
    return {"networks": [{"model": name, "held": 2, "seen": a, "new": b} for name, (a, b) in values.items()]}


def tuned(**test: float) -> Made:
    return {"tuned-networks": [{"network": name, "test": value} for name, value in test.items()]}


def selection(alone: float, lstm: float = 0.5, mixed: float = 0.5) -> Made:
    rows = (("elman", "gap 9", alone), ("lstm", "gap 9", lstm), ("elman", "mixed gaps", mixed), ("elman", "gap 2", 0.8))
    return {
        "networks": [
            {"model": model, "trained": trained, "before": 0.5, "gap_9": value, "gap_2": value}
            for model, trained, value in rows
        ]
    }


def gradients(elman: float, gated: float, right: float = 1.0) -> Made:
    cells = {"elman": elman, "lstm": gated, "gru": gated}
    return {
        "seeds": [
            {"cell": cell, "network": network, "decay": decay, "right": right}
            for cell, decay in cells.items()
            for network in ("untrained", "trained")
        ]
    }


def padding(true: float, column: float, equal: float = 0.9) -> Made:
    read = {"true": true, "column": column, "packed": column, "equal": equal}
    networks = [
        {"cell": cell, "reading": reading, "test": value}
        for cell in ("elman", "lstm")
        for reading, value in read.items()
    ]
    return {"networks": networks, "outcome": [{"reading": "majority", "test": 0.5}]}


def texts(baseline: str = "", counted: float = 0.5, last_test: float = 0.5, **scores: float) -> Made:
    networks = [
        {"model": name.replace("_", "-"), "dev": value, "test": value, "last_test": last_test}
        for name, value in scores.items()
    ]
    return {"networks": networks, "outcome": [{"model": baseline, "test": counted}]}


CASES: dict[str, tuple[Made, Made]] = {
    "elman-xor-drop": (simulation(0.5, determined=0.4), simulation(0.5, determined=0.5)),
    "elman-xor-everywhere": (simulation(0.5, exclusive=0.6), simulation(0.5, exclusive=0.5)),
    "elman-letters-vowels": (simulation(0, consonant=0.4, vowel=0.1), simulation(0, consonant=0.1, vowel=0.4)),
    "elman-letters-bits": (simulation(0, high=0.2, is_consonant=0.1), simulation(0, high=0.1, is_consonant=0.2)),
    "elman-words-onset": (
        simulation(0, onset=3, second=2, later=1),
        simulation(0, onset=3, second=1, later=2),
    ),
    "elman-words-boundaries": (simulation(0, detection=0.6), simulation(0, detection=0.4)),
    "elman-lexicon-prediction": (cosine(0.9), cosine(0.7)),
    "elman-lexicon-tree": (lexicon(1.0), lexicon(0.0)),
    "elman-lexicon-classes": (lexicon(1.0), lexicon(0.0)),
    "elman-lexicon-animals": (lexicon(1.0), lexicon(0.0)),
    "elman-lexicon-zog": (
        {"unseen": [{"network": "trained", "joins_kin": 1.0, "nearest_kin": 0.0}]},
        {"unseen": [{"network": "trained", "joins_kin": 0.0, "nearest_kin": 1.0}]},
    ),
    "elman-lexicon-tokens": (
        {"token-seeds": [{"network": "trained", "own": 1.0}]},
        {"token-seeds": [{"network": "trained", "own": 0.999}]},
    ),
    "agreement-far": (agreement(0.95), agreement(0.85)),
    "bptt-vanishing": (gradients(-0.1, 0.0), gradients(0.1, 0.0)),
    "bptt-gates": (gradients(-0.2, -0.1), gradients(-0.1, -0.2)),
    "selection-vanishing": (selection(0.5, lstm=1.0), selection(0.9, lstm=1.0)),
    "selection-mixed": (selection(0.5, mixed=1.0), selection(1.0, mixed=1.0)),
    "padding-final-state": (padding(0.9, 0.5), padding(0.5, 0.5)),
    "classification-final-state": (texts("majority", elman=0.6, lstm=0.7), texts("majority", elman=0.4, lstm=0.7)),
    "classification-order": (texts(lstm=0.7, average=0.6), texts(lstm=0.6, average=0.7)),
    "classification-regularization": (
        texts(average=0.5, average_l2=0.6, average_words=0.6),
        texts(average=0.5, average_l2=0.6, average_words=0.4),
    ),
    "classification-early-stopping": (texts(average_long=0.6), texts(average_long=0.4)),
    "language-modeling-unigram": (texts("unigram", 90, elman=80, lstm=70), texts("unigram", 90, elman=99, lstm=70)),
    "language-modeling-window": (tuned(window=90, elman=80), tuned(window=90, elman=99)),
    "agreement-fixed-context": (n_grams(0.4), n_grams(0.4, neural=0.95)),
    "selection-fixed-context": (gap_n_grams(0.5), gap_n_grams(0.5, neural=1.0)),
    "captioning-describes": (captioned(0.8, 0.3), captioned(0.5, 0.5)),
    "captioning-composes": (captioned(0.8, 0.77), captioned(0.8, 0.7)),
    "tagging-bidirectional": (texts(elman_both=0.9, elman=0.8), texts(elman_both=0.8, elman=0.9)),
    "tagging-deep": (texts(elman_both_deep=0.9, elman_both=0.8), texts(elman_both_deep=0.8, elman_both=0.9)),
    "tagging-baseline": (texts("most frequent tag", lstm_both=0.6), texts("most frequent tag", lstm_both=0.4)),
    "tagging-packing": (
        texts(elman_both_unpacked=0.8, elman_both=0.9),
        texts(elman_both_unpacked=0.9, elman_both=0.8),
    ),
}
IN_PRINCIPLE = {"agreement-rnn": (agreement(0.95), agreement(0.85)), "selection-rnn": (selection(1.0), selection(0.5))}
VOID = {
    "elman-xor-drop": {
        "seeds": [{"network": name, "drawn": 0.5, "determined": 0.4} for name in ("trained", "untrained")]
    },
    "agreement-rnn": agreement(0.95, untrained=0.95),
    "bptt-gates": gradients(-0.2, -0.1, right=0.3),
    "padding-final-state": padding(0.9, 0.5, equal=0.4),
    "agreement-fixed-context": n_grams(0.4, near=0.5),
    "selection-fixed-context": gap_n_grams(0.5, near=0.5),
    "captioning-composes": captioned(0.4, 0.4),
    "tagging-deep": texts(elman_both_deep=1.0, elman_both=0.999),
}


def verdict(name: str, made: Made, seeds: int = 6) -> Verdict:
    """With the same rows for each seed."""
    tables = {}
    for table, rows in made.items():
        columns = [Column(column) for column in dict.fromkeys(["seed", *(key for row in rows for key in row)])]
        each = [{"seed": seed, **row} for seed in range(seeds) for row in rows]
        tables[table] = Table.make(table, "", columns, rows if table == "outcome" else each)
    return judge(CLAIMS[name], measure(CLAIMS[name], tables))


def test_every_claim_is_tried_or_names_the_test_that_would_fail() -> None:
    identities = {name for name, claim in CLAIMS.items() if claim.kind == "identity"}
    assert set(CLAIMS) == {*CASES, *IN_PRINCIPLE, *identities}
    for name in identities:
        path, test = CLAIMS[name].test.split("::")
        assert f"def {test}(" in (ROOT / path).read_text(), name


@pytest.mark.parametrize("name", CASES)
def test_a_claim_is_supported_and_contradicted_by_what_it_says(name: str) -> None:
    good, bad = CASES[name]
    assert verdict(name, good).outcome == "supported"
    assert verdict(name, bad).outcome == "contradicted"


@pytest.mark.parametrize("name", IN_PRINCIPLE)
def test_what_is_possible_in_principle_needs_one_seed_and_is_never_contradicted(name: str) -> None:
    good, bad = IN_PRINCIPLE[name]
    assert verdict(name, good).outcome == "supported"
    assert verdict(name, bad, seeds=100).outcome == "open"


@pytest.mark.parametrize("name", VOID)
def test_without_its_conditions_a_claim_is_not_tested(name: str) -> None:
    assert verdict(name, VOID[name]).outcome == "void"


def test_counts_that_do_as_well_are_told_beside_the_verdict() -> None:
    made = simulation(0.5, determined=0.4)
    made["seeds"].append({"network": "counts of 3", "drawn": 0.5, "determined": 0.3})
    assert verdict("elman-xor-drop", made).said == "supported, but The drop: trained minus counts of 3: 0/6"


def test_criteria_are_written_without_anything_of_this_process() -> None:
    for claim in CLAIMS.values():
        assert " at 0x" not in str(criterion(claim))
        assert criterion_hash(claim) == criterion_hash(claim)
        assert claim.published, claim.id


@pytest.mark.parametrize("name", STUDIES)
def test_the_preset_paper_is_elmans_size_or_our_own(name: str) -> None:
    from rote.config import to_plain

    study = studies[name]()
    scales = {preset: scale_of(study, to_plain(study.resolve(preset, {}))) for preset in ("paper", "quick")}
    assert scales["paper"].name == ("published" if name.startswith("elman") else "own")
    assert not scales["paper"].stand_in
    assert scales["quick"].name == ("published" if name == "elman-words" else "quick")
    more = to_plain(study.resolve("paper", {"seeds": 12, "first_seed": 1000}))
    assert scale_of(study, more) == scales["paper"]


def test_the_scale_of_a_kept_result_does_not_depend_on_which_data_this_machine_has() -> None:
    """On any machine one of these two is not what the preset quick would take."""
    from rote.config import to_plain

    study = studies["classification"]()
    for data in ("sst2", "stand-in"):
        quick, paper = (to_plain(study.resolve(preset, {"task.data": data})) for preset in ("quick", "paper"))
        assert scale_of(study, quick).name == "quick"
        assert scale_of(study, paper).name == ("own" if data == "sst2" else "altered")
