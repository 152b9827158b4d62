"""Texts of statements, whose places `nets.giving.draw` fills with names.

A step makes its values no larger, so that rounding errors of 40 steps stay small.
"""

VECTORS = (
    "{v} * {c} + 0.1 * np.sin({w})", "0.3 * (A @ {v}) + 0.2 * {w}", "0.5 * ({v} + {w})",
    "np.roll({v}, 1) * 0.5 + {w} * {c}", "{v} * np.cos({a}) * 0.7 + 0.1",
    "np.linalg.solve(A + 4 * np.eye({m}, dtype=A.dtype), {v})", "{v}[::-1] * 0.6 + {w} * 0.1",
    "np.concatenate([{v}[1:], {w}[:1]]) * 0.8", "{v} / (1.0 + np.sum(np.abs({v})))",
    "np.stack([{e}] * {m}) * 0.4 + 0.2 * {v}", "np.einsum('ij,j->i', A, {v}) * 0.2 + {w}",
    "np.exp(-np.abs({v})) * 0.5 + 0.3 * {v}", "helper({v}, {w})", "np.cumsum({v}) * 0.2",
    "{v} * {w} * 0.3", "{v} * 0.5 + {a} * {w} * 0.01", "np.outer({v}, {w})[0] * 0.3",
)  # fmt: skip
REAL = (
    "np.where({v} > {c}, {v} * 0.9, {w} * 0.5)", "np.maximum({v}, {w}) * 0.7",
    "np.sort({v}) * 0.9", "np.clip({v}, -1.0, 0.4)", "np.tanh({v} + {w})", "{v} ** 2 * 0.3",
)  # fmt: skip
SCALARS = (
    "np.sin({e}) * 0.6 + 0.01 * {a}", "{e} * 0.5 + 0.1 * np.sum({v})", "0.8 * {e} + 0.1 * {v}[0]",
    "np.dot({v}, {w}) * 0.2 + 0.1 * {e}", "{e} / (1.5 + np.abs({e}))", "{v}[-1] * {e} * 0.4",
    "np.cos({e} + 0.1 * {a}) * 0.5", "np.mean({v}) * 0.5 - {e} * {c}",
)  # fmt: skip
REAL_SCALARS = (
    "np.max({v}) * 0.5 + 0.1 * {e}", "np.where({e} > {c}, {e} * 0.5, 0.3 + {e})",
    "np.sqrt(1.0 + {e} * {e}) * 0.4",
)  # fmt: skip

HELPERS = (
    "def helper(v, w):\n    return np.sin(v) * 0.5 + w * 0.3",
    "def helper(v, w):\n    for k in range(3):\n        v = v * 0.5 + 0.1 * np.sin(w * k)\n"
    "    return v",
)  # fmt: skip

INSIDE = (
    "{v} = {v} - 0.1 * ft.grad(lambda u: np.sum({real}(np.sin(u) * {w})))({v})",
    "{e} = 0.2 * ft.jvp(lambda u: np.sum(u * np.cos(u)), ({v},), ({w},))[1] + 0.1 * {e}",
    "{v} = ft.vmap(lambda u: u * {c} + np.sin({e}) * 0.2)({v})",
    "{v} = ft.checkpoint(helper)({v}, {w})", "{v} = ft.vjp(np.sin, {v})[1]({w})[0] * 0.7",
    "with np.errstate(all='ignore'): {v} = np.log(np.abs({v}) + 1.1) * 0.3 + 0.5 * {v}",
)  # fmt: skip
"""Statements of a step with a transform or a setting."""

