"""Encoder and decoder with attention (source 002; after Bahdanau et al. 2015), many replicas at once.

Every tensor carries a leading replica axis: a population trains as one program, and one model is a population of one.
The decoder starts from the encoder's last state and is fed its own best guess, or the target under teacher forcing; it
runs for as many steps as there are targets, so it never decides to stop.

attention   mlp: a . relu(W [key; query]);  general: key . W query;  dot: key . query
position    pre: the query is the old state, and what is attended to is an input of the step (published);
            post: the query is the new state, and what is attended to goes to the readout
full focus  the attended vector c, given beside another vector e, becomes c * relu(W [c; e]); without it [c; e]
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn

from rote.cells import Cell, Recurrent, Stacked, State, cells, run_stacked, stack, unstack
from rote.cells.stacked import with_equal_states
from rote.config import one_of
from rote.errors import UsageError
from rote.models.architecture import Capability
from rote.models.sequence import SequenceModel, linear_of
from rote.models.settings import EncoderDecoderConfig

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True)
class Decoded:
    """What one pass computed. ``inputs`` is what went into the decoder's cell at each step, from ``start``."""

    logits: Float[Tensor, "replica batch output vocabulary"]
    attention: Float[Tensor, "replica batch output input"]
    encoded: Float[Tensor, "replica batch input unit"]
    start: State
    inputs: Float[Tensor, "replica batch output size"]


class StackedLinear(nn.Module):
    def __init__(self, replicas: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(replicas, outputs)) if bias else None

    def forward(self, a: Stacked, value: Float[Tensor, "replica row input"]) -> Float[Tensor, "replica row output"]:
        product = a.linear(value, self.weight)
        return product if self.bias is None else product + a.constant(self.bias)


class StackedEmbedding(nn.Module):
    def __init__(self, replicas: int, symbols: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(replicas, symbols, size))

    def forward(self, tokens: Int[Tensor, "replica ..."]) -> Float[Tensor, "replica ... size"]:
        replica = torch.arange(len(tokens), device=tokens.device).view(-1, *[1] * (tokens.dim() - 1))
        return self.weight[replica, tokens]


class Attention(nn.Module):
    def __init__(self, kind: str, replicas: int, size: int) -> None:
        super().__init__()
        self.kind = one_of("attention", kind, ("mlp", "general", "dot"))
        if kind == "mlp":
            self.of_key = StackedLinear(replicas, size, size)
            self.of_query = StackedLinear(replicas, size, size, bias=False)
            self.score = StackedLinear(replicas, size, 1)
        elif kind == "general":
            self.of_query = StackedLinear(replicas, size, size, bias=False)

    def keys(self, a: Stacked, encoded: Float[Tensor, "replica batch input unit"]) -> Tensor:
        """The part of the scores that does not depend on the query, for all positions at once."""
        if self.kind != "mlp":
            return encoded
        keys: Tensor = self.of_key(a, encoded.flatten(1, 2))
        return keys.view_as(encoded)

    def forward(
        self,
        a: Stacked,
        keys: Tensor,
        query: Float[Tensor, "replica batch unit"],
        mask: Bool[Tensor, "replica batch input"],
    ) -> Float[Tensor, "replica batch input"]:
        if self.kind == "mlp":
            merged = torch.relu(keys + self.of_query(a, query)[:, :, None])
            scores: Tensor = self.score(a, merged.flatten(1, 2)).view(mask.shape)
        else:
            turned = query if self.kind == "dot" else self.of_query(a, query)
            scores = (keys @ turned[..., None])[..., 0]
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)


class Encoder(nn.Module):
    def __init__(self, config: EncoderDecoderConfig, symbols: int, replicas: int) -> None:
        super().__init__()
        self.embedding = StackedEmbedding(replicas, symbols, config.embedding)
        self.cell = _cells(config, config.embedding, replicas)

    def forward(self, a: Stacked, tokens: Tensor, mask: Tensor | None) -> tuple[Tensor, State]:
        return run_stacked(self.cell, self.embedding(tokens), mask=mask, arithmetic=a)


