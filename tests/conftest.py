"""For all tests: shapes are checked, and hypothesis draws the same examples in every run."""

from hypothesis import settings
from shapes import check_shapes

check_shapes()
settings.register_profile("rote", deadline=None, derandomize=True)
settings.load_profile("rote")
