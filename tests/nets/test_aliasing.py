"""Aliasing: whatever is written to after a call, nothing that the call gave out changes.

A case is a function (a row of the sample table, or a random program) and a transform. The
caller's arrays must not change by the call. Then everything that came in or went out is
overwritten, and what outlives the call (a pullback, a linear function) is asked again: it
must say what it said before. One output must not change when another one, or an input, is
overwritten, unless NumPy's own function gives out a view.
"""

import functools
import itertools

import numpy as np
import optree

import functier as ft
import samples
from faults.planted import nets as faulty
from nets.verdicts import Verdicts
from support.basics import silent
from support.checks import direction

REASONS: dict[str, str] = {
    "An input that has been returned as-is is being saved": "a Function has to say which is meant",
    "its value is not its derivative at 0 applied to x": "a derivative of 1e-23 beside rounding "
    "errors",
    "NoRuleError": "a row without the rule that this nesting needs",
    "another formula where two numbers are the same": "a formula at one point has no derivative",
}

ROWS = {name: row for name, row in samples.named().items() if row.differentiated() and row.order}
ROUNDING = 1e-13
"""The relative difference of two computations: LAPACK's last bit may depend on where arrays lie."""
SMALL = 12
"""The most elements of the arguments for which a Jacobian or a Hessian is taken."""


# ---- a function and its arrays ----


def placed(leaves, where, chosen):
    """The leaves, with `chosen` at the positions `where`."""
    operands = list(leaves)
    for i, x in zip(where, chosen):
        operands[i] = x
    return operands


class Subject:
    """A function of some of the caller's arrays, which closes over the others."""

    def __init__(self, call, leaves, where, order=1, shared=None):
        self.call, self.order, self.where, self.shared = call, order, where, shared
        self.leaves = [np.array(x) for x in leaves]

    @property
    def points(self):
        return [self.leaves[i] for i in self.where]

    def all(self, *operands):
        """The floating-point results of the function of all its arrays."""
        results = optree.tree_leaves(self.call(*operands))
        return [y for y in results if np.result_type(y).kind in "fc"]

    def operands(self, *chosen):
        """All arrays, with `chosen` for the points."""
        return placed(self.leaves, self.where, chosen)

    def f(self, *chosen):
        return self.all(*self.operands(*chosen))

    def loss(self, *chosen):
        return sum(np.sum(np.real(y * np.conjugate(y))) for y in self.f(*chosen))

    @property
    def small(self):
        return sum(x.size for x in self.points) <= SMALL

    @property
    def real(self):
        return all(np.result_type(x).kind == "f" for x in (*self.points, *self.f(*self.points)))


def like(values, seed):
    return [direction(x, seed + i) for i, x in enumerate(values)]


# ---- transforms ----
#
# Each gives what came out of the call, and a function that asks what outlives it: of a seed,
# so that its arguments are new every time; it gives them, too. `plain` says that the results
# may be views where NumPy's are.


def of_vjp(f, points):
    value, pullback = ft.vjp(f, *points)
    forms = [np.empty_like(y) for y in value]
    return list(value), lambda seed: asked(pullback, like(forms, seed))


def asked(function, given):
    return given, list(function(given))


def vjp(s):
    return of_vjp(s.f, s.points)


def vjp_with_aux(s):
    def f(*xs):
        ys = s.f(*xs)
        return ys, [y * 2.0 for y in ys]

    value, pullback, aux = ft.vjp(f, *s.points, has_aux=True)
    forms = [np.empty_like(y) for y in value]
    return [*value, *aux], lambda seed: asked(pullback, like(forms, seed))


def vjp_of_a_tree(s):
    value, pullback = ft.vjp(lambda tree: s.f(*tree["x"]), {"x": s.points})
    forms = [np.empty_like(y) for y in value]
    return value, lambda seed: asked(lambda g: optree.tree_leaves(pullback(g)), like(forms, seed))


