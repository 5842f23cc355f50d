"""The stacked encoder-decoder against plain PyTorch, in float64: outputs, attention, losses and whole updates."""

from dataclasses import replace

import pytest
import torch
from plain_encoder_decoder import PlainEncoderDecoder, copy_replica, plain_loss

from rote.errors import UsageError
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.studies.realization.models import LookupRecipe, published_training
from rote.studies.realization.training import make_program
from rote.tasks.lookup import PAD
from rote.training.loop import clip_gradients

SMALL = EncoderDecoderConfig(hidden=6, embedding=3, limit=0.7)


def program_of(cell="gru", batch=1, guided=True, seeds=(0, 1, 2), **options):
    training = replace(published_training(), batch=batch, dtype="float64", clip=0.5)
    recipe = LookupRecipe(model=replace(SMALL, cell=cell), training=training, guided=guided, guidance=0.7, **options)
    return make_program(recipe, seeds, "cpu")


def plain_models(program, cell):
    symbols = len(program.data.input_symbols), len(program.data.output_symbols)
    models = [PlainEncoderDecoder(*symbols, 6, 3, cell).double() for _ in range(program.replicas)]
    for replica, model in enumerate(models):
        copy_replica(program.model, replica, model)
    return models


def test_the_published_model_has_the_published_number_of_parameters():
    model = EncoderDecoder(EncoderDecoderConfig(), 19, 11, seeds=[0])
    assert sum(parameter.numel() for parameter in model.parameters()) == 3_451_708


@pytest.mark.parametrize("teacher_forcing", [False, True])
@pytest.mark.parametrize("guided", [False, True])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_training_equals_plain_pytorch(cell, batch, guided, teacher_forcing):
    """Six Adam updates with clipping: the loss of each, and the weights at the end."""
    program = program_of(cell, batch, guided, teacher_forcing=teacher_forcing)
    plain = plain_models(program, cell)
    ours = torch.optim.Adam(program.model.parameters(), 0.01)
    theirs = [torch.optim.Adam(model.parameters(), 0.01) for model in plain]
    for step in range(6):
        rows = program.data.rows("train", program._chosen(step))
        losses = program.losses(step)
        ours.zero_grad()
        losses.sum().backward()
        clip_gradients(program, 0.5)
        ours.step()
        for replica, (model, optimizer) in enumerate(zip(plain, theirs, strict=True)):
            tokens, targets, wanted = (part[replica] for part in (rows.tokens, rows.targets, rows.attention))
            lengths = (tokens != PAD).sum(-1)
            logits, attention = model(tokens, lengths, targets, program.data.start, teacher_forcing)
            loss = plain_loss(logits, attention, targets, wanted, 0.7 if guided else 0.0)
            torch.testing.assert_close(losses[replica], loss, rtol=1e-11, atol=1e-11)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
    again = plain_models(program, cell)
    for model, copied in zip(plain, again, strict=True):
        for (name, trained), (_, expected) in zip(model.named_parameters(), copied.named_parameters(), strict=True):
            torch.testing.assert_close(trained, expected, rtol=1e-8, atol=1e-10, msg=name)


def test_accuracy_counts_sequences_that_are_right_everywhere():
    program = program_of()
    plain = plain_models(program, "gru")
    batch = program.data.whole("train", 3)
    for replica, model in enumerate(plain):
        tokens, targets = batch.tokens[replica], batch.targets[replica]
        logits, _ = model(tokens, (tokens != PAD).sum(-1), targets, program.data.start)
        right = sum(
            all(int(guess) == int(target) for guess, target in zip(row, wanted, strict=True) if int(target) != PAD)
            for row, wanted in zip(logits.argmax(-1), targets, strict=True)
        )
        assert program.accuracy("train")[replica] == right / len(tokens)


def test_padding_changes_nothing():
    """A short row alone and the same row beside a long one."""
    program = program_of(seeds=(0,))
    short, long = torch.tensor([[0]]), torch.tensor([[0, 100]])
    alone, beside = program.data.rows("train", short), program.data.rows("train", long)
    assert alone.tokens.shape[-1] < beside.tokens.shape[-1]
    one, two = (program._forward(batch) for batch in (alone, beside))
    steps = alone.targets.shape[-1]
    torch.testing.assert_close(one.logits[:, 0], two.logits[:, 0, :steps])
    torch.testing.assert_close(one.attention[:, 0], two.attention[:, 0, :steps, : alone.tokens.shape[-1]])
    assert two.attention[0, 0, :, alone.tokens.shape[-1] :].abs().max() == 0


