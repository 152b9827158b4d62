"""The net of contractions: every subscript of few axes, with sizes that coincide.

All subscripts of einsum of one and two operands with up to three labels and three axes, and
those with an ellipsis, are compared with loops over the labels: values, both modes and vmap,
with axes of one size, one unlike the others, and of size 1 in one of the operands. The other
spellings of a contraction follow, and operands of dtypes in which sums wrap around.
"""

import functools
import itertools
import math

import numpy as np
import pytest

import functier as ft
from functier._rules.linalg import contract as _contract
from functier._rules.linalg import einsum as _einsum
from nets.verdicts import Verdicts

LETTERS = "ijk"

# ---- contractions as loops ----


def places(labels, shape, sizes):
    """The places where an array with these labels is read, in each round of the loop.

    An axis of size 1 stands still.
    """
    lengths = [*sizes.values()]
    rounds = np.indices(lengths).reshape(len(lengths), math.prod(lengths))
    counter = dict(zip(sizes, rounds))
    return tuple(counter[j] if n > 1 else 0 * counter[j] for j, n in zip(labels, shape))


class Loop:
    """One contraction, written as a loop over all labels that adds up products."""

    def __init__(self, terms, out, shapes):
        self.terms, self.out, self.shapes = terms, out, shapes
        self.sizes = {}
        for labels, shape in zip(terms, shapes):
            for label, n in zip(labels, shape):
                self.sizes[label] = n if n != 1 else self.sizes.get(label, 1)
        self.shape = tuple(self.sizes[label] for label in out)
        self.at = [places(t, s, self.sizes) for t, s in zip(terms, shapes)]
        self.to = places(out, self.shape, self.sizes)

    def added(self, shape, at, values):
        total = np.zeros(shape)
        rounds = np.broadcast_to(values, math.prod(self.sizes.values()))
        np.add.at(total, at, rounds if at else np.sum(rounds))
        return total

    def value(self, arrays):
        factors = [x[at] for x, at in zip(arrays, self.at)]
        return self.added(self.shape, self.to, functools.reduce(np.multiply, factors))

    def cotangents(self, arrays, g):
        found = []
        for k, (shape, at) in enumerate(zip(self.shapes, self.at)):
            others = [x[i] for x, i, n in zip(arrays, self.at, itertools.count()) if n != k]
            found.append(self.added(shape, at, functools.reduce(np.multiply, others, g[self.to])))
        return found

    def tangent(self, arrays, moved):
        return sum(
            self.value([*arrays[:k], t, *arrays[k + 1 :]]) for k, t in enumerate(moved)
        )  # fmt: skip


# ---- every subscript ----


def patterns(length, labels):
    """The tuples of labels up to renaming, each of at most so many."""
    if not length:
        return [()]
    return [
        (*head, label)
        for head in patterns(length - 1, labels)
        for label in range(min(max(head, default=-1) + 2, labels))
    ]


def outputs(terms, ellipsis=False):
    """The labels of every result: None, an implicit one, and each choice in each order."""
    labels = sorted({i for term in terms for i in term})
    chosen = [p for n in range(len(labels) + 1) for p in itertools.permutations(labels, n)]
    if ellipsis:
        chosen = [(*p[:i], ..., *p[i:]) for p in chosen for i in range(len(p) + 1)]
    return [None, *chosen]


def spelled(terms, out):
    def text(labels):
        return "".join("..." if i is ... else LETTERS[i] for i in labels)

    return ",".join(map(text, terms)) + ("" if out is None else f"->{text(out)}")


def expanded(terms, out, hidden):
    """The labels with those of ellipses, -1, -2 and so on from the right, in their place."""
    terms = [
        tuple(j for i in term for j in (range(-n, 0) if i is ... else (i,)))
        for term, n in zip(terms, hidden)
    ]
    most = max(hidden)
    if out is None:
        every = [i for term in terms for i in term]
        out = (..., *sorted(i for i in set(every) if i >= 0 and every.count(i) == 1))
    return terms, tuple(j for i in out for j in (range(-most, 0) if i is ... else (i,)))


