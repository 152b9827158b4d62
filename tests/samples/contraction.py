"""Rows for contractions: every rank case, broadcasting, both spellings of einsum."""

import numpy as np

from ._row import integers, normal, row

C = complex
F = np.float32
U8 = np.full(3, 20, np.uint8)


def ranks(func, *pairs, **options):
    return [row(func, normal(*a), normal(*b), **options) for a, b in pairs]


def einsum(subscripts, *shapes, **options):
    return row(
        lambda *xs: np.einsum(subscripts, *xs, **options),
        *[normal(*s) for s in shapes],
        _name=f"einsum {subscripts} {options or ''}",
    )


def listed(*parts):
    """The list spelling: arrays at the even places."""
    arrays = [p for p in parts if isinstance(p, np.ndarray)]
    terms = [p for p in parts if not isinstance(p, np.ndarray)]

    def call(*xs):
        flat = [part for pair in zip(xs, terms) for part in pair]
        return np.einsum(*flat, *terms[len(xs) :])

    return row(call, *arrays, _name=f"einsum list {terms}")


MATMUL = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((4, 2, 3), (3, 2)),
    ((2, 3), (4, 3, 2)), ((4, 2, 3), (4, 3, 2)), ((2, 1, 2, 3), (4, 3, 2)), ((1, 2, 3), (4, 3, 2)),
    ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((1, 3), (3, 2)), ((2, 1), (1, 3)), ((2, 0), (0, 3)),
    ((0, 2), (2, 3)), ((3, 3), (3, 3)),
]  # fmt: skip
DOT = [
    ((), ()), ((), (3,)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
    ((2, 3), (3, 4)), ((2, 2, 3), (4, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((1,), (1,)),
    ((2, 0), (0, 3)),
]  # fmt: skip

ROWS = [
    *ranks(np.matmul, *MATMUL),
    *ranks(np.linalg.matmul, ((2, 3), (3, 2)), ((2, 2, 3), (3, 2))),
    row(np.matmul, normal(2, 3, dtype=C), normal(3, 2, dtype=C)),
    row(np.matmul, normal(3, dtype=C), normal(3, 2)),
    row(np.matmul, normal(2, 3), normal(3, dtype=C)),
    row(np.matmul, normal(3, dtype=C), normal(2, 3, 2, dtype=C)),
    row(np.matmul, normal(2, 3, dtype=F), normal(3, dtype=F)),
    row(np.matmul, normal(2, 3, dtype=F), normal(3)),
    row(np.matmul, normal(2, 3), integers(0, 3, 3, 2)),
    row(np.matmul, normal(2, 3).T, normal(3, 2).T),
    row(np.matmul, normal(3, 2, 4), normal(4, 2, 3), axes=[(1, 2), (0, 1), (0, 2)]),
    row(lambda x: np.matmul(x, [[1.0, 2.0], [3.0, 4.0]]), normal(3, 2), _name="matmul of a list"),
    row(lambda x: x @ x, normal(3), _name="x @ x"),
    row(lambda x: x @ x.T @ x, normal(2, 3), _name="x @ x.T @ x"),
    *ranks(np.dot, *DOT),
    row(np.dot, normal(2, 3, dtype=C), normal(2, 3, 2, dtype=C)),
    row(np.dot, normal(2, dtype=F), normal(2, dtype=F)),
    row(lambda x: np.dot(2.0, x), normal(3, dtype=F), _name="dot of a number"),
    row(lambda x: x.dot(x), normal(3), _name="x.dot(x)"),
    *ranks(np.inner, ((), (3,)), ((3,), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (3,)), ((3,), (2, 3))),
    row(np.inner, normal(2, 3, dtype=C), normal(3, dtype=C)),
    *ranks(np.vdot, ((3,), (3,)), ((2, 3), (3, 2)), ((), ())),
    row(np.vdot, normal(3, dtype=C), normal(3, dtype=C)),
    *ranks(np.outer, ((3,), (2,)), ((2, 2), (3,)), ((), (3,)), ((1,), (1,)), ((0,), (2,))),
    row(np.outer, normal(3, dtype=C), normal(2, dtype=C)),
    *ranks(np.linalg.outer, ((3,), (2,))),
    *ranks(np.tensordot, ((2, 3, 2), (3, 2, 4)), ((3, 2), (3, 2))),
    *ranks(np.tensordot, ((2, 3), (4,)), axes=0),
    *ranks(np.tensordot, ((2, 3, 4), (4, 2, 3)), axes=([1, 0], [2, 1])),
    *ranks(np.tensordot, ((2, 3, 4), (4, 2, 3)), axes=([-1, 1], [0, -1])),
    *ranks(np.tensordot, ((2, 3), (3,)), axes=(1, 0)),
    *ranks(np.linalg.tensordot, ((2, 3), (3, 2)), axes=1),
    *ranks(np.kron, ((2,), (3,)), ((2, 3), (3, 2)), ((2,), (3, 2)), ((), (2, 2))),
    *ranks(np.kron, ((2, 1, 2), (2, 3))),
    row(np.kron, normal(2, 2, dtype=C), normal(2, 1, dtype=C)),
    *ranks(np.cross, ((3,), (3,)), ((2, 3), (3,)), ((4, 1, 3), (2, 3))),
    *ranks(np.cross, ((3, 2), (3, 2)), axis=0),
    *ranks(np.cross, ((3, 2), (2, 3)), axisa=0, axisb=1, axisc=0),
    *ranks(np.linalg.cross, ((2, 3), (3,))),
    *ranks(np.linalg.cross, ((3, 2), (3, 2)), axis=0),
    *ranks(np.vecdot, ((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))),
    *ranks(np.vecdot, ((3, 2), (3, 2)), axis=0),
    *ranks(np.vecdot, ((3, 2), (2, 3)), axes=[0, 1]),
    row(np.vecdot, normal(2, 3, dtype=C), normal(3, dtype=C)),
    row(np.linalg.vecdot, normal(3, 2, dtype=C), normal(3, 2, dtype=C), axis=0),
    *[
        row(f, *[normal(*s, dtype=t) for s in shapes])
        for name, cases in {
            "matvec": [((2, 3), (3,)), ((4, 2, 3), (3,)), ((2, 3), (4, 3))],
            "vecmat": [((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (4, 3, 2))],
        }.items()
        if (f := getattr(np, name, None))
        for shapes in cases
        for t in (float, C)
    ],
    einsum("ij,jk", (2, 3), (3, 2)),
    einsum("ij,jk->ki", (2, 3), (3, 2)),
    einsum("i,i", (3,), (3,)),
    einsum("i,j->ij", (3,), (2,)),
    einsum("ij->ji", (2, 3)),
    einsum("ij->", (2, 3)),
    einsum("ij->j", (2, 3)),
    einsum("ba", (2, 3)),
    einsum("ii", (3, 3)),
    einsum("ii->i", (3, 3)),
    einsum("iij->j", (2, 2, 3)),
    einsum("iii->i", (2, 2, 2)),
    einsum("ii,ij->j", (3, 3), (3, 2)),
    einsum("i,j,k->ijk", (2,), (3,), (2,)),
    einsum("ij,jk,kl->il", (2, 3), (3, 2), (2, 3)),
    einsum("ij,jk,kl", (2, 3), (3, 2), (2, 3), optimize=True),
    einsum("ij,jk,kl", (2, 3), (3, 2), (2, 3), optimize=["einsum_path", (1, 2), (0, 1)]),
    einsum("i,ij,j", (2,), (2, 3), (3,), optimize="optimal"),
    einsum("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    einsum("...i,i...->...", (2, 3), (3, 2)),
    einsum("i...->...i", (2, 3, 2)),
    einsum("...,...", (2, 3), (3,)),
    einsum("b i j , b j -> b i", (4, 2, 3), (4, 3)),
    einsum("bhqd,bhkd->bhqk", (2, 2, 3, 2), (2, 2, 4, 2)),
    einsum("ij,ij->ij", (1, 3), (2, 3)),
    einsum("ij,ij->", (1, 3), (2, 3)),
    einsum("ij,kj->i", (2, 3), (4, 3)),
    einsum("ij,k->i", (2, 3), (4,)),
    einsum(",i->i", (), (3,)),
    einsum("ijk,jil->kl", (2, 3, 2), (3, 2, 2)),
    einsum("aib,cid->abcd", (2, 3, 2), (2, 3, 2)),
    row(
        lambda x, y: np.einsum("ij,j", x, y),
        normal(2, 3, dtype=C), normal(3, dtype=C), _name="einsum complex",
    ),
    row(lambda x: np.einsum("i,i,i", x, x, x), normal(3), _name="einsum of one, thrice"),
    row(
        lambda x: x * len(np.einsum_path("ij,jk", x, np.ones((3, 2)))[0]),
        normal(2, 3), _name="einsum_path",
    ),
    listed(normal(2, 3), [0, 1], normal(3, 2), [1, 2]),
    listed(normal(2, 3), [0, 1], normal(3, 2), [1, 2], [2, 0]),
    listed(normal(2, 2, 3), [..., 1], normal(3), [1], [...]),
    listed(normal(3, 3), [5, 5]),
    *[
        row(
            lambda *xs: np.linalg.multi_dot(xs),
            *[normal(*s) for s in shapes], _name=f"multi_dot {shapes}",
        )
        for shapes in (
            ((2, 3), (3, 2)), ((3,), (3, 2), (2,)), ((2, 3), (3, 2), (2,)),
            ((2, 3), (3, 4), (4, 2), (2, 3)),
        )
    ],
    # axes that an operand alone has, of which the result has as many
    einsum("i,j->j", (3,), (3,)),
    einsum("kk,i->i", (3, 3), (3,)),
    einsum("ii,jk->jk", (2, 2), (2, 2)),
    einsum("ij,j->i", (3, 1), (3,)),
    einsum("ij,kl->il", (2, 2), (2, 2)),
    einsum("i,jkk->j", (2,), (2, 2, 2)),
    row(lambda x: np.einsum("i,j->j", np.array([True, True]), x), normal(2), _name="einsum mask"),
    row(
        lambda x: np.einsum("i,i,j->", U8, U8, x), normal(2), _name="einsum three dtypes"
    ),
    einsum("iaj,ibj->ab", (2, 8, 9), (2, 8, 9)),  # a stack of products
]  # fmt: skip
