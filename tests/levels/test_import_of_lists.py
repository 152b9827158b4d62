"""Lists of tensors in all of NumPy's functions: the change that the message asks for is right."""

import numpy as np

import functier as ft
from levels.test_import_lines import CHANGE, X, follow, load

NAMES = [
    name
    for name in sorted(vars(np))
    if isinstance(getattr(np, name), type(np.sum)) and name not in ("empty_like", "cond")
]
FORMS = "np.{}([x, 1.0])", "np.{}([[x, 1.0], [0.5, x]])"


def test_lists_in_all_functions(tmp_path):
    """Every function of NumPy that takes a list: the import is changed, and the result is right."""
    right = 0
    for body in [form.format(name) for name in NAMES for form in FORMS]:
        path = tmp_path / f"model{right}.py"
        program = load(path, f"import numpy as np\ndef program(x):\n    return {body}\n")
        try:
            wanted = [np.asarray(program(x)) for x in X]
            ft.vmap(program)(X)
        except ft.LevelError as error:
            text = str(error)
        except Exception:  # NumPy's
            continue
        else:
            continue
        if not CHANGE.search(text):
            continue
        changed = load(path, follow(text, path))
        try:
            result = ft.vmap(changed)(X)
        except ft.DataDependentError:
            continue  # which the message could not know
        if isinstance(result, (tuple, list)):
            result = np.stack([np.asarray(r) for r in result], 1)
        np.testing.assert_allclose(result, np.stack(wanted), rtol=1e-12, err_msg=body)
        right += 1
    assert right > 100
