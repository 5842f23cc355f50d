"""Ways of looking inside a recurrent model, one per file. They know cells and models, never tasks or studies.

Imported eagerly: some functions have the name of their file, and a lazy façade would hand out the module instead.
"""

from rote.analyses.decomposition import Parts, decompose, decompose_all, interdependence
from rote.analyses.result import Result, analyses
from rote.analyses.trace import Trace, trace

__all__ = ["Parts", "Result", "Trace", "analyses", "decompose", "decompose_all", "interdependence", "trace"]
