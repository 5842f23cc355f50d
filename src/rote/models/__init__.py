"""Networks built for the studies."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.models.mlp import StackedMLP
    from rote.models.settings import MLPConfig

__all__ = ["MLPConfig", "StackedMLP"]
__getattr__ = lazily(__name__, {"MLPConfig": "settings", "StackedMLP": "mlp"})
