"""NumPy's types, with the generators of functier."""

from . import random as random
from .. import random as _random
from numpy import *  # type: ignore[no-redef]

class Generator(_random.Generator): ...