CHOICES = (
    "{v} = ft.cond({test}, lambda u: u * 0.5, lambda u: np.sin(u) * 0.3 + 0.1 * {w}, {v})",
    "{v} = ft.cond({test}, lambda: {v} * 0.5, lambda: {w} * 0.3)",
    "{v} = ft.switch(np.astype(np.minimum(np.floor(np.abs({e}) * 3), 2), int), "
    "[lambda u: u * 0.5, lambda u: u - 0.1 * u * u, np.sin], {v})",
    "{v}, {e} = lo.while_loop(lambda c: np.sum(np.abs(c[0])) > 0.4, "
    "lambda c: (c[0] * 0.5, c[1] * 0.9), ({v}, {e}))",
)  # fmt: skip
"""Statements whose loops and choices may differ from step to step."""

TESTS = (
    "{real}({e}) > {c}", "np.sum(np.abs({v})) > 0.9", "{real}({v}[0]) < 0.2",
    "np.all({real}({v}) < 0.6)",
)  # fmt: skip

OF_COUNTER = (
    "{v} = {v} * 0.5 + 0.3 * xs[{i}]", "{e} = {e} * 0.5 + 0.1 * xs[{i}][0]",
    "{v} = {v} * 0.5 + 0.1 * xs[{i} - 1]", "{v} = {v} * 0.5 + 0.2 * xs[40 - {i}]",
    "{e} = {e} * 0.9 + 0.01 * {i}", "{v} = {v} * np.cos({i}) * 0.9",
    "{e} = 0.5 * {e} + {v}[0] / ({i} + 1.0)",
    "{v} = {v} * 0.5 + 0.1 * np.sum(xs[: {i} + 1])", "{v} = {v} * 0.5 + 0.5 ** {i}",
    "{e} = {e} * 0.5 + 0.1 * np.sum(xs[{i} : {i} + 2])", "{e} = {e} * 0.5 + 0.1 * xs[{i}, 1]",
)  # fmt: skip
"""Statements whose number changes from step to step alone."""

ASKING = (
    "if {i} % 3 == 1: {v} = {v} * 0.5", "if {i} == 7: {e} = {e} + 0.25",
    "{e} = {e} * (0.5 if isinstance({i}, int) else 0.25)", "{e} = {e} * 0.5 + LIST[{i} % 5]",
    "{v} = {v} * 0.5 + 0.3 * TABLE[{i}]", "{v} = {v} * 0.5 + 0.2 * TABLE[39 - {i}]",
    "{v} = 0.5 * {v} + 0.1 * COLUMNS[:, {i}]", "{v} = np.roll({v}, {i}) * 0.9",
    "{e} = {e} * 0.5 + 0.01 * len(str({i}))", "{e} = {e} * 0.5 + math.sin({i}) * 0.1",
    "{v} = {v} * 0.9 + 0.01 * np.arange({i} + 1).sum()", "{e} = {e} * 0.9 if {i} else {e} * 0.1",
)  # fmt: skip
"""Statements that ask for the number of the step."""

GUARDS = (
    "if {test}: {v} = {v} * 0.5", "if {test}: {e} = {e} + 0.1",
    "if np.real(t) > 2.05: {v} = {v} * 0.3", "if np.real(t) > 0.65: {e} = {e} * 0.5",
    "if np.real(t) > 0.15: {e} = 0.1 + {e} * 0.5",
    "{v} = {v} * (0.5 if {test} else 0.8)", "while np.sum(np.abs({v})) > 0.8: {v} = {v} * 0.5",
)  # fmt: skip
"""Statements that branch on values; t is a number of the carry that grows by 0.1."""