def batched_pullback(s):
    value, pullback = ft.vjp(s.f, *s.points)
    forms = [np.empty((2, *np.shape(y)), np.result_type(y)) for y in value]
    return value, lambda seed: asked(ft.vmap(lambda g: pullback(g)), like(forms, seed))


def moved_pullback(s):
    value, pullback = ft.vjp(s.f, *s.points)
    forms = [np.empty_like(y) for y in value]

    def ask(seed):
        given, moved = like(forms, seed), like(forms, seed + 50)
        return [*given, *moved], optree.tree_leaves(ft.jvp(pullback, (given,), (moved,)))

    return value, ask


def linearize(s):
    value, function = ft.linearize(s.f, *s.points)
    forms = [np.empty_like(x) for x in s.points]
    return value, lambda seed: asked(lambda t: function(*t), like(forms, seed))


def transposed(s):
    function = ft.linearize(s.f, *s.points)[1]
    value = [np.empty_like(y) for y in s.f(*s.points)]
    back = ft.linear_transpose(lambda *ts: function(*ts), *s.points)
    return [], lambda seed: asked(back, like(value, seed))


def weighted_transpose(s):
    weights = like(s.points, 9)
    back = ft.linear_transpose(lambda *ts: [w * t for w, t in zip(weights, ts)], *s.points)
    forms = [np.empty_like(x) for x in s.points]
    return weights, lambda seed: asked(back, like(forms, seed))


def jvp(s):
    tangents = like(s.points, 7)
    value, moved = ft.jvp(s.f, tuple(s.points), tuple(tangents))
    return [*value, *moved], lambda seed: (tangents, [])


def grad(s):
    return list(ft.grad(s.loss, tuple(range(len(s.points))))(*s.points)), None


def value_and_grad(s):
    return list(ft.value_and_grad(s.loss, tuple(range(len(s.points))))(*s.points)[1]), None


def jacrev(s):
    return optree.tree_leaves(ft.jacrev(s.f, tuple(range(len(s.points))))(*s.points)), None


def jacfwd(s):
    return optree.tree_leaves(ft.jacfwd(s.f, tuple(range(len(s.points))))(*s.points)), None


def hessian(s):
    return optree.tree_leaves(ft.hessian(s.loss, tuple(range(len(s.points))))(*s.points)), None


def hvp(s):
    tangents = like(s.points, 7)
    _, product = ft.hvp(s.loss, tuple(s.points), tuple(tangents))
    return list(product), lambda seed: (tangents, [])


def doubled(s):
    """The function of all arrays for a batch of two equal examples, and the batch."""
    free = [i for i in s.where if s.shared is not None and i not in s.shared]
    batch = [np.stack([x, x]) if i in free else x for i, x in enumerate(s.leaves)]
    dims = tuple(0 if i in free else None for i in range(len(batch)))
    return batch, dims, free


def vmap(s):
    batch, dims, _ = doubled(s)
    s.leaves[:] = batch
    return list(ft.vmap(s.all, dims)(*batch)), None


def vmap_in_chunks(s):
    batch, dims, _ = doubled(s)
    s.leaves[:] = batch
    return list(ft.vmap(s.all, dims, chunk_size=1)(*batch)), None


def vjp_of_vmap(s):
    batch, dims, free = doubled(s)
    s.leaves[:] = batch

    f = ft.vmap(s.all, dims)
    return of_vjp(lambda *xs: f(*placed(batch, free, xs)), [batch[i] for i in free])


def vmap_of_vjp(s):
    batch, dims, free = doubled(s)
    s.leaves[:] = batch

    def pulled(*operands):
        def f(*xs):
            return s.all(*placed(operands, free, xs))

        value, pullback = ft.vjp(f, *[operands[i] for i in free])
        return value, pullback(value)

    return optree.tree_leaves(ft.vmap(pulled, dims)(*batch)), None


def vjp_of_jvp(s):
    tangents = like(s.points, 7)
    value, ask = of_vjp(lambda *xs: ft.jvp(s.f, xs, tuple(tangents))[1], s.points)
    return value, lambda seed: ([*tangents, *(r := ask(seed))[0]], r[1])


