"""Which digits a study has: MNIST where it is or can be had, else the stand-in, and it says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from rote.errors import UsageError
from rote.laboratory import Study, StudyConfig
from rote.tasks.mnist import available, download

Data = Literal["mnist", "stand-in"]
AnyData = Literal["auto", "mnist", "stand-in"]  # auto: MNIST where it is or can be had, else the stand-in
C = TypeVar("C", bound=StudyConfig)


def on_this_machine(data: AnyData) -> Data:
    return available() if data == "auto" else data


class OnDigits(Study[C]):
    """A study whose settings have ``data``."""

    data = ("mnist",)

    def stands_in(self, config: Mapping[str, Any]) -> bool:
        return config.get("data") != "mnist"

    def completed(self, config: C, overrides: Mapping[str, object]) -> C:
        asked: Any = config
        if asked.data == "auto" and available() == "mnist":
            found: C = replace(asked, data="mnist")
            return found
        return config

    def prepare(self, config: C) -> None:
        asked: Any = config
        try:
            if asked.data != "stand-in":
                download()
        except UsageError:
            if asked.data == "mnist":
                raise
