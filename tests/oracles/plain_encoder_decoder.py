"""The lookup model as one would write it in plain PyTorch: the oracle of the stacked one, and what its speed is
measured against. One model, torch's own layers, one example after the other if the batch is one."""

import torch
from torch import nn


class PlainEncoderDecoder(nn.Module):
    def __init__(self, inputs, outputs, hidden=512, embedding=16, cell="gru"):
        super().__init__()
        layer = {"gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.encoder_embedding, self.decoder_embedding = nn.Embedding(inputs, embedding), nn.Embedding(outputs, hidden)
        self.encoder = layer(embedding, hidden, batch_first=True)
        self.decoder = layer(hidden, hidden, batch_first=True)
        self.attention, self.score = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, 1)
        self.focus, self.readout = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, outputs)

    def forward(self, tokens, lengths, targets, start, teacher_forcing=False):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.encoder_embedding(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        packed, state = self.encoder(packed)
        encoded, _ = nn.utils.rnn.pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        outside = torch.arange(tokens.shape[1]) >= lengths[:, None]
        fed, logits, attention = torch.full_like(targets[:, 0], start), [], []
        for step in range(targets.shape[1]):
            query = state[0] if isinstance(state, tuple) else state
            both = torch.cat([encoded, query[0][:, None].expand_as(encoded)], -1)
            scores = self.score(torch.relu(self.attention(both)))[..., 0].masked_fill(outside, -torch.inf)
            attention.append(scores.softmax(-1))
            context = (attention[-1][:, None] @ encoded)[:, 0]
            merged = torch.cat([context, self.decoder_embedding(fed)], -1)
            output, state = self.decoder((context * torch.relu(self.focus(merged)))[:, None], state)
            logits.append(self.readout(output[:, 0]))
            fed = targets[:, step] if teacher_forcing else logits[-1].argmax(-1)
        return torch.stack(logits, 1), torch.stack(attention, 1)


def plain_loss(logits, attention, targets, wanted, guidance, pad=1):
    """Summed over the steps, each the mean over the rows that have a target there."""
    total = logits.new_zeros(())
    for step in range(targets.shape[1]):
        here = targets[:, step] != pad
        if not here.any():
            continue
        total = total + nn.functional.cross_entropy(logits[here, step], targets[here, step])
        counted = here & (wanted[:, step] >= 0)
        if guidance and counted.any():
            chosen = attention[counted, step].gather(1, wanted[counted, step][:, None])
            total = total - guidance * chosen.clamp(min=1e-20).log().mean()
    return total


def copy_replica(stacked, replica, plain):
    """Give a plain model the weights of one replica of a stacked one."""
    encoder, decoder = stacked.encoder, stacked.decoder
    pairs = [
        (plain.encoder_embedding.weight, encoder.embedding.weight),
        (plain.decoder_embedding.weight, decoder.embedding.weight),
        (plain.score.weight, decoder.attention.score.weight),
        (plain.score.bias, decoder.attention.score.bias),
        (plain.attention.bias, decoder.attention.of_key.bias),
        (plain.focus.bias, decoder.focus_other.bias),
        (plain.readout.weight, decoder.readout.weight),
        (plain.readout.bias, decoder.readout.bias),
    ]
    for ours, theirs in ((plain.encoder, encoder.cell), (plain.decoder, decoder.cell)):
        pairs += [
            (getattr(ours, f"{n}_l0"), getattr(theirs, n)) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
    joined = [
        (plain.attention.weight, decoder.attention.of_key.weight, decoder.attention.of_query.weight),
        (plain.focus.weight, decoder.focus.weight, decoder.focus_other.weight),
    ]
    with torch.no_grad():
        for mine, theirs in pairs:
            mine.copy_(theirs[replica])
        for mine, first, second in joined:
            mine.copy_(torch.cat([first[replica], second[replica]], -1))
