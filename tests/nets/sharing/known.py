"""What is refused for a good reason, and what is wrong today."""

from typing import NamedTuple

from .calls import GROUPS
from .modes import NESTED, TURNS

REASONS = {
    r"would (turn a batch|make (a )?plain) ": (
        "NumPy's own function asks for the values; functier.numpy and adopted code have a twin"
    ),
    r"^MutationError: .*would write a tensor to a plain array": (
        "the result is a plain array, of plain numbers or of code that NumPy does not dispatch"
    ),
    r"order='[KA]'\) depends on how an array lies in memory": (
        "the order of the elements would be that of the memory, which rules may choose"
    ),
    r"^MutationError: .*its view in NumPy and a copy here": "the other would not see the write",
    r"^MutationError: .*a plain array of its memory, is in use": "that would not see the write",
    r"is about the memory of an array|a bytes-like object is required": (
        "the bytes of a batch or of a pair are not those of an array"
    ),
    r"^DataDependentError": "the number of elements differs from example to example",
    r"^ValueError: (assignment destination|output array|underlying array) is read-only$": (
        "an array that NumPy asked of a tensor is a copy, to which a write would be lost"
    ),
    r"assignment destination is read-only(; write|: .* gives one element several places)": (
        "one element has several places, and NumPy itself warns of such a write"
    ),
    r"iterator write flag set is read-only": "so are the plain values of an `Array`",
    r"^ValueError: the program of .* differs from the trace": "a shape or an index depends on it",
    r"whose __add__ is another than NumPy's": "a class of arrays has operators of its own",
    r"^PicklingError|Unable to avoid copy": "a copy in a file, or of a number, is no view",
    r"is complex.*, but was float": "the results of all steps have one dtype",
    r"x.elem\(\), as no_dispatch has it": "the check of finite values asks for them",
}  # fmt: skip
"""A regular expression of an error, and why a user has to accept it."""


def turns(*modes: str) -> frozenset:
    return frozenset(turn for turn in TURNS if turn[0] in modes)


PROGRAMS = turns("trace", "compile")
EAGER = frozenset(TURNS) - PROGRAMS - turns("scan", "map")
TWINS = frozenset(turn for turn in EAGER | PROGRAMS if turn[1] != "np")
APART = turns("split") - TWINS
MOVED = turns("vmap -1")
BATCHES = turns("vmap", "split", "vmap(grad)", "grad(vmap)")
RULES = turns("vmap", "vmap -1", "split", "jvp", "vjp")
OWN = "C F given given-F plain made one "
PARTS = "transposed backward stepped repeated point "
ROW, REFUSED, ALWAYS = "the row of the last step", "what NumPy refuses", "nothing like it"
"""What no other call stands for."""


class Known(NamedTuple):
    """Cases that are wrong as a call, `#`, is taken for another one: all that tell these apart."""

    calls: str
    turns: frozenset = EAGER
    taken: str = "fresh(#)"
    layouts: str = OWN + PARTS + "empty"
    writes: str = "result source rows"


def order(turns: frozenset, layouts: str, calls: str) -> Known:
    """Return the cases in which a new array lies in another order than NumPy's."""
    return Known(calls, turns, ALWAYS, layouts, "rows")


