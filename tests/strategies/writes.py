"""Programs that write: creations, views, writes of all kinds at all kinds of indices, and reads.

Each statement is run by NumPy as it is drawn, which gives the types of its names. One that NumPy
refuses, or that gives large numbers, is left out.
"""

import functools
import re

import numpy as np
from hypothesis import strategies as st

from .programs import Drawing, Statement, Variable, below, lines_of

LARGE = 30.0

CREATIONS = (
    "fnp.zeros({shape})", "fnp.ones({shape})", "fnp.full({shape}, -1.5)",
    "fnp.array({ramp})", "fnp.arange({size}.0).reshape({shape}) * 0.25",
    "fnp.zeros({shape}, complex)", "fnp.zeros({shape}, int)", "fnp.ones({shape}, np.float32)",
    "np.zeros_like({any})", "np.ones_like({any})", "fnp.zeros_like({any})",
    "np.full_like({any}, 0.5)", "fnp.array({any})", "{any}.copy()", "np.copy({any})",
    "np.sin({any})", "{any} * 0.5", "{any}.astype({any}.dtype)", "np.array({any}, like={any})",
    "{any} * (1 + 0.5j)", "np.exp(1j * {any})",
)  # fmt: skip

VIEWS = {
    "slice": ("{b}[1:]", "{b}[:-1]", "{b}[:2]", "{b}[..., 1:]", "{b}[...]", "{b}[:]"),
    "step": ("{b}[::-1]", "{b}[::2]", "{b}[1::2]", "{b}[..., ::-1]", "{b}[..., ::2]"),
    "row": ("{b}[0]", "{b}[-1]", "{b}[1]", "{b}[..., 0]", "{b}[..., -1]"),
    "element": ("{b}[0, ...]", "{b}[1, 0, ...]", "{b}[-1, -1, ...]"),
    "computed": (
        "{b}[{at}]", "{b}[{at}, 1:]", "{b}[{at}, ::-1]", "{b}[{at}, ...]", "{b}[..., {at}]",
        "{b}[:, {at}]", "{b}[::-1, {at}]", "{b}[None, {at}]", "{b}[{at}, None]", "{b}[-{at} - 1]",
    ),
    "newaxis": ("{b}[None]", "{b}[..., None]", "{b}[np.newaxis, ...]"),
    "reshape": ("{b}.reshape(-1)", "{b}.reshape(1, -1)", "np.reshape({b}, (2, -1))"),
    "ravel": ("{b}.ravel()", "np.ravel({b})"),
    "T": ("{b}.T",),
    "transpose": ("np.transpose({b})", "{b}.transpose()", "np.permute_dims({b})"),
    "swapaxes": ("{b}.swapaxes(0, -1)", "np.swapaxes({b}, 0, -1)"),
    "moveaxis": ("np.moveaxis({b}, 0, -1)", "np.rollaxis({b}, {b}.ndim - 1)"),
    "real": ("{b}.real", "np.real({b})"),
    "imag": ("{b}.imag", "np.imag({b})"),
    "iterated": ("[row for row in {b}][1]", "list({b})[0]", "next(iter({b}))"),
    "flip": ("np.flip({b})", "np.flip({b}, 0)", "np.flip({b}, -1)"),
    "squeeze": ("np.squeeze({b}[:1])", "{b}[None].squeeze(0)", "{b}.squeeze()"),
    "expand_dims": ("np.expand_dims({b}, 0)", "np.expand_dims({b}, -1)"),
    "split": ("np.array_split({b}, 2)[0]", "np.array_split({b}, 2)[1]", "np.split({b}, 2)[1]"),
    "asarray": ("fnp.asarray({b})", "{b}.view()"),
}  # fmt: skip
"""Kinds of views of an array, ``{b}``; a name may be a view of a view."""

