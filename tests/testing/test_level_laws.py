"""The laws of a level: functier's kinds pass them, and each faulty kind fails one."""

import numpy as np
import pytest

import functier as ft
from functier.protocol import Level, run
from functier.testing import check_level, level_laws

LAWS = level_laws()


def looped(f, x):
    results = [f(row) for row in x]
    if isinstance(results[0], (tuple, list)):
        return [np.stack(column) for column in zip(*results)]
    return np.stack(results)


class Right(Level):
    """A kind with a value and nothing else; the faulty ones change one method."""

    def apply(self, op, call):
        value = self.compute(op, call)
        if isinstance(value, (tuple, list)):
            return self.several(value)
        return self.join(value)

    def compute(self, op, call):
        return call.run([self.lower(x) for x in call.operands])

    def several(self, values):
        return type(values)(map(self.join, values))

    def join(self, value):
        return self.cls.join(value)

    @classmethod
    def call(kind, f, x):
        return run(kind, "call(f)", [x], lambda level: level.lower(f(level.cls.join(x))))


KINDS = {
    "Right": (Right.call, None),
    "vmap": (lambda f, x: ft.vmap(f)(x), looped),
    "chunks": (lambda f, x: ft.vmap(f, chunk_size=1)(x), looped),
    "vjp": (lambda f, x: ft.vjp(f, x)[0], None),
    "jvp": (lambda f, x: ft.jvp(f, (x,), (np.ones_like(x),))[0], None),
    "jet": (lambda f, x: ft.jet(f, (x,), ([np.ones_like(x)],))[0], None),
    "linearize": (lambda f, x: ft.linearize(f, x)[0], None),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", KINDS)
def test_a_kind_passes_a_law(name, law):
    call, plain = KINDS[name]
    check_level(call, laws=[law], **({"plain": plain} if plain else {}))


class Subtracts(Right):
    def compute(self, op, call):
        value = super().compute(op, call)
        return -value if op.name == "numpy.subtract" else value


class Sorts(Right):
    def compute(self, op, call):
        return (
            self.lower(call.operands[0]) if op.name == "numpy.sort" else super().compute(op, call)
        )


class Several(Right):
    def several(self, values):
        return self.join(values[0])


class Floats(Right):
    def join(self, value):
        return super().join(value * 1.0 if value.dtype.kind in "bi" else value)


class Writes(Right):
    def compute(self, op, call):
        value = super().compute(op, call)
        return value + 1 if op.name == "numpy.astype" else value  # as a write casts first


class Outermost(Right):
    first = None

    def lower(self, x):
        return Level.lower(type(self).first or self, x)

    @classmethod
    def call(kind, f, x):
        def body(level):
            kind.first, before = kind.first or level, kind.first
            try:
                return level.lower(f(level.cls.join(x)))
            finally:
                kind.first = before

        return run(kind, "call(f)", [x], body)


class Chooses(Right):
    def compute(self, op, call):
        value = super().compute(op, call)
        return value if op.name != "numpy.exp" or value[0, 0] > 1 else 0 * value


class Stops(Right):
    def join(self, value):
        return super().join(ft.stop_gradient(value))


class Swallows(Right):
    @classmethod
    def call(kind, f, x):
        try:
            return super().call(f, x)
        except Exception as error:
            if "Broken" in type(error).__name__:
                return x
            raise


class Changes(Right):
    @classmethod
    def call(kind, f, x):
        result = super().call(f, x)
        if f is np.exp and type(x) is np.ndarray:  # which shares no memory with the result
            x[0] = 0.0
        return result


FAULTY = {
    "operators": Subtracts.call,
    "functions": Sorts.call,
    "results": Several.call,
    "dtypes": Floats.call,
    "writes": Writes.call,
    "itself": Outermost.call,
    "batch": Chooses.call,
    "derivative": Stops.call,
    "escape": lambda f, x: ft.jvp(f, (x,), (np.ones_like(x),), escape="passthrough")[0],
    "errors": Swallows.call,
    "argument": Changes.call,
}


def test_each_law_has_a_faulty_kind():
    assert FAULTY.keys() == LAWS.keys()


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_kind_fails_its_law_alone(name):
    failed = []
    for law in LAWS:
        try:
            check_level(FAULTY[name], laws=[law])
        except ft.testing.GradcheckError as error:
            assert f"the law {law!r} fails" in str(error)
            failed.append(law)
    assert failed == [name]


def test_an_unknown_law_is_refused():
    with pytest.raises(ValueError, match="write some of operators, "):
        check_level(Right.call, laws=["all"])
