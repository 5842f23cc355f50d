"""The HTML report, and tables as CSV, Markdown and LaTeX. No torch."""

from rote.report.keep import keep
from rote.report.ledger import ledger_table
from rote.report.report import build
from rote.report.section import Section
from rote.report.tables import to_csv, to_latex, to_markdown

__all__ = ["Section", "build", "keep", "ledger_table", "to_csv", "to_latex", "to_markdown"]
