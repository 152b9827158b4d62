"""The rules of `Function` and of custom operations, applied at levels.

NOTE [a context for each level]
    A level that differentiates needs a separate context. The context saves values one level
    out, which may be tensors of the levels around; with these the levels around differentiate
    the backward function. So each such level repeats the call one level out
    (`FunctionRules.apply`), and ``setup_context`` fills a new context with the inputs and the
    output of that call. ``forward`` itself runs once, at the outermost level, where no tensor
    is left; or on the tensors of a batch, if there is no batching rule. A
    ``forward(ctx, ...)`` without ``setup_context`` cannot be split like this. It runs one
    level out of the innermost level, as NumPy code on tensors of the levels around.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._core.errors import MutationError, NoRuleError
from .._core.numpy_facts import dtype_of, shape_of
from .._core.pytree import describe, is_value, leaves_or_none, unflatten
from .._core.tensor import Tensor
from .._levels.batch import Randomness
from .._levels.cotangents import cast_from_rule, fit, zeros
from .apply import apply, is_refusal, level_among, reason, recorder_of
from .function_context import (
    OPAQUE,
    BackwardInfo,
    Context,
    Result,
    Spec,
    VmapInfo,
    restore_attributes,
    save_attributes,
)
from .pytree_rules import call_rule, form_of
from .rules import Rules, inexact

ndarray = np.ndarray
SETUP = "setup_context(ctx, inputs, output)"


class FunctionRules(Rules):
    """The rules of a `Spec` for the arguments of one call; see `Rules`.

    `parts` has the number of leaves and the structure of each of the `n` arguments, and is
    None where each argument is a leaf.
    """

    remedy = (
        "for forward mode it must implement the jvp function: jvp(ctx, *tangents), a static "
        "method of a Function, or register_jvp of a custom operation"
    )

    def __init__(self, spec: Spec, parts: list[tuple[int, Any]] | None, n: int):
        self.spec, self.parts, self.n, self.name = spec, parts, n, spec.name
        self.has_jvp = spec.jvp is not None
        self.has_vjp = spec.backward is not None or not self.has_jvp
        self.has_vmap = spec.vmap is not None
        self.own: list[int] = []
        self.contexts = 0  # the number of levels that have one, or will have it
        self.randomness: Randomness = "error"

    def note(self, own: list[int], forward: bool) -> None:
        self.own = own
        if forward and not self.has_jvp and self.spec.backward is None:
            raise NoRuleError(
                f"{self.name} has no derivative for forward mode: it must implement the jvp "
                f"function, jvp(ctx, *tangents), or a backward, which is transposed{self.where()}"
            )

    def where(self) -> str:
        """Return the remedy for a custom operation whose rule is missing."""
        return "; give it one with register_vjp or register_jvp" if self.spec.nested else ""

    def differentiable(self, outs: list, form: Result) -> list[int]:
        places = inexact(outs)
        return [i for i in places if i not in form.constant] if form.constant else places

    # ---- arguments ----

    def args(self, leaves: list) -> list:
        """Return the arguments that consist of `leaves`."""
        if self.parts is None:
            return leaves
        found, start = [], 0
        for n, structure in self.parts:
            own = leaves[start : start + n]
            found.append(own[0] if structure is None else unflatten(structure, own))
            start += n
        return found

    def needs(self) -> tuple[bool, ...]:
        """Return, for each argument, True where the level differentiates with respect to it."""
        own = {self.argument(i) for i in self.own}
        return tuple([k in own for k in range(self.n)])

    # ---- the function ----

    def apply(self, leaves: list) -> tuple[list, Result]:
        """Return the result of the call; see NOTE [a context for each level]."""
        leaves, level = level_among(leaves, self.name)
        if level is not None and level.batches:
            self.randomness = level.randomness
        return apply(self, leaves)

    def run(self, leaves: list) -> tuple[list, Result]:
        spec = self.spec
        tensors = [x for x in leaves if isinstance(x, Tensor) and x.level.depth]
        batched = next((x for x in tensors if x.level.batches), None)
        if not tensors and not spec.combined:
            outs, form, args, output = self.forward(leaves, None, self.contexts > 0)
            if not self.contexts and spec.setup is not None:
                empty = Context(self.name, (False,) * self.n)
                call_rule(self.name, "setup_context", SETUP, spec.setup, empty, tuple(args), output)
                form = self.mark(empty, form, args, outs)
            return outs, form
        if batched is not None:
            self.check_batch()
        ctx: Any = Context(self.name, (False,) * self.n) if spec.combined else None
        try:
            outs, form, args, _ = self.forward(leaves, ctx, False)
        except Exception as error:
            known = isinstance(error, NoRuleError)  # its message has a remedy
            if batched is None or known or not self.foreign(error, tensors):
                raise
            raise NoRuleError(
                f"{self.name} does not have vmap support: forward was run on tensors of "
                f"{batched.level}, for the whole batch at once, but takes plain arrays only "
                f"({reason(error)}); write the static method vmap(info, in_dims, *args) of a "
                f"Function, or register_vmap of a custom operation"
            ) from error
        return outs, form if ctx is None else self.mark(ctx, form, args, outs)

    def check_batch(self) -> None:
        """Raise an error where the function cannot run on the tensors of a batch."""
        if self.spec.generate is False:
            raise NoRuleError(
                f"{self.name} does not have vmap support: generate_vmap_rule is False, and the "
                f"static method vmap(info, in_dims, *args) is missing; write this method, or set "
                f"generate_vmap_rule=True if all its methods are NumPy code"
            )
        if self.spec.dirty:
            raise MutationError(
                f"{self.name} does not have vmap support: it changes an input in place "
                f"(mark_dirty), and tensors of a batch cannot be written to; write the static "
                f"method vmap(info, in_dims, *args), or compute a new array in forward",
                named=True,
            )

    def foreign(self, error: Exception, tensors: list) -> bool:
        """Return True where an error means that a function cannot take tensors."""
        classes = {cls for x in tensors for cls in type(x).__mro__[:-1]}
        names = {text for cls in classes for text in (repr(cls), f"{cls.__name__}'")}
        return is_refusal(error) or any([name in str(error) for name in names])

    def forward(
        self, leaves: list, ctx: Context | None, guarded: bool
    ) -> tuple[list, Result, list, Any]:
        """Run `forward`; return the outputs, their form, the arguments, and the bare result.

        With `guarded`, the arrays belong to the caller and must not change: `forward` gets
        copies if it marks inputs as dirty, and otherwise arrays that are read-only.
        """
        given = leaves
        if guarded:
            given = [self.guard(x) if type(x) is ndarray else x for x in leaves]
        args = self.args(given)
        try:
            if ctx is None:
                out = self.computing(leaves)(*args)
            else:
                expected = (
                    "forward(ctx, *args), or forward(*args) beside the static method "
                    "setup_context(ctx, inputs, output)"
                )
                out = call_rule(self.name, "forward", expected, self.spec.forward, ctx, *args)
        except ValueError as error:
            if guarded and "read-only" in str(error):
                raise MutationError(
                    f"{self.name}: forward has changed an input in place, which would change the "
                    f"caller's array; compute a new array, or call ctx.mark_dirty(x) in "
                    f"forward or setup_context, and return x",
                    named=True,
                ) from error
            raise
        if isinstance(out, tuple):
            outs, kind = list(out), type(out)
        elif isinstance(out, (list, dict)) or out is None:
            raise TypeError(
                f"{self.name}: forward returned a {type(out).__name__}; return an array, or a "
                f"tuple of arrays"
            )
        else:
            outs, kind = [out], None
        same = {}
        for j, x in enumerate(outs):
            if type(x) is ndarray or isinstance(x, Tensor):
                for i, y in enumerate(given):
                    if x is y:
                        same[j] = i
                        if not self.spec.dirty:
                            outs[j] = leaves[i]  # without the guard
        return outs, Result(kind, same), args, out

    def computing(self, leaves: list) -> Callable:
        """Return the function, or the call of it as a whole at a level that records programs."""
        whole, level = self.spec.whole, self.spec.whole and recorder_of(leaves)
        return self.spec.forward if level is None else lambda *args: level.whole(whole, args)

    def guard(self, x: np.ndarray) -> np.ndarray:
        if self.spec.dirty:
            return x.copy()
        x = x.view()
        x.flags.writeable = False
        return x

    # ---- contexts ----

    def context(self, leaves: list, setup: Callable | None) -> tuple[list, Result, Context]:
        """Return the outputs, their form, and the context of a level that differentiates."""
        ctx = Context(self.name, self.needs())
        if self.spec.combined:
            is_plain = not any(isinstance(x, Tensor) and x.level.depth for x in leaves)
            try:
                outs, form, args, _ = self.forward(leaves, ctx, True)
            except Exception as error:
                if is_plain or not is_refusal(error):
                    raise
                raise NoRuleError(
                    f"{self.name}: forward(ctx, ...) was called with tensors of the levels around, "
                    f"but takes plain arrays only ({reason(error)}); write forward without ctx, "
                    f"and the static method setup_context(ctx, inputs, output)"
                ) from error
            return outs, self.mark(ctx, form, args, outs), ctx
        self.contexts += 1
        try:
            outs, form = self.apply(leaves)
        finally:
            self.contexts -= 1
        args = list(self.args(leaves))
        if self.spec.dirty:
            for j, i in form.same.items():
                args[self.argument(i)] = outs[j]
        if setup is not None:
            call_rule(self.name, "setup_context", SETUP, setup, ctx, tuple(args), form.build(outs))
        return outs, self.mark(ctx, form, args, outs), ctx

    def argument(self, leaf: int) -> int:
        """Return the position of the argument that contains a leaf."""
        if self.parts is None:
            return leaf
        return [k for k, (n, _) in enumerate(self.parts) for _ in range(n)][leaf]

    def mark(self, ctx: Context, form: Result, args: list, outs: list) -> Result:
        """Return the form of the outputs with the marks of the context, checked."""
        constant = frozenset(
            j for x in ctx._constant for j, y in enumerate(outs) if x is y and is_value(x)
        )
        if len(constant) < len({id(x) for x in ctx._constant}):
            raise ValueError(
                f"{self.name}: mark_non_differentiable was called with an object that is not an "
                f"output; pass the objects that forward returns"
            )
        dirty = []
        for x in ctx._dirty:
            found = [i for i, y in enumerate(args) if x is y]
            if not found:
                raise ValueError(
                    f"{self.name}: mark_dirty was called with an object that is not an input; pass "
                    f"the arguments that forward has changed"
                )
            places = [j for j, i in form.same.items() if self.argument(i) == found[0]]
            if not places:
                raise MutationError(
                    f"{self.name}: some inputs that were marked dirty were not returned; the "
                    f"inputs that forward changes in place must all be outputs: return x itself",
                    named=True,
                )
            dirty.append((places[0], found[0]))
        if form.same and not self.spec.combined:
            for x in (*(ctx._saved or ()), *(ctx._for_forward or ())):
                for j, i in form.same.items():
                    n = self.argument(i)
                    if (x is outs[j] or x is args[n]) and (j, n) not in dirty:
                        raise ValueError(
                            f"{self.name}: An input that has been returned as-is is being saved, "
                            f"so it is not clear if the input or the output is meant; return a "
                            f"view, x[...], or write forward(ctx, ...) without setup_context"
                        )
        return form._replace(constant=constant, dirty=tuple(dirty))

    # ---- reverse mode ----

    def fwd(self, leaves: list) -> tuple[list, Result, list, BackwardInfo]:
        outs, form, ctx = self.context(leaves, self.spec.setup)
        saved = list(ctx._saved or ())
        n = len(saved)
        attributes = save_attributes(vars(ctx), saved)
        inputs = [form_of(x) if is_value(x) else OPAQUE for x in leaves]
        forms = [(shape_of(x), dtype_of(x)) if is_value(x) else None for x in outs]
        info = BackwardInfo(n, attributes, ctx.needs_input_grad, ctx._materialize, inputs, forms)
        return outs, form, saved, info

    def bwd(self, saved: list, info: BackwardInfo, cotangents: list) -> list:
        backward = self.spec.backward
        if backward is None:
            raise NoRuleError(
                f"{self.name} has no derivative for reverse mode: it must implement either the "
                f"backward or vjp method, backward(ctx, *grad_outputs){self.where()}"
            )
        ctx = Context(self.name, info.needs)
        ctx._phase, ctx._saved, ctx._materialize = "backward", tuple(saved[: info.n_saved]), False
        ctx._residuals = info.attributes, saved
        vars(ctx).update(restore_attributes(info.attributes, saved))
        given = [
            np.zeros(*form)[()] if g is None and form is not None and info.materialize else g
            for g, form in zip(cotangents, info.outputs)
        ]
        given = [_guard(g) if type(g) is ndarray else g for g in given]
        try:
            expected = "backward(ctx, *grad_outputs)"
            result = call_rule(self.name, "backward", expected, backward, ctx, *given)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise MutationError(
                f"{self.name}: backward has written to a gradient that it was given, which other "
                f"rules read too; write grad = grad * c instead of grad *= c",
                named=True,
            ) from error
        ctx._saved = None
        return self.gradients(result, info)

    def gradients(self, result: Any, info: BackwardInfo) -> list:
        """Return the cotangent of each leaf from the result of `backward`, checked."""
        grads = list(result) if isinstance(result, (tuple, list)) else [result]
        if self.spec.nested and self.n == 1 and isinstance(result, list):
            grads = [result]
        n = self.n
        if len(grads) < n or any(g is not None for g in grads[n:]):
            raise RuntimeError(
                f"{self.name}: backward returned an incorrect number of gradients (expected {n}, "
                f"got {len(grads)}); return one for each argument of forward, None where there is "
                f"none"
            )
        found: list = []
        for k, g in enumerate(grads[:n]):
            m, structure = (1, None) if self.parts is None else self.parts[k]
            forms = info.inputs[len(found) : len(found) + m]
            if structure is None:
                found.append(self.gradient(g, forms[0], k))
            elif g is None or not self.spec.nested:
                found += [self.gradient(g, OPAQUE, k)] * m
            else:
                like = [np.broadcast_to(0.0, f[0]) if isinstance(f, tuple) else 0 for f in forms]
                parts = leaves_or_none(g, structure, m, lambda: unflatten(structure, like))
                if parts is None:
                    raise TypeError(
                        f"{self.name}: the gradient of argument {k} that backward returned is "
                        f"{describe(g)}, but a tree of the structure of the argument was expected, "
                        f"or None"
                    )
                found += [self.gradient(c, form, k) for c, form in zip(parts, forms)]
        return found

    def gradient(self, g: Any, form: Any, k: int) -> Any:
        if g is None:
            return None
        if form is OPAQUE:
            raise TypeError(
                f"{self.name}: backward returned a gradient different from None at position {k}, "
                f"but this argument of forward is not an array; return None there"
            )
        return None if form is None else self.fit(g, form[0], form[1], k)  # integers have none

    def fit(self, g: Any, shape: tuple, dtype: np.dtype, k: int) -> Any:
        """Return `g` cast to a dtype, and summed over the axes that broadcasting has added."""
        own = shape_of(g) if is_value(g) else None
        if own is not None:
            what = partial("the gradient of argument {} that backward returned".format, k)
            g = cast_from_rule(self.name, what, g, dtype)
        if own == shape:
            return g
        if own is not None and len(own) >= len(shape):
            ends = own[len(own) - len(shape) :]
            if all(m in (n, 1) for m, n in zip(shape, ends)):
                return fit(g, shape, dtype)
        got = f"an array of shape {own}" if is_value(g) else f"a {type(g).__name__}"
        raise ValueError(
            f"{self.name}: backward returned an invalid gradient at position {k}: got {got}, but "
            f"one of shape {shape} was expected, or one that broadcasting makes of it"
        )

    # ---- forward mode ----

    def jvp(self, leaves: list, tangents: list) -> tuple[list, Result, list]:
        jvp, spec = self.spec.jvp, self.spec
        assert jvp is not None
        outs, form, ctx = self.context(leaves, spec.setup_jvp or spec.setup)
        ctx._phase = "jvp"
        given = [
            None if not is_value(x) else zeros(x) if t is None and ctx._materialize else t
            for t, x in zip(tangents, leaves)
        ]
        given = [self.guard(t) if type(t) is ndarray else t for t in given]
        args = self.args(given)
        if self.parts is not None and not spec.nested:
            args = [a if s is None else None for a, (_, s) in zip(args, self.parts)]
        try:
            result = call_rule(self.name, "jvp", "jvp(ctx, *tangents)", jvp, ctx, *args)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise MutationError(
                f"{self.name}: jvp has written to a tangent that it was given; write t = t * c "
                f"instead of t *= c, or mark the input dirty if forward changes it in place",
                named=True,
            ) from error
        tangents_out = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(tangents_out) != len(outs):
            raise RuntimeError(
                f"{self.name}: jvp returned an incorrect number of tangents (expected {len(outs)}, "
                f"got {len(tangents_out)}); return one for each output, None for zero"
            )
        found = []
        for j, (t, y) in enumerate(zip(tangents_out, outs)):
            own = form_of(y)
            if t is not None and own is not None:
                if not is_value(t) or shape_of(t) != own[0]:
                    got = f"shape {shape_of(t)}" if is_value(t) else f"type {type(t).__name__}"
                    raise ValueError(
                        f"{self.name}: jvp returned an invalid tangent for output {j}: got {got}, "
                        f"but an array of the shape of the output, {own[0]}, was expected, or None"
                    )
                what = partial("the tangent of output {} that jvp returned".format, j)
                t = cast_from_rule(self.name, what, t, own[1])
            found.append(None if own is None else t)
        return outs, form, found

    # ---- batches ----

    def vmap(self, size: int, leaves: list, dims: list) -> tuple[list, Result, list]:
        rule = self.spec.vmap
        assert rule is not None
        info = VmapInfo(size, self.randomness)
        result = call_rule(
            self.name, "the vmap rule", "vmap(info, in_dims, *args)", rule,
            info, tuple(self.args(dims)), *self.args(leaves),
        )  # fmt: skip
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"{self.name}: the vmap rule is expected to have two returns, output and out_dims; "
                f"got {describe(result) if isinstance(result, tuple) else type(result).__name__}"
            )
        out, out_dims = result
        several = isinstance(out, tuple)
        outs = list(out) if several else [out]
        fits = not isinstance(out_dims, (tuple, list)) or (several and len(out_dims) == len(outs))
        dims_out = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outs)
        if fits:
            for i, (x, d) in enumerate(zip(outs, dims_out)):
                if d is None or not is_value(x):
                    dims_out[i] = None
                    continue
                n = len(shape_of(x))
                if isinstance(d, bool) or not isinstance(d, int) or not -n <= d < n:
                    fits = False
                elif shape_of(x)[d] != size:
                    raise ValueError(
                        f"{self.name}: the vmap rule returned an output of shape {shape_of(x)} and "
                        f"out_dims={d} for it, but the batch is of size {size}"
                    )
                else:
                    outs[i], dims_out[i] = np.moveaxis(x, d, 0) if d else x, 0
        if not fits:
            raise RuntimeError(
                f"{self.name}: the vmap rule returned an incompatible (output, out_dims): "
                f"out_dims={out_dims!r} for {describe(out)}; give the batch axis of each output, "
                f"or None"
            )
        return outs, Result(type(out) if several else None, {}), dims_out


def _guard(g: np.ndarray) -> np.ndarray:
    g = g.view()
    g.flags.writeable = False
    return g
