"""The studies of text through the command: own files, stand-ins, searches, trained networks, refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Answer, rote, script, without_torch

from rote.laboratory import studies
from rote.store import Store
from rote.tasks.text_stand_in import make_reviews

STUDIES = ("padding", "tagging", "classification", "language-modeling")
SMALL = ("--preset", "smoke", "--seeds", "1", "--workers", "1", "--store", "store")
TINY = ("model.embedding=8", "model.hidden=8", "training.learning_rate=0.02", "training.epochs=2")


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Answer]]:
    folder = tmp_path_factory.mktemp("text")
    program = "import sys\nfrom rote.cli import run_command\nfor name in sys.argv[1:]:\n    print(f'== {name}')\n"
    program += "    assert not run_command(['run', name, '--preset', 'smoke', '--workers', '1', '--store', 'store'])\n"
    answer = script(program, *STUDIES, cwd=folder)
    assert answer.code == 0, answer.err
    parts = re.split(r"^== (\S+)\n", answer.out, flags=re.MULTILINE)[1:]
    return folder / "store", {name: Answer(0, text, "") for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of each kind, as a user has them."""
    folder = tmp_path_factory.mktemp("files")
    reviews = make_reviews(120, 7)
    for name, part in (("train", reviews[:100]), ("dev", reviews[100:])):
        (folder / f"{name}.txt").write_text("".join(f"{r.label}\t{' '.join(r.words)}\n" for r in part))
        (folder / f"{name}-plain.txt").write_text("".join(" ".join(r.words) + "\n" for r in part))
        sentences = []
        for review in part:
            pairs = enumerate(zip(review.words, review.tags, strict=True), start=1)
            sentences.append("".join(f"{n}\t{w}\t_\t{t}" + "\t_" * 6 + "\n" for n, (w, t) in pairs))
        (folder / f"{name}.conllu").write_text("\n".join(sentences) + "\n")
    return folder


@pytest.mark.parametrize("name", STUDIES)
def test_smoke_says_a_verdict_on_every_claim_and_what_the_text_is(name, smoke):
    out = smoke[1][name].out
    for claim in studies[name].claims:
        assert re.search(rf"^{claim.id}  .*\n(    .*\n)*?    [A-Z]+  smoke, stand-in data, here", out, re.MULTILINE)
    assert "Not real text but a stand-in" in out


def test_the_exact_claim_about_directions_names_its_test(smoke):
    assert re.search(r"^padding-directions  .*\n(    .*\n)*?    TESTED  smoke", smoke[1]["padding"].out, re.MULTILINE)


def test_finished_studies_are_read_again_and_drawn_without_torch(smoke, folder):
    again = without_torch("run", "tagging", "--preset", "smoke", "--store", smoke[0], cwd=folder)
    assert (again.code, again.out.strip()) == (0, smoke[1]["tagging"].out.strip())
    report = without_torch("report", "--store", smoke[0], "--out", "out", cwd=folder)
    assert report.code == 0, report.err
    page = (folder / "out" / "foundations.html").read_text()
    assert all(claim.id in page for name in STUDIES for claim in studies[name].claims)


def outcome(answer: Answer) -> dict[str, dict[str, object]]:
    assert answer.code == 0, answer.err
    return {row["model"]: row for row in json.loads(answer.out)["tables"]["outcome"]}


def test_a_classifier_from_own_files_stands_beside_the_majority_and_comes_back_trained(files, call, folder):
    words = ("task.train=" + str(files / "train.txt"), "task.dev=" + str(files / "dev.txt"), *TINY)
    found = outcome(call("run", "classification", *SMALL, *words, "--json"))
    assert list(found) == ["majority", "own"]
    assert found["own"]["seeds"] == 1
    store = Store(folder / "store")
    (run,) = [row for row in store.runs() if row.part == "training"]
    (model,) = store.load(run.id).networks()
    said = model.predict([review.words for review in make_reviews(120, 7)[100:]])
    right = [review.label for review in make_reviews(120, 7)[100:]]
    assert found["own"]["dev"] == pytest.approx(sum(map(str.__eq__, said, right)) / 20)


def test_a_tagger_from_own_files_stands_beside_the_most_frequent_tag(files, call, folder):
    words = ("task.train=" + str(files / "train.conllu"), "task.dev=" + str(files / "dev.conllu"), *TINY)
    found = outcome(call("run", "tagging", *SMALL, *words, "--json", "model.cell=gru", "model.layers=2"))
    assert list(found) == ["majority", "most frequent tag", "own"]
    store = Store(folder / "store")
    (run,) = [row for row in store.runs() if row.part == "training"]
    (tags,) = store.load(run.id).networks()[0].predict([["the", "film", "was", "zzz"]])
    assert len(tags) == 4


