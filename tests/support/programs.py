"""Random programs, and nestings of the transforms in which they run.

A program is a straight line of operations on a pool of values: what the innermost
function was given, the variables of all levels around it, and its own results. A
nesting is a list of transforms, outermost first; each brings one new variable, made
from the ones around it.
"""

import numpy as np
from hypothesis import strategies as st

import functier as ft

# ---- operations: each keeps its result small and smooth ----


def last_two(x):
    """`x` as a matrix or a stack of matrices."""
    return x if np.ndim(x) > 1 else np.reshape(x, (1, -1))


def index(*entry):
    return lambda x, y: x[entry] if np.ndim(x) >= len(entry) else x


OPERATIONS = {
    "tanh": lambda x, y: np.tanh(x),
    "sin": lambda x, y: np.sin(x),
    "exp": lambda x, y: np.exp(-x * x),
    "sqrt": lambda x, y: np.sqrt(1 + x**2),
    "log": lambda x, y: np.log1p(np.square(x)),
    "add": lambda x, y: 0.5 * (x + y),
    "multiply": lambda x, y: np.tanh(x * y),
    "divide": lambda x, y: x / (2 + np.sin(y)),
    "subtract": lambda x, y: 1.5 - x - 0.5 * y,
    "power": lambda x, y: (1.5 + 0.5 * np.tanh(x)) ** np.tanh(y),
    "arctan2": lambda x, y: np.arctan2(x, 2 + np.tanh(y)),
    "where": lambda x, y: np.where(np.arange(x.shape[-1]) % 2 == 0, x, y) if np.ndim(x) else x,
    "sum": lambda x, y: np.tanh(np.sum(x)),
    "sum of an axis": lambda x, y: np.tanh(np.sum(x, axis=-1)) if np.ndim(x) else x,
    "mean, keepdims": lambda x, y: np.mean(x, axis=0, keepdims=True) if np.ndim(x) else x,
    "prod": lambda x, y: np.prod(1 + 0.3 * np.tanh(x), axis=-1) if np.ndim(x) else x,
    "cumsum": lambda x, y: np.tanh(np.cumsum(x, axis=-1)) if np.ndim(x) else x,
    "var": lambda x, y: x - np.tanh(np.var(x)),
    "ravel": lambda x, y: np.reshape(x, -1),
    "transpose": lambda x, y: np.transpose(x),
    "swapaxes": lambda x, y: np.swapaxes(x, 0, -1) if np.ndim(x) else x,
    "expand_dims": lambda x, y: np.expand_dims(x, 0) if np.ndim(x) < 3 else x[0],
    "squeeze": lambda x, y: np.squeeze(x),
    "flip": lambda x, y: np.flip(x),
    "roll": lambda x, y: np.roll(x, 1),
    "stack": lambda x, y: np.stack(np.broadcast_arrays(x, y)) if np.ndim(x) < 3 else x,
    "concatenate": lambda x, y: np.concatenate([np.ravel(x), np.ravel(y)])[:6],
    "tile": lambda x, y: np.tile(x, 2)[..., :4] if np.ndim(x) else x,
    "matmul": lambda x, y: np.tanh(np.matmul(last_two(x), np.swapaxes(last_two(x), -1, -2))),
    "vector product": lambda x, y: np.tanh(x @ np.cos(x)) if np.ndim(x) == 1 else x,
    "outer": lambda x, y: np.outer(np.sin(x), np.cos(y))[:3, :3],
    "einsum": lambda x, y: np.tanh(np.einsum("...i,...i->...", x, x)) if np.ndim(x) else x,
    "first": index(0),
    "last": index(..., -1),
    "slice": index(slice(None, None, -2)),
    "new axis": lambda x, y: x[..., None] if np.ndim(x) < 3 else x[0],
    "repeated positions": index([0, -1, 0]),
    "take": lambda x, y: np.take(x, np.array([[0], [-1]])) if np.ndim(x) == 1 else x,
}


NAMES = tuple(OPERATIONS)


def run(program, around):
    """The result of a program; it depends on every variable of `around`."""
    values = list(around)
    for name, i, j in program:
        x = values[-1 - i % len(values)]
        fitting = [y for y in values if fits(np.shape(x), np.shape(y))]
        values.append(OPERATIONS[name](x, fitting[-1 - j % len(fitting)]))
    phase = 0.0
    for variable in around:
        phase = phase + 0.3 * np.sum(np.sin(variable))
    return values[-1] * np.cos(phase)


def fits(shape, other):
    """Tell if `other` broadcasts to `shape`."""
    try:
        return np.broadcast_shapes(shape, other) == shape
    except ValueError:
        return False


# ---- the transforms, and what they mean ----

H = 1e-3


def slope(along):
    """The derivative at 0 of a function of a number, by central differences."""
    return (8 * (along(H) - along(-H)) - (along(2 * H) - along(-2 * H))) / (12 * H)


def loop(f):
    return lambda xs: np.stack([f(xs[i]) for i in range(len(xs))])


def numeric_grad(f):
    def of(x):
        basis = np.eye(np.size(x)).reshape(-1, *np.shape(x))
        return np.stack([slope(lambda h, e=e: f(x + h * e)) for e in basis]).reshape(np.shape(x))

    return of


def numeric_jvp(f, primals, tangents):
    (x,), (t,) = primals, tangents
    return f(x), slope(lambda h: f(x + h * t))


def numeric_vjp(f, x):
    return f(x), lambda g: (numeric_grad(lambda z: np.sum(f(z) * g))(x),)


EXACT = {"vmap": ft.vmap, "grad": ft.grad, "jvp": ft.jvp, "vjp": ft.vjp}


MEANT = {"vmap": loop, "grad": numeric_grad, "jvp": numeric_jvp, "vjp": numeric_vjp}


TRANSFORMS = tuple(EXACT)


BATCH = np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, 0.2], [0.7, 0.6, -0.1]])


def apply(nesting, program, around, meant=None, depth=0):
    """Run a program under the nesting; transform number `meant` as what it means."""
    if depth == len(nesting):
        return run(program, around)
    transform = nesting[depth]
    function = (MEANT if depth == meant else EXACT)[transform]
    start = np.tanh(around[-1]) + 0.1 * depth

    def body(x):
        return apply(nesting, program, [*around, x], meant, depth + 1)

    if transform == "vmap":
        offsets = BATCH[: 2 + depth % 2, : np.size(around[0])]
        batch = offsets.reshape(-1, *np.shape(around[0])) if np.ndim(around[0]) else offsets[:, 0]
        return function(body)(start + batch)
    if transform == "grad":
        return function(lambda x: np.sum(np.sin(body(x))))(start)
    if transform == "jvp":
        value, tangent = function(body, (start,), (np.cos(around[0]),))
        return value + tangent
    value, pullback = function(body, start)
    return pullback(np.cos(value))[0]


instructions = st.tuples(st.sampled_from(NAMES), st.integers(0, 3), st.integers(0, 3))
programs = st.lists(instructions, min_size=1, max_size=5)


starts = st.sampled_from([np.array(0.4), np.array([0.3, -0.8]), np.array([0.5, 0.2, -0.9])])
