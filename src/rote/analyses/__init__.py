"""Ways of looking inside a recurrent model, one per file. They know cells and models, never tasks or studies."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.analyses.decomposition import Parts, decompose, decompose_all, interdependence
    from rote.analyses.result import Result, analyses
    from rote.analyses.trace import Trace, trace

__all__ = ["Parts", "Result", "Trace", "analyses", "decompose", "decompose_all", "interdependence", "trace"]
__getattr__ = lazily(
    __name__,
    {
        "Parts": "decomposition",
        "Result": "result",
        "Trace": "trace",
        "analyses": "result",
        "decompose": "decomposition",
        "decompose_all": "decomposition",
        "interdependence": "decomposition",
        "trace": "trace",
    },
)
