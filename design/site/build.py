"""Build the documentation site, without network.

    .venv/bin/python design/site/build.py [--out DIR]

It needs the extra ``docs``. The pages are those in ``design/site/pages``, the design notes, the
examples and the changelog. The latter stay where they are: `sources` says which page each of them
becomes, and `assemble` writes all pages into one folder, which Sphinx reads. The site is then in
``design/site/output/html``; open ``index.html`` there. Warnings, such as a link that leads
nowhere, are errors.

The pictures of the gallery are in ``design/site/pictures``. ``--pictures`` runs the examples that
have none there yet, which takes some minutes and the extra ``examples``.
"""

import argparse
import ast
import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
PAGES = SITE / "pages"
DESIGN = SITE.parent
ROOT = DESIGN.parent
EXAMPLES = ROOT / "examples"
PICTURES = SITE / "pictures"

SECTIONS = "start", "tutorials", "howto", "coming-from", "reference", "design", "gallery", "project"
"""The sections of the site. Each has an index, which links its pages in order."""

SPELLED = {
    "functier": "functier", "hessians": "Hessians", "maml": "MAML", "numba": "Numba", "ode": "ODE",
    "scipy": "SciPy",
}  # fmt: skip
"""The words of examples' names that have capitals, or none."""

FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
CARD = re.compile(r"^!example (\w+)$", re.MULTILINE)
API = re.compile(r"^!api ([\w.]+)$", re.MULTILINE)
RESULT = re.compile(r"^!result ([\w.]+): ([\w ]+)$", re.MULTILINE)

UNIT = re.compile(r"(?<=\d) (?=(?:[mnuµ]?s|[kKMG]B|ulp)\b|%)|(?<=\d) (?=of \d)|(?<=\d of) (?=\d)")
"""The space between a number and what it counts, at which no line ends."""

METHODS = {
    "functier.Tensor": "elem, as_subclass, unwrap, gradient",
    "functier.Program": "save",
    "functier.Function": "apply",
    "functier.nn.Module": "",
    "functier.nn.ModuleDict": "",
    "functier.nn.RemovableHandle": "",
}
"""The classes whose methods are shown as well: some, or all."""


def place(path):
    """Return the page that a file of the project becomes, or None."""
    if path.is_relative_to(PAGES):
        return path.relative_to(PAGES).as_posix()
    if path == ROOT / "README.md":
        return "index.md"
    if path == ROOT / "CHANGELOG.md":
        return "project/changelog.md"
    if path == DESIGN / "README.md":
        return "design/index.md"
    if path.parent == DESIGN and path.suffix in (".md", ".png"):
        return f"design/{path.name}"
    if path.parent == EXAMPLES and path.suffix == ".py":
        return f"gallery/{path.stem}.md"
    return None


def sources():
    """Return the pages that are made of files elsewhere, with the file of each."""
    files = [*DESIGN.glob("*.md"), *DESIGN.glob("*.png"), *EXAMPLES.glob("*.py")]
    return {place(path): path for path in [*sorted(files), ROOT / "CHANGELOG.md"]}


def pages_of(section):
    """Return the names of the pages of a section, in the order of its index."""
    path = (DESIGN / "README.md") if section == "design" else PAGES / section / "index.md"
    text = path.read_text(encoding="utf-8")
    if section == "gallery":
        return [name for name in CARD.findall(text) if name != "functier_in_200_lines"]
    names = [*dict.fromkeys(re.findall(r"\]\(([\w-]+)\.md\)", text))]
    return ["../gallery/functier_in_200_lines", *names] if section == "design" else names


def relink(text, path, page):
    """Let the links of a file lead to the pages of the files that they name.

    A link to a file that is on no page, such as a source file, becomes its text.
    """

    def link(match):
        label, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        found = place((path.parent / target).resolve())
        if found is None:
            return label
        if found == "index.md":
            anchor = ""  # the README's sections are pages of the site
        return f"[{label}]({'../' * page.count('/')}{found}{anchor})"

    pattern = r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)"
    parts = FENCE.split(text)
    return "".join(p if i % 2 else re.sub(pattern, link, p) for i, p in enumerate(parts))


def example(name):
    """Return the title, the text, the pictures that exist, and the source of an example."""
    code = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    title, _, text = ast.get_docstring(ast.parse(code)).partition("\n")
    return title.rstrip("."), text.strip("\n"), list(filter(Path.exists, pictures_of(code))), code


def pictures_of(code):
    """Return the pictures that the source of an example names."""
    return [PICTURES / name for name in dict.fromkeys(re.findall(r'"(\w+\.png)"', code))]


def in_words(name):
    """Return the name of an example as a heading, which can be broken into lines."""
    words = [SPELLED.get(word, word) for word in name.split("_")]
    if words[0] not in SPELLED.values():
        words[0] = words[0].capitalize()
    return " ".join(words)


