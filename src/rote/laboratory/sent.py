"""Modules that a worker process was sent: imported from their text, whether or not there is such a file here."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType

from rote.errors import RunFailedError
from rote.outside import Code
from rote.sources import Source


class Sent:
    """Finds them before anything else of the same name."""

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {}
        self.importing = ""  # the file that is being imported now

    def load(self, code: Code) -> None:
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        self.sources |= {source.module: source for source in code.sources}
        for name in code.imports:
            self.importing = self.sources[name].file
            try:
                importlib.import_module(name)
            except (Exception, SystemExit) as error:
                told = " ".join(str(error).split())
                raise RunFailedError(
                    f"{self.importing} cannot be imported by a worker: {type(error).__name__}: {told}"
                ) from error
            finally:
                self.importing = ""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if (source := self.sources.get(name)) is not None:
            return importlib.util.spec_from_file_location(name, source.file, loader=_Loader(source))
        if any(other.startswith(f"{name}.") for other in self.sources):  # a package that is a folder and nothing else
            return ModuleSpec(name, None, is_package=True)
        return None


class _Loader(SourceFileLoader):
    def __init__(self, source: Source) -> None:
        super().__init__(source.module, source.file)
        self._source = source

    def get_source(self, fullname: str) -> str:
        return self._source.text

    def get_code(self, fullname: str) -> CodeType:
        made: CodeType = compile(self._source.text, self._source.file, "exec", dont_inherit=True)
        return made


sent = Sent()  # of this process
