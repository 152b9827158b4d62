"""Drawn programs in which zeros meet infinite derivatives, and what their derivatives are.

A program takes `x` along a chain of stages, each at a point where its derivative is of a known
kind, and then uses the result or leaves it out. The truth is that of differences from both sides
in extended precision.
"""

import functools
import itertools
import random
from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
import scipy.special

import functier as ft
from functier.scipy import spatial, special
from support.basics import silent

INF = np.inf
LONG = np.longdouble
STEPS = [LONG(2.0) ** -k for k in range(6, 30, 4)]

STAGES = {
    "inf": {  # an infinite derivative
        0.0: """power(z, array([0.5, 2.0]))[0]; sqrt(stack([z, z + 4.0]))[0]; special.boxcox(z, 0.5)
            special.rel_entr(z, 1.0); special.xlogy(z, z); special.logit(z); special.ndtri(z); 1 / z
            special.entr(z); power(z, 0.7); z ** (1 / 3); sqrt(z); cbrt(z); log(z); z**0.5""",
        1.0: """sqrt(1.0 - z * z); special.ellipe(z); special.erfinv(z); log(1.0 - z); arctanh(z)
            arccosh(z); arccos(z); arcsin(z)""",
        -1.0: "arccos(z); arcsin(z); log1p(z); special.xlog1py(1.0 + z, z)",
        1000.0: "exp(z); sinh(z)",
    },
    "zero": {  # one that is zero, by value
        0.0: """sum(pair(z, 2.0) ** 2); dot(pair(z), pair(z)); var(pair(z, 2.0)); power(z, 2.5)
            prod(pair(z)); special.i0(z); 1.0 - cos(z); z * sin(z); sinc(z); z**1.5; cos(z); z * z
            z**2; z**3""",
        1000.0: """where(z >= 0.0, 1.0 / (1.0 + exp(-z)), exp(z) / (1.0 + exp(z))); special.erfc(z)
            tanh(z); exp(-z)""",
        None: "z - z; pair(z)[0] - z",
        INF: "tanh(z); arctan(z); exp(-z); 1.0 / z; log(z); sqrt(z); special.erf(z)",
        -INF: "exp(z); tanh(z); arctan(z); 1 / z; logaddexp(z, 0.0); special.expit(z); exp2(z)",
    },
    "kink": {  # norms, and others whose subgradient is zero
        0.0: """sqrt(einsum('i,i', pair(z), pair(z))); sqrt(z * z + (2.0 * z) ** 2); (z * z) ** 0.5
            linalg.norm(pair(z, 2.0)); sqrt(pair(z) @ pair(z)); linalg.norm(pair(z), 1); sqrt(z * z)
            sqrt(var(pair(z, 2.0))); linalg.norm(pair(z), 3); nanstd(pair(z, 2.0)); maximum(z, -z)
            ptp(stack([z, -z])); hypot(z, 2.0 * z); std(pair(z, 2.0)); abs(z)""",
        1.0: "abs(log(z))",
    },
    "flat": {  # selected, or behind a zero: without any `z`
        0.0: """max(stack([z, 0.0 * z + 1.0])); select([z > 1.0], [z], 0.0); where(z > 1.0, z, 0.0)
            where(z != 0.0, z / z, 1.0); sum(pair(z), where=False); maximum(z - 1.0, 0.0); 0.0 * z
            sign(z + 1.0) - 1.0; pair(z) @ zeros(2); clip(z, 1.0, 2.0); minimum(z, -1.0)
            maximum(z, 1.0); floor(z + 0.5); sum(pair(z)[:0])""",
    },
    "beside": {  # beside something infinite that is not used
        1.0: """where(z > 0.0, special.xlogy(z, z), special.entr(z - 1.0)); fmax(z, sqrt(z - 1.0))
            sum(log(stack([z - 1.0, z])), where=array([False, True])); where(True, 2.0 * z, z * inf)
            einsum('i,ij->j', stack([z]), array([[inf, 2.0]]))[1]; where(z > 0.0, z, log(z - 1.0))
            select([z > 0.0, z < 0.0], [z, log(z)], nan); (stack([z]) @ array([[inf, 2.0]]))[1]
            sqrt(stack([z - 1.0, z + 3.0]))[1]; max(cbrt(stack([z - 1.0, z])))
            nanmax(stack([z, z * nan])); cumprod(stack([z, inf]))[0]; (z * array([inf, 2.0]))[1]
            (z / array([0.0, 2.0]))[1]""",
        1000.0: """maximum(z, 0.0) + log1p(exp(-abs(z))); where(z > 20.0, z, log1p(exp(z)))
            exp(stack([z, z - 1000.0]))[1]; where(z < 100.0, exp(z), z); logaddexp(z, 0.0)""",
        -1000.0: "where(z < -20.0, z, log1p(exp(-z)))",
    },
    "met": {  # an infinity and a zero
        0.0: "sqrt(z * exp(z)); cbrt(z * (z + 2.0)); z * log(z + z); sqrt(z) * sqrt(z)",
        1000.0: "log1p(exp(z)); 1.0 / (1.0 + exp(z)); exp(z) / (1.0 + exp(z)); exp(z) * exp(-z)",
    },
    "nan": {  # no number
        0.0: "z / abs(z); sin(z) / z; z * inf; sqrt(z - 1.0); log(z) * z; arccos(z + 2.0)",
        -1.0: "z**0.3; log(z); arccosh(z); special.entr(log(z))",
        1000.0: "exp(z) - exp(z); sinh(z) / cosh(z)",
    },
    "smooth": {
        0.0: """logaddexp(z, 1.0); special.ndtr(z); arctan2(z, 1.0); special.erf(z); z * (z + 1.0)
            log1p(z); sin(z); tan(z)""",
        1.0: "z**2; z**3; log(z); sqrt(z); cos(z); z * z; cbrt(z); special.xlogy(z, 2.0)",
        None: "2.0 * z; -z; exp(z); arctan(z); z - 0.25; cumsum(pair(z))[1]; tanh(z)",
    },
}  # fmt: skip
"""Expressions in `z`, by the kind of their derivative at a point; None is any point. ``pair(z, k)``
is the array of `z` and ``k * z``."""

