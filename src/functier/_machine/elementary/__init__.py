"""NumPy's elementwise functions as instructions of the processor.

Each file holds one family. Rules register themselves in `ELEMENTWISE`.
"""

from . import exponentials, logarithms, trigonometry
from .table import ELEMENTWISE

__all__ = ["ELEMENTWISE"]
