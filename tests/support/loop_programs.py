"""Programs whose steps repeat, and their machine code beside that without loops, and NumPy's.

Imported where llvmlite is.
"""

import numpy as np

import functier.numpy as fnp
from functier._programs.loops import unrolled
from functier._programs.machine.backend import MachineProgram
from functier._programs.replays import Replay
from functier._programs.trace import trace

X = np.linspace(0.1, 1.0, 12)
LARGE = np.linspace(0.1, 1.0, 132).reshape(12, 11)


def graph_of(f, *args):
    return trace(f)(*args)._graph


def equal(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b, strict=True)


def check(f, *args, rtol=1e-13, loops=1, reasons=0, exact=True):
    """Compare a program with loops with the one without, and with NumPy; return the former."""
    graph = graph_of(f, *args)
    names = [f"x{i}" for i in range(len(graph.inputs))]
    numpys = Replay(graph, "f", names)(*args)
    machine = MachineProgram(graph, "f")
    found = machine.run(*args)
    expected = MachineProgram(unrolled(graph), "f").run(*args)
    if exact:  # sums over an axis may have another order
        equal(found, expected)
    equal(machine.run(*args), found)
    for a, b in zip(found, numpys, strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
    assert len(machine.reasons) == reasons, machine.reasons
    assert machine.loops >= loops
    return machine


def misses(f, *args):
    """Return whether a program with loops is not found to be wrong."""
    try:
        check(f, *args, rtol=1e-11)
    except AssertionError:
        return False
    return True


def swapped(x):
    a, b = x, 2.0 * x
    for _ in range(9):
        a, b = b, a + 0.1 * np.sin(b)
    return a, b


def delayed(x):
    a, b, c, d = x, x * 2.0, x * 3.0, x * 4.0
    for _ in range(31):
        a, b, c, d = b, c, d, np.sin(a) + d * 0.5
    return a, b, c, d


def listed(x):
    found = []
    for i in range(7):
        x = np.sin(x) + i
        found.append(x)
    for y in found[::-1]:
        x = x * y - 1.0
    return np.stack(found), found[2], x


def nested(x):
    for _ in range(5):
        for j in range(4):
            x = x + 0.1 * np.sin(x * j)
        x = x / np.sqrt(1.0 + x * x)
    return x


def tables(x):
    for c, d in zip((0.1, 0.3, -0.2, 0.7), (1.5, 0.5, 2.5, -3.0)):
        x = x * c + np.full(x.shape, d) * np.arange(x.size, dtype=float).reshape(x.shape) * c
    return x


def counted(x):
    s = 0.5
    for i in range(3, 30, 4):
        x = x * i + (i - s)
        s = s * i - 1.0
    return x


def elements(x):
    s = np.zeros(x.shape[1:])
    for i in range(2, 10):
        s = s + x[i] * x[i - 2] - x[-i] + np.sum(x[i - 2 : i + 1], axis=0)
    return s


def columns(x):
    s = x[0] * 0.0
    for i in range(x.shape[1] // 2):
        s = s + (x * 2.0)[:, 2 * i].sum() * x[:, ::-1][0] + (x * 3.0)[1]
    return s


def products(x):
    a = x @ x.T * 0.1
    h = x[:, 0]
    for i in range(x.shape[1]):
        h = np.tanh(a @ h + x[:, i])
        a = a * 0.9 + np.outer(h, h) @ a * 0.01
    return h, a


def truths(x):
    y = x > 0.5
    for _ in range(6):
        x = np.where(y, x * 1.1, x - 0.1)
        y = (x > 0.4) ^ y
    return y, x


def singles(x):
    y = x.astype("f4")
    n = np.arange(x.size).reshape(x.shape)
    for i in range(6):
        y = y * np.float32(0.7) + i
        n = n * 3 + i
    return y, n


def picked(x):
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] * 0.5 * s + x[len(x) - 1 - i]
    return s


def shifted(x):
    y = fnp.zeros(40)
    y[0] = x[0]
    for i in range(30):
        y[i + 1] = y[i] + 0.1 * np.sin(y[i])
    return y


def waves(x):
    u = fnp.zeros((12, len(x)))
    u[0] = u[1] = x
    for t in range(1, 11):
        u[t + 1, 1:-1] = 2.0 * u[t, 1:-1] - u[t - 1, 1:-1] + 0.1 * (u[t, 2:] - u[t, :-2])
    return u


def moved(x):
    y = fnp.array(x)
    for i in range(7):
        y[1:] = y[:-1] * 1.1  # each step moves all
        y[i : i + 4] += x[i + 1 : i + 5]
    return y


def swept(x):
    y = fnp.array(np.outer(x, x))
    n = len(x)
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                y[i, j] = (y[i - 1, j] + y[i + 1, j] + y[i, j] + y[i, j - 1]) / 4.0
    return y


def backwards(x):
    y = fnp.array(x)
    for i in range(8):
        y[8 - i] = y[9 - i] * y[i] + y[-1]
        y[i] += y[3]
    return y


def aliased(x):
    y = fnp.array(x)
    window, turned = y[1:9], y[::-1]
    for i in range(6):
        window[i] += turned[i] * 0.5
        turned[2 * i : 2 * i + 1] = window[i + 1] + y[i]
    return y * 2.0


def local(x):
    s = x
    for _ in range(5):
        y = fnp.zeros(len(x) + 2)
        y[1:-1] = s
        y[2:] += s * 0.1
        s = y[1:-1] * 0.5 + y[2:]
    return s


def gathered(x):
    y = fnp.array(x)
    index = np.array([3, 1, 4, 1])
    for i in range(6):
        y[index] = y[i : i + 4] * 1.5
        np.add.at(y, index, y[index[::-1]])
    return y


def two(x):
    a, b = fnp.array(x), fnp.array(x * 2.0)
    for i in range(8):
        a[i], b[i + 1] = b[i], a[i + 1] * b[i]
    return a - b, a[2:5] + b[3]


WRITES = [shifted, waves, moved, swept, backwards, aliased, local, gathered, two]


PROGRAMS = {f.__name__: f for f in (
    swapped, delayed, listed, nested, tables, counted, elements, truths, singles,
)}  # fmt: skip


def windows(x):
    s = 0.0
    for i in range(17):
        s = s + np.sum(np.sin(x[i : i + 5]) * s) + np.exp(x[i + 3])
    return s


def sums_of_columns(x):
    s = x[0] * 0.0
    for i in range(x.shape[1]):
        s = s + np.sin(x[:, i]).sum() * x[3]
    return np.sum(s)


def rows_of_rows(x):
    s = x[0, :4]
    for i in range(x.shape[0]):
        for j in range(5):
            s = s * x[i, j : j + 4] + np.cos(x[i, j])
    return np.sum(s)


def chosen(x):
    s, t = x, np.sin(x)
    for i in range(30):
        if s > 0.5:
            s = s * 0.9
        t = np.sin(t) + s
        s = s + 0.01 * i
    return s, t


def bounced(x):
    p, v = x, 0.0 * x
    for _ in range(40):
        v = v - 0.1
        p = p + 0.1 * v
        for _ in range(3):
            if p[0] < -3.5:
                v = -0.5 * v
            if int(p[1] * 0.25) == 1:
                v = v * 2.0
    return p, v


def rounded(x):
    for _ in range(40):
        x = np.sin(x) + 0.9
        if x > 0.5:
            x = x * 0.9
    return x


def unknown(x):
    for _ in range(20):
        x = np.sort(np.sin(x)) * 0.9
    return x * np.cos(x)


def between(x):
    found, y = [], x
    for _ in range(30):
        y = np.sin(y) + 0.1
        found.append((y, y[0] * 2.0))
    s = np.sort(y)
    for y, z in found[::-1]:
        s = s * 0.5 + y * z
    return s


def numpys(x):
    found, y, u = [], x, x[0]
    for _ in range(30):
        y = np.sort(y) * 0.5 + 0.1
        u = np.sin(u) + y[1] * u
        found.append((y * u, u))
    s, v = x, 0.0
    for y, u in found:
        s = s * 0.5 + y
        v = v * u + s[0]
    return s, v


def gated(x, y):
    s = 0.0
    for i in range(20):
        if y[i] > 0.0:
            s = s + x
    return s
