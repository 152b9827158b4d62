"""A controller in C that plans by derivatives: Python writes it, and is not there when it runs.

    python examples/exported_controller.py --out pictures

A pendulum stands upside down, and a weak motor has to keep it there after a push. In each step the
controller looks ahead for 40 steps, and improves its plan by a Newton step: the gradient and the
Hessian of the cost of the plan, and the solution of a linear system. `export` writes one such step
as a C function. A C program, which is compiled here and runs without an environment, lets the
controller and the pendulum work for 150 steps. The bits that it prints are those of the compiled
Python function.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import functier as ft

AHEAD, STEPS, DT = 40, 150, 0.05
START = np.array([0.5, 0.8])


def moved(state, torque):
    """The state after a step: the angle from the upright position, and its speed."""
    angle, speed = state[0], state[1]
    speed = speed + DT * (np.sin(angle) + torque)
    return np.stack([angle + DT * speed, speed])


def cost(knots, state):
    """The cost of a plan: distance from the upright position, and the work of the motor."""
    torques = np.repeat(knots, AHEAD // 8)
    total = 0.0
    for i in range(AHEAD):
        state = moved(state, torques[i])
        total = total + state[0] ** 2 + 0.1 * state[1] ** 2 + 0.02 * torques[i] ** 2
    return total


def control(state, knots):
    """The state after a step under the improved plan, and that plan."""
    slope, curve = ft.grad(cost)(knots, state), ft.hessian(cost)(knots, state)
    change = np.linalg.solve(curve + 0.1 * np.eye(8), slope)
    knots = np.clip(knots - change, -2.0, 2.0)
    return moved(state, knots[0]), knots


PROGRAM = """\
#include <stdio.h>
#include "controller.h"

int main(void) {
    double state[2] = {%s}, knots[8] = {0}, next[2], plan[8];
    static unsigned char work[CONTROLLER_WORK];
    for (int n = 0; n < %d; n++) {
        int status = controller(state, knots, next, plan, work);
        if (status) return status;
        for (int i = 0; i < 2; i++) state[i] = next[i];
        for (int i = 0; i < 8; i++) knots[i] = plan[i];
        printf("%%.17g %%.17g %%.17g\\n", state[0], state[1], knots[0]);
    }
    return 0;
}
"""


def in_c(folder):
    """The states and torques that the C program prints; None without a C compiler."""
    made = ft.export(folder / "controller", control, START, np.zeros(8), shared=False)
    size = made.object.stat().st_size
    print(f"{made.object.name}: {size // 1000} kB of machine code")
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        return None
    source = PROGRAM % (", ".join(map(repr, START.tolist())), STEPS)
    (folder / "main.c").write_text(source)
    command = [compiler, "-O1", "-o", "main", "main.c", str(made.static)]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], env={}, capture_output=True, text=True, check=True)
    return np.array([[float(x) for x in line.split()] for line in done.stdout.splitlines()])


def in_python():
    """The same by the compiled function."""
    compiled = ft.compile(control, backend="llvm", warm=True)
    state, knots, rows = START, np.zeros(8), []
    for _ in range(STEPS):
        state, knots = compiled(state, knots)
        rows.append([*state, knots[0]])
    return np.array(rows)


def picture(rows, out):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    times = DT * np.arange(1, STEPS + 1)
    _, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for column, label in enumerate(["angle", "speed", "torque"]):
        axes.plot(times, rows[:, column], label=label)
    axes.set_xlabel("seconds")
    axes.set_title("A pendulum under a controller in C")
    axes.legend()
    plt.savefig(out / "exported_controller.png", dpi=120)


def main():
    parser = argparse.ArgumentParser(description="A controller in C that plans by derivatives.")
    parser.add_argument("--out", type=Path, help="folder for the picture")
    out = parser.parse_args().out
    wanted = in_python()
    with tempfile.TemporaryDirectory() as folder:
        found = in_c(Path(folder))
    if found is None:
        print("no C compiler: the picture is that of the compiled Python function")
        found = wanted
    print(f"equal to the last bit: {np.array_equal(found, wanted)}")
    print(f"angle at the beginning {START[0]}, at the end {abs(found[-1, 0]):.1e}")
    if out is not None:
        picture(found, out)


if __name__ == "__main__":
    main()
