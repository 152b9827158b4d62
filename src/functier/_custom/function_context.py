"""The `ctx` of `Function` and of custom operations, and the records that describe a call."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._core.pytree import is_value
from .._core.root import tree_map
from .._core.tensor import Tensor
from .._levels.batch import Randomness
from .._transforms.stop_gradient import stop_gradient
from .pytree_rules import Form


class VmapInfo(NamedTuple):
    """The first argument of a ``vmap`` rule: the batch size, and what random draws do."""

    batch_size: int
    randomness: Randomness


class Spec(NamedTuple):
    """A function and its rules; None for each rule that is missing.

    `combined` says that ``forward`` takes the context, `dirty` that the rules mark inputs as
    changed in place, and `nested` that arrays inside containers have derivatives. `whole` is
    a callable that programs call as it is.
    """

    name: str
    forward: Callable
    setup: Callable | None = None
    backward: Callable | None = None
    jvp: Callable | None = None
    vmap: Callable | None = None
    generate: bool | None = None
    combined: bool = False
    dirty: bool = False
    nested: bool = False
    setup_jvp: Callable | None = None
    whole: Callable | None = None


class Context:
    """The `ctx` of one call, which hands values from its forward to its derivative rules.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument, whether the level that is handled differentiates with respect to it.
    saved_tensors : tuple
        The arrays that were saved for the running rule.
    """

    __slots__ = (
        "__dict__", "_constant", "_dirty", "_for_forward", "_materialize", "_name", "_phase",
        "_residuals", "_saved", "needs_input_grad",
    )  # fmt: skip
    needs_input_grad: tuple[bool, ...]

    def __init__(self, name: str, needs: tuple[bool, ...]):
        self._name, self.needs_input_grad = name, needs
        self._saved: tuple | None = ()
        self._for_forward: tuple | None = None
        self._dirty: tuple = ()
        self._constant: tuple = ()
        self._materialize = True
        self._phase = "forward"
        self._residuals: tuple[dict, list] = {}, []  # attributes, and all saved arrays

    def save_for_backward(self, *tensors: Any) -> None:
        """Save arrays for `backward`: inputs, outputs, or None."""
        self._saved = self._check("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Any) -> None:
        """Save arrays for `jvp`; otherwise `jvp` gets those that were saved for `backward`."""
        self._for_forward = self._check("save_for_forward", tensors)

    def _check(self, method: str, tensors: tuple) -> tuple:
        """Return `tensors`, checked to be arrays or None."""
        for i, x in enumerate(tensors):
            if x is not None and not is_value(x):
                raise TypeError(
                    f"{self._name}: {method} saves arrays and None, but its argument {i} is of "
                    f"type {type(x).__name__}; store other objects as attributes, ctx.name = value"
                )
        return tensors

    @property
    def saved_tensors(self) -> tuple:
        """The saved arrays, in their order."""
        if self._saved is None:
            raise RuntimeError(
                f"{self._name}: ctx.saved_tensors was read after the backward pass had freed "
                f"them; read it inside backward, and keep the arrays that you need"
            )
        if self._phase == "jvp" and self._for_forward is not None:
            return self._for_forward
        return self._saved

    def mark_dirty(self, *inputs: Any) -> None:
        """Mark inputs that `forward` has changed in place; it has to return them."""
        self._dirty = inputs

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Mark outputs as constants for derivatives."""
        self._constant = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Pass absent (co)tangents to the rules as zeros, or with False as None."""
        self._materialize = bool(value)

    def replace(self, saved: tuple, attributes: dict) -> "Context":
        """Return a context of the same call with other saved arrays and attributes."""
        ctx = Context(self._name, self.needs_input_grad)
        ctx._saved, ctx._phase, ctx._materialize = saved, self._phase, self._materialize
        vars(ctx).update(attributes)
        return ctx

    def __repr__(self) -> str:
        return f"<ctx of {self._name}>"


class BackwardInfo(NamedTuple):
    """The data that `bwd` needs to make a context again, and the forms of inputs and outputs."""

    n_saved: int
    attributes: dict
    needs: tuple[bool, ...]
    materialize: bool
    inputs: list[Any]
    outputs: list[Form]


class SavedTensor:
    """A placeholder in the attributes of a context for a tensor, by its place among the saved."""

    def __init__(self, place: int):
        self.place = place


def save_attributes(attributes: dict, saved: list) -> dict:
    """Return the attributes of a context, and move the tensors in them to the list `saved`."""

    def save(v: Any) -> Any:
        if isinstance(v, Tensor) and v.level.depth:
            saved.append(v)
            return SavedTensor(len(saved) - 1)
        return v

    return tree_map(save, attributes)


def restore_attributes(attributes: dict, saved: Sequence) -> dict:
    """Return the attributes that `save_attributes` was given; tensors are constants."""

    def restore(v: Any) -> Any:
        return stop_gradient(saved[v.place]) if type(v) is SavedTensor else v

    return tree_map(restore, attributes)


class Result(NamedTuple):
    """The form of a result: the type of its tuple, or None for a single output.

    `same` maps the outputs that are inputs to the positions of these. `constant` has the
    outputs without derivatives, and `dirty` pairs of an output and the argument that it is,
    changed in place.
    """

    kind: type | None
    same: dict[int, int]
    constant: frozenset[int] = frozenset()
    dirty: tuple[tuple[int, int], ...] = ()

    def build(self, outs: list) -> Any:
        """Return the result with the outputs `outs`."""
        kind: Any = self.kind
        if kind is None:
            return outs[0]
        return kind(*outs) if hasattr(kind, "_fields") else tuple(outs)


OPAQUE = object()
"""The form of an argument that is not an array."""


def is_ufunc(fn: Any) -> bool:
    """Return True where `fn` is an elementwise ufunc of NumPy or Numba, or a partial of one."""
    fn = fn.func if isinstance(fn, partial) else fn
    return isinstance(getattr(fn, "nin", None), int) and getattr(fn, "signature", None) is None