USES = {
    "used": """stack([z, y]) @ array([3.0, 2.0]); where(x < {x} + 1.0, z, y); sum(stack([z, y])); z
        where(True, z, y); stack([z, y])[0]; 2.0 * z; z + y""",
    "finite": """einsum('i,i', stack([z, y]), array([0.0, 1.0])); stack([z, y]) @ array([0.0, 1.0])
        sum(array([0.0, 2.0]) * stack([z, y])); sort(stack([y + 100.0, z]))[1]; 0.0 * z + y
        max(stack([z, y + 100.0])); maximum(z, y + 100.0)""",
    "unused": """select([x > {x} + 1.0, x < {x} + 1.0], [z, y], z); where([False, True], z, y)[0]
        sum(stack([z, y]), where=array([False, True])); concatenate([stack([z]), stack([y])])[1:][0]
        stack([z, y])[array([False, True])][0]; where(x > {x} + 1.0, z, y); where(False, sqrt(z), y)
        take(stack([z, y]), 1); choose(1, [z, y]); stack([z, y])[1]""",
    "still": "z + y; z * y; stack([z, y])[1]; hypot(z, y); stack([z, y]) @ ones(2)",
}  # fmt: skip
"""The uses of the result `z` of a chain, beside `y`: it is used, finite but behind a zero or
smaller than another number, or not used. A still one begins at an argument that does not move."""

BAD = {"inf", "beside", "met", "nan"}
GOOD = "y = 3.0 * x + sin(x) + 2.0"


def rows(text):
    """Return the expressions of a text, which semicolons and ends of lines separate."""
    return [" ".join(part.split()) for part in text.replace("\n", ";").split(";")]


STAGE = {
    kind: [(kind, at, row) for at, text in points.items() for row in rows(text)]
    for kind, points in STAGES.items()
}


class Special:
    """The functions of `scipy.special` for numbers of extended precision."""

    def __getattr__(self, name):
        return lambda *args: LONG(getattr(scipy.special, name)(*map(float, args)))


