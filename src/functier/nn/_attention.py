"""Attention of several heads, as a layer."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Value, dtype_of, shape_of
from ..random._sampling import Seed
from . import functional as F
from . import init
from ._initial import add_parameter
from ._layer_functions import attention_weights
from ._layers import Linear
from ._module import Module
from ._random import generator_of


class MultiheadAttention(Module):
    """Attention with several heads: each looks at its part of the features.

    Parameters
    ----------
    embed_dim : int
        The number of features of a query and of an output; a multiple of `num_heads`.
    num_heads : int
    dropout : float
        The probability of dropping a weight during training.
    bias : bool
        True for projections with biases.
    add_bias_kv : bool
        True for an extra key and value, which are trained.
    add_zero_attn : bool
        True for an extra key and value of zeros.
    kdim, vdim : int, optional
        The number of features of keys and of values; by default `embed_dim`.
    batch_first : bool
        True for arrays of shape ``(examples, length, features)``.
    dtype : dtype, optional
        By default float64.
    generator : seed or generator, optional
        For the initial values and the dropout; by default that of `functier.nn.manual_seed`.

    Notes
    -----
    ``layer(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
    average_attn_weights=True, is_causal=False)`` returns the output and the weights, ``(examples,
    queries, keys)``, or None without `need_weights`. A query is ``(length, examples, features)``,
    or ``(length, features)`` for one example, as under `vmap`.

    As in torch, and unlike in `functional.scaled_dot_product_attention`, booleans in a mask are
    True where a key is left out; numbers are added to the scores. `key_padding_mask` is
    ``(examples, keys)``, and `attn_mask` ``(queries, keys)`` or
    ``(examples * heads, queries, keys)``. `is_causal` says that `attn_mask` is the causal mask; you
    have to pass the mask as well. The weights of a query whose keys are all masked by booleans are
    0 (NaN in torch).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.ones((5, 2, 4))
    >>> output, weights = MultiheadAttention(4, 2)(x, x, x)
    >>> output.shape, weights.shape
    ((5, 2, 4), (2, 5, 5))
    """

    in_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, dtype: DTypeLike | None = None, *,
        generator: Seed = None,
    ):  # fmt: skip
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim={embed_dim} has to be divisible by "
                f"num_heads={num_heads}"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(
                f"MultiheadAttention: dropout={dropout!r}; a probability is from 0 to 1"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        whole = self.kdim == self.vdim == embed_dim
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            add_parameter(self, f"{name}_proj_weight", (embed_dim, size), dtype, not whole)
        add_parameter(self, "in_proj_weight", (3 * embed_dim, embed_dim), dtype, whole)
        add_parameter(self, "in_proj_bias", 3 * embed_dim, dtype, bias)
        own = generator_of(generator)  # the default one is made here, and not inside a transform
        self.generator = None if generator is None else own
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype, generator=own)
        add_parameter(self, "bias_k", (1, 1, embed_dim), dtype, add_bias_kv)
        add_parameter(self, "bias_v", (1, 1, embed_dim), dtype, add_bias_kv)
        self.reset_parameters(own)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values, by `init.xavier_uniform_`; set the biases to zeros."""
        rng = generator_of(generator)
        for x in self._input_weights():
            if x is not None:
                init.xavier_uniform_(x, generator=rng)
        for x in (self.in_proj_bias, self.out_proj.bias):
            if x is not None:
                init.zeros_(x)
        for x in (self.bias_k, self.bias_v):
            if x is not None:
                init.xavier_normal_(x, generator=rng)

    def _input_weights(self) -> list[Any]:
        """Return the parameters with the weights of the queries, keys and values."""
        names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
        return [getattr(self, name) for name in names]

    def forward(
        self, query: Value, key: Value, value: Value, key_padding_mask: Value = None,
        need_weights: bool = True, attn_mask: Value = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Value, Value | None]:  # fmt: skip
        if is_causal and attn_mask is None:
            raise ValueError(
                "MultiheadAttention: is_causal=True says what attn_mask is; pass "
                "attn_mask=~numpy.tri(queries, keys, dtype=bool), too"
            )
        given = {"query": query, "key": key, "value": value}
        one = self._check_inputs(given)
        if one:
            q, k, v = (x[None] for x in given.values())
        else:
            q, k, v = (x if self.batch_first else np.swapaxes(x, 0, 1) for x in given.values())
        q, k, v = self._project(q, k, v)
        (examples, queries), keys = shape_of(q)[:2], shape_of(k)[1]
        mask = self._mask(attn_mask, key_padding_mask, one, (examples, queries, keys))
        extra = []
        if self.bias_k is not None:
            extra.append((self.bias_k, self.bias_v))
        if self.add_zero_attn:
            extra.append((np.zeros((1, 1, self.embed_dim), dtype_of(k)),) * 2)
        for more_k, more_v in extra:
            whole = (examples, 1, self.embed_dim)
            k = np.concatenate([k, np.broadcast_to(more_k, whole)], axis=1)
            v = np.concatenate([v, np.broadcast_to(more_v, whole)], axis=1)
        if mask is not None and extra:  # these keys are not masked
            shape = (*shape_of(mask)[:-1], len(extra))
            open_to_all = np.full(shape, dtype_of(mask).kind == "b", dtype_of(mask))
            mask = np.concatenate([mask, open_to_all], axis=-1)
        q, k, v = (self._split(x) for x in (q, k, v))
        weights = attention_weights(q / math.sqrt(self.embed_dim // self.num_heads), k, mask)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, self.training, generator=self.generator)
        merged = np.reshape(np.swapaxes(weights @ v, 1, 2), (examples, queries, self.embed_dim))
        out = self.out_proj(merged)
        out = out[0] if one else out if self.batch_first else np.swapaxes(out, 0, 1)
        if not need_weights:
            return out, None
        weights = np.mean(weights, axis=1) if average_attn_weights else weights
        return out, weights[0] if one else weights

    def _check_inputs(self, given: dict[str, Value]) -> bool:
        """Raise for inputs of wrong shapes; tell if they are those of one example."""
        shapes = {name: shape_of(x) for name, x in given.items()}
        ranks = {len(shape) for shape in shapes.values()}
        sizes = {"query": self.embed_dim, "key": self.kdim, "value": self.vdim}
        lead = "examples, length" if self.batch_first else "length, examples"
        if ranks not in ({2}, {3}) or any(shapes[n][-1] != size for n, size in sizes.items()):
            forms = ", ".join(f"{name} ({lead}, {size})" for name, size in sizes.items())
            raise ValueError(
                f"MultiheadAttention: the shapes are {shapes}; they have to be {forms}, or all "
                f"without examples"
            )
        lengths = shapes["key"][:-1], shapes["value"][:-1]
        place = 0 if self.batch_first else 1
        if lengths[0] != lengths[1] or (
            ranks == {3} and shapes["query"][place] != shapes["key"][place]
        ):
            raise ValueError(
                f"MultiheadAttention: the shapes are {shapes}; the key and the value need the same "
                f"length, and all three the same number of examples"
            )
        return ranks == {2}

    def _project(self, *inputs: Value) -> list[Value]:
        """Return the queries, keys and values of all heads."""
        n = self.embed_dim
        whole, *weights = self._input_weights()
        if whole is not None:
            weights = [whole[i * n : (i + 1) * n] for i in range(3)]
        bias = self.in_proj_bias
        biases = [None if bias is None else bias[i * n : (i + 1) * n] for i in range(3)]
        return [F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases)]

    def _split(self, x: Value) -> Value:
        """Return ``(examples, heads, length, features)`` of ``(examples, length, features)``."""
        shape = shape_of(x)
        heads = np.reshape(x, (*shape[:2], self.num_heads, shape[2] // self.num_heads))
        return np.swapaxes(heads, 1, 2)

    def _mask(self, attn: Value, padding: Value, one: bool, form: tuple[int, int, int]) -> Value:
        """Return one mask of ``(examples, heads, queries, keys)`` for those that were given.

        Booleans of the result are True where a key takes part.
        """
        examples, queries, keys = form
        found = []
        if attn is not None:
            every = (examples * self.num_heads, queries, keys)
            if shape_of(attn) not in (every[1:], every):
                raise ValueError(
                    f"MultiheadAttention: attn_mask has the shape {shape_of(attn)}; it has to be "
                    f"{every[1:]} or {every}"
                )
            lead = (examples, self.num_heads) if len(shape_of(attn)) == 3 else (1, 1)
            found.append(np.reshape(attn, (*lead, queries, keys)))
        if padding is not None:
            if shape_of(padding) != ((keys,) if one else (examples, keys)):
                raise ValueError(
                    f"MultiheadAttention: key_padding_mask has the shape {shape_of(padding)}; it "
                    f"has to be {(keys,) if one else (examples, keys)}"
                )
            found.append(np.reshape(padding, (examples, 1, 1, keys)))
        for x in found:
            if dtype_of(x).kind not in "bf":
                raise TypeError(
                    f"MultiheadAttention: a mask has dtype {dtype_of(x)}; pass booleans, or "
                    f"floating-point numbers to add"
                )
        hidden = [x for x in found if dtype_of(x).kind == "b"]
        added = [x for x in found if dtype_of(x).kind != "b"]
        if hidden:
            open_to = ~(hidden[0] | hidden[1] if len(hidden) == 2 else hidden[0])
            return np.where(open_to, added[0], -np.inf) if added else open_to
        return sum(added) if added else None
