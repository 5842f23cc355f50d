"""The HTML report, pages of kept results, and tables as CSV, Markdown and LaTeX. No torch."""

from rote.report.kept_figures import draw_figures, figure_paths
from rote.report.ledger import ledger_table
from rote.report.pages import first_page, source_page, study_page
from rote.report.report import build
from rote.report.section import Section
from rote.report.tables import to_csv, to_latex, to_markdown

__all__ = [
    "Section",
    "build",
    "draw_figures",
    "figure_paths",
    "first_page",
    "ledger_table",
    "source_page",
    "study_page",
    "to_csv",
    "to_latex",
    "to_markdown",
]