@functools.cache
def subscripts():
    """``(subscripts, labels of the operands, labels of the result)`` of all contractions."""
    found = []
    for lengths in [(n,) for n in range(1, 4)] + [*itertools.product(range(4), repeat=2)]:
        for pattern in patterns(sum(lengths), 3):
            terms = (pattern[: lengths[0]], pattern[lengths[0] :])[: len(lengths)]
            for out in outputs(terms):
                found.append((spelled(terms, out), *expanded(terms, out, [0] * len(terms))))
    for lengths in [(n,) for n in range(3)] + [*itertools.product(range(3), repeat=2)]:
        for pattern in patterns(sum(lengths), 2):
            terms = (pattern[: lengths[0]], pattern[lengths[0] :])[: len(lengths)]
            for spots in itertools.product(*[(None, *range(len(t) + 1)) for t in terms]):
                if all(spot is None for spot in spots):
                    continue
                dotted = [
                    t if spot is None else (*t[:spot], ..., *t[spot:])
                    for t, spot in zip(terms, spots)
                ]
                wide = [range(1) if s is None else range(4 - len(t)) for s, t in zip(spots, terms)]
                for out in outputs(terms, ellipsis=True):
                    for hidden in itertools.product(*wide):
                        found.append((spelled(dotted, out), *expanded(dotted, out, hidden)))
    return found


def sizings(terms):
    """Shapes of operands: equal sizes, one unlike, and labels of one operand of size 1."""
    labels = sorted({i for term in terms for i in term})
    equal = dict.fromkeys(labels, 3)
    found = [[tuple(equal[i] for i in term) for term in terms]]
    for label in labels if len(labels) > 1 else ():
        sizes = {**equal, label: 2}
        found.append([tuple(sizes[i] for i in term) for term in terms])
    for k, own in enumerate(terms):
        narrow = sorted(set(own))
        for ones in {(i,) for i in narrow} | ({tuple(narrow)} - {()}):
            found.append([
                tuple(1 if n == k and i in ones else 3 for i in term)
                for n, term in enumerate(terms)
            ])  # fmt: skip
    return list(dict.fromkeys(map(tuple, found)))


@functools.cache
def cases():
    """Every subscript with every sizing."""
    return [
        (text, terms, out, shapes) for text, terms, out in subscripts() for shapes in sizings(terms)
    ]


# ---- the verdicts ----


def whole(rng, shape):
    """Small whole numbers, whose products and sums are exact in any order."""
    return rng.integers(1, 9, shape) * rng.choice([1.0, -1.0], shape)


def equal(actual, expected):
    assert np.shape(actual) == np.shape(expected), f"{np.shape(actual)}, not {np.shape(expected)}"
    np.testing.assert_array_equal(actual, expected)


def judge(counts, name, call, terms, out, shapes, seed):
    """The verdicts of one contraction: both modes, vmap, and vmap of vjp.

    False where NumPy itself does not take it.
    """
    rng = np.random.default_rng(seed)
    loop, arrays = Loop(terms, out, shapes), [whole(rng, s) for s in shapes]
    try:
        assert np.shape(call(*arrays)) == loop.shape, f"the loop of {name} is wrong"
    except ValueError:
        return False
    moved, g = [whole(rng, s) for s in shapes], whole(rng, loop.shape)

    def reverse():
        value, pullback = ft.vjp(call, *arrays)
        return value, *pullback(g[()])

    def reversed_is_right(found):
        equal(found[0], loop.value(arrays))
        for actual, expected in zip(found[1:], loop.cotangents(arrays, g), strict=True):
            equal(actual, expected)

    def forward_is_right(found):
        equal(found[0], loop.value(arrays))
        equal(found[1], loop.tangent(arrays, moved))

    label = f"{name} of {shapes}"
    counts.judge(f"{label}, vjp", reverse, reversed_is_right)
    counts.judge(
        f"{label}, jvp", lambda: ft.jvp(call, tuple(arrays), tuple(moved)), forward_is_right
    )
    n = max((n for s in shapes for n in s), default=2) or 2  # as many examples as an axis is long
    dims = [d for d in itertools.product((0, None, -1), repeat=len(arrays)) if set(d) - {None}]
    for chosen in {dims[0], dims[seed % len(dims)]}:
        many = [x if d is None else whole(rng, (n, *x.shape)) for x, d in zip(arrays, chosen)]
        given = [x if d is None else np.moveaxis(x, 0, d) for x, d in zip(many, chosen)]
        rows = [[x if d is None else x[i] for x, d in zip(many, chosen)] for i in range(n)]
        counts.judge(
            f"{label}, vmap {chosen}",
            lambda chosen=chosen, given=given: ft.vmap(call, chosen)(*given),
            lambda found, rows=rows: equal(found, np.stack([loop.value(r) for r in rows])),
        )

        def pulled(found, rows=rows):
            expected = [loop.cotangents(r, g) for r in rows]
            for actual, column in zip(found, zip(*expected), strict=True):
                equal(actual, np.stack(column))

        def back(*xs):
            return ft.vjp(call, *xs)[1](g[()])

        counts.judge(
            f"{label}, vmap {chosen} of vjp",
            lambda chosen=chosen, given=given: ft.vmap(back, chosen)(*given),
            pulled,
        )
    return True


