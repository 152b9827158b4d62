"""The `ctx` of `Function` and of custom operations, and what a call of one consists of."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from .._core.pytree import is_value
from .._core.root import tree_map
from .._core.tensor import Tensor
from .._transforms.stop_gradient import stop_gradient
from .pytree_rules import Form


class VmapInfo(NamedTuple):
    """What a ``vmap`` static method is told: the batch size, and what random draws do."""

    batch_size: int
    randomness: str


class Spec(NamedTuple):
    """A function and its rules; None for each that it does not have.

    `combined`: ``forward`` takes the context. `dirty`: the rules mark inputs as changed in
    place. `nested`: arrays inside of containers are differentiated by.
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


class Context:
    """The `ctx` of one call: what goes from its forward to its derivative.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument, whether the level that is handled differentiates by it.
    saved_tensors : tuple
        What was saved for the rule that is running.
    """

    __slots__ = (
        "__dict__", "_constant", "_dirty", "_for_forward", "_kept", "_materialize", "_name",
        "_phase", "_saved", "needs_input_grad",
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
        self._kept: tuple[dict, list] = {}, []  # attributes, and what was saved with theirs

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arrays for `backward`: inputs and outputs, or None."""
        self._saved = self._checked("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep arrays for `jvp`; without it `jvp` gets what was saved for `backward`."""
        self._for_forward = self._checked("save_for_forward", tensors)

    def _checked(self, method: str, tensors: tuple) -> tuple:
        for i, x in enumerate(tensors):
            if x is not None and not is_value(x):
                raise TypeError(
                    f"{self._name}: {method} keeps arrays and None, but its argument {i} is of "
                    f"type {type(x).__name__}; store other objects on the context, as "
                    f"ctx.name = value"
                )
        return tensors

    @property
    def saved_tensors(self) -> tuple:
        """What was saved, in its order."""
        if self._saved is None:
            raise RuntimeError(
                f"{self._name}: ctx.saved_tensors was read after the backward pass had freed "
                f"them; read it inside backward, and keep what you need from there"
            )
        if self._phase == "jvp" and self._for_forward is not None:
            return self._for_forward
        return self._saved

    def mark_dirty(self, *inputs: Any) -> None:
        """Say which inputs `forward` has changed in place; it has to return them."""
        self._dirty = inputs

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Say which outputs are constants for derivatives."""
        self._constant = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether absent (co)tangents come as zeros, or with False as None."""
        self._materialize = bool(value)

    def having(self, saved: tuple, attributes: dict) -> "Context":
        """One of the same call that has saved something else."""
        ctx = Context(self._name, self.needs_input_grad)
        ctx._saved, ctx._phase, ctx._materialize = saved, self._phase, self._materialize
        vars(ctx).update(attributes)
        return ctx

    def __repr__(self) -> str:
        return f"<ctx of {self._name}>"


class Kept(NamedTuple):
    """What `bwd` needs beside the saved arrays: a recipe for a context, and forms."""

    n_saved: int
    attributes: dict
    needs: tuple
    materialize: bool
    inputs: list[Any]
    outputs: list[Form]


class SavedTensor:
    """Stands in an attribute of a context for a tensor, which is saved."""

    def __init__(self, place: int):
        self.place = place


def save_attributes(attributes: dict, saved: list) -> dict:
    """Attributes of a context, whose tensors are put to `saved`."""

    def hold(v: Any) -> Any:
        if isinstance(v, Tensor) and v.level.depth:
            saved.append(v)
            return SavedTensor(len(saved) - 1)
        return v

    return tree_map(hold, attributes)


def restore_attributes(attributes: dict, saved: Sequence) -> dict:
    """The attributes that `save_attributes` has prepared; they are constants for derivatives."""

    def release(v: Any) -> Any:
        return stop_gradient(saved[v.place]) if type(v) is SavedTensor else v

    return tree_map(release, attributes)


class Result(NamedTuple):
    """The form of a result: the type of its tuple or None, by position which outputs are
    inputs, and which are constants or were changed in place.
    """

    kind: type | None
    same: dict[int, int]
    constant: frozenset[int] = frozenset()
    dirty: tuple = ()

    def build(self, outs: list) -> Any:
        kind: Any = self.kind
        if kind is None:
            return outs[0]
        return kind(*outs) if hasattr(kind, "_fields") else tuple(outs)


OPAQUE = object()
"""The form of an argument that is no array."""


def is_ufunc(fn: Any) -> bool:
    """Whether `fn` is an elementwise ufunc, maybe with arguments bound; Numba's are of a class
    of their own.
    """
    fn = fn.func if isinstance(fn, partial) else fn
    return isinstance(getattr(fn, "nin", None), int) and getattr(fn, "signature", None) is None
