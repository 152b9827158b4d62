"""The package: what is in the archives, and that the wheel works with NumPy and optree alone."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import functier

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = [
    ROOT / "design" / "site" / "pages" / "start" / f"first-{n}.md" for n in ("gradient", "batch")
]
NEEDED = ("numpy", "optree", "typing_extensions")


def test_the_version_is_the_first_of_the_changelog():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", changes, re.MULTILINE)

    assert functier.__version__ == PROJECT["version"] == versions[0]


def test_the_links_of_the_package_lead_to_files():
    home = PROJECT["urls"]["Homepage"]

    assert all(url.startswith(home) for url in PROJECT["urls"].values())
    paths = [url.partition("/blob/main/")[2] for url in PROJECT["urls"].values()]
    assert all((ROOT / path).exists() for path in paths)


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The source archive, and the wheel that is built from it."""
    sdist = pytest.importorskip("hatchling.builders.sdist").SdistBuilder
    wheel = pytest.importorskip("hatchling.builders.wheel").WheelBuilder
    folder = tmp_path_factory.mktemp("archives")
    (source,) = sdist(str(ROOT)).build(directory=str(folder), versions=["standard"])
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    unpacked = folder / Path(source).name.removesuffix(".tar.gz")
    (built,) = wheel(str(unpacked)).build(directory=str(folder), versions=["standard"])
    return Path(source), Path(built)


@pytest.mark.slow
def test_the_archives_have_what_they_should_and_nothing_else(archives):
    source, wheel = archives
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    package = {
        p.relative_to(ROOT / "src").as_posix()
        for p in (ROOT / "src" / "functier").rglob("*")
        if p.is_file() and p.suffix != ".pyc"
    }
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    kept = {
        name for name in tracked.splitlines() if not name.startswith((".ci", ".github", ".pre"))
    }

    assert names == kept | {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as archive:
        rest = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = archive.read(f"functier-{functier.__version__}.dist-info/METADATA").decode()
    assert rest == package and "functier/py.typed" in rest
    assert "Classifier: Programming Language :: Python :: 3.14" in metadata
    assert not re.search(r"\]\((?!https://)", metadata.partition("\n\n")[2])


def interpreters():
    """The Pythons that are here and have what functier needs: this one, and others by name."""
    found = {}
    names = [f"python3.{n}" for n in range(11, 20)]
    others = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    for command in [sys.executable, *filter(None, map(shutil.which, names))]:
        code = f"import sys, {', '.join(NEEDED)}; print(sys.version_info[1], numpy.__path__[0])"
        env = None if command == sys.executable else others
        done = subprocess.run([command, "-c", code], env=env, capture_output=True, text=True)
        if done.returncode == 0:
            version, _, path = done.stdout.strip().partition(" ")
            found.setdefault(int(version), (command, Path(path).parent))
    return found


CODE = """
import doctest, importlib.metadata, sys
import functier

assert importlib.metadata.version("functier") == functier.__version__
assert functier.__file__.startswith(sys.prefix), functier.__file__
for path in sys.argv[1:]:
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried and not failed
try:
    import functier.scipy
except ImportError as error:
    assert "functier[scipy]" in str(error), error
assert not {"scipy", "llvmlite", "tqdm"} & {*sys.modules}
"""


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(archives, tmp_path):
    """The first pages of the site run with nothing else installed, on each Python that is here."""
    for version, (command, packages) in interpreters().items():
        folder = tmp_path / str(version)
        made = [command, "-m", "venv", "--without-pip", str(folder)]
        subprocess.run(made, check=True, capture_output=True)
        (site,) = folder.glob("**/site-packages")
        with zipfile.ZipFile(archives[1]) as archive:
            archive.extractall(site)
        for path in packages.iterdir():
            if path.name.startswith(NEEDED):
                os.symlink(path, site / path.name)
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        done = subprocess.run(
            [str(python), "-I", "-c", CODE, *map(str, PAGES)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, f"Python 3.{version}\n{done.stdout}\n{done.stderr}"
