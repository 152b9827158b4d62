"""Rules for the functions of `scipy.spatial`."""

from . import distance

__all__ = ["distance"]
