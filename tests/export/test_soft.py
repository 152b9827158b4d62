"""Own functions for instructions that a processor lacks, beside those of this processor."""

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from functier._export.soft import merged, text_of
from functier._programs.machine.compiler import engine

pytestmark = pytest.mark.inside("A processor that has the instructions does not call these.")

N = 20_000
SPECIAL = np.array([
    0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
    1.7976931348623157e308, 1 + 2.0**-52, 1 - 2.0**-53, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7,
])  # fmt: skip

LOOP = """\
define void @each({pointers}, ptr %own, ptr %known, i64 %n) {{
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %j, %l ]
{loads}
  %a = call {real} @{name}({given})
  %b = call {real} @{intrinsic}({given})
  %p = getelementptr {real}, ptr %own, i64 %i
  %q = getelementptr {real}, ptr %known, i64 %i
  store {real} %a, ptr %p
  store {real} %b, ptr %q
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %l, label %done
done:
  ret void
}}
declare {real} @{intrinsic}({kinds})
"""


def both(name, *values):
    """The results of an own function, and those of the instruction."""
    single = values[0].dtype == np.float32
    real, suffix = ("float", "f32") if single else ("double", "f64")
    base = name.removesuffix("f") if single else name
    intrinsic = {"fmax": "maxnum", "fmin": "minnum"}.get(base, base)
    names = "xyz"[: len(values)]
    loads = "\n".join([
        f"  %p{k} = getelementptr {real}, ptr %{k}, i64 %i\n  %v{k} = load {real}, ptr %p{k}"
        for k in names
    ])  # fmt: skip
    text = LOOP.format(
        pointers=", ".join([f"ptr %{k}" for k in names]), loads=loads, real=real,
        name=f"own.{name}", given=", ".join([f"{real} %v{k}" for k in names]),
        intrinsic=f"llvm.{intrinsic}.{suffix}", kinds=", ".join([real] * len(values)),
    )  # fmt: skip
    own = text_of(name).replace(f"@{name}(", f"@own.{name}(")
    library = engine.load(merged([text, own]), ["each"], stored=False)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(values) + 2), ctypes.c_int64)
    found = [np.empty_like(values[0]) for _ in range(2)]
    call(library["each"])(*[x.ctypes.data for x in (*values, *found)], values[0].size)
    return found


def are_equal(own, known):
    """All bits are; a NaN is one with any bits."""
    bits = np.uint32 if own.dtype == np.float32 else np.uint64
    same = (own.view(bits) == known.view(bits)) | (np.isnan(own) & np.isnan(known))
    return bool(same.all())


def drawn(rng, count, dtype):
    """Numbers of any bits, of like magnitude, with sums that cancel, and with small results."""
    bits = np.uint32 if dtype == np.float32 else np.uint64
    top = np.finfo(dtype).nmant + 1

    def near(low, high):
        whole = rng.integers(-(2**top), 2**top, N).astype(dtype)
        return np.ldexp(whole, rng.integers(low, high, N) - top).astype(dtype)

    any_bits = [rng.integers(0, np.iinfo(bits).max, N, bits, True).view(dtype)
                for _ in range(count)]  # fmt: skip
    few = [near(-8, 8) for _ in range(count)]
    tiny = np.finfo(dtype).minexp // 2 - 4
    small = [near(tiny - 9, tiny + 9) for _ in range(count - 1)] + [near(2 * tiny - 9, 2 * tiny)]
    cases = [any_bits, few, small]
    if count == 3:
        x, y, _ = few
        cases += [[x, y, -x * y], [x, y, np.nextafter(-x * y, dtype(np.inf))],
                  [x, y, near(-60, 9)]]  # fmt: skip
    grid = np.meshgrid(*[SPECIAL.astype(dtype)] * count)
    return [*cases, [np.ascontiguousarray(x).ravel() for x in grid]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("name", "count"),
    [("fma", 3), ("floor", 1), ("ceil", 1), ("trunc", 1), ("rint", 1), ("fmax", 2), ("fmin", 2)],
)
def test_an_own_function_has_the_bits_of_the_instruction(name, count, dtype):
    own = f"{name}f" if dtype == np.float32 else name
    with np.errstate(all="ignore"):
        for values in drawn(np.random.default_rng(7), count, dtype):
            found, known = both(own, *values)
            if name in ("fmax", "fmin"):  # either of two zeros will do
                found, known = found + dtype(0), known + dtype(0)

            assert are_equal(found, known)


def test_a_wrong_bit_is_found(monkeypatch):
    right = text_of("fma")
    wrong = right.replace("%lost = icmp ne i128 %again, %small", "%lost = icmp ne i128 0, 0")
    assert wrong != right
    monkeypatch.setitem(text_of.__globals__, "FUSED", wrong)
    with pytest.raises(AssertionError):
        test_an_own_function_has_the_bits_of_the_instruction("fma", 3, np.float64)
