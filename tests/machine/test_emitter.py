"""The writer of instructions: memory, casts, refusals, branches and functions."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.compiler import engine
from functier._programs.machine.text.emitter import FLOAT64, Declarations, Emitter, Value
from support.kernels import kernel, kernels

pytestmark = pytest.mark.inside("The emitter of instructions has no public name.")

DTYPES = "?bBhHiIlLfd"


def test_equal_instructions_are_written_once():
    e = Emitter(8)
    x = Value("%x", FLOAT64)

    assert e.add(x, 1.0) == e.add(x, 1.0)
    assert len(e.lines) == 1
    e.start("other")
    assert e.add(x, 1.0).text == "%v2"


def test_constants_know_their_numbers():
    for width in (0, 4):
        e = Emitter(width)
        for number, dtype in ((0.1, np.float64), (0.1, np.float32), (-3, np.int8), (True, np.bool)):
            constant = e.constant(number, dtype)
            assert e.literal(constant) == np.asarray(number, dtype)
        assert e.literal(Value("%x", FLOAT64)) is None
        assert e.literal(e.cast(e.constant(3, np.int8), np.float64)) == 3.0
        assert e.literal(e.cast(e.constant(300, np.int64), np.int8)) == 44
        assert e.literal(e.cast(e.constant(1e300), np.float32)) == np.inf
        assert not e.lines


def cast(dtype):
    return lambda e, x: e.cast(x, dtype)


NAMES = {np.dtype(c).name: c for c in DTYPES}


@pytest.mark.parametrize("source", NAMES)
def test_casts_are_numpys(source):
    dtype = np.dtype(source)
    values = {"b": [0, 1], "f": [0.0, -0.0, 1.5, 100.9, 0.1, 126.0]}.get(dtype.kind, [0, 1, 100])
    values = np.array(values).astype(dtype)
    made = kernels({name: (cast(c), [dtype]) for name, c in NAMES.items()}, 4 * (dtype.kind != "i"))
    for target, run in made.items():
        np.testing.assert_array_equal(run(values), values.astype(target))
        assert run.status == 0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_out_of_range_are_refused(source):
    integers = [name for name in NAMES if np.dtype(name).kind in "iu"]
    made = kernels({name: (cast(name), [source]) for name in integers})
    for target, run in made.items():
        limits = np.iinfo(target)
        above = np.array(2.0 ** (limits.bits - (limits.min < 0)), source)
        inside = [limits.min, np.nextafter(above, above.dtype.type(0))]
        if limits.bits < 32:
            inside += [limits.min - 0.5, limits.max + 0.5]
        inside = np.array(inside, source)
        np.testing.assert_array_equal(run(inside), inside.astype(target))
        assert run.status == 0
        for outside in (float(limits.max) + 1, 2.0 * limits.min - 1e3, np.nan, np.inf):
            run(np.array([1.0, outside, 2.0], source))
            assert run.status == 1, outside


@pytest.mark.parametrize("dtype", "?hd")
@pytest.mark.parametrize("stride", [-8, 0, 8, 24])
@pytest.mark.parametrize("width", [0, 4])
def test_lanes_have_strides(dtype, stride, width):
    dtype = np.dtype(dtype)
    e = Emitter(width)
    first = 128
    e.store(e.load("%in", dtype, stride=stride), "%out", stride=None if stride == 0 else stride)
    text = "define void @f(ptr %in, ptr %out) nounwind {\n" + "\n".join(e.lines)
    library = engine.load(text + "\n  ret void\n}", ["f"], opt=1, stored=False)
    raw = (
        np.random.default_rng(0).integers(0, 2 if dtype.kind == "b" else 100, 256).astype(np.uint8)
    )
    out = np.zeros_like(raw)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(library["f"])
    call(raw.ctypes.data + first, out.ctypes.data + first)
    step = stride or dtype.itemsize
    for lane in range(max(width, 1)):
        place = [first + lane * s for s in (stride, step)]
        assert (raw[place[0] :][: dtype.itemsize] == out[place[1] :][: dtype.itemsize]).all()


def root_or_double(e, x):
    """sqrt(x), and 2*x for large numbers, by a branch."""

    def doubled(e, large, x, usual):
        return e.select(large, e.lanewise("twice", lambda s, y: s.add(y, y), x)[0], usual)

    return e.rarely(e.compare("gt", x, 1.5), "doubled", doubled, (x,), (e.sqrt(x),))[0]


@pytest.mark.parametrize("outlined", [False, True])
@pytest.mark.parametrize("width", [0, 8])
def test_rare_lanes_branch(width, outlined):
    run = kernel(lambda e, x: e.call("root", root_or_double, x), "d", width, outlined)
    x = np.abs(np.random.default_rng(0).normal(size=99)) + 0.2
    np.testing.assert_array_equal(run(x), np.where(x > 1.5, 2 * x, np.sqrt(x)))


def test_functions_are_shared_by_the_emitters_of_a_module():
    declarations = Declarations()
    for prefix in "ab":
        e = Emitter(4, prefix, declarations, outlined=True)
        for name in ("%x", "%y"):
            e.call("root", root_or_double, Value(name, FLOAT64))
        assert sum("call" in line for line in e.lines) == 2
    assert declarations.text().count("define internal") == 3


def test_a_function_of_the_module_does_not_refuse():
    def refusing(e, x):
        e.refuse(e.compare("gt", x, 0.0))
        return x

    with pytest.raises(AssertionError, match="refuses"):
        Emitter(4, outlined=True).call("bad", refusing, Value("%x", FLOAT64))


def test_refusals_are_of_lanes():
    def rule(e, x):
        e.refuse(e.compare("gt", x, 5.0))
        e.refuse(e.compare("lt", x, -5.0))
        return x

    for width in (0, 4):
        run = kernel(rule, "d", width)
        for x, status in (([1.0, 2], 0), ([1.0, 6], 1), ([1, 1, 1, 1, 1, -9], 1), ([1, np.nan], 0)):
            run(np.array(x))
            assert run.status == status
    assert Emitter(4).refused() is None


def test_contraction_is_asked_for():
    x = Value("%x", FLOAT64)
    for contract in (False, True):
        e = Emitter(4, contract=contract)
        e.arithmetic("mul", x, x, e.contract)
        assert ("contract" in e.lines[0]) == contract
