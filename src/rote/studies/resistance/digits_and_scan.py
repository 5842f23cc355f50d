"""Settings of the studies that look at digit pairs and at SCAN together; the models are the published ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from rote.config import at_least
from rote.laboratory import StudyConfig
from rote.models import CNNConfig, TranslatorConfig
from rote.studies.resistance import digits, scan
from rote.studies.resistance.digits import DigitsRecipe
from rote.studies.resistance.digits_data import AnyData, on_this_machine
from rote.studies.resistance.scan import ScanRecipe
from rote.tasks.digits import DigitsTask
from rote.tasks.digits import Setting as DigitsSetting
from rote.tasks.scan_examples import ScanTask
from rote.tasks.scan_examples import Setting as ScanSetting
from rote.training import TrainingConfig

D = TypeVar("D", bound=DigitsRecipe)
S = TypeVar("S", bound=ScanRecipe)


@dataclass(frozen=True)
class DigitsAndScanConfig(StudyConfig):
    digits: TrainingConfig = field(default_factory=digits.training)
    scan: TrainingConfig = field(default_factory=scan.training)
    data: AnyData = "auto"
    side: int = 28  # pixels of an image in height and width; larger ones are averaged down
    evaluated: int = 1000  # pairs of digits that an accuracy is measured on
    sample: int = 512  # commands that an accuracy is measured on

    def __post_init__(self) -> None:
        at_least(self, 1, "seeds", "evaluated", "sample")
        at_least(self, 8, "side")

    def unused(self) -> dict[str, str]:
        return {"side": "the stand-in has 8 x 8 pixels."} if self.data == "stand-in" else {}

    def digits_recipe(self, kind: type[D], setting: DigitsSetting, model: CNNConfig | None = None, **more: Any) -> D:
        """A recipe of this kind with these settings, by default of the published network."""
        return kind(
            DigitsTask(setting), model or CNNConfig(), self.digits, data=on_this_machine(self.data), side=self.side,
            evaluated=self.evaluated, **more,
        )  # fmt: skip

    def scan_recipe(self, kind: type[S], setting: ScanSetting, model: TranslatorConfig | None = None, **more: Any) -> S:
        return kind(ScanTask(setting=setting), model or TranslatorConfig(), self.scan, self.sample, **more)


def planned(*groups: str) -> dict[str, str]:
    """For ``Study.fixed``: networks of these groups are looked at up to the last step."""
    return {
        **{f"{group}.select": "the tables show the last step, whichever weights are kept." for group in groups},
        **{f"{group}.patience": "networks are measured at planned steps, up to the last." for group in groups},
    }
