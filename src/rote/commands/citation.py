"""BibTeX of what was used."""

from __future__ import annotations

from collections.abc import Sequence

from rote import __version__
from rote.errors import UnknownNameError
from rote.store import Record, Store
from rote.studies import studies

ROTE = f"""@software{{rote,
  title   = {{Rote: does a sequence model compose, or has it learned by rote?}},
  author  = {{{{The Rote authors}}}},
  version = {{{__version__}}}
}}"""


def bibtex(store: Store, names: Sequence[str]) -> str:
    """The sources of the named studies or runs (default: of every finished run), each once, and Rote itself."""
    used = [name if name in studies else _study_of(store, name) for name in names]
    if not names:
        used = [row.study for row in store.runs() if row.status == "finished" and row.study in studies]
    sources = {studies[name].source.id: studies[name].source for name in used}
    return "\n\n".join([*(sources[key].bibtex for key in sorted(sources)), ROTE])


def _study_of(store: Store, prefix: str) -> str:
    rows = store.runs()
    if not any(row.id.startswith(prefix) for row in rows):
        raise UnknownNameError("study or run", prefix, [*studies, *(row.id for row in rows)])
    return Record.read(store.find(prefix)).request.study
