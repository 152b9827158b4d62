"""Recurrent layers: LSTM and GRU, one step of time after the other."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from .._core.numpy_facts import Value, dtype_of, shape_of
from ..random._sampling import Seed
from . import functional as F
from . import init
from ._initial import add_parameter
from ._module import Module
from ._random import generator_of


class Recurrent(Module):
    """A layer of `LSTM` or `GRU`: `gates` parts of the weights, `states` arrays from step to step.

    Weights have torch's names and layout: ``weight_ih_l0`` of shape ``(gates * hidden_size,
    input_size)`` is that of the inputs of the first layer, ``weight_hh_l0_reverse`` that of the
    states of its backward direction.
    """

    gates: ClassVar[int]
    states: ClassVar[int]
    proj_size = 0

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int, bias: bool, batch_first: bool,
        dropout: float, bidirectional: bool, dtype: DTypeLike | None, generator: Seed,
    ):  # fmt: skip
        name = type(self).__name__
        if not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout={dropout!r}; a probability is from 0 to 1")
        if hidden_size < 1 or num_layers < 1:
            raise ValueError(
                f"{name}: hidden_size={hidden_size} and num_layers={num_layers} have to be 1 or "
                f"more"
            )
        if not 0 <= self.proj_size < hidden_size:
            raise ValueError(
                f"{name}: proj_size={self.proj_size} has to be from 0 to hidden_size - 1, which is "
                f"{hidden_size - 1}"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional = bidirectional
        self.ends = ["", "_reverse"][: 1 + bidirectional]
        rows, size = self.gates * hidden_size, self.proj_size or hidden_size
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else size * len(self.ends)
            for end in self.ends:
                add_parameter(self, f"weight_ih_l{layer}{end}", (rows, inputs), dtype)
                add_parameter(self, f"weight_hh_l{layer}{end}", (rows, size), dtype)
                add_parameter(self, f"bias_ih_l{layer}{end}", rows, dtype, bias)
                add_parameter(self, f"bias_hh_l{layer}{end}", rows, dtype, bias)
                if self.proj_size:
                    add_parameter(self, f"weight_hr_l{layer}{end}", (size, hidden_size), dtype)
        own = generator_of(generator)  # the default one is made here, and not inside a transform
        self.generator = None if generator is None else own
        self.reset_parameters(own)

    def reset_parameters(self, generator: Seed = None) -> None:
        """Draw new initial values: uniform within ``1 / sqrt(hidden_size)``."""
        rng, bound = generator_of(generator), 1 / math.sqrt(self.hidden_size)
        for x in self.parameters():
            init.uniform_(x, -bound, bound, rng)

    def _weights(self, layer: int, end: str) -> dict[str, Any]:
        """Return the arrays of one layer and direction, without those that there are not."""
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        return {name: getattr(self, f"{name}_l{layer}{end}", None) for name in names}

    def _run(self, input: Value, given: list[Value] | None) -> tuple[Value, list[Value]]:
        """Return the outputs of all steps, and each state after the last one."""
        name, shape = type(self).__name__, shape_of(input)
        if len(shape) not in (2, 3) or shape[-1] != self.input_size:
            raise ValueError(
                f"{name}: the input has the shape {shape}; it has to be "
                f"{'(examples, steps' if self.batch_first else '(steps, examples'}, "
                f"{self.input_size}), or (steps, {self.input_size}) for one example"
            )
        one = len(shape) == 2
        x = input[:, None] if one else np.swapaxes(input, 0, 1) if self.batch_first else input
        steps, examples = shape_of(x)[:2]
        if not steps:
            raise ValueError(f"{name}: the input of shape {shape} has no steps")
        given = None if given is None else self._check_states(given, one, examples)
        last: list[list[Value]] = [[] for _ in range(self.states)]
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training, generator=self.generator)
            sides = []
            for i, end in enumerate(self.ends):
                w = self._weights(layer, end)
                gates, step = self._stepper(F.linear(x, w["weight_ih"], w["bias_ih"]), w)
                at = layer * len(self.ends) + i
                state = [
                    np.zeros((examples, size), dtype_of(gates))
                    if given is None
                    else given[number][at]
                    for number, size in enumerate(self._sizes())
                ]
                outputs: list = [None] * steps
                for t in reversed(range(steps)) if end else range(steps):
                    state = step(gates[t], *state)
                    outputs[t] = state[0]
                sides.append(np.stack(outputs))
                for number, value in enumerate(state):
                    last[number].append(value)
            x = sides[0] if len(sides) == 1 else np.concatenate(sides, axis=-1)
        ends = [np.stack(values) for values in last]
        if one:
            return x[:, 0], [state[:, 0] for state in ends]
        return np.swapaxes(x, 0, 1) if self.batch_first else x, ends

    def _sizes(self) -> list[int]:
        """Return the last axis of each state."""
        return [self.proj_size or self.hidden_size, self.hidden_size][: self.states]

    def _check_states(self, given: list[Value], one: bool, examples: int) -> list[Value]:
        """Return the first states with an axis of examples; raise for other shapes."""
        count = self.num_layers * len(self.ends)
        for state, size, label in zip(given, self._sizes(), ("h_0", "c_0")):
            form = (count, size) if one else (count, examples, size)
            if shape_of(state) != form:
                raise ValueError(
                    f"{type(self).__name__}: {label} has the shape {shape_of(state)}; for this "
                    f"input it has to be {form}"
                )
        return [state[:, None] for state in given] if one else given

    def _stepper(self, gates: Value, weights: dict[str, Any]) -> tuple[Value, Callable]:
        """Return the parts of all gates that do not depend on states, and the function of a step.

        That takes the gates and the states, and returns a list of the new states.
        """
        raise NotImplementedError

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        options = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
            "bidirectional": False,
        }  # fmt: skip
        for option, default in options.items():
            if getattr(self, option) != default:
                text += f", {option}={getattr(self, option)}"
        return text


class LSTM(Recurrent):
    """Layers of long short-term memory.

    A step computes the gates ``i, f, g, o`` (the order of the weights) from the input and the state
    ``h``, and then ``c = f * c + i * g`` and ``h = o * tanh(c)``.

    Parameters
    ----------
    input_size, hidden_size : int
        The number of features of an input and of a state.
    num_layers : int
        The number of layers; each gets the outputs of the one before.
    bias : bool
        True for layers with biases.
    batch_first : bool
        True for inputs and outputs of shape ``(examples, steps, features)``.
    dropout : float
        The probability of dropping a feature between two layers during training.
    bidirectional : bool
        True to also run from the last step to the first.
    proj_size : int
        The number of features that a weight projects ``h`` to; 0 for no projection.
    dtype : dtype, optional
        By default float64.
    generator : seed or generator, optional
        For the initial values and the dropout; by default that of `functier.nn.manual_seed`.

    Notes
    -----
    ``layer(input, (h_0, c_0))`` returns ``(output, (h_n, c_n))``. An input is ``(steps, examples,
    features)``, or ``(steps, features)`` for one example, as under `vmap`. States are ``(layers *
    directions, examples, features)``, or without the axis of examples; the default is zeros.
    Sequences of different lengths are not supported: pad them, and pick the outputs that count.

    Examples
    --------
    >>> import numpy as np
    >>> layer = LSTM(3, 4, num_layers=2)
    >>> output, (h, c) = layer(np.ones((5, 2, 3)))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 4), (2, 2, 4), (2, 2, 4))
    """

    gates, states = 4, 2

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        Module.__init__(self)
        self.proj_size = proj_size
        Recurrent.__init__(
            self, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            dtype, generator,
        )  # fmt: skip

    def forward(
        self, input: Value, hx: tuple[Value, Value] | None = None
    ) -> tuple[Value, tuple[Value, Value]]:
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise TypeError("LSTM: hx has to be a tuple (h_0, c_0)")
        output, (h, c) = self._run(input, None if hx is None else list(hx))
        return output, (h, c)

    def _stepper(self, gates: Value, weights: dict[str, Any]) -> tuple[Value, Callable]:
        n, across, project = self.hidden_size, weights["weight_hh"].T, weights["weight_hr"]
        if self.bias:
            gates = gates + weights["bias_hh"]

        def step(part: Value, h: Value, c: Value) -> list[Value]:
            part = part + h @ across
            i, f, o = (F.sigmoid(part[..., k * n : (k + 1) * n]) for k in (0, 1, 3))
            c = f * c + i * np.tanh(part[..., 2 * n : 3 * n])
            h = o * np.tanh(c)
            return [h if project is None else h @ project.T, c]

        return gates, step


class GRU(Recurrent):
    """Layers of gated recurrent units.

    A step computes the gates ``r, z``, then ``n = tanh(a + r * (W h + b))``, where ``a`` is the
    part that comes from the input, and ``h = (1 - z) * n + z * h``. The weights have the order r,
    z, n.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype, generator
        As for `LSTM`.

    Notes
    -----
    ``layer(input, h_0)`` returns ``(output, h_n)``; the shapes are those of `LSTM`.

    Examples
    --------
    >>> import numpy as np
    >>> output, h = GRU(3, 4, bidirectional=True)(np.ones((5, 3)))
    >>> output.shape, h.shape
    ((5, 8), (2, 4))
    """

    gates, states = 3, 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        dtype: DTypeLike | None = None, *, generator: Seed = None,
    ):  # fmt: skip
        Module.__init__(self)
        Recurrent.__init__(
            self, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional,
            dtype, generator,
        )  # fmt: skip

    def forward(self, input: Value, hx: Value | None = None) -> tuple[Value, Value]:
        if isinstance(hx, (tuple, list)):
            raise TypeError("GRU: hx has to be one array h_0, and not a tuple, as of an LSTM")
        output, (h,) = self._run(input, None if hx is None else [hx])
        return output, h

    def _stepper(self, gates: Value, weights: dict[str, Any]) -> tuple[Value, Callable]:
        n, across, bias = self.hidden_size, weights["weight_hh"], weights["bias_hh"]

        def step(part: Value, h: Value) -> list[Value]:
            own = F.linear(h, across, bias)
            r, z = (F.sigmoid((part + own)[..., k * n : (k + 1) * n]) for k in (0, 1))
            new = np.tanh(part[..., 2 * n :] + r * own[..., 2 * n :])
            return [(1 - z) * new + z * h]

        return gates, step
