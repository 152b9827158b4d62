"""The kernel alone: its quick tests, in a copy of the package without the outer rooms.

``python tests/support/alone.py`` makes the copy and runs them there. A test that asks for an outer
room itself is skipped. If the kernel asks for one, that is an error of the test.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTER = "_adopt", "_dask", "_export", "_programs", "nn", "numpy", "optim", "scipy"
"""The rooms that are no part of the kernel. `testing` stays: tests take their checks from it."""

FOLDERS = (
    "core", "levels", "mutation", "transforms", "tracing", "control", "custom", "random", "modes",
    "overrides", "chunks", "debug", "rules", "sparse_jacobians", "taylor", "cpython",
)  # fmt: skip
"""The folders with tests of the kernel."""


THROUGH = {
    "test_the_namespace_of_the_array_api_is_numpy": "numpy",
    "test_the_functions_are_found[its namespace": "numpy",
    "test_the_order_of_operands_does_not_matter[": "numpy, which xarray asks for",
    "test_a_program_with_a_package[xarray]": "numpy, which xarray asks for",
    "test_a_dask_array": "_dask",
    "test_arrays_of_a_library_that_computes_later": "_dask",
    "test_a_program_takes_the_path_of_the_plain_call[a ": "scipy: operators of sparse matrices",
    "test_a_program_takes_the_path_of_the_plain_call[scipy": "scipy",
    "test_scipy_is_imported_when_it_is_asked_for": "scipy",
    "test_compiled_functions_are_named": "scipy: a message names its twin",
    "test_importing_changes_nothing_in_numpy": "all of them, in another process",
    "test_statements_that_import": "all of them, in another process",
    "test_these_are_the_public_modules": "all of them, by their files",
    "test_a_level_changes_its_class_in_one_place": "all of them, by their files",
    "test_a_message_that_is_followed_literally_gives": "nn and testing: what a message names",
    "test_the_last_line_is_the_users[": "_programs, where any error of a row is expected",
    "test_an_error_keeps_no_array_of_functier_and": "_programs, likewise",
}
"""The tests that meet an outer room through the kernel, by the beginnings of their names."""


class Absent(MetaPathFinder):
    """A finder that skips a test which imports an outer room; see the first lines of this file."""

    def __init__(self, package: Path):
        self.package = str(package)

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "functier" and name.split(".")[1] in OUTER:
            frame, file = sys._getframe(1), "<frozen importlib>"
            while frame and ("importlib" in file or file.endswith(("alone.py", "__init__.py"))):
                file, frame = frame.f_code.co_filename, frame.f_back
            if not file.startswith(self.package):
                pytest.skip(f"a test of {name}", allow_module_level=True)
        return None


def pytest_configure():
    sys.meta_path.insert(0, Absent(Path.cwd() / "src" / "functier"))


def pytest_collection_modifyitems(config, items):
    elsewhere = [item for item in items if item.name.startswith((*THROUGH,))]
    config.hook.pytest_deselected(items=elsewhere)
    items[:] = [item for item in items if item not in elsewhere]


def run(*arguments: str, added: str = "") -> subprocess.CompletedProcess:
    """Run the quick tests of the kernel in a copy; return what has been printed.

    `added` is a line that the table of rooms has more: a planted fault.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, Path(folder, name))
        for name in ("design", "examples", "pyproject.toml", "README.md"):
            Path(folder, name).symlink_to(ROOT / name)
        for name in OUTER:
            shutil.rmtree(Path(folder, "src", "functier", name))
        table = Path(folder, "src", "functier", "_rooms.py")
        text, count = re.subn("^SCIPY = .*", "SCIPY = ()", table.read_text(), flags=re.M)
        assert count == 1, "the table of rooms has other lines for SciPy's declarations"
        table.write_text(f"{text}{added}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "support.alone", *arguments]
        paths = [f"tests/{name}" for name in FOLDERS]
        environment = {"PYTHONPATH": f"{folder}/src:{folder}/tests", "HOME": folder}
        return subprocess.run(
            [*command, *paths],
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


if __name__ == "__main__":
    done = run(*sys.argv[1:])
    print(done.stdout)
    sys.exit(done.returncode)
