"""The calls of NumPy in a contraction under vmap: one product, of known shapes.

An operand is written by its axes, as in einsum: ``NMC`` is a batch of N matrices of M rows
and C columns, ``MC`` one matrix that all examples share. A product is written by what
reaches NumPy, where ``NM`` is one axis of N * M:

    NM,C@C,J        numpy.dot: one product of matrices (vectors)
    N:M,C@N:C,J     numpy.matmul: a stack of N products; ``N,S:`` is a stack of N * S
    N,C,1*N,1,J     numpy.multiply, broadcasting: no product is needed
    NM,SJ'          an operand that had to be copied
    +sum            numpy.sum of the result

So no axis is looped over in Python, and what stands before a colon is what remains of the
batch as a stack of products: the axes that both operands have, and those that merging into
the rows or columns of one product would have to copy (see NOTE [what becomes a BLAS axis]
in `_rules.linalg.contract`; copying is slower, but for tiny matrices).

An outer `Tensor` subclass, whose lower hook sees every NumPy call of a rule, writes them
down. (For arrays themselves a stack of products of vectors, ``N:1,C@N:C,1``, is one call of
`numpy.vecdot`, and a large outer product one of `numpy.einsum`: the same, sooner.) The tables
are read from the text below, and each line is checked in whole.
"""

import operator

import numpy as np
import pytest

import functier as ft

SIZES = {"K": 13, "N": 5, "S": 11, "M": 2, "C": 3, "J": 7}  # primes: a product has one spelling
VIEWS = {"reshape", "transpose"}
calls: list = []


class Counted(ft.Tensor):
    """A tensor that writes down what NumPy is asked to do with it."""

    @classmethod
    def __tensor_dispatch__(cls, func, types, args=(), kwargs=None):
        result = super().__tensor_dispatch__(func, types, args, kwargs)
        calls.append((func.__name__, [x.elem() for x in args if isinstance(x, cls)], result))
        return result


def spelled(shape):
    """``NM,C`` for the shape (5 * 2, 3)."""
    axes = []
    for n in shape:
        letters = ""
        for letter, size in SIZES.items():
            while n % size == 0:
                letters, n = letters + letter, n // size
        assert n == 1
        axes.append(letters or "1")
    return ",".join(axes)


def stack(shape):
    """``N:M,C`` for a stack of matrices."""
    return spelled(shape[:-2]) + ":" * (len(shape) > 2) + spelled(shape[-2:])


def products():
    """The calls that were written down, but for views: the products, in words."""
    signs = {"dot": ("@", spelled), "matmul": ("@", stack), "multiply": ("*", spelled)}
    words, copies = [], []
    for name, operands, result in calls:
        if name in VIEWS:
            if not np.may_share_memory(result.elem(), operands[0]):
                copies.append(result.elem())
            continue
        if name not in signs:
            words.append(name)
            continue
        sign, spell = signs[name]
        shapes = [x.shape for x in operands]
        if sign == "*":  # aligned, and in one order
            ndim = max(map(len, shapes))
            shapes = sorted([(1,) * (ndim - len(s)) + s for s in shapes], reverse=True)
        marks = ["'" * any(np.may_share_memory(x, c) for c in copies) for x in operands]
        words.append(sign.join(spell(s) + mark for s, mark in zip(shapes, marks)))
    text = "+".join(words)
    assert len(copies) == text.count("'")
    calls.clear()
    return text


def make(axes, seed):
    return np.random.default_rng(seed).normal(size=[SIZES[i] for i in axes])


def over(func, levels, *operands):
    """`func` under a vmap for each of the batch axes `levels`, the outermost first."""
    for level in reversed(levels):
        func = ft.vmap(func, tuple(0 if level in axes else None for axes in operands))
    return func


def pull(func, x, y, g, position):
    """The cotangent of one operand."""
    if position == 0:
        return ft.vjp(lambda x: func(x, y), x)[1](g)[0]
    return ft.vjp(lambda y: func(x, y), y)[1](g)[0]


