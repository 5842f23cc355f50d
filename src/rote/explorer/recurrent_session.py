"""Small recurrent networks that learn a task in time, a few updates at a time, and are looked into in between.

Each network reads symbols as unit vectors, has one layer of any registered cell and a linear readout, and is trained by
Adam on batches of the known items. What a session holds after a number of updates depends on its settings, and on when
they were changed, never on the clock.
"""

from __future__ import annotations

import base64
import math
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from rote.analyses import gradient_flow, trace
from rote.cells import Cell, Recurrent, cells, run_stacked, stack, stacked_linear, unstack
from rote.explorer.plane_session import _bytes, _plain
from rote.explorer.recurrent_settings import RecurrentSettings
from rote.explorer.sequence_tasks import NOT_ASKED, Items, SequenceTask, sequence_task
from rote.explorer.training_jobs import Look
from rote.models import SequenceModel
from rote.models.initialization import drawn_from
from rote.models.sequence import linear_of

READOUT = ("readout.weight", "readout.bias")
SHOWN_UNITS = 64  # of each state and gate
CHAINED = 40 * 64**2  # numbers of all step Jacobians together up to which they are multiplied at every frame


class RecurrentSession:
    def __init__(self, settings: RecurrentSettings | None = None) -> None:
        self.settings = settings or RecurrentSettings()
        self.version = 0  # how often it was changed or begun again: which of two frames is the newer one
        self.restart()

    def restart(self) -> None:
        chosen = self.settings
        self.task = sequence_task(chosen.task, chosen.length, pairs=chosen.pairs)
        made = [_network(self.task, chosen, seed) for seed in chosen.seed_numbers()]
        self.cell = stack([cell for cell, _, _ in made])
        self.readout = nn.Parameter(torch.stack([weight for _, weight, _ in made]))
        self.bias = nn.Parameter(torch.stack([bias for _, _, bias in made]))
        self.optimizer = torch.optim.Adam([*self.cell.parameters(), self.readout, self.bias], chosen.learning_rate)
        self.step = 0
        self.version += 1

    def change(self, settings: RecurrentSettings) -> bool:
        """Whether the networks are new; otherwise they go on under the new settings."""
        new = not settings.same_networks(self.settings)
        before, self.settings = self.settings, settings
        if new:
            try:
                self.restart()
            except Exception:
                self.settings = before  # what was wrong with the new ones is told; the old networks are still there
                raise
        else:
            self.optimizer.param_groups[0]["lr"] = settings.learning_rate
            self.version += 1
        return new

    def advance(self, updates: int, seconds: float = math.inf) -> None:
        """So many updates, fewer when the time is over (one at least)."""
        end = time.monotonic() + seconds
        for _ in range(updates):
            losses, _ = self._scores(self.task.known, self._batches())
            self.optimizer.zero_grad()
            losses.sum().backward()
            self.optimizer.step()
            self.step += 1
            if time.monotonic() > end:
                break

    def seen(self, look: Look | None = None) -> dict[str, Any]:
        """All that the page shows: the frame, and the task with its items."""
        return {"frame": self.frame(look), "task": self.facts()}

    def facts(self) -> dict[str, Any]:
        task = self.task

        def rows(items: Items) -> list[dict[str, Any]]:
            return [
                {
                    "symbols": [task.symbols[token] for token in tokens[:length]],
                    "asked": [None if answer == NOT_ASKED else task.answers[answer] for answer in targets[:length]],
                }
                for tokens, targets, length in zip(items.tokens, items.targets, items.lengths, strict=True)
            ]

        return {
            "title": task.title, "new_are": task.new_are, "symbols": task.symbols, "answers": task.answers,
            "known": rows(task.known), "new": rows(task.new), "states": self.cell.state_names,
            "gates": self.cell.gate_names, "cells": sorted(cells),
            "parameters": sum(weight[0].numel() for weight in self._weights()),
        }  # fmt: skip

    @torch.no_grad()
    def frame(self, look: Look | None = None) -> dict[str, Any]:
        """What is seen at this step, as plain data: a list with an entry for each network; ``look``: one in detail."""
        known, new = (self._measured(items) for items in (self.task.known, self.task.new))
        frame: dict[str, Any] = {
            "step": self.step,
            "version": self.version,
            "train": known[0],
            "loss": {"known": known[0], "new": new[0]},
            "accuracy": {"known": known[1], "new": new[1]},
        }
        if look is not None:
            frame["inside"] = self._inside(look)
        return frame

    def network(self, place: int) -> SequenceModel:
        """One of the networks; it reads unit vectors."""
        readout = linear_of(self.readout[place], self.bias[place])
        return SequenceModel(Recurrent([unstack(self.cell, place)]), None, readout).eval()

    def whole(self) -> dict[str, Any]:
        """The weights of each network by name, now with Adam's two means and as they were at the start."""
        chosen = self.settings
        names = [*(name for name, _ in self.cell.named_parameters()), *READOUT]
        begun = [_network(self.task, chosen, seed) for seed in chosen.seed_numbers()]

        def packed(weight: Tensor) -> str:
            return base64.b64encode(weight.detach().float().contiguous().numpy().tobytes()).decode()

        def now(weight: Tensor, place: int) -> dict[str, Any]:
            means = self.optimizer.state.get(weight, {})
            kept = {"first": means["exp_avg"], "second": means["exp_avg_sq"]} if means else {}
            values = {"values": weight, **kept}
            return {"shape": list(weight[place].shape), **{key: packed(value[place]) for key, value in values.items()}}

        def start(weight: Tensor) -> dict[str, Any]:
            return {"shape": list(weight.shape), "values": packed(weight)}

        return {
            "step": self.step, "version": self.version, "settings": chosen.model_dump(),
            "now": [
                {name: now(weight, place) for name, weight in zip(names, self._weights(), strict=True)}
                for place in range(chosen.seeds)
            ],
            "start": [
                {name: start(weight) for name, weight in zip(names, [*cell.parameters(), *rest], strict=True)}
                for cell, *rest in begun
            ],
        }  # fmt: skip

    def _inside(self, look: Look) -> dict[str, Any]:
        """States, gates and answers at every step of one item; how the loss at one step reaches back."""
        place = min(look.network, self.settings.seeds - 1)
        item = min(look.item, len(self.task.known.tokens) + len(self.task.new.tokens) - 1)
        inside = item < len(self.task.known.tokens)
        items, row = (self.task.known, item) if inside else (self.task.new, item - len(self.task.known.tokens))
        length = int(items.lengths[row])
        tokens, targets = torch.from_numpy(items.tokens[row, :length]), items.targets[row, :length]
        asked = [step for step in range(length) if targets[step] != NOT_ASKED]
        at = asked[-1] if look.at is None else min(look.at, length - 1)
        model, vectors = self.network(place), one_hot(tokens, len(self.task.symbols)).float()[None]
        found = trace(model, vectors)
        chances = found.logits[0].softmax(-1)
        target = int(targets[at]) if targets[at] != NOT_ASKED else int(chances[at].argmax())
        small = (at + 1) * sum(self.cell.state_sizes) ** 2 <= CHAINED
        flow = gradient_flow(model, vectors, at, targets=torch.tensor([target]), jacobians=small)
        return {
            "network": place, "item": item, "at": at, "target": target, "units": self.settings.units,
            "states": [self._series(name, values) for name, values in found.states[0].items()],
            "gates": [self._series(name, values) for name, values in found.gates[0].items()],
            "chances": _plain(chances),
            "gradient": _plain(torch.stack(list(flow.states[0].values()))[:, 0].square().sum(0).sqrt()[: at + 1]),
            "terms": {name: _plain(norms[: at + 1]) for name, norms in flow.weights[0].items()},
            "jacobians": _plain(flow.jacobians[0]["spectral"][0, : at + 1]) if small else None,
            "products": _plain(flow.products[0][0, : at + 1]) if small else None,
            "error": flow.error if math.isfinite(flow.error) else None,
        }  # fmt: skip

    def _series(self, name: str, values: Tensor) -> dict[str, Any]:
        """Of the first units, [unit, step] as bytes: -largest to largest."""
        shown = values[0, :, :SHOWN_UNITS].T.contiguous()
        largest = float(shown.abs().nan_to_num(0, 0, 0).max().clamp(min=1e-9))
        scaled = (shown / largest / 2 + 0.5).nan_to_num(0.5)
        return {"name": name, "units": len(shown), "largest": float(f"{largest:.5g}"), "values": _bytes(scaled)}

    def _batches(self) -> Tensor:
        """Which known items each network learns from at this step, [network, item]."""
        count = len(self.task.known.tokens)
        batch = min(self.settings.batch, count)
        numbers = self.settings.seed_numbers()
        drawn = [np.random.default_rng([seed, self.step]).choice(count, batch, replace=False) for seed in numbers]
        return torch.from_numpy(np.stack(drawn))

    def _measured(self, items: Items) -> tuple[Any, Any]:
        """Loss and share of right answers of each network; without items there is nothing to know."""
        if not len(items.tokens):
            return [None] * self.settings.seeds, [None] * self.settings.seeds
        rows = torch.arange(len(items.tokens)).expand(self.settings.seeds, -1)
        losses, right = self._scores(items, rows)
        return _plain(losses), _plain(right)

    def _scores(self, items: Items, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss over the answers asked for, and the share that is right, of these items of each network."""
        tokens, targets = (torch.from_numpy(values)[rows] for values in (items.tokens, items.targets))
        inputs = one_hot(tokens, len(self.task.symbols)).float()
        hidden, _ = run_stacked(self.cell, inputs)
        logits = stacked_linear(hidden.flatten(1, 2), self.readout, self.bias)
        answers = targets.flatten(1)
        asked = answers != NOT_ASKED
        surprise = cross_entropy(logits.mT, answers, ignore_index=NOT_ASKED, reduction="none")
        right = (logits.argmax(-1) == answers) & asked
        return surprise.sum(1) / asked.sum(1), right.sum(1) / asked.sum(1)

    def _weights(self) -> list[Tensor]:
        return [*self.cell.parameters(), self.readout, self.bias]


def _network(task: SequenceTask, settings: RecurrentSettings, seed: int) -> tuple[Cell, Tensor, Tensor]:
    with drawn_from(seed):
        cell = cells[settings.cell](len(task.symbols), settings.units)
        layer = nn.Linear(cell.output_size, len(task.answers))
    return cell.float(), layer.weight.detach().float(), layer.bias.detach().float()
