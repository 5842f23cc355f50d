"""Tables of pages between marks, which commands write again."""

from __future__ import annotations


def written(page: str, command: str, made: dict[str, str]) -> str:
    """The page with these tables between the marks of the command that makes them."""
    for name, table in made.items():
        begin, end = f"<!-- {name}: {command} -->\n", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{table}\n\n{end}{rest.split(end)[1]}"
    return page
