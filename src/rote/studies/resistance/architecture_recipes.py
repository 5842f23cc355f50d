"""Networks of the plane, of digit pairs and of SCAN with other structures than the published one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rote.models.structures import HalvesConfig, InputStructure, TranslatorFormConfig
from rote.recipes import Network, Trained, recipes
from rote.studies.resistance.digits import DigitsRecipe
from rote.studies.resistance.plane import PlaneRecipe
from rote.studies.resistance.scan import ScanRecipe

if TYPE_CHECKING:
    from torch import nn

    from rote.studies.resistance.plane_training import PlaneProgram
    from rote.studies.resistance.scan_training import ScanProgram


@recipes.register("plane-structures")
@dataclass(frozen=True)
class PlaneStructureRecipe(PlaneRecipe):
    """Networks of other sizes, activations and structures on the plane."""

    name = "plane-structures"
    structure: InputStructure = "joint"

    @property
    def label(self) -> str:
        kind = self.model.activation if self.structure == "joint" else self.structure
        return f"{self.model.layers} x {self.model.hidden}, {kind}"

    def steps(self) -> dict[int, int]:
        return {self.training.steps: self.training.steps}

    def program(self, seeds: Sequence[int], device: str) -> PlaneProgram:
        from rote.studies.resistance.plane_training import PlaneProgram

        program = PlaneProgram(self.task, self.model, self.training, seeds, device)
        program.model = self.untrained(seeds).to(program.device)
        return program

    def untrained(self, seeds: Sequence[int]) -> nn.Module:
        from rote.models.separate_inputs import make_inputs

        return make_inputs(self.structure, self.logits(), self.model, seeds, self.training.torch_dtype())

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models.fitting import fitted

        one = {name: weight[index : index + 1] for name, weight in weights.items()}
        size = self.model.layers * self.model.hidden
        return Network(fitted(lambda: self.untrained([trained.seeds[index]]), one, trained.run.folder, size))


@recipes.register("digit-structures")
@dataclass(frozen=True)
class DigitsStructureRecipe(DigitsRecipe):
    """Networks of other stacks and structures on digit pairs."""

    name = "digit-structures"
    model: HalvesConfig = field(default_factory=HalvesConfig)

    @property
    def label(self) -> str:
        stack = "-".join(map(str, self.model.depths))
        if self.model.hidden != HalvesConfig().hidden:
            stack += f", {self.model.hidden} hidden"
        return stack if self.model.structure == "joint" else f"{stack}, {self.model.structure}"

    def informed_steps(self) -> list[int]:
        return [self.training.steps]

    def untrained(self, size: tuple[int, int], seed: int) -> nn.Module:
        from rote.models.halves import make_halves
        from rote.tasks.digits import CLASSES

        return make_halves(size, CLASSES, self.model, seed, self.training.torch_dtype())


@recipes.register("scan-structures")
@dataclass(frozen=True)
class ScanStructureRecipe(ScanRecipe):
    """Models of SCAN with other cells, attention and structure."""

    name = "scan-structures"
    model: TranslatorFormConfig = field(default_factory=TranslatorFormConfig)

    @property
    def together(self) -> int:  # type: ignore[override]
        return 6

    @property
    def label(self) -> str:
        larger = f", {self.model.hidden} units" if self.model.hidden != TranslatorFormConfig().hidden else ""
        return f"{self.model.cell}, {'separated' if self.model.separated else self.model.attention}{larger}"

    def recorded_steps(self) -> list[int]:
        return [0, self.training.steps]

    def informed_steps(self) -> list[int]:
        return [self.training.steps]

    def untrained(self, seeds: Sequence[int]) -> nn.Module:
        from rote.models.translator_forms import TranslatorForm
        from rote.tasks.scan import ACTION_WORDS
        from rote.tasks.scan_examples import ACTIONS, COMMAND_WORDS

        symbols = len(COMMAND_WORDS), len(ACTIONS) + 1, len(ACTION_WORDS)
        return TranslatorForm(self.model, *symbols, seeds, self.training.torch_dtype())

    def program(self, seeds: Sequence[int], device: str) -> ScanProgram:
        from rote.studies.resistance.scan_training import ScanProgram

        program = ScanProgram(self, seeds, device)
        program.model = self.untrained(seeds).to(program.device)  # type: ignore[assignment]
        return program

    def network(self, trained: Trained, weights: Mapping[str, Any], index: int) -> Network:
        from rote.models.fitting import fitted

        one = {name: weight[index : index + 1] for name, weight in weights.items()}
        size = self.model.hidden**2, self.model.hidden * self.model.embedding
        return Network(fitted(lambda: self.untrained([trained.seeds[index]]), one, trained.run.folder, *size).eval())