class Decoder(nn.Module):
    alive: Tensor

    def __init__(self, config: EncoderDecoderConfig, symbols: int, replicas: int) -> None:
        super().__init__()
        size, both = config.hidden, 1 if config.full_focus else 2
        self.before = one_of("position", config.position, ("pre", "post")) == "pre"
        self.embedding = StackedEmbedding(replicas, symbols, size)
        self.cell = _cells(config, both * size if self.before else size, replicas)
        self.attention = Attention(config.attention, replicas, size)
        self.focus = StackedLinear(replicas, size, size, bias=False) if config.full_focus else None
        self.focus_other = StackedLinear(replicas, size, size) if config.full_focus else None
        self.readout = StackedLinear(replicas, size if self.before else both * size, symbols)
        # Neurons that were cut out must not begin with what the encoder hands over.
        self.register_buffer("alive", torch.ones(replicas, size))

    def merge(self, a: Stacked, context: Tensor, other: Tensor) -> Tensor:
        if self.focus is None or self.focus_other is None:
            return torch.cat([context, other], dim=-1)
        return context * torch.relu(self.focus(a, context) + self.focus_other(a, other))

    def attend(self, a: Stacked, keys: Tensor, encoded: Tensor, query: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.attention(a, keys, query, mask)
        return (weights[:, :, None] @ encoded)[:, :, 0], weights


class EncoderDecoder(nn.Module):
    """``seeds``: one replica each; a replica starts from its own seed alone."""

    capabilities: ClassVar[tuple[Capability, ...]] = ()  # its forward pass needs pairs; its parts have everything
    instead = "Give one of its parts: model.encoder_of(replica) or model.decoder_of(replica)."

    def __init__(
        self,
        config: EncoderDecoderConfig,
        inputs: int,
        outputs: int,
        seeds: Sequence[int],
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config, inputs, len(seeds))
        self.decoder = Decoder(config, outputs, len(seeds))
        self.to(dtype)
        with torch.no_grad():
            for replica, seed in enumerate(seeds):
                random = torch.Generator().manual_seed(seed)
                for parameter in self.parameters():
                    # Drawn in float64, so that a seed is the same network in either precision.
                    drawn = torch.rand(parameter[replica].shape, generator=random, dtype=torch.float64)
                    parameter[replica] = (drawn * 2 - 1) * config.limit

    @property
    def replicas(self) -> int:
        return len(self.decoder.alive)

    def forward(
        self,
        tokens: Int[Tensor, "replica batch input"],
        mask: Bool[Tensor, "replica batch input"],
        targets: Int[Tensor, "replica batch output"],
        start: int,
        teacher_forcing: bool = False,
    ) -> Decoded:
        """``start``: the number of the symbol that the decoder is fed first. Of ``targets`` only the number of steps is
        used, unless the decoder is fed with them."""
        a, decoder = Stacked(), self.decoder
        every = bool(mask.all())
        encoded, state = self.encoder(a, tokens, None if every else mask)
        state = tuple(value * decoder.alive[:, None] for value in state)
        begin, keys = state, decoder.attention.keys(a, encoded)
        fed = torch.full_like(targets[:, :, 0], start)
        logits, attention, inputs = [], [], []
        for step in range(targets.shape[2]):
            embedded = decoder.embedding(fed)
            if decoder.before:
                context, weights = decoder.attend(a, keys, encoded, state[0], mask)
                embedded = decoder.merge(a, context, embedded)
            state = decoder.cell.step(a, decoder.cell.enter(a, embedded), state)
            shown = state[0]
            if not decoder.before:
                context, weights = decoder.attend(a, keys, encoded, shown, mask)
                shown = decoder.merge(a, context, shown)
            logits.append(decoder.readout(a, shown))
            attention.append(weights)
            inputs.append(embedded)
            fed = targets[:, :, step] if teacher_forcing else logits[-1].detach().argmax(-1)
        return Decoded(torch.stack(logits, 2), torch.stack(attention, 2), encoded, begin, torch.stack(inputs, 2))

    def load(self, weights: Mapping[str, Tensor]) -> None:
        """The weights of a checkpoint; an error says where it is of another architecture."""
        own = self.state_dict()
        for name in [*own, *weights]:
            mine, theirs = (tuple(state[name].shape) if name in state else None for state in (own, weights))
            if mine != theirs:
                raise UsageError(
                    f"The checkpoint is of another architecture: {name!r} is {theirs or 'missing'} there and "
                    f"{mine or 'missing'} in this model (replica first)."
                )
        self.load_state_dict(weights)

    def select(self, replicas: Sequence[int]) -> Self:
        """Some of the replicas, as a population with weights of its own."""
        return self._with([{name: value[list(replicas)] for name, value in self.state_dict().items()}])

    @classmethod
    def together(cls, models: Sequence[EncoderDecoder]) -> EncoderDecoder:
        """Populations of the same architecture as one."""
        kinds = {model.config for model in models}
        if len(kinds) != 1:
            raise UsageError(f"Only models of one architecture can be put together, at least one. Got {len(kinds)}.")
        return models[0]._with([model.state_dict() for model in models])

    def encoder_of(self, replica: int) -> SequenceModel:
        """One replica's encoder as the analyses take it."""
        weight = self.encoder.embedding.weight[replica].detach().clone()
        embedding: nn.Embedding = nn.Embedding.from_pretrained(weight, freeze=False)
        return SequenceModel(Recurrent([unstack(self.encoder.cell, replica)]), embedding)

    def decoder_of(self, replica: int) -> SequenceModel:
        """One replica's decoder, for the vectors that went into its cell (``Decoded.inputs``); its readout too, where
        that reads the state alone."""
        recurrent, readout = Recurrent([unstack(self.decoder.cell, replica)]), None
        if self.decoder.before:
            stacked = self.decoder.readout
            assert stacked.bias is not None
            readout = linear_of(stacked.weight[replica], stacked.bias[replica])
        return SequenceModel(recurrent, None, readout)

    def _with(self, states: Sequence[dict[str, Tensor]]) -> Self:
        made = copy.deepcopy(self)
        for name, _ in list(made.named_parameters()):
            owner, _, last = name.rpartition(".")
            setattr(made.get_submodule(owner), last, nn.Parameter(torch.cat([state[name] for state in states])))
        made.decoder.alive = torch.cat([state["decoder.alive"] for state in states])
        return made


def _cells(config: EncoderDecoderConfig, inputs: int, replicas: int) -> Cell:
    return with_equal_states(stack([cells[config.cell](inputs, config.hidden) for _ in range(replicas)]))
