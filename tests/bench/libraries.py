"""The libraries, each behind the same names and in the idiom of its users.

A workload is written once, over ``lib.np``, the transforms of ``lib``, and its building
blocks (``lib.cross_entropy`` and the like), where users of one library would not write what
users of another would. What a library does not have raises `Missing`.
"""

import functools
import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np

from .trees import Labels, leaves, tree_map


class Missing(Exception):
    """The library has no such transform or function."""


class Library:
    """functier, or whatever else takes plain NumPy's spelling."""

    name = "functier"
    package = "functier"
    uses_numpy = True
    """Tell if its arrays are allocated by NumPy, where tracemalloc sees them."""

    def __init__(self) -> None:
        self.np: Any = np
        self.transforms: Any = importlib.import_module(self.package)

    def __getattr__(self, name: str) -> Any:
        """A transform: ``lib.grad``, ``lib.vmap``."""
        try:
            return getattr(self.__dict__["transforms"], name)
        except (AttributeError, KeyError):
            raise Missing(f"{self.name} has no {name}") from None

    @property
    def version(self) -> str:
        """The installed version, for the report."""
        return importlib.metadata.version(self.package)

    # ---- what surrounds the timed call ----

    def array(self, x: Any) -> Any:
        """An input in the library's own type."""
        return x

    def labels(self, labels: Labels) -> Any:
        """Labels in the form that ``cross_entropy`` takes."""
        return self.array(labels.hot)

    def convert(self, tree: Any) -> Any:
        """Inputs in the library's own types: never part of the timed call."""
        return tree_map(lambda x: (self.labels if isinstance(x, Labels) else self.array)(x), tree)

    def finish(self, f: Callable) -> Callable:
        """The function as it is called: compiled, or waited for, where that applies."""
        return f

    # ---- building blocks ----

    def row_gradients(self, f: Callable) -> Callable:
        """The gradient of each row, for an `f` along the last axis with one number a row."""
        return self.vmap(self.grad(f))

    def linear(self, x: Any, W: Any, b: Any) -> Any:
        return x @ W + b

    def relu(self, x: Any) -> Any:
        return self.np.maximum(x, 0.0)

    def softplus(self, x: Any) -> Any:
        return self.np.log1p(self.np.exp(x))

    def softmax(self, x: Any) -> Any:
        e = self.np.exp(x - self.np.max(x, axis=-1, keepdims=True))
        return e / self.np.sum(e, axis=-1, keepdims=True)

    def logsumexp(self, x: Any) -> Any:
        top = self.np.max(x, axis=-1, keepdims=True)
        return top + self.np.log(self.np.sum(self.np.exp(x - top), axis=-1, keepdims=True))

    def log_softmax(self, x: Any) -> Any:
        return x - self.logsumexp(x)

    def cross_entropy(self, logits: Any, hot: Any) -> Any:
        return -self.np.mean(self.np.sum(hot * self.log_softmax(logits), axis=-1))

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        """Scaled dot products over (batch, position, head, feature)."""
        q, k, v = (self.np.swapaxes(x, 1, 2) for x in (q, k, v))
        scores = q @ self.np.swapaxes(k, 2, 3) * q.shape[-1] ** -0.5
        return self.np.swapaxes(self.softmax(scores) @ v, 1, 2)

    def take_along_axis(self, x: Any, index: Any) -> Any:
        return self.np.take_along_axis(x, index, 1)

    def loop(self, step: Callable, state: Any, xs: Any) -> Any:
        """The last state, having stepped through `xs`."""
        return functools.reduce(step, xs, state)

    def scan(self, step: Callable, state: Any, xs: Any) -> Any:
        """The same, as a loop that is given to the library, if it has such loops."""
        if self.package != "functier":
            return self.loop(step, state, xs)
        return self.transforms.scan(lambda state, x: (step(state, x), None), state, xs)[0]

    def windows(self, x: Any, n: int) -> Any:
        """All windows of n by n elements, as the last two axes."""
        return np.lib.stride_tricks.sliding_window_view(x, (n, n))

    def sum_of_diagonal(self, f: Callable, x: Any) -> Any:
        """The sum of a function of each element of the diagonal, in a loop."""
        return sum(f(x[i, i]) for i in range(len(x)))

    # ---- arrays that are written to ----

    def zeros(self, *shape: int) -> Any:
        """An array to write to."""
        return importlib.import_module(f"{self.package}.numpy").zeros(shape)

    def own(self, x: Any) -> Any:
        """A copy of an argument, to write to."""
        return x.copy()

    def item(self, x: Any, index: Any) -> Any:
        """A part of `x`, which is written to later."""
        return x[index]

    def put(self, x: Any, index: Any, value: Any) -> Any:
        """`x` with `value` at an index."""
        x[index] = value
        return x

    def add(self, x: Any, index: Any, value: Any) -> Any:
        """`x` with `value` added at an index."""
        x[index] += value
        return x

    def repeat(self, step: Callable, n: int, state: Any) -> Any:
        """The state after `n` steps."""
        for i in range(n):
            state = step(i, state)
        return state


