"""The lookup task gives the published samples from their held-out lists, and splits of any size without leaks."""

from __future__ import annotations

import os
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.errors import RoteError, UsageError
from rote.tasks import tasks
from rote.tasks.lookup import Example, LookupTask, check_bijections, encode, rebuild
from rote.tasks.lookup_files import functions_of, read_tsv, write_tsv

# f(000) ... f(111) of t1 ... t8 as octal digits, as the notes on the published samples list them.
DIGITS = ["61523074", "51276304", "75243016", "04257163", "10645237", "32576014", "36041752", "24601357"]
COUNTS = {
    "train": 232,
    "validation": 16,
    "heldout_inputs": 40,
    "heldout_compositions": 64,
    "heldout_tables": 192,
    "new_compositions": 32,
    "longer_seen": 512,
    "longer_incremental": 512,
    "longer_new": 192,
}
ROW = "010 t1 t6 .\t010 101 000\t0 1 2 3\n"
FOLDER = Path(os.environ.get("ROTE_DATA", ""), "lookup")
published = pytest.mark.skipif(
    "ROTE_DATA" not in os.environ or not FOLDER.is_dir(),
    reason="needs the published samples: set ROTE_DATA to a folder that has lookup/sample1/train.tsv and the others",
)


def composition(example: Example) -> tuple[str, ...]:
    return example.inputs[1:-1]


def by_length(examples: list[Example]) -> dict[int, int]:
    return dict(Counter(len(composition(example)) for example in examples))


def random_tables(**settings: Any) -> LookupTask:
    return LookupTask(**{"published_tables": False, "heldout_compositions": 0, "validation": 0} | settings)


