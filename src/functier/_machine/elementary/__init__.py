"""NumPy's elementwise functions as instructions of the processor.

Each file holds one family, whose rules register themselves in `ELEMENTWISE`. The operands of
a rule have the dtypes of the loop that NumPy picks for them, and so has the result.
"""

from . import arithmetic as arithmetic
from . import exponentials as exponentials
from . import inverses as inverses
from . import logarithms as logarithms
from . import logic as logic
from . import powers as powers
from . import remainders as remainders
from . import trigonometry as trigonometry
from .table import ELEMENTWISE

__all__ = ["ELEMENTWISE"]
