"""Does the battery see what others saw? Attentive guidance must raise the score (source 002), an input that is
redundant in training must lower it (source 001), and variants of architectures must differ as is published.

    python -m rote.examination.controls [NAME ...] [--store DIR] [--out DIR]

examines what is compared, or the named ones, five seeds each, writes the profiles and prints the table of ``controls``.
Without it the table is that of the profiles that come with Rote.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from rote.claims import decide, mean
from rote.examination.blocks import BlockModel
from rote.examination.examination import examine
from rote.examination.forms import Kind
from rote.examination.learners import BLOCKS, WIDTH, learner
from rote.examination.profile import Profile
from rote.examination.references import kept_profiles
from rote.models import EncoderDecoder, EncoderDecoderConfig
from rote.models.transformer import TransformerLanguageModel
from rote.store import Column, Table

FOLDER = Path(__file__).parents[1] / "data" / "controls"
HERE = "rote.examination.controls"
SMALLEST = 1e-20  # attention below it counts as this much, as in source 002
HIDDEN = 64  # about as many weights as the models that come with Rote
SEEDS = 5
HOURS = 10  # no seed and no rate is left out for lack of time
READERS = ("gru", "lstm", "transformer")  # that are shown a redundant input


@dataclass(frozen=True)
class Examined:
    """A learner on tasks, whose profile is kept under its name."""

    name: str
    learner: str
    tasks: tuple[str, ...]
    kind: Kind = "tokens"


@dataclass(frozen=True)
class Comparison:
    """The first of two, each a profile's name and a task, must score higher in most seeds."""

    statement: str
    higher: tuple[str, str]
    lower: tuple[str, str]


GUIDANCE = tuple(Examined(name, f"{HERE}:{name}", ("lookup-steps",), "seq2seq") for name in ("guided", "unguided"))
VARIANTS = (
    Examined("s6_positive", "s6", ("parity", "s3")),
    Examined("s6_signed", f"{HERE}:s6_signed", ("parity", "s3")),
    Examined("positions", "transformer", ("count",)),
    Examined("no_positions", f"{HERE}:no_positions", ("count",)),
    *(Examined(f"{name}_jump", name, ("jump",)) for name in READERS),  # that nobody solves
)
EXAMINED = (*GUIDANCE, *(Examined(name, name, ("redundant", "irrelevant")) for name in READERS), *VARIANTS)
COMPARED = (
    Comparison(
        "Attentive guidance raises the score (source 002).", ("guided", "lookup-steps"), ("unguided", "lookup-steps")
    ),
    *(
        Comparison(
            "An input that is redundant in training lowers the score (source 001).",
            (name, "irrelevant"),
            (name, "redundant"),
        )
        for name in READERS
    ),
    Comparison(
        "Memories that may change their sign track parity, others do not (Grazzi et al. 2025).",
        ("s6_signed", "parity"),
        ("s6_positive", "parity"),
    ),
    Comparison(
        "A transformer without positions counts further than one with learned ones (Kazemnejad et al. 2023).",
        ("no_positions", "count"),
        ("positions", "count"),
    ),
)


class Attentive(nn.Module):
    """The encoder and decoder of source 002: before each step the decoder attends to the input. With ``guidance`` it
    is told which symbol to attend to: for each answer the one at the same place of the source."""

    def __init__(self, source: int, target: int, guidance: float) -> None:
        super().__init__()
        config = EncoderDecoderConfig(cell="gru", embedding=HIDDEN, hidden=HIDDEN)
        self.model = EncoderDecoder(config, source, target, [int(torch.randint(2**31, ()))])
        self.guidance = guidance
        self.attention: Tensor | None = None

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        fed = torch.cat([target[:, 1:], torch.zeros_like(target[:, :1])], 1)  # the last answer is fed to nothing
        decoded = self.model(source[None], (source != 0)[None], fed[None], 0, teacher_forcing=True)
        self.attention = decoded.attention[0]
        logits: Tensor = decoded.logits[0]
        return logits

    def extra_loss(self) -> Tensor:
        """How surprising it is to attend to the right symbol, the mean over answers."""
        assert self.attention is not None
        right = self.attention.diagonal(dim1=1, dim2=2)
        return -self.guidance * right.clamp(min=SMALLEST).log().mean()


