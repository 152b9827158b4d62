"""A call of a solver of SciPy: it sees plain values, and its result gets derivatives.

NOTE [chord steps]
    SciPy finds a root of plain values, and nothing of its search is differentiated. The derivative
    follows from the equation alone. One step ``x - (f(x) - r) / J`` from the root that SciPy
    found, with the plain Jacobian J there and the plain residual r, does not change the value, and
    is right to one order of derivatives more than `x`. So there are as many steps as levels that
    differentiate.
"""

import functools
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from .. import numpy as fnp
from .._control.masks import narrow
from .._core.ambient import AMBIENT
from .._core.errors import UnsupportedError
from .._core.numpy_facts import shape_of
from .._core.root import classes_in
from .._core.tensor import Tensor
from .._levels.raised import Outcomes
from .._transforms.jacobian import jacfwd
from .._transforms.jvp import jvp
from .._transforms.stop_gradient import stop_gradient
from ..progress import during
from ._parts import Layout, NewBatch

FAR = 1e-3
"""The largest Newton step that may be left at a root, relative to its size."""


CONSTANT = {
    "fun", "fvec", "success", "status", "message", "nfev", "njev", "nhev", "nit", "flag",
    "converged", "iterations", "function_calls", "method", "active_mask", "optimality", "_flag",
}  # fmt: skip
"""The names in a report that have no derivative, or a zero one."""


class Problem:
    """A call of a solver: its functions see plain values, one example at a time.

    `met` tells if a function has returned a tensor.
    """

    def __init__(self, label: str, args: Any):
        self.label, self.layout, self.met = label, Layout(), False
        self.args = args if isinstance(args, tuple) else (args,)

    def examples(self) -> list[tuple[int, ...]]:
        return list(np.ndindex(self.layout.batch_shape()))

    def function(self, func: Callable, e: tuple) -> Callable:
        """Return a function of SciPy's plain arguments, for an example."""

        @functools.wraps(func, updated=())
        def plain(*given: Any) -> Any:
            return self.value(func(*given, *self.args), e)

        return plain

    def value(self, x: Any, e: tuple) -> Any:
        """Return the plain value of an example, or a tuple of them."""
        if isinstance(x, tuple):
            return tuple([self.value(v, e) for v in x])
        x = fnp.asarray(x) if isinstance(x, list) and classes_in(x) else x
        if not isinstance(x, Tensor):
            return x
        self.met = True
        value = self.layout.parts(stop_gradient(x))[self.layout.zero]
        return value[e][()] if value.ndim >= len(e) else value[()]

    def solve(self, solve: Callable[[tuple], Any], starts: Any) -> list[Any]:
        """Return the results of `solve` for all examples, where `starts` may be tensors."""
        while True:
            try:
                for x in starts:
                    self.value(x, ())
                results = self._all_results(solve)
                if len(results) == len(self.examples()):
                    return results
            except NewBatch:
                continue

    def _all_results(self, solve: Callable[[tuple], Any]) -> list[Any]:
        """Return the results of all examples; those that raise run apart from the others."""
        outcomes = Outcomes(self.layout.batch_shape())
        results: list[Any] = []
        examples = self.examples()
        with during(self.label, lambda: len(results), len(examples), " examples"):
            for e in examples:
                results.append(outcomes.of(e, solve))
        if outcomes.error is not None:
            raised = self.layout.constant(outcomes.raised)
            outcomes.raise_error(raised, self.label)
        return results

    def root(self, f: Callable, x: np.ndarray, elementwise: bool) -> Any:
        """Return a root with its derivatives: see NOTE [chord steps].

        An elementwise function has a diagonal Jacobian.
        """
        root = self.layout.constant(x)
        if not self.layout.order:
            return root
        found = f(root)
        residual = stop_gradient(found)
        if residual is found:
            return root
        with np.errstate(all="ignore"):
            if elementwise:
                slope = narrow(stop_gradient(jvp(f, (root,), (np.ones_like(root),))[1]))
                step = residual / slope
            else:
                with during(f"{self.label}: Jacobian"):
                    slope = narrow(stop_gradient(jacfwd(f)(root)))
                if shape_of(slope) != 2 * shape_of(root):
                    raise self.refusal(
                        f"as {shape_of(found)[0]} equations for {shape_of(root)[0]} unknowns"
                    )
                try:
                    step = np.linalg.solve(slope, residual)
                except np.linalg.LinAlgError:
                    raise self.refusal("as the Jacobian is singular there") from None
            left = np.max(np.abs(step), initial=0.0) / (1.0 + np.max(np.abs(root), initial=0.0))
            left = self.layout.parts(left)[self.layout.zero]
        if not np.all(left <= FAR):
            raise self.refusal(
                "as the function is not zero there, or has no slope: Newton's method would go on "
                f"by {np.max(left):.1g} of its size"
            )
        for _ in range(self.layout.order):
            change = f(root) - residual
            root = root - (change / slope if elementwise else np.linalg.solve(slope, change))
        return root

    def refusal(self, why: str) -> UnsupportedError:
        return UnsupportedError(
            f"{self.label}: the result has no derivative by the implicit function theorem, {why}; "
            f"pass functier.stop_gradient of what the function closes over, or another start"
        )

    def joined(self, values: list[Any]) -> Any:
        """Return what the reports of all examples say, for one name."""
        first = values[0]
        if len(values) == 1:
            return first
        if isinstance(first, (bool, int, float, complex, np.generic, np.ndarray)):
            rows = np.array(values)
            return self.layout.constant(rows.reshape((*self.layout.batch_shape(), *rows.shape[1:])))
        if isinstance(first, str):
            return "; ".join(dict.fromkeys(values))
        return None if any(v is not None for v in values) else first

    def moved(self, values: list[Any], own: Any) -> Any:
        """Return the plain values of all examples with the derivatives of `own`."""
        rows = np.array(values)
        plain = rows.reshape((*self.layout.batch_shape(), *rows.shape[1:]))
        return self.layout.constant(plain) + (own - stop_gradient(own))

    def report(self, results: list[Any], **own: Any) -> Any:
        """Return a result object of SciPy for all examples, with some attributes of ours.

        A report with a derivative lacks what would need one, too, such as an inverse Hessian.
        """
        made = copy(results[0])
        for name in list(made):
            if name in own:
                made[name] = own[name]
            elif name in CONSTANT or not self.layout.order:
                made[name] = self.joined([r[name] for r in results])
            else:
                del made[name]
        return made


def is_plain(*functions: Any) -> bool:
    """Return whether SciPy is to be called at once."""
    return AMBIENT.get() is Tensor or not all(map(callable, functions))


def has_tensor(*values: Any) -> bool:
    return bool(classes_in(*values))
