"""Planted faults: what the nets of programs and of rows find."""

from contextlib import nullcontext

import numpy as np

import functier as ft
from faults.planted import change
from functier._control.effects import Effects
from functier._core.methods import methods_of
from functier._core.op import NO_VALUE
from functier._core.sharing import MEMORY
from functier._levels import kept
from functier._levels import level as levels
from functier._levels.batch import BatchLevel
from functier._levels.grad import GradLevel
from functier._levels.jvp import JvpLevel
from functier._programs import passes, recorder, stores
from functier._programs.machine.loops import bodies, kernels, nests
from functier._programs.machine.lowering import effects, products, reductions
from functier._programs.machine.parts import calling, modules
from functier._rules import accumulation, elementwise, polynomial, quantile
from functier._rules.linalg import contract
from functier._rules.linalg import contract as _contract
from functier._transforms import grad as _grad
from functier._transforms.tracing import level
from functier.scipy._rules import sparse
from strategies.branches import branching
from strategies.nestings import nested
from strategies.writes import writing
from support.basics import ours

# ---- nets programs ----


BRANCHING = nested(branching(), kinds=("grad", "jvp", "split", "grad and value", "hessian"))


WRITING = nested(writing(), whole=85)


def drop_answers(monkeypatch):
    convert = recorder.RecordLevel.convert

    def without(self, x, how, *args):
        found = convert(self, x, how, *args)
        self.answers.clear()
        return found

    monkeypatch.setattr(recorder.RecordLevel, "convert", ours(without))


guard_no_mask = change(recorder.RecordLevel, "guard", ours(lambda self, x, how: None))


def share_reads_across_a_write(monkeypatch):
    share = passes.share

    def careless(graph):
        reads = [node for node in graph.nodes if node.func in passes.READS]
        for node in reads:
            node.memory = False
        graph = share(graph)
        for node in reads:
            node.memory = True
        return graph

    monkeypatch.setitem(passes.PASSES, "share", careless)


def drop_the_last_write(monkeypatch):
    drop = passes.drop_dead

    def careless(graph):
        writes = [node for node in graph.nodes if node.memory and node.func is not passes.memory_of]
        last = [node for node in writes if node.func not in passes.READS][-1:]
        graph.nodes = [node for node in graph.nodes if node not in last]
        return drop(graph)

    monkeypatch.setitem(passes.PASSES, "drop_dead", careless)


def write_over_live_values(monkeypatch):
    monkeypatch.setattr(stores, "LARGE", 0)
    for func in (np.flip, np.transpose, np.reshape, np.ravel, np.real):
        monkeypatch.setitem(MEMORY, func, "fresh")


FAULTS = [
    (drop_answers, BRANCHING), (guard_no_mask, BRANCHING), (share_reads_across_a_write, WRITING),
    (drop_the_last_write, WRITING), (write_over_live_values, WRITING),
]  # fmt: skip


# ---- nets refills ----


mask_that_is_kept_as_it_is = change(levels, "alias_of", lambda x: x)


PLANTED = {
    "arrays are not copied": (
        lambda patch: patch.setattr(kept, "copy_of", lambda x: x),
        "np.take(x, w)", "int", "all", "linearize",
    ),
    "fingerprints are not compared": (
        lambda patch: patch.setattr(kept.Fingerprint, "check", lambda self: None),
        "w * x", "large float", "one", "grad",
    ),
    "a new order is not seen": (
        lambda patch: patch.setattr(kept, "content_of", lambda x, once: np.sort(x).tobytes()),
        "x @ w", "large float", "order", "grad",
    ),
    "tensors of levels around have no alias": (
        lambda patch: patch.setattr(kept, "alias_of", lambda x: x),
        "custom(x, w)", "of x", "order", "vmap(grad)",
    ),
    "lists are not arguments that change": (
        lambda patch: patch.setattr(kept, "FIXED", kept.FIXED | {list}),
        "np.dot(w, x)", "list", "one", "grad",
    ),
    "lists in tuples are not copied": (
        lambda patch: patch.setattr(kept, "is_fixed", lambda x: type(x) in (list, tuple)),
        "np.dot(w, x * x)", "tuple of lists", "one", "vjp",
    ),
    "arrays of subclasses are not copied": (
        lambda patch: patch.setattr(kept.Walk, "value", lambda self, x: x),
        "w * x", "memmap", "all", "grad",
    ),
    "a record of tangents has lists as they are": (
        lambda patch: patch.setattr(
            level, "owned", lambda x: x if type(x) is list else kept.owned(x)
        ),
        "np.dot(w, x * x)", "list of lists", "all", "linearize",
    ),
    "a record of tangents has subclasses as they are": (
        lambda patch: patch.setattr(
            level, "owned", lambda x: kept.owned(x) if type(x) is np.ndarray else x
        ),
        "w * x", "own class", "all", "linearize",
    ),
    "a program has subclasses as they are": (
        lambda patch: patch.setattr(recorder.RecordLevel, "constant", lambda self, x: x),
        "w * x", "memmap", "all", "trace(grad)",
    ),
    "places of sparse matrices": (
        lambda patch: patch.setattr(sparse.products.Pattern, "owning", lambda self, copy: self),
        "w @ x", "sparse places", "all", "grad",
    ),
    "places of matrices of systems": (
        lambda patch: patch.setattr(sparse.systems.System, "owning", lambda self, copy: self),
        "ft.scipy.sparse.linalg.spsolve(w, x)", "sparse places", "all", "compile(grad)",
    ),
    "data of sparse matrices": (
        lambda patch: patch.setattr(kept, "copy_of", lambda x: x),
        "w @ x", "sparse", "all", "linearize",
    ),
}  # fmt: skip


