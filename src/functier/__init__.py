"""Composable function transforms for plain NumPy code; every level is a class.

The public names, and nothing else. The modules with an underscore are private.
"""

from ._checkpoint import checkpoint as checkpoint
from ._errors import ConversionError as ConversionError
from ._errors import DataDependentError as DataDependentError
from ._errors import EscapedTensorError as EscapedTensorError
from ._errors import FallbackWarning as FallbackWarning
from ._errors import LevelError as LevelError
from ._errors import MutationError as MutationError
from ._errors import NoRuleError as NoRuleError
from ._errors import UnsupportedError as UnsupportedError
from ._grad import grad as grad
from ._grad import grad_and_value as grad_and_value
from ._grad import value_and_grad as value_and_grad
from ._grad import vjp as vjp
from ._implicit import custom_linear_solve as custom_linear_solve
from ._implicit import custom_root as custom_root
from ._jacobian import hessian as hessian
from ._jacobian import jacfwd as jacfwd
from ._jacobian import jacrev as jacrev
from ._jvp import jvp as jvp
from ._level import level_of as level_of
from ._ended import no_dispatch as no_dispatch
from ._level import unwrap as unwrap
from ._tensor import Tensor as Tensor
from ._tensor import tensor as tensor
from ._vmap import vmap as vmap

__version__ = "0.1.0"
