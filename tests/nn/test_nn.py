"""functier.nn: modules, parameters, buffers, hooks, states; modules as pytrees.

The rows of the source documents about modules (D01 to D16) are named in their tests.
"""

import copy
import inspect
import pickle

import numpy as np
import optree
import pytest

import functier as ft
import functier.nn.functional as F
from functier import functional_call, grad, hessian, jvp, nn, stack_module_state, vmap
from functier.testing import check_grads
from support.basics import alike, close, equal, in_threads, raises

RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 3))


class Linear(nn.Module):
    """The module of the documents, with NumPy's names."""

    def __init__(self, input_features, output_features, bias=True):
        super().__init__()
        self.input_features = input_features
        self.output_features = output_features
        self.weight = nn.Parameter(np.empty((output_features, input_features)))
        if bias:
            self.bias = nn.Parameter(np.empty(output_features))
        else:
            self.register_parameter("bias", None)
        nn.init.uniform_(self.weight, -0.1, 0.1)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -0.1, 0.1)

    def forward(self, input):
        out = input @ self.weight.T
        return out if self.bias is None else out + self.bias

    def extra_repr(self):
        return (
            f"input_features={self.input_features}, output_features={self.output_features}, "
            f"bias={self.bias is not None}"
        )


class Net(nn.Module):
    """Layers in attributes, in a list and in a dict, a buffer, and a shared layer."""

    def __init__(self, shared=True):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.Tanh()])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})
        if shared:
            self.heads["c"] = self.heads["a"]
        self.register_buffer("scale", np.array([2.0, 3.0]))
        self.plain = np.ones(2)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return sum(head(x) for head in self.heads.values()) * self.scale * self.plain


def loss(model, x):
    return np.mean(np.square(model(x)))


def tree_map(f, *trees):
    return optree.tree_map(f, *trees, namespace="functier")


# ---- parameters and buffers ----


def test_d01_each_layer_has_a_function_that_gives_the_same():
    """D01: of the same parameters, by name in `nn.functional`."""
    image = RNG.normal(size=(2, 4, 6, 6))
    linear, norm = nn.Linear(3, 4), nn.LayerNorm((6, 6))
    conv = nn.Conv2d(4, 6, 3, 2, 1, 1, 2)
    nn.init.normal_(norm.weight)
    pairs = [
        (linear(X), F.linear(X, linear.weight, linear.bias)),
        (conv(image), F.conv2d(image, conv.weight, conv.bias, 2, 1, 1, 2)),
        (norm(image), F.layer_norm(image, (6, 6), norm.weight, norm.bias)),
        (nn.Dropout(0.4, generator=1)(X), F.dropout(X, 0.4, generator=1)),
        (nn.ReLU()(X), F.relu(X)),
        (nn.GELU()(X), F.gelu(X)),
        (nn.GELU("tanh")(X), F.gelu(X, "tanh")),
        (nn.Tanh()(X), F.tanh(X)),
        (nn.Sigmoid()(X), F.sigmoid(X)),
        (nn.Softmax(1)(X), F.softmax(X, 1)),
        (nn.Flatten()(image), image.reshape(2, -1)),
        (nn.Flatten(0, 2)(image), image.reshape(48, 6)),
        (nn.Sequential(linear, nn.ReLU())(X), F.relu(linear(X))),
    ]
    for layer_s, function_s in pairs:
        equal(layer_s, function_s)


def test_d03_nothing_is_assigned_before_init():
    """D03: parameters, buffers and modules ask for super().__init__() first."""

    def made(assign):
        class Early(nn.Module):
            def __init__(self):
                assign(self)

        return Early

    for assign, words in (
        (lambda m: setattr(m, "w", nn.Parameter([1.0])), "cannot assign parameters before"),
        (lambda m: m.register_parameter("w", None), "cannot assign parameters before"),
        (lambda m: m.register_buffer("b", np.ones(1)), "cannot assign buffers before"),
        (lambda m: setattr(m, "layer", nn.ReLU()), "cannot assign module before"),
    ):
        with pytest.raises(AttributeError, match=words + r" Module.__init__\(\) call.*Early"):
            made(assign)()


