"""Calls on an array `a`: functions, methods, attributes and kinds of index.

Each of these texts makes one result of `a`. In some of them are `x`, the argument of the program,
`t`, a number of it, and `B` and `C`, plain arrays. NumPy's result always shares the memory of
`a` in `VIEW`, never in `COPY`, and by the order in memory in `EITHER`. `NEVER` has the names that
are in no text, with why they give out no memory of an array.
"""

import re

import numpy as np

VIEW = """
a; a[...]; a[()]; a[None]; a[::-1]; a[:, ::2]; a[0]; a[-1]; a[:, 1]; a[0, ...]; a[0, 1, ...];
a[np.int64(1)]; a[np.argmax(x[:, 1])]; [*a][1]; next(iter(a)); a.T; a.mT; a.real; a.view();
a.reshape(a.shape); a.reshape(*a.shape, order='F'); a.transpose(); a.swapaxes(0, 1); a.squeeze();
a.diagonal(); a.conj(); a.conjugate(); a.astype(float, copy=False); a.to_device('cpu');
a.__array__(); a.getfield(float); a.__iadd__(0); a.flat.base; a.view(np.ndarray);
np.reshape(a, a.shape); np.transpose(a); np.permute_dims(a); np.matrix_transpose(a);
np.linalg.matrix_transpose(a); np.swapaxes(a, 0, 1); np.moveaxis(a, 0, -1); np.rollaxis(a, 1);
np.squeeze(a); np.expand_dims(a, 1); np.atleast_1d(a); np.atleast_2d(a); np.atleast_3d(a);
np.atleast_1d(a, a)[1]; np.flip(a); np.fliplr(a); np.flipud(a); np.rot90(a, 0); np.split(a, 1)[0];
np.array_split(a, 2)[0]; np.hsplit(a, 1)[0]; np.vsplit(a, 1)[0]; np.dsplit(a[..., None], 1)[0];
np.unstack(a)[0]; np.diagonal(a); np.linalg.diagonal(a); np.diag(a); np.broadcast_to(a, a.shape);
np.broadcast_arrays(a, a)[0]; np.broadcast_arrays(a, 1.0)[0]; np.real(a); np.real_if_close(a);
np.asarray(a); np.asanyarray(a); np.asarray_chkfinite(a); np.array(a, copy=None);
np.array(a, copy=False); np.array(a, copy=None, ndmin=3); np.require(a);
np.astype(a, float, copy=False); np.einsum('...', a); np.einsum('ij->ji', a);
np.einsum('ij->ij', a); np.einsum('ii->i', a[0, :1, None]); np.einsum(a, [0, 1], [1, 0]);
np.ix_(a[0])[0]; np.meshgrid(a[0], a[:, 0], copy=False)[0]; np.diff(a, 0);
np.linalg.matrix_power(a[:3, :3], 1); np.trim_zeros(a[0]); np.from_dlpack(a);
np.asarray(memoryview(a)); np.lib.stride_tricks.as_strided(a);
np.lib.stride_tricks.sliding_window_view(a, 1, 0, writeable=True);
np.lib.stride_tricks.sliding_window_view(a, 2, 1); np.nan_to_num(a, copy=False);
np.multiply(a, 2.0, out=a); np.cumsum(a, 0, out=a); np.clip(a, 0.3, 0.8, out=a);
np.apply_over_axes(lambda v, i: v, a, [0]); np.polyder(a[0], 0); np.polyint(a[0], 0);
np.frombuffer(a); np.nditer(a, op_flags=['readwrite']).operands[0]; np.ndarray(a.shape, float, a);
np.ctypeslib.as_array(a); np.poly1d(a[0]).coeffs; a.base; np.asarray(a.data);
np.atleast_1d(a, np.zeros_like(a))[0]; np.atleast_2d(np.zeros(a.shape), a)[1];
np.atleast_3d(a, B, a)[2]; np.atleast_2d(a, a[::-1])[1];
np.broadcast_arrays(a, np.zeros_like(a))[0];
np.broadcast_arrays(np.zeros(a.shape), a, B)[1]; np.broadcast_arrays(a, a[0])[0];
np.broadcast_arrays(a, a[::-1])[1]; np.meshgrid(a[0], np.zeros(2), copy=False)[0];
np.meshgrid(np.zeros(3), a[0], copy=False, indexing='ij')[1]; np.ix_(a[0], np.arange(2))[0];
np.copyto(a[1:], a[:-1]) or a; np.add(a[1:], a[:-1], out=a[1:]); np.multiply(a, a[::-1], out=a);
np.subtract(1.0, a[::-1], out=a); np.cumsum(a[::-1], 0, out=a); np.take(a, [1, 0, 1], 0, out=a);
np.matmul(a, np.eye(a.shape[-1])[::-1], out=a); np.einsum('ij->ij', a[::-1], out=a);
np.copyto(a.T[:3, :3], a[:3, :3]) or a; np.put_along_axis(a, np.argsort(a, 0), a, 0) or a;
np.divmod(a, 0.4, out=(np.zeros_like(a), a[::-1]))[1]; a.take([1, 0, 1], 0, out=a)
"""
EITHER = """
a.ravel(); a.ravel('F'); a.ravel('K'); a.ravel('A'); a.reshape(-1); a.reshape(a.shape[::-1]);
a.T.ravel(); a.astype(float, order='C', copy=False); a.astype(float, order='F', copy=False);
np.ravel(a); np.ravel(a, 'F'); np.ravel(a.T, 'F'); np.reshape(a, -1); np.reshape(a, -1, order='A');
np.ascontiguousarray(a); np.ascontiguousarray(a[:, 0]); np.asfortranarray(a);
np.asarray(a, order='C'); np.asarray(a, order='F'); np.array(a, copy=None, order='F');
np.require(a, requirements=['F']); np.require(a, None, ['C', 'W']); np.require(a, float, 'W');
np.fft.fftn(a).real
"""
COPY = """
a * 1; a + 0; a / 1; a ** 1; -(-a); +a; abs(a); a % 2.0; divmod(a, 1.0)[1]; a @ np.eye(a.shape[-1]);
a[[1, 0]]; a[:, [1, 0]]; a[[True] + [False] * (len(a) - 1)]; a[np.array(0)]; a[True]; a[a > 0.5];
a[np.ix_([0], [0])]; a[np.argsort(x[:2, 1])]; a[0, 0]; a.flat[:]; a.flat[0]; a.flat.copy();
a.copy(); a.copy('F'); a.flatten(); a.astype(float); a.astype(complex).real;
a.astype(float, order='F'); a.imag; copy.copy(a); copy.deepcopy(a); a.__copy__();
pickle.loads(pickle.dumps(a)); a.byteswap().byteswap(); a.round(3); a.clip(0.3, 0.8);
a.compress([True], 0); a.take([0], 0); a.cumsum(0); a.cumprod(-1); a.dot(np.eye(a.shape[-1]));
a.sum(()); a.sum(0); a.max(()); a.min(0); a.prod(0); a.repeat(1, 0); a.mean(()); a.std(0); a.var(0);
np.array(a); np.array(a, order='F'); np.array(a, order='K'); np.array(a, ndmin=3); np.array([*a]);
np.asarray(a, copy=True); np.copy(a); np.copy(a, 'F'); np.astype(a, float); np.add(a, 0);
np.where(a > 0.5, a, 0.0); np.select([a > 0.5], [a]); np.piecewise(a, [a > 0.5], [lambda v: v]);
np.choose(np.zeros(a.shape, int), [a]); np.compress([True], a, 0); np.extract(a > 0.5, a);
np.take(a, [0, 0], 0); np.take_along_axis(a, np.argsort(a, 0), 0); np.concatenate([a]);
np.concatenate([a, a], -1); np.stack([a]); np.stack([a, a], -1); np.hstack([a]); np.vstack([a]);
np.dstack([a]); np.column_stack([a]); np.block(a); np.block([[a, a]]); np.append(a, a, 0);
np.insert(a, 0, 1.0, -1); np.insert(a, [], 1.0, 0); np.delete(a, 0, 0); np.repeat(a, 1, 0);
np.tile(a, 2); np.tile(a, (2, 1)); np.resize(a, a.shape); np.roll(a, 0); np.roll(a, 1, 0);
np.pad(a, 1, mode='edge'); np.fft.fftshift(a); np.fft.ifftshift(a, 0); np.fft.fft(a).real;
np.fft.fft2(a).real; np.fft.ifft(a).real; np.fft.ifft2(a).real; np.fft.ifftn(a[None]).real;
np.fft.rfft(a).real; np.fft.rfft2(a).real; np.fft.rfftn(a).real; np.fft.irfft(a); np.fft.irfft2(a);
np.fft.irfftn(a); np.fft.hfft(a); np.fft.ihfft(a).real; np.sort(a); np.sort(a, 0);
np.partition(a, 0); np.sort_complex(a).real; np.unique(a); np.unique_values(a);
np.unique_counts(a)[0]; np.unique_all(a)[0]; np.unique_inverse(a)[0]; np.union1d(a, a);
np.intersect1d(a, a); np.setxor1d(a, a[0]); np.around(a, 1); np.round(a, 3); np.fix(a * 3.0);
np.nan_to_num(a); np.clip(a, 0.3, 0.8); np.interp(a, [0.0, 1.0], [0.0, 2.0]); np.unwrap(a);
np.angle(a); np.sinc(a); np.i0(a); np.imag(a); np.lib.scimath.sqrt(a); np.lib.scimath.log(a);
np.lib.scimath.log2(a); np.lib.scimath.log10(a); np.lib.scimath.logn(2.0, a);
np.lib.scimath.power(a, 1); np.lib.scimath.arccos(a); np.lib.scimath.arcsin(a);
np.lib.scimath.arctanh(a); np.diff(a); np.ediff1d(a); np.gradient(a)[0]; np.trapezoid(a);
np.cumsum(a, 0); np.cumprod(a, -1); np.nancumsum(a, 0); np.nancumprod(a, -1);
np.cumulative_sum(a, axis=0); np.cumulative_prod(a, axis=-1); np.sum(a, ()); np.sum(a, 0);
np.prod(a, -1); np.min(a, ()); np.max(a, 0); np.min(a, -1); np.amax(a, 0); np.amin(a, 0);
np.ptp(a, 0); np.mean(a, ()); np.mean(a, 0); np.std(a, 0); np.var(a, -1); np.average(a, 0);
np.median(a, 0); np.nansum(a, 0); np.nanprod(a, 0); np.nanmax(a, 0); np.nanmin(a, -1);
np.nanmean(a, 0); np.nanmedian(a, 0); np.nanstd(a, 0); np.nanvar(a, 0);
np.quantile(a, [0.3, 0.6], -1); np.add.reduce(a, ()); np.add.accumulate(a);
np.multiply.outer(a, [1.0, 2.0]); np.matmul(a, np.eye(a.shape[-1])); np.dot(a, np.eye(a.shape[-1]));
np.inner(a, np.eye(a.shape[-1])); np.outer(a[0], a[0]); np.kron(a, np.eye(2));
np.tensordot(a, np.eye(a.shape[-1]), 1); np.tensordot(a, 1.0, 0); np.vecdot(a, a);
np.matvec(a, a[0]); np.vecmat(a[:, 0], a); np.vdot(a, a); np.cross(a[:2, :3], a[1:, :3]);
np.linalg.cross(a[:2, :3], a[1:, :3]); np.linalg.outer(a[0], a[0]);
np.linalg.matmul(a, np.eye(a.shape[-1])); np.linalg.vecdot(a, a);
np.linalg.tensordot(a, np.eye(a.shape[-1]), axes=1); np.linalg.multi_dot([a, np.eye(a.shape[-1])]);
np.einsum('ij,jk->ki', a, np.eye(a.shape[-1])); np.einsum('ij,->ji', a, 1.0);
np.convolve(a[0], [1.0]); np.correlate(a[0], [1.0, 2.0], 'full'); np.cov(a); np.corrcoef(a);
np.linalg.inv(a[:3, :3] + np.eye(3)); np.linalg.pinv(a[:1]);
np.linalg.solve(a[:3, :3] + np.eye(3), a[:3]); np.linalg.qr(a[:3, :3] + np.eye(3))[0];
np.linalg.cholesky(a[:3, :3] @ a[:3, :3].T + np.eye(3)); np.linalg.eigh(a[:2, :2] + a[:2, :2].T)[0];
np.linalg.eigvalsh(a[:2, :2] + a[:2, :2].T); np.linalg.lstsq(a[:3, :3] + np.eye(3), a[:3])[0];
np.linalg.svdvals(a[:2, :2] + np.diag([1.0, 3.0]));
np.linalg.svd(a[:2, :2] + np.diag([1.0, 3.0]))[1]; np.linalg.matrix_power(a[:3, :3], 0);
np.linalg.tensorinv(a[:3, :3] + np.eye(3), 1);
np.linalg.tensorsolve(a[:3, :3] + np.eye(3), a[:3, 0]); np.linalg.norm(a, axis=0);
np.linalg.vector_norm(a, axis=-1); np.linalg.matrix_norm(a[None]); np.linalg.trace(a[None]);
np.linalg.det(a[None, :3, :3]); np.linalg.slogdet(a[None, :3, :3] + np.eye(3))[1];
np.linalg.eigvals(a[None, :1, :1]); np.linalg.eig(a[:1, :1])[0].real; np.trace(a[:, :, None]);
np.tril(a); np.triu(a, 1); np.diagflat(a); np.diag(a[0]); np.vander(a[0], 3); np.poly(a[0]);
np.polyadd(a[0], a[0]); np.polysub(a[0], a[1]); np.polymul(a[0], [1.0]);
np.polydiv(a[0], [1.0, 2.0])[0]; np.polyval([1.0, 0.0], a); np.polyfit([0.0, 1.0, 2.0], a[:3], 1);
np.polynomial.polynomial.polyval2d(a[0], a[0], np.eye(2));
np.polynomial.polynomial.polygrid2d(a[0], a[0], np.eye(2)); np.linspace(a[0], a[1], 3);
np.geomspace(a[0], a[1], 3); np.logspace(a[0], a[1], 3); np.full(a.shape, a);
np.full(a.shape, t, order='F'); np.full_like(a, t); np.zeros_like(a); np.ones_like(a);
np.full_like(a, t, None, 'F'); np.zeros_like(a, order='F'); np.ones_like(a, order='C');
filled(np.empty_like(a, order='A')); np.add(a, 1.0, order='F'); np.exp(a, order='C');
np.einsum('...,...->...', a, a, order='F');
np.zeros(a.shape); np.ones(a.shape, order='F'); np.eye(3); np.identity(3); filled(np.empty_like(a));
filled(np.empty(a.shape)); np.arange(4.0); np.tri(3); np.fromiter(a.flat, float);
np.fromfunction(lambda p: a[0] * p, (a.shape[-1],)); np.meshgrid(a[0], a[:, 0])[0];
np.apply_along_axis(lambda v: v, 0, a); np.apply_along_axis(double, 0, a);
np.apply_over_axes(np.sum, a, [0]); np.histogram(a[0], 3, weights=a[0])[0];
np.bincount([0, 1, 1, 2][:a.shape[-1]], a[0]); np.multiply(a, 2.0, out=B); np.vectorize(abs)(a);
np.array(a.tolist()); np.setdiff1d(a, [2.0]); np.append(a[:0], a); np.concat([a, a], -1);
np.row_stack([a]); np.percentile(a, 30, -1); np.nanpercentile(a, 30, 0); np.nanquantile(a, 0.3, 0);
np.reshape(a, -1, copy=True); t[...]; np.asarray(t); np.asanyarray(t); np.asarray(float(C[0, 0]));
np.array(t, copy=None); np.atleast_1d(t); np.atleast_2d(t, a)[0]; np.ravel(t); np.reshape(t, 1);
np.expand_dims(t, 0); np.squeeze(t); np.require(t); np.ascontiguousarray(t); t[None]; t.reshape(1);
t.ravel(); np.transpose(t); np.asarray(a[0, 0]); a[0, 0][...]; a[0][0][None];
np.atleast_1d(a[0, 0]);
np.sum(a)[...]; np.asarray(np.sum(a)); np.asarray(a.max()); np.asarray(a[0] @ a[0]);
np.broadcast_arrays(t, t)[0]; np.broadcast_arrays(a, t)[1]; np.meshgrid(t, copy=False)[0];
np.concatenate([a, a[::-1]]); np.stack([a, a[::-1]], 1); np.vstack([a, a[:1]]); np.hstack([a, a]);
np.dstack([a, a[::-1]]); np.where(a > 0.5, a, a[::-1]); np.add(a, a[::-1]); np.matmul(a, a.T);
np.vstack([a[np.argmax(x[:, 1])]]); np.vstack([a[np.argmin(x[:, 1])], a[0]]);
np.hstack([a[np.argmin(x[:, 1])]]); np.dstack([a[np.argmin(x[:, 1])], a[0]]);
np.column_stack([a[np.argmin(x[:, 1])]]); np.stack([a[np.argmin(x[:, 1])]]);
np.concatenate([a[np.argmin(x[:, 1])], a[0]]); np.block([a[np.argmin(x[:, 1])]]);
np.append(a[np.argmin(x[:, 1])], a[0]); np.row_stack([a[np.argmin(x[:, 1])]])
"""