def products_of(func, levels, left, right, both=True):
    """Return the cost of `func` under the vmaps `levels`; its values are checked on the way.

    In a row: the value; the cotangents of the left and of the right operand of one example
    (vjp under vmap); those of the whole operands (vmap under vjp), unless not `both`.
    """
    own = [axes.lstrip(levels) for axes in (left, right)]
    rows = [i for axes in own for i in axes if i != "C"]
    out = levels + "".join(sorted(dict.fromkeys(rows), key="SMJ".index))
    x, y, g = map(make, (left, right, out), range(3))
    X, Y, G = map(Counted, (x, y, g))
    pulls = [(f"{out},{right}", (g, y), own[0], left), (f"{left},{out}", (x, g), own[1], right)]

    def check(result, subscripts, *operands):
        np.testing.assert_allclose(result.elem(), np.einsum(subscripts, *operands), atol=1e-12)
        return products()

    calls.clear()
    made = [check(over(func, levels, left, right)(X, Y), f"{left},{right}->{out}", x, y)]
    for i, (subscripts, operands, example, _) in enumerate(pulls):
        pulled = over(lambda x, y, g, i=i: pull(func, x, y, g, i), levels, left, right, out)
        found = check(pulled(X, Y, G), f"{subscripts}->{levels}{example}", *operands)
        assert found.startswith(made[0])
        made.append(found[len(made[0]) + 1 :])
    for i, (subscripts, operands, _, whole) in enumerate(pulls * both):
        found = check(
            pull(over(func, levels, left, right), X, Y, G, i), f"{subscripts}->{whole}", *operands
        )
        made.append(found[len(made[0]) + 1 :])
    return made


def table(text):
    """The lines of a table: the operands, and the products."""
    lines = [line.split() for line in text.strip().splitlines()[1:]]
    return {(line[0], line[1]): line[2:] for line in lines}


MATMUL = table("""
left  right  value            its left         its right        whole left       whole right
NC    NC     N:1,C@N:C,1      N,C*N,1          N,C*N,1          N,C*N,1          N,C*N,1
NC    C      N,C@C            N,1*1,C          N,C*N,1          N,1*1,C          N@N,C
C     NC     N,C@C            N,C*N,1          N,1*1,C          N@N,C            N,1*1,C
NC    NCJ    N:1,C@N:C,J      N:C,J@N:J,1      N,C,1*N,1,J      N:C,J@N:J,1      N,C,1*N,1,J
NC    CJ     N,C@C,J          N,J@J,C          N,C,1*N,1,J      N,J@J,C          C,N@N,J
C     NCJ    1,C@N:C,J        N:C,J@N:J,1      N,1,J*1,C,1      NJ@NJ,C'         N,1,J*1,C,1
NC    NSCJ   N,1:1,C@N,S:C,J  N:1,SJ@N:SJ,C'   N,S,1,J*N,1,C,1  N:1,SJ@N:SJ,C'   N,S,1,J*N,1,C,1
NC    SCJ    N,C@S:C,J        N,SJ@SJ,C'       N,S,1,J*N,1,C,1  N,SJ@SJ,C'       C,N@N,SJ
C     NSCJ   1,C@N,S:C,J      N:1,SJ@N:SJ,C'   N,S,1,J*1,1,C,1  NSJ@NSJ,C'       N,S,1,J*1,1,C,1
NMC   NC     N:M,C@N:C,1      N,M,1*N,1,C      N:1,M@N:M,C      N,M,1*N,1,C      N:1,M@N:M,C
NMC   C      NM,C@C           N,M,1*1,1,C      N:1,M@N:M,C      N,M,1*1,1,C      NM@NM,C
MC    NC     N,C@C,M          N,M,1*N,1,C      N,M@M,C          M,N@N,C          N,M@M,C
NMC   NCJ    N:M,C@N:C,J      N:M,J@N:J,C      N:C,M@N:M,J      N:M,J@N:J,C      N:C,M@N:M,J
NMC   CJ     NM,C@C,J         NM,J@J,C         N:C,M@N:M,J      NM,J@J,C         C,NM@NM,J
MC    NCJ    M,C@N:C,J        N:M,J@N:J,C      C,M@N:M,J        M,NJ'@NJ,C'      C,M@N:M,J
NMC   NSCJ   N,1:M,C@N,S:C,J  N:M,SJ'@N:SJ,C'  N,1:C,M@N,S:M,J  N:M,SJ'@N:SJ,C'  N,1:C,M@N,S:M,J
NMC   SCJ    NM,C@S:C,J       NM,SJ'@SJ,C'     N,1:C,M@N,S:M,J  NM,SJ'@SJ,C'     SJ,NM'@NM,C
MC    NSCJ   M,C@N,S:C,J      N:M,SJ'@N:SJ,C'  C,M@N,S:M,J      M,NSJ'@NSJ,C'    C,M@N,S:M,J
NSMC  NC     N:SM,C@N:C,1     N,S,M,1*N,1,1,C  N:1,SM@N:SM,C    N,S,M,1*N,1,1,C  N:1,SM@N:SM,C
NSMC  C      NSM,C@C          N,S,M,1*1,1,1,C  N:1,SM@N:SM,C    N,S,M,1*1,1,1,C  NSM@NSM,C
SMC   NC     N,C@C,SM         N,S,M,1*N,1,1,C  N,SM@SM,C        SM,N@N,C         N,SM@SM,C
NSMC  NCJ    N:SM,C@N:C,J     N:SM,J@N:J,C     N:C,SM@N:SM,J    N:SM,J@N:J,C     N:C,SM@N:SM,J
NSMC  CJ     NSM,C@C,J        NSM,J@J,C        N:C,SM@N:SM,J    NSM,J@J,C        C,NSM@NSM,J
SMC   NCJ    SM,C@N:C,J       N:SM,J@N:J,C     C,SM@N:SM,J      SM,NJ'@NJ,C'     C,SM@N:SM,J
NSMC  NSCJ   N,S:M,C@N,S:C,J  N,S:M,J@N,S:J,C  N,S:C,M@N,S:M,J  N,S:M,J@N,S:J,C  N,S:C,M@N,S:M,J
NSMC  SCJ    N,S:M,C@S:C,J    N,S:M,J@S:J,C    N,S:C,M@N,S:M,J  N,S:M,J@S:J,C    S:C,NM'@S:NM,J'
SMC   NSCJ   S:M,C@N,S:C,J    N,S:M,J@N,S:J,C  S:C,M@N,S:M,J    S:M,NJ'@S:NJ,C'  S:C,M@N,S:M,J
""")
"""One batch axis N: the product of one example, the cotangents of its operands (vjp under
vmap), and those of the whole operands (vmap under vjp), which sum over N what all share."""

