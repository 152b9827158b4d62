"""Rules for the functions of `scipy.spatial`."""

from . import distance, places

__all__ = ["distance", "places"]