class Compiled(Library):
    """functier with the whole workload traced once, and replayed by generated NumPy code."""

    name = "functier_np"

    def finish(self, f: Callable) -> Callable:
        return self.transforms.compile(f, backend="numpy")


class MachineCode(Library):
    """functier with the whole workload traced once, and replayed by machine code."""

    name = "functier_c"

    def __init__(self, threads: int = 1) -> None:
        super().__init__()
        importlib.import_module("llvmlite")  # else the programs would be NumPy calls
        self.threads = threads

    def finish(self, f: Callable) -> Callable:
        return self.transforms.compile(f, backend="llvm", warm=True, threads=self.threads)


# ---- what stands in for a transform that a library does not have ----


def loop_vmap(f: Callable, in_dims: tuple) -> Callable:
    """Run what users write without vmap: a loop over the examples, and a stack for each leaf."""

    def mapped(*args: Any) -> list:
        pairs = list(zip(args, in_dims))
        n = next(len(leaves(arg)[0]) for arg, dim in pairs if dim == 0)

        def example(i: int) -> list:
            return [arg if dim is None else tree_map(lambda x: x[i], arg) for arg, dim in pairs]

        return [np.stack(column) for column in zip(*(leaves(f(*example(i))) for i in range(n)))]

    return mapped


def grad_of_sum(lib: Library, f: Callable) -> Callable:
    """The gradient of each row without vmap: no row's number depends on another row."""
    return lib.grad(lambda rows: lib.np.sum(f(rows)))


class TapeTransforms:
    """``grad``, out of a library that differentiates by a call of ``backward``."""

    def __init__(self, as_leaf: Callable, backward: Callable) -> None:
        self.as_leaf, self.backward = as_leaf, backward

    def grad(self, f: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)

        def gradient(*args: Any) -> Any:
            args = [tree_map(self.as_leaf, a) if i in numbers else a for i, a in enumerate(args)]
            return self.backward(f(*args), leaves([args[i] for i in numbers]))

        return gradient


# ---- the peers ----


class Torch(Library):
    name = "torch"
    package = "torch"
    uses_numpy = False

    def __init__(self) -> None:
        self.np = importlib.import_module("torch")
        self.functional = self.np.nn.functional
        self.transforms = importlib.import_module("torch.func")

    def array(self, x: Any) -> Any:
        kind = self.np.float64 if np.asarray(x).dtype.kind == "f" else self.np.int64
        return self.np.tensor(x, dtype=kind)

    def labels(self, labels: Labels) -> Any:
        return self.array(labels.index)

    def windows(self, x: Any, n: int) -> Any:
        return x.unfold(0, n, 1).unfold(1, n, 1)

    def linear(self, x: Any, W: Any, b: Any) -> Any:
        return self.functional.linear(x, W.T, b)

    def relu(self, x: Any) -> Any:
        return self.np.relu(x)

    def softplus(self, x: Any) -> Any:
        return self.functional.softplus(x)

    def log_softmax(self, x: Any) -> Any:
        return self.functional.log_softmax(x, -1)

    def cross_entropy(self, logits: Any, index: Any) -> Any:
        return self.functional.cross_entropy(logits, index)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        return self.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)

    def take_along_axis(self, x: Any, index: Any) -> Any:
        return self.np.take_along_dim(x, index, 1)

    def zeros(self, *shape: int) -> Any:
        return self.np.zeros(shape, dtype=self.np.float64)

    def own(self, x: Any) -> Any:
        return x.clone()

    def item(self, x: Any, index: Any) -> Any:
        return x[index].clone()  # else what the backward pass needs is written over


