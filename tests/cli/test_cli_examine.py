"""``rote examine`` as a user gives it, on a task of seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.examination import Profile

TINY = Path(__file__).parent / "tiny_battery.py"


@pytest.fixture
def examined(call, folder):
    """The command on the small task, with a module of the user's own."""
    words = ("--import", TINY, "--tasks", "tiny", "--seeds", 2, "--against", "", "--minutes", 1, "--workers", 1)
    return lambda *more: call("examine", f"{TINY}:make", *words, *more)


def test_a_module_of_ones_own_gets_a_profile_a_page_a_figure_and_data(examined, folder):
    first = examined("--out", "mine.html")
    assert first.code == 0, first.err
    assert "tiny_battery:make" in first.out
    assert "composition index" in first.out
    assert "Rough: 2 seeds" in first.out
    page = (folder / "mine.html").read_text()
    assert "Does tiny_battery:make compose?" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")  # nothing is loaded
    trained = sorted((folder / "rote-store" / "runs" / "examination").iterdir())
    again = examined("--json")
    assert sorted((folder / "rote-store" / "runs" / "examination").iterdir()) == trained  # found, not trained again
    plain = json.loads(again.out)
    assert plain["tasks"]["tiny"]["runs"][0]["known"] == 1.0
    both = examined("--json", "--out", "mine.json")
    assert json.loads(both.out)["tasks"] == plain["tasks"]  # nothing else stands among the data
    assert "Written: mine.json" in both.err
    assert Profile.load(folder / "mine.json").to_plain() == {**plain, "plan": Profile.load(folder / "mine.json").plan}
    assert examined("--out", "mine.svg", "--badge", "badge.svg").code == 0
    assert "tiny_battery:make between rote (0) and rule (1)" in (folder / "badge.svg").read_text()
    assert (folder / "rote-store" / "profiles" / "tiny_battery-make.json").exists()  # for the explorer
    assert (folder / "mine.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(("kind", "make"), [("seq2seq", "make_pair"), ("classifier", "make_bag")])
def test_an_encoder_decoder_and_a_classifier_get_a_profile_too(call, folder, kind, make):
    words = ("--import", TINY, "--tasks", "tiny", "--seeds", 2, "--minutes", 1, "--against", "lstm", "--workers", 1)
    words += ("--json", "--out", "other.html")
    answer = call("examine", f"{TINY}:{make}", *words, "--kind", kind)
    assert answer.code == 0, answer.err
    plain = json.loads(answer.out)
    assert plain["model"]["name"] == f"tiny_battery:{make} ({kind})"
    assert plain["plan"]["kind"] == kind
    assert [run["known"] for run in plain["tasks"]["tiny"]["runs"]] == [1.0, 1.0]
    page = (folder / "other.html").read_text()
    assert f"Does tiny_battery:{make} ({kind}) compose?" in page
    assert "Only tasks whose items are the same: lstm was asked as a model of tokens" in page
    records = [path.read_text() for path in (folder / "rote-store" / "runs" / "examination").glob("*/record.json")]
    assert sum(f'"kind": "{kind}"' in record for record in records) >= 2  # the trainings


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lstmm",), "Did you mean 'lstm'?"),
        (("lstm", "--tasks", "nix"), "Unknown task of the battery 'nix'"),
        (("lstm", "--seeds", "0"), "'seeds' must be above 0"),
        (("lstm", "--minutes", "-1"), "'minutes' must be above 0"),
        (("lstm", "--out", "x.doc"), "'--out' must end in"),
        (("lstm", "--badge", "x.png"), "'--badge' must end in .svg"),
        (("lstm", "--badge", "gone/x.svg"), "The folder gone of '--badge' does not exist"),
        (("lstm", "--kind", "classifier", "--tasks", "count"), "a classifier gives one symbol"),
        (("lstm", "--out", "gone/x.html"), "The folder gone of '--out' does not exist"),
        (("gone.py:make",), "gone.py, which does not exist"),
        (("lstm", "--against", "xlstmm"), "Unknown learner 'xlstmm'"),
        (("lstm", "--pairs", "x.tsv"), "'--pairs' goes with --language-model"),
        (("lstm", "--language-model"), "takes a function that scores sentences"),
        (("a.py:score", "--language-model", "--seeds", "3"), "'--seeds' does nothing with --language-model"),
        (("a.py:score", "--language-model", "--first-seed", "3"), "'--first-seed' does nothing"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_before_anything_is_trained(call, folder, words, told):
    answer = call("examine", *words)
    assert answer.code == 2
    assert told in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (folder / "rote-store").exists()


def test_a_function_that_ends_the_program_is_told_in_one_line(call, folder):
    (folder / "ending.py").write_text("def make(vocabulary_size):\n    raise SystemExit(0)\n")
    answer = call("examine", "ending.py:make")
    assert answer.code == 2
    assert "ending:make(33) fails: SystemExit: 0." in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (folder / "rote-store").exists()
