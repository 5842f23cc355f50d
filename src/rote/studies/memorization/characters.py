"""The small models of characters that come with the package: how they are made.

    python -m rote.studies.memorization.characters                   # all three, into src/rote/data/characters
    python -m rote.studies.memorization.characters mamba --out DIR

Two layers of 64 units learn to predict the next character of the text that comes with the package, all but its last
part, with the same windows in the same order, one thread. Weights are rounded to 16 bits before they are tested.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rote.laboratory.bundled_models import arguments
from rote.models.saved_characters import BUNDLED, FOLDER, KIND, LAYERS, VERSION, WIDTH, character_model
from rote.models.sequence import SequenceModel
from rote.store import save_tree
from rote.store.record import installed
from rote.tasks.alphabet import numbers
from rote.tasks.text_files import load_text

SEED, STEPS, BATCH, WINDOW, RATE = 0, 2000, 16, 96, 0.005
READ = 200  # characters of a window in the test
TESTED = 34_000  # characters at the end, which no model has seen
LICENSE = "Learned from works in the public domain; the weights come under the license of the package."


def bundled_text() -> tuple[Tensor, Tensor, str]:
    """The characters to learn, those to test with, and the checksum of the text."""
    text = load_text("bundled")
    found = torch.from_numpy(numbers(text.content).astype(np.int64))
    return found[:-TESTED], found[-TESTED:], text.sha256


def learn(model: SequenceModel, text: Tensor, steps: int = STEPS) -> None:
    """Adam on random windows, the learning rate falling to a tenth."""
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: math.pow(0.1, step / steps))
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(steps):
        starts = torch.randint(len(text) - WINDOW - 1, (BATCH, 1), generator=generator)
        window = text[starts + torch.arange(WINDOW + 1)]
        loss = cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


@torch.no_grad()
def bits(model: SequenceModel, text: Tensor) -> float:
    """For each character but the first of every window."""
    rows = text[: len(text) // READ * READ].view(-1, READ)
    loss = cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
    return float(loss) / math.log(2)


def make(name: str, out: Path, steps: int = STEPS) -> dict[str, Any]:
    """Train one, round it, test it, and save it with its record; what is recorded."""
    learned, kept, digest = bundled_text()
    torch.manual_seed(SEED)
    model, begun, made_with = character_model(name, SEED), time.perf_counter(), installed()
    learn(model, learned, steps)
    weights = {key: weight.half() for key, weight in model.state_dict().items()}
    model.load_state_dict({key: weight.float() for key, weight in weights.items()})
    facts = {
        "model": {"name": name, "width": WIDTH, "layers": LAYERS, "weights": sum(p.numel() for p in weights.values())},
        "training": {"steps": steps, "batch": BATCH, "window": WINDOW, "learning_rate": RATE, "seed": SEED},
        "data": {"text": "bundled text", "sha256": digest, "learned": len(learned), "tested": len(kept)},
        "environment": made_with,
        "seconds": time.perf_counter() - begun,
        "test": {"bits_per_character": bits(model.eval(), kept)},
        "license": LICENSE,
    }
    out.mkdir(parents=True, exist_ok=True)
    save_tree(out / name, KIND, VERSION, {"weights": weights}, **facts)
    return facts


def main() -> None:
    asked = arguments("small character", BUNDLED, FOLDER)
    torch.set_num_threads(1)
    for name in asked.names:
        facts = make(name, asked.out)
        print(f"{name}: {facts['seconds']:.0f} s, {facts['test']['bits_per_character']:.3f} bits per character")


if __name__ == "__main__":
    main()
