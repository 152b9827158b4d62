"""Planted faults: what the nets of levels find."""

import sys
from importlib import import_module

import numpy as np

from faults.planted import change
from functier._core import agreement
from functier._core import border as _border
from functier._core import pytree as _pytree
from functier._core import root as _root
from functier._core.sharing import MEMORY
from functier._custom import function_rules as _function_rules
from functier._custom import pytree_rules as _pytree_rules
from functier._levels import batch, fast_calls, lying, norms, views, writes
from functier._levels import checks as _checks
from functier._levels import cotangents as _cotangents
from functier._levels import level as _level
from functier._levels import runs as _life
from functier._levels import spares as _spares
from functier._levels import states as _states
from functier._levels.batch import BatchLevel
from functier._mutation import array, array_level, copies
from functier._programs import compiled, recorder, trace
from functier._rules import accumulation
from functier._rules.elementwise import slope
from functier._rules.linalg import linear_systems as linalg
from functier._rules.linalg import orthogonal
from functier._transforms import arguments, splitting
from functier._transforms import arguments as _arguments
from functier._transforms import hooks as _hooks
from functier._transforms import vjp as _vjp
from functier._transforms import vmap as _vmap
from functier.scipy._rules.linalg import equations
from functier.testing import operations
from support.basics import ours

# ---- nets aliasing ----


tape_that_keeps_the_callers_memory = change(_vjp, "copy_tape", lambda roots: roots)
results_of_vmap_that_are_the_argument = change(_vmap, "own_memory", lambda values, given: values)
cotangents_that_are_the_ones_given = change(_vjp, "own_memory", lambda grads, given=(): grads)
gradients_that_are_what_a_hook_returned = change(
    _hooks, "separate_from_holders", lambda values: values
)


copy_that_is_forgotten_for_what_rules_share = change(
    linalg.Inverse, "owning", lambda self, copy: self
)


# ---- nets arguments ----


level_that_does_not_know_its_arguments = change(
    writes, "check_arguments", lambda level, window: None
)


an_argument_that_takes_writes = change(arguments, "fix_shared", lambda x, leaves: x)


# ---- nets kinks ----


def zero_that_has_a_derivative(monkeypatch, mode):
    rule = getattr(operations()[slope], mode)["x"]
    monkeypatch.setattr(rule, "fn", lambda g, y, *more: g / np.where(np.equal(y, 0), np.inf, y))


def function_of_a_norm_that_counts_as_the_norm(monkeypatch):
    passed = lambda x: type(x._moves) is Later and x._moves.norm is not None  # noqa: E731, F821
    monkeypatch.setattr(norms.is_norm, "__code__", passed.__code__)


def code_of_libraries_that_is_not_known(monkeypatch):
    monkeypatch.setattr(fast_calls, "OWN_CODE", {})
    monkeypatch.setattr(fast_calls, "LIBRARIES", ())


# ---- nets both modes ----


def slices_that_read_beyond_their_end(monkeypatch):
    pull = accumulation._pull_back
    monkeypatch.setattr(accumulation, "_pull_back", lambda *args: pull(*args[:4]))


def numbers_for_a_singular_equation(monkeypatch):
    solve = equations.dispatching(equations.sl.solve_continuous_lyapunov)
    monkeypatch.setattr(equations, "_lyapunov", solve)


# ---- nets branches ----


join_in_another_order = change(
    splitting.np, "argsort", lambda x, *args, **kwargs: np.arange(len(x))
)


def lose_a_group(monkeypatch):
    right = agreement.Varying.groups
    monkeypatch.setattr(agreement.Varying, "groups", lambda self: right(self)[:1])


def let_one_example_answer(monkeypatch):
    def first(x, how):
        values = agreement.examples_of(x)
        return (how(values.reshape(-1)[0]),) if how in (bool, int) else ()

    monkeypatch.setattr("functier._levels.batch.answer", first)


