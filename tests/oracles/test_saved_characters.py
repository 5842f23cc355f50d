"""The models of characters that come with the package are what their records say."""

from __future__ import annotations

import pytest

from rote.errors import RoteError
from rote.models import characters_record, load_characters
from rote.models.saved_characters import BUNDLED
from rote.studies.memorization.characters import bits, bundled_text, learn


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bundled_model_predicts_the_test_text_as_well_as_its_record_says(name: str) -> None:
    _, kept, digest = bundled_text()
    record = characters_record(name)
    assert record["data"]["sha256"] == digest
    assert bits(load_characters(name), kept) == pytest.approx(record["test"]["bits_per_character"], abs=1e-3)


def test_all_of_them_learned_the_same_in_the_same_way() -> None:
    records = [characters_record(name) for name in BUNDLED]
    assert all(record["training"] == records[0]["training"] for record in records)
    assert all(record["model"]["width"] == records[0]["model"]["width"] for record in records)


def test_training_goes_down_from_where_it_starts() -> None:
    model = load_characters("lstm")
    text = bundled_text()[1][:2000]
    before = bits(model, text)
    learn(model.train(), text, steps=8)
    assert bits(model.eval(), text) < before


def test_a_name_that_there_is_not_is_refused() -> None:
    with pytest.raises(RoteError, match="mamba"):
        load_characters("rwkv")
