"""Names of other libraries, each with what to write instead."""

import re
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

import numpy as np

from .._cpython.frames import current_frame, instruction_at
from .errors import hide_own

NAMES = {
    **dict.fromkeys(("jit", "jit_compile", "njit"), "functier.compile"),
    **dict.fromkeys(("make_jaxpr", "make_fx"), "functier.trace, which gives a program"),
    "jacobian": "functier.jacrev (one row at a time) or functier.jacfwd (one column at a time)",
    **dict.fromkeys(("deriv", "derivative", "gradient"), "functier.grad"),
    "make_vjp": "functier.vjp(f, x), which returns f(x) and the function",
    "make_jvp": "functier.jvp(f, (x,), (v,))",
    **dict.fromkeys(("make_hvp", "hessian_vector_product"), "functier.hvp(f, (x,), (v,))[1]"),
    **dict.fromkeys(
        ("ggnvp", "make_ggnvp"),
        "y, t = functier.jvp(f, (x,), (v,)), and functier.vjp(f, x)[1] of "
        "functier.hvp(loss, (y,), (t,))[1][0]",
    ),
    **dict.fromkeys(
        ("tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "tree", "tree_util"),
        "optree, as optree.tree_map(f, tree, namespace='functier')",
    ),
    **dict.fromkeys(("ravel_tree", "flatten_util"), "functier.ravel_pytree"),
    "register_pytree_node_class": "functier.register_pytree_node",
    **dict.fromkeys(("pmap", "xmap", "shard_map"), "functier.vmap(f, executor=...)"),
    "lax": "functier itself, as functier.scan, functier.cond and functier.while_loop",
    **dict.fromkeys(("jnp", "np"), "numpy, as `import numpy as np`"),
    **dict.fromkeys(("custom_gradient", "primitive", "defvjp"), "functier.custom_vjp"),
    "pure_callback": "functier.custom_op",
    **dict.fromkeys(("remat", "rematerialize"), "functier.checkpoint"),
    **dict.fromkeys(("detach", "lax_stop_gradient"), "functier.stop_gradient"),
    "make_functional": "functier.functional_call",
    "combine_state_for_ensemble": "functier.stack_module_state",
    "vectorize": "functier.vmap",
    **dict.fromkeys(("holomorphic_grad", "egrad"), "functier.grad or functier.elementwise_grad"),
    **dict.fromkeys(("multigrad", "multigrad_dict"), "functier.grad(f, argnums=(0, 1))"),
    **dict.fromkeys(("PRNGKey", "key"), "functier.random.default_rng(seed)"),
    **dict.fromkeys(("func", "autograd"), "functier itself, as functier.grad"),
    "Variable": "x itself: functier.grad(f)(x) differentiates f with respect to its argument x",
    **dict.fromkeys(
        ("device", "device_put", "device_get", "from_numpy", "as_tensor"),
        "x itself: all arrays are NumPy's",
    ),
    "cat": "numpy.concatenate(arrays, axis=axis)",
}
"""Names that functier itself does not have."""

F = "functier.nn.functional"
OF_MODULES = {
    "functier.nn": {
        "CrossEntropyLoss": f"{F}.cross_entropy(input, target)",
        "MSELoss": f"{F}.mse_loss(input, target)",
        "LogSoftmax": f"{F}.log_softmax(input, axis=axis)",
        "LeakyReLU": f"{F}.leaky_relu(input)",
        "SiLU": f"{F}.silu(input)",
        "Softplus": f"{F}.softplus(input)",
        **dict.fromkeys(
            ("RNN", "LSTM", "GRU"),
            "functier.scan(step, state, inputs), where a step calls a functier.nn.Linear",
        ),
        "MultiheadAttention": f"{F}.softmax(q @ k.T / np.sqrt(n), axis=-1) @ v",
        "Embedding": "table[index] with a functier.nn.Parameter",
        **{f"{kind}Pool2d": f"{F}.{kind.lower()}_pool2d(input, size)" for kind in ("Avg", "Max")},
        "BatchNorm3d": f"{F}.batch_norm, for inputs of any rank",
        **dict.fromkeys(
            ("GroupNorm", "InstanceNorm1d", "InstanceNorm2d"),
            f"{F}.layer_norm of the channels of a group, as one axis",
        ),
    },
    F: {
        "flatten": "x.reshape(*x.shape[:1], -1)",
        "pad": "np.pad(x, widths)",
        "normalize": "x / np.linalg.norm(x, axis=axis, keepdims=True)",
        "adaptive_avg_pool2d": "np.mean(x, axis=(-2, -1)) for one number each",
        "l1_loss": "np.mean(np.abs(input - target))",
        **dict.fromkeys(
            ("huber_loss", "smooth_l1_loss"),
            "np.mean(np.where(d < 1, d**2 / 2, d - 0.5)) with d = np.abs(input - target)",
        ),
        **dict.fromkeys(
            ("binary_cross_entropy", "binary_cross_entropy_with_logits"),
            "np.mean(np.logaddexp(0, input) - target * input) of logits",
        ),
        "nll_loss": f"{F}.cross_entropy of logits",
        "one_hot": "np.equal(x[..., None], np.arange(n))",
        "embedding": "table[index]",
        "scaled_dot_product_attention": f"{F}.softmax(q @ k.T / np.sqrt(n), axis=-1) @ v",
        "group_norm": f"{F}.layer_norm of the channels of a group, as one axis",
    },
    "functier.nn.init": {
        "eye_": "x[...] = np.eye(*x.shape)",
        "dirac_": "x[...] = 0, and 1 in the middle of each kernel",
        "orthogonal_": "x[...] = np.linalg.qr(rng.normal(size=x.shape))[0]",
        "trunc_normal_": "x[...] = scipy.stats.truncnorm.rvs(-2, 2, size=x.shape)",
    },
    "functier.optim": {
        **dict.fromkeys(("Adam", "AdamW"), "functier.optim.adam, a function of pytrees"),
        "SGD": "functier.optim.momentum, a function of pytrees",
        "LBFGS": "functier.optim.lbfgs, a function of pytrees",
    },
    "functier.random": {
        **dict.fromkeys(("PRNGKey", "key", "seed"), "functier.random.default_rng(seed)"),
        "split": "rng.spawn(n) for a generator rng",
        "randn": "rng.normal(size=shape), with rng = functier.random.default_rng(seed)",
        "rand": "rng.random(shape), with rng = functier.random.default_rng(seed)",
        **{name: f"rng.{name}(...), with rng = functier.random.default_rng(seed)"
           for name in ("normal", "uniform", "choice", "permutation")},
    },
    "functier.debug": {
        "print": "functier.debug.show(x), which also prints in each call of a compiled function",
        "breakpoint": "breakpoint()",
        "checking_leaks": "functier.debug.check_leaks()",
    },
}  # fmt: skip
"""Names that other modules of functier do not have."""

KEYWORDS = {
    **dict.fromkeys(("in_axes", "in_axis", "in_dim"), "in_dims"),
    **dict.fromkeys(("out_axes", "out_axis", "out_dim"), "out_dims"),
    **dict.fromkeys(("argnum", "arg_num"), "argnums"),
    "spmd_axis_name": "axis_name",
    "batch_size": "chunk_size",
    **dict.fromkeys(("lr", "step_size"), "learning_rate"),
    "fun": "func fun f fn",
    "fn": "func fun f",
    "func": "fun f fn",
    "function": "func fun f fn",
    "combine_fn": "f fn",
    "true_fn": "true_fun",
    "false_fn": "false_fun",
    "cond_fn": "cond_fun",
    "body_fn": "body_fun",
    "carried_inputs": "init_val",
    "dim": "axis scatter_dimension",
    "x": "primals",
    "inputs": "primals",
    "operand": "operands",
    "parallel": "threads",
}
"""Keywords of other libraries, with functier's for them: a function has one of these, or none."""

LEFT_OUT = {
    **dict.fromkeys(
        ("static_argnums", "static_argnames"),
        "a function gets what is neither an array nor a float as it is",
    ),
    **dict.fromkeys(("donate_argnums", "donate_argnames"), "the caller's arrays never change"),
    **dict.fromkeys(("create_graph", "retain_graph"), "each result can be differentiated again"),
    **dict.fromkeys(("fullgraph", "dynamic"), "new shapes and dtypes are traced once more"),
    "vectorize": "all rows are computed at once",
    "use_reentrant": "there is one kind of checkpoint",
    **dict.fromkeys(("nopython", "cache", "nogil"), "no option is needed for that"),
    "requires_grad": "functier.grad(f)(x) differentiates f with respect to its argument x",
    "device": "all arrays are NumPy's",
}
"""Keywords of other libraries that nothing stands for, with the reason."""

PRIMALS = {
    "vjp": "vjp(lambda x: f(x, y), x)",
    "jvp": "jvp(lambda x: f(x, y), (x,), (t,))",
    "linearize": "linearize(lambda x: f(x, y), x)",
    "linear_transpose": "linear_transpose(lambda x: f(x, y), x)",
    "hvp": "hvp(lambda x: f(x, y), (x,), (t,))",
    "jet": "jet(lambda x: f(x, y), (x,), ([t],))",
    "taylor": "taylor(lambda x: f(x, y), x, 2)",
}
"""The transforms without `argnums`, each with a call for one argument of two."""

ATTRIBUTES = {
    "at": "y = x.copy(); y[index] = value, as NumPy has it",
    "detach": "functier.stop_gradient(x)",
    "backward": "functier.grad(f)(x), which returns the gradient of a function",
    "requires_grad": "functier.grad(f)(x), which differentiates with respect to its argument",
    "requires_grad_": "functier.grad(f)(x), which differentiates with respect to its argument",
    "grad": "functier.grad(f)(x), which returns the gradient",
    "clone": "x.copy()",
    "numpy": "x itself: NumPy's functions take it",
    "cpu": "x itself: all arrays are NumPy's",
    "cuda": "x itself: all arrays are NumPy's",
    "to": "x.astype(dtype) for a dtype, x itself for a device",
    "float": "x.astype(np.float32)",
    "double": "x.astype(np.float64)",
    "unsqueeze": "np.expand_dims(x, axis) or x[None]",
    "permute": "x.transpose(axes)",
    "expand": "np.broadcast_to(x, shape)",
    "contiguous": "x.copy()",
    "movedim": "np.moveaxis(x, source, destination)",
    "gather": "np.take_along_axis(x, index, axis)",
    "index_select": "np.take(x, index, axis)",
    "masked_fill": "np.where(mask, value, x)",
    "block_until_ready": "x itself: NumPy computes at once",
    "primal": "functier.unwrap(x)",
    **{name: f"np.{name}(x)" for name in (
        "abs", "exp", "log", "sin", "cos", "tanh", "sqrt", "sign", "floor", "isnan", "outer",
    )},
    **{name: f"functier.nn.functional.{name}(x)" for name in ("relu", "sigmoid")},
    "softmax": "functier.nn.functional.softmax(x, axis=axis)",
    **dict.fromkeys(("matmul", "mm", "bmm", "mv"), "x @ y"),
    "pow": "x**p",
    **{name: f"x {sign} y" for name, sign in (
        ("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"),
    )},
    "clamp": "np.clip(x, low, high)",
    "norm": "np.linalg.norm(x)",
    "t": "x.T",
    "dim": "x.ndim",
    "numel": "x.size",
    "type": "x.astype(dtype)",
    "long": "x.astype(np.int64)",
    "view_as": "x.reshape(y.shape)",
    "add_": "x += y",
    "sub_": "x -= y",
    "mul_": "x *= y",
    "zero_": "x[...] = 0",
    "fill_": "x[...] = value",
}  # fmt: skip
"""Attributes that tensors of other libraries have, and NumPy's arrays have not."""


HOMES = "functier", "functier.nn.functional", "functier.nn", "functier.testing", "functier.random"
"""The modules in which a name is looked for that another one does not have."""

OPTIONS = {
    **dict.fromkeys(("dim", "dims"), "axis="),
    "keepdim": "keepdims=",
    "unbiased": "ddof=1 for unbiased=True",
    "input": "the array by position",
}
"""Keywords of functions of arrays, with NumPy's for them."""


def answering(module: str) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module, which raises the error for an unknown name."""

    def __getattr__(name: str) -> NoReturn:
        try:
            raise unknown_name(module, name)
        except (AttributeError, ImportError) as error:
            hide_own(error)
            raise

    return __getattr__


def unknown_name(module: str, name: str) -> Exception:
    """Return the error for a name that a module does not have.

    In ``from functier import jit`` it is an ImportError: Python drops the text of another one.
    """
    known = OF_MODULES.get(module, NAMES)
    instead = known[name] if name in known else _elsewhere(module, name)
    hint = f"; write {instead}" if instead else ""
    if hint and instruction_at(current_frame(2)) == "IMPORT_FROM":
        return ImportError(f"cannot import name {name!r} from {module!r}{hint}", name=module)
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


def _elsewhere(module: str, name: str) -> str:
    """Return what has a name that a module has not: NumPy, another module, or another table.

    An empty text stands for an unknown name, and for one with an underscore, which tools ask for.
    """
    if name.startswith("_"):
        return ""
    if name in np.__all__:
        return f"numpy.{name}"
    for home in HOMES:
        if home != module and name in dir(import_module(home)):
            return f"{home}.{name}"
    for names in (NAMES, OF_MODULES["functier.random"], ATTRIBUTES):
        if name in names:
            return names[name]
    return ""


def explain_keyword(error: BaseException) -> str:
    """Return a note for a keyword, or a function, that another library has, else an empty text."""
    found = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    name = found[1] if found and isinstance(error, TypeError) else ""
    missing = re.fullmatch(r"module 'numpy' has no attribute '(\w+)'", str(error))
    if missing and missing[1] in ATTRIBUTES:
        return f"write {ATTRIBUTES[missing[1]]}"
    if name in OPTIONS:
        return f"NumPy has no {name}=; write {OPTIONS[name]}"
    return f"NumPy has no {name}=; leave it out: {LEFT_OUT[name]}" if name in LEFT_OUT else ""
