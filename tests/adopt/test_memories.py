"""Values that adopted code keeps of a call: right or refused in a transform, and plain after it."""

import adopt_support as support
import numpy as np
import pytest

import functier as ft
from support.basics import close, has_all

X = 0.7

MEMORIES = {
    "dict": """
        last = {}
        def f(x):
            if last and abs(x - last["x"]) < 1e-6:
                return last["y"]
            last["x"], last["y"] = x, np.sin(x)
            return last["y"]
    """,
    "globals": """
        _x = _y = None
        def f(x):
            global _x, _y
            if _x is not None and np.allclose(x, _x):
                return _y
            _x, _y = x, np.sin(x)
            return _y
    """,
    "attributes": """
        class Solver:
            def __init__(self):
                self._x = self._y = None
            def run(self, x):
                if self._x is None or not np.array_equal(x, self._x):
                    self._x, self._y = x, np.sin(x)
                return self._y * 1.0
        f = Solver().run
    """,
    "class": """
        class Solver:
            x = y = None
            @classmethod
            def run(cls, x):
                if cls.x is None or abs(cls.x - x) > 1e-9:
                    cls.x, cls.y = x, np.sin(x)
                return cls.y
        def f(x): return Solver.run(x)
    """,
    "pairs": """
        cache = []
        def f(x):
            for kept, y in cache:
                if np.all(np.abs(kept - x) < 1e-9):
                    return y
            cache.append((x, np.sin(x)))
            return cache[-1][1]
    """,
    "rounded key": """
        cache = {}
        def f(x):
            key = round(float(x), 8)
            if key not in cache:
                cache[key] = np.sin(x)
            return cache[key]
    """,
    "closure": """
        def memo(g):
            store = []
            def h(x):
                if store and np.isclose(store[0], x):
                    return store[1]
                store[:] = [x, g(x)]
                return store[1]
            return h
        @memo
        def f(x): return np.sin(x)
    """,
    "helpers": """
        last = {}
        def find(x):
            return last["y"] if last and np.allclose(x, last["x"]) else None
        def keep(x, y):
            last["x"], last["y"] = x, y
        def f(x):
            y = find(x)
            if y is None:
                y = np.sin(x)
                keep(x, y)
            return y
    """,
    "another key": """
        last = {}
        def f(x):
            if last and abs(2 * x - last["k"]) < 1e-6:
                return last["y"] * 1.0
            last["k"], last["y"] = 2 * x, np.sin(x)
            return last["y"]
    """,
    "two lists that every call adds to": """
        xs, ys = [], []
        def f(x):
            found = [y for k, y in zip(xs, ys) if np.isclose(k, x)]
            y = found[0] if found else np.sin(x)
            xs.append(x)
            ys.append(y)
            return y
    """,
    "a list that every call adds to": """
        log = []
        def f(x):
            found = [y for k, y in log if np.isclose(k, x)]
            log.append((x, found[0] if found else np.sin(x)))
            return log[-1][1]
    """,
    "function": """
        def f(x):
            if hasattr(f, "x") and f.x == x:
                return f.y
            f.x, f.y = x, np.sin(x)
            return f.y
    """,
}

REFUSED = ft.ConversionError, ft.DataDependentError

RUNS = {
    "grad": (lambda f: ft.grad(f)(X), np.cos(X)),
    "jvp": (lambda f: ft.jvp(f, (X,), (1.0,))[1], np.cos(X)),
    "vmap": (lambda f: ft.vmap(f)(np.array([X, X + 1.0]))[0], np.sin(X)),
    "vmap(grad)": (lambda f: ft.vmap(ft.grad(f))(np.array([X, X + 1.0]))[0], np.cos(X)),
    "compile(grad)": (lambda f: ft.compile(ft.grad(f))(X), np.cos(X)),
}


@pytest.fixture
def made(tmp_path):
    """Return a function that makes an adopted module of a text."""
    adoptions = []

    def make(text):
        module = support.module_of(tmp_path, "        import numpy as np\n" + text)
        adoptions.append(ft.adopt(module))
        return module

    yield make
    for adoption in adoptions:
        adoption.undo()


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("plain_first", [False, True])
def test_what_is_kept_for_near_inputs_is_right_or_refused_and_plain_after(
    plain_first, run, name, made
):
    f = made(MEMORIES[name]).f
    call, expected = RUNS[run]
    if plain_first:
        close(f(X), np.sin(X))
    refusals = 0
    for _ in range(2):
        try:
            close(np.asarray(call(f))[()], expected)
        except REFUSED:
            refusals += 1
    assert plain_first or refusals < 2 or (run[:4], name) == ("vmap", "rounded key")
    close(np.float64(f(X)), np.sin(X))


