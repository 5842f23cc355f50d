"""BibTeX of what was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote import __version__
from rote.claims import Source
from rote.errors import UnknownNameError
from rote.laboratory import studies
from rote.recipes import measurements, recipes
from rote.recipes.job import MEASUREMENT, TRAINING
from rote.store import Record, Store

ROTE = f"""@software{{rote,
  title   = {{Rote: does a sequence model compose, or has it learned by rote?}},
  author  = {{{{The Rote authors}}}},
  version = {{{__version__}}}
}}"""


def bibtex(store: Store, names: Sequence[str]) -> str:
    """The sources of the named studies or runs (default: of every finished run), each once, and Rote itself."""
    used = [studies[name].source if name in studies else _of_run(store, name) for name in names]
    if not names:
        used = [_source(row.study, row.part) for row in store.runs() if row.status == "finished"]
    sources = {source.id: source for source in used if source is not None}
    return "\n\n".join([*(sources[key].bibtex for key in sorted(sources)), ROTE])


def _of_run(store: Store, prefix: str) -> Source | None:
    rows = store.runs()
    if not any(row.id.startswith(prefix) for row in rows):
        raise UnknownNameError("study or run", prefix, [*studies, *(row.id for row in rows)])
    request = Record.read(store.find(prefix)).request
    found = _source(request.study, request.part)
    return found or studies[request.study].source  # or an error that names it


def _source(name: str, part: str) -> Source | None:
    """Of a recipe, a measurement or a study; nothing where none of that name is known here."""
    kinds: dict[str, Mapping[str, Any]] = {TRAINING: recipes, MEASUREMENT: measurements}
    known = kinds.get(part, studies)
    return known[name].source if name in known else None
