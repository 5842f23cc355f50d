"""Deep networks of today as one architecture: a stack of blocks around any cell, read behind a norm.

mixer="s6" is Mamba's form, mixer="rg_lru" with an MLP that of Griffin, mixer="attention" with an MLP a causal
transformer that knows positions by their distance. Each is an ordinary ``SequenceModel``: all of it is written in the
arithmetic, so that every analysis takes it. The ``transformer`` of torch's own layers has its logits alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from rote.cells import Recurrent, cells
from rote.cells.block import EPS
from rote.config import at_least, one_of
from rote.errors import SettingError
from rote.models.architecture import EVERYTHING, Architecture, architectures
from rote.models.initialization import drawn_from
from rote.models.readout import Readout
from rote.models.sequence import SequenceModel
from rote.models.settings import known_cells


@architectures.register("blocks")
@dataclass(frozen=True)
class BlocksConfig(Architecture):
    """Stack of residual blocks around any cell or attention, with norms, MLPs and a readout behind a norm."""

    capabilities = EVERYTHING
    mixer: str = "s6"  # the cell of each layer
    width: int = 64  # of the sum that goes from layer to layer
    layers: int = 2
    mlp: int = 0  # units of the MLP of each layer; 0: none
    norm: str = "rms"  # or "layer"
    heads: int = 1  # of a mixer that has heads
    longest: int = 64  # of attention: how many steps it sees
    tied: bool = False  # the readout has the embedding's weights, and the embedding is scaled by the root of the width
    cap: float | None = None  # logits stay between -cap and cap

    def __post_init__(self) -> None:
        known_cells(self.mixer)
        if self.mixer == "block":
            raise SettingError("mixer", "must be what blocks are made around, such as 's6'. Got 'block'.")
        at_least(self, 1, "width", "layers", "heads", "longest")
        at_least(self, 0, "mlp", "cap")
        one_of("norm", self.norm, ("rms", "layer"))

    def unused(self) -> dict[str, str]:
        """Settings that do nothing beside this mixer."""
        wanted = {"heads": f"{self.mixer} has no heads", "longest": f"{self.mixer} sees all earlier steps"}
        return {name: why for name, why in wanted.items() if name not in self._taken()}

    def _taken(self) -> tuple[str, ...]:
        return tuple(name for name in ("heads", "longest") if name in cells[self.mixer].__signature__.parameters)

    def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> SequenceModel:
        if self.tied and outputs != inputs:
            raise SettingError("tied", f"needs as many outputs as inputs. Got {inputs} and {outputs}.")
        options: dict[str, Any] = {name: getattr(self, name) for name in self._taken()}
        kind = nn.LayerNorm if self.norm == "layer" else nn.RMSNorm
        with drawn_from(seed):
            embedding = nn.Embedding(inputs, self.width)
            recurrent = Recurrent(
                "block", self.width, self.width, layers=self.layers, mixer=self.mixer, norm=self.norm, mlp=self.mlp,
                options=options,
            )  # fmt: skip
            linear = nn.Linear(self.width, outputs, bias=not self.tied)
            if self.tied:
                nn.init.normal_(embedding.weight, std=1 / math.sqrt(self.width))
                linear.weight = embedding.weight
            readout = Readout(linear, kind(self.width, eps=EPS), self.cap)
        scale = math.sqrt(self.width) if self.tied else 1.0
        return SequenceModel(recurrent, embedding, readout, embedding_scale=scale).to(dtype)