INDICES = {
    "int": ("0", "1", "1, 0", "-1", "-2", "-1, -1", "0, 1"),
    "slice": ("1:", ":-1", ":", ":2", ":, 1:", ":, :-1", "0, 1:"),
    "step": ("::2", "::-1", "1::2", "::-2", ":, ::-1", "..., ::2", "0, ::-1"),
    "ellipsis": ("...", "..., 0", "0, ...", "..., 1:", "..., -1, :"),
    "newaxis": ("None", ":, None", "None, 0", "..., None", "0, None", "None, 1:"),
    "list": ("[1, 0]", "[0, 0]", "[1, -1, 1]", ":, [0, 1]", ":, [-1, -1]", "[0, 1, 0, 1]"),
    "array": ("np.array([[0, 1], [1, 1]])", "np.array([1, 0, 0])", "np.array([1])"),
    "own mask": (
        "{t} > 0.103", "np.abs({t}) < 0.703", "{t} <= -0.203", "np.sum({t}, axis=-1) > 0.103",
    ),
    "mask": ("np.arange({t}.size).reshape({t}.shape) % 2 == 0", "np.arange(len({t})) != 1"),
    "computed": ("{at}", "k", "k, 0", "np.argsort({n})[:2] % {t}.shape[0]", "{at}, 1:"),
    "mixture": (
        "1:, [0, 1]", "[1, 0], None", "..., [0, 0]", "[-1, 0], 1:", "None, [1, 0, 1]", "k, 1:",
        "[0, 1], [1, 0]", "0, [1, 1]", "k, ::-1", "..., k", "0, k",
    ),
}  # fmt: skip

WRITES = {
    "setitem": ("{t}[{i}] = {p}", "{t}[{i}] = {c}"),
    "item op=": ("{t}[{i}] += {p}", "{t}[{i}] *= {p}", "{t}[{i}] -= {p}",
                 "{t}[{i}] /= 2.0 + np.sin({p})"),
    "op=": ("{t} += {e}", "{t} *= {e}", "{t} -= {e}", "{t} /= 2.0 + np.sin({e})", "{t} **= 2"),
    "out= ufunc": (
        "np.add({e}, {f}, out={t})", "np.multiply({t}, {e}, out={t})", "np.sin({e}, out={t})",
        "np.tanh({t}, out=({t},))", "np.maximum({e}, {f}, out={t})", "np.add({e}, {f}, {t})",
        "np.conjugate({t}, out={t})", "np.negative({e}, out={t})",
    ),
    "out= where=": ("np.add({e}, {f}, out={t}, where={m})", "np.sin({e}, out={t}, where={m})"),
    "out= reduction": (
        "np.sum({g}, axis=0, out={t})", "np.mean({g}, axis=0, out={t})",
        "np.cumsum({s}, axis=0, out={t})", "({g}).sum(0, out={t})", "np.max({g}, axis=0, out={t})",
        "np.add.reduce({g}, axis=0, out={t})",
    ),
    "out= take": ("np.take({s_}, {some}, axis=0, out={t})",
                  "np.take({s_}, {some}, axis=0, out={t}, mode='wrap')"),
    "out= clip": ("np.clip({s}, -0.403, 0.597, out={t})", "({s}).clip(-0.503, None, out={t})"),
    "out= matmul": ("np.matmul({l}, {r}, out={t})", "np.dot({l}, {r}, out={t})"),
    "out= einsum": ("np.einsum('...,...->...', {s_}, {s_}, out={t})",),
    "add.at": ("np.add.at({t}, np.s_[{i}], {q})",),
    "ufunc.at": ("np.subtract.at({t}, np.s_[{i}], {q})", "np.multiply.at({t}, np.s_[{i}], {q})",
                 "np.maximum.at({t}, np.s_[{i}], {q})", "np.negative.at({t}, np.s_[{i}])"),
    "put": ("np.put({t}, [0, -1], {three})", "{t}.put([1, 0, 1], {three})",
            "np.put({t}, [1, 99], {three}, mode='wrap')"),
    "place": ("np.place({t}, {m}, {three_})",),
    "putmask": ("np.putmask({t}, {m}, {s_})", "np.putmask({t}, {m}, {three_})"),
    "copyto": ("np.copyto({t}, {e})", "np.copyto({t}, {e_}, where={m})"),
    "fill_diagonal": ("np.fill_diagonal({t}, {one_})", "np.fill_diagonal({t}, {one_}, wrap=True)"),
    "put_along_axis": (
        "np.put_along_axis({t}, np.zeros({t}[:1].shape, int), {row}, axis=0)",
        "np.put_along_axis({t}, np.argmax({t}, axis=0, keepdims=True), {row}, axis=0)",
    ),
    "fill": ("{t}.fill({one})",),
    "sort": ("{t}.sort()", "{t}.sort(axis=0)"),
    "partition": ("{t}.partition(0)", "{t}.partition({t}.shape[-1] - 1)"),
    "nan_to_num": ("np.nan_to_num({t}, copy=False)",),
    "flat": ("{t}.flat[0] = {one}", "{t}.flat[-1] += {one}", "{t}.flat[1:] = {one}",
             "{t}.flat[[1, 0, 1]] = {three_}"),
    "loop": (
        "for i in range(len({t}) - 1):\n    {t}[i + 1] = np.sin({t}[i]) + {row}[0]",
        "for i in range(len({t}) - 1):\n    {t}[i + 1] += 0.5 * {t}[i] * {row}[0]",
        "for i in range(len({t}) - 2, -1, -1):\n    {t}[i] -= 0.3 * np.cos({t}[i + 1])",
        "for row in {t}:\n    row *= {row}[0]",
        "for row in {t}:\n    row[...] = np.cos(row) + {row}[0]",
        "for i in range(len({t})):\n    {t}[i, :-1] += {t}[i, 1:]",
    ),
}  # fmt: skip
"""Kinds of writes to an array, ``{t}``. A place whose name ends with an underscore is a copy where
NumPy says nothing about the order in which it reads and writes."""