def einsum_of(text):
    return lambda *xs: np.einsum(text, *xs)


def run(counts, chosen):
    outside = 0
    for seed, (text, terms, out, shapes) in enumerate(chosen):
        outside += not judge(counts, text, einsum_of(text), terms, out, shapes, seed)
    return outside


# ---- other spellings ----


def listed(text):
    """The list spelling of subscripts."""
    left, arrow, out = text.partition("->")
    terms = [list(map(LETTERS.index, term)) for term in left.split(",")]
    result = [list(map(LETTERS.index, out))] if arrow else []

    def call(*xs):
        return np.einsum(*[part for pair in zip(xs, terms) for part in pair], *result)

    return call


def apart(call):
    """A product like kron's, with the axes of the one and the other operand apart."""

    def split(x, y):
        return np.reshape(call(x, y), [n for pair in zip(x.shape, y.shape) for n in pair])

    return split


def tensordot(axes):
    return lambda x, y: np.tensordot(x, y, axes)


def of_gufunc(func, **params):
    return lambda x, y: func(x, y, **params)


MATMUL = ("i,i->", "ij,j->i", "i,ij->j", "ij,jk->ik", "kij,j->ki", "j,kji->ki", "kij,kji->k")
SPELLINGS = [
    *[(np.matmul, text) for text in MATMUL[:6]],
    (lambda x, y: x @ y, "ij,jk->ik"),
    (lambda x, y: y.T @ x, "ij,ik->kj"),
    (np.linalg.matmul, "ij,jk->ik"),
    (of_gufunc(np.matmul, axes=[(1, 0), (0, 1), (0, 1)]), "ji,jk->ik"),
    (of_gufunc(np.matmul, axes=[(0, 1), (0, 1), (1, 0)]), "ij,jk->ki"),
    *[(np.dot, text) for text in (*MATMUL[:5], "i,->i", ",ij->ij", ",->")],
    (lambda x, y: x.dot(y), "ij,jk->ik"),
    *[(np.inner, t) for t in ("i,i->", "ij,j->i", "i,ji->j", "ij,kj->ik", "ikj,j->ik", "i,->i")],
    *[(np.vdot, t) for t in ("i,i->", "ij,ij->", ",->")],
    (np.outer, "i,j->ij"),
    (np.linalg.outer, "i,j->ij"),
    (np.multiply.outer, "ij,k->ijk"),
    (np.multiply, "ij,j->ij"),
    (np.multiply, "i,ji->ji"),
    *[(np.vecdot, t) for t in ("i,i->", "ij,j->i", "i,ji->j", "ij,ij->i", "kij,ij->ki")],
    (of_gufunc(np.vecdot, axis=0), "ij,ij->j"),
    (of_gufunc(np.vecdot, axes=[0, 1]), "ji,ij->i"),
    (np.linalg.vecdot, "ij,ij->i"),
    (tensordot(0), "i,j->ij"),
    (tensordot(0), "ij,k->ijk"),
    (tensordot(1), "i,i->"),
    (tensordot(1), "ij,jk->ik"),
    (tensordot(2), "ij,ij->"),
    (tensordot(2), "kij,ij->k"),
    (tensordot(([1, 0], [0, 1])), "ij,ji->"),
    (tensordot(([0], [1])), "ij,ki->jk"),
    (tensordot(([-1, 0], [-2, -1])), "kij,jk->i"),
    (apart(np.kron), "i,j->ij"),
    (lambda x, y: np.linalg.multi_dot([x, y]), "ij,jk->ik"),
    (np.linalg.tensordot, "kij,ij->k"),
    *[
        (f, t)
        for name, texts in (("matvec", ("ij,j->i", "kij,j->ki")), ("vecmat", ("i,ij->j",)))
        if (f := getattr(np, name, None))
        for t in texts
    ],
]
"""Calls that mean a contraction of einsum, with that."""

