"""The refusals that have a good reason, and the cases that are wrong today."""

from typing import NamedTuple

from .modes import TURNS

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


def turns(*modes: str, names: str = "np fnp adopted") -> frozenset:
    """Return the turns of some modes, or of all, where the code has its names from there."""
    return frozenset(
        turn for turn in TURNS if turn[1] in names.split() and (not modes or turn[0] in modes)
    )


PLAIN = "np fnp"
EAGER = turns(names=PLAIN) - turns("trace", "compile", "scan", "map")
RULES = turns("vmap", "vmap -1", "split", "jvp", "vjp", names=PLAIN)
SPLIT = turns("split", names="np")
PARTS = "C F backward repeated transposed"


class Known(NamedTuple):
    """Cases that are wrong."""

    calls: str
    turns: frozenset
    layouts: str
    writes: str = "result source rows"


CONVERSIONS = (
    "np.asarray(a); np.asarray_chkfinite(a); np.array(a, copy=False); np.require(a); "
    "np.asarray(a, order='C'); a.__array__(); np.asanyarray(a); np.array(a, copy=None); "
    "np.ascontiguousarray(a); np.array(a, copy=None, ndmin=3); np.lib.stride_tricks.as_strided(a)"
)
IN_COLUMNS = (
    "np.asfortranarray(a); np.asarray(a, order='F'); np.array(a, copy=None, order='F'); "
    "np.require(a, requirements=['F'])"
)
IN_ROWS, FLOATS = "np.require(a, None, ['C', 'W'])", "np.require(a, float, 'W')"
OTHERS = "np.from_dlpack(a); np.ma.asarray(a).data"

KNOWN = {
    "an array that was made inside does not know its copy": [
        Known(CONVERSIONS, SPLIT, "made", "source"),
        Known(OTHERS, turns("split"), "made", "source"),
        Known(OTHERS, EAGER, "plain", "source"),
        Known(f"{IN_ROWS}; {FLOATS}; np.array(a, copy=None, ndmin=3)", RULES & turns(names="np"),
              "plain", "source"),
    ],
    "NumPy copies what was asked of a tensor once more": [
        Known(IN_COLUMNS, SPLIT, "F", "result source"),
        Known(IN_COLUMNS, SPLIT, "given-F transposed", "source"),
        Known(IN_ROWS, SPLIT, "C given made point", "source"),
        Known(IN_ROWS, SPLIT, "one", "result source"),
        Known(FLOATS, SPLIT, "F one stepped", "result source"),
        Known(FLOATS, SPLIT, "C backward given given-F made point transposed", "source"),
        Known("np.ctypeslib.as_array(a)", turns("split", names="fnp adopted"), "made",
              "result rows"),
        Known("np.ctypeslib.as_array(a)", turns("split"), "made", "source"),
        Known("np.ctypeslib.as_array(a)", turns("split", names="fnp"),
              "F backward given-F one point repeated stepped"),
        Known("np.ctypeslib.as_array(a)", turns("split", names="fnp adopted"),
              "C given transposed"),
    ],
    "an array without axes is a number in NumPy, or the other way round": [
        Known("np.einsum('...', a); np.apply_over_axes(lambda v, i: v, a, [0])", EAGER, "point"),
        Known("np.lib.stride_tricks.as_strided(a)", EAGER & turns(names="fnp"), "point"),
        Known("np.nan_to_num(a, copy=False)",
              (EAGER | turns("trace", "compile", names=PLAIN)) - turns("jvp(scan)"), "point"),
        Known("np.full(a.shape, a); np.full(a.shape, t, order='F')",
              RULES & turns(names="fnp"), "point", "rows"),
        Known("np.full_like(a, t); np.resize(a, a.shape)", RULES, "point", "rows"),
        Known("np.apply_over_axes(np.sum, a, [0])", RULES, "point"),
    ],
    "a new array lies in another order": [
        Known("a[[1, 0]]; a[:, [1, 0]]", turns("vmap", "vmap -1", "split", names="np"), PARTS,
              "rows"),
        Known("np.einsum('ij,jk->ki', a, np.eye(a.shape[-1]))",
              turns("jvp", names=PLAIN) | turns("vjp"), "C made", "rows"),
        Known("np.einsum('ij,jk->ki', a, np.eye(a.shape[-1]))",
              turns("jvp", "vjp", names=PLAIN), "backward", "rows"),
        Known("np.einsum('ij,jk->ki', a, np.eye(a.shape[-1]))", RULES, "repeated", "rows"),
        Known("np.vectorize(abs)(a)", RULES & turns(names="fnp"), "F repeated", "rows"),
        Known("np.vectorize(abs)(a)",
              turns("jvp", "vmap -1", names="fnp")
              | turns("split", "vjp", "vmap", names="fnp adopted"), "transposed", "rows"),
    ],
    "NumPy refuses a write": [
        Known("a.imag", RULES & turns(names="np") | turns("trace", names="np"), "made",
              "result rows"),
        Known("np.imag(a)", turns("vmap", "split", "vjp") | RULES | turns("trace", names="np"),
              "made", "result rows"),
        Known("a.imag", turns("jvp", "vjp", "trace", names="np"), "point", "result rows"),
        Known("np.imag(a)", turns("jvp", "vjp", names=PLAIN) | turns("trace", names="np"),
              "point", "result rows"),
        Known("a.imag; np.imag(a)", turns("trace", names="np"), PARTS, "result rows"),
        Known("np.lib.stride_tricks.sliding_window_view(a, 2, 1)", EAGER, "empty", "result rows"),
    ],
    "a program does not ask how many elements a condition takes": [
        Known("np.extract(a > 0.5, a)", turns("trace", names="np"), f"{PARTS} made point",
              "result rows"),
    ],
}  # fmt: skip
"""Faults, with the cases that are wrong today for each."""