def hash_by_identity(monkeypatch):
    monkeypatch.setattr("functier._levels.conversions.hash_of", lambda level, x: object.__hash__(x))


def forget_a_caught_error(monkeypatch):
    """A group that an ``except`` has taken a wrong way."""
    monkeypatch.setattr(BatchLevel, "check_answered", lambda self: None)
    monkeypatch.setattr(
        BatchLevel, "run_apart", lambda self, x, how, error: (_ for _ in ()).throw(error)
    )


FAULTS = [
    join_in_another_order, lose_a_group, let_one_example_answer, hash_by_identity,
    forget_a_caught_error,
]  # fmt: skip


# ---- nets foreign ----


buffers_that_are_not_converted = change(_root, "is_convertible", lambda x: hasattr(x, "__array__"))
objects_in_object_arrays = change(_border, "code_for_array", lambda x: None)


def labels_that_are_taken_for_arrays(monkeypatch):
    old = _border.unfit
    monkeypatch.setattr(_border, "unfit", lambda x: old(x) if isinstance(x, np.ndarray) else None)


# ---- nets sharing ----


VMAP = import_module("functier._transforms.vmap")  # not the function of this name


ARRAY_OF = array.array_of


PLANTED = {
    "a view of an `Array` is copied": (
        lambda patch: patch.setitem(MEMORY, np.transpose, "fresh"),
        "np.transpose(a)", "made", "vmap",
    ),
    "a method goes past the bookkeeping": (
        lambda patch: patch.setitem(writes.MEANINGS, "reshape", lambda x, *shape: (
            lambda y: np.copy(np.reshape(y, shape)), (x,), {})),
        "a.reshape(a.shape)", "C", "vmap",
    ),
    "a converted array is not tied": (
        lambda patch: patch.setattr(copies, "tie", lambda *given: None),
        "np.asarray(a)", "made", "split",
    ),
    "a view of a plain array does not keep it": (
        lambda patch: patch.setattr(copies, "ref", lambda owner: lambda: None),
        "np.array(a, copy=None, ndmin=3)", "plain", "vmap",
    ),
    "nobody looks whether a copy was written to": (
        lambda patch: patch.setattr(copies.Lent, "__del__", lambda self: None),
        "np.asarray(a)", "one", "split",
    ),
    "a memory that others can write to is not read again": (
        lambda patch: patch.setattr(array_level, "expose", lambda view, dtype: view.window),
        "np.asarray(a)", "plain", "vmap",
    ),
    "a converted array lies in rows": (
        lambda patch: patch.setattr(copies, "laid_as", lambda form, value: value.copy("C")),
        "np.asfortranarray(a)", "F", "split",
    ),
    "a group of examples lies in rows": (
        lambda patch: patch.setattr(VMAP, "take", np.take),
        "np.asfortranarray(a)", "F", "split",
    ),
    "examples of a tensor lie among each other": (
        lambda patch: patch.setattr(batch, "copy_apart", lambda x: x),
        "a.ravel()", "C", "vmap(vmap 1)",
    ),
    "a number is a view of its array": (
        lambda patch: patch.setattr(views, "is_scalar", lambda x: False),
        "t[...]", "C", "vmap",
    ),
    "an operand beside an array is copied": (
        lambda patch: patch.setitem(MEMORY, np.atleast_1d, "view"),
        "np.atleast_1d(a, np.zeros_like(a))[0]", "C", "vmap",
    ),
    "a lost view is forgotten": (
        lambda patch: patch.setattr(views, "as_in_numpy", lambda level, op, x, y, given: y),
        "a[:, [1, 0]]", "C", "vmap",
    ),
    "nobody notes the order of einsum": (
        lambda patch: patch.setattr(lying, "_pairs", lambda *given: []),
        "np.einsum('ij,jk->ki', a, np.eye(a.shape[-1]))", "C", "jvp",
    ),
    "an array of a level around lies in rows": (
        lambda patch: patch.setattr(array, "array_of", lambda data: ARRAY_OF(data.copy("C"))),
        "a.copy('F')", "made", "jvp(inside)",
    ),
    "a lost view of a level around is forgotten": (
        lambda patch: patch.setattr(copies, "note_copy", lambda *given: True),
        "np.lib.stride_tricks.sliding_window_view(a, 2, 1)", "C", "jvp(inside)",
    ),
    "a program calls a function that writes": (
        lambda patch: patch.setattr(recorder, "is_followed", lambda *given: False),
        "np.apply_along_axis(double, 0, a)", "F", "trace",
    ),
}  # fmt: skip