KNOWN_CONVERSIONS = {
    "^ConversionError: ": "a method of a plain array converts before a tensor is asked"
}


def run_spellings(counts):
    outside = 0
    for seed, (call, text) in enumerate(SPELLINGS):
        left, _, out = text.partition("->")
        terms = [tuple(map(LETTERS.index, term)) for term in left.split(",")]
        labels = tuple(map(LETTERS.index, out))
        for shapes in sizings(terms):
            name = f"{getattr(call, '__name__', call)} as {text}"
            outside += not judge(counts, name, call, terms, labels, shapes, seed)
    return outside


# ---- dtypes in which sums wrap around ----

PAIRS = [
    "?d", "d?", "??", "Bd", "dB", "BB", "bB", "Bl", "l?", "Bf", "fd", "df", "?D", "Fd", "eB",
]  # fmt: skip
"""The dtypes of two operands."""


def filled(rng, char, shape):
    if char == "?":
        return rng.random(shape) < 0.8
    if char in "Bb":
        return rng.integers(90, 120, shape).astype(char)
    return whole(rng, shape).astype(char)


def same(actual, expected):
    """Equal in dtype, too; up to a sum of small floats, which NumPy rounds in its own order."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape
    exact = expected.dtype.kind not in "fc" or np.finfo(expected.dtype).eps < 1e-8
    np.testing.assert_allclose(actual, expected, rtol=0 if exact else 1e-2)


def judge_dtypes(counts, name, call, dtypes, shapes, seed):
    """Values and dtypes under vmap and vjp, and the derivative by what is inexact, where the
    others are as good as floats of the same value."""
    rng = np.random.default_rng(seed)
    arrays = [filled(rng, c, s) for c, s in zip(dtypes, shapes)]
    label = f"{name} of {dtypes} {shapes}"
    many = [np.stack([x, x[::-1] if x.ndim else x]) for x in arrays]
    dims = (0, *[(None, 0)[(seed + k) % 2] for k in range(1, len(arrays))])
    rows = [[x[i] if d == 0 else x[0] for x, d in zip(many, dims)] for i in range(2)]
    given = [x if d == 0 else x[0] for x, d in zip(many, dims)]
    counts.judge(
        f"{label}, vmap {dims}",
        lambda: ft.vmap(call, dims)(*given),
        lambda found: same(found, np.stack([call(*r) for r in rows])),
    )
    chosen = [k for k, x in enumerate(arrays) if x.dtype.kind in "fc"]
    if not chosen:
        return

    def of(*xs):
        operands = list(arrays)
        for k, x in zip(chosen, xs):
            operands[k] = x
        return call(*operands)

    points = [arrays[k] for k in chosen]
    exact = [x if k in chosen else x.astype(float) for k, x in enumerate(arrays)]
    g = filled(rng, np.result_type(*arrays).char, np.shape(call(*arrays)))[()]

    def found():
        value, pullback = ft.vjp(of, *points)
        return value, *pullback(g)

    def check(results):
        same(results[0], call(*arrays))
        wide = [x.astype(complex if x.dtype.kind == "c" else float) for x in exact]
        expected = ft.vjp(call, *wide)[1](np.asarray(g).astype(np.result_type(*wide))[()])
        for k, c in zip(chosen, results[1:], strict=True):
            assert c.dtype == arrays[k].dtype, f"a cotangent of dtype {c.dtype}"
            np.testing.assert_allclose(c, expected[k].astype(c.dtype), rtol=2e-2)

    counts.judge(f"{label}, vjp", found, check)


THREE = ["i,j,k->", "i,i,k->", "i,ij,j->", "ij,j,k->i", "ij,k,jk->i", "i,j,j->i"]
LARGE = [("iaj,ibj->ab", (10, 10, 10)), ("iaj,jbi->ab", (10, 10, 10)), ("ij,kj->k", (40, 40))]
"""Contractions that are planned otherwise as they are large."""


def run_dtypes(counts, chosen):
    for seed, (text, terms, _, shapes) in enumerate(chosen):
        if len(terms) == 2:
            for dtypes in (PAIRS[seed % len(PAIRS)], PAIRS[(seed // 3) % len(PAIRS)]):
                judge_dtypes(counts, text, einsum_of(text), dtypes, shapes, seed)
    for seed, (text, dtypes) in enumerate(itertools.product(THREE, ("BBd", "?dB", "bB?", "fBd"))):
        shapes = [(3,) * len(term) for term in text.partition("->")[0].split(",")]
        judge_dtypes(counts, text, einsum_of(text), dtypes, shapes, seed)
    for seed, (call, text) in enumerate(SPELLINGS):
        shapes = [(3,) * len(term) for term in text.partition("->")[0].split(",")]
        for dtypes in PAIRS:
            name = f"{getattr(call, '__name__', call)} as {text}"
            judge_dtypes(counts, name, call, dtypes, shapes, seed)
    for (text, shape), dtypes in itertools.product(LARGE, PAIRS):
        if "e" not in dtypes:
            judge_dtypes(counts, text, einsum_of(text), dtypes, [shape, shape], 0)


# ---- the tests ----


def sliced(every, one_in):
    """As many cases as one in so many of them, by a seed."""
    rng = np.random.default_rng(20)
    return [every[i] for i in rng.permutation(len(every))[: len(every) // one_in]]


def test_every_subscript(verdicts, full):
    """Einsum against loops: 3 sizes of each axis, both modes, vmap, and vmap of vjp."""
    counts = verdicts("contractions")
    assert run(counts, sliced(cases(), 1 if full else 60)) == 0
    counts.settle()


def test_lists_of_labels(verdicts, full):
    """The list spelling of einsum, which takes another way to the labels."""
    counts = verdicts("contractions by lists")
    plain = [case for case in cases() if "." not in case[0]]
    for seed, (text, terms, out, shapes) in enumerate(sliced(plain, 20 if full else 200)):
        assert judge(counts, f"list {text}", listed(text), terms, out, shapes, seed)
    counts.settle()


def test_other_spellings(verdicts):
    """matmul, dot, inner, tensordot and so on against loops."""
    counts = verdicts("contractions in other spellings", KNOWN_CONVERSIONS)
    outside = run_spellings(counts)
    counts.name += f" ({outside} shapes that NumPy refuses)"
    counts.settle()


def test_dtypes_that_wrap_around(verdicts, full):
    """Bools, small integers and mixed precisions: NumPy's value and dtype."""
    counts = verdicts("contractions of mixed dtypes", KNOWN_CONVERSIONS)
    run_dtypes(counts, sliced(cases(), 10 if full else 200))
    counts.settle()


