# pyright: standard, reportMissingModuleSource=false
"""Calls with the types that checkers have to reveal, which a test compares with the results.

Where the checkers differ, the comment has what mypy reveals, then what pyright does.
"""

from typing import NamedTuple, reveal_type

import numpy as np
import numpy.typing as npt

import functier as ft
import functier.numpy as fnp
import functier.numpy.linalg as fla
import functier.scipy.special as fsp
import functier.scipy.stats as fst

Array = npt.NDArray[np.float64]
XS: Array = np.ones(3)


class Pair(NamedTuple):
    a: Array
    b: float


class Model:
    @ft.compile
    def replayed(self, x: float) -> float:
        return 2 * x

    @ft.vmap(in_dims=(None, 0))
    def mapped(self, x: float) -> float:
        return 2 * x


def number(x: float) -> float:
    return x * x


def total(w: Array, x: Array, scale: float = 1.0) -> np.float64:
    found: np.float64 = np.sum(w * x) * scale
    return found


def doubled(x: Array) -> Array:
    return 2 * x


def both(x: float) -> tuple[float, float]:
    return x, 2 * x


def pair(x: Array) -> Pair:
    return Pair(x, 1.0)


def loss(p: Pair, *, times: int = 1) -> float:
    return p.b * times


def with_aux(w: Array) -> tuple[np.float64, dict[str, Array]]:
    return np.sum(w), {"w": w}


def several(*xs: Array) -> np.float64:
    found: np.float64 = np.sum(xs[0] * xs[1])
    return found


def of_tensors(x: ft.Tensor) -> ft.Tensor:
    return x * 2


def summed(x: ft.Tensor) -> ft.Tensor:
    return x.sum()


reveal_type(ft.vmap(number)(XS))  # array
reveal_type(ft.vmap(doubled)(XS))  # array
reveal_type(ft.vmap(both)(XS))  # tuple[array, ...]
reveal_type(ft.vmap(pair)(np.ones((2, 3))))  # Pair
reveal_type(ft.vmap(lambda x: x * 2)(XS))  # array
reveal_type(ft.vmap(np.sin)(XS))  # array
reveal_type(ft.vmap(ft.grad(number))(XS))  # array
reveal_type(ft.vmap(ft.grad(total), in_dims=(None, 0))(XS, np.ones((2, 3))))  # array
reveal_type(ft.vmap(of_tensors)(XS))  # array
reveal_type(Model().mapped(XS))  # array
reveal_type(ft.grad(number)(2.0))  # float
reveal_type(ft.grad(ft.grad(number))(2.0))  # float
reveal_type(ft.grad(total)(XS, XS, scale=2.0))  # array
reveal_type(ft.grad(total, 1)(XS, XS))  # array
reveal_type(ft.grad(total, argnums=(0, 1))(XS, XS))  # tuple[array, array]
reveal_type(ft.grad(total, argnums=2)(XS, XS, 1.0))  # Any
reveal_type(ft.grad(with_aux, has_aux=True)(XS))  # tuple[array, dict[str, array]]
reveal_type(ft.grad(loss)(Pair(XS, 1.0), times=2))  # Pair
reveal_type(ft.grad(lambda x: np.sum(x * x))(XS))  # array
reveal_type(ft.grad(several)(XS, XS))  # array
reveal_type(ft.grad(summed)(XS))  # array
reveal_type(ft.value_and_grad(number)(2.0))  # tuple[float, float]
reveal_type(ft.grad_and_value(total)(XS, XS))  # tuple[array, float64]
reveal_type(ft.jacrev(number)(1.0))  # float64
reveal_type(ft.jacrev(doubled)(XS))  # array
reveal_type(ft.jacrev(np.sin)(XS))  # Any
reveal_type(ft.jacfwd(np.sin, chunk_size=2)(XS))  # Any
reveal_type(ft.jacfwd(lambda x: x * x)(XS))  # array
reveal_type(ft.jacfwd(pair)(XS))  # Any
reveal_type(ft.hessian(total)(XS, XS))  # array
reveal_type(ft.jvp(doubled, (XS,), (XS,)))  # tuple[array, array]
reveal_type(ft.vjp(doubled, XS)[1](XS))  # tuple[array]
reveal_type(ft.compile(number)(1.0))  # float
reveal_type(ft.compile(ft.grad(total))(XS, XS))  # array
reveal_type(ft.compile(number).explain())  # str
reveal_type(Model().replayed(1.0))  # float
reveal_type(ft.custom_vjp(ft.checkpoint(doubled)).fun(XS))  # array
reveal_type(fnp.arange(3))  # array
reveal_type(fla.inv(np.eye(2)))  # array
reveal_type(fnp.random.default_rng(0))  # Generator
reveal_type(fsp.expit)  # Any; ufunc
reveal_type(fst.norm)  # Any; norm_gen
