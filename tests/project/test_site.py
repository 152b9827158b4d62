"""The documentation site: pages, names and examples are there once, and links lead somewhere."""

import os
import re
import subprocess
import sys
from inspect import signature
from pkgutil import resolve_name

import pytest

import functier
from functier._core import peers
from support import site_search
from support.public import LISTED, shown
from support.site_pages import build

pytestmark = pytest.mark.inside("Pages are compared with the tables of hints.")

REFERENCE = "\n".join(p.read_text("utf-8") for p in (build.PAGES / "reference").glob("*.md"))
COMING = "\n".join(p.read_text("utf-8") for p in (build.PAGES / "coming-from").glob("*.md"))


def listed_pages():
    """The pages that the tables of contents have, without those that have the tables."""
    names = [
        f"{section}/{page}.md" for section in build.SECTIONS for page in build.pages_of(section)
    ]
    return [name.replace("design/../", "") for name in names]


def test_each_page_is_in_one_section():
    pages = {build.place(path) for path in build.PAGES.rglob("*.md")} | {*build.sources()}
    pages = {page for page in pages if not page.endswith(("index.md", ".png"))}

    assert sorted(listed_pages()) == sorted(pages)


def faults_of_an_index(section, text):
    """The links of an index to its pages that lack the page's title, or a sentence about it."""
    for label, page, said in re.findall(r"\[([^\]]+)\]\(([\w-]+)\.md\)(.*)", text):
        path = build.sources().get(f"{section}/{page}.md", build.PAGES / section / f"{page}.md")
        title = path.read_text("utf-8").partition("\n")[0]
        if title != f"# {label}" or len(re.findall(r"\w+", said)) < 3:
            yield page


LISTS = ["start", "tutorials", "howto", "coming-from", "project"]


@pytest.mark.parametrize("section", LISTS)
def test_an_index_lists_its_pages_with_a_sentence(section):
    text = (build.PAGES / section / "index.md").read_text("utf-8")

    assert not list(faults_of_an_index(section, text))
    assert build.pages_of(section)


def test_a_page_without_a_sentence_is_found():
    text = "- [Install](install.md): with pip or conda.\n- [x](ten-minutes.md): once and for all.\n"

    assert list(faults_of_an_index("start", "- [Install](install.md)\n" + text)) == [
        "install", "ten-minutes"
    ]  # fmt: skip


def test_the_gallery_has_the_picture_of_each_example():
    named = [path for name in build.pages_of("gallery") for path in build.example(name)[2]]
    made = [
        p
        for path in build.EXAMPLES.glob("*.py")
        for p in build.pictures_of(path.read_text("utf-8"))
    ]

    assert sorted(named) == sorted(made) == sorted(build.PICTURES.glob("*.png"))
    assert all(path.stat().st_size < 100_000 for path in made)


def public_values():
    """The public functions and classes, each with the names that it has."""
    found = {}
    for module in ["functier", *LISTED]:
        for name, value in shown(module).items():
            if not isinstance(value, type(sys)):
                found.setdefault(value, set()).add(f"{module}.{name}")
    return found


def faults_of_the_reference(text):
    """The public values that a text documents not once, and the names in it that do not exist."""
    entries = build.API.findall(text)
    values = public_values()
    wrong = [names for names in values.values() if sum(map(entries.count, names)) != 1]
    return wrong, set(entries) - set().union(*values.values())


def test_the_reference_has_each_public_name_once():
    assert faults_of_the_reference(REFERENCE) == ([], set())


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("!api functier.vmap\n", "", ([{"functier.vmap"}], set())),
        ("!api functier.vmap\n", "!api functier.vmap\n" * 2, ([{"functier.vmap"}], set())),
        ("!api functier.vmap\n", "!api functier.vmap\n!api functier.no\n", ([], {"functier.no"})),
    ],
    ids=["missing", "twice", "unknown"],
)
def test_a_fault_of_the_reference_is_found(old, new, fault):
    assert faults_of_the_reference(REFERENCE.replace(old, new)) == fault


@pytest.mark.parametrize(
    "names", [peers.NAMES, {**peers.KEYWORDS, **peers.LEFT_OUT}], ids=["names", "keywords"]
)
def test_the_names_that_hints_know_are_on_the_pages_for_other_libraries(names):
    """A name that is looked up leads to what the hint of the error says, except for variants."""
    said = {
        word for code in re.findall(r"`([^`\n]+)`", COMING) for word in re.findall(r"\w+", code)
    }
    variants = {
        "njit",
        "rematerialize",
        "tree",
        "lax_stop_gradient",
        "vectorize",
        "custom_gradient",
    }
    variants |= {"in_axis", "in_dim", "out_axis", "out_dim", "arg_num", "fn", "function"}

    assert {*names} - said <= variants


OTHER = {
    "import", "with", "x", "rng.spawn", "optree.tree_map", "lax", "defvjp", "defjvp",
    "setup_context", "__tensor_function__", "axis", "keepdims", "threads", "init_val",
    "true_fun", "false_fun", "cond_fun", "body_fun",
}  # fmt: skip
"""The words in the second column of the tables of names that are not functier's."""


def strange_names(text):
    """The names in the last column of tables that are neither functier's, NumPy's, nor `OTHER`."""
    takes = functier.grad, functier.map, functier.vmap, functier.optim.adam
    keywords = {keyword for func in takes for keyword in signature(func).parameters}
    for row in re.findall(r"^\| .*\| (.*) \|$", text, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)", row):
            if name.startswith(("np.", "x.")) or name in OTHER | keywords:
                continue
            try:
                resolve_name(re.sub(r"^(?:ft\.|functier\.)?", "functier.", name))
            except (AttributeError, ImportError):
                yield name


