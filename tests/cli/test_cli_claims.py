"""The ledger through the command: what is kept beside what ran here, filters, export, register, claims of one's own."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from command_line import SMOKE

from rote.claims import Register, register
from rote.laboratory import studies

CLAIMS = ("plane-seeds", "plane-corner", "plane-redundant-input", "plane-first-step")
TALLIED = ("asserted", "cited", "implied")


def rows_of(call, *words):
    return json.loads(call("claims", "--json", *words).out)


def test_a_newcomer_sees_what_is_kept_and_what_was_not_run_says_how(call):
    answer = call("claims")
    assert answer.code == 0
    assert re.search(r"^SUPPORTED +25\d/256 plane-seeds +published kept", answer.out, re.MULTILINE)
    here = call("claims", "--here")
    assert re.search(r"^NOT RUN +plane-seeds +rote run plane$", here.out, re.MULTILINE)
    assert "Run: rote run plane" in json.dumps(rows_of(call, "--here"))


def test_a_claim_is_a_line_that_fits_a_screen_and_the_tally_counts_what_sources_say(call):
    rows, out = rows_of(call), call("claims").out
    lines = [line for line in out.splitlines() if re.match(r"[A-Z ]{13} ", line)]
    assert max(map(len, lines)) <= 110
    assert Counter(line[:13].strip().lower() for line in lines) == Counter(row["verdict"] for row in rows)
    counted = Counter(row["verdict"] for row in rows if row["kind"] in TALLIED)
    total = next(line.split()[1:] for line in out.splitlines() if line.startswith("all "))
    assert [int(number) for number in total] == [
        counted[name] for name in ("supported", "contradicted", "open", "void", "not run")
    ]
    assert "if none were true, at most" in out
    assert "false discovery rate" in out


def test_filters_leave_the_claims_of_a_source_a_study_a_kind_or_an_outcome(call):
    everything = rows_of(call)
    for option, key, value, spelled in (
        ("--source", "source", "resistance", "resistance"),
        ("--source", "source", "resistance", "001"),
        ("--study", "study", "plane", "plane"),
        ("--kind", "kind", "audit", "audit"),
        ("--outcome", "verdict", "contradicted", "contradicted"),
        ("--outcome", "verdict", "does not hold", "does-not-hold"),
    ):
        expected = [row for row in everything if row[key] == value]
        assert rows_of(call, option, spelled) == expected
        assert 0 < len(expected) < len(everything)
    none = call("claims", "--study", "elman-xor", "--outcome", "void")
    assert (none.code, none.out) == (0, "No claim is like that.\n")


def test_what_ran_here_stands_beside_what_is_kept(call, finished):
    at = ("--store", finished.store, "--study", "plane")
    ours = {
        row["claim"]: row
        for row in json.loads(call("run", *SMOKE, "--store", finished.store, "--json").out)["verdicts"]
    }
    rows = rows_of(call, *at)
    assert {row["claim"] for row in rows} == set(CLAIMS)
    for row in rows:
        *kept, here = [(one["scale"], one["where"]) for one in row["verdicts"]]
        assert (kept[0], here) == (("published", "kept"), ("smoke", "here"))
        assert row["verdicts"][-1] == {key: value for key, value in ours[row["claim"]].items() if key != "claim"}
    for row in rows_of(call, "--here", *at):
        assert [one["scale"] for one in row["verdicts"]] == ["smoke"]
    full = call("claims", "--full", *at).out
    assert full.count("published: ") == len(CLAIMS)
    assert "mean " in full


def test_runs_with_changed_settings_do_not_count_as_the_published_experiment(call, folder):
    call("run", *SMOKE, "training.learning_rate=0.01")
    assert {row["verdict"] for row in rows_of(call, "--here") if row["kind"] != "identity"} == {"not run"}


# --- out of the house --------------------------------------------------------------------------------------------


def test_export_has_every_value_and_every_verdict_and_a_crate_that_names_its_files(call, folder):
    answer = call("claims", "--study", "plane", "--export", "ledger")
    assert (answer.code, answer.out) == (0, "Written: ledger\n")
    rows = rows_of(call, "--study", "plane")
    with Path("ledger/measurements.csv").open(newline="") as file:
        values = list(csv.DictReader(file))
    corner = next(row for row in rows if row["claim"] == "plane-corner")["verdicts"][0]["findings"][0]
    of_corner = [
        row
        for row in values
        if (row["claim"], row["part"], row["scale"]) == ("plane-corner", corner["label"], "published")
    ]
    assert {row["seed"]: float(row["value"]) for row in of_corner} == corner["values"]
    assert sum(row["holds"] == "true" for row in of_corner) == corner["k"]
    with Path("ledger/verdicts.csv").open(newline="") as file:
        verdicts = {row["claim"]: row["outcome"] for row in csv.DictReader(file) if row["scale"] == "published"}
    assert verdicts == {row["claim"]: row["verdict"] for row in rows}
    graph = json.loads(Path("ledger/ro-crate-metadata.json").read_text())["@graph"]
    by_id = {item["@id"]: item for item in graph}
    assert len(by_id) == len(graph)
    assert by_id["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    for part in by_id["./"]["hasPart"]:
        assert int(by_id[part["@id"]]["contentSize"]) == (Path("ledger") / part["@id"]).stat().st_size
    references = re.findall(r'\{"@id": "([^"]+)"\}', json.dumps(graph))
    assert {one for one in references if not one.startswith("https://w3id.org")} <= set(by_id)


OWN = """
[[claim]]
id = "redundant-is-worse"
statement = "A redundant input makes the corner worse."
study = "plane"
part = [
  {label = "Worse", table = "seeds", value = "corner_wrong", where = {setting = "redundant"}, minus = {setting = "random"}, above = 0.0},
  {label = "Ratio", table = "seeds", value = "corner_wrong", where = {setting = "redundant"}, over = {setting = "redundant"}, inside = [-0.1, 0.1], role = "report"},
]
"""  # noqa: E501


def test_claims_of_ones_own_are_judged_by_the_same_rules_on_a_study_or_on_a_run(call, folder, finished):
    Path("mine.toml").write_text(OWN)
    at = ("--file", "mine.toml", "--store", finished.store)
    (row,) = rows_of(call, *at)
    assert next((one["scale"], one["outcome"]) for one in row["verdicts"]) == ("published", "supported")
    run = json.loads(call("run", *SMOKE, "--store", finished.store, "--json").out)
    by_setting = {
        name: {item["seed"]: item["corner_wrong"] for item in run["tables"]["seeds"] if item["setting"] == name}
        for name in ("redundant", "random")
    }
    (row,) = rows_of(call, *at, "--run", run["run"])
    worse, ratio = row["verdicts"][0]["findings"]
    assert worse["values"] == {
        str(seed): value - by_setting["random"][seed] for seed, value in by_setting["redundant"].items()
    }
    assert set(ratio["values"].values()) <= {0.0, None}  # nothing over nothing is no number


def test_the_example_of_the_guide_is_judged(call, folder):
    page = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text()
    Path("mine.toml").write_text(page.split("```toml")[1].split("```")[0])
    (row,) = rows_of(call, "--file", "mine.toml")
    assert row["verdicts"][0]["outcome"] == "supported"
    assert [finding["role"] for finding in row["verdicts"][0]["findings"]] == ["part", "condition"]


WRONG = {
    "no TOML": ("[[claim", "is no TOML"),
    "nothing": ("", "must consist of [[claim]] tables"),
    "no parts": ('[[claim]]\nid = "a"', "needs an id and a list of parts"),
    "unknown key": (OWN.replace("statement", "statment"), "Unknown key in claim 1 of mine.toml: 'statment'"),
    "unknown study": (OWN.replace('"plane"', '"plan"'), "Unknown study 'plan'. Did you mean 'plane'?"),
    "no region": (OWN.replace(", above = 0.0", ""), "needs one of above, below and inside. Got none"),
    "two regions": (OWN.replace("above = 0.0", "above = 0.0, below = 1"), "Got above, below"),
    "a word": (OWN.replace("above = 0.0", 'above = "zero"'), "'above' of part 1 of claim 1 of mine.toml must be a num"),
    "an empty region": (OWN.replace("[-0.1, 0.1]", "[0.1, -0.1]"), "must be [a, b] with a below b"),
    "role": (OWN.replace('"report"', '"witness"'), "'role' of part 2 of claim 1 of mine.toml must be one of part, con"),
    "labels": (OWN.replace('where = {setting = "redundant"}, minus', 'where = "redundant", minus'), "must be labels"),
    "no study": (OWN.replace('study = "plane"\n', ""), "names no study"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_such_a_file_is_one_line_with_its_place(call, folder, text, told):
    Path("mine.toml").write_text(text)
    answer = call("claims", "--file", "mine.toml")
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


# --- register ----------------------------------------------------------------------------------------------------


def test_register_enters_what_is_new_with_the_reason_and_nothing_twice(call, folder, monkeypatch):
    path = folder / "register.json"
    monkeypatch.setattr(register, "FILE", path)
    monkeypatch.setattr(Register.read.__func__, "__defaults__", (path,))
    monkeypatch.setattr(Register.write, "__defaults__", (path,))
    answer = call("claims", "register", "--source", "resistance", "--reason", "the first")
    assert answer.code == 0
    assert re.search(r"^new +plane-seeds$", answer.out, re.MULTILINE)
    entries = Register.read(path).entries
    assert set(entries) == {
        claim.id for name in studies for claim in studies[name].claims if claim.source == "resistance"
    }
    assert {entry.reason for one in entries.values() for entry in one} == {"the first"}
    again = call("claims", "register", "--source", "resistance", "--reason", "again")
    assert again.out == "Every criterion is registered as it is now.\n"
    assert Register.read(path).entries == entries


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("register",), "needs the reason"),
        (("register", "--reason", " "), "needs the reason"),
        (("register", "--reason", "x", "--json"), "'--json' does nothing for 'rote claims register'"),
        (("--reason", "x"), "'--reason' goes with: rote claims register"),
        (("--run", "3f2a"), "'--run' goes with --file"),
        (("--json", "--full"), "leave out --full and --export"),
        (("--file", "mine.toml", "--here"), "leave out --source, --kind and --here"),
        (("--file", "missing.toml"), "The file missing.toml cannot be read"),
        (("registr",), "Unknown action 'registr'. Did you mean 'register'?"),
        (("--kind", "our"), "Unknown kind 'our'. Did you mean 'ours'?"),
    ],
)
def test_what_does_not_go_together_is_refused(call, folder, words, told):
    answer = call("claims", *words)
    assert (answer.code, answer.out) == (2, "")
    assert told in answer.err
