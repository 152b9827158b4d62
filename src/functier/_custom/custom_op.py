"""Custom operations: functions with a name, rules, and kernels for types of arrays.

`functier.ops` looks them up.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .._core.blocks import CALLS
from .._core.errors import NoRuleError
from .._core.numpy_facts import name_of, shape_of
from .._core.op import Op
from .._core.pytree import check_callable
from .._core.root import classes_in, tree_map
from .._core.table import NAMESPACES, OPS, PARTIALS, load
from .._core.tensor import Tensor
from .._core.tracebacks import checks_keywords, leave
from .._cpython.code import start_of
from .._levels.memory import TO_PLAIN
from ..modes._asking import STATE, as_mode_array, as_plain, ask_operations
from ..overrides._hooks import handle_tensor_function, is_level
from .function import bound, call
from .function_context import Spec, is_ufunc

RESERVED = frozenset({"functier", "numpy", "operator", "scipy"})
"""Namespaces that users cannot use, apart from those that begin with an underscore."""


class CustomOp:
    """A custom operation, as `custom_op` returns it."""

    __name__: str
    __doc__: str | None

    def __init__(self, qualified: str, fn: Callable):
        namespace, _, name = qualified.partition("::")
        self.namespace, self.qualified_name = namespace, qualified
        functools.update_wrapper(self, fn)
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"{__name__.partition('.')[0]}.ops.{namespace}"
        self._signature: Any = None
        with suppress(TypeError, ValueError):  # of some functions written in C
            self._signature = inspect.signature(fn)
        if is_ufunc(fn):
            self._signature = None  # options like where= are not arguments of an operation
        self._kernels: dict[type, Callable] = {}
        # From each function that this stands for to a key of its former record, or None.
        self._means: dict[Callable, Any] = {}
        self._spec = Spec(
            qualified, self._computed, nested=True, whole=self,
            vmap=elementwise(fn) if is_ufunc(fn) else None,
        )  # fmt: skip
        self._fn = fn

    # ---- rules ----

    def register_vjp(
        self, backward: Callable | None = None, /, *, setup_context: Callable | None = None
    ) -> Any:
        """Give the operation a rule for reverse mode; also a decorator.

        Parameters
        ----------
        backward : callable
            ``backward(ctx, *grad_outputs)`` returns the gradient of each argument, or None, as
            for `Function`. The gradient of a list, tuple or dict is a container of its kind.
        setup_context : callable, optional
            ``setup_context(ctx, inputs, output)`` saves on `ctx` the values for `backward`.
        """
        return self._register("register_vjp", "backward", backward, setup=setup_context)

    register_autograd = register_vjp

    def register_jvp(
        self, jvp: Callable | None = None, /, *, setup_context: Callable | None = None
    ) -> Any:
        """Give the operation a rule for forward mode; also a decorator.

        Parameters
        ----------
        jvp : callable
            ``jvp(ctx, *tangents)`` returns the tangent of each output, as for `Function`.
        setup_context : callable, optional
            As for `register_vjp`; the default is the one that was registered there.
        """
        return self._register("register_jvp", "jvp", jvp, setup_jvp=setup_context)

    def register_vmap(self, rule: Callable | None = None, /) -> Any:
        """Give the operation a rule for batches; also a decorator.

        Parameters
        ----------
        rule : callable
            ``rule(info, in_dims, *args)`` returns ``(output, out_dims)``, like ``vmap`` of
            `Function`. It may call the operation.
        """
        return self._register("register_vmap", "vmap", rule)

    def _register(self, method: str, name: str, rule: Any, **more: Any) -> Any:
        """Take the rule `name`, or return the decorator that does."""
        if rule is None:
            return lambda f: self._register(method, name, f, **more)
        check_callable(f"{self.qualified_name}.{method}", rule)
        self._spec = self._spec._replace(**{name: rule}, **more)
        return rule

    def register_kernel(self, types: type | Sequence[type], fn: Callable | None = None, /) -> Any:
        """Give the operation an implementation for a type of arrays; also a decorator.

        Parameters
        ----------
        types : type or sequence of type
            The types of arrays. A call looks up the class of each argument and its base
            classes, from left to right, and calls the first kernel that it finds. Kernels do
            not see transforms.
        fn : callable
            Takes the arguments of the operation.
        """
        if fn is None:
            return lambda f: self.register_kernel(types, f)
        check_callable(f"{self.qualified_name}.register_kernel", fn)
        for kind in types if isinstance(types, (tuple, list)) else (types,):
            if not isinstance(kind, type):
                raise TypeError(
                    f"{self.qualified_name}.register_kernel: {kind!r} is not a class; pass the "
                    f"class of the arrays, such as dask.array.Array"
                )
            if issubclass(kind, Tensor):
                raise TypeError(
                    f"{self.qualified_name}.register_kernel: {kind.__name__} is a Tensor, which "
                    f"has hooks; handle the operation in its __tensor_function__"
                )
            self._kernels = {**self._kernels, kind: fn}
        return fn

    def replaced(
        self,
        fn: Callable | None = None,
        /,
        *,
        types: Any = None,
        vjp: Callable | None = None,
        jvp: Callable | None = None,
        vmap: Callable | None = None,
        setup_context: Callable | None = None,
    ) -> "Replacement":
        """Replace implementations until the replacement is undone.

        Parameters
        ----------
        fn : callable, optional
            The new function; with `types`, the new kernel for these.
        types : type or sequence of type, optional
            The types of arrays that `fn` is a kernel for.
        vjp, jvp, vmap, setup_context : callable, optional
            The new rules.

        Returns
        -------
        Replacement
            Its ``undo()`` restores the former implementations; as a context manager it does so
            at the end of the block. Undo several replacements in the opposite order.
        """
        change = Replacement(self)
        if fn is not None:
            check_callable(f"{self.qualified_name}.replaced", fn)
            if types is not None:
                self.register_kernel(types, fn)
            else:
                self._fn = fn
        given: Any = {"backward": vjp, "jvp": jvp, "vmap": vmap, "setup": setup_context}
        self._spec = self._spec._replace(**{k: v for k, v in given.items() if v is not None})
        return change

    def implements(self, func: Callable) -> "Replacement":
        """Use this operation wherever a transform meets `func`.

        This gives rules to a function of another library that dispatches by NumPy's
        protocols, such as a ufunc, or replaces its rules. Calls of `func` on plain arrays do
        not change.

        Parameters
        ----------
        func : callable
            A function with the arguments of the operation.

        Returns
        -------
        Replacement
            As from `replaced`.

        Raises
        ------
        ValueError
            If `func` is one of NumPy's elementwise functions, whose rules are built into the
            transforms.
        """
        check_callable(f"{self.qualified_name}.implements", func)
        load(getattr(func, "__module__", None))
        if func in PARTIALS:
            raise ValueError(
                f"{self.qualified_name}.implements: the rules of {name_of(func)} are built into "
                f"the transforms and cannot be replaced; call {self.qualified_name} instead of it"
            )
        change = Replacement(self, func)
        own = None
        if change.record is not None:
            own = functools.partial(func)
            OPS[own] = change.record
        self._means = {**self._means, func: own}
        OPS[func] = Op(func, "x", family="custom", body=self)
        return change

    # ---- calls ----

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            signature = self._signature
            if signature is not None and (kwargs or len(args) < len(signature.parameters)):
                args = bound(self.qualified_name, signature, args, kwargs)
            elif kwargs:
                raise TypeError(
                    f"{self.qualified_name}: the function has no signature; pass all by position"
                )
            if not CALLS:
                types = classes_in(*args)
                if not types or types == (Tensor,) or is_level(types[0]):
                    return self._implementation(*args)
            return handle_tensor_function(self, args, *args)
        except BaseException as error:
            leave(error)
            raise

    def _implementation(self, *args: Any) -> Any:
        """Make a call without asking hooks or modes."""
        types = classes_in(*args)
        if types == (Tensor,):
            return Tensor.level.dispatch(Tensor, self._implementation, args, {})
        return call(self._spec, args)

    def _computed(self, *args: Any) -> Any:
        """Make the call outside all levels, or on the tensors of a batch."""
        types = classes_in(*args)
        if types and is_level(types[0]):
            if self._fn not in self._means:
                return self._fn(*args)
            own = self._means[self._fn]
            if own is None:
                raise NoRuleError(
                    f"{self.qualified_name} does not have vmap support: it stands for the function "
                    f"that it calls; give it a rule with register_vmap"
                )
            level: Any = types[0].level  # type: ignore[attr-defined]
            return level.function(own, args, {})
        if types:
            return handle_tensor_function(self, args, *args)
        if not TO_PLAIN:
            return self._kernel(args)(*args)
        arrays = as_plain(args)
        if STATE.get().operations:
            out = ask_operations(self, (), args, {}, lambda: self._kernel(arrays)(*arrays))
        else:
            out = self._kernel(arrays)(*arrays)
        return tree_map(as_mode_array, out)

    def _kernel(self, args: tuple) -> Callable:
        if self._kernels:
            for x in args:
                for y in x if isinstance(x, (tuple, list)) else (x,):
                    for kind in type(y).__mro__:
                        if kind in self._kernels:
                            return self._kernels[kind]
        return self._fn

    # ---- what it is ----

    @property
    def schema(self) -> str:
        """The name and the parameters: ``mylib::scale(x, factor=2.0)``."""
        return f"{self.qualified_name}{self._signature or '(*args)'}"

    def unregister(self) -> None:
        """Free the name of the operation; the object and its `implements` stay in effect."""
        own = NAMESPACES.get(self.namespace, {})
        if own.get(self.__name__) is self:
            del own[self.__name__]

    def __reduce__(self) -> Any:
        return _looked_up, (self.namespace, self.__name__)

    def __repr__(self) -> str:
        return f"<custom_op {self.schema}>"


def _looked_up(namespace: str, name: str) -> CustomOp:
    try:
        return NAMESPACES[namespace][name]
    except KeyError:
        raise AttributeError(
            f"there is no custom operation {namespace}::{name}; import the module that defines it"
        ) from None


class Replacement:
    """The handle to undo a replacement; as a context manager it does so at the end of the block."""

    def __init__(self, op: CustomOp, func: Any = None):
        self.op, self.func = op, func
        self.before = op._fn, op._kernels, op._spec, op._means
        self.record = OPS.get(func)

    def undo(self) -> None:
        """Restore the implementations from before the replacement."""
        op = self.op
        op._fn, op._kernels, op._spec, op._means = self.before
        if self.func is not None:
            for func in [f for f in OPS if getattr(f, "func", None) is self.func]:
                del OPS[func]
            if self.record is None:
                OPS.pop(self.func, None)
            else:
                OPS[self.func] = self.record

    def __enter__(self) -> CustomOp:
        return self.op

    def __exit__(self, *exception: Any) -> None:
        self.undo()


@checks_keywords
def custom_op(name: str, fn: Callable | None = None, /, *, mutates_args: Any = ()) -> Any:
    """Define an operation with a name, to which transforms apply custom rules.

    Parameters
    ----------
    name : str
        ``"namespace::name"``. The operation is then ``functier.ops.namespace.name``. A name
        can be used once, until ``unregister``; but a definition that runs again, as after
        `importlib.reload` or in a notebook, replaces the former operation.
    fn : callable, optional
        A function of arrays, containers of arrays, and any other arguments. It gets plain
        arrays (or other arrays that levels wrap, such as those of Dask), so it may call
        compiled code. It returns an array, or a tuple of arrays. Without `fn` the result is a
        decorator.
    mutates_args : ()
        Accepted for compatibility with torch: an operation cannot change its arguments.

    Returns
    -------
    CustomOp
        A callable with the arguments of `fn`. ``register_vjp``, ``register_jvp`` and
        ``register_vmap`` give it rules, which are those of `Function`. ``register_kernel``
        gives it an implementation for a type of arrays. ``replaced`` and ``implements``
        replace implementations for a while.

    Raises
    ------
    ValueError
        If the name has another form or is taken, or its namespace belongs to functier.
    NoRuleError
        At a call, if a rule is needed and missing.

    See Also
    --------
    Function : The same rules as static methods of a class.
    functier.testing.opcheck : Test the rules.

    Notes
    -----
    The interface is that of `torch.library.custom_op`; ``register_autograd`` is another name
    for ``register_vjp``. There is no ``register_fake``, since operations always have values.

    Hooks of tensors and modes see one call of the operation, with the operation as `func`.
    Without a rule for batches, `fn` runs on the tensors of the batch, for which it has to be
    NumPy code. A ufunc of NumPy or Numba computes a batch in one call.
    ``sequential_vmap(fn)`` instead of `fn` loops over the examples. One of the two derivative
    rules is enough, as for `Function`.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> import functier
    >>> @custom_op("docs::gamma")
    ... def gamma(x):
    ...     return np.reshape([math.gamma(v) for v in np.ravel(x)], np.shape(x))
    >>> @gamma.register_vmap
    ... def rule(info, in_dims, x):
    ...     return gamma(x), 0
    >>> def save(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs, output)
    >>> @gamma.register_vjp(setup_context=save)
    ... def backward(ctx, grad):
    ...     x, y = ctx.saved_tensors
    ...     return grad * y * (np.log(x) - 0.5 / x)  # roughly
    >>> functier.vmap(functier.ops.docs.gamma)(np.array([4.0, 5.0]))
    array([ 6., 24.])
    >>> round(float(functier.grad(gamma)(4.0)), 2)
    7.57
    """
    if mutates_args not in ((), [], set(), frozenset()):
        raise ValueError(
            f"custom_op({name!r}): mutates_args={mutates_args!r}, but an operation cannot change "
            f"its arguments; return the new array"
        )
    if fn is None:
        return lambda f: custom_op(name, f)
    parts = name.split("::") if isinstance(name, str) else ()
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise ValueError(
            f"custom_op({name!r}): the name of an operation consists of two identifiers; write "
            f"'namespace::name'"
        )
    if parts[0] in RESERVED or parts[0].startswith("_"):
        raise ValueError(
            f"custom_op({name!r}): the namespace {parts[0]!r} belongs to functier; choose the name "
            f"of your library"
        )
    check_callable(f"custom_op({name!r})", fn)
    before = NAMESPACES.get(parts[0], {}).get(parts[1])
    if before is not None and not _same_definition(before._fn, fn):
        raise ValueError(
            f"custom_op({name!r}): an operation of this name exists already, for "
            f"{name_of(before._fn)}; choose another name, call functier.ops.{parts[0]}."
            f"{parts[1]}.unregister() first, or replace what it does with its method replaced(fn)"
        )
    made = CustomOp(name, fn)
    NAMESPACES.setdefault(parts[0], {})[parts[1]] = made
    return made


def _same_definition(a: Any, b: Any) -> bool:
    """Return True where two functions come from one definition that has run again."""
    names = [(getattr(f, "__module__", None), getattr(f, "__qualname__", None)) for f in (a, b)]
    if a is b or names[0] != names[1] or None in names[0]:
        return a is b
    return "<lambda>" not in str(names[0][1]) or start_of(a) == start_of(b)


# ---- ufuncs ----


def elementwise(fn: Callable) -> Callable:
    """Return the batching rule of a function that broadcasts: align the ranks, and call once."""

    def rule(info: Any, in_dims: tuple, *args: Any) -> tuple:
        ranks = [len(shape_of(x)) - (d == 0) for x, d in zip(args, in_dims)]
        rank, aligned = max(ranks), []
        for x, d, own in zip(args, in_dims, ranks):
            if d == 0 and own < rank:
                shape = shape_of(x)
                x = np.reshape(x, (shape[0], *(1,) * (rank - own), *shape[1:]))
            aligned.append(x)
        out = fn(*aligned)
        return out, (0,) * len(out) if isinstance(out, tuple) else 0

    return rule
