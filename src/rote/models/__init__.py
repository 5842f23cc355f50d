"""Networks built for the studies, and the form in which analyses see a recurrent model."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.models.mlp import StackedMLP
    from rote.models.sequence import SequenceModel, adapt
    from rote.models.settings import MLPConfig

__all__ = ["MLPConfig", "SequenceModel", "StackedMLP", "adapt"]
__getattr__ = lazily(
    __name__, {"MLPConfig": "settings", "SequenceModel": "sequence", "StackedMLP": "mlp", "adapt": "sequence"}
)
