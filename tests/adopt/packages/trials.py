"""One call of a package under each transform, compared with differences and loops."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import functier as ft
import functier.numpy as fnp

MODES = "grad", "jvp", "vmap", "vmap(grad)", "compile"
STEP = 1e-3
NUMERICAL = "numpy", "scipy", "builtins", "math", "functier", "uarray"


class Trial:
    """A call at its input: what is right, and what the transforms give.

    Parameters
    ----------
    f : function
        The call, of one array of floats.
    """

    def __init__(self, f: Callable):
        self.f, self.x = f, f.given
        self.value = self.flat(self.x)
        self.weights = np.cos(np.arange(self.value.size) + 1.0)
        scale = np.maximum(np.abs(self.value), 1e-3 * np.max(np.abs(self.value), initial=1e-300))
        self.weights /= scale  # so that no element hides the others
        self.direction = np.sin(np.arange(self.x.size) + 1.0) * (np.abs(self.x) + 0.01)
        self.batch = self.x * (1.0 + 0.01 * np.array([[0.0], [0.7], [-1.3]]))

    def flat(self, x: Any) -> Any:
        """Return the numbers of a result."""
        return fnp.ravel(self.f(x))

    def scalar(self, x: Any) -> Any:
        """Return one number made of all of a result."""
        return np.sum(self.weights * self.flat(x))

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the gradient of `scalar` by differences, and their error."""
        found = np.zeros((2, x.size))
        for row, step in enumerate((STEP, STEP / 2)):
            for i in range(x.size):
                h = step * (np.abs(x[i]) + 0.01) * np.eye(x.size)[i]
                at = [self.scalar(x + k * h) for k in (-2, -1, 1, 2)]
                found[row, i] = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h[i])
        found *= np.abs(x) + 0.01  # so that all elements have one scale
        return found[1], float(np.max(np.abs(found[0] - found[1]), initial=0.0))

    def scaled(self, gradient: Any, x: np.ndarray) -> Any:
        """Return a gradient with the scale of `slopes`."""
        return np.asarray(gradient) * (np.abs(x) + 0.01)

    def check(self, found: Any, wanted: Any, error: float = 0.0) -> str:
        """Return if a result is right."""
        found, wanted = np.asarray(found), np.asarray(wanted)
        if found.shape != wanted.shape:
            return f"wrong: the shape {found.shape} for {wanted.shape}"
        off = np.max(np.abs(found - wanted), initial=0.0)
        most = self.f.rtol * np.max(np.abs(wanted), initial=1e-300) + 10 * error
        return "right" if off <= most else f"wrong: {found.ravel()[:4]} for {wanted.ravel()[:4]}"

    def run(self, mode: str) -> str:
        """Return what becomes of the call: right, wrong, or the error that refuses it."""
        try:
            return getattr(self, mode.replace("(", "_").rstrip(")"))()
        except Exception as error:
            notes = " ".join(getattr(error, "__notes__", ()))
            return f"refused: {type(error).__name__}: {error} {notes} at {place_of(error)}"

    def grad(self) -> str:
        """Compare the gradient with differences."""
        return self.check(self.scaled(ft.grad(self.scalar)(self.x), self.x), *self.slopes(self.x))

    def jvp(self) -> str:
        """Compare the derivative along a direction with differences."""
        value, tangent = ft.jvp(self.flat, (self.x,), (self.direction,))
        slopes, error = self.slopes(self.x)
        parts = slopes * self.direction / (np.abs(self.x) + 0.01)
        first = self.check(value, self.value)
        found = [np.sum(self.weights * tangent), np.sum(np.abs(parts))]  # the scale of the sum
        second = self.check(found, [np.sum(parts), found[1]], error * self.x.size)
        return second if first == "right" else first

    def vmap(self) -> str:
        """Compare a batch with a loop."""
        found = ft.vmap(self.flat, branches="split")(self.batch)
        return self.check(found, np.stack([self.flat(x) for x in self.batch]))

    def vmap_grad(self) -> str:
        """Compare a batch of gradients with differences."""
        found = ft.vmap(ft.grad(self.scalar), branches="split")(self.batch)
        wanted, errors = zip(*[self.slopes(x) for x in self.batch])
        return self.check(self.scaled(found, self.batch), np.stack(wanted), max(errors))

    def compile(self) -> str:
        """Compare a compiled function and a compiled gradient with those that are not."""
        flat, gradient = ft.compile(self.flat), ft.compile(ft.grad(self.scalar))
        for x in self.batch:
            found = self.check(flat(x), self.flat(x))
            if found == "right":
                found = self.check(gradient(x), ft.grad(self.scalar)(x))
            if found != "right":
                return found
        return found


def place_of(error: BaseException) -> str:
    """Return where the last frame outside of functier was."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "functier/src" not in code.co_filename and "/numpy/" not in code.co_filename:
            name = "/".join(code.co_filename.split("/")[-2:])
            place = f"{name}:{trace.tb_lineno} {code.co_name}"
        trace = trace.tb_next
    return place


def owner_of(method: Any) -> type:
    """Return the class that defines a compiled method, whatever subclass its instance is of."""
    kinds = type(getattr(method, "__self__", 0)).__mro__
    return next((kind for kind in kinds if method.__name__ in vars(kind)), kinds[0])


def path_of(f: Callable, package: str) -> tuple[int, list[str]]:
    """Return how many frames of a package are open at most, and the compiled code it reaches."""
    root, depth, compiled = package.partition(".")[0], 0, set[str]()

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal depth
        if event == "call":
            open_, at = 0, frame
            while at is not None:
                open_ += str(at.f_globals.get("__name__")).partition(".")[0] == root
                at = at.f_back
            depth = max(depth, open_)
        elif event == "c_call":
            name = getattr(arg, "__module__", None) or owner_of(arg).__module__
            first = str(name).partition(".")[0]
            if first not in NUMERICAL and first not in sys.stdlib_module_names:
                compiled.add(f"{name}.{arg.__name__}")

    sys.setprofile(profile)
    try:
        f(f.given)
    finally:
        sys.setprofile(None)
    return depth, sorted(compiled)
