"""For all tests: shapes and figures are checked, and hypothesis draws the same examples in every run."""

from hypothesis import settings
from shapes import check_shapes

import rote.figures.figure

check_shapes()
rote.figures.figure.CHECKED = True
settings.register_profile("rote", deadline=None, derandomize=True)
settings.load_profile("rote")
