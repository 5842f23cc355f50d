"""Ways of looking inside a recurrent model, one per file. They know cells and models, never tasks or studies.

Imported eagerly: some functions have the name of their file, and a lazy façade would hand out the module instead.
"""

from rote.analyses.attribution import Attribution, attribute, methods, unsigned, with_sets
from rote.analyses.clustering import ClusterTree, cluster
from rote.analyses.connectivity import Connectivity, connectivity
from rote.analyses.decomposition import Parts, decompose, decompose_all
from rote.analyses.diagnosis import Diagnosis, diagnose
from rote.analyses.erasure import Erasure, erase
from rote.analyses.gates import ActivationDistribution, GateSaturation, activation_distribution, gate_saturation
from rote.analyses.gradient_flow import GradientFlow, gradient_flow
from rote.analyses.information import Information, information
from rote.analyses.interdependence import Interdependence, interdependence
from rote.analyses.neurons import strong_neurons
from rote.analyses.result import Result, analyses
from rote.analyses.shapley_values import ShapleyValues, shapley
from rote.analyses.suggestions import Suggestions, suggest
from rote.analyses.surgery import prune, substitute
from rote.analyses.trace import Trace, trace
from rote.analyses.weights import NeuronGraph, WeightMap, neuron_graph, weight_map

__all__ = [
    "ActivationDistribution",
    "Attribution",
    "ClusterTree",
    "Connectivity",
    "Diagnosis",
    "Erasure",
    "GateSaturation",
    "GradientFlow",
    "Information",
    "Interdependence",
    "NeuronGraph",
    "Parts",
    "Result",
    "ShapleyValues",
    "Suggestions",
    "Trace",
    "WeightMap",
    "activation_distribution",
    "analyses",
    "attribute",
    "cluster",
    "connectivity",
    "decompose",
    "decompose_all",
    "diagnose",
    "erase",
    "gate_saturation",
    "gradient_flow",
    "information",
    "interdependence",
    "methods",
    "neuron_graph",
    "prune",
    "shapley",
    "strong_neurons",
    "substitute",
    "suggest",
    "trace",
    "unsigned",
    "weight_map",
    "with_sets",
]
