"""The engine: takes a study from its settings to tables and verdicts, computing only what is missing."""

from rote.laboratory.laboratory import Laboratory, StudyResult
from rote.laboratory.ledger import latest_run, ledger
from rote.laboratory.progress import Display
from rote.laboratory.study import PRESETS, Study, StudyConfig, studies

__all__ = ["PRESETS", "Display", "Laboratory", "Study", "StudyConfig", "StudyResult", "latest_run", "ledger", "studies"]
