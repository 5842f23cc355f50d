"""Figures drawn from tables: one function per figure, interactive and static from one definition. No torch."""

from rote.figures.export import FORMATS, Format, export, spec, still
from rote.figures.figure import Figure, draw, figures
from rote.figures.style import Theme, theme

__all__ = ["FORMATS", "Figure", "Format", "Theme", "draw", "export", "figures", "spec", "still", "theme"]