def blind_effects(fault, monkeypatch):
    if fault == "changes are not seen":
        monkeypatch.setattr(Effects, "_changes", lambda self: iter([]))
    else:
        monkeypatch.setattr(Effects, "undone", lambda self, refuse: nullcontext())


# ---- nets dtypes ----


def convolution(a, v):
    """Summed up in the dtype that `numpy.sum` takes for small numbers."""
    n, m = np.shape(a)[0], np.shape(v)[0]
    rows = np.multiply(np.reshape(a, (n, 1)), np.reshape(v, (1, m)))
    rows = np.concatenate([rows, np.zeros((n, n), rows.dtype)], axis=1)
    shifted = np.reshape(np.reshape(rows, (-1,))[: n * (n + m - 1)], (n, n + m - 1))
    return np.sum(shifted, axis=0)


def bessel(x):
    nodes = elementwise.I0_NODES.astype(x.dtype)
    return np.mean(nodes * np.exp(np.reshape(x, (*np.shape(x), 1)) * nodes), axis=-1)


FAULTS_OF_DTYPES: dict[str, tuple] = {
    r"polynomial\.convolve": (polynomial, "_convolution", convolution),
    r"quantile\.quantile-f.*numbers as arrays: 1 as float64": (  # a number for Python's
        quantile, "promotion_operand", lambda q: 0.5 if isinstance(q, float) else q,
    ),
    r"elementwise\.i0.* as a float": (elementwise, "_bessel_i1", bessel),
    r"contraction\.einsumiaj,ibj->ab.* wide": (
        contract.SummedPlan, "run", lambda self, x, y: np.sum(self.plan.run(x, y), self.axes),
    ),
}  # fmt: skip
FAULTS_OF_DTYPES = {k: change(*c) for k, c in FAULTS_OF_DTYPES.items()}
"""Faults by the cases of the net that find them."""


fault_of_a_ufunc = change(elementwise, "_match_precision", lambda y, g: y)
an_array_for_the_gradient_of_a_number = change(_grad, "fill_zeros", lambda grads, values: grads)


# ---- nets machine faults ----


def overlapping(calls):
    """Give each buffer of the arena the same place."""
    size = calling.laid_out(calls)
    for call in calls:
        for place in call.places:
            place.buffer.offset = 0
    return size


FAULTS_OF_MACHINE_FAULTS = {
    "a sum takes lanes twice": (bodies.Body, "needs_mask", lambda self: False),
    "what is computed again is stored": (bodies.Body, "rewrites", lambda self: False),
    "an end that is not begun": (
        nests.Sum, "across", lambda self, values: [nests.half_of(self.w, values[0], 2, 0)]
        if self.w.width == 2 else ACROSS(self, values),
    ),
    "buffers that overlap": (modules, "laid_out", lambda calls: overlapping(calls)),
    "writes that run early": (effects.Memory, "order", lambda self, *given: None),
    "a read that sees nothing": (effects.Memory, "sources", lambda self, bits: ()),
    "a beginning that counts": (
        nests, "identity", lambda func, dtype: IDENTITY(func, dtype) if func is not np.add else 1
    ),
    "axes of a reduction": (
        reductions, "axes_of", lambda axis, ndim: AXES(axis if type(axis) is not int else 0, ndim),
    ),
    "a view taken for what it shows": (
        products, "viewed",
        lambda value, make: VIEWED(value, make)._replace(straight=value.straight),
    ),
}  # fmt: skip
FAULTS_OF_MACHINE_FAULTS = {k: change(*c) for k, c in FAULTS_OF_MACHINE_FAULTS.items()}


ACROSS, IDENTITY, AXES, VIEWED = (
    nests.Sum.across, nests.identity, reductions.axes_of, products.viewed,
)  # fmt: skip


def forget_kernels():
    kernels.kernel_of.cache_clear()
    kernels.written.cache_clear()


# ---- nets sizes ----


def no_fast_calls(monkeypatch):
    """Leave all operations to their records: the fast calls have separate rules."""
    for kind in (BatchLevel, GradLevel, JvpLevel):
        monkeypatch.setattr(kind, "methods", methods_of({}))
    monkeypatch.setattr(ft.Tensor.level, "spare", {})


def axis_that_nobody_spreads(monkeypatch):
    right = _contract.cotangent_spec
    monkeypatch.setattr(_contract, "cotangent_spec", lambda *given: (right(*given)[0], False))


def reduction_from_the_first_element(monkeypatch):
    right = accumulation._rows_to_accumulate

    def from_the_first(ufunc, array, axis, initial, where):
        return right(ufunc, array, axis, None if initial is NO_VALUE else initial, where)

    monkeypatch.setattr(accumulation, "_rows_to_accumulate", from_the_first)