def vjp_of_vjp(s):
    weights = like(s.f(*s.points), 7)
    value, ask = of_vjp(lambda *xs: list(ft.vjp(s.f, *xs)[1](weights)), s.points)
    return value, lambda seed: ([*weights, *(r := ask(seed))[0]], r[1])


def linearize_of_vjp(s):
    weights = like(s.f(*s.points), 7)
    value, function = ft.linearize(lambda *xs: list(ft.vjp(s.f, *xs)[1](weights)), *s.points)
    forms = [np.empty_like(x) for x in s.points]
    return value, lambda seed: asked(lambda t: function(*t), like([*forms], seed))


def checkpoint(s):
    f = ft.checkpoint(s.all)
    return of_vjp(lambda *xs: f(*s.operands(*xs)), s.points)


def custom_vjp(s):
    f = ft.custom_vjp(lambda *xs: s.all(*xs))

    def backward(saved, g):
        xs, ys = saved

        def of(*chosen):
            return s.all(*placed(xs, s.where, chosen))

        grads = [None] * len(xs)
        for i, c in zip(s.where, ft.vjp(of, *[xs[i] for i in s.where])[1](g)):
            grads[i] = c + 0 * sum(np.sum(np.real(y)) for y in ys if np.isfinite(y).all())
        return tuple(grads)

    f.defvjp(lambda *xs: ((ys := s.all(*xs)), (xs, ys)), backward)
    return of_vjp(lambda *xs: f(*s.operands(*xs)), s.points)


def custom_jvp(s):
    f = ft.custom_jvp(lambda *xs: s.f(*xs))
    f.defjvp(lambda xs, ts: ft.jvp(s.f, xs, ts))
    return of_vjp(lambda *xs: f(*xs), s.points)


def function(s):
    class Own(ft.Function):
        @staticmethod
        def forward(*xs):
            return tuple(s.f(*xs))

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.rest = [x for i, x in enumerate(s.leaves) if i not in s.where]

        @staticmethod
        def backward(ctx, *gs):
            mine = dict(zip(s.where, range(len(s.where))))

            def of(*xs):
                rest = iter(ctx.rest)
                n = len(s.leaves)
                return s.all(*[xs[mine[i]] if i in mine else next(rest) for i in range(n)])

            return ft.vjp(of, *ctx.saved_tensors)[1](list(gs))

    return of_vjp(lambda *xs: list(Own.apply(*xs)), s.points)


def advanced(s, i, carry):
    """The next carry of a loop."""
    total = sum(np.sum(np.real(y)) for y in s.f(*carry))
    return [c + (i * total).astype(c.dtype) for c in carry]


def loop(s):
    body = functools.partial(advanced, s)
    return of_vjp(lambda *xs: ft.fori_loop(0, 2, body, list(xs)), s.points)


def while_loop(s):
    def f(*xs):
        def body(carry):
            return carry[0] + 1, advanced(s, *carry)

        return ft.while_loop(lambda carry: carry[0] < 2, body, (0, list(xs)))[1]

    return of_vjp(f, s.points)


def scan(s):
    batch, _, free = doubled(s)
    s.leaves[:] = batch

    def f(*xs):
        def step(total, slices):
            ys = s.all(*placed(batch, free, slices))
            return total + sum(np.sum(np.real(y)) for y in ys), ys

        total, ys = ft.scan(step, 0.0, list(xs))
        return [total, *ys]

    return of_vjp(f, [batch[i] for i in free])


def functional_call(s):
    """A module that has the points as parameters, and the other arrays as buffers."""

    class Model(ft.nn.Module):
        def __init__(self):
            super().__init__()
            for i, x in enumerate(s.leaves):
                if i in s.where:
                    setattr(self, f"x{i}", ft.nn.Parameter(x))
                else:
                    self.register_buffer(f"x{i}", x)

        def forward(self):
            return s.all(*[getattr(self, f"x{i}") for i in range(len(s.leaves))])

    model = Model()

    def f(*xs):
        return ft.functional_call(model, {f"x{i}": x for i, x in zip(s.where, xs)}, ())

    return of_vjp(f, s.points)


