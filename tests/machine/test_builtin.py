"""A builtin takes what its forms say and nothing else, and keeps or loses no reference."""

import gc
import random
import sys
import tracemalloc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._cpython import objects
from functier._programs.entries import Mismatch
from functier._programs.graph import form_of
from functier._programs.machine.calls import abi, builtin
from functier._programs.machine.calls.builtin import Signature, make_builtin
from functier._programs.machine.compiler import engine
from support.basics import raises
from support.hand_parts import ADD, NUMBER, ONE, TWO, adder, make, refuse

pytestmark = pytest.mark.inside("Builtins are made by hand, and called with wrong arguments.")


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")


# ---- copies of random forms ----

SCALARS = [*"?bhilqBHILQfd", *"FD"]


def value_of(rng, dense=False):
    """Return an array, a number of NumPy's or one of Python's."""
    how = rng.randrange(10)
    if how < 3:
        return [rng.random(), rng.randrange(-9, 9) * 2**55, rng.random() < 0.5][how]
    dtype = np.dtype(rng.choice(SCALARS))
    raw = np.frombuffer(rng.randbytes(16 * 4096), np.uint8)
    raw = (raw % 2).astype(dtype) if dtype.kind == "b" else raw.view(dtype)
    if how < 5:
        return raw[0]
    shape = tuple([rng.choice([0, 1, 1, 2, 3, 5]) for _ in range(rng.randrange(4))])
    steps = tuple([1 if dense else rng.randrange(1, 3) for _ in shape])
    full = [size * step for size, step in zip(shape, steps)]
    x = np.array(raw[: int(np.prod(full))]).reshape(full)
    x = x[tuple([slice(None, None, step) for step in steps])]
    return x.transpose(rng.sample(range(x.ndim), x.ndim))


def copies(signature, sources):
    """Return the text of a part whose outputs are copies of inputs."""
    forms = signature.inputs
    lines = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    names = [f"%i{i}" for i in range(len(forms))]
    names += [f"%o{j}" for j in range(len(signature.outputs))]
    given = ", ".join([f"ptr {name}" for name in (["%row"] if signature.many else names)])
    lines.append(f"define i32 @part({given}, ptr %arena) nounwind {{")
    for k, name in enumerate(names if signature.many else ()):
        lines.append(f"%at{k} = getelementptr ptr, ptr %row, i64 {k}")
        lines.append(f"{name} = load ptr, ptr %at{k}")
    for j, i in enumerate(sources):
        size = 1 if forms[i].kind is bool else 8
        if forms[i].dtype is not None:
            size = forms[i].dtype.itemsize * int(np.prod(forms[i].shape))
        call = "call void @llvm.memcpy.p0.p0.i64"
        lines.append(f"{call}(ptr %o{j}, ptr %i{i}, i64 {size}, i1 false)")
    return "\n".join([*lines, "ret i32 0", "}"])


def same(x, y):
    """Tell if two values have the same type, form and bits."""
    if type(x) is not type(y):
        return False
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
            return False
        return isinstance(x, np.generic) or 0 in x.shape or moves(x) == moves(y)
    return x == y


def moves(x):
    """Return the strides that matter."""
    return [stride for stride, size in zip(x.strides, x.shape) if size > 1]


def others(x, rng):
    """Return values that are not of the form of a value."""
    yield from ["1", None, [x], 1j, Ellipsis]
    if isinstance(x, np.ndarray):
        yield from [np.zeros(x.shape, "f2"), np.zeros(x.shape, ">i4"), x[None], x.tolist()]
        yield np.ma.array(x)
        if x.ndim:
            yield np.concatenate([x, x], rng.randrange(x.ndim)) if x.size else np.ones(3)
        if x.size > 1:
            wide = [np.repeat(x, n, -1)[..., ::n] for n in (2, 3)]
            yield from [y for y in wide if moves(y) != moves(x)]
    elif isinstance(x, np.generic):
        yield from [np.array(x), x.item(), np.float16(1)]
    else:
        yield from [np.float64(1.5), np.array(x), type("Own", (float,), {})(1.5)]
        yield 1 if type(x) is bool else True


def wrong_calls(count, seed=0):
    """Run builtins of random forms; return the calls that were answered in a wrong way."""
    rng, wrong = random.Random(seed), []
    for _ in range(count):
        values = [value_of(rng, dense=rng.random() < 0.5) for _ in range(rng.randrange(1, 5))]
        forms = tuple(map(form_of, values))
        sources = [
            i for i, form in enumerate(forms)
            if form.kind is not np.ndarray
            or builtin.is_dense(form.shape, form.strides, form.dtype.itemsize)
        ]  # fmt: skip
        sources = [rng.choice(sources) for _ in range(rng.randrange(4))] if sources else []
        single = len(sources) == 1
        signature = Signature(
            forms, tuple([forms[i] for i in sources]), rng.choice([0, 64, 9000]),
            rng.random() < 0.5, single,
        )  # fmt: skip
        call = make_builtin(copies(signature, sources), signature, refuse, opt=0)
        expected = tuple([values[i] for i in sources])
        found = call(*values)
        found = (found,) if single else found
        if type(found) is not tuple or not all(map(same, found, expected)):
            wrong.append((expected, found))
        if any([np.shares_memory(y, x) for y in found for x in values if np.ndim(y)]):
            wrong.append((signature, "memory of an input"))
        for i, x in enumerate(values):
            for y in others(x, rng):
                try:
                    call(*values[:i], y, *values[i + 1 :])
                except Mismatch:
                    continue
                wrong.append((forms[i], form_of(y)))
        for args in (values[:-1], [*values, values[0]]):
            raises(Mismatch, lambda: call(*args))
    return wrong