def test_d04_calling_is_forward_with_hooks():
    """D04: hooks run before and after forward, and can be removed."""
    seen = []

    class Add(nn.Module):
        def forward(self, x, y=1.0):
            seen.append("forward")
            return x + y

    m = Add()
    assert m(2.0) == 3.0 and m(2.0, y=5.0) == 7.0
    seen.clear()
    pre = m.register_forward_pre_hook(lambda module, args: seen.append(("pre", module is m, args)))
    post = m.register_forward_hook(lambda module, args, out: seen.append(("post", args, out)))
    assert m(2.0) == 3.0
    assert seen == [("pre", True, (2.0,)), "forward", ("post", (2.0,), 3.0)]
    with m.register_forward_pre_hook(lambda module, args: args[0] * 10):  # not a tuple: one
        assert m(2.0) == 21.0
    with m.register_forward_hook(lambda module, args, out: -out) as handle:
        assert m(2.0) == -3.0
        handle.remove()
        assert m(2.0) == 3.0
    pre.remove(), post.remove(), post.remove()
    seen.clear()
    assert m(2.0) == 3.0 and seen == ["forward"]
    raises(NotImplementedError, lambda: nn.Module()(1.0), "missing the required")


def test_hooks_with_keywords_in_their_order_and_after_errors():
    class Add(nn.Module):
        def forward(self, x, y=1.0):
            return x + y

    m, seen = Add(), []
    m.register_forward_hook(lambda *a: seen.append("b"))
    m.register_forward_hook(lambda *a: seen.append("a"), prepend=True)
    m.register_forward_pre_hook(lambda mod, a, k: (a, {"y": k["y"] * 2}), with_kwargs=True)
    m.register_forward_hook(lambda mod, a, k, out: out + k["y"], with_kwargs=True)
    assert m(1.0, y=3.0) == 13.0
    assert seen == ["a", "b"]
    m.register_forward_hook(lambda mod, a, out: seen.append(out), always_call=True)
    raises(TypeError, lambda: m("x", y=3.0))
    assert seen == ["a", "b", None]
    n = Add()
    n.register_forward_pre_hook(lambda mod, a, k: 5, with_kwargs=True)
    raises(TypeError, lambda: n(1.0), "pre-hook  |  returned int")


def test_d05_parameters_register_by_assignment_once_each():
    """D05: in the order of assignment, those of submodules, too."""

    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.Parameter(np.ones(1))
            self.a = nn.Parameter(np.ones(2))
            self.again = self.c
            self.layer = nn.Linear(1, 1)
            self.same = self.layer

    m = Three()
    names = ["c", "a", "layer.weight", "layer.bias"]
    assert [n for n, _ in m.named_parameters()] == names
    assert [p is q for p, q in zip(m.parameters(), (m.c, m.a, m.layer.weight, m.layer.bias))]
    every = [n for n, _ in m.named_parameters(remove_duplicate=False)]
    assert every == ["c", "a", "again", *names[2:], "same.weight", "same.bias"]
    assert [n for n, _ in m.named_parameters("net", recurse=False)] == ["net.c", "net.a"]
    assert len(list(m.parameters())) == 4
    del m.again
    assert "again" not in dict(m.named_parameters(remove_duplicate=False))
    with pytest.raises(AttributeError):
        m.again  # noqa: B018


def test_d06_parameters_require_gradients():
    """D06: unless they say otherwise; results of operations are plain arrays."""
    assert nn.Parameter(np.ones(2)).requires_grad is True
    assert nn.Parameter([1.0, 2.0], requires_grad=False).requires_grad is False
    assert nn.Parameter(np.array([1]), False).dtype == np.array([1]).dtype
    raises(TypeError, lambda: nn.Parameter(np.array([1])), "only floating-point and complex arrays")
    a = np.ones(3)
    w = nn.Parameter(a)
    assert isinstance(w, np.ndarray) and np.shares_memory(w, a)
    for result in (w * 2, w + w, w @ w, np.sin(w), w.sum(), np.sum(w), np.mean(w, axis=0), w > 0):
        assert not isinstance(result, nn.Parameter)
    before = w
    w -= 0.5
    assert w is before and type(w) is nn.Parameter and w.requires_grad
    equal(a, np.full(3, 0.5))


def test_d07_a_name_without_a_parameter():
    """D07: a name registered as None has no parameter until one is assigned."""
    m = nn.Module()
    m.register_parameter("bias", None)

    assert m.bias is None
    assert list(m.parameters()) == [] and m.state_dict() == {}
    m.bias = nn.Parameter([1.0])
    assert [n for n, _ in m.named_parameters()] == ["bias"]
    m.bias = None
    assert list(m.parameters()) == []


def test_d08_buffers_are_state_and_no_parameters():
    """D08: they are saved, if they are persistent, and are converted with the module."""
    m = nn.Module()
    m.register_buffer("mean", np.zeros(2))
    m.register_buffer("cache", [1, 2], persistent=False)

    assert [n for n, _ in m.named_buffers()] == ["mean", "cache"]
    assert list(m.state_dict()) == ["mean"]
    assert list(m.parameters()) == []
    m.astype(np.float32)
    assert m.mean.dtype == np.float32 and m.cache.dtype.kind == "i"
    m.mean = np.ones(2)
    assert [n for n, _ in m.named_buffers()] == ["mean", "cache"]
    assert m.load_state_dict({"mean": np.full(2, 7.0)}) == ([], [])
    equal(m.mean, np.full(2, 7.0))


