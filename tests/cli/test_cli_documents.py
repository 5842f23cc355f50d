"""What the documents say works: their code is run, their commands parse."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from command_line import Answer, script
from command_line import rote as rote_command

import rote
from rote.cli import COMMANDS
from rote.commands.arguments import parse
from rote.config import parse_overrides
from rote.laboratory import studies
from rote.store import Record

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/store.md", "CITATION.cff")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall((ROOT / document).read_text()) if kind == language]


def commands(document: str) -> list[str]:
    lines = [line.split("#")[0].strip() for text in blocks(document, "") for line in text.splitlines()]
    return [line for line in lines if line.startswith("rote ")]


KEPT_EXAMINATION = """
import rote
from rote.examination import kept_profile
make, rote.examine = None, lambda make: kept_profile("lstm")  # which takes minutes, and has tests of its own
"""


def test_the_python_of_the_readme_and_of_the_store_runs(folder):
    """In this order: the second reads the store that the first leaves."""
    examination, laboratory, network, own_model = blocks("README.md", "python")
    answer = script(KEPT_EXAMINATION + examination, cwd=folder)
    assert answer.code == 0, answer.err
    assert "Follows the rule: " in answer.out
    answer = script(laboratory.replace("workers=2", "workers=1") + network, cwd=folder)
    assert answer.code == 0, answer.err
    assert "plane-corner" in answer.out
    assert "redundant" in answer.out
    assert "'seed': 0, 'step': " in answer.out
    answer = script(own_model, cwd=folder)
    assert answer.code == 0, answer.err
    (store,) = blocks("docs/store.md", "python")
    answer = script(store, cwd=folder)
    assert answer.code == 0, answer.err
    assert "'setting': 'redundant'" in answer.out


def test_the_python_of_the_analyses_page_runs(folder):
    answer = script("\n".join(blocks("docs/analyses.md", "python")), cwd=folder)
    assert answer.code == 0, answer.err


def test_the_python_of_the_autocomplete_page_runs(folder):
    answer = script("\n".join(blocks("docs/autocomplete.md", "python")), cwd=folder)
    assert answer.code == 0, answer.err
    assert "rank of 'states': 1" in answer.out


def test_the_python_of_the_page_on_everyday_uses_runs(folder):
    answer = script("\n".join(blocks("docs/everyday.md", "python")), cwd=folder)
    assert answer.code == 0, answer.err
    assert re.search(r"^majority 0\.\d+\nown 0\.\d+\n\['(positive|negative)'\]$", answer.out, re.MULTILINE)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The study of CONTRIBUTING.md as a file in a folder of its own."""
    folder = tmp_path_factory.mktemp("example")
    (text,) = blocks("CONTRIBUTING.md", "python")
    (folder / "latch_study.py").write_text(text)
    return folder


def with_example(example: Path, *words: str) -> Answer:
    """As CONTRIBUTING.md says to name it."""
    named = [line for line in commands("CONTRIBUTING.md") if "latch_study" in line]
    assert [line for line in named if f"rote {words[0]} " in line or words[0] in ("list", "show")]
    assert all("--import latch_study.py" in line for line in named)
    return rote_command(*words, "--import", "latch_study.py", cwd=example)


def test_the_example_of_a_study_runs_is_judged_reported_and_found_again(example):
    answer = with_example(example, "run", "latch", "--seeds", "8")
    assert answer.code == 0, answer.err
    assert "Every network at the end" in answer.out
    assert re.search(r"^latch-remembered .*\n( .*\n)* +SUPPORTED", answer.out, re.MULTILINE)
    again = with_example(example, "run", "latch", "--seeds", "8")
    assert again.out == answer.out
    assert "Runs: 0 computed, " in again.err
    assert with_example(example, "report").code == 0
    assert "latch" in (example / "report" / "example.html").read_text()


def test_editing_a_claim_of_the_example_computes_nothing_and_a_measurement_no_training(example):
    file = example / "latch_study.py"
    text = file.read_text()

    def computed(old: str, new: str) -> str:
        assert old in text
        file.write_text(text.replace(old, new))
        answer = with_example(example, "run", "latch", "--seeds", "8")
        assert answer.code == 0, answer.err
        return re.search(r"Runs: (\d+) computed", answer.err)[1]

    try:
        computed("", "")
        assert computed("After training the letter is known.", "The letter is known after training.") == "0"
        assert computed("examples(9, self.asked)", "examples(10, self.asked)") == "1"
    finally:
        file.write_text(text)


def test_the_example_of_a_study_is_listed_and_shown(example):
    assert "Do networks still know at the end of a sequence what they read first?" in with_example(example, "list").out
    shown = with_example(example, "show", "latch")
    assert shown.code == 0, shown.err
    assert "training.learning_rate" in shown.out


GUIDE = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs" / "guide").glob("*.md"))]


@pytest.mark.parametrize(
    "document", ["README.md", "CONTRIBUTING.md", "docs/store.md", "docs/everyday.md", "docs/verdicts.md", *GUIDE]
)
def test_commands_in_documents_parse(document):
    for line in commands(document):
        name = line.split()[1]
        assert isinstance(parse(line.split()[1:], COMMANDS), COMMANDS[name])


def test_the_readme_has_every_command_and_no_other():
    table = re.findall(r"^\| `rote (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert set(table) == set(COMMANDS)
    assert len(commands("README.md")) >= 8


def test_keys_and_variables_in_the_readme_exist():
    runs = [parse(line.split()[1:], COMMANDS) for line in commands("README.md") if line.startswith("rote run ")]
    assert {key for run in runs for key in parse_overrides(run.overrides)} >= {"model.hidden", "grid"}
    for run in runs:
        studies[run.study]().resolve(run.preset, parse_overrides(run.overrides))
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    documented = set(re.findall(r"^\| `(ROTE_\w+)`", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert documented == set(re.findall(r"environ\.get\(\s*\"(ROTE_\w+)\"", sources))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_to_files_that_are_there(document):
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("https://"):
            assert (ROOT / document).parent.joinpath(target).exists(), target


def test_the_record_is_described_with_all_its_fields():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", (ROOT / "docs" / "store.md").read_text(), re.MULTILINE)
    described = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(described) == sorted(field.name for field in dataclasses.fields(Record))


def test_the_citation_has_the_version_of_the_package():
    lines = dict(line.split(": ", 1) for line in (ROOT / "CITATION.cff").read_text().splitlines() if ": " in line)
    assert lines["version"] == rote.__version__
    assert lines["cff-version"] == "1.2.0"
    assert {"message", "title", "license"} <= set(lines)


def test_make_targets_in_documents_exist():
    text = "".join((ROOT / document).read_text() for document in DOCUMENTS)
    named = set(re.findall(r"(?:`|^)make (\w+)", text, re.MULTILINE))
    assert {"reproduce", "test"} <= named
    assert named <= set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
