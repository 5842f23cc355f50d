"""What decides the weights of trained networks, what a finished training gives, and how it is measured."""

from rote.recipes.job import Job
from rote.recipes.measurement import Measurement, measurements
from rote.recipes.network import Described, Network
from rote.recipes.recipe import Recipe, recipes
from rote.recipes.trained import Trained

__all__ = ["Described", "Job", "Measurement", "Network", "Recipe", "Trained", "measurements", "recipes"]
