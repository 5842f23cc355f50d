"""Small networks that describe pictures, in a store."""

from __future__ import annotations

from rote.laboratory.orders import Order
from rote.laboratory.perform import perform
from rote.models.settings import CaptionerConfig
from rote.store import Listed, Store
from rote.studies.foundations.captioning import CaptioningRecipe
from rote.training import TrainingConfig

RECIPE = CaptioningRecipe(CaptionerConfig(hidden=8, encoder=8, embedding=4), TrainingConfig(steps=3, batch=8))


def trained_in(store: Store) -> Listed:
    """The run of four networks, two seeds each with few and with many pairs held out."""
    (job,) = RECIPE.jobs((0, 1))
    perform(store, Order(job.request, {}, "cpu"), "cpu", lambda done, total: None)
    (row,) = store.runs()
    return row
