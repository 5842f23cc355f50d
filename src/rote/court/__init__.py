"""A court for explanations: programs compiled into networks, whose working is known, and methods judged against it."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.court.compiler import COMPILED, Compiled, compile
    from rote.court.enumeration import Truth, truth
    from rote.court.program import Automaton, Program, automaton, programs

__all__ = ["COMPILED", "Automaton", "Compiled", "Program", "Truth", "automaton", "compile", "programs", "truth"]
__getattr__ = lazily(
    __name__,
    {
        "COMPILED": "compiler",
        "Automaton": "program",
        "Compiled": "compiler",
        "Program": "program",
        "Truth": "enumeration",
        "automaton": "program",
        "compile": "compiler",
        "programs": "program",
        "truth": "enumeration",
    },
)
