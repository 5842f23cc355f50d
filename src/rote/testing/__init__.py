"""Contracts that a cell, a model, an analysis, a task and a recipe must keep, to be run on your own as on Rote's.

    from rote.testing import check_cell

    def test_my_unit():
        check_cell(MyUnit)

Each raises AssertionError with a message that says what is broken.
"""

from rote.testing.analysis import check_analysis
from rote.testing.cell import check_cell
from rote.testing.model import check_model
from rote.testing.recipe import check_recipe
from rote.testing.task import check_task
from rote.testing.untouched import untouched

__all__ = ["check_analysis", "check_cell", "check_model", "check_recipe", "check_task", "untouched"]
