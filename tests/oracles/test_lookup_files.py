"""Files of lookup rows: read and written in the original form, and what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from lookup_samples import any_task, random_tables

from rote.errors import RoteError, UsageError
from rote.tasks import tasks
from rote.tasks.lookup import Example, LookupTask
from rote.tasks.lookup_encoding import encode
from rote.tasks.lookup_files import read_tsv, write_tsv

ROW = "010 t1 t6 .\t010 101 000\t0 1 2 3\n"


# Files.


def test_a_row_is_written_in_the_original_form_and_read_without_the_end_symbols_target(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(ROW)
    rows = read_tsv(path)
    assert rows == [Example(("010", "t1", "t6", "."), ("010", "101", "000"), (0, 1, 2))]
    write_tsv(str(path), rows)
    assert path.read_bytes() == ROW.encode()


@settings(max_examples=30)
@given(task=any_task())
def test_what_is_written_is_read_again(task: LookupTask, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lookup") / "rows.tsv"
    for rows in task.splits().values():
        if rows:
            write_tsv(path, rows)
            assert read_tsv(path) == rows


def test_rows_without_the_end_symbols_target_and_with_ignored_targets_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_bytes(b"0 t1 .\t0 1\t-1 2\r\n1 t1 .\t1 0\t0 1 -1")  # line ends of Windows, none at the end
    assert [row.attention for row in read_tsv(path)] == [(-1, 2), (0, 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("010 t1 .\t010 101", "expected 3 columns with tabs between (inputs, outputs, attention targets). Found 2: "),
        ("", "expected 3 columns with tabs between (inputs, outputs, attention targets). Found 1: ''."),
        ("010 .\t010\t0", "expected a bit string, one or more tables and '.'. Found '010 .'."),
        ("012 t1 .\t010 101\t0 1", "expected a bit string first. Found '012'."),
        ("010 t1 x .\t010 101 000\t0 1 2", "expected a table (t1, t2, ...). Found 'x'."),
        ("010  t1 .\t010 101 000\t0 1 2", "expected a table (t1, t2, ...). Found ''."),
        ("010 t1 t6\t010 101\t0 1", "expected '.' at the end of the inputs. Found 't6'."),
        ("010 t1 .\t010\t0", "expected 2 outputs for '010 t1 .', the input and one per table. Found 1: '010'."),
        ("010 t1 .\t010 1010\t0 1", "expected outputs of 3 bits. Found '1010'."),
        ("010 t1 .\t010 t1\t0 1", "expected outputs of 3 bits. Found 't1'."),
        ("010 t1 .\t010 101\t0", "expected 2 attention targets, one per output, or one more for an end symbol. Found"),
        ("010 t1 .\t010 101\t0 1 2 2", "or one more for an end symbol. Found 4: '0 1 2 2'."),
        ("010 t1 .\t010 101\t0 one", "expected whole numbers as attention targets. Found 'one'."),
        ("010 t1 .\t010 101\t0 1.0", "expected whole numbers as attention targets. Found '1.0'."),
        ("010 t1 .\t010 101\t0 3", "expected attention targets from 0 to 2, the positions of the inputs, or -1 for"),
        ("010 t1 .\t010 101\t0 -2", "or -1 for none. Found -2."),
        ("010 t1 .\t010 101\t0 1 3", "or -1 for none. Found 3."),
    ],
)
def test_a_malformed_row_is_refused_with_its_file_and_line(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(ROW + line + "\n" + ROW)
    with pytest.raises(UsageError) as refused:
        read_tsv(path)
    assert str(refused.value).startswith(f"{path}, line 2: expected ")
    assert message in str(refused.value)


def test_files_that_are_missing_empty_or_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.tsv"
    with pytest.raises(UsageError, match=r"Cannot read .*rows.tsv: No such file or directory"):
        read_tsv(path)
    path.write_bytes(b"")
    with pytest.raises(UsageError, match=r"rows.tsv is empty. Expected rows of inputs, outputs and attention targets."):
        read_tsv(path)
    path.write_bytes(ROW.encode() + b"\xff")
    with pytest.raises(UsageError, match=r"rows.tsv is not a text file in UTF-8 \(invalid start byte at byte 32\)"):
        read_tsv(path)


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(RoteError, match="Cannot write"):
        write_tsv(tmp_path / "absent" / "rows.tsv", LookupTask().splits()["train"])
    path = tmp_path / "rows.tsv"
    path.write_text(ROW)
    with pytest.raises(AttributeError):
        write_tsv(path, [*read_tsv(path), None])
    assert path.read_text() == ROW
    assert list(tmp_path.iterdir()) == [path]


# Numbers.


def test_rows_are_encoded_by_their_places_in_the_vocabulary_and_padded_at_the_end() -> None:
    rows = [
        Example(("0", "t1", "."), ("0", "1"), (0, 1)),
        Example(("1", "t2", "t1", "."), ("1", "1", "0"), (0, -1, 2)),
    ]
    vocabularies = random_tables(bits=1, tables=2, unseen_tables=0, heldout_inputs=0).vocabulary()
    encoded = encode(rows, *vocabularies)
    assert encoded.inputs.tolist() == [[5, 3, 2, 1], [6, 4, 3, 2]]
    assert encoded.input_lengths.tolist() == [3, 4]
    assert encoded.outputs.tolist() == [[3, 4, 1], [4, 4, 3]]
    assert encoded.output_lengths.tolist() == [2, 3]
    assert encoded.attention.tolist() == [[0, 1, -1], [0, -1, 2]]
    assert {array.dtype for array in vars(encoded).values()} == {np.dtype(np.int64)}


def test_encoded_rows_can_be_read_back_from_the_vocabulary() -> None:
    task = LookupTask()
    rows = [row for split in task.splits().values() for row in split]
    symbols, results = task.vocabulary()
    encoded = encode(rows, symbols, results)
    for place, row in enumerate(rows):
        inputs = encoded.inputs[place, : encoded.input_lengths[place]]
        outputs = encoded.outputs[place, : encoded.output_lengths[place]]
        assert tuple(symbols[number] for number in inputs) == row.inputs
        assert tuple(results[number] for number in outputs) == row.outputs


def test_nothing_is_encoded_as_arrays_without_rows() -> None:
    encoded = encode([], *LookupTask().vocabulary())
    assert {array.shape for array in vars(encoded).values()} == {(0, 0), (0,)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Example(("000", "t9", "."), ("000", "000"), (0, 1)), "The input symbol 't9' of the row '000 t9 .' is not in"),
        (Example(("000", "t1", "."), ("000", "0"), (0, 1)), "The output symbol '0' of the row '000 0' is not in"),
        (
            Example(("000", "t1", "."), ("000", "110"), (0, 3)),
            r"The row '000 t1 .' needs 2 attention targets, one per output, from 0 to 2 or -1 for none. Got \(0, 3\).",
        ),
        (Example(("000", "t1", "."), ("000", "110"), (0, -2)), r"or -1 for none. Got \(0, -2\)."),
        (Example(("000", "t1", "."), ("000", "110"), (0, 1, 2)), r"needs 2 attention targets, .* Got \(0, 1, 2\)."),
    ],
)
def test_rows_that_cannot_be_encoded_are_refused(row: Example, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        encode([row], *LookupTask().vocabulary())


def test_a_vocabulary_without_the_padding_in_its_place_is_refused() -> None:
    with pytest.raises(UsageError, match=r"The output vocabulary must have '<pad>' as number 1. Got 0, 1."):
        encode([], LookupTask().vocabulary()[0], ["0", "1"])


# Settings.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bits": 0}, "'bits' must be at least 1. Got 0."),
        ({"unseen_tables": -1}, "'unseen_tables' must be at least 0. Got -1."),
        ({"bits": 4}, "The published tables are 8 with 3 bits. Got tables=8, bits=4: set published_tables=false"),
        ({"tables": 6}, "The published tables are 8 with 3 bits. Got tables=6, bits=3"),
        ({"unseen_tables": 8}, "'unseen_tables' must be less than the 8 tables, so that one is seen .* Got 8."),
        (
            {"heldout_compositions": 37},
            "'heldout_compositions' must be at most 36, the number of compositions of the greatest length: "
            "6 seen tables, depth 2. Got 37.",
        ),
        ({"depth": 1}, "'heldout_compositions' must be at most 0, .*: 6 seen tables, depth 1. Got 8."),
        ({"heldout_inputs": 8}, r"'heldout_inputs' must be less than 2 \*\* 3 = 8, so that training has one. Got 8."),
        ({"validation": 57}, "'validation' must be at most 28 compositions x 2 held-out inputs = 56 rows. Got 57."),
        ({"longer": 513}, "'longer' must be at most 512, one row per length. Got 513."),
        ({"depth": 6}, r"give too many rows: 8 tables and 2 \*\* 3 inputs have more than 1000000 up to length 6."),
        ({"depth": 10**12}, "have more than 1000000 up to length 6. Lower one of them."),
        (
            {"bits": 10**12, "published_tables": False},
            r"8 tables and 2 \*\* 1000000000000 inputs have more than 1000000 up to length 1.",
        ),
        (
            {"bits": 1, "tables": 3, "published_tables": False},
            r"'tables' must be at most \(2 \*\* 1\)! = 2, the number of different bijections of 1 bits. Got 3.",
        ),
    ],
)
def test_sizes_that_do_not_work_out_are_refused_with_the_arithmetic(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LookupTask(**wrong)


def test_the_task_is_found_by_its_name() -> None:
    assert tasks["lookup"] is LookupTask
