"""Neural networks: modules with parameters, their functions, and initial values.

The names are those of ``torch.nn``. A `Module` holds NumPy arrays and is a pytree, so every
transform takes one: ``grad(loss)(module, x, y)`` is a module of gradients. What has parameters
or buffers is a module, with a function of `functional` for what it computes; what has none is
such a function first, and the modules of activations and pooling only call it.
"""
