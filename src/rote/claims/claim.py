"""A claim: what a source says, as a logical sentence of assertions about single seeds.

    Claim(
        "plane-corner", "resistance", "Section 6",
        "After training, part of the held-out corner goes to the wrong class.",
        "the trained model does not have good compositionality",
        (
            Assertion("Wrong share of the corner minus that of the training region", excess, above(0)),
            Assertion("Wrong share of the training region", seen, below(0.05), role="condition"),
        ),
    )

How an assertion is judged: ``counting``. How they combine: ``verdict``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from rote.claims.counting import Quantifier
from rote.claims.per_seed import PerSeed
from rote.claims.published import Published
from rote.claims.region import Region

Kind = Literal["asserted", "cited", "implied", "ours", "identity", "audit"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TALLIED: tuple[Kind, ...] = ("asserted", "cited", "implied")
Role = Literal["part", "condition", "rival", "report"]


@dataclass(frozen=True)
class Source:
    """One of the five texts that Rote reproduces, or what goes beyond them."""

    id: str  # "001"
    name: str  # "resistance"
    title: str
    bibtex: str
    question: str = ""  # what it asks, in one sentence
    hero: str = ""  # the figure that a reader should see first: "plane-seeds", a study and its table

    @property
    def label(self) -> str:
        return f"Source {self.id}" if self.id < "100" else "Beyond the sources"


@dataclass(frozen=True)
class Assertion:
    """Something that a seed's networks do or do not: their value lies in a region.

    seeds: whether it is said of some seed, of most, or of nearly all.
    role: a *part* is what the claim says. A *condition* makes it a test (the network has learned; there is room below
    the ceiling): contradicted, the verdict is void. A *rival* must hold for the claim to be the only explanation:
    contradicted, it is told beside the verdict. A *report* is shown.
    scale: of the mean that is shown. "log": values are natural logarithms of ratios; "unit": they lie from 0 to 1.
    """

    label: str
    of: PerSeed
    holds: Region
    seeds: Quantifier = "most"
    role: Role = "part"
    scale: Literal["real", "log", "unit"] = "real"


@dataclass(frozen=True)
class Group:
    """Assertions, or groups of them, of which all or any must hold."""

    join: Literal["all", "any"]
    members: tuple[Assertion | Group, ...]

    def __iter__(self) -> Iterator[Assertion]:
        for member in self.members:
            yield from [member] if isinstance(member, Assertion) else member


def all_of(*members: Assertion | Group) -> Group:
    return Group("all", members)


def any_of(*members: Assertion | Group) -> Group:
    """Readings that the source leaves open: one of them is enough."""
    return Group("any", members)


@dataclass(frozen=True)
class Claim:
    """``assertions``: all parts must hold; what is no part stands among them with its role."""

    id: str  # "plane-seeds", unique over all sources
    source: str  # name of the Source
    place: str  # "Section 6, Figure 6"
    statement: str  # in our words
    published: str  # the words or the value that it rests on, as published
    assertions: tuple[Assertion | Group, ...] = ()
    kind: Kind = "asserted"  # by the source of its own results; in a work that it cites; implied; ours; ...
    numbers: tuple[Published, ...] = ()  # for the second answer: do ours agree with them?
    remark: str = ""  # what a reader must know to judge the verdict: readings left open, defects
    test: str = ""  # of an identity: the test that would fail

    def __post_init__(self) -> None:
        labels = [*(item.label for item in self.all()), *(number.label for number in self.numbers)]
        if repeated := {label for label in labels if labels.count(label) > 1}:
            raise ValueError(f"The claim {self.id!r} has several things called {repeated.pop()!r}.")
        if self.kind == "identity":
            if labels or not self.test:
                raise ValueError(f"The claim {self.id!r} is an identity: it has a test and no assertions.")
        elif not any(item.role == "part" for item in self.all()):
            raise ValueError(f"The claim {self.id!r} has no assertion of the role 'part'.")
        if any(item.role != "part" for group in self.assertions if isinstance(group, Group) for item in group):
            raise ValueError(f"A group of the claim {self.id!r} has an assertion that is no part.")

    @property
    def tallied(self) -> bool:
        return self.kind in TALLIED

    @property
    def logic(self) -> Group:
        """Its parts, of which all must hold."""
        return Group("all", tuple(item for item in self.assertions if isinstance(item, Group) or item.role == "part"))

    def all(self) -> Iterator[Assertion]:
        """Every assertion, of whatever role, in order."""
        yield from Group("all", self.assertions)
