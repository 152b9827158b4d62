"""Settings of the whole suite: how much of it is run, and the profiles of hypothesis.

``pytest`` runs what is quick: of the sample table the rows that `samples.chosen` chooses (for the
values of SciPy's functions all), no test marked ``slow``, and no net. ``pytest --slow`` runs all
rows and all tests, with a slice of each net, and takes plans, nestings and orders in turn. Of a
large table it takes a part: ``@pytest.mark.share(3)`` runs one of three of its slow cases. With
``--full``, each is taken with each: ``pytest tests/nets --full`` runs the nets in full. It says at
the end the counts of each, its refusals by their reasons, and the sums. ``pytest --shuffle
1`` runs the tests in another order: none may need what another one leaves.

Hypothesis has three profiles. ``quick``, the default one, draws the same few things each time. With
``--hypothesis-profile=ci`` draws are random; the first lines of the run show their seed, and what
fails is kept in ``.hypothesis``. ``long`` is the one of ``python -m strategies``, which runs nets
for hours.
"""

import faulthandler
import gc
import importlib.util
import os
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path

# Matrices of three rows are not worth a thread, and OpenBLAS, which reads this when NumPy is
# imported, starts some for them: on a busy machine its calls wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Machine code of another run, or of another test, is not used, nor is any left behind.
os.environ["FUNCTIER_CACHE"] = "0"

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

import functier as ft
import samples
from functier._core.adopted import ADOPTED
from functier._core.ambient import AMBIENT
from functier._core.table import UNSUPPORTED
from functier.testing import forget, operations
from nets.verdicts import Verdicts, lines_of
from support.turns import shuffle, takes_turn

NETS = Path(__file__).parent / "nets"

# A shared machine stalls now and then, and what is drawn is small: time says nothing.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=60, derandomize=True, database=None, **patient)
settings.register_profile("ci", max_examples=300, print_blob=True, **patient)
settings.register_profile("long", max_examples=3000, print_blob=True, **patient)
settings.load_profile("quick")

# A patch of what hypothesis has inside, as no setting does it. Numbers in the sources of modules
# that are loaded by then would be drawn as well: others after other tests, and none in a folder
# below one that is called "tests". So a test that is run alone would draw other things.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants


def pytest_addoption(parser):
    parser.addoption("--slow", action="store_true", help="run all rows, slow tests and nets")
    parser.addoption("--full", action="store_true", help="run the nets in full, and all long rows")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in another order")


def pytest_report_header(config):
    """Show the seed of a random run: ``--hypothesis-seed`` draws the same again."""
    if config.getoption("--hypothesis-profile") == "ci":
        return f"--hypothesis-seed={config.getoption('--hypothesis-seed')}"
    return None


@pytest.hookimpl(tryfirst=True)  # before hypothesis and the workers ask for it
def pytest_cmdline_main(config):
    """Choose the seed of a random run; all workers have the same."""
    chosen = config.getoption("--hypothesis-profile") == "ci"
    if chosen and config.getoption("--hypothesis-seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(1 << 32))


@pytest.hookimpl(trylast=True)  # after pytest's own, which writes among the output of all workers
def pytest_configure(config):
    """Have a worker that crashes say where: the summary of the run shows it."""
    if not hasattr(config, "workerinput"):
        os.environ["CRASHES"] = tempfile.mkdtemp(prefix="crashes-")
    elif "CRASHES" in os.environ:
        config.crash = Path(os.environ["CRASHES"], config.workerinput["workerid"]).open("w")
        faulthandler.enable(config.crash)


def pytest_unconfigure(config):
    """Leave no file of crashes behind."""
    if hasattr(config, "crash"):
        faulthandler.disable()
        config.crash.close()
    elif not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["CRASHES"], ignore_errors=True)


def pytest_ignore_collect(collection_path, config):
    """Leave the nets unread where none is run: there are large tables in them."""
    if collection_path != NETS or config.getoption("--slow") or config.getoption("--full"):
        return None
    asked = [Path(config.invocation_params.dir, arg.partition("::")[0]) for arg in config.args]
    return None if any(NETS in (path, *path.parents) for path in asked) else True


