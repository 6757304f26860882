"""Every known way out of a session, tried from inside one: all must be closed."""

import textwrap

import pytest
from probes import DEATH_IS_CLOSED, HELPERS, PRELUDE, PROBES

RUN = """
try:
    outcome = probe()
except OSError as error:
    outcome = None
    print('closed by', error)
if outcome not in (None, False, [], (), 0, b'', ''):
    print('OPEN', repr(outcome)[:2000])
"""


def program(body):
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return f"{PRELUDE}{HELPERS}\ndef probe():\n{body}\n{RUN}"


@pytest.mark.parametrize("name", PROBES)
def test_closed(session, name):
    result = session.exec(program(PROBES[name]), timeout_ms=15_000)
    if result.status == "died" and name in DEATH_IS_CLOSED:
        return
    assert result.status == "ok", result
    assert "OPEN" not in result["stdout"], result["stdout"]


@pytest.mark.parametrize(
    "name",
    [
        "02 links of pid 1",
        "07 other processes are invisible",
        "15 alg",
        "19 clone into new namespaces",
        "39 leaked descriptors",
        "44 capabilities",
    ],
)
def test_closed_for_a_child_program_too(session, name):
    """What the interpreter may not do, a program that it starts may not do either."""
    code = program(PROBES[name])
    if "invisible" in name:
        code = code.replace("mine = {os.getpid()}", "mine = {os.getpid(), os.getppid()}")
    result = session.exec(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code!r}])",
        timeout_ms=15_000,
    )
    assert result.status == "ok", result
    assert "OPEN" not in result["stdout"], result["stdout"]
    assert "Traceback" not in result["stderr"], result["stderr"]


def test_the_prober_itself_works(session):
    """A probe that finds something must be heard, or the whole suite would prove nothing."""
    for found in ("os.listdir('/usr')", "call(39)", "each(can_read, ['/etc/passwd'])"):
        body = f"return {found}"
        assert "OPEN" in session.out(program(body))
