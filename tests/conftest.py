"""Settings of the whole suite: the profiles of hypothesis, and how much of the nets is run.

``quick`` is the default; ``pytest --hypothesis-profile=slow`` looks for longer, at random.
``pytest tests/nets --full`` runs the nets in full, and says the counts at the end.
"""

import pytest
from hypothesis import HealthCheck, settings

from nets.verdicts import Verdicts

# A shared machine stalls now and then, and what is drawn is small: time says nothing.
patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=60, derandomize=True, database=None, **patient)
settings.register_profile("slow", max_examples=1000, **patient)
settings.load_profile("quick")


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="run the nets in full, not a slice")


@pytest.fixture
def full(request):
    """Whether the nets run in full."""
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
        record_property("net", counts.summary())


def pytest_terminal_summary(terminalreporter, config):
    lines = [
        value
        for report in terminalreporter.stats.get("", [])  # setup and teardown
        for name, value in getattr(report, "user_properties", ())
        if name == "net" and report.when == "teardown"
    ]
    if lines:
        terminalreporter.section("nets")
    for line in lines:
        terminalreporter.write_line(line)