class TorchAutograd(Torch):
    """PyTorch without torch.func: no transforms, but ``torch.autograd.grad``."""

    name = "torch_ag"

    def __init__(self) -> None:
        super().__init__()
        self.transforms = TapeTransforms(
            lambda x: x.detach().requires_grad_(), self.np.autograd.grad
        )

    def row_gradients(self, f: Callable) -> Callable:
        return grad_of_sum(self, f)


class NumpyCode:
    """The transforms of torch.func, for functions that are written in NumPy."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.func = importlib.import_module("torch.func")
        self.made: set[Callable] = set()

    def of_tensors(self, f: Callable) -> Callable:
        """Return a function of tensors; what a transform has made is one."""
        return f if f in self.made else self.torch.compiler.wrap_numpy(f)

    def __getattr__(self, name: str) -> Any:
        transform = getattr(self.func, name)
        if name in ("vjp", "jvp"):
            return lambda f, *args, **kwargs: transform(self.of_tensors(f), *args, **kwargs)

        def of_function(f: Callable, *args: Any, **kwargs: Any) -> Callable:
            made = transform(self.of_tensors(f), *args, **kwargs)
            self.made.add(made)
            return made

        return of_function


class TorchCompile(Library):
    """NumPy code with torch's transforms, compiled by ``torch.compile``."""

    name = "torch_compile"
    package = "torch"
    uses_numpy = False

    def __init__(self) -> None:
        super().__init__()
        self.torch = importlib.import_module("torch")
        self.transforms = NumpyCode(self.torch)

    def array(self, x: Any) -> Any:
        kind = self.torch.float64 if np.asarray(x).dtype.kind == "f" else self.torch.int64
        return self.torch.tensor(x, dtype=kind)

    def finish(self, f: Callable) -> Callable:
        self.torch._dynamo.reset()  # of one piece of code it keeps eight programs at most
        return self.torch.compile(self.transforms.of_tensors(f))

    def zeros(self, *shape: int) -> Any:
        return np.zeros(shape)


class Jax(Library):
    name = "jax"
    package = "jax"
    uses_numpy = False

    def __init__(self) -> None:
        self.transforms = self.jax = importlib.import_module("jax")
        self.np = importlib.import_module("jax.numpy")
        self.jax.config.update("jax_enable_x64", True)

    def array(self, x: Any) -> Any:
        return self.np.asarray(x)

    def finish(self, f: Callable) -> Callable:
        return lambda *args: self.jax.block_until_ready(f(*args))

    def windows(self, x: Any, n: int) -> Any:
        rows, columns = (np.arange(size - n + 1)[:, None] + np.arange(n) for size in x.shape)
        return x[rows[:, None, :, None], columns[None, :, None, :]]

    def sum_of_diagonal(self, f: Callable, x: Any) -> Any:
        return self.np.sum(f(self.np.diag(x)))

    def relu(self, x: Any) -> Any:
        return self.jax.nn.relu(x)

    def softplus(self, x: Any) -> Any:
        return self.jax.nn.softplus(x)

    def log_softmax(self, x: Any) -> Any:
        return self.jax.nn.log_softmax(x)

    def attention(self, q: Any, k: Any, v: Any) -> Any:
        return self.jax.nn.dot_product_attention(q, k, v)

    def zeros(self, *shape: int) -> Any:
        return self.np.zeros(shape)

    def own(self, x: Any) -> Any:
        return x

    def put(self, x: Any, index: Any, value: Any) -> Any:
        return x.at[index].set(value)

    def add(self, x: Any, index: Any, value: Any) -> Any:
        return x.at[index].add(value)


