"""Everything that is written down runs: README, design notes, docstrings, examples."""

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import functier

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DESIGN = ROOT / "design"
NOTES = sorted(DESIGN.glob("*.md"))
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    "chunked_cluster.py": ["chunked_cluster.png"],
    "circuit_fit.py": ["circuit_fit.png"],
    "compiled_code.py": [],
    "convolutional_digits.py": ["convolutional_digits.png"],
    "digits.py": ["hardest.png", "newton.png"],
    "ensembling.py": ["ensemble.png"],
    "essay.py": [],
    "functier_in_200_lines.py": [],
    "gaussian_process.py": ["gaussian_process.png"],
    "jacobians_hessians.py": ["jacobians_hessians.png"],
    "kalman_noise.py": ["kalman_noise.png"],
    "maml.py": ["maml.png"],
    "neural_tangent_kernel.py": ["neural_tangent_kernel.png"],
    "mixture_fit.py": ["mixture_fit.png"],
    "modes.py": [],
    "newton_scipy.py": ["newton_scipy.png"],
    "numba_ufunc.py": [],
    "ode_sensitivity.py": ["sensitivity.png"],
    "option_risk.py": ["option_risk.png"],
    "subclasses.py": [],
}
"""Each example and the pictures that it makes."""


def blocks(path, language):
    """The fenced blocks of a document: (first line, text)."""
    text = path.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        if fence[2] == language:
            yield text.count("\n", 0, fence.start()) + 1, textwrap.dedent(fence[3])


def links(path):
    """The targets of a document's links that are not web addresses, without anchors."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target):
            yield target.partition("#")[0]


def run_doctest(test):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    assert not runner.failures, "".join(report)


def run_block(path, line, code, names):
    if ">>>" in code:
        test = doctest.DocTestParser().get_doctest(code, names, path.name, str(path), line)
        test.globs = names  # the parser has made a copy
        run_doctest(test)
    else:
        exec(compile("\n" * line + code, path, "exec"), names)


README_BLOCKS = [pytest.param(*b, id=f"line {b[0]}") for b in blocks(README, "python")]


@pytest.mark.parametrize(("line", "code"), README_BLOCKS)
def test_each_python_block_of_the_readme_runs_by_itself(line, code):
    run_block(README, line, code, {"__name__": "__main__"})


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.name)
def test_the_python_blocks_of_a_design_note_run_one_after_the_other(path):
    names = {"__name__": "__main__"}
    for line, code in blocks(path, "python"):
        run_block(path, line, code, names)
    names.clear()  # ends the levels of generators that are suspended, and not some time later


@pytest.mark.parametrize("path", [README, *NOTES], ids=lambda path: path.name)
def test_the_links_of_a_document_lead_to_files(path):
    missing = [t for t in links(path) if t and not (path.parent / t).exists()]
    assert not missing


def reading_order(folder):
    """The notes of a folder in the order to read them in: by number, then the appendices."""
    names = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    numbered = [name for name in names if name[0].isdigit()]
    return numbered, sorted(set(names) - set(numbered))


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

    assert [int(name[:4]) for name in numbered] == list(range(1, len(numbered) + 1))
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


def test_a_note_that_the_design_page_does_not_have_is_found(tmp_path):
    """A new note is a fault until the page links it."""
    text = (DESIGN / "README.md").read_text(encoding="utf-8")
    for path in NOTES:
        (tmp_path / path.name).touch()
    assert not faults_of_the_design_page(text, *reading_order(tmp_path))
    (tmp_path / "9999-new.md").touch()

    assert faults_of_the_design_page(text, *reading_order(tmp_path))


def wrong_numbers(path):
    """The links of a document whose text has another number than the note that they lead to."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for label, number in re.findall(r"\[([^\]]*)\]\((?:design/)?(\d{4})-[\w-]+\.md", text):
        said = re.fullmatch(r"(?:[nN]ote\s)?(\d+)(?:\. .*)?", label)
        if said and int(said[1]) != int(number):
            yield label, number


@pytest.mark.parametrize("path", [README, *NOTES], ids=lambda path: path.name)
def test_the_numbers_of_notes_are_right(path):
    title = re.match(r"# (\d+)\. ", path.read_text(encoding="utf-8"))

    assert not list(wrong_numbers(path))
    assert (title and int(title[1])) == (int(path.name[:4]) if path.name[0].isdigit() else None)


def test_a_wrong_number_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "[note 3](0004-a.md), [note 4](0004-a.md), [5. Of it](design/0006-b.md), [it](0001-c.md)"
    )

    assert list(wrong_numbers(page)) == [("note 3", "0004"), ("5. Of it", "0006")]


