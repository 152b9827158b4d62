"""Run the README's test commands, word for word, then the linters and the type checker.

Run it in a checkout with Python 3.11 or later and pip; everything else it installs into `.venv`.
The quick tests come first, then all tests with the extras for the site, the notebooks and the
types. On Windows, the names of the interpreter and the folder of its programs are changed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INSTALL = '.venv/bin/python -m pip install -q -e ".[dev,docs]"'
LINTERS = ".venv/bin/ruff check", ".venv/bin/ruff format --check", ".venv/bin/mypy"


def command_after(marker: str) -> str:
    """Return the one line of the block of shell code that follows a marker in the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^<!-- {marker} -->\n+```sh\n(.+)\n```$", readme, re.MULTILINE)
    if found is None:
        raise SystemExit(f"README.md has no one-line command after <!-- {marker} -->")
    return found[1]


def run(command: str) -> None:
    """Run a command in the checkout, and end with its exit code if it fails."""
    if os.name == "nt":
        command = command.replace("python3 ", "py ").replace(".venv/bin/", ".venv\\Scripts\\")
    print(f"+ {command}", flush=True)
    code = subprocess.run(command, shell=True, cwd=ROOT).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Run all checks, or the quick tests alone if the argument is ``quick``."""
    run(command_after("tests"))
    if sys.argv[1:] != ["quick"]:
        for command in (INSTALL, command_after("all tests"), *LINTERS):
            run(command)


if __name__ == "__main__":
    main()
