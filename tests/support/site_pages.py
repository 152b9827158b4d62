"""The module that builds the documentation site, for tests of its pages."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).parents[2] / "design" / "site" / "build.py"

spec = importlib.util.spec_from_file_location("site_build", PATH)
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)
