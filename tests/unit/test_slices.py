"""Which statements of a module some of its definitions rest on."""

from __future__ import annotations

import pytest

from rote.slices import rests_on

MODULE = '''"""A study in one file."""

import math
from functools import singledispatch
from rote.claims import Claim, above
from rote.recipes import recipes, studies

WIDTH, DEPTH = 3, 2
TITLE = "A title"


def grown(n):
    return n + step()


def step():
    return math.sqrt(WIDTH)


@recipes.register("own")
class Recipe:
    kind: "Kind"

    def fit(self):
        return grown(1)


class Kind: ...


@singledispatch
def shown(x): ...


@studies.register("own")
class Study:
    title = TITLE
    claims = (Claim("a sentence", above(0)),)

    def jobs(self):
        return Recipe()


if __name__ == "__main__":
    print(Study())
'''

RECIPE = frozenset({"Recipe"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a sentence", "another sentence"),
        ("A title", "Another"),
        ("import Claim, above", "import Claim, above, below"),
        ("print(Study())", "print(1)"),
        ("A study in one file", "One file"),
        ("return Recipe()", "return [Recipe()]"),
        ("def shown(x): ...", "def shown(x): return 1"),
        ("\n\n\ndef grown", "\n\n# A remark.\ndef grown"),
    ],
)
def test_what_a_recipe_does_not_use_is_no_part_of_it(old: str, new: str) -> None:
    assert old in MODULE
    assert rests_on(MODULE.replace(old, new), RECIPE) == rests_on(MODULE, RECIPE) != MODULE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("grown(1)", "grown(2)"),
        ("n + step()", "n - step()"),
        ("WIDTH, DEPTH = 3", "WIDTH, DEPTH = 4"),
        ("import math", "import cmath as math"),
        ("class Kind: ...", "class Kind: x = 1"),
        ("TITLE =", "Recipe.width = 4\nTITLE ="),  # statements that do more than bind a name
        ("TITLE =", "_ = setattr(Recipe, 'width', 4)\nTITLE ="),
        ("TITLE =", "for name in 'ab': setattr(Kind, name, 1)\nTITLE ="),
        ("def shown", "def other(): ...\n@step.register\ndef shown"),  # may change what is used
        ('@recipes.register("own")\n', '@recipes.register("own")\n@noted\n'),
        ("def grown(n):", "async def grown(n):"),
        ("return math.sqrt(WIDTH)", "global WIDTH\n    return math.sqrt(WIDTH)"),
    ],
)
def test_whatever_a_recipe_uses_is_part_of_it(old: str, new: str) -> None:
    assert old in MODULE
    assert rests_on(MODULE.replace(old, new), RECIPE) != rests_on(MODULE, RECIPE)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (MODULE, {"Absent"}),  # made by a function
        (MODULE, {"Recipe", ""}),
        (MODULE, {"math"}),  # imported
        (MODULE.replace("grown(1)", "globals()['grown'](1)"), {"Recipe"}),
        (MODULE.replace("import math", "from math import *"), {"Recipe"}),
        ("def broken(:", {"broken"}),
    ],
)
def test_the_whole_text_counts_where_names_cannot_be_followed(text: str, names: set[str]) -> None:
    assert rests_on(text, frozenset(names)) == text


def test_a_definition_is_found_behind_a_chain_that_stands_below_it() -> None:
    chain = "def f0(): return 1\n" + "".join(f"def f{i}(): return f{i - 1}()\n" for i in range(1, 30))
    text = "\n".join(reversed(chain.splitlines()))
    assert "def f0()" in rests_on(text, frozenset({"f29"}))
    assert "def f29()" not in rests_on(text, frozenset({"f28"}))