@st.composite
def any_task(draw: st.DrawFn) -> LookupTask:
    bits, tables, depth = draw(st.integers(1, 3)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    tables = min(tables, 2) if bits == 1 else tables
    unseen = draw(st.integers(0, tables - 1))
    longest = (tables - unseen) ** depth if depth > 1 else 0
    never = draw(st.integers(0, longest))
    inputs = draw(st.integers(0, 2**bits - 1))
    left = sum((tables - unseen) ** length for length in range(2, depth + 1)) - never
    validation = draw(st.integers(0, left * inputs))
    longer, seed = draw(st.integers(0, 3)), draw(st.integers(0, 5))
    return LookupTask(bits, tables, depth, unseen, never, inputs, validation, longer, seed, published_tables=False)


# The published numbers.


def test_the_published_tables_are_those_of_the_notes() -> None:
    functions = LookupTask().functions()
    assert list(functions) == [f"t{number}" for number in range(1, 9)]
    for table, digits in zip(functions.values(), DIGITS, strict=True):
        assert list(table) == [f"{number:03b}" for number in range(8)]
        assert "".join(str(int(result, 2)) for result in table.values()) == digits


def test_the_default_has_the_published_numbers_of_rows_symbols_and_compositions() -> None:
    task = LookupTask()
    splits = task.splits()
    assert {name: len(rows) for name, rows in splits.items()} == COUNTS
    assert list(splits) == list(COUNTS)
    assert [len(symbols) for symbols in task.vocabulary()] == [19, 11]
    train = Counter(composition(row) for row in splits["train"])
    assert Counter((len(tables), rows) for tables, rows in train.items()) == {(1, 8): 8, (2, 6): 28}
    assert len({composition(row) for row in splits["heldout_compositions"]}) == 8
    assert len({composition(row) for row in splits["heldout_tables"]}) == 24
    assert {composition(row) for row in splits["new_compositions"]} == set(product(("t7", "t8"), repeat=2))
    for name in ("longer_seen", "longer_incremental"):
        assert by_length(splits[name]) == {3: 256, 4: 256}
    assert by_length(splits["longer_new"]) == {3: 64, 4: 128}


def test_a_row_is_the_input_and_each_result_on_the_way_and_looks_at_one_input_after_the_other() -> None:
    train = LookupTask().splits()["train"]
    assert train[2] == Example(("010", "t1", "."), ("010", "101"), (0, 1))
    rows = {row.inputs: row for split in LookupTask().splits().values() for row in split}
    assert rows["010", "t1", "t6", "."] == Example(("010", "t1", "t6", "."), ("010", "101", "000"), (0, 1, 2))
    assert rows["000", "t7", "t8", "t8", "."].outputs == ("000", "011", "000", "010")


def test_vocabularies_have_the_special_symbols_first() -> None:
    inputs, outputs = random_tables(bits=1, tables=2, unseen_tables=0, heldout_inputs=0).vocabulary()
    assert inputs == ["<unk>", "<pad>", ".", "t1", "t2", "0", "1"]
    assert outputs == ["<unk>", "<pad>", "<sos>", "0", "1"]


@published
@pytest.mark.parametrize("sample", range(1, 6))
def test_a_published_sample_follows_from_its_held_out_lists(sample: int) -> None:
    files = {path.stem: read_tsv(path) for path in (FOLDER / f"sample{sample}").glob("*.tsv")}
    assert len(files) == 7
    functions = functions_of(files["train"])
    assert functions == LookupTask().functions()
    by_rule = ("train", "heldout_tables", "new_compositions")
    listed = {name: [row.inputs for row in rows] for name, rows in files.items() if name not in by_rule}
    splits = rebuild(functions, listed, unseen=("t7", "t8"))
    assert {name: Counter(rows) for name, rows in splits.items()} == {
        name: Counter(rows) for name, rows in files.items()
    }


@published
@pytest.mark.parametrize("sample", range(1, 6))
def test_a_published_file_is_read_and_written_byte_for_byte(sample: int, tmp_path: Path) -> None:
    for path in (FOLDER / f"sample{sample}").glob("*.tsv"):
        write_tsv(tmp_path / "again.tsv", read_tsv(path))
        assert (tmp_path / "again.tsv").read_bytes() == path.read_bytes()


# Splits of any size.


@settings(max_examples=150)
@given(any_task())
def test_no_split_leaks_into_training_or_another_one(task: LookupTask) -> None:
    splits = task.splits()
    functions = task.functions()
    check_bijections(functions)
    unseen = set(list(functions)[task.tables - task.unseen_tables :])
    train = {row.inputs for row in splits["train"]}
    shown = {composition(row) for row in splits["train"]}

    every = [row.inputs for rows in splits.values() for row in rows]
    assert len(every) == len(set(every))
    for rows in splits.values():
        for row in rows:
            value = row.inputs[0]
            assert row.outputs[0] == value
            for table, output in zip(composition(row), row.outputs[1:], strict=True):
                value = functions[table][value]
                assert output == value
            assert row.attention == tuple(range(len(row.outputs)))

    # Unseen tables only alone, all of each table alone, nothing longer than the depth.
    assert all(len(tables) == 1 or not unseen & set(tables) for tables in shown)
    assert {(string, table, ".") for table in functions for string in functions[table]} <= train
    assert max(map(len, shown)) <= task.depth

    # No training row shows a held-out composition in any of its parts, nor a held-out row as its beginning.
    parts = {tables[i:j] for tables in shown for i in range(len(tables)) for j in range(i + 1, len(tables) + 1)}
    beginnings = {inputs[:end] for inputs in train for end in range(len(inputs))}
    for name, rows in splits.items():
        for row in rows:
            unseen_tables = [table in unseen for table in composition(row)]
            if name in ("validation", "heldout_inputs"):
                assert composition(row) in shown
                assert row.inputs[:-1] not in beginnings
                assert not any(unseen_tables)
            elif name != "train":
                assert composition(row) not in parts
                assert any(unseen_tables) == (name not in ("heldout_compositions", "longer_seen"))
                assert all(unseen_tables) == (name in ("new_compositions", "longer_new"))
                assert (len(unseen_tables) > task.depth) == name.startswith("longer")


@settings(max_examples=100)
@given(any_task())
def test_up_to_the_depth_every_row_is_in_a_split_and_their_sizes_are_as_set(task: LookupTask) -> None:
    splits = task.splits()
    lengths = range(1, task.depth + 1)
    seen, inputs = task.tables - task.unseen_tables, 2**task.bits
    assert sum(len(rows) for name, rows in splits.items() if not name.startswith("longer")) == inputs * sum(
        task.tables**length for length in lengths
    )
    left = sum(seen**length for length in lengths[1:]) - task.heldout_compositions
    assert len(splits["train"]) == task.tables * inputs + left * (inputs - task.heldout_inputs)
    assert len(splits["validation"]) == task.validation
    assert len(splits["heldout_inputs"]) == left * task.heldout_inputs - task.validation
    assert len(splits["heldout_compositions"]) == task.heldout_compositions * inputs
    assert len(splits["new_compositions"]) == inputs * sum(task.unseen_tables**length for length in lengths[1:])


@settings(max_examples=50)
@given(any_task())
def test_longer_splits_have_all_rows_of_each_length_or_their_share_of_512(task: LookupTask) -> None:
    splits = task.splits()
    names = list(task.functions())
    unseen = set(names[task.tables - task.unseen_tables :])
    for length in range(task.depth + 1, task.depth + task.longer + 1):
        number = Counter(sum(table in unseen for table in tables) for tables in product(names, repeat=length))
        expected = {"longer_seen": number[0], "longer_new": number[length]}
        expected["longer_incremental"] = sum(number.values()) - number[0] - number[length]
        for name, compositions in expected.items():
            rows = [row for row in splits[name] if len(composition(row)) == length]
            assert len(rows) == min(compositions * 2**task.bits, 512 // task.longer)


def test_without_longer_compositions_the_splits_are_there_and_empty() -> None:
    splits = LookupTask(longer=0).splits()
    assert list(splits) == list(COUNTS)
    assert [name for name, rows in splits.items() if not rows] == ["longer_seen", "longer_incremental", "longer_new"]


def test_compositions_far_longer_than_could_be_listed_are_drawn() -> None:
    splits = LookupTask(longer=40).splits()
    assert {len(splits[name]) for name in ("longer_seen", "longer_incremental", "longer_new")} == {40 * (512 // 40)}
    assert set(by_length(splits["longer_new"])) == set(range(3, 43))


def test_many_tables_alone_need_no_list_of_their_pairs() -> None:
    task = random_tables(tables=10_000, depth=1, unseen_tables=5_000)
    assert len(task.splits()["train"]) == 80_000


# Seeds.


def test_the_seed_decides_what_is_held_out_and_nothing_else() -> None:
    first, again, other = (LookupTask(seed=seed).splits() for seed in (0, 0, 1))
    assert first == again
    for name in ("train", "validation", "heldout_inputs", "heldout_compositions", "longer_seen", "longer_incremental"):
        assert set(first[name]) != set(other[name])
    for name in ("heldout_tables", "new_compositions", "longer_new"):
        assert first[name] == other[name]
    assert LookupTask(seed=0).functions() == LookupTask(seed=1).functions()


def test_drawn_tables_depend_on_the_seed_and_are_all_different() -> None:
    first, again, other = (random_tables(seed=seed).functions() for seed in (0, 0, 1))
    assert first == again != other
    everything = random_tables(bits=2, tables=24, depth=1, longer=0).functions()
    assert len({tuple(table.values()) for table in everything.values()}) == 24  # of 4! = 24


def test_a_seed_still_means_the_rows_that_stored_results_were_computed_with() -> None:
    """If this fails, the numbers of every run on these tables changed: raise the study's version."""
    splits = LookupTask(seed=3).splits()
    held_out = sorted({" ".join(composition(row)) for row in splits["heldout_compositions"]})
    assert held_out == ["t1 t6", "t2 t3", "t2 t5", "t2 t6", "t3 t1", "t3 t2", "t3 t3", "t6 t5"]
    assert [" ".join(splits[name][0].inputs) for name in ("validation", "longer_seen")] == [
        "010 t1 t3 .",
        "110 t1 t5 t1 .",
    ]
    assert "".join(random_tables(seed=3).functions()["t1"].values()) == "110111010001100101011000"


# Tables and rows from outside.


def test_rebuild_puts_the_listed_rows_where_they_are_listed_and_the_rest_by_rule() -> None:
    functions = {"t1": {"0": "1", "1": "0"}, "t2": {"0": "0", "1": "1"}}
    splits = rebuild(functions, {"mine": [("0", "t1", "t1", "."), ("1", "t1", "t1", "t1", ".")]}, ["t2"])
    assert {name: [" ".join(row.inputs) for row in rows] for name, rows in splits.items()} == {
        "train": ["0 t1 .", "1 t1 .", "0 t2 .", "1 t2 .", "1 t1 t1 ."],
        "mine": ["0 t1 t1 .", "1 t1 t1 t1 ."],
        "heldout_tables": ["0 t1 t2 .", "1 t1 t2 .", "0 t2 t1 .", "1 t2 t1 ."],
        "new_compositions": ["0 t2 t2 .", "1 t2 t2 ."],
    }
    assert splits["mine"][1].outputs == ("1", "0", "1", "0")


FLIP = {"t1": {"0": "1", "1": "0"}}


@pytest.mark.parametrize(
    ("functions", "heldout", "unseen", "message"),
    [
        (FLIP, {"a": [("0", "t2", ".")]}, (), "The row '0 t2 .' applies 't2' to '0', which the tables do not have."),
        (FLIP, {"a": [("00", "t1", ".")]}, (), "The row '00 t1 .' applies 't1' to '00', which the tables do not"),
        (
            FLIP,
            {"a": [("0", "t1", ".")], "b": [("0", "t1", ".")]},
            (),
            "The row '0 t1 .' is held out twice: in a and in b.",
        ),
        (FLIP, {}, ("t9",), "Unknown table 't9' among the unseen ones."),
        (
            FLIP | {"t2": {"0": "1", "1": "1"}},
            {},
            (),
            "The table 't2' is not a bijection: '0' and '1' both give '1'.",
        ),
        (FLIP | {"t2": {"0": "0"}}, {}, (), "The inputs of the table 't2' are not the inputs of the first table."),
        (FLIP | {"t2": {"0": "0", "1": "x"}}, {}, (), "The outputs of the table 't2' are not the .* Differing: 1, x."),
    ],
)
def test_tables_and_lists_that_do_not_fit_are_refused(
    functions: dict[str, dict[str, str]], heldout: dict[str, Any], unseen: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        rebuild(functions, heldout, unseen)


def test_tables_are_derived_from_the_rows_that_apply_one() -> None:
    assert functions_of(LookupTask().splits()["train"]) == LookupTask().functions()
    rows = [Example(("0", "t1", "."), ("0", result), (0, 1)) for result in "01"]
    with pytest.raises(UsageError, match=r"The table 't1' gives both '0' and '1' for '0'."):
        functions_of(rows)
    rows[1] = Example(("1", "t1", "."), ("1", "0"), (0, 1))
    with pytest.raises(UsageError, match=r"The table 't1' is not a bijection: '0' and '1' both give '0'."):
        functions_of(rows)
    with pytest.raises(UsageError, match=r"No row applies a single table, so the tables are unknown."):
        functions_of(LookupTask().splits()["new_compositions"])


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
        write_tsv(path, [*read_tsv(path), None])  # type: ignore[list-item]
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
        ({"bits": 0}, "'bits' of LookupTask must be at least 1. Got 0."),
        ({"unseen_tables": -1}, "'unseen_tables' of LookupTask must be at least 0. Got -1."),
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
