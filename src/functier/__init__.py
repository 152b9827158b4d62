"""Composable function transforms for plain NumPy code; every level is a class.

This module has all public names. Modules with an underscore are private. Names that few programs
use are imported on first access.
"""

import typing as _typing
from importlib import import_module as _import_module

from . import _rooms as _rooms
from ._core.errors import ConversionError as ConversionError
from ._core.errors import DataDependentError as DataDependentError
from ._core.errors import EscapedTensorError as EscapedTensorError
from ._core.errors import FallbackWarning as FallbackWarning
from ._core.errors import GradcheckError as GradcheckError
from ._core.errors import HookRecursionError as HookRecursionError
from ._core.errors import LeakError as LeakError
from ._core.errors import LeakWarning as LeakWarning
from ._core.errors import LevelError as LevelError
from ._core.errors import MutationError as MutationError
from ._core.errors import NonFiniteError as NonFiniteError
from ._core.errors import NoRuleError as NoRuleError
from ._core.errors import NumberError as NumberError
from ._core.errors import RandomnessError as RandomnessError
from ._core.errors import UnsupportedError as UnsupportedError
from ._core.errors import hide_own as _hide_own
from ._core.peers import unknown_name as _unknown_name
from ._transforms.grad import grad as grad
from ._transforms.grad import grad_and_value as grad_and_value
from ._transforms.grad import value_and_grad as value_and_grad
from ._transforms.vjp import vjp as vjp
from ._transforms.jvp import jvp as jvp
from ._levels.conversions import depth_of as depth_of
from ._levels.conversions import unwrap as unwrap
from ._core.pytree import register_dataclass as register_dataclass
from ._core.pytree import register_pytree_node as register_pytree_node
from ._levels.states import no_dispatch as no_dispatch
from ._transforms.stop_gradient import enable_grad as enable_grad
from ._transforms.stop_gradient import no_grad as no_grad
from ._transforms.stop_gradient import stop_gradient as stop_gradient
from ._core.tensor import Tensor as Tensor
from ._mutation.array_level import tensor as tensor
from ._transforms.vmap import vmap as vmap

__version__ = "0.1.0rc2"

if _typing.TYPE_CHECKING:
    from . import debug as debug
    from . import errors as errors
    from . import modes as modes
    from . import nn as nn
    from . import numpy as numpy
    from . import ops as ops
    from . import optim as optim
    from . import overrides as overrides
    from . import progress as progress
    from . import protocol as protocol
    from . import random as random
    from . import scipy as scipy
    from . import testing as testing
    from ._adopt.adoption import adopt as adopt
    from ._control.checkpoint import checkpoint as checkpoint
    from ._control.collectives import all_gather as all_gather
    from ._control.collectives import axis_index as axis_index
    from ._control.collectives import axis_size as axis_size
    from ._control.collectives import pmax as pmax
    from ._control.collectives import pmean as pmean
    from ._control.collectives import pmin as pmin
    from ._control.collectives import psum as psum
    from ._control.collectives import psum_scatter as psum_scatter
    from ._control.loops import cond as cond
    from ._control.loops import fori_loop as fori_loop
    from ._control.loops import switch as switch
    from ._control.loops import while_loop as while_loop
    from ._custom.decorators import custom_jvp as custom_jvp
    from ._custom.decorators import custom_vjp as custom_vjp
    from ._custom.decorators import custom_vmap as custom_vmap
    from ._custom.decorators import sequential_vmap as sequential_vmap
    from ._custom.finite_difference import finite_difference as finite_difference
    from ._custom.function import Function as Function
    from ._custom.function import once_differentiable as once_differentiable
    from ._export.export import Exported as Exported
    from ._export.export import export as export
    from ._programs.compiled import compile as compile
    from ._programs.program import Program as Program
    from ._programs.trace import trace as trace
    from ._transforms.hooks import register_hook as register_hook
    from ._transforms.hooks import requires_grad as requires_grad
    from ._core.vectors import ravel_pytree as ravel_pytree
    from ._control.solves import custom_linear_solve as custom_linear_solve
    from ._control.solves import custom_root as custom_root
    from ._transforms.tracing.linearize import linear_transpose as linear_transpose
    from ._transforms.tracing.linearize import linearize as linearize
    from ._custom.custom_op import custom_op as custom_op
    from ._transforms.curvatures import hessian_diagonal as hessian_diagonal
    from ._transforms.curvatures import laplacian as laplacian
    from ._transforms.curvatures import value_and_jacobian as value_and_jacobian
    from ._transforms.functional_call import functional_call as functional_call
    from ._transforms.functional_call import stack_module_state as stack_module_state
    from ._transforms.jacobian import hessian as hessian
    from ._transforms.jacobian import jacfwd as jacfwd
    from ._transforms.jacobian import jacrev as jacrev
    from ._transforms.products import elementwise_grad as elementwise_grad
    from ._transforms.products import hvp as hvp
    from ._custom.registry import registry as registry
    from ._control.scan import associative_scan as associative_scan
    from ._control.scan import map as map
    from ._control.scan import scan as scan
    from ._transforms.series.jet import jet as jet
    from ._transforms.series.jet import taylor as taylor
    from ._transforms.sparse.jacobian import jacobian_pattern as jacobian_pattern
    from ._transforms.sparse.jacobian import sparse_hessian as sparse_hessian
    from ._transforms.sparse.jacobian import sparse_jacobian as sparse_jacobian
    from .testing._check import check as check
    from .testing._versions import show_versions as show_versions

_MODULES = (
    "debug", "errors", "modes", "nn", "numpy", "ops", "optim", "overrides", "progress",
    "protocol", "random", "scipy", "testing",
)  # fmt: skip
_NAMES = {
    "_adopt.adoption": "adopt",
    "_control.loops": "cond fori_loop switch while_loop",
    "_control.checkpoint": "checkpoint",
    "_control.collectives": "all_gather axis_index axis_size pmax pmean pmin psum psum_scatter",
    "_control.scan": "associative_scan map scan",
    "_control.solves": "custom_linear_solve custom_root",
    "_core.vectors": "ravel_pytree",
    "_custom.custom_op": "custom_op",
    "_custom.decorators": "custom_jvp custom_vjp custom_vmap sequential_vmap",
    "_custom.finite_difference": "finite_difference",
    "_custom.function": "Function once_differentiable",
    "_export.export": "Exported export",
    "_programs.compiled": "compile",
    "_programs.program": "Program",
    "_programs.trace": "trace",
    "_custom.registry": "registry",
    "_transforms.sparse.jacobian": "jacobian_pattern sparse_hessian sparse_jacobian",
    "_transforms.series.jet": "jet taylor",
    "_transforms.tracing.linearize": "linear_transpose linearize",
    "_transforms.curvatures": "hessian_diagonal laplacian value_and_jacobian",
    "_transforms.functional_call": "functional_call stack_module_state",
    "_transforms.hooks": "register_hook requires_grad",
    "_transforms.jacobian": "hessian jacfwd jacrev",
    "_transforms.products": "elementwise_grad hvp",
    "testing._check": "check",
    "testing._versions": "show_versions",
}
"""The names that are imported on first access, by their private modules."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> _typing.Any:
    if name in _MODULES:
        return _import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        try:
            raise _unknown_name(__name__, name)
        except (AttributeError, ImportError) as error:
            _hide_own(error)
            raise
    value = getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(n for n in {*globals(), *_MODULES, *_HOMES} if n[0] != "_")


# A star brings the functions and classes, and neither modules nor what hides a builtin.
__all__ = [n for n in __dir__() if n not in _MODULES and n not in ("compile", "map")]
