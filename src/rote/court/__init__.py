"""A court for explanations: programs compiled into networks, whose working is known, and methods judged against it."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.court.compiler import COMPILED, Compiled, compile
    from rote.court.enumeration import Truth, truth
    from rote.court.judgement import judge
    from rote.court.learning import Learning, trained
    from rote.court.program import Automaton, Program, automaton, programs
    from rote.court.verdict import Verdict

__all__ = [
    "COMPILED",
    "Automaton",
    "Compiled",
    "Learning",
    "Program",
    "Truth",
    "Verdict",
    "automaton",
    "compile",
    "judge",
    "programs",
    "trained",
    "truth",
]
__getattr__ = lazily(
    __name__,
    {
        "COMPILED": "compiler",
        "Automaton": "program",
        "Compiled": "compiler",
        "Learning": "learning",
        "Program": "program",
        "Truth": "enumeration",
        "Verdict": "verdict",
        "automaton": "program",
        "compile": "compiler",
        "judge": "judgement",
        "programs": "program",
        "trained": "learning",
        "truth": "enumeration",
    },
)
