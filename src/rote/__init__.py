"""Rote asks a sequence model: do you compose, or have you learned by rote?

    import rote

    model = rote.adapt(recurrent=lstm, embedding=embedding, readout=linear)   # your own modules, as they are
    parts = rote.decompose(model, tokens, spans=[(2, 4)])                     # what does this phrase contribute?

Every name is imported at its first use, so ``import rote`` is quick and does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rote.analyses import (
        activation_distribution,
        attribute,
        cluster,
        connectivity,
        decompose,
        decompose_all,
        diagnose,
        erase,
        gate_saturation,
        gradient_flow,
        information,
        interdependence,
        neuron_graph,
        prune,
        shapley,
        substitute,
        suggest,
        trace,
        weight_map,
    )
    from rote.examination import examine
    from rote.explorer import explore
    from rote.laboratory import Laboratory
    from rote.models import adapt, load_autocomplete
    from rote.store import Store

__version__ = "0.1.0"
__all__ = [
    "Laboratory",
    "Store",
    "activation_distribution",
    "adapt",
    "attribute",
    "cluster",
    "connectivity",
    "decompose",
    "decompose_all",
    "diagnose",
    "erase",
    "examine",
    "explore",
    "gate_saturation",
    "gradient_flow",
    "information",
    "interdependence",
    "load_autocomplete",
    "neuron_graph",
    "prune",
    "shapley",
    "substitute",
    "suggest",
    "trace",
    "weight_map",
]
_PACKAGES = (
    "analyses", "cells", "chalk", "claims", "court", "errors", "examination", "figures", "models", "report", "store",
    "studies", "tasks", "testing", "training",
)  # fmt: skip
_ELSEWHERE = {
    "Laboratory": "rote.laboratory",
    "Store": "rote.store",
    "adapt": "rote.models",
    "examine": "rote.examination",
    "explore": "rote.explorer",
    "load_autocomplete": "rote.models",
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:  # rote.analyses.strong_neurons, rote.errors.RoteError
        return import_module(f"rote.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'rote' has no attribute {name!r}")
    return getattr(import_module(_ELSEWHERE.get(name, "rote.analyses")), name)