def guided(source: int, target: int) -> nn.Module:
    return Attentive(source, target, 1.0)


def unguided(source: int, target: int) -> nn.Module:
    return Attentive(source, target, 0.0)


def s6_signed(symbols: int) -> nn.Module:
    """The S6 that is examined by its name, but for the signs of what is kept."""
    return BlockModel("s6", symbols, WIDTH, BLOCKS, signed=True)


def no_positions(symbols: int) -> nn.Module:
    """The transformer that is examined by its name, which is told the order by nothing but what it may see."""
    model = learner("transformer")(symbols)
    assert isinstance(model, TransformerLanguageModel)
    with torch.no_grad():
        model.positions.zero_()
    model.positions.requires_grad_(False)
    return model


def controls(profiles: Sequence[Profile] | None = None) -> Table:
    """What must score higher and what lower, counted seed by seed as the ledger counts: of the profiles that come with
    Rote, or of others with the same names. Seeds that have not learned their known items with both are left out."""
    named = {profile.name: profile for profile in (kept_profiles(FOLDER) if profiles is None else profiles)}
    rows = [row for one in COMPARED if (row := _row(one, named)) is not None]
    columns = (
        Column("statement", role="label"),
        Column("higher", "model and task", "label"),
        Column("lower", "model and task", "label"),
        Column("score", "of the first, mean over the seeds"),
        Column("other", "score of the second"),
        Column("difference", "mean over the seeds"),
        Column("low", "95 % interval"),
        Column("high", "95 % interval"),
        Column("holds", "seeds in which the first scores higher"),
        Column("seeds", "that have learned with both"),
        Column("decision", "about most seeds, by the evidence that the ledger asks for"),
    )
    return Table.make("controls", "Does the battery see what others saw?", columns, rows)


def _row(compared: Comparison, named: Mapping[str, Profile]) -> dict[str, object] | None:
    sides = (compared.higher, compared.lower)
    if any(name not in named or task not in named[name].tasks for name, task in sides):
        return None
    first, second = (named[name].tasks[task].scores for name, task in sides)
    seeds = sorted(first.keys() & second.keys())
    differences = [first[seed] - second[seed] for seed in seeds]
    if not seeds:
        return None
    estimate, holds = mean(differences), sum(value > 0 for value in differences)
    return {
        "statement": compared.statement, "higher": ", ".join(compared.higher), "lower": ", ".join(compared.lower),
        "score": sum(first[seed] for seed in seeds) / len(seeds),
        "other": sum(second[seed] for seed in seeds) / len(seeds),
        "difference": estimate.value, "low": estimate.low, "high": estimate.high,
        "holds": holds, "seeds": len(seeds), "decision": decide(holds, len(seeds)),
    }  # fmt: skip


def examine_controls(
    store: str | Path | None, out: Path, seeds: int = SEEDS, examined: Sequence[Examined] = EXAMINED
) -> list[Profile]:
    """Examine what is compared and write the profiles into a folder; what the store has is not trained again."""
    out.mkdir(parents=True, exist_ok=True)
    profiles = []
    for one in examined:
        profile = examine(
            one.learner, minutes=60 * HOURS, seeds=seeds, against=(), tasks=one.tasks, kind=one.kind, name=one.name,
            store=store,
        )  # fmt: skip
        profile.save(out / f"{one.name}.json")
        profiles.append(profile)
    return profiles


def main() -> None:
    parser = argparse.ArgumentParser(description="Does the battery see what others saw?")
    named = {one.name: one for one in EXAMINED}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(named)}")
    parser.add_argument("--store", help="folder of the runs; by default $ROTE_HOME, else ./rote-store")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the profiles")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in named]:
        parser.error(f"no such name: {', '.join(unknown)}")
    examine_controls(given.store, given.out, examined=[named[name] for name in given.names or named])
    for row in controls(kept_profiles(given.out)).records():
        print(row["statement"])
        print(
            f"  {row['higher']}: {row['score']:.2f}; {row['lower']}: {row['other']:.2f}; higher in {row['holds']} of "
            f"{row['seeds']} seeds: {row['decision']}"
        )


if __name__ == "__main__":
    main()
