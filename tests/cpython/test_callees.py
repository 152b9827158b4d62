"""Code whose local variables go through a function before they are called."""

import functools

import numpy as np
import pytest

from functier._cpython.rewriting import Conversions, Names, rewrite

pytestmark = pytest.mark.inside("The room has no public name.")

SEEN = []


def convert(f):
    SEEN.append(f)
    return functools.partial(f, 10) if f is max else f


def once(f, x):
    return f(x) + 1


def twice(f, x, *more, **words):
    return [f(x, *more, **words), f(*[x, *more], key=None)]


def in_branches(f, x):
    try:
        for i in range(3):
            x = f(x, 2) if i % 2 else f(x)
            if x > 100:
                raise ValueError(f(1))
    except ValueError:
        return f(7)
    return x


def closing(f, x):
    def inner(y):
        return f(y, 4)

    return [f(v, x) for v in (1, 2)], inner(3)


def with_many_names(f, x):
    """An index of a name and jumps that need longer instructions."""
    for i in range(2):
        x = f(x, i)
        x = [x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x][i]
        x = (x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7, x + 8, x + 9, x + 10, x + 11)[i]
        x = (x * 1, x * 2, x * 3, x * 4, x * 5, x * 6, x * 7, x * 8, x * 9, x * 10, x * 11)[i]
    return x


def suspended(f, x):
    yield f(x)
    yield f(x, 5)


def from_tables(f, x):
    table = {"f": [f], "g": f}
    return table["f"][0](x, *[1]) + table["g"](y=table["g"](x), x=[x][0])


def with_converted(code, *names):
    nothing = lambda *_: None  # noqa: E731
    return rewrite(code, Names({}, nothing, nothing, nothing, Conversions(*names)))


NAMES = "_convert x", "_convert y", "_convert z"
FUNCTIONS = once, twice, in_branches, closing, with_many_names, suspended, from_tables


def tell(x, y=3, *more, key=0):
    return x * 2 + y


@pytest.mark.parametrize("func", FUNCTIONS)
def test_calls_of_local_variables_are_converted_and_nothing_else(func):
    def result(f):
        found = func(f, 2)
        return list(found) if func is suspended else found

    wanted, before = result(tell), func.__code__
    func.__globals__["_convert x"] = convert
    try:
        func.__code__ = with_converted(before, *NAMES)
        SEEN.clear()
        assert result(tell) == wanted and tell in SEEN
        assert func.__code__.co_lines is not None
        lines = [line for *_, line in func.__code__.co_lines()]
        assert set(lines) == {line for *_, line in before.co_lines()}
    finally:
        func.__code__ = before
        del func.__globals__["_convert x"]


def test_what_convert_returns_is_called():
    before = once.__code__
    once.__globals__["_convert x"] = convert
    try:
        once.__code__ = with_converted(before, *NAMES)
        assert once(max, 3) == 11
    finally:
        once.__code__ = before
        del once.__globals__["_convert x"]


class Counter:
    def count(self, x=1):
        return 7


def owned(f, x):
    values = [x, x, f]
    return (values if x else f).count(x), [values.count(v) for v in values], values.index(x)


def test_objects_with_methods_of_a_name_are_converted():
    before = owned.__code__
    owned.__globals__["_convert y"] = lambda x: Counter() if len(x) == 3 else x
    try:
        owned.__code__ = with_converted(before, *NAMES, ["count"])
        assert owned("f", 2) == (7, [7, 7, 7], 0)
    finally:
        owned.__code__ = before
        del owned.__globals__["_convert y"]


def test_code_without_such_calls_stays_the_same_object():
    def plain(x):
        return len(x) + x.count(1)

    assert with_converted(plain.__code__, *NAMES) is plain.__code__


def filled(x, y):
    made = x * 2 + y
    other = kept = y - x
    made[0] = x[0] - y[0]
    made += other
    return made, kept, x + y


def test_results_of_arithmetic_that_code_names_and_writes_to_are_converted():
    """Not those that are written at once, or returned, or that an operator changes in place."""
    before, seen = filled.__code__, []

    def note(x):
        seen.append(x.copy())
        return x

    filled.__globals__["_convert z"] = note
    try:
        filled.__code__ = with_converted(before, *NAMES)
        filled(np.ones(2), np.arange(2.0))
    finally:
        filled.__code__ = before
        del filled.__globals__["_convert z"]
    assert [x.tolist() for x in seen] == [[2.0, 3.0]]
