"""NumPy's types, with the generators of functier.

Every name stands here: jedi would read all of these modules to know what a star brings, and of
those that NumPy's own stub imports it knows no types.
"""

from typing import Any as _Any

from . import (
    fft as fft, linalg as linalg, ma as ma, polynomial as polynomial, random as random,
    strings as strings, testing as testing,
)  # fmt: skip
from .. import random as _random
from numpy import (  # type: ignore[no-redef]
    False_ as False_, True_ as True_, abs as abs, absolute as absolute, acos as acos,
    acosh as acosh, add as add, arccos as arccos, arccosh as arccosh, arcsin as arcsin,
    arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, asin as asin,
    asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, bitwise_and as bitwise_and,
    bitwise_count as bitwise_count, bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift, bitwise_not as bitwise_not,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor, bool as bool, bool_ as bool_, broadcast as broadcast,
    busdaycalendar as busdaycalendar, byte as byte, bytes_ as bytes_, cbrt as cbrt,
    cdouble as cdouble, ceil as ceil, char as char, character as character,
    clongdouble as clongdouble, complex128 as complex128, complex64 as complex64,
    complexfloating as complexfloating, concat as concat, conj as conj, conjugate as conjugate,
    copysign as copysign, cos as cos, cosh as cosh, csingle as csingle, ctypeslib as ctypeslib,
    datetime64 as datetime64, deg2rad as deg2rad, degrees as degrees, divide as divide,
    divmod as divmod, double as double, dtype as dtype, dtypes as dtypes, e as e,
    emath as emath, equal as equal, euler_gamma as euler_gamma, exceptions as exceptions,
    exp as exp, exp2 as exp2, expm1 as expm1, fabs as fabs, flatiter as flatiter,
    flexible as flexible, float16 as float16, float32 as float32, float64 as float64,
    float_power as float_power, floating as floating, floor as floor,
    floor_divide as floor_divide, fmax as fmax, fmin as fmin, fmod as fmod, frexp as frexp,
    from_dlpack as from_dlpack, gcd as gcd, generic as generic, greater as greater,
    greater_equal as greater_equal, half as half, heaviside as heaviside, hypot as hypot,
    inexact as inexact, inf as inf, int16 as int16, int32 as int32, int64 as int64,
    int8 as int8, int_ as int_, intc as intc, integer as integer, intp as intp,
    invert as invert, isfinite as isfinite, isinf as isinf, isnan as isnan, isnat as isnat,
    lcm as lcm, ldexp as ldexp, left_shift as left_shift, less as less,
    less_equal as less_equal, lib as lib, little_endian as little_endian, log as log,
    log10 as log10, log1p as log1p, log2 as log2, logaddexp as logaddexp,
    logaddexp2 as logaddexp2, logical_and as logical_and, logical_not as logical_not,
    logical_or as logical_or, logical_xor as logical_xor, long as long,
    longdouble as longdouble, longlong as longlong, matmul as matmul, matvec as matvec,
    maximum as maximum, memmap as memmap, minimum as minimum, mod as mod, modf as modf,
    multiply as multiply, nan as nan, ndarray as ndarray, nditer as nditer,
    negative as negative, newaxis as newaxis, nextafter as nextafter, not_equal as not_equal,
    number as number, object_ as object_, permute_dims as permute_dims, pi as pi,
    poly1d as poly1d, positive as positive, pow as pow, power as power, rad2deg as rad2deg,
    radians as radians, rec as rec, reciprocal as reciprocal, remainder as remainder,
    right_shift as right_shift, rint as rint, short as short, show_config as show_config,
    sign as sign, signbit as signbit, signedinteger as signedinteger, sin as sin,
    single as single, sinh as sinh, spacing as spacing, sqrt as sqrt, square as square,
    str_ as str_, subtract as subtract, tan as tan, tanh as tanh, test as test,
    timedelta64 as timedelta64, true_divide as true_divide, trunc as trunc, typing as typing,
    ubyte as ubyte, ufunc as ufunc, uint as uint, uint16 as uint16, uint32 as uint32,
    uint64 as uint64, uint8 as uint8, uintc as uintc, uintp as uintp, ulong as ulong,
    ulonglong as ulonglong, unsignedinteger as unsignedinteger, ushort as ushort,
    vecdot as vecdot, vecmat as vecmat, void as void,
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