def register_hook(s):
    """Hooks that replace the gradients of the results, and pass on those of the points."""
    answers = []

    def f(*xs):
        for x in xs:
            ft.register_hook(x, lambda g: g)
        ys = s.f(*xs)
        for i, y in enumerate(ys):
            if ft.requires_grad(y):
                ft.register_hook(y, lambda g, i=i: answers[i])
        return ys

    value, pullback = ft.vjp(f, *s.points)
    forms = [np.empty_like(y) for y in value]

    def ask(seed):
        answers[:] = like(forms, seed + 30)
        given = [*like(forms, seed), *answers]
        return given, list(pullback(given[: len(forms)]))

    return list(value), ask


def generator(s):
    """A generator that holds a pullback, and answers what is sent to it."""

    def answers():
        value, pullback = ft.vjp(s.f, *s.points)
        given = yield list(value)
        while True:
            given = yield list(pullback(given))

    running = answers()
    value = next(running)
    forms = [np.empty_like(y) for y in value]
    return value, lambda seed: asked(running.send, like(forms, seed))


PLAIN = {vjp, vjp_with_aux, vjp_of_a_tree, batched_pullback, moved_pullback, linearize, jvp}
PLAIN |= {checkpoint, custom_vjp, custom_jvp, function, loop, vjp_of_jvp, vjp_of_vjp}
PLAIN |= {while_loop, functional_call, register_hook, generator}
"""Transforms whose results may be views of inputs and of each other, where NumPy's are."""

DOUBLING = {vmap, vmap_in_chunks, vjp_of_vmap, vmap_of_vjp, scan}
"""Transforms that replace the arrays of the subject by `doubled` ones."""

NEEDS = {
    jacrev: lambda s: s.small and s.real,
    jacfwd: lambda s: s.small and s.real,
    hessian: lambda s: s.small and s.real and s.order > 1,
    **dict.fromkeys((hvp, vjp_of_jvp, vjp_of_vjp, linearize_of_vjp), lambda s: s.order > 1),
    **dict.fromkeys(DOUBLING, lambda s: doubled(s)[2]),
    **dict.fromkeys((loop, while_loop), lambda s: s.real),
}
TRANSFORMS = [
    vjp, vjp_with_aux, vjp_of_a_tree, batched_pullback, moved_pullback, linearize, transposed,
    weighted_transpose, jvp, grad, value_and_grad, jacrev, jacfwd, hessian, hvp, vmap,
    vmap_in_chunks, vjp_of_vmap, vmap_of_vjp, vjp_of_jvp, vjp_of_vjp, linearize_of_vjp,
    checkpoint, custom_vjp, custom_jvp, function, loop, while_loop, scan, functional_call,
    register_hook, generator,
]  # fmt: skip

NESTED = {moved_pullback, linearize_of_vjp, vjp_of_vmap}
"""Transforms whose results may be read-only views, as a nested call hands them out."""


# ---- the check ----


def spoil(x):
    """Write something else into an array."""
    if x.dtype.kind in "fc":
        x[...] = 123.0
        x.reshape(-1)[::2] = np.nan
    elif x.dtype.kind == "b":
        x[...] = ~x
    elif x.dtype.kind in "iu":
        x[...] = 0 if np.any(x) else 1


def arrays(values):
    return [x for x in values if isinstance(x, np.ndarray) and x.ndim]


def unchanged(values, before, what, rounding=0.0):
    for i, (x, old) in enumerate(zip(values, before)):
        same = np.array_equal(x, old, equal_nan=x.dtype.kind in "fc")
        if rounding and x.dtype.kind in "fc":
            same = np.allclose(x, old, rounding, 0.0, equal_nan=True)
        assert same, f"{what}: array {i} has changed"


def views(s):
    """Tell if NumPy's own function gives out views."""
    results = arrays(s.f(*s.points))
    pairs = itertools.combinations([*results, *s.leaves], 2)
    return any(np.may_share_memory(a, b) or not a.flags.writeable for a, b in pairs)


