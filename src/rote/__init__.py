"""Rote asks a sequence model: do you compose, or have you learned by rote?"""

__version__ = "0.1.0"
