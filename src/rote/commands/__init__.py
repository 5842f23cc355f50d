"""What the command line is made of: its commands, their words, and how results look in a terminal."""

from rote.commands.connecting import Connectivity
from rote.commands.exploring import Explore
from rote.commands.joining import Worker
from rote.commands.reproducing import Reproduce
from rote.commands.results import Cite, Claims, Report
from rote.commands.runs import Runs
from rote.commands.studying import List, Run, Show
from rote.commands.sweeping import Sweep

__all__ = [
    "Cite",
    "Claims",
    "Connectivity",
    "Explore",
    "List",
    "Report",
    "Reproduce",
    "Run",
    "Runs",
    "Show",
    "Sweep",
    "Worker",
]
