"""`Generator`, whose draws have a rule for each level, and `default_rng`."""

import copy
import operator
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._core.errors import RandomnessError
from .._core.numpy_facts import Value
from .._core.tensor import Tensor
from .._transforms.chunks.chunk import CHUNK
from .._transforms.chunks.streams import enlist, fresh_seed, new_key, stream_in_scope, stream_of
from ._gamma import MADE_OF_GAMMAS, draw_gammas
from ._multivariate import normal_vector
from ._orders import draw_orders, draw_vectors
from ._sampling import (
    Draw,
    Seed,
    Size,
    batch_levels,
    draw_by_formula,
    draw_of,
    find_derivative_level,
    has_tensor,
    is_noted_alone,
    is_outside_levels,
    make,
    noting_level,
    pick,
    refuse_noted,
    refuse_write,
    sample,
)  # fmt: skip


def default_rng(seed: Seed = None) -> "Generator":
    """Return a `Generator` with NumPy's default bit generator.

    Parameters
    ----------
    seed : None, int, array of int, SeedSequence, BitGenerator or Generator
        As for `numpy.random.default_rng`; the default is fresh entropy. A
        `functier.random.Generator` is returned as it is; a generator of NumPy is shared, so
        that draws from either advance both.

    Returns
    -------
    Generator

    Notes
    -----
    Inside a chunk of a vmap with ``randomness="different"`` the numbers depend on the chunk,
    too: the function runs once for each, and all would begin with the same numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import vmap
    >>> rng = default_rng(0)
    >>> vmap(lambda x: x + rng.normal(size=3), randomness="different")(np.zeros(5)).shape
    (5, 3)
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(np.random.default_rng(fresh_seed(CHUNK.get()) if seed is None else seed))


Base: Any = np.random.Generator  # without its overloads, which know nothing of tensors


class Generator(Base):
    """NumPy's `numpy.random.Generator`, for use inside transforms.

    It is a subclass with the same methods and parameters, so that other libraries take it. Outside
    `vmap` the numbers are the same; see `functier.random` for draws inside.

    Parameters
    ----------
    bit_generator : BitGenerator or numpy.random.Generator
        The source of the numbers.

    Raises
    ------
    RandomnessError
        From a draw inside a `vmap` whose randomness is "error".
    NoRuleError
        If a parameter is differentiated and the draw has no derivative with respect to it.
    MutationError
        From ``out=`` and `shuffle` inside `vmap`, or on a tensor.

    Notes
    -----
    Draws have derivatives with respect to their parameters for `exponential`, `gumbel`, `laplace`,
    `logistic`, `lognormal`, `multivariate_normal`, `normal`, `pareto`, `power`, `rayleigh`,
    `triangular`, `uniform` and `weibull`, for a fixed standard draw; `standard_gamma`, `gamma`,
    `beta`, `chisquare`, `dirichlet` and `f`, for a fixed place in the distribution (a derivative
    takes 7 us and 74 numbers of memory for each draw). The numbers are NumPy's, up to rounding.
    `choice`, `permutation` and `permuted` have derivatives with respect to the values they pick
    from.

    With batched parameters and ``randomness="same"``, methods without a formula, and those
    that take one vector only (`dirichlet`, `multivariate_hypergeometric`, `choice` with
    batched ``p`` or without replacement), run once for each example, some 10 us each.

    Copies are independent. A pickled generator continues in the process that reads it.
    Several threads may draw from one.

    Examples
    --------
    >>> import numpy as np
    >>> from functier import grad
    >>> rng = Generator(np.random.PCG64(0))
    >>> float(rng.normal()) == np.random.default_rng(0).normal()
    True
    >>> slope = grad(lambda scale: np.sum(default_rng(0).normal(0.0, scale, size=3)))(2.0)
    >>> bool(np.isclose(slope, np.sum(np.random.default_rng(0).normal(size=3))))
    True
    """

    __slots__ = ("__weakref__", "_home", "_key", "_lock", "_own", "_sent")

    def __init__(self, bit_generator: np.random.BitGenerator | np.random.Generator):
        own = bit_generator if isinstance(bit_generator, Base) else Base(bit_generator)
        self._make(stream_in_scope(own, CHUNK.get()), new_key(), CHUNK.get(), False)

    def _make(self, own: np.random.Generator, key: tuple, home: Any, sent: bool) -> "Generator":
        """Set the stream up; `home`: the scope that it belongs to; `sent`: by another process."""
        super().__init__(own.bit_generator)
        self._own, self._key, self._home, self._sent = own, key, home, sent
        self._lock = RLock()
        enlist(self)
        level = noting_level()
        if level is not None:
            level.note_made(self)
        return self

    def __repr__(self) -> str:
        return f"functier.random.Generator({type(self._own.bit_generator).__name__})"

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self._own, self._key, None, True)

    def __copy__(self) -> "Generator":
        refuse_noted(self, "a copy of a generator", "copy it outside of the function")
        with self._lock:
            return self._child(copy.deepcopy(stream_of(self, CHUNK.get())))

    def __deepcopy__(self, memo: dict) -> "Generator":
        return self.__copy__()

    def _child(self, own: np.random.Generator) -> "Generator":
        """Return a generator for a stream that belongs to this scope already."""
        return _rebuild(type(self), own, new_key(), CHUNK.get(), False)

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """The source of the numbers; its state is the same as NumPy's after the same draws."""
        refuse_noted(self, "rng.bit_generator", "draw by the methods of rng")
        with self._lock:
            return stream_of(self, CHUNK.get()).bit_generator

    def spawn(self, n_children: int) -> list["Generator"]:
        """Return new independent generators: `n_children` in all, also inside `vmap`."""
        refuse_noted(self, "rng.spawn(...)", "spawn outside of the function")
        with self._lock:
            return [self._child(g) for g in stream_of(self, CHUNK.get()).spawn(n_children)]

    # ---- uniform bits ----

    def bytes(self, length: int) -> Any:
        """Return random bytes; raise where they would differ from example to example."""
        for level in [] if is_outside_levels(()) else batch_levels((), "bytes"):
            if level.randomness == "different":
                raise level.refusal(
                    RandomnessError,
                    "rng.bytes(...) is one Python object and cannot differ from example to "
                    "example; write rng.integers(0, 256, length, dtype=numpy.uint8)",
                )
        refuse_noted(self, "rng.bytes(...)", "write rng.integers(0, 256, length, numpy.uint8)")
        with self._lock:
            return stream_of(self, CHUNK.get()).bytes(length)

    def integers(
        self, low: Value, high: Value = None, size: Size = None, dtype: DTypeLike = np.int64,
        endpoint: bool = False,
    ) -> Value:  # fmt: skip
        """Draw integers from `low` to `high`; with `high` None, from 0 to `low`."""
        bounds = (0, low) if high is None else (low, high)
        if dtype is np.int64 and not endpoint:
            return sample(self, draw_of("integers"), bounds, size)
        draw = Draw(
            "integers",
            lambda stream, low, high, size: stream.integers(low, high, size, dtype, endpoint),
        )
        return sample(self, draw, bounds, size)

    def random(self, size: Size = None, dtype: DTypeLike = np.float64, out: Value = None) -> Value:
        """Draw uniform numbers in [0, 1)."""
        return self._draw_standard("random", size, {"dtype": dtype}, out)

    # ---- standard draws ----

    def standard_normal(
        self, size: Size = None, dtype: DTypeLike = np.float64, out: Value = None
    ) -> Value:
        """Draw normal numbers of mean 0 and standard deviation 1."""
        return self._draw_standard("standard_normal", size, {"dtype": dtype}, out)

    def standard_exponential(
        self, size: Size = None, dtype: DTypeLike = np.float64, method: str = "zig",
        out: Value = None,
    ) -> Value:  # fmt: skip
        """Draw exponential numbers of scale 1."""
        options = {"dtype": dtype, "method": method}
        return self._draw_standard("standard_exponential", size, options, out)

    def standard_gamma(
        self, shape: Value, size: Size = None, dtype: DTypeLike = np.float64, out: Value = None
    ) -> Value:
        """Draw gamma numbers of scale 1."""
        if out is None and find_derivative_level((shape,)):
            return draw_gammas(self, "standard_gamma", shape, size, dtype)
        return self._draw_standard("standard_gamma", size, {"dtype": dtype}, out, shape)

    def standard_cauchy(self, size: Size = None) -> Value:
        """Draw Cauchy numbers of location 0 and scale 1."""
        return self._draw_standard("standard_cauchy", size)

    def standard_t(self, df: Value, size: Size = None) -> Value:
        """Draw numbers from Student's t distribution; `df` may be batched."""
        return self._draw("standard_t", size, df)

    def _draw_standard(
        self,
        name: str,
        size: Size,
        options: dict | None = None,
        out: Value = None,
        *operands: Value,
    ) -> Value:
        """Draw with options of NumPy; `out` only outside of all levels."""
        if out is None and options in (None, {"dtype": np.float64}):  # what NumPy does by default
            return sample(self, draw_of(name), operands, size)
        options = options or {}
        if out is not None:
            refuse_write((out, *operands), name, f"x = rng.{name}(...) without out=")
            options = {**options, "out": out}
        draw = Draw(
            name, lambda stream, *own: getattr(stream, name)(*own[:-1], size=own[-1], **options)
        )
        return sample(self, draw, operands, size)

    def _draw(self, name: str, size: Size, *operands: Value) -> Value:
        """Draw without a formula; `MADE_OF_GAMMAS` has the methods with a derivative."""
        if name in MADE_OF_GAMMAS and find_derivative_level(operands):
            return MADE_OF_GAMMAS[name](self, size, *operands)
        return sample(self, draw_of(name), operands, size)

    # ---- differentiated by their parameters ----

    def uniform(self, low: Value = 0.0, high: Value = 1.0, size: Size = None) -> Value:
        """Draw ``low + (high - low) * u``, with `u` uniform in [0, 1)."""
        return draw_by_formula(self, "uniform", (low, high), size)

    def normal(self, loc: Value = 0.0, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``loc + scale * z``, with `z` standard normal."""
        return draw_by_formula(self, "normal", (loc, scale), size)

    def lognormal(self, mean: Value = 0.0, sigma: Value = 1.0, size: Size = None) -> Value:
        """Draw ``exp(mean + sigma * z)``, with `z` standard normal."""
        return draw_by_formula(self, "lognormal", (mean, sigma), size)

    def exponential(self, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``scale * e``, with `e` standard exponential."""
        return draw_by_formula(self, "exponential", (scale,), size)

    def laplace(self, loc: Value = 0.0, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``loc + scale * z``, with `z` from the standard Laplace distribution."""
        return draw_by_formula(self, "laplace", (loc, scale), size)

    def logistic(self, loc: Value = 0.0, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``loc + scale * z``, with `z` from the standard logistic distribution."""
        return draw_by_formula(self, "logistic", (loc, scale), size)

    def gumbel(self, loc: Value = 0.0, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``loc + scale * z``, with `z` from the standard Gumbel distribution."""
        return draw_by_formula(self, "gumbel", (loc, scale), size)

    def rayleigh(self, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``scale * sqrt(2 * e)``, with `e` standard exponential."""
        return draw_by_formula(self, "rayleigh", (scale,), size)

    def weibull(self, a: Value, size: Size = None) -> Value:
        """Draw ``e ** (1 / a)``, with `e` standard exponential."""
        return draw_by_formula(self, "weibull", (a,), size)

    def pareto(self, a: Value, size: Size = None) -> Value:
        """Draw ``expm1(e / a)``, with `e` standard exponential."""
        return draw_by_formula(self, "pareto", (a,), size)

    def power(self, a: Value, size: Size = None) -> Value:
        """Draw ``(-expm1(-e)) ** (1 / a)``, with `e` standard exponential."""
        return draw_by_formula(self, "power", (a,), size)

    def triangular(self, left: Value, mode: Value, right: Value, size: Size = None) -> Value:
        """Draw the inverse of the distribution function at a uniform number in [0, 1)."""
        return draw_by_formula(self, "triangular", (left, mode, right), size)

    def gamma(self, shape: Value, scale: Value = 1.0, size: Size = None) -> Value:
        """Draw ``scale * g``, with `g` from `standard_gamma`."""
        if find_derivative_level((shape,)):
            return self._draw("gamma", size, shape, scale)
        return draw_by_formula(self, "gamma", (shape, scale), size, fixed=1)

    def multivariate_normal(
        self, mean: Value, cov: Value, size: Size = None, check_valid: str = "warn",
        tol: float = 1e-8, *, method: str = "svd",
    ) -> Value:  # fmt: skip
        """Draw ``mean + A @ z``, with `z` standard normal and a factor ``A @ A.T = cov``.

        Where `cov` is differentiated, a draw moves with it by the Cholesky factor of
        ``inv(A) @ cov @ inv(A).T``, `A` held fixed: its covariance is `cov`, whichever `method`
        gave `A`, and derivatives are finite where eigenvalues are equal. With "svd" and "eigh" they
        are not the derivatives of the numbers for a fixed seed, because the eigenvectors do not
        take part; expectations have the same derivatives. A singular `cov` has none.
        """
        if has_tensor((mean, cov)):
            return normal_vector(self, mean, cov, size, check_valid, tol, method)
        given = {"check_valid": check_valid, "tol": tol, "method": method}
        return draw_vectors(self, "multivariate_normal", size, mean, cov, options=given)

    # ---- without a formula ----

    def beta(self, a: Value, b: Value, size: Size = None) -> Value:
        """Draw beta numbers; no derivative where both parameters are 1 or less."""
        return self._draw("beta", size, a, b)

    def chisquare(self, df: Value, size: Size = None) -> Value:
        """Draw chi-square numbers."""
        return self._draw("chisquare", size, df)

    def f(self, dfnum: Value, dfden: Value, size: Size = None) -> Value:
        """Draw numbers from Fisher's F distribution."""
        return self._draw("f", size, dfnum, dfden)

    def noncentral_chisquare(self, df: Value, nonc: Value, size: Size = None) -> Value:
        """Draw noncentral chi-square numbers."""
        return self._draw("noncentral_chisquare", size, df, nonc)

    def noncentral_f(self, dfnum: Value, dfden: Value, nonc: Value, size: Size = None) -> Value:
        """Draw numbers from the noncentral F distribution."""
        return self._draw("noncentral_f", size, dfnum, dfden, nonc)

    def vonmises(self, mu: Value, kappa: Value, size: Size = None) -> Value:
        """Draw angles from the von Mises distribution."""
        return self._draw("vonmises", size, mu, kappa)

    def wald(self, mean: Value, scale: Value, size: Size = None) -> Value:
        """Draw numbers from the Wald (inverse Gaussian) distribution."""
        return self._draw("wald", size, mean, scale)

    def binomial(self, n: Value, p: Value, size: Size = None) -> Value:
        """Draw binomial integers."""
        return self._draw("binomial", size, n, p)

    def negative_binomial(self, n: Value, p: Value, size: Size = None) -> Value:
        """Draw negative binomial integers."""
        return self._draw("negative_binomial", size, n, p)

    def poisson(self, lam: Value = 1.0, size: Size = None) -> Value:
        """Draw Poisson integers."""
        return self._draw("poisson", size, lam)

    def geometric(self, p: Value, size: Size = None) -> Value:
        """Draw geometric integers."""
        return self._draw("geometric", size, p)

    def hypergeometric(self, ngood: Value, nbad: Value, nsample: Value, size: Size = None) -> Value:
        """Draw hypergeometric integers."""
        return self._draw("hypergeometric", size, ngood, nbad, nsample)

    def logseries(self, p: Value, size: Size = None) -> Value:
        """Draw integers from the logarithmic series distribution."""
        return self._draw("logseries", size, p)

    def zipf(self, a: Value, size: Size = None) -> Value:
        """Draw integers from the Zipf distribution."""
        return self._draw("zipf", size, a)

    def multinomial(self, n: Value, pvals: Value, size: Size = None) -> Value:
        """Draw multinomial counts: the last axis of the result is the axis of `pvals`."""
        return sample(self, draw_of("multinomial", 0, 1), (n, pvals), size)

    def dirichlet(self, alpha: Value, size: Size = None) -> Value:
        """Draw Dirichlet vectors; one call of NumPy for each example where `alpha` is batched."""
        return draw_vectors(self, "dirichlet", size, alpha)

    def multivariate_hypergeometric(
        self, colors: Value, nsample: Value, size: Size = None, method: str = "marginals"
    ) -> Value:
        """Draw counts of each colour; one call of NumPy for each example where one is batched."""
        return draw_vectors(
            self, "multivariate_hypergeometric", size, colors, nsample, options={"method": method}
        )

    # ---- orders ----

    def choice(
        self, a: Value, size: Size = None, replace: bool = True, p: Value = None, axis: int = 0,
        shuffle: bool = True,
    ) -> Value:  # fmt: skip
        """Draw elements of `a` along `axis`, or integers below `a`; `a` may be differentiated.

        Without replacement, or with batched `p`, one call of NumPy for each example.
        """
        if is_outside_levels((a, p)) or is_noted_alone((a, p)):
            with self._lock:
                return make(self, Base.choice, a, size, replace, p, axis, shuffle)
        array = a if isinstance(a, Tensor) else np.asarray(a)
        n = array.shape[axis] if array.ndim else a
        given = (p,) if isinstance(p, Tensor) else ()

        def draw(stream: np.random.Generator, *own: Value) -> Value:
            return stream.choice(n, own[-1], replace, (*own[:-1], p)[0], 0, shuffle)

        each = bool(given) or not replace
        index = sample(self, Draw("choice", draw, each=each), given, size, near=(a,))
        return pick(array, index, axis) if array.ndim else index

    def permutation(self, x: Value, axis: int = 0) -> Value:
        """Return `x` with its parts along `axis` in a random order, or the integers below `x`."""
        if is_outside_levels((x,)) or is_noted_alone((x,)):
            with self._lock:
                return make(self, Base.permutation, x, axis)
        array = x if isinstance(x, Tensor) else np.asarray(x)
        n = array.shape[axis] if array.ndim else operator.index(x)
        order = draw_orders(self, "permutation", (n,), 0, array)
        return pick(array, order, axis) if array.ndim else order

    def permuted(self, x: Value, *, axis: int | None = None, out: Value = None) -> Value:
        """Return `x` with each slice along `axis` in a different order; None: all elements."""
        if out is not None:
            refuse_write((out, x), "permuted", "y = rng.permuted(x, axis=axis) without out=")
        if out is not None or is_outside_levels((x,)):
            with self._lock:
                return stream_of(self, CHUNK.get()).permuted(x, axis=axis, out=out)
        if is_noted_alone((x,)):
            with self._lock:
                return make(self, lambda stream, x: stream.permuted(x, axis=axis), x)
        array = x if isinstance(x, Tensor) else np.asarray(x)
        if axis is None:
            order = draw_orders(self, "permuted", (array.size,), 0, array)
            return np.reshape(pick(np.reshape(array, -1), order, 0), array.shape)
        return np.take_along_axis(
            array, draw_orders(self, "permuted", array.shape, axis, array), axis
        )

    def shuffle(self, x: Value, axis: int = 0) -> None:
        """Put the parts of an array or a list in a random order, in place: outside of vmap."""
        refuse_write((x,), "shuffle", "y = rng.permutation(x, axis=axis)")
        refuse_noted(self, "rng.shuffle(x)", "write y = rng.permutation(x, axis=axis)")
        with self._lock:
            stream_of(self, CHUNK.get()).shuffle(x, axis)


def _rebuild(
    kind: type[Generator], own: np.random.Generator, key: tuple, home: Any, sent: bool
) -> Any:
    return kind.__new__(kind)._make(own, key, home, sent)