@pytest.mark.parametrize("many", [0, builtin.MANY])
def test_random_forms(monkeypatch, many):
    monkeypatch.setattr(builtin, "MANY", many)
    assert wrong_calls(12) == []


def test_many_values_take_no_more_text_than_some():
    def lines(n):
        signature = Signature((form_of(ONE),) * n, (form_of(ONE),) * n)
        return len(builtin.Wrapper(signature).module.splitlines())

    assert lines(100) == lines(1000)


@pytest.mark.slow
@pytest.mark.parametrize("many", [0, builtin.MANY])
def test_random_forms_many(monkeypatch, many):
    monkeypatch.setattr(builtin, "MANY", many)
    assert wrong_calls(400, 1) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["results", "size", "dtype"])
def test_planted_faults_are_found(monkeypatch, fault):
    if fault == "results":
        monkeypatch.setattr(builtin, "strides_of", lambda f: builtin.packed(f.shape, 8))
    else:
        line, answer = {"size": ("xor i64", "0"), "dtype": ("icmp ne i8", "true")}[fault]
        value = builtin.Function.value

        def blind(self, text):
            return answer if text.startswith(line) else value(self, text)

        monkeypatch.setattr(builtin.Function, "value", blind)
    with pytest.raises((AssertionError, Mismatch, ValueError)):
        assert wrong_calls(30) == []


# ---- status, fallback, errors ----


def test_a_status_calls_the_fallback():
    calls = []
    call = adder(fallback=lambda *args: calls.append(args) or "fallback")
    three, four = ONE * 3, ONE * 4
    assert call(ONE, ONE) == [2.0] and not calls
    assert call(three, four) == "fallback"
    assert calls[0][0] is three and calls[0][1] is four


def test_errors_of_the_fallback_come_through():
    call = adder(fallback=lambda *args: 1 / 0)
    for _ in range(3):
        raises(ZeroDivisionError, lambda: call(ONE * 3, ONE * 4))
    assert call(ONE, ONE) == [2.0]


def test_arrays_that_are_not_aligned_go_to_the_fallback():
    bent = np.zeros(9, np.uint8)[1:].view(float)
    assert not bent.flags.aligned
    call = adder(fallback=lambda a, b: a + b + 40)
    assert call(ONE, bent) == [41.0] and call(bent, ONE) == [41.0]
    raises(Mismatch, lambda: call(bent, np.ones(2)))


def test_an_int_that_is_too_large_goes_to_the_fallback():
    signature = Signature((form_of(1),), (form_of(1),), single=True)
    call = make_builtin(copies(signature, [0]), signature, lambda x: x + 1, opt=0)
    for x in (0, -1, 2**63 - 1, -(2**63)):
        assert call(x) == x
    assert call(2**63) == 2**63 + 1 and call(-(2**70)) == -(2**70) + 1


def test_dtypes_that_are_equal_are_taken():
    noted = ONE.astype(np.dtype(float, metadata={"a": 1}))
    other = np.dtype("q" if np.dtype(np.int64).char == "l" else "l")
    assert adder()(noted, ONE) == [2.0]
    signature = Signature((form_of(np.arange(3)),), (), single=False)
    call = make_builtin(copies(signature, []), signature, refuse, opt=0)
    if other.itemsize == 8:
        assert call(np.arange(3, dtype=other)) == ()


def test_the_exception_can_be_chosen():
    raises(KeyError, lambda: adder(mismatch=KeyError)(1, 2))
    raises(TypeError, lambda: adder()(ONE, b=ONE), "keyword")


def test_forms_that_are_not_plain_memory_are_refused():
    for x in (np.array([None]), np.array(["a"]), np.zeros(1, ">f8"), "text", np.zeros(1, "M8[s]")):
        raises(ValueError, lambda: make("", [x, ONE], [ONE]), "a part")
    raises(ValueError, lambda: make("", [ONE, ONE], [np.zeros((4, 2))[:, ::2]]), "gaps")
    raises(ValueError, lambda: make("", [ONE, ONE], [ONE, ONE], single=True), "one output")


