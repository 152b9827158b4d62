"""Read your gradient: the derivative of a small network as plain NumPy source.

    python examples/read_your_gradient.py

A gradient is a program, too. `functier.trace` writes it down: one NumPy call a line, with your
lines as comments and with your names. This tutorial

(a) prints the gradient of a network, and says of each line where it comes from;
(b) saves it as a module that imports NumPy alone, and calls that: the numbers are those of
    functier to the last bit;
(c) reads two more programs, to see what `vmap` and `hessian` do to a function;
(d) counts: what the program computes, and how long it takes.
"""

import importlib.util
import tempfile
import time
from pathlib import Path

import numpy as np

from functier import compile, grad, hessian, trace, vmap  # this one replaces a builtin name

EXAMPLES = 100


# ---- a network: plain NumPy ----


def network(params, x):
    hidden = np.tanh(x @ params["W1"] + params["b1"])
    return hidden @ params["W2"] + params["b2"]


def loss(params, x, y):
    error = network(params, x) - y
    return np.mean(error * error)


def data():
    """A network of three hidden units, and points of a sine."""
    rng = np.random.default_rng(0)
    params = {
        "W1": rng.normal(size=(2, 3)), "b1": np.zeros(3),
        "W2": rng.normal(size=3), "b2": 0.0,
    }  # fmt: skip
    x = rng.normal(size=(EXAMPLES, 2))
    return params, x, np.sin(x[:, 0])


# ---- (a) line by line ----

NOTES = {
    "W1 = ": "the function takes the same pytree as yours",
    "t1 = x @ W1": "forward: your own line, one call after the other",
    "hidden = ": "the last call of the line has your name",
    "error = ": "the mean of the squares is not here: no derivative needs it",
    "t5 = ": "backward: the derivative of the mean is 1 / 100 for each example,",
    "t6 = ": "and error * error has error twice",
    "t7 = ": "b2 was added to all examples, so its derivative is a sum over them",
    "t8 = ": "hidden @ W2 had two operands: here the one for hidden,",
    "t11 = ": "and here the one for W2",
    "t12 = ": "the derivative of tanh is 1 - tanh ** 2; hidden is used again",
    "t15 = ": "b1 is a sum over examples, as b2",
    "t16 = ": "the derivative for W1 is a product with the transposed input",
    "return ": "the result has the structure of params",
}
"""Lines of the program, by how they begin, and what there is to say."""


def walk(source):
    """Print a program, with a note beside the lines that have one."""
    notes = dict(NOTES)
    for line in source.splitlines():
        text = line.strip()
        key = next((key for key in notes if text.startswith(key)), None)
        note = f"<- {notes.pop(key)}" if key else ""
        print(f"    {line:<54}{note}".rstrip())
    return notes


# ---- (b) the program as a module ----


def module_of(program, folder):
    """Save a program, and import the file as a module."""
    path = Path(folder) / f"{program.name}.py"
    program.save(str(path))
    spec = importlib.util.spec_from_file_location(program.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def equal(a, b):
    """Tell if two dicts of arrays are equal to the last bit."""
    return all(np.array_equal(a[name], b[name]) for name in a)


# ---- (d) ----


def seconds(call, repeats=300):
    """The least time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    params, x, y = data()

    print("(a) the gradient of the loss\n")
    program = trace(grad(loss))(params, x, y)
    unused = walk(program.source)
    print(f"\n    notes without a line: {len(unused)}")

    with tempfile.TemporaryDirectory() as folder:
        module = module_of(program, folder)
    found = module.grad_loss(params, x, y)
    other = {**params, "W1": params["W1"] + 0.1}
    print("\n(b) the saved module, which imports NumPy alone")
    print(f"    equal to functier to the last bit     {equal(found, grad(loss)(params, x, y))}")
    same = equal(module.grad_loss(other, x, y), grad(loss)(other, x, y))
    print(f"    at other parameters                   {same}")

    print("\n(c) a gradient for each example: vmap(grad(loss)) sums no more, and is not a loop\n")
    each = trace(vmap(grad(loss), in_dims=(None, 0, 0)))(params, x, y)
    print("\n".join(f"    {line}" for line in each.source.splitlines()[-12:]))
    print("\n    second derivatives: all directions at once, along a new axis\n")
    curvature = trace(hessian(lambda z: np.sum(z**3)))(np.ones(4))
    print("\n".join(f"    {line}" for line in curvature.source.splitlines()[3:]))

    print("\n(d) what the program does\n")
    print("\n".join(f"    {line}" for line in str(program.table).splitlines()))
    eager, compiled = grad(loss), compile(grad(loss))
    compiled(params, x, y)  # this call traces
    before, after = (seconds(lambda f=f: f(params, x, y)) for f in (eager, compiled))
    print(f"\n    a call: {before * 1e6:.0f} us by functier, {after * 1e6:.0f} us compiled")


if __name__ == "__main__":
    main()
