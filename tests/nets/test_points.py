"""The net of arrays without axes: where NumPy returns one, and where it returns a number.

``t = s; t += 1`` changes `s` where it is an array, and leaves a number as it is. The arguments are
those of the rows, and their first elements as numbers.
"""

import numpy as np
import pytest

import checks
import functier as ft
import samples
from functier._mutation.array import is_array
from nets.test_sizes import CRASHING
from nets.verdicts import Verdicts, is_excused
from samples._batch import free

pytestmark = pytest.mark.usefixtures("quiet")

OTHER = {
    "contraction": "einsumi,ij,j",
    "fft": "fftn ifftn fftnofanumber",
    "join": "pad_with",
    "neural": "pick window_argmax",
    "quantile": "quantile",
    "scipy_fft": "dctn dstn fftn idctn idstn ifftn",
    "scipy_interpolate": "integral",
    "scipy_linalg": "sl.lstsq",
    "scipy_linalg_structured": "cholesky_banded",
    "scipy_ndimage": "gaussians linear places ranks",
    "scipy_splines": "operations",
    "scipy_special_functions": "diric polygamma sph_harm_y",
    "scipy_stats": "scores transformed",
    "scipy_stats_multivariate": "vectors",
    "shape": "broadcast_arrays copy",
    "sorting": "unique",
}
"""The functions that return a number where the library returns an array without axes, or the other
way round, in some mode or for some option."""


def is_other(name):
    return is_excused(name, OTHER)


def kinds(result):
    """For each result without axes: True for an array, False for a number; else None."""
    found = []
    for y in result if isinstance(result, list | tuple) else [result]:
        if np.shape(y) != () or isinstance(y, str | bool | int | float | complex | None):
            found.append(None)
        elif isinstance(y, ft.Tensor):
            found.append(is_array(y) if y.level.depth else True)
        else:
            found.append(isinstance(y, np.ndarray))
    return found


def number(x):
    return x.reshape(-1)[0] if isinstance(x, np.ndarray) and x.size else x


def seen(row, args, mode):
    """The kinds of the row's results in a batch, or under jvp."""
    f, found = checks.leaves_of(row), []

    def look(*xs):
        found.extend(kinds(f(*xs)))
        return 0.0

    chosen = free(row) or ()
    if mode == "vmap":
        dims = tuple(0 if i in chosen else None for i in range(len(args)))
        ft.vmap(look, dims)(*[np.stack([x] * 3) if i in chosen else x for i, x in enumerate(args)])
        return found
    smooth = [i for i in chosen if np.asarray(args[i]).dtype.kind in "fc"]
    points = tuple(args[i] for i in smooth)

    def by_some(*xs):
        given = dict(zip(smooth, xs))
        return look(*[given.get(i, x) for i, x in enumerate(args)])

    if mode == "jvp":
        ft.jvp(by_some, points, points)
    else:
        ft.vmap(lambda *xs: ft.jvp(by_some, xs, xs)[0])(*[np.stack([x] * 3) for x in points])
    return found


def judge(counts, chosen, others=is_other):
    for name, row in chosen.items():
        if not free(row) or others(name):
            continue
        f = checks.leaves_of(row)
        numbers = [number(x) if i in free(row) else x for i, x in enumerate(row.leaves)]
        arrays = [number(x) if np.shape(x) == () else x for x in row.leaves]  # as examples are
        for kind, args in (("arrays", arrays), ("numbers", numbers)):
            try:
                wanted = kinds(f(*args))
            except Exception:
                continue
            if not [x for x in wanted if x is not None]:
                continue
            modes = ["vmap"] * bool(row.vmap and not row.loop)
            modes += ["jvp", "vmap over jvp"] * checks.differentiable(row)
            for mode in modes:
                counts.judge(
                    f"{name} of {kind}, {mode}",
                    lambda row=row, args=args, mode=mode: seen(row, args, mode),
                    lambda found, wanted=wanted: compare(found, wanted),
                )


def compare(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        if b is not None:
            assert a == b, f"{'an array' if a else 'a number'}, and NumPy's is not"


def test_results_without_axes(verdicts):
    counts = verdicts("results without axes", {"": "a row that has no such case"})
    judge(counts, {name: row for name, row in samples.named().items() if name != CRASHING})
    counts.settle()
    assert counts.right > 500


def test_other_functions_are_found():
    """Each function of the table is there for a reason."""
    counts = Verdicts("others", {"": ""})
    judge(counts, samples.named(), lambda name: not is_other(name))
    for family, functions in OTHER.items():
        for function in functions.split():
            case = f"{family}.{function}"
            assert any(text.startswith(case) for text in counts.wrong), case


@pytest.mark.parametrize(
    "name, case", [("note_box", "indexing.where-"), ("note_number", "composite.nan_to_num-")]
)
def test_a_result_that_nobody_notes_is_found(name, case, monkeypatch):
    monkeypatch.setattr(f"functier._levels.views.{name}", lambda y, *args: y)
    counts = Verdicts("planted", {"": ""})
    judge(counts, {n: r for n, r in samples.named().items() if n.startswith(case)})
    assert counts.wrong
