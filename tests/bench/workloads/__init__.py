"""The workloads that are timed. Add a workload to the list below and to the file of its family."""

from . import arrays, derivatives, dispatch, networks, writes
from .base import Workload

LIST: list[Workload] = [
    *(dispatch.Chain(depth) for depth in range(5)),
    dispatch.Outer(),
    dispatch.IdentityVmap(),
    dispatch.SquareGrad(),
    *(derivatives.ScalarChain(order) for order in (1, 2, 3)),
    networks.PerceptronGrad("small", (32, 64, 10), 32),
    networks.PerceptronGrad("large", (784, 512, 512, 10), 256),
    networks.PerSampleGrads(),
    networks.EnsembleForward(),
    networks.EnsembleGrad(),
    *(derivatives.Jacobian(mode) for mode in ("jacrev", "jacfwd")),
    *(derivatives.Hessian(n) for n in (50, 200)),
    derivatives.HessianVectorProduct(),
    *(arrays.Elementwise(n) for n in (10**6, 10**7)),
    networks.Recurrent(),
    *(networks.CrossEntropyByIndex(form) for form in ("fancy", "take_along")),
    *(derivatives.Linalg(batch) for batch in (None, 64)),
    derivatives.GaussianProcess(),
    derivatives.Equation(),
    networks.Attention(),
    networks.Patches(),
    arrays.Cumsum(),
    arrays.Sort(),
    arrays.Median(),
    arrays.Convolution(),
    arrays.Diagonal(),
    writes.Factorization(),
    writes.Sweeps(),
    writes.Filter(),
    writes.RungeKutta(),
    writes.Heat(),
    writes.Rolls(),
    writes.Escape(),
    *(writes.Recurrence(mode, n) for mode in ("jvp", "grad") for n in (10**3, 10**5)),
    writes.Sums(),
    *(dispatch.OneOperation("operator", depth) for depth in range(1, 6)),
    *(dispatch.OneOperation("function", depth) for depth in range(1, 6)),
]

WORKLOADS = {workload.name: workload for workload in LIST}