class JaxJit(Jax):
    """JAX with the whole workload compiled: beside the eager libraries, not among them."""

    name = "jax_jit"

    def finish(self, f: Callable) -> Callable:
        return super().finish(self.jax.jit(f))

    def loop(self, step: Callable, state: Any, xs: Any) -> Any:
        return self.jax.lax.scan(lambda state, x: (step(state, x), None), state, xs)[0]

    def repeat(self, step: Callable, n: int, state: Any) -> Any:
        return self.jax.lax.fori_loop(0, n, step, state)


class Autograd(Library):
    name = "autograd"
    package = "autograd"

    def __init__(self) -> None:
        super().__init__()
        self.np = importlib.import_module("autograd.numpy")
        self.make_jvp = importlib.import_module("autograd.differential_operators").make_jvp
        self.vmap = loop_vmap
        self.jacrev = self.transforms.jacobian

    def jacfwd(self, f: Callable) -> Callable:
        return lambda x: np.stack([self.jvp(f, (x,), (e,))[1] for e in np.eye(x.size)], -1)

    def jvp(self, f: Callable, primals: tuple, tangents: tuple) -> tuple:
        return self.make_jvp(f)(*primals)(*tangents)

    windows = Jax.windows

    def row_gradients(self, f: Callable) -> Callable:
        return grad_of_sum(self, f)

    def logsumexp(self, x: Any) -> Any:
        special = importlib.import_module("autograd.scipy.special")
        return special.logsumexp(x, axis=-1, keepdims=True)


class MyGrad(Library):
    name = "mygrad"
    package = "mygrad"

    def __init__(self) -> None:
        self.np = importlib.import_module("mygrad")
        self.np.turn_memory_guarding_off()  # the setting that its documentation calls fast
        self.nnet = importlib.import_module("mygrad.nnet")
        self.transforms = TapeTransforms(self.np.astensor, self.backward)
        self.vmap = loop_vmap

    @staticmethod
    def backward(loss: Any, tensors: list) -> list:
        loss.backward()
        return [tensor.grad for tensor in tensors]

    def labels(self, labels: Labels) -> Any:
        return labels.index

    windows = Jax.windows

    def zeros(self, *shape: int) -> Any:
        return self.np.zeros(shape)

    def own(self, x: Any) -> Any:
        return +x  # a copy would have no gradient

    def row_gradients(self, f: Callable) -> Callable:
        return grad_of_sum(self, f)

    def relu(self, x: Any) -> Any:
        return self.nnet.activations.relu(x)

    def softmax(self, x: Any) -> Any:
        return self.nnet.activations.softmax(x, axis=-1)

    def log_softmax(self, x: Any) -> Any:
        return self.nnet.activations.logsoftmax(x, axis=-1)

    def cross_entropy(self, logits: Any, index: Any) -> Any:
        if logits.ndim == 2:
            return self.nnet.losses.softmax_crossentropy(logits, index)
        return -self.nnet.activations.logsoftmax(logits)[int(index)]


KINDS = (
    Library, Compiled, MachineCode, Torch, TorchAutograd, TorchCompile, Jax, JaxJit, Autograd,
    MyGrad,
)  # fmt: skip
LIBRARIES = {cls.name: cls for cls in KINDS}

EAGER = ("torch", "jax", "autograd", "mygrad")
"""What "best eager peer" ranges over; torch_ag and those that compile stand beside it."""

COMPILING = ("functier_np", "functier_c", "torch_compile", "jax_jit")
"""Those whose first call compiles."""

WITHOUT_VMAP = ("torch_ag", "autograd", "mygrad")
"""Left out where a Python loop in place of vmap would only measure the loop."""


def load(names: list[str]) -> list[Library]:
    """Those of the named libraries that can be imported."""
    found = []
    for name in names:
        try:
            found.append(LIBRARIES[name]())
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found
