"""Causal attention as Hugging Face's models have it, with the very weights of their projections.

q, k, v = W_q x, W_k x, W_v x;  heads share k and v in groups; q and k may be normed and turned by their position
y = W_out (g * sum over s of p_s v_s);  p_s = softmax over s of (scale q . k_s);  g = sigmoid(W_g x) where there is one

As in ``rote.cells.attention`` the keys and values of earlier steps are states, and probabilities are used whole by
every rule of decomposition. These states have room for the longest text that has been read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from rote.cells.arithmetic import Arithmetic, Arrangement, Plain, V, repeated, summed, tiled
from rote.cells.attention import Attending, unseen
from rote.models.traced.memories import Growing


class GroupedAttention(Attending, Growing):
    """Heads that share keys and values in groups, known by position or not, over all steps or the last ones."""

    row_groups = ()
    state_names = ("hidden", "values", "keys", "seen", "position")
    whole_states = ("keys", "seen", "position")
    weight_query: Tensor
    weight_key: Tensor
    weight_value: Tensor
    weight_out: Tensor
    frequencies: Tensor | None

    def configure(
        self,
        heads: int = 1,
        groups: int = 1,
        size: int = 1,
        scale: float = 1.0,
        window: int | None = None,
        biased: Sequence[str] = (),
        rotary: bool = False,
        eps: float | None = None,
        gated: bool = False,
        longest: int = 1,
    ) -> None:
        """``size``: of a head; ``window``: how many steps are seen at most; ``biased``: projections with a bias, of
        query, key, value and out; ``eps``: of the norms of q and k; ``gated``: each head's rows of ``weight_query`` are
        followed by those of its gate."""
        self.heads, self.groups, self.size, self.factor, self.window = heads, groups, size, scale, window
        self.biased, self.rotary, self.eps, self.gated = tuple(biased), rotary, eps, gated
        self.longest = longest if window is None else min(longest, window)

    @property
    def state_sizes(self) -> tuple[int, ...]:
        kept = self.longest * self.groups * self.size
        return self.hidden_size, kept, kept, self.longest, 1

    def shapes(self) -> dict[str, tuple[int, ...] | None]:
        whole, shared = self.heads * self.size, self.groups * self.size
        rows = {"query": whole * (2 if self.gated else 1), "key": shared, "value": shared, "out": self.hidden_size}
        found: dict[str, tuple[int, ...] | None] = {}
        for name, count in rows.items():
            found[f"weight_{name}"] = (count, whole if name == "out" else self.input_size)
            found[f"bias_{name}"] = (count,) if name in self.biased else None
        found["frequencies"] = (self.size,) if self.rotary else None
        return found | dict.fromkeys(("norm_query", "norm_key"), None if self.eps is None else (self.size,))

    def for_steps(self, steps: int) -> GroupedAttention:
        if self.longest in (self.window, max(steps, self.longest)):
            return self
        return type(self)(
            self.input_size, self.hidden_size, biases="none",
            weights={name: getattr(self, name) for name in self.shapes()},
            heads=self.heads, groups=self.groups, size=self.size, scale=self.factor, window=self.window,
            biased=self.biased, rotary=self.rotary, eps=self.eps, gated=self.gated, longest=steps,
        )  # fmt: skip

    def step(self, a: Arithmetic[V], projected: V, state: tuple[V, ...]) -> tuple[V, ...]:
        _, values, keys, seen, position = state
        shared, by_head = self.groups * self.size, tiled(self.heads // self.groups, self.longest * self.groups)
        q, k, v, gate = self._projected(a, projected, position)
        values, keys = self._moved(a, values, v, shared), self._moved(a, keys, k, shared)
        one = a.whole(a.constant(torch.ones_like(self.weight_out[0, :1])))
        seen = self._moved(a, seen, one, 1)
        scores = a.product(a.arrange(q, tiled(self.longest)), a.arrange(keys, by_head))
        scores = a.scale(a.arrange(scores, summed(self.size)), self.factor)
        y = self._mixed(a, scores, a.arrange(values, by_head), seen, self.size)
        return a.settle(self._shown(a, y, gate)), values, keys, seen, position + one

    def _projected(self, a: Arithmetic[V], x: V, position: V) -> tuple[V, V, V, V | None]:
        """q and k, which are whole, v and what the gate is computed from."""
        q, gate = self._linear(a, x, "query"), None
        if self.gated:
            q, gate = a.pieces(a.arrange(q, halves(self.heads, self.size)), [self.heads * self.size] * 2)
        k = self._linear(a, x, "key")
        q, k = self._placed(a, a.whole(q), position, "query"), self._placed(a, a.whole(k), position, "key")
        return q, k, self._linear(a, x, "value"), gate

    def _linear(self, a: Arithmetic[V], value: V, name: str) -> V:
        made = a.linear(value, getattr(self, f"weight_{name}"))
        return made + a.constant(getattr(self, f"bias_{name}")) if name in self.biased else made

    def _placed(self, a: Arithmetic[V], value: V, position: V, name: str) -> V:
        """Normed and turned, within each head."""
        heads = self.heads if name == "query" else self.groups
        if self.eps is not None:
            weight = getattr(self, f"norm_{name}").repeat(heads)
            value = a.scale(a.norm(value, self.size, self.eps), weight)
        if self.frequencies is None:
            return value
        angle = a.scale(a.arrange(a.whole(position), repeated(self.size)), self.frequencies)
        turned = int(self.frequencies.count_nonzero())
        cos, sin = (a.arrange(a.apply(function, angle), tiled(heads)) for function in (torch.cos, torch.sin))
        return a.product(cos, value) + a.product(sin, a.arrange(value, quarter_turn(self.size, turned)))

    def _shown(self, a: Arithmetic[V], y: V, gate: V | None) -> V:
        y = y if gate is None else a.product(a.sigmoid(a.readout_gate(gate)), y)
        return self._linear(a, y, "out")

    def over_time(
        self, a: Plain, projected: Tensor, start: tuple[Tensor, ...], mask: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor, ...]] | None:
        """All steps at once, behind those that the states hold."""
        time = projected.shape[-2]
        steps = torch.arange(time, device=projected.device)
        q, k, v, gate = self._projected(a, projected, start[-1][..., None, :] + steps[:, None])
        values, keys, seen = (
            torch.cat([old.unflatten(-1, (self.longest, -1)), new], -2)
            for old, new in zip(start[1:4], (v, k, torch.ones_like(v[..., :1])), strict=True)
        )  # [batch, longest + time, unit]
        age = torch.arange(self.longest + time, device=q.device) - (steps + 1)[:, None]
        inside = (age >= 0) & (age < self.longest)
        q = q.unflatten(-1, (self.groups, -1, self.size)).movedim(-4, -2)  # [batch, group, head of it, time, unit]
        k, v = (part.unflatten(-1, (self.groups, 1, self.size)).movedim(-4, -2) for part in (keys, values))
        scores = q @ k.mT * self.factor + unseen(seen).mT[..., None, None, :, :]
        y = scores.masked_fill(~inside, -torch.inf).softmax(-1) @ v
        hidden = self._shown(a, y.movedim(-2, -4).flatten(-3), gate)
        shown, states = self._ended(hidden, (values, keys, seen), start[:4], mask)
        read = torch.full_like(start[-1], time) if mask is None else mask.sum(-1, keepdim=True)
        return shown, (*states, start[-1] + read)


def quarter_turn(size: int, turned: int) -> Arrangement:
    """Of the first ``turned`` units of every head: the second half, negative, and the first; zero for the others."""

    def rotated(value: Tensor, sign: int) -> Tensor:
        each = value.unflatten(-1, (-1, size))
        first, second = each[..., :turned].chunk(2, -1)
        rest = torch.zeros_like(each[..., turned:])
        return torch.cat([-sign * second, sign * first, rest], -1).flatten(-2)

    return Arrangement(lambda value: rotated(value, 1), lambda value: rotated(value, -1))


def halves(heads: int, size: int) -> Arrangement:
    """The first half of each head, of all heads, then the second halves."""
    return Arrangement(
        lambda value: value.unflatten(-1, (heads, 2, size)).transpose(-2, -3).flatten(-3),
        lambda value: value.unflatten(-1, (2, heads, size)).transpose(-2, -3).flatten(-3),
    )


def grouped(attention: Any, model: Any, **options: Any) -> GroupedAttention | None:
    """From a module with q_proj, k_proj, v_proj and o_proj, as most of Hugging Face's have them."""
    config, rotary = attention.config, _rotary(attention, model)
    if rotary is None or getattr(config, "attn_logit_softcapping", None):
        return None
    size, stretch = attention.head_dim, float(rotary.attention_scaling)
    inverse = rotary.inv_freq.to(attention.q_proj.weight)
    if stretch != 1 and 2 * len(inverse) != size:
        return None
    parts = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "out": "o_proj"}
    linear = {name: getattr(attention, own) for name, own in parts.items()}
    weights = {f"weight_{name}": part.weight for name, part in linear.items()}
    weights |= {f"bias_{name}": part.bias for name, part in linear.items()}
    weights["frequencies"] = torch.cat([inverse, inverse, inverse.new_zeros(size - 2 * len(inverse))])
    if (norm := getattr(attention, "q_norm", None)) is not None:
        added = options.pop("added")
        options["eps"] = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
        weights |= {f"norm_{name}": getattr(attention, f"{name[0]}_norm").weight + added for name in ("query", "key")}
    return GroupedAttention(
        config.hidden_size, config.hidden_size, biases="none", weights=weights, rotary=True, size=size,
        heads=config.num_attention_heads, groups=config.num_key_value_heads, scale=attention.scaling * stretch**2,
        biased=[name for name, part in linear.items() if part.bias is not None], **options,
    )  # fmt: skip


def _rotary(attention: Any, model: Any) -> Any:
    """The module that turns queries and keys by their position; None where that changes with the length of a text."""
    name = type(attention).__name__.replace("Attention", "RotaryEmbedding")
    found: Any = next((part for part in model.modules() if type(part).__name__ == name), None)
    return None if found is None or found.rope_type in ("dynamic", "longrope") else found