def test_a_language_model_from_own_files_stands_beside_unigram_and_uniform(files, call):
    words = ("task.train=" + str(files / "train-plain.txt"), *TINY)
    found = outcome(call("run", "language-modeling", *SMALL, *words, "--json"))
    assert list(found) == ["uniform", "unigram", "own"]
    assert found["own"]["dev"] < found["uniform"]["dev"]


def test_other_text_in_the_same_file_is_computed_anew(call, folder):
    lines = [f"{review.label} {' '.join(review.words)}\n" for review in make_reviews(60, 7)]
    path = folder / "train.txt"
    words = ("run", "classification", *SMALL, f"task.train={path}")
    path.write_text("".join(lines[:40]))
    first, again = call(*words), call(*words)
    path.write_text("".join(lines[20:]))
    other = call(*words)
    assert "3 computed, 0 reused" in first.err
    assert "0 computed" in again.err
    assert "3 computed, 0 reused" in other.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "tagging", "task.train=nothing.conllu"), "Cannot read nothing.conllu"),
        (("run", "tagging", "variants=elmann"), "Unknown variant 'elmann'. Did you mean 'elman'?"),
        (("run", "tagging", "variants="), "'variants' must name a network to train"),
        (("run", "tagging", "model.cell=lstms"), "Unknown cell"),
        (("run", "language-modeling", "variants=own", "model.bidirectional=true"), "sees what it is to predict"),
        (("run", "classification", "variants=own", "network=window"), "'network' must be recurrent or average"),
        (("run", "classification", "task.data=mnist"), "must be auto, sst2, trec or stand-in"),
        (("run", "classification", "packed=false"), "'packed' can be false for recurrent taggers"),
        (("run", "tagging", "variants=own", "network=window", "packed=false"), "'packed' can be false for"),
        (("run", "padding", "model.layers=2"), "one layer, one direction and no dropout"),
        (("sweep", "tagging", "model.hidden=4..8"), "A grid needs values for 'model.hidden'"),
        (("sweep", "tagging", "model.hiden=4,8"), "Unknown key 'model.hiden'. Did you mean 'model.hidden'?"),
        (("sweep", "tagging", "model.cell=1..2", "--trials", "2"), "'model.cell' takes no numbers"),
        (("sweep", "tagging", "model.hidden=8..4", "--trials", "2"), "must go from low to high"),
        (("sweep", "tagging", "model.hidden=4,8", "--trials", "0"), "needs the number of trials"),
        (("sweep", "tagging", "model.hidden"), "Expected key=a,b,c or key=low..high"),
        (("sweep", "tagging", "model.hidden=4,x"), "The key 'model.hidden' takes a whole number. Got 'x'"),
        (("sweep", "tagging", "model.hidden=4", "--method", "annealing"), "Unknown method 'annealing'"),
        (("sweep", "tagging", "model.hidden=4", "--of", "dev"), "Expected TABLE.COLUMN after --of"),
        (("sweep", "plane", "model.hidden=4,8"), "'plane' has no score of its own"),
    ],
)
def test_wrong_words_are_refused_before_any_work(words, told, call, folder):
    answer = call(*words, "--preset", "smoke", "--store", "store")
    assert answer.code == 2
    assert told in answer.err
    assert not list(folder.glob("store/runs/*"))


def test_malformed_text_is_refused_with_its_line_before_any_run(call, folder):
    (folder / "train.txt").write_text("a x y\nb\n")
    answer = call("run", "classification", *SMALL, "task.train=train.txt", "task.dev=train.txt")
    assert answer.code == 2
    assert "train.txt, line 2: the label 'b' has no text" in answer.err
    assert not list(folder.glob("store/runs/*/*"))


def test_listing_and_showing_them_needs_no_torch(folder):
    answer = without_torch("show", "tagging", cwd=folder)
    assert answer.code == 0, answer.err
    assert "tagging-bidirectional" in answer.out
    assert rote("list", "tasks", cwd=folder).out.count("From ") == 3


def test_padding_takes_own_files_also_without_test_data(files, call):
    words = ("task.train=" + str(files / "train.txt"), "task.dev=" + str(files / "dev.txt"), "cells=elman")
    answer = call("run", "padding", *SMALL, *words, "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert {row["test"] for row in found["tables"]["outcome"]} == {None}
    assert all(0 <= row["dev"] <= 1 for row in found["tables"]["networks"])
