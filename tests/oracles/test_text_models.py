"""Text models against torch's own modules with the same weights, row by row, in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import rote
from rote.cells import cells
from rote.errors import UsageError
from rote.models import TextModel, TextModelConfig, WindowModel, WordAverage
from rote.tasks.text import PADDING, UNKNOWN, mask_of
from rote.testing import check_model
from rote.training import TrainingConfig

WORDS, OUTPUTS, LENGTHS = 9, 4, (5, 2, 1, 5)
TORCH = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(seed)
    tokens = np.where(mask_of(LENGTHS), random.integers(1, WORDS, (len(LENGTHS), max(LENGTHS))), PADDING)
    return torch.from_numpy(tokens), torch.tensor(LENGTHS)


def build(**changes) -> TextModel:
    config = TextModelConfig(embedding=3, hidden=4, **changes)
    return TextModel(WORDS, OUTPUTS, config, seed=1, dtype=torch.float64).eval()


def in_torch(model: TextModel) -> nn.Module:
    """torch's module with the model's weights."""
    config = model.config
    made = TORCH[config.cell](3, 4, config.layers, bidirectional=config.bidirectional, batch_first=True).double()
    for index, cell in enumerate(model.recurrent.cells):
        layer, direction = divmod(index, model.recurrent.directions)
        for name, weight in cell.named_parameters():
            getattr(made, f"{name}_l{layer}{'_reverse' if direction else ''}").data.copy_(weight)
    return made


@pytest.mark.parametrize("cell", sorted(TORCH))
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both", [False, True])
def test_tags_and_classes_of_a_padded_batch_are_those_of_each_row_alone(cell, layers, both):
    """Catches a state that was read behind a row's end, directions in the wrong order, or a mixed-up layer."""
    model = build(cell=cell, layers=layers, bidirectional=both)
    tokens, lengths = batch()
    reference, logits = in_torch(model), model(tokens, lengths=lengths)
    classes = model.classify(tokens, lengths=lengths)
    flat = model.at_words(tokens, lengths=lengths)
    assert torch.equal(flat, logits[torch.from_numpy(mask_of(LENGTHS))])
    for row, length in enumerate(LENGTHS):
        with torch.no_grad():
            output, _ = reference(model.embedding(tokens[row : row + 1, :length]))
        last = torch.cat([output[0, -1, :4], output[0, 0, 4:]], -1)  # opposite ends
        torch.testing.assert_close(logits[row, :length], model.readout(output[0]), rtol=0, atol=1e-14)
        torch.testing.assert_close(classes[row], model.readout(last), rtol=0, atol=1e-14)


@pytest.mark.parametrize("cell", sorted(cells))
def test_every_cell_makes_a_model_that_all_analyses_take(cell):
    model = build(cell=cell, bidirectional=True)
    check_model(model)
    one = build(cell=cell)
    tokens, lengths = batch()
    shown = rote.trace(one, tokens, lengths=lengths).logits[torch.arange(len(lengths)), lengths - 1]
    torch.testing.assert_close(shown, one.classify(tokens, lengths=lengths), rtol=0, atol=1e-14)
    assert float(rote.decompose(one, tokens, [(0, 1)], lengths=lengths).error.max()) < 1e-12
    assert rote.connectivity(one, tokens).values.shape == (4, 5, 5)


def test_padding_has_no_vector_and_gets_no_gradient():
    model = build(cell="lstm")
    tokens, lengths = batch()
    model.at_words(tokens, lengths=lengths, packed=False).sum().backward()
    assert not model.embedding.weight[PADDING].any()
    assert not model.embedding.weight.grad[PADDING].any()


def test_what_stands_behind_a_row_changes_nothing_when_packed_and_something_when_not():
    model = build(cell="elman", bidirectional=True)
    tokens, lengths = batch()
    other = tokens.masked_fill(~torch.from_numpy(mask_of(LENGTHS)), 5)
    assert torch.equal(model.classify(tokens, lengths=lengths), model.classify(other, lengths=lengths))
    unpacked = [model.at_words(given, lengths=lengths, packed=False) for given in (tokens, other)]
    assert not torch.equal(*unpacked)


@pytest.mark.parametrize("cell", sorted(TORCH))
@torch.no_grad()
def test_without_lengths_forward_states_are_right_and_backward_and_final_ones_wrong(cell):
    """Against torch's module on each row alone. The longest row, which nothing is padded to, is right in all."""
    model = build(cell=cell, bidirectional=True)
    tokens, _ = batch()
    reference = in_torch(model)
    states, finals = model.states(tokens)
    for row, length in enumerate(LENGTHS):
        alone, end = reference(model.embedding(tokens[row : row + 1, :length]))
        hidden = end[0] if isinstance(end, tuple) else end
        off = {
            "forward": states[row, :length, :4] - alone[0, :, :4],
            "backward": states[row, :length, 4:] - alone[0, :, 4:],
            "final forward": finals[0][0][row] - hidden[0, 0],
            "final backward": finals[1][0][row] - hidden[1, 0],
        }
        wrong = {name for name, difference in off.items() if difference.abs().max() > 1e-14}
        assert wrong == (set() if length == tokens.shape[1] else set(off) - {"forward"})
        assert all(off[name].abs().max() > 1e-3 for name in wrong)


@pytest.mark.parametrize("lengths", [(6, 2, 1, 5), (5, 0, 1, 5), (5, 2, 1)])
def test_lengths_that_torch_packs_without_a_word_are_refused(lengths):
    tokens, _ = batch()
    with pytest.raises(UsageError, match="'lengths' must"):
        build(cell="lstm").classify(tokens, lengths=torch.tensor(lengths))


