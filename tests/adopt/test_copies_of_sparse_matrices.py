"""Plain sparse matrices of adopted code: copies of them take tensors inside a transform."""

import adopt_support as support
import numpy as np
import pytest

import functier as ft
from support.basics import close, has_all

HEAD = """
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_matrix, csr_array
from scipy.sparse.linalg import spsolve
BASE = csr_matrix(np.array([[2.0, 0.5], [0.0, 3.0]]))
ARRAY = csr_array(BASE)
V = np.array([1.0, 2.0])
def f(x):
"""

BODIES = {
    "data at places": "A = BASE.copy(); A.data[[0, 1]] = x * V; return A @ V",
    "data as a whole": "A = BASE.copy(); A.data = x * np.ones(3); return A @ V",
    "data in place": "A = BASE.copy(); A.data *= x; return A @ V",
    "an element": "A = BASE.copy(); A[0, 1] = x; return A @ V",
    "a new element": "A = ARRAY.tolil(); A[1, 0] = x; return A.tocsr() @ V",
    "a dict of keys": "A = BASE.todok(); A[1, 0] = x; return A.tocsr() @ V",
    "a diagonal": "A = ARRAY.copy(); A.setdiag(x * V); return A @ V",
    "another dtype": "A = BASE.astype(complex); A[0, 0] = x; return (A @ V).real",
    "a solution": "A = BASE.T.copy(); A[1, 1] = x; return spsolve(A.tocsc(), V)",
    "a plain copy": "A = BASE.copy(); A[0, 0] = 5.0; return A.dot(x * V) + BASE.dot(V)",
    "questions": """
    A, B = BASE.copy(), ARRAY.copy()
    assert isinstance(A, csr_matrix) and isinstance(B, sp.csr_array) and sp.issparse(A)
    assert not isinstance(A, sp.csr_array) and not isinstance(B, csr_matrix)
    assert sp.isspmatrix_csr(A) and not sp.isspmatrix(B)
    return A @ V * x
""",
    "zeros": """
    A = BASE.copy()
    A.data[0] = 0.0
    A.eliminate_zeros()
    return x * np.array([A.nnz, (A - BASE).nnz, (BASE + A).nnz])
""",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_copy_of_a_plain_matrix_takes_tensors(name, tmp_path):
    module = support.module_of(tmp_path, f"{HEAD}    {BODIES[name].strip()}\n")
    f, before = module.f, module.BASE.toarray()
    kind = module.csr_matrix
    assert isinstance(module.BASE, kind)  # which abstract classes remember
    wanted, slope = f(0.7), (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    with ft.adopt(module):
        for _ in range(2):
            close(ft.jacrev(f)(0.7), slope, 1e-8)
            close(ft.jvp(f, (0.7,), (1.0,)), (wanted, slope), 1e-8)
            close(ft.vmap(f)(np.array([0.7, 0.9])), np.stack([wanted, f(0.9)]), 1e-12)
        assert type(f(0.7)) is np.ndarray
        assert type(module.BASE) is kind
    assert module.BASE.toarray().tolist() == before.tolist()


def test_a_matrix_that_others_have_takes_none_and_the_remedy_is_right(tmp_path):
    module = support.module_of(tmp_path, HEAD + "    A = BASE; A[0, 0] = x; return A @ V\n")
    with ft.adopt(module), pytest.raises(ft.MutationError) as raised:
        ft.jacrev(module.f)(0.7)
    remedy = "A = functier.numpy.array(A.toarray())"
    has_all(str(raised.value), remedy)
    assert module.BASE[0, 0] == 2.0

    body = f"    A = BASE; {remedy}; A[0, 0] = x; return A @ V\n"
    module = support.module_of(tmp_path, f"import functier.numpy\n{HEAD}{body}")
    with ft.adopt(module):
        close(ft.jacrev(module.f)(0.7), np.array([1.0, 0.0]))