def hold(s, transform):
    """Run a case; what a check needs."""
    plain = transform in PLAIN and views(s)
    before = [x.copy() for x in s.leaves] if transform not in DOUBLING else None
    out, ask = transform(s)
    if ask is not None:
        ask(0)  # what is refused is refused here
    kept = [x.copy() for x in s.leaves]
    out = [x for x in arrays(out) if x.flags.writeable or transform not in PLAIN | NESTED]
    return plain, before, kept, out, ask


def answered(ask, seed):
    """Ask again; what worked the first time has to work."""
    try:
        return ask(seed)
    except Exception as error:
        raise AssertionError(f"a later question: {error}") from error


def check(found, s, transform):
    plain, before, kept, out, ask = found
    if before is not None:
        unchanged(s.leaves, before, "an argument after the call")
    answers: list = []
    if ask is not None:
        for seed in (0, 0, 1):
            given, result = answered(ask, seed)
            old = [x.copy() for x in given]
            results = [x for x in arrays(result) if x.flags.writeable or transform not in NESTED]
            answers.append([np.array(x) for x in result])
            overwritten(results, [*given, *out, *s.leaves])
            unchanged(given, old, "what was asked, when the answer is overwritten")
            for x in given:
                spoil(x)
        unchanged(answers[1], answers[0], "the second answer", ROUNDING)
        given, result = answered(ask, 0)
        copies = [np.array(x) for x in result]
        for x in given:
            spoil(x)
        unchanged([np.asarray(x) for x in result], copies, "an answer, after its question")
    unchanged(s.leaves, kept, "an argument")
    if not plain:
        overwritten(out, s.leaves)
    for x in (*out, *s.leaves):
        if x.flags.writeable:
            spoil(x)
    if ask is not None:
        for seed, answer in ((0, answers[0]), (1, answers[2])):
            _, result = answered(ask, seed)
            result = [np.asarray(x) for x in result]
            unchanged(result, answer, "the answer afterwards", ROUNDING)


def overwritten(results, others):
    """Overwrite each result, and look at the others and at other arrays."""
    for i, x in enumerate(results):
        assert x.flags.writeable, f"result {i} cannot be written to"
        rest = [*results[:i], *results[i + 1 :], *others]
        if any(np.may_share_memory(x, y) for y in rest):
            old = [y.copy() for y in rest]
            own = x.copy()
            spoil(x)
            unchanged(rest, old, f"another array, when result {i} is overwritten")
            x[...] = own


def judge(counts, name, make, transforms=TRANSFORMS):
    for transform in transforms:
        s = make()
        if transform in NEEDS and not NEEDS[transform](s):
            continue
        if not any(np.size(y) for y in s.f(*s.points)):
            continue
        counts.judge(
            f"{name}, {transform.__name__}",
            lambda s=s, transform=transform: hold(s, transform),
            lambda found, s=s, transform=transform: check(found, s, transform),
        )


def subject_of(row):
    return lambda: Subject(
        row.call, row.leaves, row.differentiated(), row.order, row.shared if row.vmap else None
    )


def run(counts, names, transforms=TRANSFORMS):
    with silent():
        for name in names:
            judge(counts, name, subject_of(ROWS[name]), transforms)


# ---- random programs: views, closures, arrays of indices, what is read twice ----

