"""The command that tells which real data studies read, where they were looked for, and gets them: data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional

from rote.commands.options import Imports, Json, option, print_json, print_rows, say
from rote.errors import UnknownNameError

if TYPE_CHECKING:
    from rote.tasks.datasets import Dataset


@dataclass(frozen=True)
class Data:
    """List the real data that studies read: what is here and where, what is missing, and under which licence.

    Looked for in $ROTE_DATA, then in the cache; --fetch downloads what is in neither, from $ROTE_MIRROR or from where
    it is published. A file is used only if its checksum is the known one. Studies have generated data in their place
    for the presets smoke and quick.

    Try:
      rote data
      rote data tagging
      rote data ewt sst2 --fetch
    """

    names: Annotated[
        Positional[tuple[str, ...]], option("[NAME ...]", "Studies, or data as they are listed. Default: all.")
    ] = ()
    fetch: Annotated[bool, option(None, "Download what is not on this machine.")] = False
    json: Json = False
    imports: Imports = ()

    def __call__(self) -> int:
        from rote.tasks.datasets import DATASETS

        chosen = self._chosen()
        if self.fetch:
            for name in chosen:
                DATASETS[name].fetch()
        if self.json:
            print_json([_facts(name, DATASETS[name]) for name in chosen])
            return 0
        print_rows([_row(name, DATASETS[name]) for name in chosen], as_json=False)
        for name in chosen:
            _tell(name, DATASETS[name])
        return 0

    def _chosen(self) -> list[str]:
        """The data that are named, and those of the studies that are."""
        from rote.laboratory import studies
        from rote.tasks.datasets import DATASETS

        for name in self.names:
            if name not in DATASETS and name not in studies:
                raise UnknownNameError("study or data", name, [*DATASETS, *studies])
        wanted = {one for name in self.names for one in ([name] if name in DATASETS else studies[name].data)}
        return [name for name in DATASETS if name in wanted or not self.names]


def needed_by(name: str) -> list[str]:
    """The studies that read it."""
    from rote.laboratory import studies
    from rote.laboratory.study import ordered_names

    return [study for study in ordered_names() if name in studies[study].data]


def _row(name: str, data: Dataset) -> dict[str, Any]:
    here = len(data.files) - len(data.missing())
    return {
        "data": name, "title": data.title, "needed by": ", ".join(needed_by(name)) or "–", "state": data.state,
        "files": f"{here} of {len(data.files)}", "licence": data.licence,
    }  # fmt: skip


def _tell(name: str, data: Dataset) -> None:
    """Where its files are, or where they were looked for."""
    from rote.tasks.datasets import looked_in
    from rote.tasks.downloads import found

    places = {str(path.parent): None for path in map(found, (*data.files, *data.instead)) if path is not None}
    missing = [file.name for file in data.missing()]
    told = [f"found in {', '.join(places)}"] if places else []
    if missing:
        told.append(f"missing {', '.join(missing)}, looked for in {looked_in(data)}: rote data {name} --fetch")
    say(f"{name}: {'; '.join([*told, *filter(None, [data.remark])])}.")


def _facts(name: str, data: Dataset) -> dict[str, Any]:
    from rote.tasks.downloads import found, roots

    return {
        **_row(name, data), "needed by": needed_by(name), "remark": data.remark,
        "looked in": [str(root / data.files[0].folder) for root in roots()],
        "files": [
            {"name": file.name, "path": found(file), "sha256": file.sha256, "addresses": file.addresses()}
            for file in data.files
        ],
    }  # fmt: skip