def test_the_names_that_others_are_told_exist():
    assert not list(strange_names(COMING))


def test_a_name_that_does_not_exist_is_found():
    right = "| `jit` | `compile` |\n| `a` | `ft.grad(f)`, `nn.Linear`, `np.sum(x)`, `in_dims=` |\n"

    assert list(strange_names(right + "| `b` | `ft.jit`, or `jit(f)` |\n")) == ["ft.jit", "jit"]


def test_links_of_files_become_links_of_pages(tmp_path):
    note = build.DESIGN / "0008-speed.md"
    text = (
        "[a](../README.md#speed) [b](../examples/modes.py) [c](README.md) [d](0001-x.md#y)\n"
        "[e](../src/functier/ops.py) [f](https://x.org)\n```python\n[g](../README.md)\n```\n"
    )

    assert build.relink(text, note, "design/0008-speed.md") == (
        "[a](../index.md) [b](../gallery/modes.md) [c](../design/index.md) "
        "[d](../design/0001-x.md#y)\ne [f](https://x.org)\n```python\n[g](../README.md)\n```\n"
    )


def loaded(text):
    """The files that a page of HTML, or a style sheet, loads from other places."""
    found = r"""<(?:script|img|iframe|source)\b[^>]*?\ssrc="((?:https?:)?//[^"]+)
        |<link\b(?![^>]*"canonical")[^>]*?\shref="((?:https?:)?//[^"]+)
        |(?:@import|url\()\s*["']?((?:https?:)?//[^)"']+)"""
    return ["".join(parts) for parts in re.findall(found, text, re.VERBOSE)]


def test_what_a_page_loads_from_elsewhere_is_found():
    right = '<img src="a.png"><a href="https://x.org">w</a><link rel="canonical" href="//x.org/a">'
    wrong = '<img src="https://x.org/a.png"><link href="//x.org/f.css" rel="stylesheet">'
    assert not loaded(right + "p { background: url(a.png) }")
    assert loaded(wrong + "@import url(https://x.org/g.css);") == [
        "https://x.org/a.png", "//x.org/f.css", "https://x.org/g.css"
    ]  # fmt: skip


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The folder of the site; Sphinx has no warning, as of a link that leads nowhere."""
    for module in "sphinx", "pydata_sphinx_theme", "myst_parser", "sphinx_design":
        pytest.importorskip(module, reason="needs the extra docs", exc_type=ImportError)
    source = os.path.dirname(os.path.dirname(functier.__file__))
    paths = [source, os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(build.SITE / "build.py"), "--out", str(out)]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.mark.slow
def test_a_built_site_loads_nothing_from_elsewhere(html):
    assert len(list(html.rglob("*.html"))) > 80
    for path in [*html.rglob("*.html"), *html.rglob("*.css")]:
        assert not loaded(path.read_text("utf-8")), path
    assert 'id="functier.vmap"' in (html / "reference" / "batches.html").read_text("utf-8")
    assert "functier.vmap" in (html / "searchindex.js").read_text("utf-8")


# ---- the search ----

SEARCHES = """
gradient of dict parameters | start/first-gradient
per-example gradients | tutorials/per-sample-gradients
Hessian-vector product | howto/optimize
if statement vmap | howto/branches
fit ODE solve_ivp | howto/scipy
scipy minimize jac | howto/optimize
curve_fit | howto/optimize
sklearn custom loss | howto/scikit-learn
pandas DataFrame | howto/pandas
xarray | howto/dask
random numbers vmap | howto/random
custom gradient | reference/rules
view compiled source | tutorials/compile
debug NaN | howto/nans
profile slow | howto/slow
pickle | howto/processes
multiprocessing | howto/processes
progress bar | start/install
Jupyter notebook | howto/notebooks
matplotlib plot | howto/values
complex gradient | tutorials/autodiff
sparse Jacobian | howto/sparse
Taylor series | howto/taylor
context manager | howto/with-blocks
escape passthrough | howto/with-blocks
no_dispatch | reference/arrays
ufunc rule | reference/rules
C extension | reference/rules
new level | reference/rules
mypy | reference/index
isinstance | howto/arrays
logging print inside grad | howto/values
torch tensor | coming-from/torch
GPU | start/install
float32 | howto/slow
stop_gradient | reference/derivatives
batch norm | reference/models
Monte Carlo simulation | howto/random
jit | coming-from/jax
einsum | coming-from/mygrad
neural network training | start/first-gradient
numba | howto/works-with
dask | howto/dask
install conda | start/install
version | start/install
cite | project/citing
Monte Carlo | howto/random
conda | start/install
license | project/citing
parallel | howto/processes
Bessel | howto/scipy
type hints | reference/index
jedi | reference/index
"""
"""Searches of a newcomer, each with a page that should be among the first three."""


def faults_of_the_search(index):
    """The queries that find no useful page early, or a design note before a page for users."""
    for row in SEARCHES.strip().splitlines():
        query, page = row.split(" | ")
        found = site_search.search(index, query)
        notes = [name.startswith("design/") for name in found]
        if page not in found[:3] or notes != sorted(notes):
            yield query, found[:3]


@pytest.mark.slow
def test_a_search_shows_pages_for_users_first(html):
    assert not list(faults_of_the_search(site_search.load(html)))


@pytest.mark.slow
def test_a_word_that_no_page_has_and_a_note_that_comes_first_are_found(html, monkeypatch):
    index = site_search.load(html)
    del index["terms"]["multiprocess"]
    monkeypatch.setitem(site_search.SCORES, "design/", 60)

    found = dict(faults_of_the_search(index))
    assert {"multiprocessing", "sparse Jacobian"} <= {*found}
    assert not found["multiprocessing"]
