"""The parts of exported code: its names, its archive, and own functions for instructions."""

import ctypes
import shutil
import subprocess

import numpy as np
import optree
import pytest

pytest.importorskip("llvmlite")

import functier as ft
from functier._export import library, targets
from functier._export.objects import archive, symbols_of
from functier._export.soft import OWN, merged, text_of
from functier._programs.machine.compiler import engine
from support.c_programs import compiler, run
from support.exported import CASES, given

pytestmark = pytest.mark.inside("Own functions and names of object code are looked at.")


X86_64 = 62
"""The number of the processor in object code."""


def cube(x):
    return np.sum(x**3)


def export(path, func, *args, **options):
    return ft.export(path / "made", func, *args, shared=False, **options)


# ---- names and archives ----


def test_an_archive_of_odd_sizes_has_an_index():
    contents = archive({"a.o": b"odd", "b.o": b"even"}, {"a.o": ["f"], "b.o": ["g", "h"]})

    assert contents.startswith(b"!<arch>\n/ ")
    assert len(contents) % 2 == 0
    count, first, second, third = np.frombuffer(contents[68:84], ">u4")
    assert (count, second) == (3, third)
    assert contents[first : first + 60 + 3].endswith(b"odd")
    assert contents[second : second + 60 + 4].endswith(b"even")


def test_object_code_has_no_other_names(tmp_path):
    made = export(tmp_path, ft.grad(cube), np.ones(3))
    code = made.object.read_bytes()
    if code[:4] != b"\x7fELF":
        pytest.skip("it has another format")
    defined, needed = symbols_of(code)
    assert defined == {"made"}
    assert needed <= {"memcpy", "memset", "memmove"}
    if shutil.which("nm"):
        done = subprocess.run(["nm", "-g", made.object], capture_output=True, text=True)
        assert {line.split()[-1] for line in done.stdout.splitlines()} == defined | needed


@pytest.mark.parametrize("name", ["malloc", "sin", "PyErr_Occurred", "functier.parallel"])
def test_a_name_from_elsewhere_is_found(tmp_path, monkeypatch, name):
    right = library.module_of

    def planted(functions):
        text = right(functions).replace("ret i32 0\n", f"call void @{name}()\n  ret i32 0\n")
        return f"{text}\ndeclare void @{name}()"

    monkeypatch.setattr(library, "module_of", planted)
    with pytest.raises(ft.UnsupportedError, match=f"the code would call {name}, which"):
        export(tmp_path, cube, np.ones(3))


def test_what_is_no_object_code_has_no_symbols():
    with pytest.raises(ValueError, match="this is not object code in the format ELF"):
        symbols_of(b"MZ" + bytes(80))


@pytest.mark.parametrize(
    ("target", "cpu"),
    [("thumbv7em-none-eabihf", None), ("thumbv7em-none-eabihf", "cortex-m7"),
     ("x86_64-linux-gnu", "x86-64"), ("riscv64-linux-gnu", "sifive-u74")],
)  # fmt: skip
def test_other_processors_need_the_compilers_runtime_alone(tmp_path, target, cpu):
    def f(x):
        return np.sum(np.exp(x) * np.floor(x)) + np.max(x)

    made = export(tmp_path, ft.value_and_grad(f), np.ones(5), target=target, cpu=cpu)
    _, needed = symbols_of(made.object.read_bytes())

    assert all(x.startswith("__") or x.startswith("mem") for x in needed)
    assert not any("unwind" in x or "gxx" in x for x in needed)
    known = made.header.read_text().split("runtime that it calls: ")[1].split(".\n")[0]
    assert known == (", ".join(sorted(needed)) or "none")


@pytest.mark.parametrize(
    ("triple", "cc", "emulator", "cpu"),
    [
        ("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "qemu-aarch64", "x86-64-v3"),
        ("armv7-linux-gnueabihf", "arm-linux-gnueabihf-gcc", "qemu-arm", "x86-64"),
    ],
)
def test_an_emulator_of_arm_gives_the_bits_of_this_processor(
    tmp_path, monkeypatch, triple, cc, emulator, cpu
):
    """They are those of the same text: vectors of 16 bytes, and fused products on both or neither.

    The processor for the second one rounds a product and a sum twice: own code does it once.
    """
    tool = compiler(emulator)
    compiler(cc)
    monkeypatch.setitem(targets.KNOWN, "x86_64", (cpu, "", 16))
    made = ft.export(tmp_path / "cases", CASES, target=triple)
    here = ft.export(tmp_path / "here" / "cases", CASES, target="portable", shared=False)
    if not here.functions or here.object.read_bytes()[18] != X86_64:
        pytest.skip("this processor is another one")
    for name, (func, *args) in CASES.items():
        status, results = run(
            made, name, given(args), tmp_path, cc=cc, emulator=(tool,), options=("-static",)
        )
        found = optree.tree_leaves(here.functions[name](*args))
        wanted = optree.tree_leaves(ft.compile(func)(*args))

        assert status == 0
        assert results == [np.ascontiguousarray(x).tobytes() for x in found]
        for x, y in zip(found, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


# ---- own functions ----

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
    """The results of an own function, and those of the instruction or of the C library."""
    single = values[0].dtype == np.float32
    real, suffix = ("float", "f32") if single else ("double", "f64")
    base = name.removesuffix("f") if single else name
    known = {"fmax": "maxnum", "fmin": "minnum"}.get(base, base)
    intrinsic = name if base == "fmod" else f"llvm.{known}.{suffix}"
    names = "xyz"[: len(values)]
    loads = "\n".join([
        f"  %p{k} = getelementptr {real}, ptr %{k}, i64 %i\n  %v{k} = load {real}, ptr %p{k}"
        for k in names
    ])  # fmt: skip
    text = LOOP.format(
        pointers=", ".join([f"ptr %{k}" for k in names]), loads=loads, real=real,
        name=f"own.{name}", given=", ".join([f"{real} %v{k}" for k in names]),
        intrinsic=intrinsic, kinds=", ".join([real] * len(values)),
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
    [("fma", 3), ("floor", 1), ("ceil", 1), ("trunc", 1), ("rint", 1), ("fmax", 2), ("fmin", 2),
     ("fmod", 2)],
)  # fmt: skip
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
    monkeypatch.setitem(OWN, "fma", wrong)
    with pytest.raises(AssertionError):
        test_an_own_function_has_the_bits_of_the_instruction("fma", 3, np.float64)
