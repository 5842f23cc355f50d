"""The explorer: a local web application in which one types, hovers and compares what recurrent networks remember."""

from typing import TYPE_CHECKING

from rote.lazy import lazily

if TYPE_CHECKING:
    from rote.explorer.app import create_app
    from rote.explorer.catalog import Catalog, Opened
    from rote.explorer.serving import Explorer, explore
    from rote.explorer.workbench import Workbench

__all__ = ["Catalog", "Explorer", "Opened", "Workbench", "create_app", "explore"]
__getattr__ = lazily(
    __name__,
    {
        "Explorer": "serving",
        "Opened": "catalog",
        "Catalog": "catalog",
        "Workbench": "workbench",
        "create_app": "app",
        "explore": "serving",
    },
)
