"""Functions that have rules of their own, applied at one level after the other.

NOTE [one level at a time]
    `apply` finds the innermost level among the leaves. A rule for that level runs one
    level down: it gets the leaves' values there, and what is ambient is the level around,
    so that the levels around differentiate and batch the rule as ordinary code, and a rule
    that calls its own function comes back here. Where there is no level any more, the
    function itself runs.

A value that a rule got from elsewhere than its arguments cannot be of the level that is
handled, since nobody would account for its derivative: `_checked` refuses it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.border import OBJECT, check_leaf, check_objects
from .._core.errors import ConversionError, LevelError, MutationError, NoRuleError, UnsupportedError
from .._core.numpy_facts import PLAIN, dtype_of, shape_of
from .._core.pytree import is_value
from .._core.tensor import Tensor
from .._levels.backward import backward
from .._levels.cotangents import zeros
from .._levels.jvp import fit_tangent
from .._levels.life import within
from .._levels.memory import separate_from_holders
from .._levels.tape import Roots, join_edges
from .rules import Batched, Pulled, Pushed, Rules, inexact, tape_of

ndarray = np.ndarray


def apply(rules: Rules, leaves: list) -> tuple[list, Any]:
    """The result of a function with rules; see NOTE [one level at a time]."""
    leaves, level = level_among(leaves, rules.name)
    if level is None:
        return rules.run(leaves)
    if level.batches:
        return _at_batch(rules, level, leaves)
    if level.differentiates == "reverse":
        return _at_grad(rules, level, leaves)
    if level.differentiates == "forward":
        return _at_jvp(rules, level, leaves)
    return rules.run(leaves)  # it sees what the function does


def level_among(leaves: list, name: str) -> tuple[list, Any]:
    """The leaves, without levels that let pass, and the innermost level among them.

    `name` is the function that they are arguments of.
    """
    found: Any = None
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


def one_level_out(level: Any, call: Callable, *args: Any) -> Any:
    """The result of a call for which the level around `level` is the innermost one."""
    return within(level.cls.__base__, call, *args)


def _checked(level: Any, rules: Rules, what: str, leaves: list) -> None:
    """Raise where a result one level down is a tensor of `level`, or of one inside."""
    for x in leaves:
        if isinstance(x, level.cls):
            inner = x.level
            raise level.refusal(
                LevelError,
                f"{what} of {rules.name} gave a tensor of {inner}, which none of its arguments "
                f"is there: the function closes over it, and its derivative would be lost; "
                f"pass the value to {rules.name} as an argument",
            )
        check_objects(level, lambda: f"a value that {what} of {rules.name} gave", x)


def _numbers(level: Any, rules: Rules, outs: list) -> None:
    """Raise where a result, of which `level` takes derivatives, is not an array of numbers."""
    for x in outs:
        if type(x) is not ndarray or x.dtype is OBJECT:
            check_leaf(level, f"a result of {rules.name}", x)
            if hasattr(x, "__array__") and not is_value(x):
                raise TypeError(
                    f"{level}: a result of {rules.name} is a {type(x).__name__}, which NumPy would "
                    f"make a constant of; return an array, numpy.asarray(y)"
                )
            if is_value(x) and dtype_of(x).kind == "O":
                raise level.refusal(
                    ConversionError,
                    f"a result of {rules.name} has dtype object, which has no derivative; return "
                    f"an array of numbers, y.astype(float)",
                )


def _own(rules: Rules, level: Any, leaves: list) -> list[int]:
    """The positions of the tensors of `level`, by which it differentiates."""
    own = [i for i, x in enumerate(leaves) if type(x) is level.cls]
    for i in own:
        if i in rules.fixed:
            raise level.refusal(
                LevelError,
                f"a tensor of this level was passed to {rules.name} in a place that is not "
                f"differentiated (nondiff_argnums); take the argument out of nondiff_argnums, "
                f"or pass functier.stop_gradient(x)",
            )
    return own


# ---- reverse mode ----


def _at_grad(rules: Rules, level: Any, leaves: list) -> tuple[list, Any]:
    own = _own(rules, level, leaves)
    rules.note(own, False)
    values = [level.lower(x) for x in leaves]
    pull: Callable[..., Any]
    kept: Sequence
    if rules.has_vjp:
        outs, form, saved, how = one_level_out(level, rules.fwd, values)
        _checked(level, rules, "the forward rule", [*outs, *saved])
        places = rules.moving(outs, form)
        pull, kept = _by_rule(rules, level, own, places, len(outs)), (saved, how)
    elif rules.has_jvp:
        outs, form, pull, *kept = _transpose(rules, level, values, own)
        _checked(level, rules, "the jvp rule", outs)
        places = rules.moving(outs, form)
    elif not _at_level(values, "batches"):
        return rules.run(leaves)
    else:
        outs, form = one_level_out(level, apply, rules, values)
        _checked(level, rules, "the batching rule", outs)
        places = inexact(outs)
        pull, kept = _recompute(rules, own, places), (values,)
    _numbers(level, rules, outs)
    nodes = join_edges([leaves[i]._extra for i in own], pull, len(places), tuple(kept))
    for place, node in zip(places, nodes):
        y = object.__new__(level.cls)
        y._value, y._extra = outs[place], node
        outs[place] = y
    return outs, form


def _by_rule(rules: Rules, level: Any, own: list, places: list, n: int) -> Callable[..., list]:
    made = level.made  # which tells this entry from later ones of a recycled level

    def pull(given: tuple, saved: list, how: Any) -> list:
        cotangents: list = [None] * n
        for place, g in zip(places, given):
            cotangents[place] = g
        grads = rules.bwd(saved, how, cotangents)
        here = level.cls.level  # live again, where a checkpoint runs
        if here.made is made and here.live:
            _checked(here, rules, "the backward rule", grads)
        mine = [grads[i] for i in own]
        del grads  # which would count as somebody who holds the arrays
        return separate_from_holders(mine, saved)

    return pull


def _transpose(rules: Rules, level: Any, values: list, own: list) -> tuple:
    """The result by the jvp rule, its form, and the transpose of its tangents, with the nodes
    that it needs.

    The tangents are the only tensors of a level of their own, whose tape the cotangents
    take; the rule is linear in them, so it does not matter where: at zero.
    """
    found: list = []

    def linear(tangents: list) -> list:
        given: list = [None] * len(values)
        for i, t in zip(own, tangents):
            given[i] = t
        outs, form, results = rules.jvp(values, given)
        if any(isinstance(y, type(t)) for t in tangents for y in outs):
            raise LevelError(
                f"{level}: the jvp rule of {rules.name} gave a result that depends on a "
                f"tangent; return (out, tangent_out), where out depends on the primals only"
            )
        moving = [i for i in rules.moving(outs, form) if results[i] is not None]
        found.extend((outs, form, moving))
        return [results[i] for i in moving]

    starts = [zeros(values[i]) for i in own]
    label = f"jvp({rules.name})"
    # Nested in the level, which gives the class back that is used again the next time.
    results, roots, inputs = within(level.cls, tape_of, label, linear, starts, values)
    _checked(level, rules, "the jvp rule", results)
    outs, form, moving = found
    live = rules.moving(outs, form)

    def pull(given: tuple, roots: Roots) -> list:
        cotangents = dict(zip(live, given))
        pairs = [
            (node, cotangents[i])
            for i, node in zip(moving, roots)
            if node is not None and cotangents[i] is not None
        ]
        return backward(pairs, inputs)

    return outs, form, pull, Roots(roots)


# ---- forward mode ----


def _at_jvp(rules: Rules, level: Any, leaves: list) -> tuple[list, Any]:
    own = _own(rules, level, leaves)
    rules.note(own, True)
    values = [level.lower(x) for x in leaves]
    tangents: list = [None] * len(leaves)
    for i in own:
        tangents[i] = leaves[i]._extra
    if rules.has_jvp:
        outs, form, moved = one_level_out(level, rules.jvp, values, tangents)
    elif rules.has_vjp:
        outs, form, moved = _transposed_bwd(rules, level, values, tangents)
    elif not _at_level([*values, *tangents], "batches"):
        return rules.run(leaves)
    else:
        outs, form, moved = one_level_out(level, _push, rules, values, tangents)
    _checked(level, rules, "the rule", [*outs, *moved])
    _numbers(level, rules, outs)
    for i in rules.moving(outs, form):
        if moved[i] is not None:
            outs[i] = level.pair(outs[i], fit_tangent(moved[i], outs[i]))
    return outs, form


def _transposed_bwd(
    rules: Rules, level: Any, values: list, tangents: list
) -> tuple[list, Any, list]:
    """The result, and its tangents by the transpose of the backward rule.

    That is linear in the cotangents, so the tape of what it does at zero is its transpose.
    """
    outs, form, saved, how = one_level_out(level, rules.fwd, values)
    _checked(level, rules, "the forward rule", saved)
    places = rules.moving(outs, form)
    moving: list[int] = []

    def linear(starts: list) -> list:
        cotangents: list = [None] * len(outs)
        for i, g in zip(places, starts):
            cotangents[i] = g
        grads = rules.bwd(saved, how, cotangents)
        moving.extend(i for i, t in enumerate(tangents) if t is not None and grads[i] is not None)
        return [grads[i] for i in moving]

    starts = [zeros(outs[i]) for i in places]
    try:
        label, given = f"bwd({rules.name})", [*values, *tangents]
        results, roots, inputs = within(level.cls, tape_of, label, linear, starts, given)
    except Exception as error:
        if not is_refusal(error):
            raise
        raise NoRuleError(
            f"{level}: {rules.name} has no jvp rule, and its backward rule, written in something "
            f"else than NumPy functions with rules, cannot be transposed for forward mode: "
            f"{reason(error)}; {rules.remedy}"
        ) from error
    _checked(level, rules, "the backward rule", results)
    pairs = [(node, tangents[i]) for i, node in zip(moving, roots) if node is not None]
    moved: list = [None] * len(outs)
    for i, t in zip(places, backward(pairs, inputs)):
        moved[i] = t
    return outs, form, moved


def is_refusal(error: BaseException | None) -> bool:
    """Whether an error, or what NumPy made it of, says that functier cannot see through."""
    kinds = ConversionError, MutationError, NoRuleError, UnsupportedError
    while error is not None and not isinstance(error, kinds):
        error = error.__cause__ or error.__context__
    return error is not None


def reason(error: BaseException) -> str:
    """What an error says, without the level it is about and without a remedy."""
    return str(error).partition("; ")[0].rpartition("): ")[2]


# ---- batches ----


def _at_batch(rules: Rules, level: Any, leaves: list) -> tuple[list, Any]:
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
        _checked(level, rules, "the batching rule", outs)
    elif _at_level(values, "differentiates"):
        outs, (form, out_dims) = one_level_out(level, apply, Batched(rules, level, dims), values)
        _checked(level, rules, "a rule", outs)
    else:
        return rules.run(leaves)
    return level.insert(outs, out_dims, f"the result of {rules.name}"), form


def _at_level(values: list, fact: str) -> bool:
    """Whether one of the values is, at any depth, a tensor of a level that states the fact."""
    for x in values:
        while isinstance(x, Tensor):
            if getattr(x.level, fact):
                return True
            x = x._value
    return False


# ---- functions with a batching rule alone ----


def _recompute(rules: Rules, own: list, places: list) -> Callable:
    def pull(given: tuple, values: list) -> list:
        used = [(i, g) for i, g in zip(places, given) if g is not None]
        pullback = Pulled(rules, len(values), own, [i for i, _ in used])
        return apply(pullback, [*values, *[g for _, g in used]])[0]

    return pull


def _push(rules: Rules, values: list, tangents: list) -> tuple[list, Any, list]:
    own = [i for i, t in enumerate(tangents) if t is not None]
    leaves = [*values, *[tangents[i] for i in own]]
    results, (form, places) = apply(Pushed(rules, len(values), own, []), leaves)
    outs = results[: len(results) - len(places)]
    moved: list = [None] * len(outs)
    for i, t in zip(places, results[len(outs) :]):
        moved[i] = t
    return outs, form, moved
