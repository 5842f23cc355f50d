"""The views, in the order of the navigation. A view is a router of this package and a module of static/views."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class View:
    name: str
    title: str
    about: str  # what one can find out with it, in a sentence


VIEWS = (
    View("home", "Start", "What the views are for, each with a moving picture."),
    View("connectivity", "Connectivity", "Which characters does a prediction rest on?"),
    View("autocomplete", "Autocomplete", "Type, and see what the network expects."),
    View("units", "Units", "What does a recurrent unit compute, and how far does a gradient reach back?"),
    View("decomposition", "Decomposition", "What does a phrase contribute to each later prediction?"),
    View("playground", "Playground", "Train small networks on the plane and watch where they compose."),
    View("recurrent", "Recurrent playground", "Train small recurrent networks on tasks in time and look inside."),
    View("chalk", "Chalk", "A computation graph forward and backward, step by step."),
    View("lookup", "Lookup tables", "Compositions of tables: outputs, attention and gates at every step."),
    View("profiles", "Profiles", "Which architecture composes what, and which has learned by rote?"),
    View("ledger", "Ledger", "Every claim, the published value, ours and the verdict."),
    View("runs", "Runs", "Every stored run: its settings and its curves, compared."),
)


def routers() -> list[APIRouter]:
    return [importlib.import_module(f"rote.explorer.{view.name}").router for view in VIEWS]
