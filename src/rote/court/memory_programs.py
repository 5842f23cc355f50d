"""Programs that keep one thing: the last write, the first open symbol, the subject's number, what was seen before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rote.court.program import Automaton, Program, automaton, programs


@programs.register("latch")
def latch() -> Automaton:
    """The last of two kinds of writes; other symbols change nothing."""
    write = {"+": "plus", "-": "minus"}
    states = {state: {**write, ".": state, ",": state} for state in ("empty", "plus", "minus")}
    about = "the last write: 1 or -1, 0 before any"
    return automaton(states, {"empty": 0.0, "plus": 1.0, "minus": -1.0}, start="empty", name="latch", about=about)


@programs.register("conduit")
def conduit() -> Automaton:
    """The type of the first open symbol; fillers and further open symbols follow."""
    idle = dict.fromkeys("xyz")
    states = {
        "none": {"[": "square", "(": "round", **dict.fromkeys(idle, "none")},
        "square": dict.fromkeys("[(xyz", "square"),
        "round": dict.fromkeys("[(xyz", "round"),
    }
    about = "the type of the first open symbol: 1 or -1, 0 before it"
    return automaton(states, {"none": 0.0, "square": 1.0, "round": -1.0}, start="none", name="conduit", about=about)


@programs.register("agreement")
def agreement() -> Automaton:
    """The number of the first noun that does not stand in a prepositional phrase."""
    states = {
        "none": {"sg": "singular", "pl": "plural", "prep": "phrase", "adv": "none"},
        "phrase": {"sg": "none", "pl": "none", "prep": "phrase", "adv": "phrase"},
        "singular": dict.fromkeys(("sg", "pl", "prep", "adv"), "singular"),
        "plural": dict.fromkeys(("sg", "pl", "prep", "adv"), "plural"),
    }
    says = {"none": 0.0, "phrase": 0.0, "singular": 1.0, "plural": -1.0}
    about = "the subject's number: 1 singular, -1 plural, 0 before it"
    return automaton(states, says, start="none", name="agreement", about=about)


@programs.register("first_of_kind")
def first_of_kind() -> Automaton:
    """Whether the last letter is the first of its kind; dots change nothing."""
    kinds, states, says = "ab", {}, {"none": 0.0}
    for seen in ("", "a", "b", "ab"):
        for new in ("new", "old") if seen else ("",):
            name = f"{seen} {new}" if seen else "none"
            after = {kind: "".join(sorted({*seen, kind})) for kind in kinds}
            states[name] = {kind: f"{after[kind]} {'old' if kind in seen else 'new'}" for kind in kinds} | {".": name}
            says[name] = float(new == "new")
    return automaton(states, says, start="none", name="first_of_kind", about="1 if the last letter was new, else 0")


@dataclass(frozen=True)
class Copy(Program):
    """A shift register: the symbol of some steps back. A no-op is a blank here, which moves through as symbols do."""

    back: int = 3

    def values(self, tokens: np.ndarray) -> np.ndarray:
        tokens = self._checked(tokens)
        codes = np.array([1.0, -1.0, 0.0])[tokens]  # a no-op is -1, the last of them
        late = np.zeros_like(codes)
        late[:, self.back :] = codes[:, : codes.shape[1] - self.back]
        return np.asarray(late[..., None])

    @property
    def empty(self) -> np.ndarray:
        return np.zeros(1)


@programs.register("copy")
def copy() -> Copy:
    """The symbol of three steps before, 1 or -1; a blank there gives 0."""
    return Copy("copy", "the symbol of three steps before: 1 or -1", ("a", "b"), ("output",))
