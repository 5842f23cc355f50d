"""Notes in every wheel and source archive which commit it was built from, so that runs can record it."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NOTE = "built_from.json"  # read by src/rote/store/record.py


class BuiltFrom(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable" or self._git("ls-files", "--error-unmatch", "pyproject.toml") is None:
            return  # git will be asked when a run begins; or this is a source archive, which has the note already
        changed = self._git("status", "--porcelain", "--", "src/rote")
        found = {"commit": self._git("rev-parse", "HEAD"), "dirty": None if changed is None else bool(changed)}
        self.folder = tempfile.TemporaryDirectory()
        note = Path(self.folder.name) / NOTE
        note.write_text(json.dumps(found) + "\n")
        package = "rote" if self.target_name == "wheel" else "src/rote"
        build_data["force_include"][str(note)] = f"{package}/{NOTE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def _git(self, *words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", self.root, *words], capture_output=True, text=True, check=False)
        except OSError:  # no git
            return None
        return done.stdout.strip() if done.returncode == 0 else None
