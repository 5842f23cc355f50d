"""How the documentation is built: `make docs`. Nothing is fetched from a network.

Sphinx reads the whole repository, so that pages, tutorials and the files of its root link to each other as they do
there.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "docs"), str(ROOT / "docs" / "extensions")]

import rote  # noqa: E402

project, author, copyright, release = "Rote", "The Rote authors", "The Rote authors", rote.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "offline_math", "plain_docstrings", "folder_links", "gallery_links"]
root_doc = "docs/index"
include_patterns = ["docs/**", "tutorials/*.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = [
    ".*",
    "docs/_build",
    "docs/_gallery",
    "gallery",
    "src",
    "tests",
    "benchmarks",
    "report",
    "rote-store",
    "dist",
    "docs/reproduction/*/notes.md",
]
suppress_warnings = ["myst.header"]  # the tables of kept results have headings of the third level

highlight_language = "none"  # a block says its language, or is shown as it is

html_theme = "furo"
html_title = "Rote"
html_extra_path = ["_gallery"] if (ROOT / "docs" / "_gallery").exists() else []  # made by `make docs`
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"

# $x$ and ```math as on GitHub; a dollar sign before a space or a digit, as in prices and shell lines, is none of it.
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
maximum_signature_line_length = 80
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

# Some façades import a name at its first use: autodoc looks for them without using any.
for package in ("rote", "rote.models", "rote.training"):
    module = import_module(package)
    for name in module.__all__:
        setattr(module, name, getattr(module, name))
