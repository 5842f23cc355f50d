"""Models for the tests of pruning and substitution."""

import torch
from torch import Tensor, nn

from rote.cells import Recurrent
from rote.models.sequence import SequenceModel

TOKENS = torch.tensor([[0, 3, 1, 5, 2], [4, 4, 2, 0, 1]])


def made(kind: str = "gru", seed: int = 0, size: int = 6, **options: object) -> SequenceModel:
    torch.manual_seed(seed)
    recurrent = Recurrent(kind, 3, size, **options)
    readout = nn.Linear(recurrent.output_size, 6)
    return SequenceModel(recurrent, nn.Embedding(6, 3), readout).double()


class Own(nn.Module):
    """A user's module: an encoder, a decoder and a normalization with buffers, wired as they like."""

    def __init__(self, seed: int = 0, hidden: int = 4) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.embedding = nn.Embedding(6, 3)
        self.encoder = nn.LSTM(3, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.norm = nn.BatchNorm1d(2 * hidden)
        self.decoder = nn.GRUCell(2 * hidden, hidden)
        self.out = nn.Linear(hidden, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.encoder(self.embedding(tokens))
        out: Tensor = self.out(self.decoder(self.norm(states[:, -1])))
        return out
