"""Rules for sparse matrices: products with tensors, and linear systems."""

from . import products, systems

__all__ = ["products", "systems"]