NESTED = table("""
left  right  value            its left         its right        whole left        whole right
NKC   NKC    N,K:1,C@N,K:C,1  N,K,C*N,K,1      N,K,C*N,K,1      N,K,C*N,K,1       N,K,C*N,K,1
NKC   NC     N:K,C@N:C,1      N,K,1*N,1,C      N,K,C*N,K,1      N,K,1*N,1,C       N:1,K@N:K,C
NKC   KC     K:N,C@K:C,1      N,K,1*1,K,C      N,K,C*N,K,1      N,K,1*1,K,C       K:C,N@K:N,1
NC    NKC    N:K,C@N:C,1      N,K,C*N,K,1      N,K,1*N,1,C      N:1,K@N:K,C       N,K,1*N,1,C
KC    NKC    K:1,C@K:C,N      N,K,C*N,K,1      N,K,1*1,K,C      K:1,N@K:N,C       N,K,1*1,K,C
NKC   C      KN,C@C           N,K,1*1,1,C      N,K,C*N,K,1      N,K,1*1,1,C       KN@KN,C
C     NKC    KN,C@C           N,K,C*N,K,1      N,K,1*1,1,C      KN@KN,C           N,K,1*1,1,C
NC    KC     N,C@C,K          N,K,1*1,K,C      N,K,1*N,1,C      N,K@K,C           K,N@N,C
KC    NC     N,C@C,K          N,K,1*N,1,C      N,K,1*1,K,C      K,N@N,C           N,K@K,C
NKC   NKCJ   N,K:1,C@N,K:C,J  N,K:C,J@N,K:J,1  N,K,C,1*N,K,1,J  N,K:C,J@N,K:J,1   N,K,C,1*N,K,1,J
NKC   NCJ    N:K,C@N:C,J      N:K,J@N:J,C      N,K,C,1*N,K,1,J  N:K,J@N:J,C       N:C,K@N:K,J
NKC   KCJ    K:N,C@K:C,J      K:C,J@K:J,N      N,K,C,1*N,K,1,J  K:C,J@K:J,N       K:C,N@K:N,J
NC    NKCJ   N,1:1,C@N,K:C,J  N,K:C,J@N,K:J,1  N,K,1,J*N,1,C,1  N:1,KJ@N:KJ,C'    N,K,1,J*N,1,C,1
KC    NKCJ   K:1,C@N,K:C,J    N,K:C,J@N,K:J,1  N,K,1,J*1,K,C,1  K:1,NJ'@K:NJ,C'   N,K,1,J*1,K,C,1
NKC   CJ     KN,C@C,J         KN,J@J,C         N,K,C,1*N,K,1,J  KN,J@J,C          C,KN@KN,J
C     NKCJ   1,C@N,K:C,J      N,K:C,J@N,K:J,1  N,K,1,J*1,1,C,1  KNJ@KNJ,C'        N,K,1,J*1,1,C,1
NC    KCJ    N,C@K:C,J        K:C,J@K:J,N      N,K,1,J*N,1,C,1  N,KJ@KJ,C'        C,N@N,KJ
KC    NCJ    K,C@N:C,J        N:K,J@N:J,C      N,K,1,J*1,K,C,1  K,NJ'@NJ,C'       C,K@N:K,J
NKMC  NKC    N,K:M,C@N,K:C,1  N,K,M,1*N,K,1,C  N,K:1,M@N,K:M,C  N,K,M,1*N,K,1,C   N,K:1,M@N,K:M,C
NKMC  NC     N:KM,C@N:C,1     N,K,M,1*N,1,1,C  N,K:1,M@N,K:M,C  N,K,M,1*N,1,1,C   N:1,KM@N:KM,C
NKMC  KC     N,K:M,C@K:C,1    N,K,M,1*1,K,1,C  N,K:1,M@N,K:M,C  N,K,M,1*1,K,1,C   K:C,NM'@K:NM,1'
NMC   NKC    N:K,C@N:C,M      N,K,M,1*N,K,1,C  N:K,M@N:M,C      N:M,K@N:K,C       N:K,M@N:M,C
KMC   NKC    K:M,C@K:C,N      N,K,M,1*N,K,1,C  K:N,M@K:M,C      K:M,N@K:N,C       K:N,M@K:M,C
NKMC  C      KNM,C@C          N,K,M,1*1,1,1,C  N,K:1,M@N,K:M,C  N,K,M,1*1,1,1,C   KNM@KNM,C
MC    NKC    KN,C@C,M         N,K,M,1*N,K,1,C  KN,M@M,C         M,KN@KN,C         KN,M@M,C
NMC   KC     NM,C@C,K         N,K,M,1*1,K,1,C  N:K,M@N:M,C      N:M,K@K,C         K,NM'@NM,C
KMC   NC     N,C@C,KM         N,K,M,1*N,1,1,C  K:N,M@K:M,C      KM,N@N,C          N,KM@KM,C
NKMC  NKCJ   N,K:M,C@N,K:C,J  N,K:M,J@N,K:J,C  N,K:C,M@N,K:M,J  N,K:M,J@N,K:J,C   N,K:C,M@N,K:M,J
NKMC  NCJ    N:KM,C@N:C,J     N:KM,J@N:J,C     N,K:C,M@N,K:M,J  N:KM,J@N:J,C      N:C,KM@N:KM,J
NKMC  KCJ    N,K:M,C@K:C,J    N,K:M,J@K:J,C    N,K:C,M@N,K:M,J  N,K:M,J@K:J,C     K:C,NM'@K:NM,J'
NMC   NKCJ   N,1:M,C@N,K:C,J  N,K:M,J@N,K:J,C  N,1:C,M@N,K:M,J  N:M,KJ'@N:KJ,C'   N,1:C,M@N,K:M,J
KMC   NKCJ   K:M,C@N,K:C,J    N,K:M,J@N,K:J,C  K:C,M@N,K:M,J    K:M,NJ'@K:NJ,C'   K:C,M@N,K:M,J
NKMC  CJ     KNM,C@C,J        KNM,J@J,C        N,K:C,M@N,K:M,J  KNM,J@J,C         C,KNM@KNM,J
MC    NKCJ   M,C@N,K:C,J      N,K:M,J@N,K:J,C  C,M@N,K:M,J      M,KNJ'@KNJ,C'     C,M@N,K:M,J
NMC   KCJ    NM,C@K:C,J       N,K:M,J@K:J,C    N,1:C,M@N,K:M,J  NM,KJ'@KJ,C'      KJ,NM'@NM,C
KMC   NCJ    KM,C@N:C,J       N:KM,J@N:J,C     K:C,M@N,K:M,J    N:KM,J@N:J,C+sum  C,KM@N:KM,J
""")
"""Two batch axes, K inside N: one product still, whichever of them an operand varies along."""


