"""Names of other libraries, each with what to write instead."""

NAMES = {
    **dict.fromkeys(("jit", "jit_compile", "njit"), "functier.compile"),
    **dict.fromkeys(("make_jaxpr", "make_fx"), "functier.trace, which gives a program"),
    "jacobian": "functier.jacrev (one row at a time) or functier.jacfwd (one column at a time)",
    "make_vjp": "functier.vjp(f, x), which returns f(x) and the function",
    "make_jvp": "functier.jvp(f, (x,), (v,))",
    **dict.fromkeys(("make_hvp", "hessian_vector_product"), "functier.hvp(f, (x,), (v,))[1]"),
    "make_ggnvp": "functier.ggnvp",
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
    "multigrad_dict": "functier.grad(f, argnums=(0, 1))",
    **dict.fromkeys(("PRNGKey", "key"), "functier.random.default_rng(seed)"),
    **dict.fromkeys(("gradcheck", "check_grads"), "functier.testing.gradcheck"),
}
"""Names that a module of functier does not have."""

KEYWORDS = {
    "in_axes": "in_dims",
    "in_axis": "in_dims",
    "in_dim": "in_dims",
    "out_axes": "out_dims",
    "out_axis": "out_dims",
    "out_dim": "out_dims",
    "argnum": "argnums",
    "arg_num": "argnums",
    "spmd_axis_name": "axis_name",
    "batch_size": "chunk_size",
}
"""Keywords that a transform does not take, with its own one."""

ATTRIBUTES = {
    "at": "y = x.copy(); y[index] = value, as NumPy has it",
    "detach": "functier.stop_gradient(x)",
    "backward": "functier.grad(f)(x), which returns the gradient of a function",
    "requires_grad": "functier.grad(f)(x), which differentiates by its argument",
    "requires_grad_": "functier.grad(f)(x), which differentiates by its argument",
    "grad": "functier.grad(f)(x), which returns the gradient",
    "clone": "x.copy()",
    "numpy": "x itself: NumPy's functions take it",
    "cpu": "x itself: all arrays are NumPy's",
    "cuda": "x itself: all arrays are NumPy's",
    "to": "x.astype(dtype)",
    "float": "x.astype(np.float32)",
    "double": "x.astype(np.float64)",
    "unsqueeze": "np.expand_dims(x, axis) or x[None]",
    "permute": "x.transpose(axes)",
    "expand": "np.broadcast_to(x, shape)",
    "contiguous": "x.copy()",
    "block_until_ready": "x itself: NumPy computes at once",
    "primal": "functier.unwrap(x)",
}
"""Attributes that tensors of other libraries have, and NumPy's arrays have not."""


def unknown_name(module: str, name: str) -> str:
    """Return the message for a name that a module does not have."""
    hint = f"; write {NAMES[name]}" if name in NAMES else ""
    return f"module {module!r} has no attribute {name!r}{hint}"
