"""NumPy's types, with the generators of functier."""

from . import random as random
from .. import random as _random
from numpy import *  # type: ignore[no-redef]

# Jedi does not see the names that NumPy's stub imports itself.
from numpy._core.arrayprint import *
from numpy._core.einsumfunc import *
from numpy._core.fromnumeric import *
from numpy._core.function_base import *
from numpy._core.multiarray import *
from numpy._core.numeric import *
from numpy._core.numerictypes import *
from numpy._core.shape_base import *
from numpy.lib._arraypad_impl import *
from numpy.lib._arraysetops_impl import *
from numpy.lib._function_base_impl import *
from numpy.lib._histograms_impl import *
from numpy.lib._index_tricks_impl import *
from numpy.lib._nanfunctions_impl import *
from numpy.lib._npyio_impl import *
from numpy.lib._polynomial_impl import *
from numpy.lib._shape_base_impl import *
from numpy.lib._stride_tricks_impl import *
from numpy.lib._twodim_base_impl import *
from numpy.lib._type_check_impl import *
from numpy.lib._ufunclike_impl import *

class Generator(_random.Generator): ...