# ---- the faults that the net has to find ----


def lone_axes_left(monkeypatch):
    """Leave the axes that one operand alone has to the engine, which fits some of them."""
    right = _contract.cotangent_spec

    def pulled(*given):
        return right(*given)[0], False

    monkeypatch.setattr(_contract, "cotangent_spec", pulled)


def lone_axes_in_their_dtype(monkeypatch):
    """Sum the axes that one operand alone has before it is cast."""
    right = _contract._prepare

    def prepared(x, steps, other):
        return right(x, steps, x)

    monkeypatch.setattr(_contract, "_prepare", prepared)


def stacks_in_any_dtype(monkeypatch):
    """Sum a stack of products in the dtype that numpy.sum chooses."""

    def run(self, x, y):
        return np.sum(self.plan.run(x, y), axis=self.axes)

    monkeypatch.setattr(_contract.SummedPlan, "run", run)


def pairs_in_their_dtype(monkeypatch):
    """Multiply the first two of several operands before they are cast."""
    monkeypatch.setattr(_einsum, "_promote", lambda arrays: arrays)


def test_lone_axes_that_nobody_spreads_are_found(monkeypatch):
    lone_axes_left(monkeypatch)
    counts = Verdicts("planted", KNOWN_CONVERSIONS)
    run(counts, sliced(cases(), 400))
    run_spellings(counts)
    assert len(counts.wrong) > 20


@pytest.mark.parametrize(
    "plant", [lone_axes_in_their_dtype, stacks_in_any_dtype, pairs_in_their_dtype]
)
def test_sums_in_another_dtype_are_found(plant, monkeypatch):
    plant(monkeypatch)
    counts = Verdicts("planted", KNOWN_CONVERSIONS)
    run_dtypes(counts, sliced(cases(), 1000))
    assert counts.wrong