def test_a_refusal_names_the_place_and_emptying_it_helps(made):
    module = made(MEMORIES["dict"])
    module.f(X)
    with pytest.raises(ft.ConversionError) as caught:
        ft.grad(module.f)(X)
    has_all(str(caught.value), f"{module.__name__}.last['x']", "empty that before the call")
    close(ft.grad(ft.finite_difference(module.f))(X + 0.1), np.cos(X + 0.1), 1e-6)
    module.last.clear()
    close(ft.grad(module.f)(X), np.cos(X))


def test_another_input_has_its_derivative(made):
    module = made(MEMORIES["attributes"])
    module.f(X)
    close(ft.grad(module.f)(2.0), np.cos(2.0))
    close(ft.grad(lambda x: module.f(x) + module.f(x))(1.0), 2 * np.cos(1.0))


def test_what_depends_on_the_size_alone_is_used_again(made):
    module = made("""
        weights = {}
        def f(x):
            if len(x) not in weights:
                weights[len(x)] = np.linspace(1.0, 2.0, len(x))
            return weights[len(x)] @ x
    """)
    x = np.array([1.0, 1.5, 2.5])
    module.f(x)
    for _ in range(2):
        close(ft.grad(module.f)(x), np.linspace(1.0, 2.0, 3))


RECORDS = {
    "pairs": ("(x, x * x)", lambda x: (x, x * x)),
    "dicts": (
        '{"x": x, "value": x * x, "of": None}',
        lambda x: {"x": x, "value": x * x, "of": None},
    ),
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("run", ["grad", "jvp"])
def test_a_record_of_all_calls_is_no_memory(run, name, made):
    row, plain = RECORDS[name]
    module = made(f"""
        class Model:
            def __init__(self): self.history = []
            def f(self, x):
                self.history.append({row})
                return x * x
        f = Model().f
    """)
    call, _ = RUNS[run]
    module.f(X)
    for _ in range(2):
        close(call(module.f), 2 * X)
    assert module.f.__self__.history == [plain(X)] * 3


def test_a_record_with_a_name_for_each_row_is_a_memory(made):
    """The row of another name does not tell that this one was computed."""
    module = made("""
        rows = []
        def named(n, x):
            for m, k, y in rows:
                if m == n and k == x:
                    return y
            rows.append((n, x, n * np.sin(x)))
            return rows[-1][2]
        def f(x): return named(4, x) + named(3, x)
    """)
    module.named(3, X)
    with pytest.raises(ft.ConversionError, match="rows"):
        ft.grad(module.f)(X)


def test_what_a_call_has_kept_before_it_raised_is_plain(made):
    module = made("""
        last = {}
        def f(x):
            last["x"] = [x * 2.0, (x, "x")]
            raise ValueError("after it")
    """)
    with pytest.raises(ValueError, match="after it"):
        ft.jacfwd(ft.grad(module.f))(X)
    assert module.last == {"x": [2 * X, (X, "x")]}


def test_an_array_that_is_kept_is_one_of_numpy_and_an_inner_level_leaves_the_outer_ones(made):
    module = made("""
        class Filter:
            def step(self, x):
                self.state = np.zeros(2)
                self.state[0] = x * x
                return self.state.sum()
        filter = Filter()
    """)
    step = module.filter.step
    close(ft.grad(step)(3.0), 6.0)
    assert type(module.filter.state) is np.ndarray and module.filter.state.tolist() == [9.0, 0.0]
    close(ft.grad(lambda x: ft.grad(step)(x) * module.filter.state[0])(3.0), 2 * 9.0 + 6.0 * 6.0)
    ft.vmap(step)(np.array([2.0, 3.0]))
    assert module.filter.state.tolist() == [9.0, 0.0]


def test_what_users_keep_is_theirs(made):
    module, seen = made("        def f(x): return x * x"), []
    ft.grad(lambda x: seen.append(x) or module.f(x))(X)
    with pytest.raises(ft.EscapedTensorError):
        seen[0] + 1.0


def test_of_batches_inside_one_another_the_last_example_is_kept(made):
    module = made("""
        last = {}
        def f(x):
            last["x"] = x * 2.0
            return x
    """)
    x = np.arange(6.0).reshape(2, 3)
    ft.vmap(ft.vmap(module.f))(x)
    assert module.last == {"x": 10.0}
    ft.vmap(ft.vmap(ft.grad(module.f)))(x + 1.0)
    assert module.last == {"x": 12.0}


def test_keys_of_a_cache_are_plain_when_the_level_has_ended(made):
    module = made("""
        cache = {}
        def part(n, x):
            if (n, x) not in cache:
                cache[n, x] = n * np.sin(x)
            return cache[n, x]
        def f(x):
            if x not in cache:
                cache[x] = part(2, x) + part(3, x)
            return cache[x]
    """)
    x = np.array([X, 0.8, X])
    module.f(X)
    for _ in range(2):
        close(ft.vmap(module.f, branches="split")(x), 5 * np.sin(x))
    keys = [(2, X), (3, X), X, (2, 0.8), (3, 0.8), 0.8]
    assert list(module.cache) == keys
    assert module.f(0.8) == module.cache[0.8] == 5 * np.sin(0.8)
