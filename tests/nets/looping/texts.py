"""Texts of statements, whose places `nets.looping.draw` fills with names."""

VECTORS = (
    "np.tanh({v} + {w})", "{v} * {c} + 0.1 * np.sin({w})", "np.sin({v}) - {w} / 3",
    "A @ {v} * 0.3", "{v} @ A + {w}", "np.roll({v}, 1) * {c}", "{v} + {a} * np.cos({w})",
    "np.linalg.solve(A + 4 * np.eye({m}), {v})", "{v}[::-1] * {c} + {w}", "np.cumsum({v}) * 0.2",
    "{v} / (1.0 + np.sum(np.abs({v})))", "{v} * np.cos({a})", "{v} * {a} + {w}",
    "np.concatenate([{v}[1:], {w}[:1]])", "np.stack([{e}] * {m})", "helper({v}, {w})",
    "np.exp(-np.abs({v})) + {w}", "0.5 * ({v} + {w})", "{v} - {v} * 0.1 + {a}",
    "np.outer({v}, {w})[0] * 0.5", "np.einsum('ij,j->i', A, {v}) * {c}",
)  # fmt: skip
REAL = (
    "np.where({v} > {c}, {v}, {w} * 0.5)", "np.maximum({v}, {w})", "np.sort({v})",
    "np.abs({v}) ** 0.5", "{v} * ({w} > {c})", "np.clip({v}, -1.0, {a})", "{v} ** 2 * 0.3",
)  # fmt: skip
"""Expressions of vectors that complex numbers do not have."""

SCALARS = (
    "np.sin({e}) + {a}", "{e} * {c} + np.sum({v})", "np.cos({e} + {a})", "0.9 * {e} + {v}[0]",
    "np.sum({v} * {w})", "np.dot({v}, {w}) * {c}", "{e} / (1.5 + np.abs({e}))",
    "{e} + 0.01 * {a}", "np.mean({v}) - {e} * {c}", "{v}[-1] * {e}", "np.sqrt(1.0 + np.abs({e}))",
)  # fmt: skip
REAL_SCALARS = (
    "np.max({v}) * {c}", "np.where({e} > {c}, {e}, {a})", "min(max({c}, 0.1), 0.7) * {e}",
)  # fmt: skip

HELPERS = (
    "def helper(v, w):\n    return np.tanh(v) * 0.5 + w",
    "def helper(v, w):\n    u = v * 0.5\n    return inner(u) - w\ndef inner(u):\n"
    "    return np.sin(u) + 0.2 * u",
    "def helper(v, w):\n    for k in range(4):\n        v = v * 0.5 + 0.1 * np.sin(w * k)\n"
    "    return v",
    "def helper(v, w):\n    if np.sum(np.abs(v)) > 0.8:\n        return v * 0.5\n"
    "    return v + w * 0.1",
)  # fmt: skip

GUARDS = (
    "{real}({e}) > {c}", "np.any({real}({v}) > 0.9)",
    "{real}({e}) > {c} and {real}({v}[0]) < 0.5", "not {real}({e}) > 0.4",
    "np.all({real}({v}) < {c})", "-0.5 < {real}({e}) < {c}",
)  # fmt: skip
INSIDE = (
    "{v} = {v} - 0.1 * ft.grad(lambda u: np.sum({real}(np.sin(u) * {w})))({v})",
    "{e} = ft.jvp(lambda u: np.sum(u * np.cos(u)), ({v},), ({w},))[1]",
    "{v} = ft.vmap(lambda u: u * {c} + np.sin({e}))({v})",
    "{v} = ft.checkpoint(helper)({v}, {w})", "{v} = ft.vjp(np.sin, {v})[1]({w})[0]",
)  # fmt: skip
"""Statements with a transform."""

ROWS = (
    "{y}[{i} + 1] = np.tanh({y}[{i}] + {v})", "{y}[{i}] += {v} * {c}",
    "{y}[{i}, 1:] = {y}[{i}, :-1] * {c}", "{y}[:, 0] += {a}", "{y}[{i}][0] = {e}",
    "{y}[1:] = {y}[:-1] * 0.5", "{y}[{i}, ::-1] *= {v}",
    "{y}[{i}], {y}[{i} + 1] = {y}[{i} + 1].copy(), {y}[{i}].copy()",
    "{y}[{n} - {i}] = {y}[{i}] * {c}", "r = {y}[{i}]; r[...] = r * 0.5 + {v}",
    "r = {y}[{i}:]; r[0] += {v}; r *= 0.9", "{y}[1:-1] = {y}[:-2] + {y}[2:] * 0.3", "{y} *= 0.9",
    "{v} = {y}[{i}] * {c}", "{e} = np.sum({y}[{i}:])",
    "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1] * 0.5", "{y}[{i} + 1, 0] = {y}[{i}, -1] + {e}",
    "{y}.T[0] *= {c}", "{y}[{i}:{i} + 2, 0] += {e}", "{z}[{i}] = {y}[{i}] * 0.5 + {v}",
    "{z}[{i}] += {z}[{i} - 1] * 0.3", "{v} = {z}[{i}] + {y}[{i}] * {c}",
    "{y}[{i}] = {v}; {v} = {y}[{i}] + {w}",
)  # fmt: skip
"""Statements for a writable matrix of `n` + 1 rows, and its view without the first row."""

ELEMENTS = (
    "{y}[{i} + 1] = np.sin({y}[{i}]) + {e} * 0.1", "{y}[{i} + 1] += {y}[{i}] * {c}",
    "{y}[{i}] = {e}", "{y}[{n} - {i}] = {y}[{i}] * 0.5", "{y}[{i}:{i} + 2] *= {c}",
    "{y}[1:] = {y}[:-1] * 0.5 + {a}", "{y}[::2] += {e}", "{y} += 0.1 * {a}", "{y} *= 0.9",
    "{e} = {y}[{i}] + 0.1 * {e}", "{y}[{i}:{i} + 2] = {y}[{i}:{i} + 2][::-1]",
    "{e} = np.sum({y}[:{i} + 1])", "{y}[{i}:] += {e} * 0.1",
    "{y}[1:-1] = 0.5 * ({y}[:-2] + {y}[2:])", "{z}[{i}] = {y}[{i}] * {c} + {e}",
    "{z}[{i}] += {y}[{i} + 1]", "{y}[{i}] -= {z}[{i}] * 0.5", "{e} = {z}[{i}] - {y}[{i}]",
    "{y}[{i}] = {y}[{i} + 1] + {y}[{i} - 1]",
)  # fmt: skip

SWEEP = (
    "for {i} in range(1, {m} - 1):\n    for {j} in range(1, {m} - 1):\n"
    "        {g}[{i}, {j}] = ({g}[{i} - 1, {j}] + {g}[{i}, {j} - 1] + {g}[{i}, {j}] "
    "+ {g}[{i} + 1, {j}]) / 4.0"
)

OF_LISTS = (
    "np.stack({0})", "{0}[-1]", "{0}[{1}]", "sum({0})", "np.sum(np.stack({0}), 0)", "{0}",
)  # fmt: skip
OF_ARRAYS = "{0}.copy()", "np.sum({0})", "{0} * 0.5", "{0}", "{0}[-1]", "{1} * {0}[1:]"
"""Results."""