def test_d09_other_arrays_are_attributes_and_nothing_else():
    """D09: they are neither saved nor converted."""
    m = Net()
    assert not any(x is m.plain for x in (*m.parameters(), *m.buffers()))
    assert "plain" not in m.state_dict()
    m.astype(np.float32)
    assert m.plain.dtype == np.float64
    m.rows = m.first.weight[:2]  # a view of a parameter is none
    m.copied = m.first.weight.copy()
    assert {"rows", "copied"} & {n for n, _ in m.named_parameters()} == set()


def test_d10_conversion_of_all_parameters_and_buffers():
    """D10: those of floating point, in place for the module."""
    m = Net()
    m.register_buffer("steps", np.array(3))
    weight = m.first.weight

    assert m.astype(np.float32) is m
    for x in (*m.parameters(), *m.buffers()):
        assert x.dtype == (np.float32 if x is not m.steps else m.steps.dtype)
    assert weight.dtype == np.float64 and m.first.weight.requires_grad
    assert m.heads["a"].weight is m.heads["c"].weight
    assert m.double().first.bias.dtype == np.float64
    assert m.float().first.bias.dtype == np.float32
    assert m.half().scale.dtype == np.float16
    raises(TypeError, lambda: m.astype(np.int64), "Net.astype: dtype=int64 is not a floating-point")


def test_d12_the_linear_module_of_the_documents():
    """D12: its value and its gradients against formulas."""
    m = Linear(3, 4)
    equal(m(X), X @ m.weight.T + m.bias)
    params = {n: np.array(p) for n, p in m.named_parameters()}
    slopes = grad(lambda p: np.sum(np.sin(functional_call(m, p, X))))(params)

    g = np.cos(m(X))
    close(slopes["weight"], g.T @ X)
    close(slopes["bias"], g.sum(0))
    assert np.abs(m.weight).max() <= 0.1


def test_d13_a_module_is_printed_with_its_extra_representation():
    """D13: that of extra_repr, beside its submodules."""
    assert repr(Linear(3, 4, False)) == "Linear(input_features=3, output_features=4, bias=False)"
    assert repr(nn.Linear(3, 4, False)) == "Linear(in_features=3, out_features=4, bias=False)"
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.Sequential(nn.Sequential(nn.ReLU()), nn.Flatten())) == (
        "Sequential(\n"
        "  (0): Sequential(\n"
        "    (0): ReLU()\n"
        "  )\n"
        "  (1): Flatten(start_dim=1, end_dim=-1)\n"
        ")"
    )


def test_d14_without_a_bias():
    """D14: a layer with bias=False has no such parameter."""
    for m in (Linear(3, 4, bias=False), nn.Linear(3, 4, bias=False)):
        assert m.bias is None
        close(m(X), X @ np.asarray(m.weight).T)
        assert [n for n, _ in m.named_parameters()] == ["weight"]
    assert nn.Conv2d(1, 2, 3, bias=False)(np.ones((1, 1, 3, 3))).shape == (1, 2, 1, 1)


def test_d15_activations_and_pooling_are_functions_to_differentiate_and_batch():
    """D15 (tests/nn/test_nn_functional.py has them all)."""
    x = RNG.normal(size=(3, 2, 4, 4))
    for f in (F.relu, lambda x: F.softmax(x, -1), lambda x: F.max_pool2d(x, 2),
              lambda x: F.avg_pool2d(x, 2)):  # fmt: skip
        each = vmap(f)(x)
        equal(each, np.stack([f(a) for a in x]))
        slope = vmap(grad(lambda a, f=f: np.sum(np.square(f(a)))))(x)
        close(slope, np.stack([grad(lambda a, f=f: np.sum(np.square(f(a))))(a) for a in x]))


def test_d16_parameters_does_not_give_buffers():
    """D16: parameters() gives what is learned alone."""
    m = Net()
    buffers = list(m.buffers())

    assert len(buffers) == 1 and buffers[0] is m.scale
    assert not any(x is m.scale for x in m.parameters())
    assert "scale" in m.state_dict()


INHERITED = {"forward", "extra_repr"}
"""Methods that `Module` documents."""


def test_public_names_are_documented():
    public = {n: x for n, x in vars(nn).items() if not n.startswith("_")}
    assert {"Module", "Parameter", "Linear", "Conv2d", "functional", "init"} <= set(public)
    for name, x in public.items():
        assert x.__doc__, name
        for method, f in vars(x).items() if isinstance(x, type) else ():
            if inspect.isfunction(f) and method[0] != "_" and method not in INHERITED:
                assert f.__doc__, (name, method)
    assert all(getattr(nn.init, name).__doc__ for name in nn.init.__all__)


