"""The SCAN model as one would write it in plain PyTorch: the oracle of the stacked one, and what its speed is measured
against. One model, torch's own layers, padded batches."""

import torch
from torch import nn


class PlainTranslator(nn.Module):
    def __init__(self, inputs, outputs, embedding=32, hidden=16):
        super().__init__()
        self.words, self.actions = nn.Embedding(inputs, embedding), nn.Embedding(outputs, embedding)
        self.forward_layer = nn.LSTM(embedding, hidden, batch_first=True)
        self.backward_layer = nn.LSTM(embedding, hidden, batch_first=True)  # reads each row from its own end
        self.decoder = nn.LSTM(embedding, 4 * hidden, batch_first=True)
        self.query = nn.Linear(4 * hidden, 2 * hidden, bias=False)
        self.merge, self.readout = nn.Linear(6 * hidden, 4 * hidden), nn.Linear(4 * hidden, outputs)

    def forward(self, tokens, lengths, fed):
        position = torch.arange(tokens.shape[1])
        outside = position >= lengths[:, None]
        turned = (lengths[:, None] - 1 - position).clamp(min=0)
        embedded = self.words(tokens)
        forward, _ = self.forward_layer(embedded)
        backward, _ = self.backward_layer(embedded.gather(1, turned[..., None].expand_as(embedded)))
        keys = torch.cat([forward, backward.gather(1, turned[..., None].expand_as(backward))], -1)
        last = keys[torch.arange(len(keys)), lengths - 1]
        start = torch.cat([keys[:, 0], last], -1)[None]
        states, _ = self.decoder(self.actions(fed), (start, start))
        scores = self.query(states) @ keys.mT
        attended = scores.masked_fill(outside[:, None], -torch.inf).softmax(-1) @ keys
        return self.readout(torch.tanh(self.merge(torch.cat([attended, states], -1))))


def copy_replica(stacked, replica, plain):
    """Give a plain model the weights of one replica of a stacked one. torch's second bias is kept at zero."""
    pairs = [
        (plain.words.weight, stacked.words),
        (plain.actions.weight, stacked.actions),
        (plain.query.weight, stacked.query),
        (plain.merge.bias, stacked.merge_bias),
        (plain.readout.weight, stacked.readout),
        (plain.readout.bias, stacked.readout_bias),
    ]
    layers = [(plain.forward_layer, stacked.forward_cell), (plain.backward_layer, stacked.backward_cell)]
    with torch.no_grad():
        for layer, cell in (*layers, (plain.decoder, stacked.decoder)):
            layer.bias_hh_l0.zero_()
            layer.bias_hh_l0.requires_grad_(False)
            pairs += [
                (getattr(layer, f"{name}_l0"), getattr(cell, name)) for name in ("weight_ih", "weight_hh", "bias_ih")
            ]
        for mine, theirs in pairs:
            mine.copy_(theirs[replica])
        plain.merge.weight.copy_(torch.cat([stacked.attended[replica], stacked.stated[replica]], -1))
