"""Everything that is written down runs: README, design notes, docstrings."""

import doctest
import importlib
import pkgutil
import posixpath
import re
import sys
import textwrap
from pathlib import Path

import pytest

import functier
from functier.testing import forget
from support.site_pages import build

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
DESIGN = ROOT / "design"
NOTES = sorted(DESIGN.glob("*.md"))
ABOUT_THE_SITE = build.SITE / "README.md"
PAGES = sorted(build.PAGES.rglob("*.md"))
SLOW = {"howto/dask.md", "howto/scikit-learn.md"}
"""The pages whose imports alone take seconds."""


def name_of(path):
    """The name of a document in the output of tests."""
    return build.place(path) if path in PAGES else path.relative_to(ROOT).as_posix()


def each_document(paths):
    """Return the parameters of a test of some documents; those in `SLOW` are slow."""
    marks = {name: pytest.mark.slow for name in SLOW}
    named = [(path, name_of(path)) for path in paths]
    return [pytest.param(p, id=name, marks=marks.get(name, ())) for p, name in named]


FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def blocks(path, language):
    """The fenced blocks of a document: (first line, text)."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if fence[2] == language:
            yield text.count("\n", 0, fence.start()) + 1, textwrap.dedent(fence[3])


HOME = "https://github.com/functier/functier/"
"""The README's links are absolute, as it is also shown where the other files are not."""


def links(path):
    """The targets of a document's links that are not web addresses, without anchors."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)", text, re.MULTILINE):
        target = re.sub(rf"^{HOME}(?:blob|raw|tree)/main/", "", "".join(target))
        if not re.match(r"[a-z]+:", target):
            yield target.partition("#")[0]


def run_doctest(test):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def run_block(path, line, code, names):
    if ">>>" in code:
        name = f"{path.name}:{line}"  # doctest takes the lines of a function from its name's block
        test = doctest.DocTestParser().get_doctest(code, names, name, str(path), line)
        test.globs = names  # the parser has made a copy
        run_doctest(test)
    else:
        exec(compile("\n" * line + code, path, "exec"), names)


README_BLOCKS = [pytest.param(*b, id=f"line {b[0]}") for b in blocks(README, "python")]


@pytest.mark.parametrize(("line", "code"), README_BLOCKS)
def test_each_python_block_of_the_readme_runs_by_itself(line, code):
    run_block(README, line, code, {"__name__": "__main__"})


@pytest.mark.parametrize("path", each_document([*NOTES, *PAGES]))
def test_the_python_blocks_of_a_note_or_page_run_one_after_the_other(path):
    names = {"__name__": "__main__"}
    for line, code in blocks(path, "python"):
        run_block(path, line, code, names)
    names.clear()  # ends the levels of generators that are suspended, and not some time later


def missing_links(path):
    """The links of a document that lead nowhere; those of a page lead to pages of the site."""
    found = [target for target in links(path) if target]
    if path not in PAGES:
        return [target for target in found if not (path.parent / target).exists()]
    pages = {*map(build.place, PAGES), *build.sources()}
    folder = posixpath.dirname(build.place(path))
    return [t for t in found if posixpath.normpath(posixpath.join(folder, t)) not in pages]


@pytest.mark.parametrize("path", [README, ABOUT_THE_SITE, *NOTES, *PAGES], ids=name_of)
def test_the_links_of_a_document_lead_to_files(path):
    assert not missing_links(path)


def faults_of_references(text):
    """The names of links that are not defined, and definitions that nothing uses."""
    text = re.sub(r"`[^`\n]*`", "code", FENCE.sub("", text))
    definition = re.compile(r"^\[([^\]]+)\]: .*$", re.MULTILINE)
    used = re.findall(r"\[([^\[\]]+)\](?:\[([^\[\]]+)\])?(?!\()", definition.sub("", text))
    names = {(name or label).lower() for label, name in used}
    return names ^ {name.lower() for name in definition.findall(text)}


def test_the_links_of_the_readme_are_defined_and_absolute():
    text = README.read_text(encoding="utf-8")

    assert not faults_of_references(text)
    assert not re.findall(r"\]\((?!https:)", FENCE.sub("", text))
    assert faults_of_references("[a], [b][c]\n\n[a]: https://x.org\n[d]: https://y.org") == {
        "c",
        "d",
    }


LATER = {"0002": "0008", "0028": "0006"}
"""The notes that are not read in the order of their numbers, and the note that each comes after."""


def reading_order(folder):
    """The notes of a folder in the order to read them in: by number and `LATER`; the appendices."""
    names = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    numbered = [name for name in names if name[0].isdigit()]
    order = sorted(numbered, key=lambda name: (LATER.get(name[:4], name[:4]), name[:4] in LATER))
    return order, sorted(set(names) - set(numbered))


def faults_of_the_design_page(text, numbered, appendices):
    """Return the faults of a page that should link all notes in order, the appendices last."""
    linked = list(dict.fromkeys(re.findall(r"\]\(([\w-]+\.md)\)", text)))
    notes, rest = linked[: len(numbered)], linked[len(numbered) :]
    if notes != numbered:
        return f"the notes are linked as {notes}"
    return "" if sorted(rest) == appendices else f"the appendices are linked as {rest}"


def test_the_design_page_links_each_note_in_order():
    numbered, appendices = reading_order(DESIGN)
    text = (DESIGN / "README.md").read_text(encoding="utf-8")

    assert sorted(int(name[:4]) for name in numbered) == list(range(1, len(numbered) + 1))
    assert appendices == ["coverage-of-scipy.md", "coverage.md", "source-documents.md"]
    assert not faults_of_the_design_page(text, numbered, appendices)
    assert "design/README.md" in links(README)


@pytest.mark.parametrize(
    "fault", ["a note is missing", "two are exchanged", "an appendix is missing"]
)
def test_a_fault_of_the_design_page_is_found(fault):
    numbered, appendices = reading_order(DESIGN)
    lines = (DESIGN / "README.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if numbered[4] in line)
    if fault == "a note is missing":
        del lines[first]
    elif fault == "two are exchanged":
        lines[first], lines[first + 1] = lines[first + 1], lines[first]
    else:
        lines = [line for line in lines if appendices[0] not in line]

    assert faults_of_the_design_page("\n".join(lines), numbered, appendices)


def wrong_numbers(path):
    """The links of a document whose text has another number than the note that they lead to."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for label, number in re.findall(
        rf"\[([^\]]*)\](?:\(|: {HOME}blob/main/)(?:(?:\.\./)*design/)?(\d{{4}})-[\w-]+\.md", text
    ):
        said = re.fullmatch(r"(?:[nN]ote\s)?(\d+)(?:\. .*)?", label)
        if said and int(said[1]) != int(number):
            yield label, number


