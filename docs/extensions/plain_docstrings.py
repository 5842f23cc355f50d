"""Docstrings as this project writes them: plain text with ``code``, lists, indented examples and doctests.

Sphinx reads docstrings as reStructuredText, where a lone ``*``, ``|`` or ``_`` is markup. Here they are what they are.
A dataclass gets the list of its fields, with the comments that stand beside them in the source.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from typing import Any

import rote

CODE = re.compile(r"(``.*?``)")
PARAMETERS = re.compile(r"^- (\w+(?:, \w+)*): ")
SPECIAL = re.compile(r"([\\*|`]|_(?=\W|$))")


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", without_fields)
    app.connect("autodoc-skip-member", elsewhere)
    return {"parallel_read_safe": True}


def rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if is_inherited(thing):
        lines[:] = []
    lines[:] = plain(lines)
    if what == "class" and dataclasses.is_dataclass(thing):
        lines += ["", *fields(thing)]


def without_fields(app: Any, what: str, name: str, thing: Any, *_: Any) -> tuple[str, str] | None:
    """The list of fields says the same as a dataclass's signature, and more."""
    return ("", "") if what == "class" and dataclasses.is_dataclass(thing) else None


def elsewhere(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """What ``import rote`` gives is described once: functions on its page, classes with their package.

    And what a façade gives is described even if all that can be said of it is its signature.
    """
    if what == "module" and name in rote.__all__:
        return inspect.isclass(thing) == (app.env.docname == "docs/api/rote")
    return False if what == "module" and inspect.isclass(thing) and not name.startswith("_") else None


def is_inherited(thing: Any) -> bool:
    """Whether a class has only the docstring that a dataclass makes for itself."""
    return inspect.isclass(thing) and (thing.__doc__ or "").startswith(f"{thing.__name__}(")


def plain(lines: list[str]) -> list[str]:
    """Indented paragraphs become code, all other text is escaped."""
    made: list[str] = []
    inside = ""  # "example": a doctest up to the next empty line; "code": an indented block; "list": below a dash
    for line in lines:
        blank, indented = not line.strip(), line.startswith("  ")
        if line.lstrip().startswith(">>>"):
            inside = "example"
        elif inside == "example" and blank:
            inside = ""
        elif line.startswith("- "):
            inside = "list"
        elif indented and inside == "" and made and not made[-1].strip():
            made += [".. code-block:: python", ""]
            inside = "code"
        elif not blank and not indented and inside in ("code", "list"):
            inside = ""
            if made and made[-1].strip():
                made.append("")
        made.append(line if inside in ("example", "code") else escaped(line))
    return made


def escaped(line: str) -> str:
    """Everything but ``code`` as it stands; the parameters that a list entry begins with are code."""
    pieces = CODE.split(PARAMETERS.sub(lambda found: f"- ``{found[1].replace(', ', '``, ``')}``: ", line))
    return "".join(piece if piece.startswith("``") else SPECIAL.sub(r"\\\1", piece) for piece in pieces)


def fields(kind: type) -> list[str]:
    """One list entry for each field: name, type as written, comment beside it."""
    try:
        source = textwrap.dedent(inspect.getsource(kind)).splitlines()
    except OSError:
        return []
    (definition,) = ast.parse("\n".join(source)).body
    assert isinstance(definition, ast.ClassDef)
    public = {field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")}
    entries = []
    for item in definition.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id in public:
            comment = source[item.end_lineno - 1][item.end_col_offset :].partition("#")[2].strip()
            default = f" = {ast.unparse(item.value)}" if item.value is not None else ""
            told = f": {escaped(comment)}" if comment else ""
            entries.append(f"- **{escaped(item.target.id)}** ``{ast.unparse(item.annotation)}{default}``{told}")
    return ["Fields:", "", *entries] if entries else []
