"""Settings of the networks of source 001's panel of architectures; what they do is in the files that make them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rote.models.settings import CNNConfig, TranslatorConfig

InputStructure = Literal["joint", "summed", "separated"]  # of the plane's two inputs: see separate_inputs
Structure = Literal["joint", "shared", "summed", "attention", "separated"]  # of two images: see halves
Form = Literal["bilinear", "additive", "none"]  # of attention: see translator_forms


@dataclass(frozen=True)
class HalvesConfig(CNNConfig):
    structure: Structure = "joint"  # one network for both images together, as CNN


@dataclass(frozen=True)
class TranslatorFormConfig(TranslatorConfig):
    attention: Form = "bilinear"
    separated: bool = False