# ---- registration ----


def test_wrong_registrations():
    m = nn.Module()
    m.register_buffer("b", np.ones(1))
    m.layer = nn.ReLU()
    m.w = nn.Parameter([1.0])
    cases = [
        (lambda: m.register_parameter("forward", None), KeyError, "'forward' already exists"),
        (lambda: m.register_parameter("a.b", None), KeyError, "can't be empty or contain"),
        (lambda: m.register_buffer("", np.ones(1)), KeyError, "can't be empty or contain"),
        (lambda: m.register_buffer(3, np.ones(1)), TypeError, "the name is a int, not a str"),
        (lambda: m.register_parameter("p", np.ones(1)), TypeError, "functier.nn.Parameter"),
        (lambda: m.register_module("m", np.ones(1)), TypeError, "'m' is ndarray; pass a Module"),
        (lambda: setattr(m, "layer", 3), TypeError, "cannot assign int as module 'layer'"),
        (lambda: setattr(m, "w", "no"), TypeError, "cannot assign str as parameter 'w'"),
        (lambda: setattr(m, "b", {}), TypeError, "cannot assign dict as buffer 'b'"),
        (lambda: setattr(m, "eval", nn.Parameter([1.0])), KeyError, "'eval' already exists"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "divisible by groups=2"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "'same' or 'valid'"),
        (lambda: nn.Dropout(2.0), ValueError, "Dropout: p=2.0"),
        (lambda: nn.Flatten(2)(X), ValueError, "the shape (5, 3), without axes 2 to -1"),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        assert words in error.value.args[0]


def test_assigning_to_names_that_are_registered():
    m = nn.Module()
    m.w = nn.Parameter([1.0, 2.0], requires_grad=False)
    m.w = np.array([3.0, 4.0])
    assert type(m.w) is nn.Parameter and not m.w.requires_grad
    m.layer = None
    m.layer = nn.ReLU()
    assert [n for n, _ in m.named_children()] == ["layer"]
    m.layer = None
    assert list(m.children()) == []
    m.x = np.ones(1)
    m.x = nn.Parameter([5.0])  # from now on a parameter
    assert [n for n, _ in m.named_parameters()] == ["w", "x"]
    m.add_module("other", nn.Tanh())
    assert isinstance(m.other, nn.Tanh)


def test_modules_and_children():
    m = Net()

    names = ["", "first", "blocks", "blocks.0", "blocks.1", "heads", "heads.a", "heads.b"]
    assert [n for n, _ in m.named_modules()] == names
    assert len(list(m.modules())) == len(names)
    assert [n for n, _ in m.named_children()] == ["first", "blocks", "heads"]
    assert "heads.c" in dict(m.named_modules(remove_duplicate=False))
    order = []
    assert m.apply(lambda module: order.append(type(module).__name__)) is m
    assert order[-1] == "Net" and order.index("Linear") < order.index("ModuleList")


def test_modes():
    m = nn.Sequential(nn.Dropout(0.5, generator=0), nn.Sequential(nn.Dropout(0.5, generator=1)))
    assert (m(X) == 0).any()
    assert m.eval() is m and not any(x.training for x in m.modules())
    assert m(X) is X
    m.train()
    assert all(x.training for x in m.modules()) and (m(X) == 0).any()


# ---- containers ----


def test_lists_of_modules():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Linear(3, 3)
    for m in (nn.ModuleList([a, b]), nn.Sequential(a, b)):
        assert m.append(c) is m
        assert list(m) == [a, b, c] and len(m) == 3 and m[-1] is c
        m.insert(1, c)
        assert list(m) == [a, c, b, c]
        assert [n for n, _ in m.named_parameters()] == ["1.weight", "1.bias"]
        del m[1]
        assert list(m) == [a, b, c] and [n for n, _ in m.named_children()] == ["0", "1", "2"]
        m[0] = b
        assert list(m) == [b, b, c]
        assert type(m[1:]) is type(m) and list(m[1:]) == [b, c]
        del m[:2]
        assert list(m) == [c]
        raises(IndexError, lambda: m[1], "index 1 is out of range of 1")
    named = nn.Sequential({"in": c, "out": b})
    assert [n for n, _ in named.named_children()] == ["in", "out"]
    equal(named(X), b(c(X)))


def test_dicts_of_modules():
    m = nn.ModuleDict([("a", nn.ReLU()), ("b", nn.Tanh())])
    assert list(m) == ["a", "b"] == [*m.keys()] and len(m) == 2 and "a" in m and "c" not in m
    assert [*m.items()] == list(zip(m.keys(), m.values()))
    gone = m.pop("a")
    assert isinstance(gone, nn.ReLU) and [*m.keys()] == ["b"] and m.get("a") is None
    assert m == m != nn.ModuleDict(m) and len({m, nn.ModuleDict(m)}) == 2
    m.update({"c": gone})
    assert m["c"] is gone
    with pytest.raises(KeyError):
        del m["zz"]


# ---- states ----


def test_a_state_goes_round():
    a, b = Net(), Net()
    state = copy.deepcopy(a.state_dict())
    assert "heads.c.weight" in state and all(type(x) is np.ndarray for x in state.values())
    assert (a(X) != b(X)).all()

    assert b.load_state_dict(state) == ([], [])
    equal(a(X), b(X))
    assert not any(np.shares_memory(x, y) for x, y in zip(state.values(), b.state_dict().values()))
    memory = b.state_dict()["first.bias"]
    b.first.bias += 1
    equal(memory, np.array(b.first.bias))
    b.load_state_dict(b.state_dict() | {"scale": np.zeros(2)})
    equal(b(X), np.zeros((5, 2)))
    assert list(a.state_dict(prefix="net.")) == ["net." + n for n in a.state_dict()]


def test_a_wrong_state_loads_nothing():
    m = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    before = copy.deepcopy(m.state_dict())
    wrong = {"0.weight": np.zeros((3, 2)), "0.bias": np.zeros(2), "1.weight": np.zeros((1, 2)),
             "1.scale": np.zeros(1)}  # fmt: skip
    with pytest.raises(ValueError) as error:
        m.load_state_dict(wrong)
    for words in (
        "load_state_dict(Sequential): nothing was loaded", "missing key '1.bias'",
        "unexpected key '1.scale'", "'0.weight' has shape (3, 2), but (2, 3) in the model",
    ):  # fmt: skip
        assert words in str(error.value)
    alike(m.state_dict(), before)
    with pytest.raises(ValueError, match="dtype complex128, but float64"):
        m.load_state_dict(before | {"0.bias": np.zeros(2, complex)})
    raises(TypeError, lambda: m.load_state_dict([]), "a dict is needed")

    keys = m.load_state_dict({"0.bias": np.ones(2), "other": 1}, strict=False)
    assert keys.unexpected_keys == ["other"]
    assert keys.missing_keys == ["0.weight", "1.weight", "1.bias"]
    equal(m.state_dict()["0.bias"], np.ones(2))
    m.load_state_dict({"0.bias": np.zeros(2, np.float32)}, strict=False, assign=True)
    assert m[0].bias.dtype == np.float32 and isinstance(m[0].bias, nn.Parameter)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_and_pickles_are_modules_of_their_own(copied):
    m = Net()
    m.first.requires_grad_(False)
    grad(loss)(m, X)  # keeps a form
    n = copied(m)

    equal(n(X), m(X))
    assert not np.shares_memory(n.first.weight, m.first.weight)
    assert n.heads["a"] is n.heads["c"]
    assert not n.first.weight.requires_grad and n.blocks[0].weight.requires_grad
    n.extra = nn.Linear(1, 1)
    assert "extra" not in dict(m.named_children())


def test_a_shallow_copy_does_not_register_in_the_other():
    m = nn.Linear(2, 2)
    n = copy.copy(m)
    n.more = nn.Parameter([1.0])

    assert n.weight is m.weight
    assert [k for k, _ in m.named_parameters()] == ["weight", "bias"]


# ---- pytrees ----


def test_modules_are_pytrees():
    m = Net()
    leaves, spec = optree.tree_flatten(m, namespace="functier")

    assert len(leaves) == 9 and all(type(x) is np.ndarray for x in leaves)  # the shared ones once
    same = optree.tree_unflatten(spec, leaves)
    equal(same(X), m(X))
    assert type(same) is Net and same.heads["a"] is same.heads["c"]
    assert all(a is not b for a, b in zip(same.modules(), m.modules()))
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in same.parameters())
    paths = optree.tree_paths(m, namespace="functier")
    assert ("heads.a.weight",) in paths and ("scale",) in paths
    assert optree.tree_structure(same, namespace="functier") == spec
    doubled = tree_map(lambda x: 2 * x, m)
    equal(np.array(doubled.first.bias), 2 * np.array(m.first.bias))


