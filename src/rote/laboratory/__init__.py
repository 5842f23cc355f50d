"""The engine: takes a study from its settings to tables and verdicts, computing only what is missing."""

from rote.laboratory.laboratory import Laboratory, StudyResult
from rote.laboratory.ledger import Entry, latest_runs, ledger
from rote.laboratory.progress import Display
from rote.laboratory.study import PRESETS, Study, StudyConfig, studies

__all__ = [
    "PRESETS",
    "Display",
    "Entry",
    "Laboratory",
    "Study",
    "StudyConfig",
    "StudyResult",
    "latest_runs",
    "ledger",
    "studies",
]
