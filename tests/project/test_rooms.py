"""Every folder of the package and of the tests is in a room, and each room has a quick command."""

import tomllib
from collections import Counter
from pathlib import Path

import functier as ft
from support.rooms import ROOMS, ROOT, table

WITHOUT = {"bench", "faults", "nets", "samples", "strategies", "support", "typed"}
"""Folders of tests that no quick command runs: data, helpers, commands, and what is slow."""


def test_each_part_of_the_package_is_in_one_room():
    package = Path(ft.__file__).parent
    parts = [p.stem for p in package.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    listed = [source for room in ROOMS.values() for source in room.sources.split()]

    assert sorted(name for name in listed if "." not in name) == sorted(parts)


def test_each_folder_of_tests_is_in_one_room():
    folders = {f"tests/{p.parent.name}" for p in (ROOT / "tests").glob("*/*.py")}
    listed = [path for room in ROOMS.values() for path in room.paths.split()]

    assert sorted(listed) == sorted(folders - {f"tests/{name}" for name in WITHOUT})


def test_without_paths_the_tests_of_the_kernel_run():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]

    assert settings["testpaths"] == ROOMS["kernel"].paths.split()


def test_contributing_has_the_table():
    page = ROOT / "design" / "site" / "pages" / "project" / "contributing.md"

    assert table() in page.read_text(), "write it anew: rooms.table()"


def test_no_two_files_of_tests_have_one_name():
    """They are imported by it, so pytest would refuse the second one; a package is a prefix."""
    files = (ROOT / "tests").rglob("test_*.py")
    names = [path.name for path in files if not (path.parent / "__init__.py").exists()]

    assert not [name for name, number in Counter(names).items() if number > 1]
