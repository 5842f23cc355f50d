"""One package per source; each study is one file."""

from rote.studies.laboratory import Laboratory, Result
from rote.studies.ledger import latest_summary, ledger
from rote.studies.progress import Display
from rote.studies.study import PRESETS, Study, studies

__all__ = ["PRESETS", "Display", "Laboratory", "Result", "Study", "latest_summary", "ledger", "studies"]