@pytest.mark.parametrize("path", [README, ABOUT_THE_SITE, *NOTES, *PAGES], ids=name_of)
def test_the_numbers_of_notes_are_right(path):
    title = re.match(r"# (\d+)\. ", path.read_text(encoding="utf-8"))

    assert not list(wrong_numbers(path))
    assert (title and int(title[1])) == (int(path.name[:4]) if path.name[0].isdigit() else None)


def test_a_wrong_number_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[note 3](0004-a.md), [note 4](0004-a.md), [5. Of it](design/0006-b.md), [it](0001-c.md) "
        "[note 7](../design/0007-d.md), [note 8](../design/0007-d.md)\n\n"
        f"[note 8]: {HOME}blob/main/design/0008-e.md\n[note 9]: {HOME}blob/main/design/0008-e.md\n"
    )

    assert list(wrong_numbers(page)) == [
        ("note 3", "0004"),
        ("5. Of it", "0006"),
        ("note 8", "0007"),
        ("note 9", "0008"),
    ]


ROOMS = sorted(path.name for path in Path(functier.__file__).parent.glob("_*") if path.is_dir())
FOLDERS = ["", "src/functier", "src/functier/_levels", "src/functier/_rules", "design/site"]
"""The folders that documents write the names of files from."""


def stale_names(text, public=True):
    """The files and names that a text has in backticks, and that do not exist."""
    heads = "|".join([*ROOMS, *(["ft", "functier"] if public else [])])
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        for file in re.findall(r"[\w/]+\.py\b", code):
            if not any((ROOT / folder / file).exists() for folder in FOLDERS):
                yield file
        for name in re.findall(rf"(?<![\w.])(?:{heads})(?:\.\w+)+", code):
            try:
                pkgutil.resolve_name(re.sub(r"^(?:ft|functier)?\b\.?", "functier.", name))
            except (ImportError, AttributeError):
                yield name


@pytest.mark.parametrize("path", [README, ABOUT_THE_SITE, *NOTES, *PAGES], ids=name_of)
def test_the_inner_names_that_a_document_mentions_exist(path):
    public = path not in NOTES  # these name things that might be
    assert not list(stale_names(path.read_text(encoding="utf-8"), public))


def test_a_stale_name_is_found():
    right = "`_levels.runs.run`, `_levels/level.py`, `_level.life`, `ft.grad`, `functier.nn.Linear`"
    text = f"{right}, `_levels.runs.ran`, `tests/no.py`, `ft.jit(f)` and `functier.nn.No`"

    assert list(stale_names(text)) == [
        "_levels.runs.ran",
        "tests/no.py",
        "ft.jit",
        "functier.nn.No",
    ]


