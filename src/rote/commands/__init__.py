"""What the command line is made of: its commands, their words, and how results look in a terminal."""

from rote.commands.campaign import Campaign
from rote.commands.claims import Claims
from rote.commands.connectivity import Connectivity
from rote.commands.court import Court
from rote.commands.data import Data
from rote.commands.examining import Examine
from rote.commands.exploring import Explore
from rote.commands.lesson import Lesson
from rote.commands.outcomes import Cite, Report
from rote.commands.reproducing import Reproduce
from rote.commands.runs import Runs
from rote.commands.sharing import Share
from rote.commands.study import List, Run, Show
from rote.commands.sweeping import Sweep
from rote.commands.worker import Worker

__all__ = [
    "Campaign",
    "Cite",
    "Claims",
    "Connectivity",
    "Court",
    "Data",
    "Examine",
    "Explore",
    "Lesson",
    "List",
    "Report",
    "Reproduce",
    "Run",
    "Runs",
    "Share",
    "Show",
    "Sweep",
    "Worker",
]