@pytest.mark.parametrize(("left", "right"), MATMUL)
def test_matmul_under_vmap(left, right):
    assert products_of(np.matmul, "N", left, right) == MATMUL[left, right]


@pytest.mark.parametrize(("left", "right"), NESTED)
def test_matmul_under_two_vmaps(left, right):
    assert products_of(np.matmul, "NK", left, right) == NESTED[left, right]


def einsum(subscripts):
    return lambda x, y: np.einsum(subscripts, x, y)


def listed(*labels):
    return lambda x, y: np.einsum(x, labels[0], y, *labels[1:])


def tensordot(i, j):
    return lambda x, y: np.tensordot(x, y, (i, j))


VECTORS = {"matvec": ["MC C", "SMC C"], "vecmat": ["C CJ", "C SCJ"]}  # since NumPy 2.2
SPELLINGS = [
    (operator.matmul, [f"{x[1:]} {y[1:]}" for x, y in MATMUL if x[0] == y[0] == "N"]),
    (np.linalg.matmul, ["MC CJ", "SMC SCJ"]),
    (np.dot, ["C C", "C CJ", "MC C", "MC CJ", "SMC C", "SMC CJ"]),
    (lambda x, y: x.dot(y), ["C C", "C CJ", "MC C", "MC CJ"]),
    (np.inner, ["C C", "MC C", "SMC C"]),
    (np.vdot, ["C C"]),
    (np.vecdot, ["C C"]),
    (np.linalg.vecdot, ["C C"]),
    *[(getattr(np, name), cases) for name, cases in VECTORS.items() if hasattr(np, name)],
    (lambda x, y: np.linalg.multi_dot([x, y]), ["C CJ", "MC C", "MC CJ"]),
    (einsum("c,c"), ["C C"]),
    (einsum("c,cj"), ["C CJ"]),
    (einsum("mc,c"), ["MC C"]),
    (einsum("mc,cj->mj"), ["MC CJ"]),
    (einsum("smc,cj->smj"), ["SMC CJ"]),
    (einsum("mc,scj->smj"), ["MC SCJ"]),
    (einsum("...c,...cj->...j"), ["C CJ", "C SCJ"]),
    (einsum("...mc,...cj->...mj"), ["MC CJ", "SMC CJ", "MC SCJ", "SMC SCJ"]),
    (listed([0, 1], [1, 2], [0, 2]), ["MC CJ"]),
    (tensordot(0, 0), ["C C", "C CJ"]),
    (tensordot(0, 1), ["C SCJ"]),
    (tensordot(1, 0), ["MC C", "MC CJ"]),
    (tensordot(2, 0), ["SMC C", "SMC CJ"]),
]