def test_structures_differ_by_what_modules_are():
    def spec(m):
        return optree.tree_structure(m, namespace="functier")

    a = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    assert spec(a) == spec(nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5)))
    assert hash(spec(a)) == hash(spec(copy.deepcopy(a)))
    changes = [
        lambda m: m.eval(),
        lambda m: setattr(m[1], "p", 0.25),
        lambda m: m.append(nn.ReLU()),
        lambda m: m[0].register_forward_hook(lambda *a: None),
        lambda m: setattr(m[0], "bias", None),
        lambda m: setattr(m[0].bias, "requires_grad", False),
        lambda m: m[0].register_buffer("b", np.ones(1)),
        lambda m: setattr(m[0], "note", np.ones(2)),
        lambda m: m.__delitem__(1),
        lambda m: setattr(m, "2", m[0]),
    ]
    for change in changes:
        b = copy.deepcopy(a)
        assert spec(a) == spec(b)
        change(b)
        assert spec(a) != spec(b)
        assert spec(b) == spec(b)


def test_a_form_that_is_kept_follows_every_change():
    m = Net(shared=False)
    flat = lambda: optree.tree_leaves(m, namespace="functier")  # noqa: E731
    first = flat()
    equal(first[0], np.array(m.scale))
    assert all(np.shares_memory(a, b) for a, b in zip(first, flat()))
    m.scale = np.array([5.0, 6.0])  # an array in the place of another
    equal(flat()[0], m.scale)
    m.first.weight = np.zeros((4, 3))
    assert any(x.shape == (4, 3) and not x.any() for x in flat())
    m.heads["b"] = nn.Linear(4, 2, bias=False)
    assert len(flat()) == len(first) - 1
    m.first.bias = None
    assert len(flat()) == len(first) - 2
    m.first.bias = m.first.register_parameter("more", nn.Parameter([1.0]))
    assert len(flat()) == len(first) - 1
    m.heads["b"] = m.heads["a"]
    assert len(flat()) == len(first) - 2  # shared
    m.eval()
    assert not tree_map(lambda x: x, m).training


