"""What ``rote.adapt(model)`` costs for whole modules of a hundred million parameters, Hugging Face's among them.

Time against the module's own forward pass on the example; and how many bytes the adapted model holds that the module
does not, against the module's weights. Limits: 10 seconds, and a hundredth of the weights.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module

import torch
from torch import Tensor, nn

import rote

WORDS, SIZE, BLOCKS = 32_000, 768, 11
LEAST, SECONDS, SHARE = 100_000_000, 10.0, 0.01
EXAMPLE = (2, 12)


class Blocks(nn.Module):
    """A residual stream of norms, LSTMs and MLPs between tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.norms = nn.ModuleList(nn.LayerNorm(SIZE) for _ in range(2 * BLOCKS))
        self.layers = nn.ModuleList(nn.LSTM(SIZE, SIZE, batch_first=True) for _ in range(BLOCKS))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(SIZE, 2 * SIZE), nn.GELU(), nn.Linear(2 * SIZE, SIZE)) for _ in range(BLOCKS)
        )
        self.last, self.out = nn.LayerNorm(SIZE), nn.Linear(SIZE, WORDS, bias=False)
        self.out.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        stream = self.words(tokens)
        for number, (layer, mlp) in enumerate(zip(self.layers, self.mlps, strict=True)):
            stream = stream + layer(self.norms[2 * number](stream))[0]
            stream = stream + mlp(self.norms[2 * number + 1](stream))
        return self.out(self.last(stream))


def gpt2() -> nn.Module:
    """The smallest of the published sizes."""
    transformers = import_module("transformers")
    model: nn.Module = transformers.GPT2LMHeadModel(transformers.GPT2Config())
    return model


def mamba() -> nn.Module:
    transformers = import_module("transformers")
    model: nn.Module = transformers.MambaForCausalLM(transformers.MambaConfig(hidden_size=SIZE, num_hidden_layers=24))
    return model


def measure(model: nn.Module) -> bool:
    """Whether the limits are kept."""
    tokens = torch.randint(0, WORDS, EXAMPLE)
    own = {weight.untyped_storage().data_ptr() for weight in (*model.parameters(), *model.buffers())}
    held = sum(weight.numel() for weight in model.parameters())
    with torch.no_grad():
        model(tokens)
        start = time.process_time()
        model(tokens)
        forward = time.process_time() - start
    start = time.process_time()
    adapted = rote.adapt(model, example=tokens)
    took = time.process_time() - start
    weights = (*adapted.parameters(), *adapted.buffers())
    places = {weight.untyped_storage().data_ptr(): weight.untyped_storage().nbytes() for weight in weights}
    more = sum(size for place, size in places.items() if place not in own)
    share = more / (held * adapted.zeros.element_size())
    print(f"{type(model).__name__}, {held / 1e6:.0f} million parameters")
    print(f"  {took:.1f} s, {took / forward:.0f} times one forward pass of its own")
    print(f"  bytes that it holds beside the module's weights: {share:.2%} of them")
    print(f"  {adapted.origin}")
    return held >= LEAST and took <= SECONDS and share <= SHARE


def main() -> int:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    kept = [measure(make().eval()) for make in (Blocks, gpt2, mamba)]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