PLAIN = {**vars(np), "special": special, "distance": spatial.distance}
PLAIN["pair"] = lambda z, k=1.0: np.stack([z, k * z])
EXACT = {**PLAIN, "special": Special(), "LONG": LONG}


def function(text, names=PLAIN):
    """Return the function `f` of a source text."""
    space = dict(names)
    exec(text, space)
    return space["f"]


# ---- truth ----


def limit(q):
    """Return the limit of difference quotients, an infinity, or None where they do not tell."""
    d = np.diff(q)
    if abs(d[-1]) <= 1e-7 * max(1, abs(q[-1])):
        return q[-1]
    r, before = d[-1] / d[-2], d[-2] / d[-3]
    if min(r, before) > 0.97:
        return np.sign(d[-1]) * INF
    if max(abs(r), abs(before)) > 0.9:
        return None
    found, other = q[-1] + d[-1] * r / (1 - r), q[-2] + d[-2] * before / (1 - before)
    return found if abs(found - other) <= 1e-3 * max(1, abs(found)) else None


def slopes(f, at):
    """Return the least and the largest of the derivatives by `x` from both sides.

    They are NaN where the value is not finite. None: differences do not tell.
    """
    at, sides = LONG(at), []
    value = f(at, at)
    if not np.isfinite(value):
        return np.nan, np.nan
    for sign in (1, -1):
        q = np.array([(f(at + sign * h, at) - value) / (sign * h) for h in STEPS])
        if np.isfinite(q).all():  # else it is outside of the domain
            lost = np.finfo(LONG).eps * abs(value) / STEPS[-1] > 1e-6 * max(1, abs(q[-1]))
            sides.append(None if lost else limit(q))
    if not sides or None in sides:
        return None
    low, high = float(min(sides)), float(max(sides))
    return (low, high) if low == high or np.isfinite([low, high]).all() else (-INF, INF)


# ---- programs ----


class Case(NamedTuple):
    """A program of `x` and of a number whose direction is zero, at a point.

    Where it is `excused`, a zero by value meets an infinity: the result may be not finite.
    """

    text: str
    at: float
    group: str
    excused: bool
    truth: tuple

    def judge(self, found):
        """Return what a derivative is; of a kink, one side or the middle is a subgradient."""
        low, high = self.truth
        finite = np.isfinite(self.truth).all()
        if not np.isfinite(found):
            lacking = finite and not self.excused
            return "right" if low == high == found else "lacking" if lacking else "not finite"
        if finite and np.isclose(found, [low, high, (low + high) / 2], 1e-4, 1e-4).any():
            return "right" if high - low < 1e-4 * max(1.0, abs(low)) else "subgradient"
        return "wrong"


def make(stages, use, text):
    """Return the case of a chain and a use, or None where there is none that can be judged."""
    at = 0.5 if stages[0][1] is None else stages[0][1]
    z, exact = np.float64(at), LONG(at)
    lines, longer = [], []
    for _, place, expression in stages:
        if np.isinf(at) or (z != place and not np.isfinite([z, exact]).all()):
            return None
        if place is not None and z != place:
            if np.isinf(place) or z != np.float16(z):  # another rounding would miss the point
                return None
            lines.append(f"z = z - {float(z)!r} + {place!r}")
            longer.append(f"z = z - LONG('{exact}') + {place!r}")
            z, exact = np.float64(place), LONG(place)
        lines.append(f"z = {expression}")
        longer.append(lines[-1])
        z = eval(expression, PLAIN, {"z": z})[()]
        exact = eval(expression, EXACT, {"z": exact})[()]
    if (np.isnan(z) and use != "unused") or (not abs(z) < 50 and use in ("finite", "still")):
        return None
    start = "z = w" if use == "still" else "z = x"
    end = [GOOD, f"return ({text.format(x=at)})[()]"]
    source, other = ("\n    ".join(["def f(x, w):", start, *p, *end]) for p in (lines, longer))
    truth = slopes(function(other, EXACT), at)
    kinds = [kind for kind, *_ in stages if kind != "smooth"]
    used = use == "used" and "flat" not in kinds
    if truth is None or (np.isnan(truth[0]) and not used):
        return None
    meets = "met" in kinds or ("inf" in kinds and not {"zero", "kink"}.isdisjoint(kinds))
    causes = kinds if use == "used" else [use, next(k for k in kinds if k in BAD)]
    return Case(source, at, " ".join(causes), used and meets, truth)