ROOMS = sorted(path.name for path in Path(functier.__file__).parent.glob("_*") if path.is_dir())
FOLDERS = ["", "src/functier", "src/functier/_levels", "src/functier/_rules"]
"""The folders that documents write the names of files from."""


def stale_names(text):
    """The files and inner names that a text has in backticks, and that do not exist."""
    for code in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        for file in re.findall(r"[\w/]+\.py\b", code):
            if not any((ROOT / folder / file).exists() for folder in FOLDERS):
                yield file
        for name in re.findall(rf"(?<![\w.])(?:{'|'.join(ROOMS)})(?:\.\w+)+", code):
            try:
                pkgutil.resolve_name(f"functier.{name}")
            except (ImportError, AttributeError):
                yield name


@pytest.mark.parametrize("path", [README, *NOTES], ids=lambda path: path.name)
def test_the_inner_names_that_a_document_mentions_exist(path):
    assert not list(stale_names(path.read_text(encoding="utf-8")))


def test_a_stale_name_is_found():
    right = "`_levels.life.run`, `_levels/level.py`, `_level.life`"
    text = f"{right}, `_levels.life.ran` and `tests/no.py`"

    assert list(stale_names(text)) == ["_levels.life.ran", "tests/no.py"]


def docstrings():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = [functier.__name__]
    modules += [m.name for m in pkgutil.walk_packages(functier.__path__, "functier.")]
    for name in modules:
        for test in finder.find(importlib.import_module(name)):
            taken = re.fullmatch(r"functier\.numpy\.[a-z]\w*", test.name)  # from NumPy, before
            if test.examples and not taken:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(docstrings()))
def test_the_examples_of_a_docstring_are_true(test):
    run_doctest(test)


