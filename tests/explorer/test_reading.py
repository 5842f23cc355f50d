"""How texts are read: what the model sees, and that every change is told."""

from __future__ import annotations

import pytest
import torch
from text_models import WORDS, model_of, word_reader

import rote
from rote.errors import UsageError
from rote.explorer.reading import Reader


@pytest.fixture(scope="module")
def gru() -> Reader:
    return Reader.of(rote.load_autocomplete("gru"))


def test_a_text_of_letters_is_read_as_the_model_encodes_it(gru: Reader) -> None:
    reading = gru.read("the united states", 100)
    assert torch.equal(reading.tokens, gru.model.encode("the united states"))
    assert "".join(reading.symbols) == " the united states"
    assert reading.words == (0,) * 4 + (1,) * 7 + (2,) * 7
    assert [gru.outputs[target] for target in reading.targets if target is not None][-1] == "states"
    assert reading.notes == () == reading.changed


def test_characters_outside_the_alphabet_are_replaced_and_told(gru: Reader) -> None:
    reading = gru.read("Café 7!", 100)
    assert "".join(reading.symbols) == " caf    "
    assert reading.changed == (4, 6, 7)
    assert "3 characters" in reading.notes[0]
    assert "“é”" in reading.notes[0]
    assert "read as a space" in reading.notes[0]
    assert "Capital letters" in reading.notes[1]
    assert torch.equal(reading.tokens, gru.model.encode(" caf    "))


def test_a_word_that_is_no_output_has_no_target(gru: Reader) -> None:
    assert set(gru.read("xqzzy", 100).targets) == {None}


def test_too_long_a_text_is_refused_with_its_length(gru: Reader) -> None:
    with pytest.raises(UsageError, match="11 characters; at most 10"):
        gru.read("a" * 11, 10)


def test_words_are_split_by_the_vocabulary() -> None:
    reading = word_reader().read("The dogs bark.", 50)
    assert reading.symbols == ("The", "dogs", "bark", ".")
    assert reading.tokens.tolist() == [[7, 2, 3, 6]]
    assert reading.targets == (2, 3, 6, None)  # the next symbol
    assert reading.words == (0, 1, 2, 3)


def test_an_unknown_word_is_read_as_the_vocabularys_unknown() -> None:
    reading = word_reader().read("the wolves bark", 50)
    assert reading.symbols == ("the", "<unk>", "bark")
    assert reading.changed == (1,)
    assert reading.notes == ("1 word is not in the model's vocabulary and read as <unk>: “wolves”.",)


def test_without_an_unknown_symbol_it_is_left_out_and_told() -> None:
    reader = Reader.of(model_of(3), ["a", "b", "c"])
    reading = reader.read("a x b", 50)
    assert reading.symbols == ("a", "b")
    assert "left out: “x”" in reading.notes[0]
    with pytest.raises(UsageError, match=r"no symbol that the model reads\. Try: abc"):
        reader.read("xyz", 50)


def test_other_outputs_than_inputs_have_no_targets() -> None:
    reading = Reader.of(model_of(len(WORDS), 3), WORDS, ["noun", "verb", "other"]).read("the dogs", 50)
    assert reading.targets == (None, None)
    assert reading.expects == "the model's own choice"


def test_a_model_without_vocabulary_is_refused() -> None:
    with pytest.raises(UsageError, match="names of its symbols"):
        Reader.of(model_of(3))