SAME = (
    "a.conj(); a.conjugate(); a.astype(float, copy=False); np.astype(a, float, copy=False); "
    "np.real_if_close(a); np.diff(a, 0); np.einsum('...', a); np.einsum('ij->ji', a); "
    "np.einsum('ij->ij', a); np.einsum(a, [0, 1], [1, 0]); np.array(a, copy=None, ndmin=3); "
    "np.lib.stride_tricks.as_strided(a); np.apply_over_axes(lambda v, i: v, a, [0]); "
    "np.frombuffer(a)"
)
PART = (
    "np.ix_(a[0])[0]; np.trim_zeros(a[0]); np.poly1d(a[0]).coeffs; np.polyder(a[0], 0); "
    "np.polyint(a[0], 0); np.linalg.matrix_power(a[:3, :3], 1); np.einsum('ii->i', a[0, :1, None])"
)
ORDERED = (
    "np.asarray(a, order='C'); np.asarray(a, order='F'); np.array(a, copy=None, order='F'); "
    "np.require(a, None, ['C', 'W']); np.require(a, requirements=['F']); np.require(a, float, 'W')"
)
CONTIGUOUS = "np.ascontiguousarray(a); np.asfortranarray(a)"
IN_ROWS, IN_COLUMNS = [f"a.astype(float, order='{order}', copy=False)" for order in "CF"]
CONVERSIONS = (
    "a.__array__(); np.asarray(a); np.asanyarray(a); np.asarray_chkfinite(a); np.require(a); "
    "np.array(a, copy=None); np.array(a, copy=False); np.array(a, copy=None, ndmin=3); "
    "np.nditer(a, op_flags=['readwrite']).operands[0]; np.lib.stride_tricks.as_strided(a); "
    "np.ctypeslib.as_array(a); np.from_dlpack(a); np.ma.asarray(a).data; "
    f"np.ascontiguousarray(a[:, 0]); {ORDERED}; {CONTIGUOUS}"
)
BROADCAST = "np.atleast_1d(a, a)[1]; np.broadcast_arrays(a, a)[0]; np.broadcast_arrays(a, 1.0)[0]"
PRODUCT = "np.einsum('ij,jk->ki', a, np.eye(a.shape[-1]))"
RIGHT = {"np.stack([a, a], -1)", "np.apply_along_axis(lambda v: v, 0, a)", "np.copy(a, 'F')"}

