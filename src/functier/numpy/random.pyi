from ..random import default_rng as default_rng
from . import Generator as Generator
from numpy.random import *  # type: ignore[assignment]