@pytest.mark.parametrize("full_focus", [True, False])
@pytest.mark.parametrize("position", ["pre", "post"])
@pytest.mark.parametrize("attention", ["mlp", "dot", "general"])
def test_every_attention_sums_to_one_and_trains(attention, position, full_focus):
    config = replace(SMALL, attention=attention, position=position, full_focus=full_focus)
    model = EncoderDecoder(config, 19, 11, seeds=[0, 1], dtype=torch.float64)
    tokens, targets = torch.randint(2, 19, (2, 3, 4)), torch.randint(3, 11, (2, 3, 3))
    mask = torch.arange(4) < torch.tensor([4, 3, 2])[None, :, None]
    decoded = model(tokens, mask.expand(2, -1, -1), targets, start=2)
    torch.testing.assert_close(decoded.attention.sum(-1), torch.ones(2, 3, 3, dtype=torch.float64))
    decoded.logits.log_softmax(-1)[..., 0].sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_dot_and_general_attention_by_hand():
    for kind in ("dot", "general"):
        model = EncoderDecoder(replace(SMALL, attention=kind), 19, 11, seeds=[3], dtype=torch.float64)
        tokens, targets = torch.randint(2, 19, (1, 2, 4)), torch.randint(3, 11, (1, 2, 1))
        decoded = model(tokens, torch.ones(1, 2, 4, dtype=torch.bool), targets, start=2)
        query = decoded.start[0][0]
        if kind == "general":
            query = query @ model.decoder.attention.of_query.weight[0].T
        expected = torch.einsum("btu,bu->bt", decoded.encoded[0], query).softmax(-1)
        torch.testing.assert_close(decoded.attention[0, :, 0], expected)


def test_a_seed_is_the_same_network_alone_and_in_a_population():
    alone, together = (EncoderDecoder(SMALL, 19, 11, seeds=seeds) for seeds in ([5], [4, 5]))
    for one, two in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(one[0], two[1])
        assert float(one.detach().abs().max()) <= 0.7


def test_replicas_are_selected_and_put_together():
    both = EncoderDecoder(SMALL, 19, 11, seeds=[0, 1])
    again = EncoderDecoder.together([both.select([0]), both.select([1])])
    for one, two in zip(both.parameters(), again.parameters(), strict=True):
        assert torch.equal(one, two)
        assert one.data_ptr() != two.data_ptr()
    with pytest.raises(UsageError, match="one architecture"):
        EncoderDecoder.together([both, EncoderDecoder(replace(SMALL, hidden=7), 19, 11, seeds=[0])])


def test_the_analyses_see_what_the_model_computes():
    """Encoder and decoder as sequence models give the model's own states and logits."""
    import rote

    program = program_of()
    batch = program.data.whole("heldout_compositions", 3)
    with torch.no_grad():
        decoded = program._forward(batch)
    for replica in range(3):
        encoder, decoder = program.model.encoder_of(replica), program.model.decoder_of(replica)
        torch.testing.assert_close(rote.trace(encoder, batch.tokens[replica]).hidden[0], decoded.encoded[replica])
        start = [tuple(state[replica] for state in decoded.start)]
        trace = rote.trace(decoder, decoded.inputs[replica], initial=start)
        torch.testing.assert_close(trace.logits, decoded.logits[replica])


@pytest.mark.parametrize(("key", "value"), [("attention", "cosine"), ("position", "middle")])
def test_unknown_options_are_refused(key, value):
    with pytest.raises(UsageError, match=value):
        EncoderDecoder(replace(SMALL, **{key: value}), 19, 11, seeds=[0])


def test_a_checkpoint_of_another_architecture_is_refused():
    model = EncoderDecoder(SMALL, 19, 11, seeds=[0])
    for other, message in (
        (replace(SMALL, hidden=7), r"'encoder.cell.weight_ih' is \(1, 21, 3\) there and \(1, 18, 3\)"),
        (replace(SMALL, full_focus=False), "of another architecture"),
        (replace(SMALL, cell="lstm"), "of another architecture"),
    ):
        with pytest.raises(UsageError, match=message):
            model.load(EncoderDecoder(other, 19, 11, seeds=[0]).state_dict())
    again = EncoderDecoder(SMALL, 19, 11, seeds=[1])
    again.load(model.state_dict())
    assert all(torch.equal(one, two) for one, two in zip(model.parameters(), again.parameters(), strict=True))
