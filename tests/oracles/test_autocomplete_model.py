"""The autocomplete model against plain torch, its published sizes, and suggestions against the whole forward pass."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

import rote
from rote.cells import cells, stack
from rote.errors import UnknownNameError, UsageError
from rote.models import (
    AutocompleteConfig,
    AutocompleteModel,
    autocomplete_record,
    load_autocomplete,
    many_words,
    save_autocomplete,
)
from rote.models.packed_pairs import run_ragged
from rote.models.sampled_softmax import sampled_loss
from rote.models.saved_autocomplete import FOLDER
from rote.studies.memorization import starter
from rote.tasks.autocomplete import UNKNOWN, AutocompleteTask, Observations
from rote.testing import check_analysis, check_model

CELLS = ("gru", "lstm", "nested_lstm")
PAGE = Path(__file__).parents[2] / "docs" / "autocomplete.md"


@pytest.fixture(scope="module")
def text() -> Observations:
    return AutocompleteTask("bundled", characters=40_000, length=30, words=50).observations()


def model_of(text: Observations, cell: str = "gru", layers: int = 1, units: int = 7) -> AutocompleteModel:
    return AutocompleteModel(AutocompleteConfig(cell, units, layers), text.vocabulary, 3, torch.float64)


def plain_loss(model: AutocompleteModel, batch: object) -> Tensor:
    """Through the cells step by step, padding and all; masked as the source masks it."""
    tokens, targets = (torch.from_numpy(getattr(batch, name)) for name in ("tokens", "targets"))
    logits = rote.models.SequenceModel.forward(model, tokens)
    return cross_entropy(logits.flatten(0, 1), torch.where(targets > UNKNOWN, targets, -100).flatten())


@pytest.mark.parametrize(
    ("cell", "layers", "recurrent"), [("gru", 2, 4_323_600), ("lstm", 2, 5_764_800), ("nested_lstm", 1, 5_764_800)]
)
def test_the_parameters_are_as_many_as_published(cell: str, layers: int, recurrent: int) -> None:
    words = [str(number) for number in range(16_386)]
    config = AutocompleteConfig(cell, 600, layers)
    model = AutocompleteModel(config, words)
    assert model.parameter_counts() == {"embedding": 16_200, "recurrent": recurrent, "dense": 9_847_986}
    assert config.parameters(16_384) == model.parameter_counts()


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("units", "layers", "depth", "words"), [(5, 1, 1, 3), (7, 3, 2, 11), (4, 2, 3, 5)])
def test_parameters_are_counted_without_a_model_as_with_one(
    cell: str, units: int, layers: int, depth: int, words: int
) -> None:
    config = AutocompleteConfig(cell, units, layers, depth)
    model = AutocompleteModel(config, [str(number) for number in range(words + 2)])
    assert config.parameters(words) == model.parameter_counts()
    assert len(model.recurrent.cell(0).state_names) == {"gru": 1, "lstm": 2, "nested_lstm": 1 + depth}[cell]


def test_other_cells_have_as_many_parameters_as_a_model_of_them_has() -> None:
    with pytest.raises(UsageError, match="cell 'elman'"):
        AutocompleteConfig("elman").parameters(10)


def test_the_initialization_is_the_sources() -> None:
    words = [str(number) for number in range(500)]
    gru, lstm, nested = (AutocompleteModel(AutocompleteConfig(cell, 60, 1), words, 5) for cell in CELLS)
    assert not gru.embedding.weight[0].any()
    assert 0.99 * 0.19245 < float(gru.embedding.weight.abs().max().detach()) < 0.19246
    cell = gru.recurrent.cell(0)
    assert cell.reset == "before"
    assert cell.bias.tolist() == [1.0] * 120 + [0.0] * 60  # reset and update, candidate
    for rows, outputs in ((cell.weight_ih[:120], 120), (cell.weight_hh[120:], 60)):
        limit = (6 / (120 + outputs)) ** 0.5
        assert 0.98 * limit < float(rows.abs().max().detach()) < limit
    assert lstm.recurrent.cell(0).bias.tolist() == [0.0] * 60 + [1.0] * 60 + [0.0] * 120  # input, forget, ...
    inner = nested.recurrent.cell(0).level_bias(1)
    assert inner.tolist() == [0.0] * 60 + [1.0] * 60 + [0.0] * 120
    assert not gru.readout.bias.any()
    again = AutocompleteModel(AutocompleteConfig("gru", 60, 1), words, 5, torch.float64)
    torch.testing.assert_close(again.readout.weight.float(), gru.readout.weight)


def test_a_nested_lstm_of_another_depth_learns_as_its_plain_steps_do(text: Observations) -> None:
    """Only depth 2 is written out for training."""
    batch = text.training(0, 0, 5)
    for depth in (1, 3):
        made = AutocompleteModel(AutocompleteConfig("nested_lstm", 6, 1, depth), text.vocabulary, 3, torch.float64)
        torch.testing.assert_close(made.loss(batch), plain_loss(made, batch), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("cell", "layers"), [("gru", 2), ("lstm", 2), ("nested_lstm", 2), ("elman", 1)])
def test_loss_and_gradients_are_those_of_plain_torch(text: Observations, cell: str, layers: int) -> None:
    """A wrong term anywhere in the written-out passes, or padding that counts, would show."""
    model, batch = model_of(text, cell, layers), text.training(0, 0, 9)
    assert len(set(batch.lengths.tolist())) > 2
    expected = plain_loss(model, batch)
    wanted = torch.autograd.grad(expected, list(model.parameters()))
    found = model.loss(batch)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    for (name, weight), gradient, other in zip(
        model.named_parameters(), torch.autograd.grad(found, list(model.parameters())), wanted, strict=True
    ):
        torch.testing.assert_close(gradient, other, rtol=1e-9, atol=1e-13, msg=name)
        assert gradient.any() or weight.numel() == 0


@pytest.mark.parametrize(("cell", "options"), [("gru", {"reset": "before"}), ("nested_lstm", {}), ("lstm", {})])
def test_written_out_passes_are_those_of_the_steps_for_every_replica(cell: str, options: dict[str, str]) -> None:
    """Also the gradient of the state at the beginning, which a decoder passes on to its encoder."""
    torch.manual_seed(2)
    stacked = stack([cells[cell](3, 4, biases="two", **options).double() for _ in range(2)])
    by_steps = copy.copy(stacked)
    by_steps.__class__ = type("BySteps", (type(stacked),), {})  # the equations of a subclass are not known
    symbols = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    start = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    tokens, sizes = torch.randint(0, 5, (2, 8)), (3, 2, 2, 1)
    wanted = [symbols, start, *stacked.parameters()]
    weights = torch.randn(2, 8, 4, dtype=torch.float64)
    found, expected = (run_ragged(one, symbols, tokens, sizes, start) for one in (stacked, by_steps))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-14)
    made, other = (torch.autograd.grad((value * weights).sum(), wanted) for value in (found, expected))
    for one, two in zip(made, other, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-13)


def test_the_row_of_padding_stays_zero(text: Observations) -> None:
    model = model_of(text)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        optimizer.zero_grad()
        model.loss(text.training(0, step, 9)).backward()
        optimizer.step()
    assert not model.embedding.weight[0].any()
    assert model.embedding.weight[1].any()


def random_readout(rows: int, words: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = ((rows, 4), (words, 4), (words,))
    made = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for shape in shapes]
    return made[0], made[1], made[2], torch.randint(0, words, (rows,), generator=generator)


def test_a_loss_in_pieces_is_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_words, "PIECE", 50)  # five rows of ten words at a time, the last piece smaller
    hidden, weight, bias, targets = random_readout(23, 10)
    expected = cross_entropy(linear(hidden, weight, bias), targets)
    found = many_words.words_loss(hidden, weight, bias, targets)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    wanted = torch.autograd.grad(3 * expected, [hidden, weight, bias])
    for one, other in zip(torch.autograd.grad(3 * found, [hidden, weight, bias]), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)
    losses, ranks = many_words.losses_and_ranks(hidden, weight, bias, targets)
    logits = linear(hidden, weight, bias)
    torch.testing.assert_close(losses, cross_entropy(logits, targets, reduction="none"))
    order = logits.argsort(1, descending=True)
    assert ranks.tolist() == (order == targets[:, None]).nonzero()[:, 1].tolist()


def test_the_sampled_loss_tends_to_the_gradient_of_the_exact_one() -> None:
    """Without the correction by the words' frequencies frequent words would be pushed down far too much."""
    hidden, weight, bias, targets = random_readout(6, 8)
    frequencies = torch.tensor([1.0, 2, 3, 5, 8, 13, 21, 0], dtype=torch.float64)
    targets = targets.clamp(max=6)
    with torch.no_grad():
        bias[7] = -100  # never drawn, and never probable
    exact = torch.autograd.grad(cross_entropy(linear(hidden, weight, bias), targets), [hidden, weight])
    torch.manual_seed(0)
    loss = sampled_loss(hidden, weight, bias, targets, frequencies, 200_000)
    for one, other in zip(torch.autograd.grad(loss, [hidden, weight]), exact, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.003)