def draw(rng):
    """Return a drawn case, or None."""
    kinds = rng.choices([k for k in STAGE if k not in ("smooth", "nan")], k=rng.choice([1, 2, 2]))
    use = rng.choice(["used", "used", "finite", "unused", "still"])
    if use == "unused" and rng.random() < 0.3:
        kinds[-1] = "nan"
    if BAD.isdisjoint(kinds):
        return None
    if rng.random() < 0.5:
        kinds.insert(rng.randrange(len(kinds) + 1), "smooth")
    return make([rng.choice(STAGE[k]) for k in kinds], use, rng.choice(rows(USES[use])))


def drawn(seed, n):
    """Return so many different cases."""
    rng, found = random.Random(seed), {}
    with silent():
        while len(found) < n:
            if case := draw(rng):
                found[case.text] = case
    return list(found.values())


# ---- runs ----


def program(f, x, backend, first):
    """Return the result of a program that was traced at another point before, or at this one."""
    compiled = ft.compile(f, backend=backend, warm=True)
    compiled(x + first, x + first)
    return compiled(x, x)


class Net:
    """Counts of verdicts by mode, and the groups of what is wrong or lacks a finite result."""

    def __init__(self, firsts=(0.25, 0.0)):
        self.firsts, self.counts, self.groups = firsts, Counter(), defaultdict(list)

    def run(self, case, backends=()):
        """Run a case in each mode; in batches and programs the result must be that of eager."""
        f, x, one, zero = function(case.text), *map(np.float64, (case.at, 1.0, 0.0))
        xs = np.array([x, x + 0.25, x])
        forward = lambda x, w: ft.jvp(f, (x, w), (one, zero))[1]  # noqa: E731
        for mode, derivative in (("vjp", ft.grad(f)), ("jvp", forward)):
            eager, verdict = self.judge(case, mode, derivative, x, x)
            if verdict in ("wrong", "lacking", "refused"):
                self.groups[f"{mode} {verdict}", case.group].append(f"{case}: {eager}")
            runs = [("vmap", lambda: ft.vmap(derivative)(xs, xs)[2])]
            for name, first in itertools.product(backends, self.firsts):
                runs.append((name, functools.partial(program, derivative, x, name, first)))
            for name, run in runs:
                found, _ = self.judge(case, f"{name} {mode}", run)
                both = np.isfinite([found, eager])
                if not (np.isclose(found, eager, 1e-9, 1e-12) if both.all() else not both.any()):
                    self.groups[f"{mode} unlike eager", case.group].append(f"{case}: {found}")
        run = lambda: ft.linearize(f, x, x)[1](one, zero)  # noqa: E731
        found, verdict = self.judge(case, "recorded", run)  # which may not be finite without need
        if verdict in ("wrong", "refused"):
            self.groups[f"recorded {verdict}", case.group].append(f"{case}: {found}")

    def judge(self, case, mode, run, *args):
        try:
            with silent():
                found = float(run(*args))
            verdict = case.judge(found)
        except ft.ConversionError:
            found, verdict = np.nan, "refused"
        self.counts[mode, verdict] += 1
        return found, verdict

    def summary(self):
        lines = [f"{n} {mode} {verdict}" for (mode, verdict), n in sorted(self.counts.items())]
        return f"zeros and infinities: {self.counts.total()} cases, {', '.join(lines)}"

    def told(self):
        """Return what the last lines of a run say: `Verdicts.told` of these counts."""
        n = Counter()
        for (_, verdict), count in self.counts.items():
            n[verdict] += count
        right = n["right"] + n["subgradient"] + n["not finite"]
        refused = {"a number that is asked for": n["refused"]}
        refused["a finite derivative that is inf or NaN, as in KNOWN"] = n["lacking"]
        return self.summary(), right, refused, n["wrong"]
