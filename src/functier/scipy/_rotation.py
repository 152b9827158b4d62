"""Twins of `Rotation` and `Slerp` of `scipy.spatial.transform`.

NOTE [SciPy's rotation inside]
    A rotation of plain numbers holds SciPy's, which answers wherever no tensor takes part. One of
    tensors holds their unit quaternions. So a rotation that was made outside a transform takes
    tensors inside.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import transform  # type: ignore[import-untyped]

from .. import numpy as fnp
from .._core.errors import UnsupportedError
from .._core.root import classes_in
from .._rules.constructors import check_values
from .._rules.indexing import read_at
from . import _quaternions as quaternions

PLAIN = transform.Rotation
BENT = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
NEAREST: Any = quaternions.from_matrix(quaternions.nearest_rotation(BENT))
ORTHOGONALIZES = np.allclose(PLAIN.from_matrix(BENT).as_quat(), NEAREST)
"""Tells if this SciPy makes a matrix orthogonal."""
ORDERS = {"e": True, "extrinsic": True, "i": False, "intrinsic": False}


def has_tensor(*values: Any) -> bool:
    return bool(classes_in(*values))


class RotationMeta(type):
    """The class of `Rotation`, of which SciPy's rotations are instances, too."""

    def __instancecheck__(cls, x: Any) -> bool:
        return super().__instancecheck__(x) or isinstance(x, PLAIN)


def _buffer(x: Any) -> Any:
    """Return a copy of an array that may not be written to, which SciPy's compiled code refuses."""
    return x.copy() if isinstance(x, np.ndarray) and not x.flags.writeable else x


def _floats(x: Any) -> Any:
    x = fnp.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("Rotation: numbers must be real; write x.real")
    return x if x.dtype == float else np.astype(x, float)