def run_example(name, tmp_path):
    """The output of an example, run in a separate process without warnings as errors."""
    pictures = EXAMPLES[name]
    command = [sys.executable, str(ROOT / "examples" / name)]
    if pictures:
        command += ["--out", str(tmp_path)]
    paths = [str(Path(functier.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    env.setdefault("OPENBLAS_NUM_THREADS", "1")  # several would wait for busy processors
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    for picture in pictures:
        assert (tmp_path / picture).stat().st_size > 10_000
    return done.stdout


def test_every_example_is_tested():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.slow
def test_convolutional_digits(tmp_path):
    out = run_example("convolutional_digits.py", tmp_path)
    assert "(second): Conv2d(16, 32, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))" in out
    accuracy = re.search(r"test accuracy +([\d.]+)%", out)
    assert accuracy and float(accuracy[1]) >= 97, out


@pytest.mark.slow
def test_digits(tmp_path):
    out = run_example("digits.py", tmp_path)
    accuracy = re.search(r"one network, test accuracy\s+([\d.]+)%", out)
    assert accuracy and float(accuracy[1]) >= 95, out
    difference = re.search(r"largest difference\s+(\S+)", out)
    assert difference and float(difference[1]) < 1e-9, out


@pytest.mark.slow
def test_ode_sensitivity(tmp_path):
    out = run_example("ode_sensitivity.py", tmp_path)
    row = re.search(r"^ +200 +\S+ +([\d.]+) +\S+ +([\d.]+) +(\S+) +([\d.]+)$", out, re.MULTILINE)
    assert row, out
    assert all(3.9 < float(row[i]) < 4.1 for i in (1, 2, 4)), out
    assert float(row[3]) < 1e-6, out
    peaks = [float(peak) for peak in re.findall(r"s +([\d.]+) MB", out)]
    assert len(peaks) == 3, out
    assert peaks[0] > 3 * peaks[1] > 9 * peaks[2], out
    difference = re.search(r"forward mode included: (\S+)", out)
    assert difference and float(difference[1]) < 1e-12, out
    deviation = re.search(r"standard deviation of log counts ([\d.]+)", out)
    assert deviation and float(deviation[1]) < 0.3, out
    iterations = re.search(r"(\d+) to (\d+) iterations each", out)
    assert iterations and 3 < int(iterations[1]) < int(iterations[2]) < 30, out
    ratio = re.search(r"ratio of the two ([\d.]+) to ([\d.]+)", out)
    assert ratio and 0.7 < float(ratio[1]) < float(ratio[2]) < 1.4, out


def numbers(pattern, out, count):
    """The numbers that a pattern finds in the output of an example, which are so many."""
    found = [float(number) for number in re.findall(pattern, out, re.MULTILINE)]
    assert len(found) == count, out
    return found


@pytest.mark.slow
def test_circuit_fit(tmp_path):
    """The gradient is that of differences; the fit finds the parts; vmap does what a loop does."""
    out = run_example("circuit_fit.py", tmp_path)
    assert max(numbers(r"relative difference .*?(\S+)$", out, 3)) < 1e-6, out
    assert max(map(abs, numbers(r"^ +\w.*, \w+ .* (-?\d\.\d\d)$", out, 5))) < 3, out
    ripple = numbers(r"deviation ([\d.]+) mV", out, 1) + numbers(r"gradient: ([\d.]+) mV", out, 1)
    assert abs(ripple[0] / ripple[1] - 1) < 0.15, out


@pytest.mark.slow
def test_kalman_noise(tmp_path):
    """The variances are those of the literature, and the gradient that of differences."""
    out = run_example("kalman_noise.py", tmp_path)
    assert max(numbers(r"relative difference .*?(\S+)$", out, 2)) < 1e-6, out
    assert numbers(r"variance of .* (\d+)   standard", out, 2) == [15099, 1469]


@pytest.mark.slow
def test_gaussian_process(tmp_path):
    """The likelihood is scikit-learn's; the map is as good as it says that it is."""
    out = run_example("gaussian_process.py", tmp_path)
    assert max(numbers(r"(?:value|gradient) (\d\S*e-\d+)", out, 2)) < 1e-10, out
    *adam, scipy = numbers(r"surprise ([\d.]+)$", out, 5)
    assert scipy < min(adam) and max(adam) < scipy + 4, out
    spread, error = numbers(r"by +([\d.]+) m$", out, 2)
    assert error < spread / 2, out
    assert 92 < numbers(r"two standard deviations +([\d.]+)%", out, 1)[0] < 98, out


@pytest.mark.slow
def test_mixture_fit(tmp_path):
    """The largest likelihood is that of EM; the standard errors of a right model agree."""
    out = run_example("mixture_fit.py", tmp_path)
    assert numbers(r"log likelihood (-[\d.]+)$", out, 2) == [-180.185477] * 2, out
    assert numbers(r"right species: (\d+)", out, 1) == [145], out
    pairs = re.findall(r"± ([\d.]+) \(([\d.]+)\)", out)
    assert len(pairs) == 12 and all(0.9 < float(a) / float(b) < 1.1 for a, b in pairs), out


@pytest.mark.slow
def test_option_risk(tmp_path):
    """Derivatives are those of the package's formulas and of differences."""
    out = run_example("option_risk.py", tmp_path)
    assert max(numbers(r"relative difference (\S+), from", out, 1)) < 1e-12, out
    assert max(numbers(r"central differences (\S+)$", out, 3)) < 1e-6, out
    assert numbers(r"delta is\n +(-[\d.]+);", out, 1) == [-1]
    gradient, both = numbers(r"error of a scenario (\d+)%", out, 2)
    assert both < gradient / 2, out


@pytest.mark.slow
def test_newton_scipy(tmp_path):
    out = run_example("newton_scipy.py", tmp_path)
    table = re.findall(r"^ +(\S+) +(\w+) +(\d+) +(\d+) +(\d+) +(\d+) +\d+ ms +([\d.]+)$", out, re.M)
    calls = {row[:2]: int(row[3]) for row in table}
    losses = [float(row[6]) for row in table]
    assert len(table) == 6 and max(losses) - min(losses) < 1e-7, out
    assert calls["BFGS", "differences"] > 20 * calls["BFGS", "gradient"], out
    assert calls["BFGS", "gradient"] > 5 * calls["Newton-CG", "products"], out
    error = re.search(r"line, largest error +(\S+)", out)
    assert error and float(error[1]) < 1e-8, out
    steps = re.findall(r"^ +(\d+) +\S+e-\d+(?: +\S+e-\d+)?$", out, re.M)
    assert 5 < len(steps) < 12, out
    assert re.findall(r"entries of the Jacobian +([\d,]+)", out) == ["299,998", "81,408"], out


def test_functier_in_200_lines(tmp_path):
    out = run_example("functier_in_200_lines.py", tmp_path)
    lines = (ROOT / "examples" / "functier_in_200_lines.py").read_text().splitlines()

    assert "No perturbation confusion: 1.0" in out
    assert "a tensor of Batch was used after its call was over" in out
    assert "['Reverse', 'Batch', 'Tensor']" in out
    assert sum(map(bool, lines)) <= 200


def test_essay(tmp_path):
    out = run_example("essay.py", tmp_path)
    for line in [
        "has shape (10, 15, 2)",
        "Tensor <- vmap(outer) <- vmap(inner)",
        "EscapedTensorError: a tensor of vmap(write) was used after its level",
        "x + 1: [1. 2. 3.]",
    ]:
        assert line in out


def test_modes(tmp_path):
    """F17, B31: the example logs, counts and checks calls by modes."""
    out = run_example("modes.py", tmp_path)
    for line in [
        "vmap(<lambda>): Tensor.__matmul__(f8[32], f8[32, 16])\n  grad(<lambda>): ",
        "\n    numpy: numpy.dot(f8[64, 32], f8[32, 16])\n",
        "\nnumpy.dot           5     155,648  96.8%\n",
        "PythonMode: z is a Variable, one of 5",
        "outside, fnp.ones(2) is array([1., 1.])",
    ]:
        assert line in out


def test_subclasses(tmp_path):
    """A55: the example runs the zoo of subclasses, and prints their results."""
    out = run_example("subclasses.py", tmp_path)
    for line in [
        "numpy.log made a NaN out of operands without one",
        "Quantity([4.5, 8. ] kg^1 m^2 s^-2), its derivative by the speed Quantity([3., 4.]",
        "-(-a) is a: True",
        "Diagonal, solved to 0.001",
        "trace 500500.0",
        "0.4, ScalarTensor(N=2, value=4), [[3.0, 2.0], [3.0, 6.0]]",
        "{'owner': 'Ministry of Silly Walks'}",
        "WrappedTensor(Tensor([4., 6.])), (2, 2), WrappedTensor(Tensor([2., 3.]))",
    ]:
        assert line in out


def test_compiled_code(tmp_path):
    out = run_example("compiled_code.py", tmp_path)
    if out.startswith("skipped"):
        pytest.skip(out.strip())
    energy = re.search(r"lowest energy +(\S+) +\(known: (\S+)\)", out)
    assert energy and abs(float(energy[1]) - float(energy[2])) < 1e-6, out
    there = re.search(r"clusters that are there +(\d+) of 64", out)
    assert there and int(there[1]) >= 60, out
    assert re.search(r"that are zero +6\n", out), out
    off = [float(text) for text in re.findall(r"off by (\S+)", out)]
    assert len(off) == 4 and max(off) < 1e-13, out
    assert len(re.findall(r"^  .* ok$", out, re.MULTILINE)) == 6, out
    assert "third derivatives    third derivatives of the energy are not written" in out


def test_numba_ufunc(tmp_path):
    out = run_example("numba_ufunc.py", tmp_path)
    if out.startswith("skipped"):
        pytest.skip(out.strip())
    assert len(re.findall(r"opcheck, .* ok$", out, re.MULTILINE)) == 6, out
    small = re.findall(r"(?:residual of|difference of) .* (\S+)$", out, re.MULTILINE)
    assert len(small) == 3 and max(map(float, small)) < 1e-12, out
    ratio = re.search(r"scatter divided by error +([\d.]+) to ([\d.]+)", out)
    assert ratio and 0.75 < float(ratio[1]) < float(ratio[2]) < 1.25, out
    off = re.search(r"the fit is off by +([\d.]+) errors", out)
    assert off and float(off[1]) < 3, out


@pytest.mark.slow
def test_jacobians_hessians(tmp_path):
    out = run_example("jacobians_hessians.py", tmp_path)
    differences = [float(text) for text in re.findall(r"largest difference\s+(\S+)", out)]
    assert len(differences) == 8 and max(differences) < 1e-12, out
    memory = [float(text) for text in re.findall(r"ms\s+(\S+) MB", out)]
    assert len(memory) == 5 and memory[0] > 5 * memory[2] > 5 * memory[-1], out


@pytest.mark.slow
def test_neural_tangent_kernel(tmp_path):
    out = run_example("neural_tangent_kernel.py", tmp_path)
    difference = re.search(r"largest difference\s+(\S+)", out)
    assert difference and float(difference[1]) < 1e-12, out
    errors = [float(text) for text in re.findall(r"width\s+\d+\s+(\S+) ", out)]
    assert len(errors) == 4 and errors == sorted(errors, reverse=True), out
    assert errors[-1] < errors[0] / 4, out
    assert float(re.search(r"loss at the end\s+(\S+)", out)[1]) < 1e-4, out
    off = [float(text) for text in re.findall(r"is off by\s+([\d.]+)%", out)]
    assert len(off) == 2 and max(off) < 15, out


@pytest.mark.slow
def test_chunked_cluster(tmp_path):
    out = run_example("chunked_cluster.py", tmp_path)
    less = re.search(r"memory: ([\d.]+) times less in chunks", out)
    assert less and float(less[1]) > 10, out
    difference = re.search(r"largest difference of any weight\s+(\S+)", out)
    assert difference and float(difference[1]) < 1e-9, out
    assert "Dask, 2 processes" in out
    shares = re.search(r"(\d+)% of the images\), ([\d.]+)% are wrong;\n.*?([\d.]+)%", out)
    assert shares and float(shares[1]) > 80 and float(shares[2]) < 6 < 30 < float(shares[3]), out


@pytest.mark.slow
def test_ensembling(tmp_path):
    out = run_example("ensembling.py", tmp_path)
    found = re.findall(r"^ *[a-z].*?  +(\S+)(?: ms)?$", out, re.MULTILINE)
    difference, mean, best, together, seen, unseen = map(float, found[2:])
    assert difference < 1e-12, out
    assert best <= mean and together < mean, out
    assert unseen > 3 * seen, out


@pytest.mark.slow
def test_maml(tmp_path):
    out = run_example("maml.py", tmp_path)
    difference = re.search(r"largest difference\s+(\S+)", out)
    assert difference and float(difference[1]) < 1e-12, out
    rows = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)$", out, re.MULTILINE)
    losses = {int(n): (float(meta), float(plain)) for n, meta, plain in rows}
    assert sorted(losses) == [0, 1, 2, 5, 10], out
    assert losses[0][0] > 2.5 and losses[0][1] > 2.5, out
    assert losses[1][0] < 0.3 * losses[1][1] and losses[10][0] < 0.2 * losses[10][1], out


def test_the_readme_gives_three_commands_of_one_line_each():
    commands = [text.strip() for _, text in blocks(README, "sh")]
    assert len(commands) == 3
    assert all("\n" not in command for command in commands)
    assert "examples/digits.py" in commands[0]
    assert "pytest" in commands[1]
    assert commands[2] == commands[1].rpartition("&& ")[2] + " --slow"
    for marker in "tests", "all tests":  # which .ci/run looks for
        assert re.search(rf"<!-- {marker} -->\n+```sh\n", README.read_text(encoding="utf-8"))
