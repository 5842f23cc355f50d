"""What is read out of one trained model: P(close) from parts of the rule, its own P(close), gradients through the rule.

All rules and all spans of a model are decomposed in one pass. Positions, with s the place of the open symbol and e of
the close symbol: [s] alone, [s+1 .. e-1] the conduit as one phrase, [s .. s+i] the prefixes. P is the softmax of the
readout of the relevant part, without the readout's bias, as in the author's program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from rote.analyses import decompose, gradient_flow
from rote.analyses.decomposition import Parts
from rote.models import SequenceModel
from rote.studies.conduits.settings import BiasRule, Reading

BIAS_RULES: tuple[BiasRule, ...] = ("in_span", "exclusive_end", "never")
BEFORE = -2  # the step of a window before the close symbol, which is its last


@dataclass(frozen=True)
class Windows:
    """Rules to look at: [rule, context + k + 2], the close symbol last; ``kinds`` names equal parts of them."""

    tokens: Tensor
    context: int
    close: int
    kinds: tuple[str, ...]

    @property
    def conduit(self) -> int:
        return self.tokens.shape[1] - self.context - 2

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The prefixes, of which the first is the open symbol and the last open symbol and conduit; the conduit."""
        start, k = self.context, self.conduit
        return [*((start, start + i) for i in range(k + 1)), (start + 1, start + k)]

    def some(self, rules: int) -> Windows:
        """The first ``rules`` of each kind."""
        parts = self.tokens.chunk(len(self.kinds))
        return replace(self, tokens=torch.cat([part[:rules] for part in parts]))

    def by_kind(self, values: Tensor) -> list[Any]:
        """Means over the rules of each kind, as plain numbers."""
        return [part.double().mean(0).tolist() for part in values.chunk(len(self.kinds))]


@torch.no_grad()
def read(model: SequenceModel, windows: Windows, reading: Reading) -> list[dict[str, Any]]:
    """One row per kind of conduit, for a model in the precision in which it is to be decomposed."""
    parts = decompose(model, windows.tokens, windows.spans, bias=reading.bias)
    chances = _chances(parts, windows.close)  # [rule, span, 2]: before close, at close
    scores = model(windows.tokens).log_softmax(-1)
    own = scores[..., windows.close].exp()
    rows: list[dict[str, Any]] = [{"kind": kind} for kind in windows.kinds]
    for name, values in {"open": chances[:, 0], "conduit": chances[:, -1], "whole": chances[:, -2]}.items():
        for row, (before, at) in zip(rows, windows.by_kind(values), strict=True):
            row[name], row[f"{name}_at_close"] = before, at
    chosen = 0 if reading.at == "before_close" else 1
    for name, values in {
        "loss": -scores[:, :-1].gather(-1, windows.tokens[:, 1:, None]).mean((1, 2)),
        "own": own[:, BEFORE],
        "own_early": own[:, BEFORE - 1],
        "prefixes": chances[:, : windows.conduit + 1, chosen],
        "interdependence": _interdependence(parts),
    }.items():
        for row, value in zip(rows, windows.by_kind(values), strict=True):
            row[name] = value
    return rows


def error(model: SequenceModel, windows: Windows, reading: Reading) -> float:
    """The largest relative error of the decomposition over the checked rules and all spans."""
    some = windows.some(reading.checked)
    return float(decompose(model, some.tokens, some.spans, bias=reading.bias).error.max())


def by_rule(model: SequenceModel, windows: Windows) -> list[dict[str, Any]]:
    """P(close) from the open symbol and from the conduit by every published bias rule and both steps of reading."""
    rows = []
    for rule in BIAS_RULES:
        found = _chances(decompose(model, windows.tokens, windows.spans, bias=rule), windows.close)
        for kind, opened, conduit in zip(
            windows.kinds, windows.by_kind(found[:, 0]), windows.by_kind(found[:, -1]), strict=True
        ):
            for at, name in enumerate(("before_close", "at_close")):
                rows.append({"kind": kind, "bias": rule, "at": name, "open": opened[at], "conduit": conduit[at]})
    return rows


def gradients(model: SequenceModel, windows: Windows, rules: int) -> list[dict[str, Any]]:
    """How the loss at the close symbol reaches the open symbol, for the first ``rules`` of each kind.

    jacobians: spectral norm of d state before close / d state at open, the product of the conduit's step Jacobians.
    carried: |d loss / d hidden state at open| over the same just before close.
    """
    some = windows.some(rules)
    context, rule = some.tokens[:, : some.context], some.tokens[:, some.context : -1]
    initial = None
    if some.context:
        with torch.no_grad():
            _, initial = model.recurrent(model.embed(context))
    targets = torch.full((len(rule),), some.close, device=rule.device)
    flow = gradient_flow(model, rule, some.conduit, targets=targets, initial=initial)
    hidden = flow.states[0]["hidden"]
    measured = {"jacobians": flow.products[0][:, 0].log10(), "carried": (hidden[:, 0] / hidden[:, -1]).log10()}
    rows: list[dict[str, Any]] = [{} for _ in windows.kinds]
    for name, values in measured.items():
        for row, value in zip(rows, some.by_kind(values), strict=True):
            row[name] = value
    return rows


def _chances(parts: Parts, close: int) -> Tensor:
    return parts.probabilities(at=slice(BEFORE, None))[..., close]


def _interdependence(parts: Parts) -> Tensor:
    """Of open symbol and conduit, before close: what ``rote.interdependence`` gives, from the spans that are there."""
    opened, whole, conduit = parts.relevant[:, 0, BEFORE], parts.relevant[:, -2, BEFORE], parts.relevant[:, -1, BEFORE]
    ratio: Tensor = (whole - opened - conduit).norm(dim=-1) / whole.norm(dim=-1)
    return ratio
