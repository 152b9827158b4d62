"""Application of custom rules, at one level after the other.

NOTE [one level at a time]
    `apply` finds the innermost level among the leaves. A rule for that level runs one level
    further out: it gets the values of the leaves there, and the level around is ambient. So
    the levels around differentiate and batch the rule like ordinary code, and a rule that
    calls its own function comes back here. Once no level is left, the function itself runs.

A rule may not close over a tensor of the level that it handles, since the derivative with
respect to this tensor would be lost: `_check_results` refuses it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from .._core.border import OBJECT, check_leaf, check_objects, is_convertible
from .._core.errors import ConversionError, LevelError, MutationError, NoRuleError, UnsupportedError
from .._core.numpy_facts import PLAIN, dtype_of, shape_of
from .._core.pytree import is_value
from .._core.tensor import Tensor
from .._levels.backward import backward
from .._levels.batch import BatchLevel
from .._levels.cotangents import zeros
from .._levels.jvp import JvpLevel, fit_tangent
from .._levels.kept import join_edges
from .._levels.level import Level
from .._levels.lineage import inward
from .._levels.memory import separate_from_holders
from .._levels.runs import within
from .._levels.tape import Roots
from .rules import BatchedRules, JvpRules, Rules, VjpRules, inexact, placed, tape_of

T = TypeVar("T")

ndarray = np.ndarray


def apply(rules: Rules, leaves: list) -> tuple[list, Any]:
    """Return the leaves of the result, and its form; see NOTE [one level at a time]."""
    leaves, level = level_among(leaves, rules.name)
    if level is None:
        return rules.run(leaves)
    if level.batches:
        return _at_batch(rules, level, leaves)
    if level.differentiates == "reverse":
        return _at_grad(rules, level, leaves)
    if level.differentiates == "forward":
        return _at_jvp(rules, level, leaves)
    if level.differentiates == "series":
        return _at_series(rules, level, leaves)
    return followed(rules.run, leaves)  # the level sees the calls in the function


def level_among(leaves: list, name: str) -> tuple[list, Any]:
    """Return the leaves without levels that have ended, and the innermost level among them.

    `name` is that of the function whose arguments they are, for messages.
    """
    found: Any = None  # the level
    for i, x in enumerate(leaves):
        cls = type(x)
        if cls in PLAIN or not issubclass(cls, Tensor) or not cls.level.depth:
            if cls is ndarray and x.dtype is OBJECT:
                check_objects(name, "an argument", x)
            continue
        while isinstance(x, Tensor) and x.level.depth and not x.level.live:
            x = x.level.release(x, x.level)
            leaves = [*leaves[:i], x, *leaves[i + 1 :]]
        if isinstance(x, Tensor) and x.level.depth > (found.depth if found else 0):
            found = x.level
    return leaves, found


def one_level_out(level: Level, call: Callable[..., T], *args: Any) -> T:
    """Return the result of a call for which the level around `level` is ambient."""
    return within(level.cls.__base__, followed, call, *args)


def followed(call: Callable[..., T], *args: Any) -> T:
    """Return the result of a call of lists; a level that records programs may make it one step."""
    by_user = getattr(getattr(call, "__self__", None), "by_user", True)
    for part in args if by_user else ():
        level = recorder_of(part) if type(part) is list else None
        if level is not None:
            return level.follow(call, *args)
    return call(*args)


def recorder_of(leaves: list) -> Any:
    """Return the level of a leaf that records a program, or None."""
    for x in leaves:
        if isinstance(x, Tensor) and x.level.guards and x.level.live:
            return x.level
    return None


def _check_results(level: Level, rules: Rules, rule: str, leaves: list) -> None:
    """Raise an error where a rule returned a tensor of `level`, or of a level inside it."""
    for x in leaves:
        if isinstance(x, level.cls):
            inner = x.level
            raise level.refusal(
                LevelError,
                f"{rule} of {rules.name} returned a tensor of {inner}, but its arguments are "
                f"values outside this level: it closes over the tensor, and the derivative would "
                f"be lost; pass the value to {rules.name} as an argument",
            )
        check_objects(level, lambda: f"a value that {rule} of {rules.name} returned", x)


def _check_numbers(level: Level, rules: Rules, outs: list) -> None:
    """Raise an error where a result that `level` differentiates is not an array of numbers."""
    for x in outs:
        if type(x) is not ndarray or x.dtype is OBJECT:
            check_leaf(level, f"a result of {rules.name}", x)
            # A tensor first: a class that `Sequence` is asked about is not used again.
            if not is_value(x) and is_convertible(x) and not isinstance(x, (str, bytes)):
                raise TypeError(
                    f"{level}: a result of {rules.name} is a {type(x).__name__}, which would "
                    f"become a constant; return an array, numpy.asarray(y)"
                )
            if is_value(x) and dtype_of(x).kind == "O":
                raise level.refusal(
                    ConversionError,
                    f"a result of {rules.name} has dtype object, which has no derivative; return "
                    f"an array of numbers, y.astype(float)",
                )


def _own(rules: Rules, level: Level, leaves: list) -> list[int]:
    """Return the positions of the tensors of `level`, by which it differentiates."""
    own = [i for i, x in enumerate(leaves) if type(x) is level.cls]
    for i in own:
        if i in rules.fixed:
            raise level.refusal(
                LevelError,
                f"a tensor of this level was passed to {rules.name} as an argument that is not "
                f"differentiated (nondiff_argnums); take the argument out of nondiff_argnums, "
                f"or pass functier.stop_gradient(x)",
            )
    return own


# ---- reverse mode ----


def _at_grad(rules: Rules, level: Level, leaves: list) -> tuple[list, Any]:
    own = _own(rules, level, leaves)
    rules.note(own, False)
    values = [level.lower(x) for x in leaves]
    pull: Callable[..., Any]
    kept: Sequence
    if rules.has_vjp:
        outs, form, saved, info = one_level_out(level, rules.fwd, values)
        _check_results(level, rules, "the forward rule", [*outs, *saved])
        places = rules.differentiable(outs, form)
        pull, kept = _pull_by_bwd(rules, level, own, places, len(outs)), (saved, info)
    elif rules.has_jvp:
        outs, form, pull, *kept = _pull_by_jvp(rules, level, values, own)
        _check_results(level, rules, "the jvp rule", outs)
        places = rules.differentiable(outs, form)
    elif not _has_level(values, "batches"):
        return rules.run(leaves)
    else:
        outs, form = one_level_out(level, apply, rules, values)
        _check_results(level, rules, "the batching rule", outs)
        places = inexact(outs)
        pull, kept = _pull_by_vmap(rules, own, places), (values,)
    _check_numbers(level, rules, outs)
    parents = [leaves[i].parts()[1] for i in own]
    nodes = join_edges(parents, pull, len(places), tuple(kept), level, rules.name)
    for place, node in zip(places, nodes):
        outs[place] = level.cls.join(outs[place], node)
    return outs, form


def _pull_by_bwd(
    rules: Rules, level: Level, own: list, places: list, n: int
) -> Callable[..., list]:
    made = level.made  # distinguishes this use of a recycled level from later ones

    def pull(given: tuple, saved: list, info: Any) -> list:
        grads = followed(rules.bwd, saved, info, placed(n, places, given))
        here = level.cls.level  # runs again inside a checkpoint
        if here.made is made and here.live:
            _check_results(here, rules, "the backward rule", grads)
        results = [grads[i] for i in own]
        del grads  # the list would count as a holder of the arrays
        return separate_from_holders(results, saved)

    return pull


def _pull_by_jvp(rules: Rules, level: Level, values: list, own: list) -> tuple:
    """Return the result by the jvp rule, its form, and a rule for reverse mode with its nodes.

    The jvp rule runs at a separate level, with the tangents as the only tensors of this level.
    Its tape is the transpose. The rule is linear in the tangents, so they can be zero.
    """
    found: list = []

    def linear(tangents: list) -> list:
        outs, form, results = rules.jvp(values, placed(len(values), own, tangents))
        if any(isinstance(y, type(t)) for t in tangents for y in outs):
            raise LevelError(
                f"{level}: the jvp rule of {rules.name} returned a result that depends on a "
                f"tangent; return (out, tangent_out), where out depends on the primals only"
            )
        places = [i for i in rules.differentiable(outs, form) if results[i] is not None]
        found.extend((outs, form, places))
        return [results[i] for i in places]

    starts = [zeros(values[i]) for i in own]
    label = f"jvp({rules.name})"
    # Nested in the level, which keeps the class of the separate level for the next call.
    results, roots, inputs = within(level.cls, tape_of, label, linear, starts, values)
    _check_results(level, rules, "the jvp rule", results)
    outs, form, places = found
    live = rules.differentiable(outs, form)

    def pull(given: tuple, roots: Roots) -> list:
        cotangents = dict(zip(live, given))
        pairs = [
            (node, cotangents[i])
            for i, node in zip(places, roots)
            if node is not None and cotangents[i] is not None
        ]
        return backward(pairs, inputs)

    return outs, form, pull, Roots(roots)


# ---- forward mode ----


def _at_jvp(rules: Rules, level: JvpLevel, leaves: list) -> tuple[list, Any]:
    own = _own(rules, level, leaves)
    rules.note(own, True)
    values = [level.lower(x) for x in leaves]
    tangents = placed(len(leaves), own, [leaves[i].parts()[1] for i in own])
    if rules.has_jvp:
        outs, form, tangents_out = one_level_out(level, rules.jvp, values, tangents)
    elif rules.has_vjp:
        outs, form, tangents_out = _push_by_bwd(rules, level, values, tangents)
    elif not _has_level([*values, *tangents], "batches"):
        return rules.run(leaves)
    else:
        outs, form, tangents_out = one_level_out(level, _push_by_vmap, rules, values, tangents)
    _check_results(level, rules, "the rule", [*outs, *tangents_out])
    _check_numbers(level, rules, outs)
    for i in rules.differentiable(outs, form):
        if tangents_out[i] is not None:
            outs[i] = level.pair(outs[i], fit_tangent(tangents_out[i], outs[i]))
    return outs, form


def _at_series(rules: Rules, level: Any, leaves: list) -> tuple[list, Any]:
    """Return the result with the Taylor series whose derivative is that of the rules."""
    own = _own(rules, level, leaves)
    rules.note(own, True)
    outs, form = one_level_out(level, apply, rules, [level.lower(x) for x in leaves])
    _check_results(level, rules, "the rule", outs)
    _check_numbers(level, rules, outs)
    places = rules.differentiable(outs, form)

    def derivative(_: list) -> list:
        tangents = [level.rate(leaves[i]) for i in own]
        once_more = JvpRules(rules, len(leaves), own, places)
        found, _ = once_more.derivative(partial(apply, rules), [*leaves, *tangents])
        moved = dict(zip(inexact(outs), found[len(outs) :]))
        return [moved[i] for i in places]

    made = level.integrate([outs[i] for i in places], derivative, by_user=True)
    for i, y in zip(places, level.close(made)):
        outs[i] = y
    return outs, form


def _push_by_bwd(
    rules: Rules, level: Level, values: list, tangents: list
) -> tuple[list, Any, list]:
    """Return the result, its form, and its tangents by the transpose of the backward rule.

    The rule is linear in the cotangents, so its tape at zero is the transpose.
    """
    outs, form, saved, info = one_level_out(level, rules.fwd, values)
    _check_results(level, rules, "the forward rule", saved)
    places = rules.differentiable(outs, form)
    own: list[int] = []

    def linear(starts: list) -> list:
        grads = rules.bwd(saved, info, placed(len(outs), places, starts))
        own.extend(i for i, t in enumerate(tangents) if t is not None and grads[i] is not None)
        return [grads[i] for i in own]

    starts = [zeros(outs[i]) for i in places]
    try:
        label, given = f"bwd({rules.name})", [*values, *tangents]
        results, roots, inputs = within(level.cls, tape_of, label, linear, starts, given)
    except Exception as error:
        if not is_refusal(error):
            raise
        raise NoRuleError(
            f"{level}: {rules.name} has no jvp rule, and its backward rule cannot be transposed "
            f"for forward mode, because it does not consist of NumPy functions with rules: "
            f"{reason(error)}; {rules.remedy}"
        ) from error
    _check_results(level, rules, "the backward rule", results)
    pairs = [(node, tangents[i]) for i, node in zip(own, roots) if node is not None]
    return outs, form, placed(len(outs), places, backward(pairs, inputs))


def is_refusal(error: BaseException | None) -> bool:
    """Return True where functier, or code that it could not look into, raised an error."""
    kinds = ConversionError, MutationError, NoRuleError, UnsupportedError
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error is not None


def reason(error: BaseException) -> str:
    """Return the message of an error without its level and its remedy."""
    return str(error).partition("; ")[0].rpartition("): ")[2]


# ---- batches ----


def _at_batch(rules: Rules, level: BatchLevel, leaves: list) -> tuple[list, Any]:
    values: list = []
    dims: list = []
    for x in leaves:
        dim = None
        if type(x) is not level.cls:
            x = level.lower(x)
        else:
            x = level.elem(x)
            if shape_of(x)[0] == level.size:
                dim = 0
            else:
                x = x[0]
        values.append(x)
        dims.append(dim)
    if rules.has_vmap:
        outs, form, out_dims = one_level_out(level, rules.vmap, level.size, values, dims)
        _check_results(level, rules, "the batching rule", outs)
    elif _has_level(values, "differentiates"):
        outs, (form, out_dims) = one_level_out(
            level, apply, BatchedRules(rules, level, dims), values
        )
        _check_results(level, rules, "a rule", outs)
    else:
        return rules.run(leaves)
    return level.insert(outs, out_dims, f"the result of {rules.name}"), form


def _has_level(values: list, fact: str) -> bool:
    """Return True where a value is, at any depth, a tensor of a level with the fact."""
    return any(getattr(x.level, fact) for value in values for x in inward(value))


# ---- functions with a batching rule alone ----


def _pull_by_vmap(rules: Rules, own: list, places: list) -> Callable:
    def pull(given: tuple, values: list) -> list:
        used = [(i, g) for i, g in zip(places, given) if g is not None]
        pullback = VjpRules(rules, len(values), own, [i for i, _ in used])
        return apply(pullback, [*values, *[g for _, g in used]])[0]

    return pull


def _push_by_vmap(rules: Rules, values: list, tangents: list) -> tuple[list, Any, list]:
    own = [i for i, t in enumerate(tangents) if t is not None]
    leaves = [*values, *[tangents[i] for i in own]]
    results, (form, places) = apply(JvpRules(rules, len(values), own, []), leaves)
    outs = results[: len(results) - len(places)]
    return outs, form, placed(len(outs), places, results[len(outs) :])