# ---- nets spares ----


def count_of_gone_spares(monkeypatch):
    def give_back(level):
        if level.spare:
            _spares._count_nested(level)
        if sys.getrefcount(level.cls) == level.expected[0]:
            level.home[level.key] = level

    monkeypatch.setattr(_life, "give_back", give_back)


def change_that_goes_unnoticed(monkeypatch, name):
    method = f"__{name[:3]}attr__"
    plain = getattr(type, method)
    monkeypatch.setattr(_spares.LevelType, method, lambda cls, *given: plain(cls, *given))


# ---- nets threads ----


def facts_that_are_not_compared(monkeypatch):
    real = compiled.Guards
    monkeypatch.setattr(compiled, "Guards", ours(lambda facts, *kept: real([], *kept)))


# ---- nets border ----


classes_taken_for_arrays = change(_border, "_of_class", lambda kind: None)


def object_arrays_of_tensors(monkeypatch):
    monkeypatch.setattr(_border, "has_tensors", lambda x, arrays=False: False)
    monkeypatch.setattr(_cotangents, "without_derivative", lambda x: ValueError("no derivative"))


def arrays_of_arrays(monkeypatch):
    old = _border.has_tensors
    monkeypatch.setattr(_border, "has_tensors", lambda x, arrays=False: old(x))


def structured_arrays(monkeypatch):
    old = _border.unfit
    without = lambda x: None if getattr(getattr(x, "dtype", None), "names", None) else old(x)  # noqa: E731
    monkeypatch.setattr(_border, "unfit", without)


def half_a_protocol(monkeypatch):
    old = _border.unfit
    monkeypatch.setattr(_border, "unfit", lambda x: old(x) if isinstance(x, np.ndarray) else None)


def containers_in_themselves(monkeypatch):
    def flatten(tree, *names):
        return _pytree.tree_flatten(tree, namespace=_pytree.NAMESPACE)

    monkeypatch.setattr(_checks, "flatten", flatten)
    monkeypatch.setattr(_arguments, "flatten", flatten)


def the_other_triangle(monkeypatch, name):
    def hermitian(x, upper=False):
        return (x + orthogonal.adjoint(x)) * 0.5

    monkeypatch.setattr(orthogonal, name, hermitian)


# ---- nets zeros ----


def program_that_is_not_traced_again(monkeypatch):
    monkeypatch.setattr(trace, "settle_trust", lambda *args: "")


# ---- nets escape ----


def measured(patch):
    """Count at the moment of the making, not by the facts of the interpreter."""
    record = _spares.record_counts

    def measuring(level):
        record(level)
        level.expected[0] = sys.getrefcount(level.cls)

    patch.setattr(_level, "record_counts", measuring)
    patch.setattr(_spares, "_is_only_cached", lambda level: True)


class EveryContext:
    """A stand-in for the context variable `RESUMED` that all threads share."""

    def __init__(self):
        self.value = frozenset()

    def get(self):
        return self.value

    def set(self, value):
        self.value = value


revival_for_all_threads = change(_states, "RESUMED", EveryContext())


def real_parts_that_nobody_asked_for(monkeypatch, home):
    cast = lambda label, what, c, dtype: _cotangents.cast(c, dtype)  # noqa: E731
    homes = {"pytree_rules": _pytree_rules, "function_rules": _function_rules}
    monkeypatch.setattr(homes[home], "cast_from_rule", cast)