INDEXED = ("setitem", "item op=", "add.at", "ufunc.at")

FORMS = (
    "{n}", "{n}[0]", "{n}[1:]", "{n}[:-1]", "{n}[::-1]", "{n}[-1]", "{n}[:, 0]", "{n}[..., 1:]",
    "{n}[1, 0]", "np.sum({n})", "np.sum({n}, axis=0)", "np.mean({n}, axis=-1)", "{n}.T",
)  # fmt: skip
"""The parts of a name that an expression may read."""

WRAPPED = (
    "{0}", "{0}", "np.sin({0})", "({0} * 0.5)", "np.tanh(0.5 * {0})", "({0} * -1.5)",
    "np.square({0})", "({0} + {1})", "({0} * {1})", "({0} - {1})", "np.cos({0})",
)  # fmt: skip

REFUSED = (
    "{t}[99] = 0.0", "{t}[..., 99] += 1.0", "{t}[0, 0, 0, 0, 0] = 1.0", "{t}['x'] = 1.0",
    "{t}[:] = np.zeros({more})", "{t} += np.zeros({more})", "{t}[0.5] = 1.0",
    "np.add(np.zeros({more}), {t}, out={t})", "np.sum({t}, axis=0, out={t})",
    "{t}[...] = 1j", "{t} *= 1j", "np.multiply({t}, 1j, out={t})", "{t}.fill(1j)",
    "np.copyto({t}, 1j)", "np.put({t}, [999], 1.0)", "{t}.partition(77)",
    "np.put_along_axis({t}, np.array([0]), 1.0, 7)",
    "np.broadcast_to({t}, {wide})[...] = 1.0", "np.broadcast_to({t}, {wide})[0] += 1.0",
    "np.diagonal({t})[...] = 1.0", "np.fill_diagonal(np.ravel({t}), 1.0)",
    "{t}.sort(axis=5)", "np.take({t}, [99], out={t})", "np.copyto({t}, np.zeros({more}))",
    "np.maximum({t}, 1j, out={t})", "{t}[[0, 99]] = {t}[[0, 0]]", "{t}.flat[999] = 1.0",
    "{t}[np.array([True] * 77)] = 1.0", "np.dot({t}, {t}, out={t}[:0])",
    "{t}.real[...] = np.zeros({more})",
)  # fmt: skip
"""Statements that NumPy refuses, most of them for any array."""


class Unfit(Exception):
    """Nothing fits a place of a template."""


code_of = functools.cache(lambda text, mode: compile(text, "<drawn>", mode))


@functools.cache
def shape_of(form, shape):
    """Return the shape of what is read of an array; None where it cannot be read."""
    try:
        found = np.shape(
            eval(code_of(form.format(n="n"), "eval"), {"np": np, "n": np.zeros(shape)})
        )
    except (IndexError, ValueError):
        return None
    return found if 0 not in found else None


def fits(shape, other):
    try:
        return np.broadcast_shapes(shape, other) == other
    except ValueError:
        return False