def test_suggestions_are_those_of_the_whole_pass_and_typing_goes_on_from_the_state(text: Observations) -> None:
    for cell in CELLS:
        model = model_of(text, cell)
        whole = model(model.encode("alice was")).softmax(-1)[0, -1].detach()
        word = text.vocabulary[9]
        found = rote.suggest(model, "alice was", 5, target=word)
        values, chosen = whole.topk(5)
        torch.testing.assert_close(found.probabilities, values)
        assert found.words == tuple(text.vocabulary[index] for index in chosen.tolist())
        assert found.rank == 1 + whole.argsort(descending=True).tolist().index(9)
        assert found.target_probability == pytest.approx(float(whole[9]))
        typed = rote.suggest(model, "a", 5)
        for end in range(2, 10):
            typed = rote.suggest(model, "alice was"[:end], 5, after=typed)
        torch.testing.assert_close(typed.probabilities, found.probabilities, rtol=1e-12, atol=0)
        other = rote.suggest(model, "alice", 5, after=found)  # shorter: read from the beginning
        torch.testing.assert_close(other.probabilities, rote.suggest(model, "alice", 5).probabilities)


def test_one_more_character_is_one_step(text: Observations, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(text)
    earlier, read = rote.suggest(model, "alice was beginning"), []
    embed = type(model).embed
    monkeypatch.setattr(type(model), "embed", lambda self, tokens: read.append(tokens.shape[1]) or embed(self, tokens))
    rote.suggest(model, "alice was beginning t", after=earlier)
    assert read == [2]


def test_targets_stand_where_training_has_them(text: Observations) -> None:
    model, batch = model_of(text), text.batch(text.splits["test"][:5])
    for row, targets, length in zip(batch.tokens, batch.targets, batch.lengths, strict=True):
        shown = "".join(rote.tasks.alphabet.CHARACTERS[code] for code in row[:length])
        assert model.encode(shown).tolist() == [row[:length].tolist()]
        assert model.targets(shown).tolist() == [targets[:length].tolist()]


def test_the_model_and_its_suggestions_keep_the_contracts(text: Observations) -> None:
    for cell in CELLS:
        model = model_of(text, cell)
        check_model(model)
        check_analysis(rote.suggest, model, "alice", target=text.vocabulary[5])
    tokens = model_of(text).encode("alice was")
    assert rote.connectivity(model_of(text), tokens, model_of(text).targets("alice was")).values.shape == (1, 10, 10)
    assert float(rote.decompose(model_of(text), tokens, [(2, 5)]).error.max()) < 1e-9


def test_bad_input_to_suggest_is_refused_in_one_line(text: Observations) -> None:
    model = model_of(text)
    with pytest.raises(UsageError, match="The text is empty"):
        rote.suggest(model, "")
    with pytest.raises(UsageError, match=r"has 300 characters .* at most 200"):
        rote.suggest(model, " " + "a" * 299)
    with pytest.raises(UsageError, match=r"'zzz' is not among the 50 words of the model's vocabulary\. They are in"):
        rote.suggest(model, "a", target="zzz")
    with pytest.raises(UsageError, match=r"'top' must lie in 1 to 52, .* Got 0"):
        rote.suggest(model, "a", 0)
    with pytest.raises(UsageError, match="not a letter from a to z"):
        rote.suggest(model, "a.b", outside="refuse")
    with pytest.warns(UserWarning, match="read as a space"):
        assert rote.suggest(model, "a.b").text == " a.b"
    with pytest.raises(UsageError, match=r"rote.suggest needs an AutocompleteModel.* Got LSTM"):
        rote.suggest(torch.nn.LSTM(1, 1), "a")
    with pytest.raises(UsageError, match="'vocabulary' must hold words"):
        AutocompleteModel(AutocompleteConfig(), ["<eos>", "<unknown>"])


def test_a_saved_model_is_the_same_one(text: Observations, tmp_path: Path) -> None:
    model = model_of(text, "nested_lstm").float()
    save_autocomplete(tmp_path / "mine", model, torch.float32, facts={"note": "hello"})
    again = load_autocomplete(tmp_path / "mine")
    assert again.config == model.config
    assert again.vocabulary == model.vocabulary
    assert all(torch.equal(one, other) for one, other in zip(again.parameters(), model.parameters(), strict=True))
    assert autocomplete_record(tmp_path / "mine") == {"note": "hello"}
    with pytest.raises(UnknownNameError, match="Unknown autocomplete model 'grue'"):
        load_autocomplete("grue")


@pytest.mark.parametrize("cell", CELLS)
def test_the_models_of_the_package_know_english_and_say_how_they_were_made(cell: str) -> None:
    model, record = load_autocomplete(cell), autocomplete_record(cell)
    assert model.config.cell == cell
    assert rote.suggest(model, "the president of the united sta").words[0] == "states"
    assert record["test"]["cross_entropy"] < 4  # far from the 8.5 of a model that knows nothing
    assert record["request"]["config"]["task"]["text"] == "text8"
    assert sum(path.stat().st_size for path in FOLDER.glob(f"{cell}.*")) < 3e6
    with torch.no_grad():
        logits = model(model.encode("the study of grammar"))
    assert logits.shape == (1, 21, len(model.vocabulary))


def test_the_page_says_of_the_models_what_their_records_say() -> None:
    """The command that makes them prints the lines of its table."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    records = {cell: autocomplete_record(cell) for cell in CELLS}
    lines = [starter.row(cell, record) for cell, record in records.items()]
    assert [line for line in lines if line not in page] == []
    license = " ".join((FOLDER / "text8.LICENSE").read_text(encoding="utf-8").split())
    for record in records.values():
        words = record["request"]["config"]["task"]["words"]
        assert f"the {words:,} most frequent words" in page
        assert f"its {words:,} most frequent words" in license
    size = sum(path.stat().st_size for cell in CELLS for path in FOLDER.glob(f"{cell}.*"))
    assert f"Together {size / 1e6:.1f} MB" in page


def test_the_command_that_makes_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ROTE_HOME", str(tmp_path / "store"))
    changes = ("task.text=bundled", "task.characters=40000", "task.words=50", "model.units=6", "training.steps=3")
    for folder in ("one", "two"):  # the second time from the store
        words = ["starter", "gru", "--out", str(tmp_path / folder), "--set", *changes, "training.batch=8"]
        monkeypatch.setattr("sys.argv", words)
        starter.main()
    assert "| gru | 6 | " in capsys.readouterr().out
    one, two = (load_autocomplete(tmp_path / folder / "gru") for folder in ("one", "two"))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    record = autocomplete_record(tmp_path / "one" / "gru")
    assert np.isfinite(record["test"]["cross_entropy"])
    assert record["request"]["config"]["model"]["units"] == 6