def test_gradients_are_modules():
    m = Net()
    slopes = grad(loss)(m, X)
    params, buffers = dict(m.named_parameters()), dict(m.named_buffers())
    expected = grad(lambda p: np.mean(np.square(functional_call(m, (p, buffers), (X,)))))(params)

    assert type(slopes) is Net
    assert [n for n, _ in slopes.named_parameters()] == list(expected)
    for name, slope in slopes.named_parameters():
        close(np.array(slope), np.array(expected[name]))
    stepped = tree_map(lambda p, g: p - 0.001 * g, m, slopes)
    assert loss(stepped, X) < loss(m, X)
    assert type(stepped.first.weight) is nn.Parameter
    value, again = ft.value_and_grad(loss)(m, X)
    close(value, np.float64(loss(m, X)))
    close(np.array(again.first.bias), np.array(slopes.first.bias))


def test_other_transforms_of_modules():
    m = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    direction = tree_map(np.ones_like, m)
    slope = jvp(lambda m: loss(m, X), (m,), (direction,))[1]
    slopes = grad(loss)(m, X)
    close(slope, sum(np.sum(np.array(p)) for p in slopes.parameters()))
    out, back = ft.vjp(lambda m: m(X), m)
    (pulled,) = back(2 * out / out.size)
    for a, b in zip(pulled.parameters(), slopes.parameters()):
        close(np.array(a), np.array(b))
    twice = jvp(lambda m: grad(loss)(m, X), (m,), (direction,))[1]
    step = 1e-6
    ahead, behind = (grad(loss)(tree_map(lambda p, s=s: p + s * step, m), X) for s in (1, -1))
    for a, b, t in zip(ahead.parameters(), behind.parameters(), twice.parameters()):
        close(np.array(t), np.array((a - b) / (2 * step)), 1e-6)
    h = hessian(loss)(m, X)
    assert isinstance(h, nn.Sequential)


def slope_of(model, x):
    return grad(loss)(model, x)


def test_modules_pass_through_whatever_takes_pytrees():
    m = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    slopes = slope_of(m, X)

    def same(a, b):
        assert type(a) is type(b) is nn.Sequential
        for p, q in zip(a.parameters(), b.parameters(), strict=True):
            close(np.array(p), np.array(q))

    again = ft.checkpoint(lambda m, x: m(x))
    same(grad(lambda m: np.mean(np.square(again(m, X))))(m), slopes)
    _, push = ft.linearize(lambda m: loss(m, X), m)
    close(push(slopes), sum(np.sum(np.square(np.array(p))) for p in slopes.parameters()))
    each = vmap(slope_of, (None, 0))(m, X)
    same(vmap(slope_of, (None, 0), chunk_size=2)(m, X), each)
    step = lambda m, x: (tree_map(lambda p, g: p - 0.1 * g, m, slope_of(m, x)), loss(m, x))  # noqa: E731
    last, losses = ft.scan(step, m, X)
    looped = m
    for x, value in zip(X, losses, strict=True):
        looped, expected = step(looped, x)
        close(value, expected)
    same(last, looped)
    assert ft.jacrev(lambda m: m(X))(m)[0].weight.shape == (5, 1, 2, 3)
    same(ft.stop_gradient(m), m)
    check_grads(lambda m: loss(m, X), (m,), order=2)
    spec = optree.tree_structure(m, namespace="functier")
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_modules_of_users_tensors():
    class Mine(ft.Tensor):
        pass

    m = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 1))
    image = RNG.normal(size=(2, 1, 4, 4))
    out = m(Mine(image))
    assert type(out) is Mine
    close(out.elem(), m(image))
    mine = tree_map(Mine, m)
    slopes = grad(loss)(mine, image)
    assert type(mine(image)) is Mine and type(slopes[0].weight) is Mine
    for a, b in zip(slopes.parameters(), grad(loss)(m, image).parameters(), strict=True):
        close(a.elem(), np.array(b))


