"""The SCAN model against plain PyTorch, in float64: its kernel, whole updates, accuracy and decoding, information."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from plain_translator import PlainTranslator, copy_replica
from torch import nn
from torch.nn.functional import cross_entropy

from rote.cells import LSTMCell
from rote.cells.lstm_training import run_lstm
from rote.models import StackedTranslator, TranslatorConfig
from rote.models.packed_pairs import run_ragged
from rote.studies.resistance.scan import ScanRecipe
from rote.studies.resistance.scan_information import _told, measure_information
from rote.tasks.scan_examples import ACTIONS, END, ScanTask, encoded, templates
from rote.training import TrainingConfig

SMALL = TranslatorConfig(embedding=5, hidden=3)
TRAINING = TrainingConfig(steps=6, batch=24, optimizer="adam", learning_rate=0.01, dtype="float64")


def program_of(seeds=(0, 1, 2), setting="original", cell="lstm", **options):
    recipe = ScanRecipe(ScanTask(setting=setting), replace(SMALL, cell=cell), TRAINING, sample=40, **options)
    return recipe.program(seeds, "cpu")


def plain_models(program):
    models = [PlainTranslator(13, 7, 5, 3).double() for _ in program.seeds]
    for replica, model in enumerate(models):
        copy_replica(program.model, replica, model)
    return models


def plain_batch(commands):
    known = encoded()
    lengths, ends = known.input_lengths[commands], known.output_lengths[commands]
    tokens = torch.from_numpy(known.inputs[commands][:, : lengths.max()])
    targets = torch.from_numpy(known.outputs[commands][:, : ends.max()])
    fed = torch.cat([torch.full_like(targets[:, :1], END), targets[:, :-1]], 1)
    outside = torch.arange(targets.shape[1]) >= torch.from_numpy(ends)[:, None]
    return tokens, torch.from_numpy(lengths), fed, targets.masked_fill(outside, -100)


def plain_loss(model, commands):
    tokens, lengths, fed, targets = plain_batch(commands)
    return cross_entropy(model(tokens, lengths, fed).flatten(0, 1), targets.flatten())


def packed(values, sizes):
    return torch.cat([values[:size, step] for step, size in enumerate(sizes)])


@pytest.mark.parametrize("units", [5, 65])  # products are made in two ways
@pytest.mark.parametrize("lengths", [(6, 4, 4, 1), (1,), (3, 3), (2, 2, 2, 2, 1)])
def test_the_kernel_equals_nn_lstm(lengths, units):
    """Hidden states and all gradients, for two replicas on rows that end at different steps."""
    torch.manual_seed(0)
    symbols, rows, double = 4, len(lengths), {"dtype": torch.float64}
    sizes = [sum(length > step for length in lengths) for step in range(max(lengths))]
    layers = [nn.LSTM(3, units, batch_first=True, **double) for _ in range(2)]
    vectors = torch.randn(2, symbols, 3, **double)
    tokens = torch.randint(0, symbols, (2, rows, max(lengths)))
    table = torch.stack(
        [v @ m.weight_ih_l0.T + m.bias_ih_l0 + m.bias_hh_l0 for v, m in zip(vectors, layers, strict=True)]
    ).detach()
    weight = torch.stack([layer.weight_hh_l0.detach() for layer in layers])
    start = [torch.randn(2, rows, units, **double) for _ in range(2)]
    leaves = [value.requires_grad_() for value in (table, weight, *start)]
    entries = torch.stack([packed(tokens[r], sizes) + r * symbols for r in range(2)])
    states, _ = run_lstm(table.flatten(0, 1), entries, weight, *start, sizes)
    across = torch.randn_like(states)
    (states * across).sum().backward()
    for r, layer in enumerate(layers):
        h, c = (value[r].detach().requires_grad_() for value in start)
        output, _ = layer(vectors[r][tokens[r]], (h[None], c[None]))
        torch.testing.assert_close(packed(output, sizes), states[r])
        (packed(output, sizes) * across[r]).sum().backward()
        found = [leaf.grad[r] for leaf in leaves]
        expected = [layer.weight_hh_l0.grad, h.grad, c.grad, layer.bias_hh_l0.grad]
        for mine, theirs in zip([*found[1:], found[0].sum(0)], expected, strict=True):
            torch.testing.assert_close(mine, theirs)
        torch.testing.assert_close(found[0].T @ vectors[r], layer.weight_ih_l0.grad)


def test_training_equals_plain_pytorch():
    """Six Adam updates of three replicas: the loss of each, and the weights at the end."""
    program = program_of()
    plain = plain_models(program)
    ours = torch.optim.Adam(program.model.parameters(), 0.01)
    theirs = [
        torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad], 0.01)
        for model in plain
    ]
    for step in range(6):
        losses = program.losses(step)
        ours.zero_grad()
        losses.sum().backward()
        ours.step()
        for replica, (model, optimizer) in enumerate(zip(plain, theirs, strict=True)):
            loss = plain_loss(model, program.task.training(replica, 0, 64, 24)[step])
            torch.testing.assert_close(losses[replica], loss, rtol=1e-10, atol=1e-10)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for model, copied in zip(plain, plain_models(program), strict=True):
        for (name, trained), (_, expected) in zip(model.named_parameters(), copied.named_parameters(), strict=True):
            torch.testing.assert_close(trained, expected, rtol=1e-7, atol=1e-9, msg=name)


def test_the_published_sizes():
    model = StackedTranslator(TranslatorConfig(), 13, 7, [0], torch.float32)
    assert model.forward_cell.weight_hh.shape == (1, 64, 16)
    assert model.decoder.weight_hh.shape == (1, 256, 64)
    assert (model.words.shape, model.actions.shape) == ((1, 13, 32), (1, 7, 32))
    assert torch.equal(model.decoder.bias_ih[0, 64:128], torch.ones(64))  # the forget gate


def test_what_stands_beside_a_row_changes_nothing():
    program = program_of(seeds=(0,))
    commands = ScanTask().test(0)[:60]
    together = program.model(program.pairs(commands[None]))
    pairs = program.pairs(commands[None])
    rows = pairs.in_order(
        torch.cat([nn.functional.pad(p, (0, 49 - p.shape[-1])) for p in pairs.by_row(together[:, 2])], 1)
    )
    for place in (0, 7, 59):
        pair = program.pairs(commands[None, place : place + 1])
        alone = program.model(pair)[0, 2]
        torch.testing.assert_close(rows[0, place, : len(alone)], alone)


def test_any_cell_runs_on_ragged_rows_as_the_kernel_does():
    """An LSTM that is not LSTMCell itself goes the way of all other cells."""

    class Same(LSTMCell):
        pass

    program = program_of()
    pairs = program.pairs(program.train)
    cell = program.model.decoder
    start = torch.randn(3, 40, 12, dtype=torch.float64)
    arguments = (program.model.actions, pairs.fed, pairs.output_sizes, start)
    fast = run_ragged(cell, *arguments)
    gradient = torch.autograd.grad(fast.square().sum(), cell.weight_hh)
    cell.__class__ = Same
    slow = run_ragged(cell, *arguments)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(gradient, torch.autograd.grad(slow.square().sum(), cell.weight_hh))


@pytest.mark.parametrize("cell", ["gru", "elman", "nested_lstm"])
def test_other_cells_learn(cell):
    program = program_of(cell=cell, seeds=(0, 1))
    optimizer = torch.optim.Adam(program.model.parameters(), 0.03)
    before = program.losses(0).detach()
    for _ in range(8):
        optimizer.zero_grad()
        loss = program.losses(0)
        loss.sum().backward()
        optimizer.step()
    assert (loss < before - 0.2).all()


def test_a_seed_is_the_same_network_alone_and_in_a_population_whatever_the_random_state():
    alone = StackedTranslator(SMALL, 13, 7, [5], torch.float64)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    together = StackedTranslator(SMALL, 13, 7, [4, 5], torch.float64)
    assert torch.equal(torch.get_rng_state(), state)
    for one, two in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(one[0], two[1])


@pytest.fixture(scope="module")
def half_trained():
    """Models that get some commands right and others wrong."""
    training = replace(TRAINING, batch=48, dtype="float32")
    program = ScanRecipe(ScanTask(), TranslatorConfig(embedding=8, hidden=6), training, 64).program((0, 1), "cpu")
    optimizer = torch.optim.Adam(program.model.parameters(), 0.02)
    for step in range(150):
        optimizer.zero_grad()
        program.losses(step).sum().backward()
        optimizer.step()
    return program


def test_sentence_accuracy_is_that_of_greedy_decoding(half_trained):
    """Against decoding with the plain model, symbol by symbol, and with the batched decoder."""
    program, known = half_trained, encoded()
    short = np.flatnonzero(known.output_lengths <= 9)
    commands = np.stack([np.random.default_rng(seed).choice(short, 150, replace=False) for seed in range(2)])
    right = program.right(commands)
    assert 5 < right.sum() < right.numel() - 5  # else it would say nothing
    pairs = program.pairs(commands)
    said = pairs.in_order(program.model.decode(pairs, END, 49))
    for replica in range(2):
        model = PlainTranslator(13, 7, 8, 6)
        copy_replica(program.model, replica, model)
        for place in range(0, 150, 3):
            command = commands[replica, place]
            wanted = known.outputs[command, : known.output_lengths[command]].tolist()
            answer = greedy(model, command, 49)
            found = said[replica, place].tolist()
            assert found[: len(answer)] == answer[: len(found)]
            assert bool(right[replica, place]) == (answer == wanted)


def greedy(model, command, longest):
    tokens, lengths, _, _ = plain_batch(np.array([command]))
    said = [END]
    with torch.no_grad():
        while len(said) <= longest and (len(said) == 1 or said[-1] != END):
            said.append(int(model(tokens, lengths, torch.tensor([said]))[0, -1].argmax()))
    return said[1:]


def test_measures_are_shares_of_right_sentences(half_trained):
    program = half_trained
    measured = program.measure()
    for replica in range(2):
        right = program.right(program.train)[replica].numpy()
        others = ~program.copies[replica].numpy()
        assert measured["train"][replica] == pytest.approx(right.mean())
        assert measured["combined"][replica] == pytest.approx(right[others].mean())
        assert measured["test"][replica] == pytest.approx(program.right(program.test)[replica].numpy().mean())


def test_evaluation_in_parts_is_that_of_the_whole(half_trained, monkeypatch):
    commands = ScanTask().test(0)[None, :300].repeat(2, 0)
    whole = half_trained.right(commands)
    monkeypatch.setattr("rote.studies.resistance.scan_training.PART", 77)
    assert torch.equal(half_trained.right(commands), whole)


def answers(meant):
    """What a model says that understands template t with word w as the command ``meant(t, w)``."""
    known = templates()
    chosen = [known.names.index(name) for name in ("_", "_ left", "_ twice", "_ and turn left", "_ after _")]
    numbers = np.array([[known.commands[meant(t, w)] for w in range(4)] for t in chosen])
    outputs = torch.from_numpy(encoded().outputs[numbers])
    lengths = torch.from_numpy(encoded().output_lengths[numbers])[..., None]
    return torch.where(torch.arange(49) < lengths, outputs, END)


def test_information_of_known_answers():
    """One who composes; one who takes every command with 'jump' for 'jump'; one who hears 'walk' in every word."""
    composed = _told(answers(lambda t, w: (t, w, w)))
    assert composed["syntax_word"] == composed["word_syntax"] == pytest.approx(0)
    assert composed["word_word"] == pytest.approx(2)
    assert composed["syntax_syntax"] == pytest.approx(np.log2(5) - 2 / 5)  # '_ twice' and '_ after _' say the same
    alone = _told(answers(lambda t, w: (0 if w == 3 else t, w, w)))
    jump = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    assert alone["syntax_word"] == pytest.approx(jump * 4 / 5)  # of the five templates one is right
    assert alone["syntax_word_others"] == pytest.approx(0)
    deaf = _told(answers(lambda t, w: (t, 0, 0)))
    assert deaf["word_word"] == deaf["syntax_word"] == pytest.approx(0)


def test_gradients_by_words_and_by_syntax_equal_plain_pytorch():
    program = program_of(seeds=(0, 1))
    found = measure_information(program, probes=5)
    known = templates()
    with_word = np.flatnonzero([name.split().count("_") > 0 for name in known.names])
    chosen = np.random.default_rng(0).permutation(with_word)[:5]
    commands = known.commands[chosen][:, np.arange(4), np.arange(4)].ravel()
    for replica, model in enumerate(plain_models(program)):
        norms = []
        for command in commands:
            tokens, lengths, fed, targets = plain_batch(np.array([command]))
            vectors = []
            hook = model.words.register_forward_hook(lambda *call, kept=vectors: kept.append(call[-1]))
            loss = cross_entropy(model(tokens, lengths, fed).flatten(0, 1), targets.flatten(), reduction="sum")
            hook.remove()
            squares = torch.autograd.grad(loss, vectors[0])[0].square().sum(-1)[0]
            norms.append([squares[mask].sum().sqrt() for mask in (tokens[0] < 4, tokens[0] >= 4)])
        word, syntax = torch.tensor(norms).mean(0).tolist()
        assert found["gradient_word"][replica] == pytest.approx(word, rel=1e-6)
        assert found["gradient_syntax"][replica] == pytest.approx(syntax, rel=1e-6)


def test_actions_and_end_are_all_symbols():
    assert len(ACTIONS) == END == 6