EFFECTS = (
    ("history = []", "history.append({v})", "0.1 * sum(history)"),
    ("history = []", "history.append({v}); {v} = 0.5 * {v} + 0.1 * history[len(history) // 2]",
     "history[-1]"),
    ("count = 0", "nonlocal count; count += 1", "0.01 * count"),
    ("count = 0", "nonlocal count; count += 1; {e} = {e} * 0.5 + 0.01 * count", "0.01 * count"),
    ("last = 0.5", "nonlocal last; {e} = {e} * 0.5 + 0.1 * last; last = {e}", "last"),
    ("box = dict(n=0)", "box['n'] = box['n'] + 1; {e} = 0.5 * {e} + 0.01 * box['n']",
     "0.01 * box['n']"),
    ("box = Box()", "box.n = box.n + 1; box.last = {v}; {e} = 0.5 * {e} + 0.01 * box.n",
     "box.last * box.n"),
    ("it = iter(LIST * 99)", "{e} = 0.5 * {e} + next(it)", "next(it)"),
    ("it = itertools.count()", "{e} = 0.5 * {e} + 0.01 * next(it)", "0.01 * next(it)"),
    ("it = (0.1 * k for k in range(9999))", "{e} = 0.5 * {e} + 0.01 * next(it)",
     "0.01 * next(it)"),
    ("flat = np.arange(9999.0).flat", "{e} = 0.5 * {e} + 0.001 * next(flat)",
     "0.001 * next(flat)"),
    ("buf = np.zeros(3)", "buf[0] += 1; {e} = 0.5 * {e} + 0.01 * buf[0]", "0.01 * np.sum(buf)"),
    ("buf = np.zeros(3)", "np.add(buf, 1, out=buf); {e} = 0.5 * {e} + 0.01 * buf[1]",
     "buf[0] / 99"),
    ("buf = np.zeros(3)", "np.add.at(buf, [0, 0], 1); {e} = 0.5 * {e} + 0.01 * buf[0]",
     "0.01 * np.sum(buf)"),
    ("buf = np.zeros(3)", "buf[1:].fill(buf[1] + 1); {e} = 0.5 * {e} + 0.01 * buf[1]",
     "0.01 * np.sum(buf)"),
    ("pair = (np.zeros(3), 1)", "pair[0][0] += 1; {e} = 0.5 * {e} + 0.01 * pair[0][0]",
     "0.01 * np.sum(pair[0])"),
    ("board = fnp.zeros({m}, A.dtype)", "board += {v}; {v} = {v} * 0.5 + 0.01 * board",
     "board * 0.1"),
    ("board = fnp.zeros(3, A.dtype)",
     "board[1] = board[1] * 0.5 + {e}; {e} = 0.5 * {e} + 0.2 * board[1]", "np.sum(board)"),
    ("own = ft.random.default_rng(5)", "{v} = 0.5 * {v} + 0.1 * own.normal(size={m})",
     "own.normal()"),
    ("", "{v} = 0.5 * {v} + 0.1 * rng.uniform(size={m})", "rng.normal()"),
    ("", "{v} = 0.5 * {v} + 0.1 * ft.random.default_rng(3).normal(size={m})", ""),
    ("", "HISTORY.append(len(HISTORY))", "0.01 * len(HISTORY)"),
    ("", "BOX['n'] += 1", ""), ("", "BUFFER[0] += 1", "0.01 * BUFFER[0]"),
    ("", "{e} = 0.5 * {e} + 0.01 * next(TICKS)", ""),
    ("def tick(n=[0]):\n    n[0] += 1\n    return n[0]", "{e} = 0.5 * {e} + 0.01 * tick()", ""),
    ("def tick():\n    tick.n = getattr(tick, 'n', 0) + 1\n    return tick.n",
     "{e} = 0.5 * {e} + 0.01 * tick()", "0.01 * tick()"),
)  # fmt: skip
"""For each effect: code before the loop, a statement of a step, and code that reads it later."""

ERRORS = (
    "with np.errstate(divide='raise'): {e} = {e} * 0.5 + 0.001 / np.round({d} - t, 3)",
    "{v} = np.linalg.solve(np.eye({m}) * np.round({d} - t, 3) * 10, {v}) * 0.1",
    "{e} = {e} * 0.5 + LIST[int(np.round(({d} - t) * 10)) if np.real(t) > {d} - 0.45 else 0]",
    "assert np.real(t) < {d}, 'it is too late'",
)  # fmt: skip
"""Statements that raise in a later step."""
