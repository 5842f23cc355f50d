"""The part of a module's text that some of its classes and functions rest on.

A file may hold a recipe, a measurement, a study and its claims. What the recipe computes depends on the recipe and on
what it uses, so that another sentence in a claim must not make its trained networks unknown. The names that a
definition mentions are followed from statement to statement; where that may miss something, the whole text counts.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass

from rote.sources import is_main_guard

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
UNFOLLOWED = {"globals", "locals", "vars", "eval", "exec", "__import__", "import_module", "modules", "__dict__"}


@dataclass(frozen=True)
class _Statement:
    text: str
    binds: frozenset[str]
    mentions: frozenset[str]
    touches: frozenset[str]  # what it may change: of a definition its decorators, of an assignment what it calls with
    optional: bool  # has no effect but to bind its names
    imports: bool = False


@functools.lru_cache
def rests_on(text: str, names: frozenset[str]) -> str:
    """The statements of a module that the definitions with these names need; the whole text if that is not certain."""
    try:
        statements = list(_statements(text))
    except SyntaxError:
        return text
    defined = {name for one in statements if not one.imports for name in one.binds}
    if not defined.issuperset(names):  # made by a function, or under another name
        return text
    needed, chosen = set(names), [not one.optional for one in statements]
    for one, kept in zip(statements, chosen, strict=True):
        if kept:
            needed |= one.mentions
    grown = True
    while grown:
        grown = False
        for place, one in enumerate(statements):
            if not chosen[place] and (one.binds & needed or one.touches & needed & defined):
                chosen[place] = grown = True
                needed |= one.mentions
    if needed & UNFOLLOWED or any(one.imports and "*" in one.binds for one in statements):
        return text
    return "\n".join(one.text for one, kept in zip(statements, chosen, strict=True) if kept)


def _statements(text: str) -> Iterator[_Statement]:
    lines = text.splitlines()
    for place, node in enumerate(ast.parse(text).body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif not (_is_docstring(node) and place == 0) and not (is_main_guard(node) and not getattr(node, "orelse", [])):
            yield _statement(node, lines)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[_Statement]:
    """One for each name, so that another name in the same line changes nothing."""
    start = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        bound = alias.asname or (alias.name if start else alias.name.partition(".")[0])
        text = f"{start}import {alias.name} as {bound}"
        yield _Statement(text, frozenset({bound}), frozenset(), frozenset(), optional=True, imports=True)


def _statement(node: ast.stmt, lines: list[str]) -> _Statement:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    first = min([node.lineno, *(one.lineno for one in decorators)])
    text = "\n".join(line.rstrip() for line in lines[first - 1 : node.end_lineno])
    binds, mentions = frozenset(_bound(node)), frozenset(_mentioned(node))
    if isinstance(node, Definition):
        touches = frozenset(name for one in decorators for name in _mentioned(one))
    else:
        touches = mentions if any(isinstance(one, ast.Call) for one in ast.walk(node)) else frozenset()
    return _Statement(text, binds, mentions, touches, optional=bool(binds))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names of a statement that does nothing but bind them; none of one that may do more."""
    if isinstance(node, Definition):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    flat = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if all(isinstance(one, ast.Name) for one in flat):
        yield from (one.id for one in flat if isinstance(one, ast.Name))


def _mentioned(node: ast.AST) -> Iterator[str]:
    """All names in it, also as texts, as annotations may have them."""
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.Global(names=names):
                yield from names
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