STEPS = [
    lambda a, b, c: np.sin(a) * b,
    lambda a, b, c: np.exp(-a * a) + b,
    lambda a, b, c: a / (1.0 + b * b),
    lambda a, b, c: a * c["plain"],
    lambda a, b, c: a[c["index"]] * b,
    lambda a, b, c: np.take_along_axis(a, c["index"][:, None], 0) + b,
    lambda a, b, c: np.where(c["mask"], a * b, a),
    lambda a, b, c: a.T * b,
    lambda a, b, c: a @ b,
    lambda a, b, c: a.reshape(-1)[::-1].reshape(3, 3),
    lambda a, b, c: np.broadcast_to(a[0], (3, 3)) * b,
    lambda a, b, c: np.linalg.solve(a + 4.0 * np.eye(3), b),
    lambda a, b, c: np.concatenate([a[1:], b[:1]]),
    lambda a, b, c: np.maximum(a, b) * c["plain"].T,
    lambda a, b, c: np.lib.stride_tricks.sliding_window_view(a, 2, 0)[:, :, 0].sum() * b,
    lambda a, b, c: np.cumsum(a, 0) * np.prod(b[0]),
    lambda a, b, c: ft.checkpoint(lambda u, v: np.sin(u * v) * c["far"])(a, b),
    lambda a, b, c: np.einsum("ij,jk->ki", a, c["plain"]) + b,
    lambda a, b, c: np.stack([row * c["plain"][0] for row in a]) + b,
]  # fmt: skip


def program(seed):
    """A function of two arrays that closes over others, as a subject."""
    rng = np.random.default_rng(seed)
    far = np.ones((3, 3))  # what a checkpointed function closes over, nobody may write to
    picked = [(STEPS[k], *rng.integers(0, 3, 2)) for k in rng.integers(0, len(STEPS), 6)]

    def call(x, y, plain, index, mask):
        closed = {"plain": plain, "index": index, "mask": mask, "far": far}
        values = [x, y, x * y]
        for step, i, j in picked:
            values = [*values[1:], np.tanh(step(values[i], values[j], closed))]
        return values[-2:]

    leaves = [
        rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3)),
        rng.integers(0, 3, 3), rng.random((3, 3)) < 0.5,
    ]  # fmt: skip
    return Subject(call, leaves, (0, 1), 2, ())


def run_programs(counts, seeds):
    with silent():
        for seed in seeds:
            judge(counts, f"program {seed}", lambda seed=seed: program(seed))


def test_rows(verdicts, full):
    counts = verdicts("aliasing, rows", REASONS)
    run(counts, list(ROWS) if full else list(ROWS)[::48])
    counts.settle()


def test_programs(verdicts, full):
    counts = verdicts("aliasing, programs", REASONS)
    run_programs(counts, range(1000 if full else 30))
    counts.settle()


# ---- planted faults ----


def faults():
    """The transforms that a program and some rows find wrong."""
    counts = Verdicts("planted", REASONS)
    run(counts, [name for name in ROWS if name.startswith(("elementwise.exp-", "shape.reshape"))])
    run_programs(counts, range(5))
    return {text.partition(": ")[0].rpartition(", ")[2] for text in counts.wrong}


def test_nothing_is_wrong_without_a_fault():
    assert not faults()


def test_a_tape_that_keeps_the_callers_memory(monkeypatch):
    faulty.tape_that_keeps_the_callers_memory(monkeypatch)

    found = faults()
    assert {"vjp", "vjp_of_a_tree", "vjp_of_vmap", "checkpoint"} <= found
    assert {"while_loop", "scan", "functional_call", "register_hook", "generator"} <= found


def test_results_of_vmap_that_are_the_argument(monkeypatch):
    faulty.results_of_vmap_that_are_the_argument(monkeypatch)

    assert "vmap" in faults()


def test_cotangents_that_are_the_ones_given(monkeypatch):
    faulty.cotangents_that_are_the_ones_given(monkeypatch)

    assert {"vjp", "while_loop", "functional_call", "generator"} <= faults()


def test_gradients_that_are_what_a_hook_returned(monkeypatch):
    faulty.gradients_that_are_what_a_hook_returned(monkeypatch)

    assert "register_hook" in faults()


def test_a_copy_that_is_forgotten_for_what_rules_share(monkeypatch):
    """The factors that the rules of one matrix have in common."""
    faulty.copy_that_is_forgotten_for_what_rules_share(monkeypatch)
    counts = Verdicts("planted", REASONS)
    run(counts, [name for name in ROWS if name.startswith("linalg.solve-d[3,3],d[3]")])

    assert any(text.startswith("linalg.solve") for text in counts.wrong)