@pytest.mark.parametrize("many", [0, builtin.MANY])
def test_results_that_cannot_be_made_are_errors(monkeypatch, many):
    monkeypatch.setattr(builtin, "MANY", many)
    huge = form_of(ONE)._replace(shape=(2**59,))
    before = references()
    for outputs in ((huge,), (form_of(ONE), huge), (form_of(NUMBER), form_of(ONE), huge)):
        signature = Signature((form_of(ONE),) * 2, outputs)
        call = make_builtin(copies(signature, []), signature, refuse, opt=0)
        for _ in range(20):
            with pytest.raises((MemoryError, ValueError)):
                call(ONE, ONE)
    del call, outputs, signature
    gc.collect()
    assert references() == before
    call = adder(arena=2**60)
    raises(MemoryError, lambda: call(ONE, ONE))


# ---- references and memory ----


def references():
    gc.collect()  # what other tests have left holds dtypes too
    return [sys.getrefcount(x) for x in (ONE, ONE.dtype, np.float64, NUMBER, refuse)]


def calls_of_all_kinds():
    """Return functions that call builtins, each once."""
    fallback = adder(fallback=lambda a, b: None)
    scalar = make(ADD, [NUMBER, 2.0], [NUMBER], single=True)
    double = make(ADD, [ONE, NUMBER], [1.0], arena=5000, long=True)
    call = adder(arena=100)

    def refused():
        for args in ((ONE,), (ONE, 1.0), (ONE, TWO)):
            try:
                call(*args)
            except Mismatch:
                pass

    large = ONE * 6
    return [
        lambda: call(ONE, ONE), lambda: scalar(NUMBER, 2.0), lambda: double(ONE, NUMBER), refused,
        lambda: fallback(ONE, large),
    ]  # fmt: skip


def test_many_calls_keep_nothing():
    calls = calls_of_all_kinds()
    for run in calls:
        run()
    gc.collect()
    before = references()
    tracemalloc.start()
    try:
        kept = tracemalloc.get_traced_memory()[0]
        for run in calls:
            for _ in range(2000):
                run()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - kept < 2000
    finally:
        tracemalloc.stop()
    assert references() == before


def test_a_builtin_keeps_what_it_refers_to_and_nothing_stays():
    class Fallback:
        def __call__(self, a, b):
            return "fallback"

    class Other(Exception):
        pass

    fallback, mismatch = Fallback(), Other
    watch = [weakref.ref(fallback), weakref.ref(mismatch)]
    call = adder(fallback=fallback, mismatch=mismatch)
    watch.append(weakref.ref(call.__self__[2]))
    assert type(watch[2]()) is engine.Library
    assert not any(map(gc.is_tracked, call.__self__[:2]))  # the collector would empty them first
    del fallback, mismatch, Other
    gc.collect()
    assert call(ONE * 3, ONE * 4) == "fallback"
    with pytest.raises(watch[1]()):
        call(1)
    del call
    gc.collect()
    assert [ref() for ref in watch] == [None] * 3


def test_a_fallback_may_drop_or_hold_its_builtin():
    def drop(a, b):
        holder.clear()
        gc.collect()
        return "dropped"

    holder = {}
    holder["call"] = adder(fallback=drop)
    assert holder["call"](ONE * 3, ONE * 4) == "dropped" and not holder
    held = {}
    held["call"] = adder(fallback=held.get)
    watch = weakref.ref(held["call"].__self__[2])
    del held
    gc.collect()
    assert watch() is None


# ---- the process ----


def test_the_text_has_no_address():
    """Two builtins of one form have one text, whatever they refer to."""
    texts = []
    load = engine.load
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "load", lambda text, *rest: texts.append(text) or load(text, *rest))
        for fallback, error in ((lambda a, b: 0, Mismatch), (lambda a, b: 1, KeyError)):
            adder(fallback=fallback, mismatch=error)
    assert texts[0] == texts[1]
    assert all([str(id(x)) not in texts[0] for x in (np.ndarray, ONE.dtype, Mismatch)])


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("DATA", "arrays_hold"), ("NDIM", "arrays_hold"), ("DTYPE", "arrays_hold"),
        ("FLAGS", "arrays_hold"), ("TYPE", "arrays_hold"), ("ALIGNED", "arrays_hold"),
        ("VALUE", "numbers_hold"), ("TYPE", "numbers_hold"),
    ],
)  # fmt: skip
def test_other_layouts_are_noticed(monkeypatch, name, check):
    assert getattr(abi, check)()
    other = 2 if name == "ALIGNED" else getattr(abi, name) - 8
    monkeypatch.setattr(abi, name, other)
    assert not getattr(abi, check)()


def test_a_process_without_builtins_says_why(monkeypatch):
    free = SimpleNamespace(implementation=sys.implementation, version="free-threading build")
    assert abi.functions_hold()
    assert builtin.supported() == ""
    for module, name, value, message in (
        (abi, "arrays_hold", lambda: False, "arrays"),
        (abi, "numbers_hold", lambda: False, "numbers"),
        (abi, "functions_hold", lambda: False, "functions"),
        (objects, "sys", free, "lock"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            assert message in abi.reason.__wrapped__()
            patch.setattr(abi, "reason", abi.reason.__wrapped__)
            with pytest.raises(RuntimeError, match=message):
                adder()
