"""NumPy's types, with the generators of functier.

Every name stands here: jedi would read all of these modules to know what a star brings, and of
those that NumPy's own stub imports it knows no types.
"""

from typing import Any as _Any

from . import random as random
from .. import random as _random
from numpy import *  # type: ignore[no-redef]
from numpy import (
    char as char, ctypeslib as ctypeslib, dtype as dtype, dtypes as dtypes,
    exceptions as exceptions, intp as intp, lib as lib, ndarray as ndarray, rec as rec,
    typing as typing,
)  # fmt: skip
from numpy._core._asarray import require as require
from numpy._core._type_aliases import sctypeDict as sctypeDict
from numpy._core._ufunc_config import (
    errstate as errstate, getbufsize as getbufsize, geterr as geterr, geterrcall as geterrcall,
    setbufsize as setbufsize, seterr as seterr, seterrcall as seterrcall,
)  # fmt: skip
from numpy._core.arrayprint import (
    array2string as array2string, array_repr as array_repr, array_str as array_str,
    format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific, get_printoptions as get_printoptions,
    printoptions as printoptions, set_printoptions as set_printoptions,
)  # fmt: skip
from numpy._core.einsumfunc import einsum as einsum, einsum_path as einsum_path
from numpy._core.fromnumeric import (
    all as all, amax as amax, amin as amin, any as any, argmax as argmax, argmin as argmin,
    argpartition as argpartition, argsort as argsort, around as around, choose as choose,
    clip as clip, compress as compress, cumprod as cumprod, cumsum as cumsum,
    cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum, diagonal as diagonal,
    matrix_transpose as matrix_transpose, max as max, mean as mean, min as min, ndim as ndim,
    partition as partition, prod as prod, ptp as ptp, put as put, ravel as ravel, repeat as repeat,
    reshape as reshape, resize as resize, round as round, searchsorted as searchsorted,
    shape as shape, size as size, sort as sort, squeeze as squeeze, std as std, sum as sum,
    swapaxes as swapaxes, take as take, trace as trace, transpose as transpose, var as var,
)  # fmt: skip
from numpy._core.function_base import (
    geomspace as geomspace, linspace as linspace, logspace as logspace,
)  # fmt: skip
from numpy._core.getlimits import finfo as finfo, iinfo as iinfo
from numpy._core.multiarray import (
    arange as arange, array as array, asanyarray as asanyarray, asarray as asarray,
    ascontiguousarray as ascontiguousarray, asfortranarray as asfortranarray, bincount as bincount,
    busday_count as busday_count, busday_offset as busday_offset, can_cast as can_cast,
    concatenate as concatenate, copyto as copyto, datetime_as_string as datetime_as_string,
    datetime_data as datetime_data, dot as dot, empty as empty, empty_like as empty_like,
    frombuffer as frombuffer, fromfile as fromfile, fromiter as fromiter, frompyfunc as frompyfunc,
    fromstring as fromstring, inner as inner, is_busday as is_busday, lexsort as lexsort,
    may_share_memory as may_share_memory, min_scalar_type as min_scalar_type,
    nested_iters as nested_iters, packbits as packbits, promote_types as promote_types,
    putmask as putmask, ravel_multi_index as ravel_multi_index, result_type as result_type,
    shares_memory as shares_memory, unpackbits as unpackbits, unravel_index as unravel_index,
    vdot as vdot, where as where, zeros as zeros,
)  # fmt: skip
from numpy._core.numeric import (
    allclose as allclose, array_equal as array_equal, array_equiv as array_equiv, astype as astype,
    base_repr as base_repr, binary_repr as binary_repr, convolve as convolve,
    correlate as correlate, count_nonzero as count_nonzero, cross as cross,
    fromfunction as fromfunction, full as full, full_like as full_like, identity as identity,
    indices as indices, isclose as isclose, isfortran as isfortran, isscalar as isscalar,
    moveaxis as moveaxis, ones as ones, ones_like as ones_like, outer as outer, roll as roll,
    rollaxis as rollaxis, tensordot as tensordot, zeros_like as zeros_like,
)  # fmt: skip
from numpy._core.numerictypes import (
    ScalarType as ScalarType, isdtype as isdtype, issubdtype as issubdtype, typecodes as typecodes,
)  # fmt: skip
from numpy._core.records import recarray as recarray, record as record
from numpy._core.shape_base import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, block as block,
    hstack as hstack, stack as stack, unstack as unstack, vstack as vstack,
)  # fmt: skip
from numpy.lib._arraypad_impl import pad as pad
from numpy.lib._arraysetops_impl import (
    ediff1d as ediff1d, intersect1d as intersect1d, isin as isin, setdiff1d as setdiff1d,
    setxor1d as setxor1d, union1d as union1d, unique as unique, unique_all as unique_all,
    unique_counts as unique_counts, unique_inverse as unique_inverse,
    unique_values as unique_values,
)  # fmt: skip
from numpy.lib._function_base_impl import (
    angle as angle, append as append, asarray_chkfinite as asarray_chkfinite, average as average,
    bartlett as bartlett, blackman as blackman, copy as copy, corrcoef as corrcoef, cov as cov,
    delete as delete, diff as diff, digitize as digitize, extract as extract, flip as flip,
    gradient as gradient, hamming as hamming, hanning as hanning, i0 as i0, insert as insert,
    interp as interp, iterable as iterable, kaiser as kaiser, median as median,
    meshgrid as meshgrid, percentile as percentile, piecewise as piecewise, place as place,
    quantile as quantile, rot90 as rot90, select as select, sinc as sinc,
    sort_complex as sort_complex, trapezoid as trapezoid, trim_zeros as trim_zeros,
    unwrap as unwrap, vectorize as vectorize,
)  # fmt: skip
from numpy.lib._histograms_impl import (
    histogram as histogram, histogram_bin_edges as histogram_bin_edges, histogramdd as histogramdd,
)  # fmt: skip
from numpy.lib._index_tricks_impl import (
    c_ as c_, diag_indices as diag_indices, diag_indices_from as diag_indices_from,
    fill_diagonal as fill_diagonal, index_exp as index_exp, ix_ as ix_, mgrid as mgrid,
    ndenumerate as ndenumerate, ndindex as ndindex, ogrid as ogrid, r_ as r_, s_ as s_,
)  # fmt: skip
from numpy.lib._nanfunctions_impl import (
    nanargmax as nanargmax, nanargmin as nanargmin, nancumprod as nancumprod,
    nancumsum as nancumsum, nanmax as nanmax, nanmean as nanmean, nanmedian as nanmedian,
    nanmin as nanmin, nanpercentile as nanpercentile, nanprod as nanprod,
    nanquantile as nanquantile, nanstd as nanstd, nansum as nansum, nanvar as nanvar,
)  # fmt: skip
from numpy.lib._npyio_impl import (
    fromregex as fromregex, genfromtxt as genfromtxt, load as load, loadtxt as loadtxt,
    save as save, savetxt as savetxt, savez as savez, savez_compressed as savez_compressed,
)  # fmt: skip
from numpy.lib._polynomial_impl import (
    poly as poly, polyadd as polyadd, polyder as polyder, polydiv as polydiv, polyfit as polyfit,
    polyint as polyint, polymul as polymul, polysub as polysub, polyval as polyval, roots as roots,
)  # fmt: skip
from numpy.lib._shape_base_impl import (
    apply_along_axis as apply_along_axis, apply_over_axes as apply_over_axes,
    array_split as array_split, column_stack as column_stack, dsplit as dsplit, dstack as dstack,
    expand_dims as expand_dims, hsplit as hsplit, kron as kron, put_along_axis as put_along_axis,
    row_stack as row_stack, split as split, take_along_axis as take_along_axis, tile as tile,
    vsplit as vsplit,
)  # fmt: skip
from numpy.lib._stride_tricks_impl import (
    broadcast_arrays as broadcast_arrays, broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
)  # fmt: skip
from numpy.lib._twodim_base_impl import (
    diag as diag, diagflat as diagflat, eye as eye, fliplr as fliplr, flipud as flipud,
    histogram2d as histogram2d, mask_indices as mask_indices, tri as tri, tril as tril,
    tril_indices as tril_indices, tril_indices_from as tril_indices_from, triu as triu,
    triu_indices as triu_indices, triu_indices_from as triu_indices_from, vander as vander,
)  # fmt: skip
from numpy.lib._type_check_impl import (
    common_type as common_type, imag as imag, iscomplex as iscomplex, iscomplexobj as iscomplexobj,
    isreal as isreal, isrealobj as isrealobj, mintypecode as mintypecode, nan_to_num as nan_to_num,
    real as real, real_if_close as real_if_close, typename as typename,
)  # fmt: skip
from numpy.lib._ufunclike_impl import fix as fix, isneginf as isneginf, isposinf as isposinf
from numpy.lib._utils_impl import (
    get_include as get_include, info as info, show_runtime as show_runtime,
)  # fmt: skip
from numpy.matrixlib.defmatrix import asmatrix as asmatrix, bmat as bmat, matrix as matrix

class Generator(_random.Generator): ...

def nonzero(  # type: ignore[no-redef]
    a: _Any, *, size: int | None = None, fill_value: _Any = None
) -> tuple[ndarray[tuple[int], dtype[intp]], ...]: ...
def flatnonzero(  # type: ignore[no-redef]
    a: _Any, *, size: int | None = None, fill_value: _Any = None
) -> ndarray[tuple[int], dtype[intp]]: ...
def argwhere(  # type: ignore[no-redef]
    a: _Any, *, size: int | None = None, fill_value: _Any = None
) -> ndarray[tuple[int, int], dtype[intp]]: ...