class Writing(Drawing):
    """A program with writes; `space` has the values of its names by NumPy."""

    def __init__(self, draw, views=tuple(VIEWS), writes=tuple(WRITES)):
        super().__init__(draw)
        self.views, self.writes = views, writes
        n, m = self.choice([2, 3, 4]), self.choice([2, 3])
        g = np.random.default_rng(draw(below(1000)))
        shapes = {"x": self.choice([(n,), (n, m), (2, n, m)]),
                  "y": self.choice([(n,), (m, n), (n, m), ()])}  # fmt: skip
        if self.chance(60):
            shapes["c"] = self.choice([(n,), (), (n, m)])
        self.args = {name: np.round(g.normal(size=shape), 2) for name, shape in shapes.items()}
        if self.chance(40):
            self.args["k"] = g.integers(-2, 2, self.choice([(2,), (), (3,)]))
        self.restart()

    # ---- statements that fit ----

    def restart(self):
        """Run all statements again."""
        self.space = {"np": np, "fnp": np} | {n: np.array(v)[()] for n, v in self.args.items()}
        self.names = {n: Variable(np.shape(v)) for n, v in self.args.items()}
        for statement in self.block:
            self.run(statement.text)

    def run(self, text):
        exec(code_of(text, "exec"), self.space)

    def attempt(self, text, *features):
        """Add a statement; False where it does not fit, and nothing has happened."""
        try:
            with np.errstate(all="raise", under="ignore"):
                self.run(text)
            for value in self.space.values():
                if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fc":
                    if not 0 < value.size <= 64 or not np.all(np.abs(value) < LARGE):
                        raise Unfit
        except Exception:
            names = self.names
            self.restart()
            self.names = names
            return False
        self.add(text, *features)
        return True

    def make(self, text, letter, *features):
        """Add a name with the value of an expression; return it, or None."""
        name = self.fresh(letter)
        if not self.attempt(f"{name} = {text}", *features):
            return None
        value = self.space[name]
        base = [n for n in self.arrays() if n != name and np.may_share_memory(self.space[n], value)]
        self.names[name] = Variable(
            np.shape(value), value.dtype.kind, (self.names[base[-1]].view_of or base[-1])
            if base else "",
        )  # fmt: skip
        return name

    # ---- what fits a place ----

    def value(self, text):
        try:
            return eval(code_of(text, "eval"), dict(self.space))
        except Exception:
            raise Unfit from None

    def arrays(self, kinds="fci"):
        return [
            n for n in reversed(self.names)
            if type(v := self.space.get(n)) is np.ndarray and v.dtype.kind in kinds and n != "k"
        ]  # fmt: skip

    def fit(self, shape, kind="f", exact=False, deep=True):
        """Return an expression that broadcasts to a shape, or has it."""
        found = []
        for n in reversed(self.names):
            value = self.space.get(n)
            if n == "k" or value is None or value.dtype.kind not in ("fc" if kind == "c" else "f"):
                continue
            for form in FORMS:
                own = shape_of(form, np.shape(value))
                if own is not None and (own == shape or (not exact and fits(own, shape))):
                    found.append(form.format(n=n))
        if not found:
            one = self.fit((), kind, deep=False)
            return f"({one} * np.linspace(-1, 1, {int(np.prod(shape))}).reshape({shape}))"
        text = self.choice(WRAPPED if deep else WRAPPED[:1])
        other = self.fit(shape, kind, deep=False) if "{1}" in text else ""
        return text.format(self.choice(found), other)

    def apart(self, text):
        """Return an expression as a copy where it is a view of what is written to."""
        shared = np.may_share_memory(self.value(text), self.space[self.target])
        return f"np.copy({text})" if shared else text

    def place(self, key):
        t = self.space.get(self.target)
        if key.endswith("_"):
            return self.apart(self.place(key[:-1]))
        if key in ("e", "f", "s"):
            return self.fit(t.shape, t.dtype.kind, exact=key == "s")
        if key in ("p", "q"):
            shape = np.shape(self.value(f"{self.target}[{self.index}]"))
            if "mask" in self.index_kind or (key == "q" and self.chance(50)):
                shape = ()
            return self.fit(shape, t.dtype.kind, exact=key == "q")
        shapes = {"g": (2, *t.shape), "three": (3,), "one": (), "row": (1, *t.shape[1:])}
        if key == "l":
            return self.fit((len(t), 2), t.dtype.kind, exact=True)
        if key == "r":
            return self.fit((2, *t.shape[1:]), t.dtype.kind, exact=True)
        if key in shapes:
            return self.fit(shapes[key], t.dtype.kind, exact=key != "row")
        if key == "m":
            real = f"{self.target}.real" if t.dtype.kind == "c" else self.target
            flags = f"np.arange({t.size}).reshape({t.shape}) % 2 == 0"
            return self.choice([flags, f"{real} > 0.103", f"np.abs({real}) < 0.803"])
        if key == "c":
            return self.choice([0.0, 1.5, -1, 2.7])
        if key == "some":
            return [self.choice([0, -1, 1]) for _ in range(len(t))]
        if key == "n":
            return self.choice([n for n in self.arrays("f") if self.space[n].ndim == 1] or ["x"])
        if key == "at":
            name = self.choice(["x", "y", *self.arrays("f")])
            return self.choice([f"np.argmax({name}) % 2", f"np.argmin({name}) % 2"])
        raise NotImplementedError(key)

    # ---- statements ----

    def kinds(self):
        return [
            self.write, self.write, self.write, self.look, self.look, self.create, self.read,
            self.read, self.alias, self.forget,
        ]  # fmt: skip

    def look(self):
        """Take a view of an array."""
        bases = [n for n in self.arrays() if self.space[n].flags.writeable] or ["x"]
        self.target = base = self.choice(bases)
        kind = self.choice(self.views)
        made = []
        for text in VIEWS[kind]:
            try:
                text = self.fill(text, b=base) if "{at}" in text else text.format(b=base)
                seen = self.value(text)
            except Unfit:
                continue
            if type(seen) is np.ndarray and seen.size and seen.flags.writeable:
                if np.may_share_memory(seen, self.space[base]):
                    made.append(text)
        if made:
            self.make(self.choice(made), "v", f"view: {kind}")

    def write(self):
        """Write to an array, by a write of some kind."""
        for _ in range(3):
            if self.write_by(self.choice(self.writes)):
                return

    def write_by(self, kind):
        able = [n for n in self.arrays() if self.space[n].flags.writeable]
        if not able:
            return False
        self.target = target = self.choice(able)
        features = [f"write: {kind}"]
        try:
            given = {"t": target}
            if kind in INDEXED:
                self.index_kind = self.choice(list(INDICES))
                if self.index_kind == "own mask" and self.space[target].dtype.kind == "c":
                    return False
                self.index = given["i"] = self.pick(INDICES[self.index_kind], t=target)
                features.append(f"index: {self.index_kind}")
            text = self.pick(WRITES[kind], **given)
            if kind in ("setitem", "item op=") and "mask" in self.index_kind:
                value = text.partition("= ")[2]
                text = text.replace(f"= {value}", f"= {self.apart(value)}")
        except (Unfit, TypeError):
            return False
        if not self.attempt(text, *features):
            return False
        self.names[target] = self.names[target]._replace(written=True)
        return True

    def create(self):
        r = self
        shape = tuple([r.choice([2, 3]) for _ in range(r.choice([1, 2, 2]))])
        size = int(np.prod(shape))
        ramp = np.round(np.linspace(-1, 1, size), 2).reshape(shape).tolist()
        text = self.choice(CREATIONS)
        of = self.choice(self.arrays("fc") or ["x"])
        self.make(text.format(shape=shape, size=size, ramp=ramp, any=of), "a", "create")

    def read(self):
        shape = self.choice([v.shape for v in self.names.values()])
        self.make(self.fit(shape, "c"), "s")

    def alias(self):
        old = self.choice(self.arrays() or ["x"])
        self.make(self.choice(["{0}", "{0}[...]", "fnp.asarray({0})"]).format(old), "b", "alias")

    def forget(self):
        made = [n for n in self.arrays() if self.names[n].view_of]
        if made and self.attempt(f"del {(name := self.choice(made))}"):
            del self.names[name]

    # ---- the whole ----

    def finished(self, **about):
        results = [n for n in self.names if n != "k" and n in self.space]
        text = "\n".join(lines_of(self.block))
        indexes = re.search(r" [<>]=? |np\.arg", text) is not None
        for name in self.names.values():
            self.features[f"dtype: {name.kind}"] += 1
        return self.program(
            [*self.args], f"[{', '.join(results)}]", (*self.args.values(),), indexes=indexes,
            **about,
        )  # fmt: skip

    def refused(self):
        """Return a last statement that NumPy refuses, or None."""
        able = [n for n in self.arrays("f") if self.space[n].ndim]
        if not able:
            return None
        name = self.choice(able)
        shape = self.space[name].shape
        text = self.choice(REFUSED).format(t=name, more=(*shape, 5), wide=(2, *shape))
        try:
            exec(text, self.space)
        except Exception:
            return text
        return None


@st.composite
def writing(draw, most=10, **kinds):
    """Return programs that write to arrays, and to views of them."""
    drawing = Writing(draw, **kinds)
    drawing.draw_statements(1, most)
    return drawing.finished()


@st.composite
def writing_badly(draw):
    """Return programs whose last statement NumPy refuses."""
    drawing = Writing(draw)
    drawing.draw_statements(0, 6)
    bad = drawing.refused()
    if bad is not None:
        drawing.block.append(Statement(bad))
    return drawing.finished(bad=bad)