def ufuncs() -> list[str]:
    """Calls of all ufuncs of one or two operands that give floats."""
    found: dict[np.ufunc, str] = {}
    for name, func in sorted(vars(np).items()):
        if not isinstance(func, np.ufunc) or func in found or func.signature or func.nin > 2:
            continue
        if any(re.fullmatch("d" * func.nin + "->d+", types) for types in func.types):
            found[func] = f"np.{name}(a{', 0.5' * (func.nin - 1)}){'[0]' * (func.nout > 1)}"
    return list(found.values())


def texts(group: str) -> list[str]:
    return [text.strip() for text in re.split(r";\s", group)]


GROUPS = {"view": texts(VIEW), "either": texts(EITHER), "copy": texts(COPY), "ufunc": ufuncs()}

NEVER = {
    "truth values, and whole numbers": """
        all allclose any array_equal array_equiv can_cast char.* is_busday isclose iscomplex
        iscomplexobj isdtype isfinite isfortran isin isinf isnan isnat isneginf isposinf isreal
        isrealobj isscalar issubdtype iterable logical_* may_share_memory shares_memory equal
        greater greater_equal less less_equal not_equal signbit .all .any .__bool__ .__contains__
        .__eq__ .__ge__ .__gt__ .__le__ .__lt__ .__ne__ argmin argpartition argwhere bitwise_*
        busday_count count_nonzero diag_indices diag_indices_from digitize flatnonzero gcd indices
        invert lcm left_shift lexsort linalg.matrix_rank mask_indices nanargmax nanargmin ndim
        nonzero packbits ravel_multi_index right_shift searchsorted size tril_indices
        tril_indices_from triu_indices triu_indices_from unpackbits unravel_index .argmax .argmin
        .argpartition .argsort .itemsize .nbytes .ndim .nonzero .searchsorted .size .strides
        .__index__ .__int__ .__len__ .__sizeof__ ldexp frexp""",
    "operators of whole numbers, and those that others stand for": """
        .__and__ .__iand__ .__or__ .__ior__ .__xor__ .__ixor__ .__invert__ .__lshift__ .__ilshift__
        .__rshift__ .__irshift__ .__rand__ .__ror__ .__rxor__ .__rlshift__ .__rrshift__ .choose
        .__abs__ .__add__ .__divmod__ .__floordiv__ .__matmul__ .__mod__ .__mul__ .__neg__ .__pos__
        .__pow__ .__radd__ .__rdivmod__ .__rfloordiv__ .__rmatmul__ .__rmod__ .__rmul__ .__rpow__
        .__rsub__ .__rtruediv__ .__sub__ .__truediv__ .__iter__ .__deepcopy__ .__getitem__
        .__ifloordiv__ .__imatmul__ .__imod__ .__imul__ .__ipow__ .__isub__ .__itruediv__""",
    "nothing: they write": """
        copyto fill_diagonal place put put_along_axis putmask .fill .partition .put .resize
        .setfield .setflags .sort .__delattr__ .__delitem__ .__setattr__ .__setitem__
        .__setstate__""",
    "single numbers, complex roots, and counts": """
        .item .trace .__complex__ .__float__ linalg.cond roots histogram2d histogramdd
        histogram_bin_edges bartlett blackman hamming hanning kaiser fft.fftfreq fft.rfftfreq""",
    "types, shapes, and what Python asks a class for": """
        broadcast broadcast_shapes common_type dtype finfo iinfo min_scalar_type mintypecode
        promote_types result_type shape typename .dtype .device .flags .__class__
        .__class_getitem__ .__doc__ .__dir__ .__hash__ .__init__ .__init_subclass__ .__new__
        .__subclasshook__ .__array_finalize__ .__array_priority__ .__getattribute__
        .__dlpack_device__ .__array_namespace__ .__array_function__ .__array_ufunc__
        .__array_wrap__ frompyfunc ufunc""",
    "texts, files and settings": """
        array2string array_repr array_str base_repr binary_repr datetime_* einsum_path
        format_float_* fromfile fromregex fromstring genfromtxt get_include info load loadtxt
        memmap save savetxt savez savez_compressed show_config show_runtime strings.* .dump .dumps
        .tobytes .tofile .__format__ .__repr__ .__str__ .__getstate__ .__reduce__ .__reduce_ex__
        errstate get_printoptions getbufsize geterr geterrcall printoptions set_printoptions
        setbufsize seterr seterrcall fft.test linalg.test test""",
    "the memory itself, as those that are called, or classes of other arrays": """
        .ctypes .__array_interface__ .__array_struct__ .__dlpack__ nested_iters flatiter
        ndenumerate ndindex recarray busdaycalendar busday_offset linalg.LinAlgError
        lib.recfunctions.* bmat asmatrix matrix""",
}
"""Reasons, with names; that of an attribute of arrays has a point in front, * is any text."""