class Rotation(metaclass=RotationMeta):
    __doc__ = PLAIN.__doc__
    _plain: Any
    _own: Any

    def __init__(
        self, quat: Any, normalize: bool = True, copy: bool = True, scalar_first: bool = False
    ):
        made = Rotation.from_quat(quat, scalar_first=scalar_first)
        self._plain, self._own = made._plain, made._own

    # ---- making ----

    @staticmethod
    def _of(quat: Any) -> "Rotation":
        made = Rotation.__new__(Rotation)
        made._plain, made._own = None, quat
        return made if has_tensor(quat) else Rotation._around(PLAIN.from_quat(quat))

    @staticmethod
    def _around(plain: Any) -> "Rotation":
        made = Rotation.__new__(Rotation)
        made._plain, made._own = plain, None
        return made

    @staticmethod
    def from_quat(quat: Any, *, scalar_first: bool = False) -> "Rotation":
        """Return the rotation of quaternions, of any length but 0."""
        if not has_tensor(quat):
            return Rotation._around(PLAIN.from_quat(_buffer(quat), scalar_first=scalar_first))
        quat = _floats(quat)
        if np.shape(quat)[-1:] != (4,):
            raise ValueError(f"Expected `quat` to have shape (..., 4), got {np.shape(quat)}.")
        quat = np.roll(quat, -1, axis=-1) if scalar_first else quat
        return Rotation._of(quaternions.normalized(quat))

    @staticmethod
    def from_matrix(matrix: Any, **options: Any) -> "Rotation":
        """Return the rotation of matrices, which are made orthogonal."""
        if not has_tensor(matrix):
            return Rotation._around(PLAIN.from_matrix(_buffer(matrix), **options))
        matrix = _floats(matrix)
        if np.shape(matrix)[-2:] != (3, 3):
            form = np.shape(matrix)
            raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {form}.")
        if ORTHOGONALIZES and not options.get("assume_valid"):
            matrix = quaternions.nearest_rotation(matrix)
        return Rotation._of(quaternions.from_matrix(matrix))

    @staticmethod
    def from_rotvec(rotvec: Any, degrees: bool = False) -> "Rotation":
        """Return the rotation by vectors: the axis times the angle."""
        if not has_tensor(rotvec):
            return Rotation._around(PLAIN.from_rotvec(_buffer(rotvec), degrees))
        rotvec = _vectors(rotvec, "rot_vec")
        rotvec = np.deg2rad(rotvec) if degrees else rotvec
        return Rotation._of(quaternions.from_rotvec(rotvec))

    @staticmethod
    def from_mrp(mrp: Any) -> "Rotation":
        """Return the rotation of modified Rodrigues parameters."""
        if not has_tensor(mrp):
            return Rotation._around(PLAIN.from_mrp(_buffer(mrp)))
        return Rotation._of(quaternions.from_mrp(_vectors(mrp, "mrp")))

    @staticmethod
    def from_euler(seq: str, angles: Any, degrees: bool = False) -> "Rotation":
        """Return the rotation by angles about the axes of a sequence."""
        if not has_tensor(angles):
            return Rotation._around(PLAIN.from_euler(seq, _buffer(angles), degrees))
        axes, intrinsic = quaternions.axes_of(seq)
        angles = _floats(angles)
        like = PLAIN.from_euler(seq, np.zeros(np.shape(angles)))  # SciPy's errors, and its form
        form = like.as_quat().shape[:-1]
        angles = np.reshape(angles, (*form, len(axes)))
        return Rotation._by(angles, np.eye(3)[axes], intrinsic, degrees, not form)

    @staticmethod
    def from_davenport(axes: Any, order: str, angles: Any, degrees: bool = False) -> "Rotation":
        """Return the rotation by angles about orthogonal axes."""
        if not has_tensor(axes, angles):
            return Rotation._around(PLAIN.from_davenport(axes, order, angles, degrees))
        raise _unsupported(
            "from_davenport", "it", "multiply Rotation.from_rotvec(angle * axis) of the axes"
        )

    @staticmethod
    def _by(angles: Any, axes: Any, intrinsic: bool, degrees: bool, single: bool) -> "Rotation":
        if np.shape(angles)[-1] != np.shape(axes)[-2]:
            raise ValueError(
                f"Expected `angles` to match number of axes, got {np.shape(angles)} angles and "
                f"{np.shape(axes)} axes."
            )
        angles = np.deg2rad(angles) if degrees else angles
        vectors = [angles[..., i, None] * axes[..., i, :] for i in range(np.shape(axes)[-2])]
        quat = quaternions.composed(vectors, intrinsic)
        return Rotation._of(np.reshape(quat, (4,)) if single else quat)

    @staticmethod
    def identity(*args: Any, **options: Any) -> "Rotation":
        """Return rotations that leave all as it is."""
        return Rotation._around(PLAIN.identity(*args, **options))

    @staticmethod
    def random(*args: Any, **options: Any) -> "Rotation":
        """Return uniformly distributed rotations."""
        return Rotation._around(PLAIN.random(*args, **options))

    @classmethod
    def create_group(cls, *args: Any, **options: Any) -> "Rotation":
        """Return the rotations of a group."""
        return Rotation._around(PLAIN.create_group(*args, **options))

    @staticmethod
    def concatenate(rotations: Any) -> "Rotation":
        """Return several rotations as one object."""
        if isinstance(rotations, Rotation):
            rotations = [rotations]
        rotations = [_twin(r) for r in rotations]
        if all(r._own is None for r in rotations):
            return Rotation._around(PLAIN.concatenate([r._plain for r in rotations]))
        return Rotation._of(np.concatenate([np.atleast_2d(r._quat) for r in rotations]))

    # ---- forms ----

    @property
    def _quat(self) -> Any:
        return self._plain.as_quat() if self._own is None else self._own

    def _answers(self, *values: Any) -> bool:
        """Return whether SciPy's rotation answers."""
        return self._own is None and not has_tensor(*values)

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Any:
        """Return unit quaternions."""
        if self._answers():
            return self._plain.as_quat(canonical, scalar_first=scalar_first)
        quat = quaternions.canonical(self._own) if canonical else self._own
        return np.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Any:
        """Return rotation matrices."""
        return self._plain.as_matrix() if self._answers() else quaternions.to_matrix(self._own)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return rotation vectors."""
        if self._answers():
            return self._plain.as_rotvec(degrees)
        found = quaternions.to_rotvec(self._own)
        return np.rad2deg(found) if degrees else found

    def as_mrp(self) -> Any:
        """Return modified Rodrigues parameters."""
        return self._plain.as_mrp() if self._answers() else quaternions.to_mrp(self._own)

    def as_euler(self, seq: str, degrees: bool = False, **options: Any) -> Any:
        """Return the angles about the axes of a sequence."""
        if self._answers():
            return self._plain.as_euler(seq, degrees, **options)
        quiet = options.get("suppress_warnings", False)
        found = quaternions.to_euler(self._own, seq, quiet)
        return np.rad2deg(found) if degrees else found

    def as_davenport(self, axes: Any, order: str, degrees: bool = False, **options: Any) -> Any:
        """Return the angles about three axes, of which neighbours are orthogonal."""
        if self._answers(axes):
            return self._plain.as_davenport(axes, order, degrees, **options)
        raise _unsupported("as_davenport", "it", "write as_euler, of the rotation to the axes")

    # ---- computing ----

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return rotated vectors."""
        if self._answers(vectors):
            return self._plain.apply(_buffer(vectors), inverse)
        matrix, vectors = quaternions.to_matrix(self._quat), _vectors(vectors, "vectors")
        matrix = np.swapaxes(matrix, -1, -2) if inverse else matrix
        return np.sum(matrix * vectors[..., None, :], axis=-1)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Rotation):
            return NotImplemented
        other = _twin(other)
        if self._answers() and other._answers():
            return Rotation._around(self._plain * other._plain)
        return Rotation._of(quaternions.normalized(quaternions.compose(self._quat, other._quat)))

    def __rmul__(self, other: Any) -> Any:
        return _twin(other) * self if isinstance(other, Rotation) else NotImplemented

    def __pow__(self, n: Any, modulus: None = None) -> "Rotation":
        if modulus is not None:
            raise NotImplementedError("modulus not supported")
        if self._answers(n):
            return Rotation._around(self._plain**n)
        n = np.reshape(_floats(n), ()) if np.ndim(n) else _floats(n)
        if has_tensor(n) or n not in (1, -1):
            return Rotation._of(quaternions.from_rotvec(n * quaternions.to_rotvec(self._quat)))
        return self if n == 1 else self.inv()

    def inv(self) -> "Rotation":
        """Return the inverse rotations."""
        if self._answers():
            return Rotation._around(self._plain.inv())
        return Rotation._of(quaternions.inverse(self._own))

    def magnitude(self) -> Any:
        """Return the angles of the rotations."""
        return self._plain.magnitude() if self._answers() else quaternions.angle(self._own)

    def approx_equal(self, other: Any, atol: Any = None, degrees: bool = False) -> Any:
        """Return whether the angle to another rotation is small."""
        other = _twin(other)
        if self._answers() and other._answers(atol):
            return self._plain.approx_equal(other._plain, atol, degrees)
        atol = 1e-8 if atol is None else np.deg2rad(atol) if degrees else atol
        return (other * self.inv()).magnitude() < atol

    def mean(self, weights: Any = None, axis: Any = None) -> "Rotation":
        """Return the rotation with the least sum of squared distances."""
        if self._answers(weights):
            more = () if axis is None else (axis,)
            return Rotation._around(self._plain.mean(weights, *more))
        if axis is not None:
            raise _unsupported("mean", "axis=", "reshape the quaternions to (n, 4)")
        quat = np.reshape(self._quat, (-1, 4))
        if not np.shape(quat)[0]:
            raise ValueError("Mean of an empty rotation set is undefined.")
        weights = np.ones(np.shape(quat)[0]) if weights is None else _floats(weights)
        check_values(weights < 0, quaternions.is_nowhere, "`weights` must be non-negative.")
        weights = np.reshape(weights, (-1, 1, 1))
        products = np.sum(weights * quat[:, :, None] * quat[:, None, :], axis=0)
        return Rotation._of(quaternions.leading_vector(products))

    def reduce(self, *args: Any, **options: Any) -> Any:
        """Return the nearest rotations of groups."""
        if not self._answers():
            raise _unsupported("reduce", "it", "choose the rotation by its index, and multiply")
        args = tuple(r._plain if type(r) is Rotation else r for r in args)
        found = self._plain.reduce(*args, **options)
        several = isinstance(found, tuple)
        return (Rotation._around(found[0]), *found[1:]) if several else Rotation._around(found)

    @staticmethod
    def align_vectors(
        a: Any, b: Any, weights: Any = None, return_sensitivity: bool = False
    ) -> tuple:
        """Return the rotation that brings the vectors `b` nearest to `a`, and the distance."""
        if not has_tensor(a, b, weights):
            found = PLAIN.align_vectors(a, b, weights, return_sensitivity)
            return (Rotation._around(found[0]), *found[1:])
        a, b = _vectors(a, "a"), _vectors(b, "b")
        if np.shape(a) != np.shape(b):
            raise ValueError(
                f"Expected inputs `a` and `b` to have same shapes, got {np.shape(a)} and "
                f"{np.shape(b)} respectively."
            )
        if np.ndim(a) != 2 or np.shape(a)[0] < 2 or return_sensitivity:
            raise _unsupported(
                "align_vectors", "a single vector, or return_sensitivity=True,",
                "give two vectors or more, of which (0, 0, 0) may be one",
            )  # fmt: skip
        weights = np.ones(np.shape(a)[0]) if weights is None else _floats(weights)
        wrong = ~((weights >= 0) & (weights < np.inf))
        message = "Rotation.align_vectors: weights of tensors must be finite, and not negative"
        check_values(wrong, quaternions.is_nowhere, message)
        found = Rotation._of(quaternions.aligning(a, b, weights))
        rest = a - found.apply(b)
        return found, np.sqrt(np.sum(weights[:, None] * rest * rest))

    # ---- sequences ----

    @property
    def single(self) -> bool:
        return np.ndim(self._quat) == 1

    @property
    def shape(self) -> tuple:
        return np.shape(self._quat)[:-1]

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return np.shape(self._quat)[0]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> "Rotation":
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        if self._answers(index):
            return Rotation._around(self._plain[index])
        return Rotation._of(read_at(self._quat, index) if has_tensor(index) else self._quat[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        value = _twin(value)
        if not self._answers() or not value._answers(index):
            raise _unsupported("__setitem__", "it", "write Rotation.concatenate([...])")
        self._plain[index] = value._plain

    def __iter__(self) -> Iterator["Rotation"]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return repr(self._plain) if self._own is None else f"Rotation({self._own!r})"


def _vectors(x: Any, name: str) -> Any:
    x = _floats(x)
    if np.shape(x)[-1:] != (3,):
        raise ValueError(f"Expected `{name}` to have shape (..., 3), got {np.shape(x)}")
    return x


def _twin(rotation: Any) -> Rotation:
    return rotation if type(rotation) is Rotation else Rotation._around(rotation)


def _unsupported(name: str, what: str, remedy: str) -> UnsupportedError:
    return UnsupportedError(
        f"scipy.spatial.transform.Rotation.{name}: {what} is not supported for tensors; {remedy}"
    )


class Slerp:
    __doc__ = transform.Slerp.__doc__

    def __init__(self, times: Any, rotations: Any):
        if not isinstance(rotations, Rotation):
            raise TypeError("`rotations` must be a `Rotation` instance.")
        rotations = _twin(rotations)
        if rotations.single or len(rotations) <= 1:
            raise ValueError("`rotations` must be a sequence of at least 2 rotations.")
        times = _floats(times)
        if np.shape(times) != (len(rotations),):
            raise ValueError(
                "Expected number of rotations to be equal to number of timestamps given, got "
                f"{len(rotations)} rotations and {np.size(times)} timestamps."
            )
        self.timedelta = times[1:] - times[:-1]
        message = "Times must be in strictly increasing order."
        check_values(self.timedelta <= 0, quaternions.is_nowhere, message)
        self.times, self.rotations = times, rotations[:-1]
        self.rotvecs = (self.rotations.inv() * rotations[1:]).as_rotvec()

    def __call__(self, times: Any) -> Rotation:
        times = _floats(times)
        if np.ndim(times) > 1:
            raise ValueError("`times` must be at most 1-dimensional.")
        first, last = self.times[0], self.times[-1]
        beyond = (times < first) | (times > last)
        message = "Interpolation times must be within the range of `times`, both inclusive."
        check_values(beyond, quaternions.is_nowhere, message)
        i = np.clip(np.searchsorted(self.times, times) - 1, 0, len(self.rotations) - 1)
        part = (times - read_at(self.times, i)) / read_at(self.timedelta, i)
        moved = Rotation.from_rotvec(read_at(self.rotvecs, i) * part[..., None])
        return Rotation._of(read_at(self.rotations._quat, i)) * moved


TWINS: list[tuple[Any, Any]] = [(PLAIN, Rotation), (transform.Slerp, Slerp)]
"""Pairs of an object of SciPy and its twin."""