def example_page(name):
    """Return the page of an example: what it says, its pictures, and the source below that."""
    title, text, pictures, code = example(name)
    code = code.split('"""', 2)[2].strip("\n")
    text = re.sub(r"^\((\w)\)\s+", r"- **(\1)** ", text, flags=re.MULTILINE)  # a list
    text = re.sub(r"(?<=\n)(?<!\n\n)(?=- \*\*\()", "\n", text)
    text = re.sub(r"`+([^`]+)`+", r"`\1`", text)
    shown = "\n\n".join(f"![{title}](output/{p.name})" for p in pictures)
    parts = [
        f"# {in_words(name)}",
        f"**{title}.**",
        text,
        shown,
        "## Source",
        f"```python\n{code}\n```",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def card(match):
    """Return the text of an example's card in the gallery."""
    title, _, pictures, _ = example(match[1])
    picture = f":img-top: output/{pictures[0].name}\n" if pictures else ""
    head = f":::{{grid-item-card}} {in_words(match[1])}\n:link: {match[1]}\n:link-type: doc\n"
    return f"{head}{picture}\n{title}.\n:::"


def entry(match):
    """Return the directive that shows a public name with its docstring."""
    module, name = importlib.import_module("functier"), match[1].removeprefix("functier.")
    for part in name.split(".")[:-1]:
        module = getattr(module, part)
    value = getattr(module, name.rpartition(".")[2])
    kind = "function"
    if isinstance(value, type):
        kind = "exception" if issubclass(value, BaseException) else "class"
    lines = [f".. currentmodule:: {module.__name__}", "", f".. auto{kind}:: {match[1]}"]
    if match[1] in METHODS:
        lines.append(f"   :members: {METHODS[match[1]]}")
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def result(match):
    """Return the directive for a class that users get from a function, with some methods."""
    members = ", ".join(match[2].split())
    return f"```{{eval-rst}}\n.. autoclass:: {match[1]}\n   :members: {members}\n```"


def contents(section):
    """Return the table of contents of a section, which is shown beside its pages."""
    lines = ["", "```{toctree}", ":hidden:", "", *pages_of(section), "```", ""]
    return "\n".join(lines)


def texts():
    """Return all pages of the site: their texts by their places."""
    found = {place(p): p.read_text(encoding="utf-8") for p in PAGES.rglob("*.md")}
    for page, path in sources().items():
        if path.suffix == ".py":
            found[page] = example_page(path.stem)
        elif path.suffix == ".md":
            found[page] = relink(path.read_text(encoding="utf-8"), path, page)
    for section in SECTIONS:
        found[f"{section}/index.md"] += contents(section)
    names = "\n".join(f"{section}/index" for section in SECTIONS)
    names = names.replace("design/index", "Design <design/index>")
    found["index.md"] += f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return {page: finish(text) for page, text in found.items()}


def finish(text):
    """Replace lines that stand for others, spaces before units, and empty lines that end code."""
    parts = FENCE.split(RESULT.sub(result, API.sub(entry, CARD.sub(card, text))))
    return "".join(
        re.sub(r"\n\n+( *```)$", r"\n\1", p) if i % 2 else UNIT.sub("\N{NO-BREAK SPACE}", p)
        for i, p in enumerate(parts)
    )


def assemble(folder):
    """Write all pages and their pictures into one folder. What has not changed stays."""
    wanted = {page: text.encode() for page, text in texts().items()}
    wanted |= {page: p.read_bytes() for page, p in sources().items() if p.suffix == ".png"}
    for path in PICTURES.glob("*.png"):
        wanted[f"gallery/output/{path.name}"] = path.read_bytes()
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).as_posix() not in wanted:
            path.unlink()
    for page, data in wanted.items():
        path = folder / page
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def make_pictures():
    """Run the examples that lack a picture, and make their pictures small."""
    from PIL import Image

    for path in sorted(EXAMPLES.glob("*.py")):
        missing = [p for p in pictures_of(path.read_text(encoding="utf-8")) if not p.exists()]
        if missing:
            print(f"running {path.name}", flush=True)
            command = [sys.executable, path, "--out", PICTURES]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for picture in missing:
            image = Image.open(picture).convert("RGB")
            image.thumbnail((1200, 1200))
            image.quantize(64).save(picture, optimize=True)


def build(out):
    """Build the site into a folder; return 0, or another number if there was a warning."""
    from sphinx.cmd.build import main

    assemble(out / "source")
    shutil.rmtree(out / "html", ignore_errors=True)
    folders = [str(out / "source"), str(out / "html")]
    options = ["-q", "-E", "-W", "--keep-going", "-c", str(SITE), "-d", str(out / "doctrees")]
    return main([*options, *folders])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=SITE / "output", help="where the site goes")
    parser.add_argument("--pictures", action="store_true", help="make pictures that are missing")
    args = parser.parse_args()
    if args.pictures:
        make_pictures()
    sys.exit(build(args.out.resolve()))
