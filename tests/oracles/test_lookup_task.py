"""The lookup task gives the published samples from their held-out lists, and splits of any size without leaks."""

from __future__ import annotations

import os
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from lookup_samples import any_task, random_tables

from rote.errors import UsageError
from rote.tasks.lookup import Example, LookupTask, check_bijections, rebuild
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


FOLDER = Path(os.environ.get("ROTE_DATA", ""), "lookup")
published = pytest.mark.skipif(
    "ROTE_DATA" not in os.environ or not FOLDER.is_dir(),
    reason="needs the published samples: set ROTE_DATA to a folder that has lookup/sample1/train.tsv and the others",
)


def composition(example: Example) -> tuple[str, ...]:
    return example.inputs[1:-1]


def by_length(examples: list[Example]) -> dict[int, int]:
    return dict(Counter(len(composition(example)) for example in examples))


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