def test_per_sample_gradients_and_ensembles():
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    each = vmap(grad(loss), (None, 0))(m, X)
    assert each[0].weight.shape == (5, 4, 3)
    for i, x in enumerate(X):
        alone = grad(loss)(m, x)
        for a, b in zip(each.parameters(), alone.parameters()):
            close(np.array(a)[i], np.array(b))
    models = [nn.Sequential(nn.Linear(3, 2), nn.Tanh()) for _ in range(4)]
    stacked = tree_map(lambda *leaves: np.stack(leaves), *models)
    outs = vmap(lambda m, x: m(x), (0, None))(stacked, X)
    close(outs, np.stack([model(X) for model in models]))
    params, buffers = stack_module_state(models)
    assert buffers == {} and params["0.weight"].shape == (4, 2, 3)
    close(vmap(functional_call, (None, 0, None))(models[0], params, X), outs)
    slopes = vmap(grad(loss), (0, None))(stacked, X)
    for i, model in enumerate(models):
        for a, b in zip(slopes.parameters(), grad(loss)(model, X).parameters()):
            close(np.array(a)[i], np.array(b))


def test_ensembles_of_convolutions_with_dropout():
    def made():
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(0))

    models, image = [made() for _ in range(3)], RNG.normal(size=(1, 5, 5))
    params, _ = stack_module_state(models)
    run = vmap(functional_call, (None, 0, None), randomness="different")
    assert run(models[0], params, image).shape == (3, 18)
    with pytest.raises(ft.RandomnessError):
        vmap(functional_call, (None, 0, None))(models[0], params, image)
    for m in models:
        m.eval()
    close(run(models[0], params, image), np.stack([m(image) for m in models]))


def test_no_gradient_flows_to_buffers_and_frozen_parameters():
    m = Net()
    m.first.requires_grad_(False)
    slopes = grad(loss)(m, X)
    equal(np.array(slopes.first.weight), np.zeros((4, 3)))
    equal(slopes.scale, np.zeros(2))
    assert slopes.blocks[0].weight.any() and not slopes.first.weight.requires_grad
    seen = []

    def inner(m):
        again = grad(lambda n: loss(n, X))(m)  # of tensors, which have no flags of their own
        seen.append(dict(again.named_parameters())["first.weight"])
        return np.sum(np.square(again.blocks[0].weight))

    outer = grad(inner)(m)
    equal(np.array(outer.first.weight), np.zeros((4, 3)))
    assert outer.blocks[0].weight.any() and len(seen) == 1
    m.requires_grad_()
    assert grad(loss)(m, X).first.weight.any()
    buffers = dict(m.named_buffers())  # by functional_call it does
    direct = grad(lambda b: np.sum(functional_call(m, b, (X,))))(buffers)
    assert direct["scale"].all()
    moved = jvp(lambda m: m(X), (m,), (tree_map(np.ones_like, m),))[1]
    still = jvp(lambda p: functional_call(m, p, X), (dict(m.named_parameters()),),
                ({n: np.ones_like(p) for n, p in m.named_parameters()},))[1]  # fmt: skip
    close(moved, still)


def test_integer_buffers():
    m = nn.Linear(3, 2)
    m.register_buffer("steps", np.array(4))
    raises(TypeError, lambda: grad(loss)(m, X))
    slopes = grad(loss, allow_int=True)(m, X)
    assert slopes.weight.any()


def test_shared_parameters_get_the_sum():
    m = nn.Module()
    m.a = nn.Parameter([2.0])
    m.b = m.a
    slopes = grad(lambda m: np.sum(m.a * 3.0 + m.b * m.b))(m)

    assert slopes.a is slopes.b
    equal(np.array(slopes.a), np.array([7.0]))