KNOWN = {
    "a stale copy: an armed method goes past the bookkeeping of views": [
        Known("a.diagonal()", layouts=OWN.replace("plain made", "") + PARTS),
    ],
    "a program that is recorded again takes a view for a new array": [
        Known("a.diagonal(); np.diag(a)", PROGRAMS),
        Known(SAME, PROGRAMS, layouts=OWN),
        Known(f"{SAME}; {PART}; np.meshgrid(a[0], a[:, 0], copy=False)[0]", PROGRAMS,
              writes="source"),
        Known(PART, PROGRAMS, layouts="made plain"),
    ],
    "a conversion makes no copy for an order": [
        Known(ORDERED, TWINS, "a"),
        Known(CONTIGUOUS, TWINS, "np.atleast_1d(a)"),
        Known("np.ascontiguousarray(a[:, 0])", TWINS, "a[:, 0]"),
        Known(f"{IN_ROWS}; {IN_COLUMNS}", EAGER, "a"),
        Known(IN_ROWS, PROGRAMS, "a", "F given-F transposed backward stepped repeated"),
        Known(IN_ROWS, PROGRAMS, layouts="C given made one plain"),
        Known(IN_COLUMNS, PROGRAMS, "a", "C given backward stepped repeated made plain", "rows"),
        Known(IN_COLUMNS, PROGRAMS, "a", "C given backward stepped repeated"),
        Known(IN_COLUMNS, PROGRAMS, layouts="F given-F one"),
        Known(f"{IN_ROWS}; {IN_COLUMNS}", PROGRAMS, layouts="point transposed", writes="source"),
    ],
    "a conversion gives a copy that takes writes": [
        Known(CONVERSIONS, APART),
        Known("np.ctypeslib.as_array(a); np.from_dlpack(a); np.ma.asarray(a).data",
              turns("split") - APART),
    ],
    "a view of the plain array of an `Array` is not known to be there": [
        Known("np.array(a, copy=None, ndmin=3); np.require(a, None, ['C', 'W']); "
              "np.require(a, float, 'W')", RULES - TWINS - APART, layouts="plain"),
        Known("np.from_dlpack(a); np.ma.asarray(a).data", EAGER - turns("split"), layouts="plain"),
    ],
    "new axes of `ndmin` make a view": [
        Known("np.array(a, ndmin=3)", TWINS, "np.atleast_2d(a)[None]", "C F " + PARTS),
        Known("np.array(a, ndmin=3)", TWINS, "np.atleast_2d(a)[None]", "made", "result rows"),
    ],
    "a ravel asks how the examples lie together": [
        Known("a.ravel('F'); np.ravel(a, 'F')", BATCHES | MOVED, layouts="F transposed given-F"),
        Known("np.ravel(a.T, 'F')", BATCHES | MOVED, layouts="C given"),
        Known("a.ravel(); np.ravel(a)", MOVED, layouts="C given"),
        Known("a.T.ravel()", MOVED, layouts="transposed"),
    ],
    "a new array lies in another order": [
        order(RULES, "C F transposed backward made repeated",
              "np.quantile(a, [0.3, 0.6], -1); np.full(a.shape, t, order='F')"),
        order(RULES, "C F transposed backward", "np.meshgrid(a[0], a[:, 0])[0]"),
        order(RULES, "F transposed repeated",
              "np.piecewise(a, [a > 0.5], [lambda v: v]); np.block(a); np.polyval([1.0, 0.0], a); "
              "np.zeros_like(a); np.ones_like(a); filled(np.empty_like(a)); np.full_like(a, t); "
              "np.vectorize(abs)(a)"),
        order(RULES | turns("trace"), "F transposed repeated",
              "copy.copy(a); copy.deepcopy(a); a.__copy__()"),
        order(RULES | turns("trace"), "C made backward", "a.astype(float, order='F')"),
        order(RULES & TWINS, "C made backward", "np.array(a, order='F'); np.copy(a, 'F')"),
        order(RULES, "F transposed", "np.select([a > 0.5], [a]); np.tensordot(a, 1.0, 0); "
              "np.pad(a, 1, mode='edge'); np.delete(a, 0, 0); np.insert(a, [], 1.0, 0)"),
        order(RULES, "C made backward repeated", "np.insert(a, 0, 1.0, -1)"),
        order(RULES, "repeated", "np.nan_to_num(a); np.unwrap(a); np.nancumsum(a, 0); "
              "np.nancumprod(a, -1); np.gradient(a)[0]; np.meshgrid(a[0], a[:, 0])[0]"),
        order(RULES, "F", "np.gradient(a)[0]"),
        order(RULES, "made", f"np.einsum('ij,->ji', a, 1.0); {PRODUCT}"),
        order(turns("jvp", "vjp"), "C backward repeated", PRODUCT),
        order(BATCHES, "repeated", PRODUCT),
        order(BATCHES | MOVED, "F", "a[[1, 0]]; a[:, [1, 0]]; a.round(3); np.round(a, 3); "
              "np.around(a, 1); np.insert(a, 0, 1.0, -1)"),
        order(BATCHES | MOVED, "F transposed", "np.polyfit([0.0, 1.0, 2.0], a[:3], 1)"),
        order(BATCHES, "transposed", "a.round(3); np.round(a, 3); np.around(a, 1)"),
        order(BATCHES, "C transposed backward repeated", "a[[1, 0]]; a[:, [1, 0]]"),
        order(BATCHES, "C made transposed backward repeated",
              "np.delete(a, 0, 0); np.insert(a, [], 1.0, 0); np.insert(a, 0, 1.0, -1)"),
        order(MOVED, "made", "np.delete(a, 0, 0); np.insert(a, [], 1.0, 0)"),
        order(MOVED, "C transposed backward",
              "a @ np.eye(a.shape[-1]); a.dot(np.eye(a.shape[-1])); "
              "np.matmul(a, np.eye(a.shape[-1])); np.dot(a, np.eye(a.shape[-1])); "
              "np.tensordot(a, np.eye(a.shape[-1]), 1); np.linalg.matmul(a, np.eye(a.shape[-1])); "
              "np.linalg.tensordot(a, np.eye(a.shape[-1]), axes=1); "
              "np.linalg.multi_dot([a, np.eye(a.shape[-1])]); "
              "np.apply_along_axis(lambda v: v, 0, a)"),
        order(MOVED, "C transposed backward repeated",
              f"np.vander(a[0], 3); np.array([*a]); {PRODUCT}"),
        order(MOVED, "C backward", "np.stack([a, a], -1); np.gradient(a)[0]; "
              "np.multiply.outer(a, [1.0, 2.0])"),
        order(MOVED, "transposed", "np.inner(a, np.eye(a.shape[-1]))"),
        Known("; ".join(set(GROUPS["copy"]) - RIGHT), MOVED, "fresh(#)", "repeated", "rows"),
        order(MOVED, "repeated", "np.fft.fftn(a).real; np.insert(a, [], 1.0, 0); "
              "np.multiply.outer(a, [1.0, 2.0]); np.einsum('ij,->ji', a, 1.0)"),
        order(MOVED & TWINS, "repeated", "np.copy(a, 'F')"),
    ],
    "a new array is a view": [
        Known("np.tile(a, (2, 1))", RULES, ALWAYS, "repeated", "source rows"),
        Known("np.pad(a, 1, mode='edge')", RULES, ALWAYS, "point"),
    ],
    "an `Array` is copied": [
        Known("np.polyder(a[0], 0); np.polyint(a[0], 0); np.einsum(a, [0, 1], [1, 0]); "
              "np.linalg.matrix_power(a[:3, :3], 1); np.trim_zeros(a[0]); np.poly1d(a[0]).coeffs; "
              f"{BROADCAST}", layouts="made"),
        Known(BROADCAST, PROGRAMS, layouts="made plain"),
        Known(BROADCAST, turns("jvp(scan)"), layouts="given given-F"),
        Known("np.real_if_close(a); np.diff(a, 0); np.apply_over_axes(lambda v, i: v, a, [0]); "
              "np.array(a, copy=None, ndmin=3)", layouts="made", writes="source"),
    ],
    "an array without axes is a number in NumPy, or the other way round": [
        Known("np.einsum('...', a)", taken="a", layouts="point"),
        Known("np.nan_to_num(a, copy=False)", EAGER | PROGRAMS, "a", "point"),
        Known("np.apply_over_axes(lambda v, i: v, a, [0]); np.apply_over_axes(np.sum, a, [0])",
              EAGER, ALWAYS, "point"),
        Known("np.lib.stride_tricks.as_strided(a)", TWINS & EAGER, layouts="point"),
        order(RULES, "point", "np.full(a.shape, a); np.full(a.shape, t, order='F'); "
              "np.full_like(a, t); np.resize(a, a.shape)"),
    ],
    "the cotangent of repeated elements": [
        Known("np.meshgrid(a[0], a[:, 0], copy=False)[0]", turns("vjp", *NESTED[1:-1]), ALWAYS,
              "plain", "result source"),
    ],
    "a program does not ask how many elements a condition takes": [
        Known("np.extract(a > 0.5, a)", turns("trace"), ALWAYS, writes="result rows"),
    ],
    "NumPy refuses a write": [
        Known("a.imag; np.imag(a)", EAGER | PROGRAMS, REFUSED),
        Known("np.lib.stride_tricks.sliding_window_view(a, 2, 1)", EAGER, REFUSED, "empty"),
        Known("np.ctypeslib.as_array(a)", turns("split") - APART, REFUSED, "repeated"),
    ],
    "all steps give one buffer": [
        Known("*", turns("scan"), ROW, "given given-F"),
        Known("np.multiply(a, 2.0, out=B)", turns("map"), ALWAYS),
        Known("np.multiply(a, 2.0, out=B)", turns("scan"), ALWAYS, "C F backward made", "source"),
    ],
}  # fmt: skip
"""Faults, with the cases that are wrong today for each."""
