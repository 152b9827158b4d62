"""Arrays that plain arithmetic of adopted code makes take tensors, as those of numpy.zeros do."""

import numpy as np
import pytest
from adopt_support import module_of

import functier as ft
from support.basics import close

CODE = """
import numpy as np

def item(k, t):
    made = 0 * t
    for i in range(len(t)):
        made[i] = np.sin(k * t[i])
    return made

def in_place(k, t):
    made = t * 0.0 + 1.0
    made *= k
    made += t
    return made

def masked(k, t):
    made = -t + 2 * t
    made[t > 0.5] = k * t[t > 0.5]
    made[0:1] -= k
    return made

def twice(k, t):
    a = t / 2
    b = a
    b[0] = k
    c = a - 1
    c[1] = k * a[0]
    return a + b + c

def closed(k, t):
    made = t + 1
    def add(i):
        made[i] = made[i] * k
    add(0)
    add(1)
    return made

def whole(k, t):
    count = np.arange(3) * 2
    count[1] = 5
    return count * k

class Keeper:
    def __init__(self, kept):
        self.kept = kept
    def __mul__(self, other):
        return self.kept

def shared(k, t):
    keeper = Keeper(t)
    made = keeper * 2
    made[0] = k
    return made + keeper.kept
"""
T = np.array([0.3, 0.6, 0.9])


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    made = module_of(tmp_path_factory.mktemp("code"), CODE)
    with ft.adopt(made):
        yield made


@pytest.mark.parametrize("name", ["item", "in_place", "masked", "twice", "closed", "whole"])
def test_what_arithmetic_has_made_takes_tensors(name, module):
    f = getattr(module, name)
    slope = (f(1.3 + 1e-6, T) - f(1.3 - 1e-6, T)) / 2e-6
    ks = np.array([1.3, 0.4])
    close(ft.jvp(lambda k: f(k, T), (1.3,), (1.0,)), (f(1.3, T), slope), 1e-8)
    close(ft.jacrev(lambda k: f(k, T))(1.3), slope, 1e-8)
    close(ft.vmap(lambda k: f(k, T))(ks), np.stack([f(k, T) for k in ks]))
    close(ft.compile(ft.jacfwd(lambda k: f(k, T)))(1.3), slope, 1e-8)
    assert type(f(1.3, T)) is np.ndarray


def test_an_array_that_somebody_else_has_takes_none(module):
    with pytest.raises(ft.MutationError):
        ft.grad(lambda k: module.shared(k, T.copy()).sum())(1.3)
