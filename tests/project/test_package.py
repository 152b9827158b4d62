"""The package: what is in the archives, and that the wheel works with NumPy and optree alone."""

import ast
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


PAGES_OF_PROJECT = ROOT / "design" / "site" / "pages" / "project"
VERSIONS = {
    ROOT / "CHANGELOG.md": r"^## (\S+) \(\d{4}-\d\d-\d\d\)$",
    ROOT / "CITATION.cff": r"^version: (.*)$",
    ROOT / ".github" / "conda" / "recipe.yaml": r'^  version: "(.*)"$',
    PAGES_OF_PROJECT / "citing.md": r"^  version = {(.*)},$",
}
"""The files that repeat the version, as nothing can read it from the package there."""
YEARS = {
    ROOT / "CHANGELOG.md": r"^## \S+ \((\d{4})-\d\d-\d\d\)$",
    PAGES_OF_PROJECT / "citing.md": r"^  year = {(.*)}$",
}


def said(places):
    """Return the first match in each file."""
    texts = {path: path.read_text("utf-8") for path in places if path.exists()}  # of a checkout
    return {path: re.findall(places[path], texts[path], re.MULTILINE)[0] for path in texts}


def test_the_version_is_that_of_the_package_everywhere():
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assert {*said(VERSIONS).values()} == {functier.__version__}
    assert len({*said(YEARS).values()}) == 1
    compared = (PAGES_OF_PROJECT / "comparison.md").read_text("utf-8")
    assert f" functier {functier.__version__.rpartition('.')[0]}," in compared


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


# ---- what goes ----

SAYS = re.compile(r"; write .* goes in functier \d+\.\d+$", re.DOTALL)


def silent_deprecations(text):
    """The lines where a file gives a `DeprecationWarning` that does not say what the page asks."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and "DeprecationWarning" in map(ast.unparse, node.args):
            said = ast.unparse(node.args[0])
            if not SAYS.search(said.strip("'\"")):
                yield node.lineno


def test_a_deprecation_says_what_to_write_and_when_the_name_goes():
    """As the page on stability promises; it is given for the line of the user."""
    for path in (ROOT / "src").rglob("*.py"):
        assert not [*silent_deprecations(path.read_text("utf-8"))], path
    good = "warn(f'{f}: lr is old; write rate; it goes in functier 0.3', DeprecationWarning)"
    assert not [*silent_deprecations(good)]
    assert [*silent_deprecations(good.replace("write", "use"))] == [1]
    assert [*silent_deprecations(good.replace(" in functier 0.3", ""))] == [1]