def docstrings_of_scipy():
    """The names and docstrings of SciPy's functions: a twin has one, which draws pictures."""
    modules = [vars(m) for name, m in [*sys.modules.items()] if name.startswith("scipy.")]
    return {(n, getattr(v, "__doc__", None)) for names in modules for n, v in [*names.items()]}


def docstrings():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [functier.__name__]
    modules += [m.name for m in pkgutil.walk_packages(functier.__path__, "functier.")]
    found = [test for name in modules for test in finder.find(importlib.import_module(name))]
    known = docstrings_of_scipy()
    for test in found:
        taken = re.fullmatch(r"functier\.numpy\.[a-z]\w*", test.name)  # from NumPy, before
        if test.examples and not taken:
            if (test.name.rpartition(".")[2], test.docstring) not in known:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(docstrings()))
def test_the_examples_of_a_docstring_are_true(test, declared):
    run_doctest(test)
    for func in declared():  # examples leave no operations behind
        if func.__module__ == test.globs["__name__"]:
            forget(func)


def test_the_readme_gives_three_commands_of_one_line_each():
    commands = [text.strip() for _, text in blocks(README, "sh")]
    assert len(commands) == 3
    assert all("\n" not in command for command in commands)
    assert "examples/digits.py" in commands[0]
    assert "pytest" in commands[1]
    assert commands[2] == commands[1].rpartition("&& ")[2] + " --slow tests"
    for marker in "tests", "all tests":  # which .ci/run looks for
        assert re.search(rf"<!-- {marker} -->\n+```sh\n", README.read_text(encoding="utf-8"))


# ---- tables ----


def faults_of_tables(text):
    """Return the rows of tables that stand twice, or have more or fewer cells than the first.

    A short row may be in two tables, as a head is.
    """
    lines = FENCE.sub("", text).splitlines()
    tables, rows = [], []
    for line in [*lines, ""]:
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            tables.append(rows)
            rows = []
    earlier = [
        [row for rows in tables[:i] for row in rows if len(row) > 60] for i in range(len(tables))
    ]
    return [
        row
        for rows, before in zip(tables, earlier)
        for i, row in enumerate(rows)
        if cells(row) != cells(rows[0]) or row in rows[:i] or row in before
    ]


def cells(row):
    return len(re.sub(r"\\\||`[^`]*`", "", row).split("|"))


@pytest.mark.parametrize("path", each_document([README, *NOTES, *PAGES]))
def test_the_tables_of_a_document_have_equal_rows_that_differ(path):
    assert not faults_of_tables(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ["| `a | b` | c | d |", "| e |", "| c | d |"])
def test_a_wrong_row_of_a_table_is_found(row):
    assert faults_of_tables(f"| a | b |\n|---|---|\n| c | d |\n{row}\n") == [row]


def test_a_row_that_stands_in_two_tables_is_found():
    row = f"| a sees functions | {'and methods ' * 5} |"

    assert faults_of_tables(f"| a | b |\n{row}\n\ntext\n\n| c | d |\n{row}\n") == [row]
    assert not faults_of_tables("| a | b |\n| c | d |\n\ntext\n\n| a | b |\n| e | d |\n")


# ---- figures that stand twice ----


def rows_of(path, title=""):
    """Return the rows of the tables of a document, or of the one table with this title, by name."""
    text = path.read_text(encoding="utf-8")
    start = text.index(f"| {title}") if title else 0
    lines = text[start:].partition("\n\n")[0] if title else text
    return {x.split("|")[1].strip(): x for x in lines.splitlines() if x.startswith("|")}


def test_times_in_the_readme_are_those_of_the_page_on_speed():
    page = rows_of(build.PAGES / "project" / "speed.md")
    times = {name: row for name, row in rows_of(README).items() if re.search("µs|ms", row)}

    assert len(times) == 9
    assert {name: page.get(name) for name in times} == times


def test_counts_of_other_peoples_code_are_those_of_note_22():
    table = rows_of(DESIGN / "0022-any-numpy-code.md", "right of the 40 of the eighth fresh list")
    right = [re.findall(r"\| (\d+) \(", row) for row in table.values()]
    adopted, imports, _, jax, autograd, torch = [counts for counts in right if counts]
    readme = " ".join(README.read_text(encoding="utf-8").split())
    page = " ".join((build.PAGES / "tutorials" / "adopt.md").read_text(encoding="utf-8").split())

    assert f"{adopted[0]} of 40 gradients were right, and all {adopted[2]} batches" in readme
    assert f"with changed imports {imports[0]} and {imports[2]}; JAX had {jax[0]} and" in readme
    assert f"and {jax[2]}, autograd {autograd[0]} gradients, and `torch.compile`" in readme
    assert f"of NumPy code {torch[0]}." in readme
    assert f"the gradients {adopted[0]} were right, of the batches all {adopted[2]}" in page
    assert f"JAX with a changed import had {jax[0]} and {jax[2]}." in page