def test_functional_call_leaves_the_module_alone():
    m = Net()
    before = copy.deepcopy(m.state_dict())
    zeros = {n: np.zeros_like(p) for n, p in m.named_parameters()}
    equal(functional_call(m, zeros, X), np.zeros((5, 2)))
    alike(m.state_dict(), before)
    assert all(type(p) is nn.Parameter for p in m.parameters())
    own = functional_call(m, {"heads.c.weight": np.zeros((2, 4))}, X)
    tied = functional_call(m, {"heads.a.weight": np.zeros((2, 4))}, X)
    equal(own, tied)
    apart = functional_call(m, {"heads.c.weight": np.zeros((2, 4))}, X, tie_weights=False)
    assert apart.shape == own.shape
    with pytest.raises(ValueError, match=r"functional_call\(Net\): the module has no array 'w'"):
        functional_call(m, {"w": X}, X)


class Stateful(nn.Module):
    """A forward method that assigns, to itself, to a child, and to a list."""

    def __init__(self, listed):
        super().__init__()
        self.layer = nn.Linear(3, 2, generator=0)
        self.form = (3, (2,))
        if listed:
            self.seen = []
        self.register_buffer("calls", np.array(0.0))

    def forward(self, x):
        self.calls = self.calls + 1.0
        self.layer.note = "called"
        if hasattr(self, "seen"):
            self.seen.append(x)
            self.seen = [*self.seen, 1]
        return self.layer(x) * self.calls


@pytest.mark.parametrize("listed", [False, True])
def test_functional_call_goes_a_short_way_and_a_long_one_alike(listed, monkeypatch):
    m = Stateful(listed)
    given = {"layer.bias": np.ones(2), "calls": np.array(2.0)}
    call = lambda given: functional_call(m, given, X)  # noqa: E731
    short = nn.Module.__functional_call__
    assert short(m, given) is not None and short(m, {"w": X}) is None
    results, slopes = [], []
    for way in (
        short,
        lambda module, given, checked=False: (checked and short(module, given)) or None,
    ):
        monkeypatch.setattr(nn.Module, "__functional_call__", way)
        results.append(call(given))
        slopes.append(grad(lambda g: np.sum(np.square(call(g))))(given))
        assert m.calls == 0.0 and not hasattr(m.layer, "note") and vars(m).get("seen", []) == []
        assert type(m.layer.bias) is nn.Parameter
        for wrong in ({"bias": np.ones(2)}, {"layer": np.ones(2)}, {"layer.weight.x": 1.0}):
            raises(ValueError, lambda: call(wrong), "the module has no array")
        raises(ValueError, lambda: functional_call(m, given, X, strict=True), "strict=True")
    equal(*results)
    alike(*slopes)


def test_a_module_that_counts_its_calls_does_so_in_the_copy():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", np.array(0.0))
            self.w = nn.Parameter([1.0])

        def forward(self, x):
            self.calls = self.calls + 1.0
            return self.w * x * self.calls

    m = Counting()
    assert m(2.0) == 2.0 and m.calls == 1.0
    assert functional_call(m, {"w": np.array([3.0])}, 2.0) == 12.0
    equal(np.array(grad(lambda m: np.sum(m(2.0)))(m).w), np.array([4.0]))
    assert m.calls == 1.0


def test_classes_inside_functions_threads_and_generators():
    def work(seed):
        m = nn.Linear(3, 2, generator=seed)
        for _ in range(20):
            m.note = seed  # a change that other threads' forms have to survive
            slopes = grad(loss)(m, X)
        return np.array(slopes.weight), np.array(grad(loss)(m, X).weight)

    for seed, (a, b) in enumerate(in_threads(work, range(4))):
        equal(a, b)
        equal(a, np.array(grad(loss)(nn.Linear(3, 2, generator=seed), X).weight))


# ---- errors ----


def test_errors_tell_the_place_in_the_module():
    m = nn.Sequential({"body": nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 1))})
    place = "in Sequential, its module body.2, Linear(in_features=5, out_features=1, bias=True)"
    for call in (lambda: m(X), lambda: grad(loss)(m, X), lambda: vmap(m)(X)):
        with pytest.raises(ValueError, match=r"linear: the input has the shape .*4,?\)") as error:
            call()
        assert [n for n in error.value.__notes__ if n.startswith("in ")] == [place]
    with pytest.raises(ValueError) as error:
        nn.Linear(5, 1)(X)
    assert error.value.__notes__ == ["in Linear"]


def test_errors_of_transforms_name_the_leaf():
    m = Net()
    with pytest.raises(ValueError, match=r"args\[0\]\.first\.weight") as error:
        vmap(lambda m: 0)(m)
    assert "different" in str(error.value) or "size" in str(error.value)
    m.register_buffer("steps", np.array(4))
    raises(TypeError, lambda: grad(loss)(m, X), "args[0].steps")
    bad = nn.Linear(2, 2)
    with pytest.raises((ValueError, TypeError)):
        jvp(lambda m: loss(m, X), (nn.Linear(3, 1),), (bad,))
