"""Rules for the functions of `scipy.stats`."""

from . import correlation, information, means, moments, ranks

__all__ = ["correlation", "information", "means", "moments", "ranks"]
