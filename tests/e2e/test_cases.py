"""The tables of cases, which read as the documentation of each runtime, on every surface."""

import cases_bash
import cases_node
import cases_python
import pytest

from harness import surfaces

TABLES = {"python": cases_python.CASES, "node": cases_node.CASES, "bash": cases_bash.CASES}
SMOKE = 6  # one in so many


def marks(surface, number):
    """Other surfaces show what REST does, in their own words, and drivers' tests most of it."""
    if surface != "rest":
        return [pytest.mark.sampled(16)]
    return [pytest.mark.smoke] if number % SMOKE == 0 else [pytest.mark.sampled(8)]


PARAMETERS = [
    pytest.param(surface, runtime, case, id=f"{runtime}-{surface}-{case.name}",
                 marks=marks(surface, number))
    for runtime, cases in TABLES.items()
    for surface in surfaces.SURFACES
    for number, case in enumerate(cases)
]


@pytest.fixture(scope="module")
def own_daemon(launcher):
    daemon = launcher(config=surfaces.CONFIG + surfaces.AGENTS)
    yield daemon
    daemon.stop()


@pytest.mark.semantics
@pytest.mark.parametrize("surface, runtime, case", PARAMETERS)
def test_case(own_daemon, surface, runtime, case):
    surfaces.run(surface, own_daemon, runtime, case)


@pytest.mark.one_mode
@pytest.mark.parametrize("runtime", TABLES)
def test_a_table_is_long_and_names_each_case_once(runtime):
    names = [case.name for case in TABLES[runtime]]
    assert len(set(names)) == len(names) >= 60
