"""Two images of the same thing, brought on top of each other by gradients.

    python examples/image_registration.py [--out DIR]

The second image is turned, larger, shifted, darker and noisy. Eight numbers say how: an affine map
of four numbers and two shifts, a gain and an offset. `scipy.ndimage.affine_transform` reads the
first image at the places of the second.

(a) The gradient of the squared difference through cubic splines is compared with differences.
(b) Gauss and Newton's method with `jacfwd`, first on blurred images and then on sharper ones.
(c) 30 noisy images are registered at once by `vmap`: the scatter of the results is compared with
    the errors that the Jacobian predicts.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import functier.numpy as fnp
from functier import grad, jacfwd, vmap
from functier.scipy import ndimage

SEED = 0
SIZE, NOISE, IMAGES = 72, 0.03, 30
BLURS = 4.0, 2.0, 1.0, 0.0
ANGLE, SCALE, SHIFT, GAIN, OFFSET = 0.22, 1.12, (3.1, -4.3), 0.8, 0.1
MIDDLE = (SIZE - 1) / 2
EDGE = 8  # pixels that may come from outside
NAMES = ["matrix 00", "matrix 01", "matrix 10", "matrix 11", "shift 0", "shift 1", "gain", "offset"]


def scene(rng):
    """Return an image of overlapping spots of many sizes."""
    i, j = np.mgrid[:SIZE, :SIZE]
    image = np.zeros((SIZE, SIZE))
    for _ in range(60):
        a, b = rng.uniform(0, SIZE, 2)
        width = rng.uniform(1.5, 7)
        image += rng.uniform(0.2, 1) * np.exp(-((i - a) ** 2 + (j - b) ** 2) / (2 * width**2))
    return image / image.max()


def moved(parameters, image):
    """Return an image as the parameters say that the second one is."""
    matrix = fnp.reshape(parameters[:4], (2, 2))
    middle = np.array([MIDDLE, MIDDLE])
    offset = middle + parameters[4:6] - matrix @ middle
    seen = ndimage.affine_transform(image, matrix, offset, order=3, mode="nearest")
    return parameters[6] * seen + parameters[7]


def rest(parameters, first, second):
    """Return what is left of the second image, inside of the edges."""
    left = second - moved(parameters, first)
    return fnp.reshape(left[EDGE:-EDGE, EDGE:-EDGE], -1)


def step(parameters, first, second):
    """Return better parameters, by the linear least squares of the Jacobian."""
    jacobian = jacfwd(rest)(parameters, first, second)
    gradient = jacobian.T @ rest(parameters, first, second)
    return parameters - fnp.linalg.solve(jacobian.T @ jacobian, gradient)


def blurred(image, sigma):
    return ndimage.gaussian_filter(image, sigma) if sigma else image


def draw(path, first, second, found, way):
    figure = Figure(figsize=(15, 4.4), layout="constrained")
    axes = figure.subplots(1, 4)
    inside = slice(EDGE, -EDGE)
    start = np.array([1.0, 0, 0, 1, 0, 0, 1, 0])
    pictures = [
        (first, "first image", "gray"),
        (second, "second image", "gray"),
        (second - moved(start, first), "difference before", "RdBu"),
        (second - moved(found, first), "difference after", "RdBu"),
    ]
    for place, (image, title, colors) in zip(axes, pictures):
        limits = {"vmin": -0.6, "vmax": 0.6} if colors == "RdBu" else {"vmin": 0, "vmax": 1}
        place.imshow(image[inside, inside], cmap=colors, **limits)
        place.set_title(title, fontsize=14)
        place.set_axis_off()
    corners = np.array([[-25, -25], [-25, 25], [25, 25], [25, -25], [-25, -25]])
    for k, parameters in enumerate(way):
        at = corners @ parameters[:4].reshape(2, 2).T + parameters[4:6] + MIDDLE - EDGE
        axes[0].plot(at[:, 1], at[:, 0], color="tab:orange", alpha=0.2 + 0.8 * k / len(way))
    axes[0].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim())
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).parent / "output"
    parser.add_argument("--out", type=Path, default=default, help="where the picture goes")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    rng = np.random.default_rng(SEED)
    first = scene(rng)
    turn = np.array([[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]]) / SCALE
    true = np.array([*turn.ravel(), *SHIFT, GAIN, OFFSET])
    clean = moved(true, first)
    second = clean + NOISE * rng.normal(size=clean.shape)

    start = np.array([1.0, 0, 0, 1, 0, 0, 1, 0])
    slope = grad(lambda p: fnp.sum(rest(p, first, second) ** 2))(start)
    steps = 1e-6 * np.eye(8)
    squares = [[np.sum(rest(start + s * d, first, second) ** 2) for s in (1, -1)] for d in steps]
    differences = np.diff(squares)[:, 0] / -2e-6
    off = np.max(np.abs(slope - differences)) / np.max(np.abs(slope))
    print(f"(a) largest relative difference from central differences {off:.1e}")

    parameters, way = start, [start]
    print("(b) what is left, relative to the noise")
    began = time.perf_counter()
    for sigma in BLURS:
        pair = blurred(first, sigma), blurred(second, sigma)
        for _ in range(5):
            parameters = step(parameters, *pair)
        way.append(parameters)
        left = np.sqrt(np.mean(rest(parameters, first, second) ** 2)) / NOISE
        print(f"    after images blurred by {sigma:.0f} pixels  {left:6.3f}")
    print(f"    20 steps in {time.perf_counter() - began:.1f} s")
    jacobian = jacfwd(rest)(parameters, first, second)
    errors = NOISE * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    for name, expected, x, error in zip(NAMES, true, parameters, errors):
        print(f"    {name:9}  {x:8.4f} ± {error:.4f}   off {(x - expected) / error:5.2f}")

    many = clean + NOISE * rng.normal(size=(IMAGES, *clean.shape))
    found = np.tile(parameters, (IMAGES, 1))
    began = time.perf_counter()
    for _ in range(3):
        found = vmap(step, in_dims=(0, None, 0))(found, first, many)
    seconds = time.perf_counter() - began
    ratio = found.std(axis=0) / errors
    print(f"(c) {IMAGES} images at once: {seconds:.1f} s")
    print(f"    scatter divided by error {ratio.min():.2f} to {ratio.max():.2f}")
    draw(out / "image_registration.png", first, second, parameters, way)
    print(f"the picture is in {out}")


if __name__ == "__main__":
    main()
