"""Decompositions of tensors: tensorly."""

import numpy as np
import tensorly
from tensorly.decomposition import tensor_train, tucker
from tensorly.tenalg import khatri_rao, multi_mode_dot

from .call import call

DATA = tuple(float(v) for v in np.round(np.sin(np.arange(12.0) ** 2) + 0.3 * np.arange(12), 2))


@call(0.3, 0.8, 1.2, 0.5, 0.1, 0.9)
def composed(x):
    factors = [x[:4].reshape(2, 2), np.eye(3, 2) + x[4], np.ones((2, 2)) * x[5]]
    return tensorly.cp_to_tensor((np.array([1.0, 2.0]), factors))


@call(0.3, 0.8, 1.2, 0.5)
def products(x):
    return khatri_rao([x.reshape(2, 2), np.arange(6.0).reshape(3, 2), x.reshape(2, 2) ** 2])


@call(*DATA)
def modes(x):
    matrices = [np.arange(4.0).reshape(2, 2), np.ones((2, 3)), np.eye(2)]
    return tensorly.unfold(multi_mode_dot(x.reshape(2, 3, 2), matrices), 1)


@call(*DATA, rtol=1e-4)
def train(x):
    return tensor_train(x.reshape(2, 3, 2), rank=[1, 1, 1, 1]).to_tensor()


@call(*DATA, rtol=1e-4)
def core(x):
    found = tucker(x.reshape(2, 3, 2), rank=[1, 1, 1], n_iter_max=5, tol=0.0)
    return tensorly.tucker_to_tensor(found)