def pytest_make_parametrize_id(val):
    """Name a case by its value where pytest would count: by a short text that has no address."""
    if isinstance(val, np.ndarray):
        return f"{val.dtype}{list(val.shape)}" if val.size > 4 else f"array {val.tolist()}"
    if isinstance(val, (tuple, list, dict, slice, np.generic)):
        text = " ".join(repr(val).split())
        told = " at 0x" not in text and (isinstance(val, dict) or "{" not in text)
        return text if told and len(text) < 60 else None  # a set has another order elsewhere
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without searches for garbage: what is made stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--full"):
        long = [item for item in items if is_long(item)]
        if len(long) < len(items):  # else they were asked for by name
            config.hook.pytest_deselected(items=long)
            items[:] = [item for item in items if not is_long(item)]
    quick, slow = [], []
    for item in items:
        (slow if is_slow(item) else quick).append(item)
    if quick and not config.getoption("--slow"):  # else the slow ones were asked for by name
        config.hook.pytest_deselected(items=slow)
        items[:] = quick
    if (seed := config.getoption("--shuffle")) is not None:
        shuffle(items, seed)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """Skip a file that needs a library which is not installed, as all but NumPy's may be."""
    report = yield
    for line in str(report.longrepr).splitlines() if report.failed else ():
        if found := re.search(r"ModuleNotFoundError: No module named '(\w+)", line):
            skip(report, collector.path, found[1])
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Skip such a test."""
    report = yield
    error, seen = call.excinfo.value if report.failed and call.excinfo else None, []
    while error is not None and error not in seen:  # a cause may have its effect as a context
        seen.append(error)
        if isinstance(error, ModuleNotFoundError):
            skip(report, item.path, str(error.name).partition(".")[0])
        error = error.__cause__ or error.__context__
    return report


def skip(report, path, library):
    """Let a test be skipped if a library is not installed."""
    if library not in sys.modules and importlib.util.find_spec(library) is None:
        report.outcome, report.longrepr = "skipped", (str(path), 0, f"Skipped: needs {library}")


def is_long(item):
    """Tell if a case runs with ``--full`` alone."""
    share = item.get_closest_marker("share")
    beyond = share and is_slow(item) and not takes_turn(item.name, *share.args)
    return beyond or item.get_closest_marker("long")


def is_slow(item):
    if str(item.path).startswith(str(NETS)):
        return True
    return item.get_closest_marker("slow") or item.get_closest_marker("long")


@pytest.fixture(scope="module", autouse=True)
def frozen_heap():
    """Leave what pytest and other modules made out of searches of all objects.

    A first write, an adoption and a leak check look through them, which else took most of the time.
    What is left out is never freed: classes of ended levels, which a test may be given, go before.
    """
    ft.Tensor.level.spare.clear()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_stays():
    """Fail the test that leaves a level, or an adopted module, to those after it, and no other."""
    adopted = len(ADOPTED)
    yield
    assert AMBIENT.get() is ft.Tensor
    assert len(ADOPTED) <= adopted, "an adopted module is not undone"


@pytest.fixture(scope="module")
def streams(request):
    """The generators among the global names of a module of tests."""
    return [g for g in vars(request.module).values() if isinstance(g, np.random.Generator)]


@pytest.fixture
def declared():
    """A function that returns what has been declared since the test began."""
    before = {*operations(), *UNSUPPORTED}
    return lambda: {*operations(), *UNSUPPORTED} - before


@pytest.fixture
def declarations(declared):
    """Forget after a test the rules that it has declared."""
    yield
    for func in declared():
        forget(func)


@pytest.fixture(autouse=True)
def same_draws(streams):
    """Give each test the numbers that it would draw as the only one."""
    before = [g.bit_generator.state for g in streams]
    yield
    for g, state in zip(streams, before):
        g.bit_generator.state = state


@pytest.fixture(autouse=True)
def same_settings():
    """Leave NumPy's settings for errors as they were; a generator may end while it has others."""
    with np.errstate():
        yield


@pytest.fixture(scope="session")
def rows(request):
    """The rows of the sample table that are run, by their names."""
    return samples.named() if request.config.getoption("--slow") else samples.chosen()


@pytest.fixture(scope="session")
def rows_of(request):
    """A function that returns the rows of a family that are run, by their names."""
    return samples.of if request.config.getoption("--slow") else samples.chosen_of


@pytest.fixture
def full(request):
    """Return True where the nets run in full."""
    return request.config.getoption("--full")


@pytest.fixture
def verdicts(record_property):
    """A function that starts the counts of a net: ``verdicts(name, reasons)``.

    The summary of the run shows them.
    """
    made = []

    def make(name, reasons=None):
        made.append(Verdicts(name, reasons))
        return made[-1]

    yield make
    for counts in made:
        record_property("net", counts.told())


def pytest_terminal_summary(terminalreporter, config):
    for path in sorted(Path(os.environ["CRASHES"]).glob("*")):
        first, *threads = path.read_text().split("\n\n")
        if first:
            terminalreporter.section(f"the crash of {path.name}")
        threads.sort(key=lambda text: not text.startswith("Current"))  # the reader may cut the end
        for line in "\n".join([first, *threads]).splitlines():
            if not re.search(r"/(_pytest|pluggy|xdist|execnet)/", line):
                terminalreporter.write_line(line)
    nets = [
        value
        for report in terminalreporter.stats.get("", [])  # setup and teardown
        for name, value in getattr(report, "user_properties", ())
        if name == "net" and report.when == "teardown"
    ]
    if nets:
        terminalreporter.section("nets")
    for line in lines_of(nets, config.getoption("--full")):
        terminalreporter.write_line(line)