@pytest.mark.parametrize("varies", ["N N", "N ", " N"])
@pytest.mark.parametrize(
    "func, case", [(func, case) for func, cases in SPELLINGS for case in cases]
)
def test_every_spelling_makes_the_products_of_matmul(func, case, varies):
    left, right = (n + axes for n, axes in zip(varies.split(" "), case.split()))

    assert products_of(func, "N", left, right) == MATMUL[left, right]


OUTER = table("""
left  right  value        its left     its right    whole left   whole right
NM    NJ     N,M,1*N,1,J  N:M,J@N:J,1  N:1,M@N:M,J  N:M,J@N:J,1  N:1,M@N:M,J
NM    J      N,M,1*1,1,J  NM,J@J       N:1,M@N:M,J  NM,J@J       NM@NM,J
M     NJ     N,1,J*1,M,1  N:M,J@N:J,1  1,M@N:M,J    M,NJ'@NJ     1,M@N:M,J
""")
"""Without a sum: multiplications, and products where a cotangent sums."""


@pytest.mark.parametrize(("left", "right"), OUTER)
@pytest.mark.parametrize("func", [np.outer, np.linalg.outer, einsum("m,j->mj"), tensordot([], [])])
def test_outer_products_are_multiplied(func, left, right):
    assert products_of(func, "N", left, right) == OUTER[left, right]