def test_word_dropout_reads_words_as_unknown_but_never_padding():
    model = build(cell="elman", word_dropout=0.5)
    tokens, lengths = batch()
    seen = []
    model.embed = lambda given: seen.append(given) or TextModel.embed(model, given)
    torch.manual_seed(0)
    for _ in range(200):
        model.train().classify(tokens, lengths=lengths)
    dropped = torch.stack(seen) != tokens
    words = tokens != PADDING
    assert torch.stack(seen)[dropped].unique().tolist() == [UNKNOWN]
    assert not dropped[:, ~words].any()
    share = float(dropped[:, words & (tokens != UNKNOWN)].double().mean())
    assert share == pytest.approx(0.5, abs=0.05)
    seen.clear()
    model.eval().classify(tokens, lengths=lengths)
    assert torch.equal(seen[0], tokens)


@pytest.mark.parametrize("name", ["embedding_dropout", "output_dropout", "word_dropout"])
def test_dropout_acts_in_training_only(name):
    plain, model = build(cell="lstm"), build(cell="lstm", **{name: 0.5})
    tokens, lengths = batch()
    assert torch.equal(model.classify(tokens, lengths=lengths), plain.classify(tokens, lengths=lengths))
    torch.manual_seed(0)
    assert not torch.equal(model.train().classify(tokens, lengths=lengths), plain.classify(tokens, lengths=lengths))


def test_dropout_between_layers_needs_two_of_them():
    with pytest.raises(UsageError, match=r"'layer_dropout' acts between layers, and there is one\. Got 0\.5"):
        TextModelConfig(layer_dropout=0.5)
    assert build(cell="lstm", layers=2, layer_dropout=0.5).recurrent.dropout == 0.5


def test_a_seed_is_the_same_network_in_either_precision_and_whatever_was_drawn_before():
    config = TextModelConfig(embedding=3, hidden=4)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    double = TextModel(WORDS, OUTPUTS, config, seed=2, dtype=torch.float64)
    assert torch.equal(torch.get_rng_state(), before)
    single = TextModel(WORDS, OUTPUTS, config, seed=2)
    for one, other in zip(double.parameters(), single.parameters(), strict=True):
        assert torch.equal(one.float(), other)


def test_the_averaging_network_does_not_see_order_or_padding():
    model = WordAverage(WORDS, OUTPUTS, TextModelConfig(embedding=3, hidden=4, layers=2), dtype=torch.float64)
    tokens, lengths = batch()
    found = model.classify(tokens, lengths=lengths)
    for row, length in enumerate(LENGTHS):
        own = tokens[row, :length].flip(0)
        values = model.embedding(own).mean(0)
        for layer in model.hidden:
            values = torch.relu(layer(values))
        torch.testing.assert_close(found[row], model.readout(values), rtol=0, atol=1e-14)


def test_word_dropout_of_the_averaging_network_leaves_words_out_and_keeps_one():
    config = TextModelConfig(embedding=3, hidden=4, word_dropout=0.9)
    model = WordAverage(WORDS, OUTPUTS, config, dtype=torch.float64).train()
    tokens, lengths = torch.tensor([[2, 3]]), torch.tensor([2])

    def said(given, ends):
        return model.classify(given, lengths=ends).detach().numpy().tobytes()

    model.eval()
    known = {said(tokens[:, :1], lengths // 2), said(tokens[:, 1:], lengths // 2), said(tokens, lengths)}
    model.train()
    torch.manual_seed(0)
    drawn = {said(tokens, lengths) for _ in range(60)}
    assert drawn <= known
    assert len(drawn) >= 2


def test_the_feed_forward_model_sees_the_last_words_and_nothing_else():
    model = WindowModel(WORDS, OUTPUTS, TextModelConfig(embedding=3, hidden=4), dtype=torch.float64, window=2)
    tokens, lengths = batch()
    found, place = model.at_words(tokens, lengths=lengths), 0
    for row, length in enumerate(LENGTHS):
        for step in range(length):
            before = model.embedding(tokens[row, step - 1]) if step else torch.zeros(3, dtype=torch.float64)
            values = torch.tanh(model.hidden(torch.cat([before, model.embedding(tokens[row, step])])))
            torch.testing.assert_close(found[place], model.readout(values), rtol=0, atol=1e-14)
            place += 1
    assert place == len(found)


def trajectory(config: TrainingConfig, l2: float) -> list[float]:
    """A weight of 1 under the loss 0.5 w and an L2 term, for three updates."""
    weight = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer, seen = config.make_optimizer([weight]), []
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        (0.5 * weight.sum() + l2 * (weight**2).sum()).backward()
        optimizer.step()
        seen.append(weight.item())
    return seen


def test_l2_in_the_loss_is_twice_as_much_weight_decay_unless_that_is_decoupled():
    for optimizer in ("sgd", "adam", "adagrad"):
        config = TrainingConfig(optimizer=optimizer, learning_rate=0.1)
        decayed = replace(config, weight_decay=0.2)
        assert trajectory(config, l2=0.1) == pytest.approx(trajectory(decayed, l2=0.0), rel=1e-9)
    decoupled = TrainingConfig(optimizer="adamw", learning_rate=0.1, weight_decay=0.2)
    # By hand: each update first shrinks the weight by rate x decay, then makes Adam's step, which here is the rate.
    wanted, weight = [], 1.0
    for _ in range(3):
        weight = weight * (1 - 0.1 * 0.2) - 0.1
        wanted.append(weight)
    assert trajectory(decoupled, l2=0.0) == pytest.approx(wanted, rel=1e-6)
